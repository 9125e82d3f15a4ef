//! `compare`, which compares sets and lists, and `identify`, which identifies a list.

use std::io::Write;
use std::sync::Arc;

use accession::disk::Spool;
use accession::input::Options;
use accession::model::{Contradiction, Digest, DigestPrefix, WarningKind};
use accession::registry::{ContentCounts, Counts, FileDifferences, Identified};
use accession::{
    Access, Difference, GranuleId, Identifier, Instance, Listing, Selection, Set, Snapshot,
};
use serde::Serialize;

use crate::cli::args::{FileArgs, FormatArgs, TypedIdentifier, TypedSet};
use crate::cli::error::{Exit, Result};
use crate::cli::output::{Column, Ids, Progress, Row, count, one_line};
use crate::cli::paths::{PathArgs, Samples};
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::Session;

/// Compare two sets of granules, or a set and a list, and print how they differ
///
/// The exit status is 1 if they differ. Granules that only the left set has are printed after <, those that
/// only the right set or the list has after >, and files with other bytes after ~. Files are matched by path, a
/// lone file of a granule with a lone file, and then by their names. Where only one side knows something of
/// them, or both have no algorithm in common, they are counted.
///
/// Examples:
///   accession compare US.FOOL2.002@2001-01-05 THEM.FOOL2.002@2001-02-03
///   ls | accession compare DI:763122197bfb3ffbf0da14adbfb1b13b --from -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Compare {
    /// A set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    left: TypedSet,

    /// Another set
    #[arg(required_unless_present = "from")]
    right: Option<TypedSet>,

    /// Compare with a file of ids instead; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE", conflicts_with = "right")]
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

    /// List at most this many granules of each side [default: 20; with --json: all]
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

/// One side of a comparison.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Side<T> {
    pub compared: T,
    #[serde(skip)]
    pub cells: [String; 4],
}

impl<T: Serialize> Row for Side<T> {
    const COLUMNS: &'static [Column] = &[
        Column::text("side"),
        Column::text("identifier"),
        Column::text("dataset"),
        Column::text("as of"),
    ];

    fn cells(&self) -> Vec<String> {
        self.cells.to_vec()
    }
}

/// The result of a comparison, as JSON.
#[derive(Serialize)]
struct ComparedSets<'a> {
    identical: bool,
    left: &'a Side<Compared>,
    right: &'a Side<Compared>,
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
        let now = session.now()?;
        let limit = match (self.summary, self.limit) {
            (true, _) => 0,
            (false, Some(limit)) => limit,
            (false, None) if session.is_json() => u64::MAX,
            (false, None) => MAX_LISTED,
        };
        let only = OneSided { limit, ..OneSided::default() };
        let mut report = Report { is_summary: self.summary, only, ..Report::default() };
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let left = self.left.into_selection(now, &snapshot)?;
        let sides = match self.right {
            Some(right) => {
                let right = right.into_selection(now, &snapshot)?;
                compare_sets(&snapshot, &left, &right, &mut report)?
            }
            None => {
                // The list may be typed at a terminal.
                drop(snapshot);
                let options = self.files.reading(self.format.options());
                let listing = listing(session, &self.from, options, &self.paths)?;
                let names: Vec<String> = self.from.iter().map(InputFile::name).collect();
                compare_with_list(session, &left, listing, names.join(", "), &mut report)?
            }
        };
        report.print(session, &sides)?;
        Ok(if report.is_identical() { Exit::Done } else { Exit::Differs })
    }
}

/// The list in the files, which must be all pages of a search result.
fn listing(
    session: &Session,
    files: &[InputFile],
    options: Options,
    paths: &PathArgs,
) -> Result<(Listing, Samples)> {
    let mut listing = Listing::new();
    let mut entries = Entries::new(session, &[], files, options, paths, MissingPages::Refuse);
    for entry in entries.by_ref() {
        listing.add(entry?)?;
    }
    Ok((listing, entries.into_samples()))
}

fn compare_sets(
    snapshot: &Snapshot,
    left: &Selection,
    right: &Selection,
    report: &mut Report,
) -> Result<[Side<Compared>; 2]> {
    let mut differences = snapshot.compare(left, right)?;
    for difference in differences.by_ref() {
        match difference? {
            Difference::OnlyLeft(id) => report.only.add_left(&id)?,
            Difference::OnlyRight(id) => report.only.add_right(&id)?,
        }
    }
    report.counts = differences.counts();
    let (left, right) = (differences.left(), differences.right());
    report.is_digest_equal = left.digest() == right.digest();
    report.add_files(snapshot.compare_files(left, right)?)?;
    Ok([side_of_set("left", differences.left()), side_of_set("right", differences.right())])
}

fn compare_with_list(
    session: &Session,
    left: &Selection,
    (listing, samples): (Listing, Samples),
    source: String,
    report: &mut Report,
) -> Result<[Side<Compared>; 2]> {
    let snapshot = session.open(Access::Read)?.snapshot()?;
    let mut differences = snapshot.compare_with(left, listing)?;
    drop(snapshot);
    for difference in differences.by_ref() {
        match difference? {
            Difference::OnlyLeft(id) => report.only.add_left(&id)?,
            Difference::OnlyRight(id) => report.only.add_right(&id)?,
        }
    }
    report.counts = differences.counts();
    if report.counts.matched == 0
        && let Some(matching) = samples.matching(&session.open(Access::Read)?.snapshot()?, left)?
    {
        session.warn(WarningKind::IdsFromPaths, &matching.to_string());
    }
    let files = session.open(Access::Read)?.snapshot()?;
    let files = files.compare_files_with(differences.left(), differences.right())?;
    report.add_files(files)?;
    let (identifier, repeated) = (differences.identifier(), differences.repeated());
    let granules = report.counts.matched + report.counts.only_right;
    if repeated > 0 {
        let skipped = count(repeated, "granule");
        session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {repeated} repeated"));
    }
    let shown = one_line(&source).to_string();
    let cells = ["right".to_owned(), identifier.to_string(), shown, String::new()];
    let compared = Compared::List { source, identifier, granules };
    Ok([side_of_set("left", differences.left()), Side { compared, cells }])
}

fn side_of_set(side: &str, set: &Set) -> Side<Compared> {
    let cells = [
        side.to_owned(),
        set.identifier().to_string(),
        set.dataset().to_string(),
        set.instance().timestamp.to_string(),
    ];
    Side { compared: Compared::Set(Box::new(set.instance().clone())), cells }
}

/// The granules that only one of two sides has. They are kept in temporary files until the counts, which
/// are printed first, are known.
#[derive(Default)]
pub struct OneSided {
    /// How many of each side are kept.
    pub limit: u64,
    pub left: Spool,
    pub right: Spool,
    /// The granules that both have and of which a file has other bytes, and what contradicts.
    pub other: Spool,
    pub contradictions: Spool,
}

impl OneSided {
    pub fn add_left(&mut self, granule_id: &GranuleId) -> Result<()> {
        OneSided::add(&mut self.left, self.limit, granule_id)
    }

    pub fn add_right(&mut self, granule_id: &GranuleId) -> Result<()> {
        OneSided::add(&mut self.right, self.limit, granule_id)
    }

    pub fn add_other(&mut self, id: &GranuleId, contradiction: &Contradiction) -> Result<()> {
        if self.contradictions.count() < self.limit {
            self.contradictions.add(contradiction.of(id).as_bytes())?;
        }
        OneSided::add(&mut self.other, self.limit, id)
    }

    fn add(spool: &mut Spool, limit: u64, granule_id: &GranuleId) -> Result<()> {
        if spool.count() < limit {
            spool.add(granule_id.as_str().as_bytes())?;
        }
        Ok(())
    }

    /// Writes of which granules a file has other bytes.
    pub fn write_others(&self, out: &mut impl Write, contents: ContentCounts) -> Result<()> {
        for contradiction in self.contradictions.records() {
            writeln!(out, "~ {}", String::from_utf8_lossy(&contradiction?))?;
        }
        match contents.other - self.contradictions.count() {
            0 => Ok(()),
            more => Ok(writeln!(out, "and {more} more with other bytes")?),
        }
    }

    /// Writes them: each with the mark of its side, and how many more only that side has.
    pub fn write(&self, out: &mut impl Write, counts: Counts, sides: [[&str; 2]; 2]) -> Result<()> {
        let both = [(&self.left, counts.only_left), (&self.right, counts.only_right)];
        for ((ids, total), [mark, side]) in both.into_iter().zip(sides) {
            for id in ids.records() {
                writeln!(out, "{mark} {}", String::from_utf8_lossy(&id?))?;
            }
            let more = total - ids.count();
            if more > 0 {
                writeln!(out, "and {more} more {side}")?;
            }
        }
        Ok(())
    }
}

/// The result of a comparison.
#[derive(Default)]
struct Report {
    is_summary: bool,
    counts: Counts,
    /// Whether the digests are equal.
    is_digest_equal: bool,
    contents: ContentCounts,
    only: OneSided,
}

impl Report {
    /// Whether both have the same granules, and no file has other bytes.
    fn is_identical(&self) -> bool {
        self.counts.is_identical() && self.contents.other == 0
    }

    /// Adds what is known of files.
    fn add_files(&mut self, mut differences: FileDifferences) -> Result<()> {
        for difference in differences.by_ref() {
            let (granule_id, contradiction) = difference?;
            self.only.add_other(&granule_id, &contradiction)?;
        }
        self.contents = differences.counts();
        Ok(())
    }

    fn print(&self, session: &mut Session, sides: &[Side<Compared>; 2]) -> Result<()> {
        let Report { is_summary, counts, only, is_digest_equal, contents } = self;
        let Counts { matched, only_left: left, only_right: right } = *counts;
        if session.is_json() {
            let granules = |count, ids| match is_summary {
                true => Granules::Count(count),
                false => Granules::Ids(Ids(ids)),
            };
            return Ok(session.json(&ComparedSets {
                identical: self.is_identical(),
                left: &sides[0],
                right: &sides[1],
                matched,
                only_left: granules(left, &only.left),
                only_right: granules(right, &only.right),
                digest_equal: *is_digest_equal,
                other_content: granules(contents.other, &only.other),
                contents: *contents,
            })?);
        }
        if self.is_identical() {
            writeln!(session.out(), "identical: {}", count(matched, "granule"))?;
        } else {
            let different =
                format!("different: {matched} in both, {left} only left, {right} only right");
            writeln!(session.out(), "{different}")?;
        }
        if !is_digest_equal && contents.compared + contents.not_comparable > 0 {
            let ContentCounts { compared, other, .. } = contents;
            writeln!(
                session.out(),
                "bytes: compared for {compared} of {matched}, other bytes in {other}"
            )?;
        }
        session.rows(sides.iter().map(Ok))?;
        match is_summary {
            true => Ok(()),
            false => {
                let sides = [["<", "only left"], [">", "only right"]];
                only.write(session.out(), *counts, sides)?;
                only.write_others(session.out(), *contents)
            }
        }
    }
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

    /// The identifier or the digest that is expected
    #[arg(long, value_name = "DI", value_parser = expected)]
    expect: Option<Expected>,
}

#[derive(Debug, Clone, Copy)]
enum Expected {
    Identifier(Identifier),
    Digest(Digest),
}

fn expected(text: &str) -> Result<Expected, Box<dyn std::error::Error + Send + Sync>> {
    Ok(match DigestPrefix::is_meant(text) {
        true => Expected::Digest(text.parse()?),
        false => Expected::Identifier(text.parse::<TypedIdentifier>()?.0),
    })
}

#[derive(Serialize)]
struct IdentifiedList {
    identifier: Identifier,
    digest: Digest,
    granules: u64,
}

impl Identify {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.stated.reading(self.format.options());
        let (listing, _) = listing(session, &self.files, options, &self.paths)?;
        let progress = Arc::new(Progress::new());
        let Identified { identifier, digest, granules, repeated } =
            listing.identify_with(progress)?;
        if repeated > 0 {
            let skipped = count(repeated, "granule");
            session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {repeated} repeated"));
        }
        session.print(&IdentifiedList { identifier, digest, granules }, |out| {
            writeln!(out, "identifier  {identifier}")?;
            writeln!(out, "digest      {digest}")?;
            writeln!(out, "granules    {granules}")
        })?;
        let differs = match self.expect {
            Some(Expected::Identifier(expected)) if expected != identifier => {
                format!("the identifier of the list is {identifier}, but {expected} was expected")
            }
            Some(Expected::Digest(expected)) if expected != digest => {
                format!("the digest of the list is {digest}, but {expected} was expected")
            }
            _ => return Ok(Exit::Done),
        };
        session.warn(WarningKind::NotAsExpected, &differs);
        Ok(Exit::Differs)
    }
}
