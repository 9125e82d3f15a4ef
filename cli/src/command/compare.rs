//! `compare`, which compares two or more sets and lists, and `identify`, which identifies a list.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::slice;
use std::str::FromStr;
use std::sync::Arc;

use accession::DifferenceCounts;
use accession::history::{ContentCounts, Counts, HeldContents, Presence, SideBySide, TwoSides};
use accession::listing::ListingSummary;
use accession::text::quoted;
use accession::{GranuleId, Identifier, Instance, Set, Snapshot, Timestamp, Watcher};
use accession::{ParseError, WarningKind};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::{ListArgs, TypedName, TypedSet};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Ids, Object, Progress, plural};
use crate::paths::OF_PATHS;
use crate::reading::{InputFile, warn_of_repeated};
use crate::session::Session;

/// Compare sets of granules, or sets and lists, and print how they differ
///
/// Of two sets, or a set and a list, the granules that only the left set has are printed after <, those that
/// only the right set or the list has after >, and files with other bytes after ~. Files are matched by path,
/// a lone file of a granule with a lone file, and then by their names. Where only one side knows something of
/// them, or both have no algorithm in common, they are counted. The exit status is 1 if they differ.
///
/// If files were replaced while an identifier was in force, it had different contents. Each of them is
/// compared, and the nearest is shown: `identical to the contents held T to T` names its period.
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
#[command(mut_group("FormatArgs", |group| group.requires("from")))]
#[command(mut_group("PathArgs", |group| group.requires("from")))]
#[command(mut_group("FileArgs", |group| group.requires("from")))]
#[command(mut_group("InventoryArgs", |group| group.requires("from")))]
#[command(mut_group("FileColumns", |group| group.requires("from")))]
pub struct Compare {
    /// The sets: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    #[arg(value_name = "SET", required_unless_present = "from")]
    sets: Vec<NamedSet>,

    /// Compare with a file of ids; - is stdin (can be repeated: several files are one list, or each is a
    /// side of its own if all of them are NAME=FILE)
    #[arg(long, value_name = "[NAME=]FILE")]
    from: Vec<InputFile>,

    #[command(flatten)]
    lists: ListArgs,

    /// Print only the counts
    #[arg(long, conflicts_with = "limit")]
    summary: bool,

    /// List at most this many granules of each side, or rows [default: 20; with --json: all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// How many granules of each side are listed as text, unless more are asked for.
pub const MAX_LISTED: u64 = 20;

/// Where the two sides of a comparison are.
const PLACES: [&str; 2] = ["on the left", "on the right"];

/// One side of a comparison, as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Compared {
    Set {
        #[serde(flatten)]
        instance: Box<Instance>,
        #[serde(skip_serializing_if = "Option::is_none")]
        held: Option<HeldPeriod>,
    },
    List {
        source: String,
        identifier: Identifier,
        granules: u64,
    },
}

/// The period of the compared contents, if the identifier of the set had different contents.
#[derive(Serialize)]
struct HeldPeriod {
    from: Timestamp,
    until: Option<Timestamp>,
    /// The number of different contents.
    contents: usize,
    /// The period in words.
    #[serde(skip)]
    held: String,
}

impl Compared {
    fn held(&self) -> Option<&HeldPeriod> {
        match self {
            Compared::Set { held, .. } => held.as_ref(),
            Compared::List { .. } => None,
        }
    }

    fn side(&self, name: &str) -> Value {
        match self {
            Compared::Set { instance, .. } => side(name, instance),
            Compared::List { source, identifier, .. } => {
                json!({ "side": name, "identifier": identifier, "dataset": source })
            }
        }
    }
}

/// One of two sides, as a row of a table.
pub fn side(name: &str, instance: &Instance) -> Value {
    let Instance { identifier, dataset, timestamp, .. } = instance;
    json!({ "side": name, "identifier": identifier, "dataset": dataset, "timestamp": timestamp })
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
        let Compare { sets, from, lists, summary, .. } = self;
        match (sets.as_slice(), from.as_slice()) {
            ([left, right], []) => {
                let snapshot = session.open()?.snapshot()?;
                let left = left.contents(session, &snapshot)?;
                let right = right.contents(session, &snapshot)?;
                let registry = snapshot.registry().clone();
                drop(snapshot);
                let (one, two) = registry.nearest(&left, &right)?;
                let compared = [compared(&left, one), compared(&right, two)];
                let (left, right) = (&left[one].set, &right[two].set);
                let differences = registry.compare_files(left, right);
                let sides = TwoSides::read(differences, PLACES, limit)?;
                let is_digest_equal = left.digest() == right.digest();
                report(session, compared, &sides, is_digest_equal, summary)
            }
            ([left], files) if files.len() == 1 || !are_named(files) => {
                let snapshot = session.open()?.snapshot()?;
                let left = left.contents(session, &snapshot)?;
                // The list may be typed at a terminal.
                drop(snapshot);
                let one_named = if let [file] = files { named(file) } else { None };
                let (source, files) = match &one_named {
                    Some((name, file)) => (name.clone(), slice::from_ref(file)),
                    None => {
                        (files.iter().map(InputFile::name).collect::<Vec<_>>().join(", "), files)
                    }
                };
                let (listing, has_paths) = lists.listing(session, files)?;
                let registry = session.open()?;
                let nearest = registry.nearest_to(&left, &listing)?;
                let differences = registry.compare_with(&left[nearest].set, &listing)?;
                let sides = TwoSides::read(differences, PLACES, limit)?;
                let counts = sides.counts.granules;
                if counts.matched == 0 && has_paths {
                    let what =
                        format!("none of the listed ids is held, and they are paths: {OF_PATHS}");
                    session.warn(WarningKind::IdsFromPaths, &what);
                }
                let granules = counts.matched + counts.only_right;
                warn_of_repeated(session, listing.repeated(granules)?);
                let identifier = sides.counts.right;
                let list = Compared::List { source, identifier, granules };
                report(session, [compared(&left, nearest), list], &sides, false, summary)
            }
            (sets, files) => compare_many(session, sets, files, &lists, limit, summary),
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
    let DifferenceCounts { granules, contents, .. } = sides.counts;
    let Counts { matched, only_left, only_right, .. } = granules;
    let is_identical = sides.counts.is_identical();
    if session.is_json() {
        let listed = |count, ids| match is_summary {
            true => Granules::Count(count),
            false => Granules::Ids(ids),
        };
        session.json(&ComparedSets {
            identical: is_identical,
            left: &left,
            right: &right,
            matched,
            only_left: listed(only_left, Ids::of(|| sides.only_left())),
            only_right: listed(only_right, Ids::of(|| sides.only_right())),
            digest_equal: is_digest_equal,
            other_content: listed(contents.other, Ids::of(|| sides.other_content())),
            contents,
        })?;
    } else {
        let held: Vec<&HeldPeriod> =
            [&left, &right].into_iter().filter_map(Compared::held).collect();
        let tried: Vec<String> =
            held.iter().map(|it| format!("the contents held {}", it.held)).collect();
        let tried = tried.join(" and ");
        if is_identical {
            let to = if tried.is_empty() { "" } else { " to " };
            let granules = plural(matched, "granule");
            writeln!(session.out(), "identical{to}{tried}: {granules}")?;
        } else {
            writeln!(
                session.out(),
                "different: {matched} in both, {only_left} only left, {only_right} only right"
            )?;
            if !tried.is_empty() {
                writeln!(session.out(), "nearest: {tried}")?;
            }
        }
        let ContentCounts { compared, other, not_comparable, .. } = contents;
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
pub fn write_sides(session: &mut Session, sides: [Value; 2]) -> Result<()> {
    const COLUMNS: &[Column] = &[
        Column::text("side"),
        Column::text("identifier").or("no history yet"),
        Column::text("dataset"),
        Column::text("as of").of("timestamp"),
    ];
    session.rows(COLUMNS, sides.map(Ok)).map(drop)
}

/// A set, named as itself: a subset is not the instance from which it is selected.
fn compared(contents: &[HeldContents], index: usize) -> Compared {
    let compared = &contents[index];
    let HeldContents { ref set, from, until, .. } = *compared;
    let (identifier, digest, granules) = (set.identifier(), set.digest(), set.granule_count());
    let instance = Instance { identifier, digest, granules, ..set.instance().clone() };
    let held = (contents.len() > 1).then(|| HeldPeriod {
        from,
        until,
        contents: contents.len(),
        held: compared.held(),
    });
    Compared::Set { instance: Box::new(instance), held }
}

/// Writes what differs: each granule with the mark of its side, and how many more there are.
pub fn write_differences(
    out: &mut impl Write,
    sides: &TwoSides,
    [left, right]: [[&str; 2]; 2],
) -> Result<()> {
    let Counts { only_left, only_right, .. } = sides.counts.granules;
    let others = ["~", "with other bytes"];
    write_marked(out, sides.only_left(), only_left, left)?;
    write_marked(out, sides.only_right(), only_right, right)?;
    write_marked(out, sides.contradictions(), sides.counts.contents.other, others)
}

/// Writes lines with a mark, and how many more there are of their kind.
fn write_marked<T: Display>(
    out: &mut impl Write,
    lines: impl Iterator<Item = accession::Result<T>>,
    total: u64,
    [mark, kind]: [&str; 2],
) -> Result<()> {
    let mut written = 0;
    for line in lines {
        writeln!(out, "{mark} {}", line?)?;
        written += 1;
    }
    match total - written {
        0 => {}
        more => writeln!(out, "and {more} more {kind}")?,
    }
    Ok(())
}

/// A set with what was typed, by which it is named.
#[derive(Debug, Clone)]
pub struct NamedSet {
    name: String,
    set: TypedSet,
}

impl NamedSet {
    fn select(&self, session: &Session, snapshot: &Snapshot) -> Result<Set> {
        session.warn_all(self.set.unchecked(snapshot)?);
        Ok(snapshot.select_contents(&self.set.clone().into_selection(snapshot)?)?)
    }

    fn contents(&self, session: &Session, snapshot: &Snapshot) -> Result<Vec<HeldContents>> {
        session.warn_all(self.set.unchecked(snapshot)?);
        Ok(snapshot.contents(&self.set.clone().into_selection(snapshot)?)?)
    }
}

impl FromStr for NamedSet {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Ok(NamedSet { name: text.to_owned(), set: text.parse()? })
    }
}

/// Whether all files are given as `NAME=FILE`.
fn are_named(files: &[InputFile]) -> bool {
    files.iter().all(|file| named(file).is_some())
}

/// A name, and the file that it is given to. A name is no part of a path: `./a=b` is a file.
fn named(file: &InputFile) -> Option<(String, InputFile)> {
    let (name, path) = file.path()?.to_str()?.split_once('=')?;
    let is_whole = !name.is_empty() && !name.contains('/') && !path.is_empty();
    is_whole.then(|| (name.to_owned(), InputFile::from(std::ffi::OsString::from(path))))
}

/// One of the sides, as a row of a table.
#[derive(Serialize)]
struct SideRow {
    name: String,
    /// `None` means a list.
    identifier: Option<Identifier>,
    timestamp: Option<Timestamp>,
    granules: u64,
}

/// Compares all sides with each other, the sets before the lists.
fn compare_many(
    session: &mut Session,
    sets: &[NamedSet],
    files: &[InputFile],
    lists: &ListArgs,
    limit: u64,
    is_summary: bool,
) -> Result<Exit> {
    let (mut sides, mut rows) = read_sides(session, sets, files, lists)?;
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let mut patterns: BTreeMap<Vec<Presence>, u64> = BTreeMap::new();
    let (mut listed, mut left) = (Vec::new(), limit);
    for uneven in sides.by_ref() {
        let uneven = uneven?;
        if left > 0 && session.is_json() {
            let granule = ("granule", json!(uneven.granule_id));
            session.json(&by_name(granule, &names, &uneven.sides))?;
        } else if left > 0 {
            listed.push((uneven.granule_id, marks(&uneven.sides)));
        }
        left = left.saturating_sub(1);
        *patterns.entry(uneven.sides).or_default() += 1;
    }
    let different: u64 = patterns.values().sum();
    for (row, granules) in rows.iter_mut().zip(sides.granules()) {
        warn_of_repeated(session, row.granules.saturating_sub(*granules));
        row.granules = *granules;
    }
    if session.is_json() {
        for (pattern, granules) in patterns.iter().filter(|_| is_summary) {
            session.json(&by_name(("granules", json!(granules)), &names, pattern))?;
        }
    } else {
        let same = sides.same();
        match different {
            0 => writeln!(session.out(), "identical: {}", plural(same, "granule"))?,
            _ => {
                writeln!(
                    session.out(),
                    "different: {same} the same on all sides, {different} not"
                )?;
            }
        }
        let all = same + different;
        if let Some(compared) = sides.compared().filter(|compared| *compared < all) {
            writeln!(session.out(), "bytes: compared for {compared} of {all}")?;
        }
        let shown = listed.len() as u64;
        write_report(session, rows, &patterns, listed)?;
        match different - shown {
            more if more > 0 && !is_summary => writeln!(session.out(), "and {more} more")?,
            _ => {}
        }
    }
    Ok(if different == 0 { Exit::Done } else { Exit::Differs })
}

/// Opens the sides, with what is printed of each.
fn read_sides(
    session: &Session,
    sets: &[NamedSet],
    files: &[InputFile],
    lists: &ListArgs,
) -> Result<(SideBySide, Vec<SideRow>)> {
    let is_alone = files.len() == 1;
    let files = files.iter().map(|file| {
        let alone = || is_alone.then(|| (file.name(), file.clone()));
        named(file).or_else(alone).ok_or_else(|| {
            Error::usage(format!("{} has no name", quoted(&file.name())))
                .with_hint("where more than two sides are compared, each list is --from NAME=FILE")
        })
    });
    let files: Vec<(String, InputFile)> = files.collect::<Result<_>>()?;
    let names: Vec<&String> =
        sets.iter().map(|set| &set.name).chain(files.iter().map(|(name, _)| name)).collect();
    if names.len() < 2 {
        return Err(Error::usage("a comparison has at least two sides")
            .with_hint("name another set, or a list with --from"));
    }
    if let Some(twice) = (1..names.len()).find(|index| names[..*index].contains(&names[*index])) {
        return Err(Error::usage(format!("two sides are called {}", quoted(names[twice])))
            .with_hint("a file whose path has = is written ./PATH"));
    }
    let inputs = files.iter().filter(|(_, file)| *file == InputFile::StandardInput);
    if inputs.count() > 1 {
        return Err(Error::usage("standard input is named more than once")
            .with_hint("it can be read only once: save one of the inputs in a file"));
    }
    let (mut sides, mut rows) =
        (SideBySide::new(Watcher::new().observed_by(Arc::new(Progress::new()))), Vec::new());
    // Lists first: one may be typed at a terminal.
    let mut listings = Vec::new();
    for (name, file) in files {
        let (listing, _) = lists.listing(session, &[file])?;
        listings.push((name, listing));
    }
    if !sets.is_empty() {
        let snapshot = session.open()?.snapshot()?;
        for named in sets {
            let set = named.select(session, &snapshot)?;
            sides.add_set(snapshot.registry(), &set);
            let (name, identifier) = (named.name.clone(), Some(set.identifier()));
            let timestamp = Some(set.instance().timestamp);
            rows.push(SideRow { name, identifier, timestamp, granules: set.granule_count() });
        }
    }
    for (name, list) in listings {
        // The granules are counted when they are read, and those that are repeated then.
        let granules = if list.states_files() { 0 } else { list.count() };
        rows.push(SideRow { name, identifier: None, timestamp: None, granules });
        sides.add_list(&list)?;
    }
    Ok((sides, rows))
}

fn write_report(
    session: &mut Session,
    rows: Vec<SideRow>,
    patterns: &BTreeMap<Vec<Presence>, u64>,
    listed: Vec<(GranuleId, String)>,
) -> Result<()> {
    const SIDES: &[Column] = &[
        Column::text("side").of("name"),
        Column::text("identifier"),
        Column::text("as of").of("timestamp"),
        Column::number("granules"),
    ];
    const COUNTS: &[Column] = &[Column::number("granules").of("1"), Column::text("sides").of("0")];
    const GRANULES: &[Column] = &[Column::text("granule").of("0"), Column::text("sides").of("1")];
    session.rows(SIDES, rows.into_iter().map(Ok))?;
    if !patterns.is_empty() {
        let counts = patterns.iter().map(|(pattern, granules)| Ok((marks(pattern), granules)));
        session.rows(COUNTS, counts)?;
    }
    if !listed.is_empty() {
        session.rows(GRANULES, listed.into_iter().map(Ok))?;
    }
    Ok(())
}

/// The marks of the sides in their order.
fn marks(sides: &[Presence]) -> String {
    let marks: Vec<String> = sides.iter().map(|side| side.mark().to_string()).collect();
    marks.join(" ")
}

/// The sides that have a granule, or some, and those with other bytes, as JSON.
fn by_name(of: (&'static str, Value), names: &[String], sides: &[Presence]) -> Object {
    let with = |is_meant: fn(&Presence) -> bool| -> Value {
        let meant = names.iter().zip(sides).filter(|(_, side)| is_meant(side));
        meant.map(|(name, _)| name.as_str()).collect()
    };
    let having = ("in", with(|side| *side != Presence::Absent));
    Object(vec![of, having, ("other_content", with(|side| *side == Presence::OtherBytes))])
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
    lists: ListArgs,

    /// The identifier or the digest that is expected, or its first digits
    #[arg(long, value_name = "DI")]
    expect: Option<TypedName>,
}

impl Identify {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (listing, _) = self.lists.listing(session, &self.files)?;
        let watcher = Watcher::new().observed_by(Arc::new(Progress::new()));
        let identified = listing.identify_watched(&watcher)?;
        let ListingSummary { identifier, digest, repeated, .. } = identified;
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
