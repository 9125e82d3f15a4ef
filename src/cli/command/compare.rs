//! `compare`, which compares sets and lists, and `identify`, which identifies a list.

use std::io::Write;
use std::sync::Arc;

use accession::model::WarningKind;
use accession::registry::{ContentCounts, Counts, Identified, TwoSides};
use accession::{Access, DatasetName, Identifier, Instance, Listing, Selection, Set, Timestamp};
use serde::Serialize;

use super::side_by_side::{NamedSet, are_named, compare_many};
use crate::cli::args::{FileArgs, FormatArgs, TypedName};
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, Ids, Progress, count};
use crate::cli::paths::{OF_PATHS, PathArgs};
use crate::cli::reading::{InputFile, listing, warn_of_repeated};
use crate::cli::session::Session;

/// Compare sets of granules, or sets and lists, and print how they differ
///
/// Of two sets, or a set and a list, the granules that only the left set has are printed after <, those that
/// only the right set or the list has after >, and files with other bytes after ~. Files are matched by path,
/// a lone file of a granule with a lone file, and then by their names. Where only one side knows something of
/// them, or both have no algorithm in common, they are counted. The exit status is 1 if they differ.
///
/// Of three and more sides, each granule that is not the same everywhere is a row, with = for a side that has
/// it, - for one that does not, and ≠ for one whose files have other bytes than on a side before it. How many
/// granules have the same marks is printed first. Each of several lists is then named, as --from NAME=FILE;
/// the sets come before the lists.
///
/// Examples:
///   accession compare US.FOOL2.002@2001-01-05 THEM.FOOL2.002@2001-02-03
///   ls | accession compare DI:763122197bfb3ffbf0da14adbfb1b13b --from -
///   accession compare FOO --from bucket=inventory/manifest.json --from upstream=upstream.csv
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    /// The sets: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    #[arg(value_name = "SET", required_unless_present = "from")]
    sets: Vec<NamedSet>,

    /// Compare with a file of ids; - is stdin (can be repeated: several files are one list, or each is a
    /// side of its own if all of them are NAME=FILE)
    #[arg(long, value_name = "[NAME=]FILE")]
    from: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    files: FileArgs,

    /// Print only the counts
    #[arg(long, conflicts_with = "limit")]
    summary: bool,

    /// List at most this many granules of each side, or rows [default: 20; with --json: all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// How many granules of each side are listed as text, unless more are asked for.
pub const MAX_LISTED: u64 = 20;

/// One side of a comparison, as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Compared {
    Set(Box<Instance>),
    List { source: String, identifier: Identifier, granules: u64 },
}

impl Compared {
    fn side(&self, name: &'static str) -> Side<'_> {
        match self {
            Compared::Set(instance) => Side::of(name, instance),
            Compared::List { source, identifier, .. } => {
                Side { side: name, identifier: Some(*identifier), dataset: source, timestamp: None }
            }
        }
    }
}

/// One of two sides, as a row of a table.
#[derive(Serialize)]
pub struct Side<'a> {
    side: &'static str,
    identifier: Option<Identifier>,
    dataset: &'a str,
    timestamp: Option<Timestamp>,
}

impl<'a> Side<'a> {
    pub fn of(side: &'static str, instance: &'a Instance) -> Self {
        let Instance { identifier, dataset, timestamp, .. } = instance;
        let (identifier, timestamp) = (Some(*identifier), Some(*timestamp));
        Side { side, identifier, dataset: dataset.as_str(), timestamp }
    }

    /// That of a dataset that has no history.
    pub fn without_history(side: &'static str, dataset: &'a DatasetName) -> Self {
        Side { side, identifier: None, dataset: dataset.as_str(), timestamp: None }
    }
}

/// The result of a comparison, as JSON.
#[derive(Serialize)]
struct ComparedSets<'a> {
    identical: bool,
    left: &'a Compared,
    right: &'a Compared,
    matched: u64,
    only_left: Granules<'a>,
    only_right: Granules<'a>,
    digest_equal: bool,
    other_content: Granules<'a>,
    #[serde(flatten)]
    contents: ContentCounts,
}

/// The granules that only one side has; in a summary, their number.
#[derive(Serialize)]
#[serde(untagged)]
enum Granules<'a> {
    Count(u64),
    Ids(Ids<'a>),
}

impl Compare {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let limit = match (self.summary, self.limit) {
            (true, _) => 0,
            (false, Some(limit)) => limit,
            (false, None) if session.is_json() => u64::MAX,
            (false, None) => MAX_LISTED,
        };
        let Compare { sets, from, format, paths, files, summary, .. } = self;
        let options = files.reading(format.options());
        match (sets.as_slice(), from.as_slice()) {
            ([left, right], []) => {
                let (now, snapshot) = (session.now()?, session.open(Access::Read)?.snapshot()?);
                let left = left.set.clone().into_selection(now, &snapshot)?;
                let right = right.set.clone().into_selection(now, &snapshot)?;
                let mut differences = snapshot.compare_files(&left, &right)?;
                let mut sides = TwoSides::keeping(limit);
                sides.read(&mut differences)?;
                let (left, right) = (differences.left(), differences.right());
                let is_digest_equal = left.digest() == right.digest();
                report(session, [set(left), set(right)], &sides, is_digest_equal, summary)
            }
            ([left], files) if files.len() == 1 || !are_named(files) => {
                let (now, snapshot) = (session.now()?, session.open(Access::Read)?.snapshot()?);
                let left = left.set.clone().into_selection(now, &snapshot)?;
                // The list may be typed at a terminal.
                drop(snapshot);
                let listing = listing(session, files, options, &paths)?;
                let names: Vec<String> = files.iter().map(InputFile::name).collect();
                let mut sides = TwoSides::keeping(limit);
                let compared =
                    compare_with_list(session, &left, listing, names.join(", "), &mut sides)?;
                report(session, compared, &sides, false, summary)
            }
            (sets, files) => compare_many(session, sets, files, &options, &paths, limit, summary),
        }
    }
}

/// Prints how two sides differ.
fn report(
    session: &mut Session,
    [left, right]: [Compared; 2],
    sides: &TwoSides,
    is_digest_equal: bool,
    is_summary: bool,
) -> Result<Exit> {
    let TwoSides { counts, contents, .. } = sides;
    let Counts { matched, only_left, only_right } = *counts;
    let is_identical = counts.is_identical() && contents.other == 0;
    if session.is_json() {
        let granules = |count, ids| match is_summary {
            true => Granules::Count(count),
            false => Granules::Ids(Ids(ids)),
        };
        session.json(&ComparedSets {
            identical: is_identical,
            left: &left,
            right: &right,
            matched,
            only_left: granules(only_left, &sides.left),
            only_right: granules(only_right, &sides.right),
            digest_equal: is_digest_equal,
            other_content: granules(contents.other, &sides.other),
            contents: *contents,
        })?;
    } else {
        match is_identical {
            true => writeln!(session.out(), "identical: {}", count(matched, "granule"))?,
            false => writeln!(
                session.out(),
                "different: {matched} in both, {only_left} only left, {only_right} only right"
            )?,
        }
        let ContentCounts { compared, other, not_comparable } = contents;
        if !is_digest_equal && compared + not_comparable > 0 {
            writeln!(
                session.out(),
                "bytes: compared for {compared} of {matched}, other bytes in {other}"
            )?;
        }
        write_sides(session, [left.side("left"), right.side("right")])?;
        if !is_summary {
            let marks = [["<", "only left"], [">", "only right"]];
            write_differences(session.out(), sides, marks)?;
        }
    }
    Ok(if is_identical { Exit::Done } else { Exit::Differs })
}

/// Writes the two sides of a comparison.
pub fn write_sides(session: &mut Session, sides: [Side<'_>; 2]) -> Result<()> {
    const COLUMNS: &[Column] = &[
        Column::text("side"),
        Column::text("identifier").or("no history yet"),
        Column::text("dataset"),
        Column::text("as of").of("timestamp"),
    ];
    session.rows(COLUMNS, sides.map(Ok)).map(drop)
}

fn set(set: &Set) -> Compared {
    Compared::Set(Box::new(set.instance().clone()))
}

fn compare_with_list(
    session: &Session,
    left: &Selection,
    (listing, has_paths): (Listing, bool),
    source: String,
    sides: &mut TwoSides,
) -> Result<[Compared; 2]> {
    let snapshot = session.open(Access::Read)?.snapshot()?;
    let mut differences = snapshot.compare_with(left, listing)?;
    drop(snapshot);
    sides.read(&mut differences)?;
    if sides.counts.matched == 0 && has_paths {
        let what = format!("none of the listed ids is held, and they are paths: {OF_PATHS}");
        session.warn(WarningKind::IdsFromPaths, &what);
    }
    let (identifier, repeated) = (differences.identifier(), differences.repeated());
    let granules = sides.counts.matched + sides.counts.only_right;
    warn_of_repeated(session, repeated);
    let list = Compared::List { source, identifier, granules };
    Ok([set(differences.left()), list])
}

/// Writes what differs: each granule with the mark of its side, and how many more there are.
pub fn write_differences(
    out: &mut impl Write,
    sides: &TwoSides,
    [left, right]: [[&str; 2]; 2],
) -> Result<()> {
    let Counts { only_left, only_right, .. } = sides.counts;
    let others = ["~", "with other bytes"];
    for (lines, total, [mark, side]) in [
        (&sides.left, only_left, left),
        (&sides.right, only_right, right),
        (&sides.contradictions, sides.contents.other, others),
    ] {
        for line in lines.records() {
            writeln!(out, "{mark} {}", String::from_utf8_lossy(&line?))?;
        }
        match total - lines.count() {
            0 => {}
            more => writeln!(out, "and {more} more {side}")?,
        }
    }
    Ok(())
}

/// Compute the identifier and the digest of a list of granules, without a registry
///
/// The list can be in any order; an id that is repeated counts once. The digest covers the sizes and
/// checksums of files that the list states, too. With --expect, the exit status is 1 if the identifier
/// is a different one.
///
/// Examples:
///   ls | accession identify - --expect DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession identify catalogue.csv --column granule_ur
///   sha256sum *.nc | accession identify
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Identify {
    /// The files of ids; - is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    stated: FileArgs,

    /// The identifier or the digest that is expected, or its first digits
    #[arg(long, value_name = "DI")]
    expect: Option<TypedName>,
}

impl Identify {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.stated.reading(self.format.options());
        let (listing, _) = listing(session, &self.files, options, &self.paths)?;
        let progress = Arc::new(Progress::new());
        let identified = listing.identify_with(progress)?;
        let Identified { identifier, digest, repeated, .. } = identified;
        warn_of_repeated(session, repeated);
        const COLUMNS: &[Column] =
            &[Column::text("identifier"), Column::text("digest"), Column::number("granules")];
        session.fields(COLUMNS, &identified)?;
        let Some(expected) = self.expect.filter(|expected| !expected.is_of(identifier, digest))
        else {
            return Ok(Exit::Done);
        };
        let is = match &expected {
            TypedName::Identifier(_) => format!("the identifier of the list is {identifier}"),
            TypedName::Digest(_) => format!("the digest of the list is {digest}"),
        };
        session.warn(WarningKind::NotAsExpected, &format!("{is}, but {expected} was expected"));
        Ok(Exit::Differs)
    }
}
