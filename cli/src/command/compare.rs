//! `compare`, which compares two or more sets, listings and directories.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::fixity::{self, FileTree};
use accession::history::{ContentCounts, Counts, HeldContents, Presence, SideBySide, TwoSides};
use accession::listing::ListingSummary;
use accession::text::quoted;
use accession::{
    CancelToken, DifferenceCounts, ErrorKind, GranuleId, Identifier, Instance, Listing, Registry,
    SetSpec, Timestamp, WarningKind, Watcher,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Ids, Object, Progress, plural};
use crate::paths::OF_PATHS;
use crate::program::watch_for_interrupt;
use crate::reading::{InputFile, warn_of_repeated};
use crate::session::Session;
use crate::sources::{Named, as_set, listed, refuse_unread, snapshot};

/// Show how sets, listings or directories differ
///
/// Of two sides, granules that only the left side has are printed after <, those that only the right side has
/// after >, and files with different content after ~. A directory's files are read if the other side has
/// checksums. Files are only counted if they cannot be compared: one side has no checksum, or the two sides use
/// different algorithms. The exit status is 1 if the sides differ.
///
/// If files were replaced while an identifier was in force, it had different contents. Each of them is compared,
/// and the nearest is shown: `identical to the contents held T to T` names its period.
///
/// Of three and more sides, each granule that is not the same everywhere is a row, with = for a side that has it,
/// - for one that does not, and ≠ for one whose files differ from those of an earlier side.
///
/// If the registry does not know an identifier or digest, it is compared with that of the listing.
///
/// Examples:
///   accession compare US.FOOL2.002@2001-01-05 THEM.FOOL2.002@2001-02-03
///   accession compare FOO ./files/
///   ls | accession compare DI:763122197bfb3ffbf0da14adbfb1b13b -
///   accession compare FOO inventory/manifest.json upstream.csv
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(mut_arg("no_files", |arg| arg.long("names-only").help("Compare the names of granules only").hide_short_help(false)))]
pub struct Compare {
    /// The sets: see `accession --help`
    #[arg(value_name = "SET", required = true, num_args = 2..)]
    sets: Vec<SetSpec>,

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
    /// How many of them differ only in Unicode normalisation or letter case.
    spelling_pairs: u64,
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

/// A listing that was read.
struct Listed {
    source: String,
    listing: Listing,
    /// Its path, if it is a directory.
    directory: Option<PathBuf>,
}

/// One side, as it was found.
enum Side {
    /// A set of the registry, with its different contents.
    Set(Registry, Vec<HeldContents>),
    /// A listing that was read.
    Listing(Listed),
    /// An identifier or a digest that the registry does not know, and why it is not known.
    Unknown(Error),
}

impl Compare {
    pub fn run(mut self, session: &mut Session) -> Result<Exit> {
        let names_only = self.lists.names_only();
        let limit = match (self.summary, self.limit) {
            (true, _) => 0,
            (false, Some(limit)) => limit,
            (false, None) if session.is_json() => u64::MAX,
            (false, None) => MAX_LISTED,
        };
        let specs = std::mem::take(&mut self.sets);
        let sides = self.sides(session, &specs)?;
        let [one, two]: [Side; 2] = match sides.try_into() {
            Ok(sides) => sides,
            Err(sides) => return self.compare_many(session, &specs, sides, limit),
        };
        match (one, two) {
            (Side::Set(registry, left), Side::Set(_, right)) => {
                let (one, two) = match names_only {
                    true => (left.len() - 1, right.len() - 1),
                    false => registry.nearest(&left, &right)?,
                };
                let contents = [&left, &right];
                let (left, right) = (&left[one].set, &right[two].set);
                let differences = match names_only {
                    true => registry.compare(left, right),
                    false => registry.compare_files(left, right),
                };
                let sides = TwoSides::read(differences, PLACES, limit)?;
                let compared =
                    [compared(contents[0], one, &sides), compared(contents[1], two, &sides)];
                let is_digest_equal = left.digest() == right.digest();
                report(session, compared, &sides, is_digest_equal, self.summary)
            }
            (Side::Set(registry, set), Side::Listing(listed)) => {
                let (compared, sides) =
                    self.with_listing(session, (&registry, &set), listed, PLACES, limit)?;
                report(session, compared, &sides, false, self.summary)
            }
            (Side::Listing(listed), Side::Set(registry, set)) => {
                let places = [PLACES[1], PLACES[0]];
                let ([set, list], sides) =
                    self.with_listing(session, (&registry, &set), listed, places, limit)?;
                report(session, [list, set], &sides.swapped(), false, self.summary)
            }
            (Side::Listing(left), Side::Listing(right)) => {
                // A directory is read for the checksums of the other side.
                let is_swapped = left.directory.is_some() && right.directory.is_none();
                let (first, second) = if is_swapped { (right, left) } else { (left, right) };
                let places = if is_swapped { [PLACES[1], PLACES[0]] } else { PLACES };
                let (registry, set) = as_set(session, &first.listing)?;
                let set = registry.snapshot()?.contents(&set.dataset().clone().into())?;
                let ([_, list], sides) =
                    self.with_listing(session, (&registry, &set), second, places, limit)?;
                let of_set = &set[0].set;
                let (identifier, granules) = (of_set.identifier(), of_set.granule_count());
                let of_set = Compared::List { source: first.source, identifier, granules };
                if is_swapped {
                    report(session, [list, of_set], &sides.swapped(), false, self.summary)
                } else {
                    report(session, [of_set, list], &sides, false, self.summary)
                }
            }
            (Side::Unknown(_), Side::Listing(Listed { source, listing, .. })) => {
                compare_unknown(session, &specs[0], source, &listing)
            }
            (Side::Listing(Listed { source, listing, .. }), Side::Unknown(_)) => {
                compare_unknown(session, &specs[1], source, &listing)
            }
            (Side::Unknown(error), _) | (_, Side::Unknown(error)) => Err(error),
        }
    }

    /// Compares a set, on the left, with a listing. The files of a directory are read, unless only names are compared.
    fn with_listing(
        &self,
        session: &Session,
        (registry, set): (&Registry, &[HeldContents]),
        Listed { source, listing, directory }: Listed,
        places: [&str; 2],
        limit: u64,
    ) -> Result<([Compared; 2], TwoSides)> {
        let directory = directory.filter(|_| !self.lists.names_only());
        let listing = described(session, registry, set, listing, directory)?;
        compare_with(session, (registry, set), (source, &listing), places, limit)
    }

    /// Finds the sides. Listings are read last, without an open snapshot: one may be typed at a terminal.
    fn sides(&self, session: &Session, specs: &[SetSpec]) -> Result<Vec<Side>> {
        enum Found {
            Side(Side),
            Listing(InputFile),
        }
        let mut found = Vec::new();
        {
            let snapshot = snapshot(session)?;
            for spec in specs {
                found.push(match Named::find(session, snapshot.as_ref(), spec) {
                    Ok(Named::Listing(file)) => Found::Listing(file),
                    Ok(Named::Set(resolution)) => match (resolution.candidates(), &snapshot) {
                        (Ok(contents), Some(snapshot)) => {
                            Found::Side(Side::Set(snapshot.registry().clone(), contents))
                        }
                        (Ok(_), None) => {
                            return Err(Error::usage(format!("{spec} is in no registry")));
                        }
                        (Err(error), _) => Found::Side(unknown(spec, error.into())?),
                    },
                    Err(error) => Found::Side(unknown(spec, error)?),
                });
            }
        }
        if !found.iter().any(|it| matches!(it, Found::Listing(_))) {
            refuse_unread(self.lists.given())?;
        }
        let read = |found| match found {
            Found::Side(side) => Ok(side),
            Found::Listing(file) => {
                let directory = file.path().filter(|path| path.is_dir()).map(Path::to_owned);
                let (source, listing) = listed(session, file, self.lists.reading())?;
                Ok(Side::Listing(Listed { source, listing, directory }))
            }
        };
        found.into_iter().map(read).collect()
    }
}

/// The side of an identifier or a digest that the registry does not know, or where there is no registry.
fn unknown(spec: &SetSpec, error: Error) -> Result<Side> {
    let kind = error.kind();
    let is_unknown = kind == ErrorKind::IdentifierUnknown || kind == ErrorKind::RegistryMissing;
    if spec.is_identified() && is_unknown { Ok(Side::Unknown(error)) } else { Err(error) }
}

/// Adds checksums to the listing of a directory, for the files that have one in the set.
fn described(
    session: &Session,
    registry: &Registry,
    contents: &[HeldContents],
    listing: Listing,
    directory: Option<PathBuf>,
) -> Result<Listing> {
    let (Some(root), Some(latest)) = (directory, contents.last()) else { return Ok(listing) };
    let tree = FileTree::new(root);
    let token = CancelToken::from(watch_for_interrupt()?);
    let registry = registry.observed_by(Arc::new(Progress::new())).cancelled_by(&token);
    let described = fixity::described(&registry, &latest.set, &tree, &listing)?;
    if !has_checksums(&described)? {
        let what = "no contents were compared: no checksum is recorded of these files";
        session.warn(WarningKind::NoChecksum, what);
    }
    Ok(described)
}

/// Whether a listing has a checksum of any file.
fn has_checksums(listing: &Listing) -> Result<bool> {
    for granule in listing.files()? {
        if granule?.content.files().iter().any(|file| !file.checksums().is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares a set with a listing, the set on the left. Of several contents of the set, the nearest is compared.
fn compare_with(
    session: &Session,
    (registry, contents): (&Registry, &[HeldContents]),
    (source, listing): (String, &Listing),
    places: [&str; 2],
    limit: u64,
) -> Result<([Compared; 2], TwoSides)> {
    let nearest = registry.nearest_to(contents, listing)?;
    let differences = registry.compare_with(&contents[nearest].set, listing)?;
    let sides = TwoSides::read(differences, places, limit)?;
    let counts = sides.counts.granules;
    let granules = counts.matched + counts.only_right;
    if counts.matched == 0 && granules > 0 && has_paths(listing)? {
        let what = format!("none of the listed ids is held, and they are paths: {OF_PATHS}");
        session.warn(WarningKind::IdsFromPaths, &what);
    }
    warn_of_repeated(session, listing.repeated(granules)?);
    let list = Compared::List { source, identifier: sides.counts.right, granules };
    Ok(([compared(contents, nearest, &sides), list], sides))
}

/// Whether the first id of a listing is a path.
fn has_paths(listing: &Listing) -> Result<bool> {
    let first = listing.files()?.next().transpose()?;
    Ok(first.is_some_and(|first| first.granule_id.as_str().contains('/')))
}

/// The result of a comparison with an identifier or a digest that the registry does not know, as JSON.
#[derive(Serialize)]
struct ComparedName<'a> {
    identical: bool,
    expected: &'a SetSpec,
    source: String,
    #[serde(flatten)]
    found: ListingSummary,
}

/// Compares a listing with an identifier or a digest, of which nothing else is known.
fn compare_unknown(
    session: &mut Session,
    expected: &SetSpec,
    source: String,
    listing: &Listing,
) -> Result<Exit> {
    let watcher = Watcher::new().observed_by(Arc::new(Progress::new()));
    let found = listing.identify_watched(&watcher)?;
    warn_of_repeated(session, found.repeated);
    let ListingSummary { identifier, digest, granules, .. } = found;
    let identical = expected.agrees_with(identifier, digest) == Some(true);
    session.print(&ComparedName { identical, expected, source, found }, |out| {
        if identical {
            writeln!(out, "identical: {}", plural(granules, "granule"))?;
        } else {
            writeln!(out, "different: the granules of {expected} are not known here")?;
        }
        writeln!(out, "identifier  {identifier}")?;
        writeln!(out, "digest      {digest}")
    })?;
    Ok(if identical { Exit::Done } else { Exit::Differs })
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
            spelling_pairs: sides.spelling_pairs,
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
        if sides.spelling_pairs > 0 {
            let verb = if sides.spelling_pairs == 1 { "differs" } else { "differ" };
            let pairs = plural(sides.spelling_pairs, "pair");
            writeln!(session.out(), "{pairs} {verb} only in Unicode normalisation or letter case")?;
        }
        let ContentCounts { compared, other, not_comparable, .. } = contents;
        if !is_digest_equal && compared + not_comparable > 0 {
            writeln!(
                session.out(),
                "sizes or checksums: compared for {compared} of {matched}, different in {other}"
            )?;
        }
        if !is_identical {
            write_sides(session, [left.side("left"), right.side("right")])?;
        }
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

/// A set, named as itself: a subset is not the instance from which it is selected. Which of its contents it is
/// was found only if files were compared.
fn compared(contents: &[HeldContents], index: usize, sides: &TwoSides) -> Compared {
    let compared = &contents[index];
    let HeldContents { ref set, from, until, .. } = *compared;
    let (identifier, digest, granules) = (set.identifier(), set.digest(), set.granule_count());
    let instance = Instance { identifier, digest, granules, ..set.instance().clone() };
    let is_found = contents.len() > 1 && sides.counts.contents.compared > 0;
    let held = is_found.then(|| HeldPeriod {
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

/// One of the sides, as a row of a table.
#[derive(Serialize)]
struct SideRow {
    name: String,
    /// `None` means a list.
    identifier: Option<Identifier>,
    timestamp: Option<Timestamp>,
    granules: u64,
}

impl Compare {
    /// Compares all sides with each other.
    fn compare_many(
        &self,
        session: &mut Session,
        specs: &[SetSpec],
        found: Vec<Side>,
        limit: u64,
    ) -> Result<Exit> {
        let (sides, rows) = side_by_side(specs, found)?;
        report_many(session, sides, rows, limit, self.summary)
    }
}

/// Reads the sides in one pass, with what is printed of each.
fn side_by_side(specs: &[SetSpec], found: Vec<Side>) -> Result<(SideBySide, Vec<SideRow>)> {
    let watcher = Watcher::new().observed_by(Arc::new(Progress::new()));
    let (mut sides, mut rows) = (SideBySide::new(watcher), Vec::new());
    for (index, (spec, side)) in specs.iter().zip(found).enumerate() {
        if specs[..index].contains(spec) {
            let spec = quoted(spec.as_str());
            return Err(Error::usage(format!("{spec} is named twice")));
        }
        let name = spec.to_string();
        rows.push(match side {
            Side::Set(registry, mut contents) => {
                let Some(HeldContents { set, .. }) = contents.pop().filter(|_| contents.is_empty())
                else {
                    return Err(Error::usage(format!("{spec} had several contents"))
                        .with_hint(format!("`accession show {spec}` lists a name for each")));
                };
                sides.add_set(&registry, &set);
                let (identifier, granules) = (Some(set.identifier()), set.granule_count());
                SideRow { name, identifier, timestamp: Some(set.instance().timestamp), granules }
            }
            Side::Listing(Listed { listing, .. }) => {
                // The granules are counted when they are read, and those that are repeated then.
                let granules = if listing.states_files() { 0 } else { listing.count() };
                sides.add_list(&listing)?;
                SideRow { name, identifier: None, timestamp: None, granules }
            }
            Side::Unknown(error) => return Err(error),
        });
    }
    Ok((sides, rows))
}

/// Prints how several sides differ.
fn report_many(
    session: &mut Session,
    mut sides: SideBySide,
    mut rows: Vec<SideRow>,
    limit: u64,
    is_summary: bool,
) -> Result<Exit> {
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
            writeln!(session.out(), "sizes or checksums: compared for {compared} of {all}")?;
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
