//! `compare`, which compares two or more sets, listings and directories.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::file::Algorithm;
use accession::fixity::FileTree;
use accession::history::{ContentCounts, HeldContents, Presence, ScanPeriod, SideBySide, TwoSides};
use accession::listing::ListingSummary;
use accession::mirror::Primary;
use accession::text::quoted;
use accession::{
    Clock, DatasetName, DifferenceCounts, Digest, ErrorKind, Granule, GranuleId, Identifier,
    IfMissing, Import, Instance, Listing, Moment, Registry, Selection, SetSpec, Snapshot,
    Timestamp, WarningKind, Watcher,
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::ListArgs;
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::output::{
    Column, MarkedLines, MarkedList, Object, Output, Progress, Streamed, counted, for_shell,
    in_words, plural, without_recording, write_fields, write_rows,
};
use crate::paths::OF_PATHS;
use crate::reading::warn_of_repeated;
use crate::session::Session;
use crate::sources::{ListedSource, Named, as_set, listed, refuse_unread, snapshot};

/// Show how sets, listings or directories differ
///
/// Of two sides, granules that only the left side has are printed after <, those that only the right side has
/// after >, and files with different content after ~. A directory's files are read if another side has
/// checksums, or all are directories. Files are only counted if they cannot be compared: one side has no checksum, or the two sides use
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
///   accession compare FOO ./scan.txt --scanned 2024-03-05T01:00/2024-03-05T07:30
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
#[command(mut_arg("no_files", |arg| arg.long("names-only").help("Compare the names of granules only").hide_short_help(false)))]
pub struct Compare {
    /// The sets: see `accession --help`
    #[arg(value_names = ["SET", "SET"], required = true, num_args = 1..)]
    sets: Vec<SetSpec>,

    #[command(flatten)]
    lists: ListArgs,

    /// Print only the counts
    #[arg(long, conflicts_with = "limit")]
    summary: bool,

    /// When the listing was made. Granules that changed meanwhile are not reported as differences
    ///
    /// A granule is missing in the listing only if the dataset held it during the whole scan, and too much only if
    /// the dataset held it at no moment of the scan. The others that changed are counted.
    #[arg(long, value_name = "START/END", hide_short_help = true)]
    scanned: Option<ScanPeriod>,

    /// List at most this many granules of each side, or rows [default: 20; all in JSON]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// The number of granules of each side that are listed as text by default.
pub const MAX_LISTED: u64 = 20;

/// The names of the two sides of a comparison in messages.
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
    /// A set of a published site.
    Published(Value),
    List {
        source: String,
        identifier: Identifier,
        granules: u64,
        /// The algorithms that were guessed from the length of the listing's checksums.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        by_length: Vec<Value>,
    },
}

/// The period of the compared contents, if the identifier of the set had different contents.
#[derive(Serialize)]
struct HeldPeriod {
    from: Timestamp,
    until: Option<Timestamp>,
    /// The number of different contents.
    contents: usize,
}

/// The result of a comparison, as JSON. It lacks the granules that differ.
#[derive(Serialize)]
struct ComparedSets<'a> {
    identical: bool,
    left: &'a Compared,
    right: &'a Compared,
    matched: u64,
    only_left_count: u64,
    only_right_count: u64,
    /// The number of granules that differ only in Unicode normalisation or letter case.
    spelling_pairs: u64,
    other_content_count: u64,
    digest_equal: bool,
    #[serde(flatten)]
    contents: ContentCounts,
    #[serde(skip_serializing_if = "Option::is_none")]
    scanned: Option<Scanned>,
}

/// The period in which a listing was made, and the number of granules that changed during it.
#[derive(Serialize)]
struct Scanned {
    start: Timestamp,
    end: Timestamp,
    changed: u64,
}

impl Compared {
    /// The same side, read from a published site.
    fn of_site(self) -> Self {
        match self {
            Compared::Set { .. } => Compared::Published(without_recording(&self)),
            other => other,
        }
    }
}

/// A listing that was read.
struct Listed {
    source: String,
    listing: Listing,
    by_length: Vec<Value>,
    /// Its path, if it is a directory.
    directory: Option<PathBuf>,
}

/// One side of a comparison.
enum Side {
    /// A set of the registry, with its different contents.
    Set(Registry, Vec<HeldContents>),
    /// The present set of a dataset that is published in a directory, in a temporary registry.
    Published(Registry, Vec<HeldContents>),
    /// A listing that was read.
    Listing(Listed),
    /// An identifier or a digest that is unknown here, with the error that says why.
    Unknown(Error),
}

impl Compare {
    pub fn run(mut self, session: &mut Session) -> Result<Exit> {
        if let [only] = &self.sets[..] {
            let only = for_shell(only.as_str());
            return Err(Error::usage(format!("{only} is the only set, and two are compared"))
                .with_hint(one_more(&only)));
        }
        let names_only = self.lists.names_only();
        let limit = match (self.summary, self.limit) {
            (true, _) => 0,
            (false, Some(limit)) => limit,
            (false, None) if session.is_json() => u64::MAX,
            (false, None) => MAX_LISTED,
        };
        let specs = std::mem::take(&mut self.sets);
        if let Some(scan) = self.scanned {
            return self.compare_scanned(session, &specs, scan, limit);
        }
        let sides = self.sides(session, &specs)?;
        let [one, two]: [Side; 2] = match sides.try_into() {
            Ok(sides) => sides,
            Err(sides) => return self.compare_many(session, &specs, sides, limit),
        };
        let (one, two) = match names_only {
            true => (one, two),
            false => {
                let one = as_cited(&specs[0], one, &two)?;
                let two = as_cited(&specs[1], two, &one)?;
                (one, two)
            }
        };
        let is_of_site = [&one, &two].iter().any(|side| matches!(side, Side::Published(..)));
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
            (Side::Set(registry, set) | Side::Published(registry, set), Side::Listing(listed)) => {
                let (compared, sides) =
                    self.with_listing(session, (&registry, &set), listed, PLACES, limit)?;
                let compared = if is_of_site { compared.map(Compared::of_site) } else { compared };
                report(session, compared, &sides, false, self.summary)
            }
            (Side::Listing(listed), Side::Set(registry, set) | Side::Published(registry, set)) => {
                let places = [PLACES[1], PLACES[0]];
                let ([set, list], sides) =
                    self.with_listing(session, (&registry, &set), listed, places, limit)?;
                let set = if is_of_site { set.of_site() } else { set };
                report(session, [list, set], &sides.swapped(), false, self.summary)
            }
            (Side::Listing(left), Side::Listing(right)) => {
                // A single directory goes second: its files are read for the checksums that the other side has.
                let is_swapped = left.directory.is_some() && right.directory.is_none();
                let (first, second) = if is_swapped { (right, left) } else { (left, right) };
                let places = if is_swapped { [PLACES[1], PLACES[0]] } else { PLACES };
                let (registry, set) = as_set(session, &first.listing)?;
                let set = registry.snapshot()?.contents(&set.dataset().clone().into())?;
                let ([_, list], sides) =
                    self.with_listing(session, (&registry, &set), second, places, limit)?;
                let of_set = &set[0].set;
                let (identifier, granules) = (of_set.identifier(), of_set.granule_count());
                let Listed { source, by_length, .. } = first;
                let of_set = Compared::List { source, identifier, granules, by_length };
                if is_swapped {
                    report(session, [list, of_set], &sides.swapped(), false, self.summary)
                } else {
                    report(session, [of_set, list], &sides, false, self.summary)
                }
            }
            (Side::Unknown(_), Side::Listing(Listed { source, listing, .. })) => {
                compare_unknown(session, &specs[0], source, &listing, names_only)
            }
            (Side::Listing(Listed { source, listing, .. }), Side::Unknown(_)) => {
                compare_unknown(session, &specs[1], source, &listing, names_only)
            }
            (Side::Unknown(error), _) | (_, Side::Unknown(error)) => Err(error),
            (Side::Published(..), _) | (_, Side::Published(..)) => {
                let what = "what is published in a directory is compared with a listing";
                Err(Error::usage(what)
                    .with_hint("`accession mirror compare NAME DIR` compares a dataset with it"))
            }
        }
    }

    /// Compares a set, on the left, with a listing. If the listing is a directory, its files are read, unless
    /// only names are compared.
    fn with_listing(
        &self,
        session: &Session,
        (registry, set): (&Registry, &[HeldContents]),
        Listed { source, listing, by_length, directory }: Listed,
        places: [&str; 2],
        limit: u64,
    ) -> Result<([Compared; 2], TwoSides)> {
        let latest = set.last().filter(|_| !self.lists.names_only());
        let listing = match (directory, latest) {
            (Some(root), Some(latest)) => {
                described(session, &listing, root, vec![registry.files(&latest.set)])?
            }
            _ => listing,
        };
        let listed = Listed { source, listing, by_length, directory: None };
        compare_with(session, (registry, set), listed, places, limit)
    }

    /// Compares a dataset with a listing that was made over a period of time.
    fn compare_scanned(
        &self,
        session: &mut Session,
        specs: &[SetSpec],
        scan: ScanPeriod,
        limit: u64,
    ) -> Result<Exit> {
        let registry = session.open()?;
        let (name, file, is_swapped) = {
            let snapshot = Some(registry.snapshot()?);
            let [one, two] = specs else { return Err(not_scanned()) };
            let find = |spec| Named::find(session, snapshot.as_ref(), spec);
            let (dataset, file, is_swapped) = match (find(one)?, find(two)?) {
                (Named::Set(_), Named::Listing(file)) => (one, file, false),
                (Named::Listing(file), Named::Set(_)) => (two, file, true),
                _ => return Err(not_scanned()),
            };
            if !dataset.is_dataset() || file.path().is_some_and(Path::is_dir) {
                return Err(not_scanned());
            }
            let name =
                registry.snapshot()?.present_name(&dataset.dataset(&registry.snapshot()?)?)?;
            (name, file, is_swapped)
        };
        let ListedSource { source, listing, by_length } =
            listed(session, file, self.lists.reading())?;
        let mut differences = registry.compare_scanned(&name, scan, &listing)?;
        let places = if is_swapped { [PLACES[1], PLACES[0]] } else { PLACES };
        let mut sides = TwoSides::lists(differences.by_ref(), places, limit)?;
        let counts = differences.finish()?;
        sides.counts = counts;
        let granules = counts.matched + counts.only_right;
        warn_of_repeated(session, listing.repeated(granules)?);
        let selection = Selection::Dataset { name, at: Some(Moment::Instant(scan.end())) };
        let held = registry.snapshot()?.select(&selection)?.set.instance().clone();
        let set = Compared::Set { instance: Box::new(held), held: None };
        let list = Compared::List { source, identifier: sides.counts.right, granules, by_length };
        let scanned = Scanned { start: scan.start(), end: scan.end(), changed: counts.changed };
        let (compared, sides) = match is_swapped {
            true => ([list, set], sides.swapped()),
            false => ([set, list], sides),
        };
        report_with(session, compared, &sides, (false, Some(scanned)), self.summary)
    }

    /// Finds the sides. Listings are read last, without an open snapshot, because one may be typed at a
    /// terminal.
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
                        (Err(error), snapshot) => {
                            Found::Side(unknown(spec, error.into(), snapshot.as_ref())?)
                        }
                    },
                    Err(error) => Found::Side(unknown(spec, error, snapshot.as_ref())?),
                });
            }
        }
        if !found.iter().any(|it| matches!(it, Found::Listing(_))) {
            refuse_unread(self.lists.given())?;
        }
        // If a cited digest is unknown here, the files of directories are hashed to compute their digests.
        let is_unknown = |(spec, it): (&SetSpec, &Found)| match it {
            Found::Side(Side::Unknown(_)) => spec.has_digest(Digest::EMPTY).is_some(),
            Found::Side(Side::Set(_, contents)) => lacks_digest(spec, contents),
            _ => false,
        };
        let is_digest_unknown = specs.iter().zip(&found).any(is_unknown);
        let are_directories = found
            .iter()
            .all(|it| matches!(it, Found::Listing(file) if file.path().is_some_and(Path::is_dir)));
        let is_hashed = (is_digest_unknown || are_directories) && !self.lists.names_only();
        let read = |found| match found {
            Found::Side(side) => Ok(side),
            Found::Listing(file) => {
                let directory = file.path().filter(|path| path.is_dir()).map(Path::to_owned);
                if let Some(directory) = directory.as_deref().filter(|it| is_published(it)) {
                    return published(session, directory);
                }
                let (options, paths) = self.lists.reading();
                let options = match &directory {
                    Some(_) if is_hashed => options.checksums(Algorithm::Sha256),
                    _ => options,
                };
                // If all sides are directories, their files are hashed here, and not again for the comparison.
                let directory = directory.filter(|_| !are_directories);
                let ListedSource { source, listing, by_length } =
                    listed(session, file, (options, paths))?;
                Ok(Side::Listing(Listed { source, listing, by_length, directory }))
            }
        };
        found.into_iter().map(read).collect()
    }
}

/// The error that `--scanned` needs one dataset and one listing.
fn not_scanned() -> Error {
    Error::usage("--scanned is for one dataset and one listing: it says when the listing was made")
        .with_hint("`accession compare NAME ./scan.txt --scanned START/END`")
}

/// Whether a dataset is published in a directory.
fn is_published(directory: &Path) -> bool {
    directory.join("head.json").is_file() && directory.join("log").is_dir()
}

/// The present set of the dataset that is published in a directory. It is verified.
fn published(session: &Session, directory: &Path) -> Result<Side> {
    let now = session.now()?;
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    let name: DatasetName = "published".parse()?;
    let record = Primary::from(directory.to_owned()).read_into(&name, &mut import, now, |_| {})?;
    let registry = Registry::temporary(Clock::fixed(now).confirmed())?;
    registry.import(&record.name, &import)?;
    let contents = registry.snapshot()?.contents(&Selection::from(record.name))?;
    Ok(Side::Published(registry, contents))
}

/// What to do if only one set is given.
fn one_more(only: &str) -> String {
    match only.contains(['~', '@', '/', ':', ' ']) || only == "-" {
        true => format!("name another set: `accession compare {only} NAME`"),
        false => format!("`accession compare {only}~1 {only}` shows what the last change did"),
    }
}

/// The side for an identifier or a digest that the registry does not contain, or that is used without one.
/// If the registry knows it, it was only not in force at the given time, and the error is returned.
fn unknown(spec: &SetSpec, error: Error, snapshot: Option<&Snapshot>) -> Result<Side> {
    let kind = error.kind();
    let is_unknown = kind == ErrorKind::IdentifierUnknown || kind == ErrorKind::RegistryMissing;
    let periods = snapshot.map(|snapshot| spec.periods(snapshot, None, None));
    let is_known = matches!(periods, Some(Ok(periods)) if !periods.rows.is_empty());
    let is_side = spec.is_identified() && is_unknown && !is_known;
    if is_side { Ok(Side::Unknown(error)) } else { Err(error) }
}

/// Adds checksums to the listing of a directory, for each file that has a checksum on another side.
fn described<F>(
    session: &Session,
    listing: &Listing,
    root: PathBuf,
    others: Vec<F>,
) -> Result<Listing>
where
    F: Iterator<Item = accession::Result<Granule>> + Send + 'static,
{
    let watcher = Watcher::new().observed_by(Arc::new(Progress::new()));
    let watcher = watcher.cancelled_by(&session.interrupt()?);
    let described = listing.described(&FileTree::new(root), others, &watcher)?;
    if !has_checksums(&described)? {
        let what = "no contents were compared: no checksum is recorded of these files";
        session.warn(WarningKind::NoChecksum, what);
    }
    Ok(described)
}

/// The files of the sides that are not directories.
fn other_files(
    sides: &[Side],
) -> Result<Vec<Box<dyn Iterator<Item = accession::Result<Granule>> + Send>>> {
    let mut files: Vec<Box<dyn Iterator<Item = _> + Send>> = Vec::new();
    for side in sides {
        match side {
            Side::Set(registry, contents) | Side::Published(registry, contents) => {
                let sets = contents.iter().map(|it| registry.files(&it.set));
                files.extend(sets.map(|it| Box::new(it) as Box<dyn Iterator<Item = _> + Send>));
            }
            Side::Listing(Listed { listing, directory: None, .. }) => {
                files.push(Box::new(listing.files()?));
            }
            Side::Listing(_) | Side::Unknown(_) => {}
        }
    }
    Ok(files)
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

/// Compares a set, on the left, with a listing. If the set had several contents, the most similar one is
/// compared.
fn compare_with(
    session: &Session,
    (registry, contents): (&Registry, &[HeldContents]),
    Listed { source, listing, by_length, .. }: Listed,
    places: [&str; 2],
    limit: u64,
) -> Result<([Compared; 2], TwoSides)> {
    let nearest = registry.nearest_to(contents, &listing)?;
    let differences = registry.compare_with(&contents[nearest].set, &listing)?;
    let sides = TwoSides::read(differences, places, limit)?;
    let counts = sides.counts;
    let granules = counts.matched + counts.only_right;
    if counts.matched == 0 && granules > 0 && has_paths(&listing)? {
        let what = format!("none of the listed ids is held, and they are paths: {OF_PATHS}");
        session.warn(WarningKind::IdsFromPaths, &what);
    }
    warn_of_repeated(session, listing.repeated(granules)?);
    let list = Compared::List { source, identifier: sides.counts.right, granules, by_length };
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
    /// `None` means that no identifier is given.
    identifier_equal: Option<bool>,
    /// `None` means that no digest is given, or that it was not compared.
    digest_equal: Option<bool>,
    expected: &'a SetSpec,
    source: String,
    #[serde(flatten)]
    found: ListingSummary,
}

/// Replaces a side by [`Side::Unknown`] if no contents of the set have the cited digest, but the listing has
/// the same identifier. The listing may have that digest, which is then checked without the set.
fn as_cited(spec: &SetSpec, side: Side, other: &Side) -> Result<Side> {
    let (Side::Set(_, contents), Side::Listing(Listed { listing, .. })) = (&side, other) else {
        return Ok(side);
    };
    if !lacks_digest(spec, contents) {
        return Ok(side);
    }
    let ListingSummary { identifier, .. } = listing.identify()?;
    match contents.iter().any(|it| it.set.identifier() == identifier) {
        true => Ok(Side::Unknown(Error::usage(format!("no set here has the digest of {spec}")))),
        false => Ok(side),
    }
}

/// Whether the name has a digest that no contents of a set have.
fn lacks_digest(spec: &SetSpec, contents: &[HeldContents]) -> bool {
    contents.iter().all(|it| spec.has_digest(it.set.digest()) == Some(false))
}

/// Compares a listing with an identifier or a digest that is unknown here.
fn compare_unknown(
    session: &mut Session,
    expected: &SetSpec,
    source: String,
    listing: &Listing,
    names_only: bool,
) -> Result<Exit> {
    let found = listing.identify_watched(&session.watcher())?;
    warn_of_repeated(session, found.repeated);
    let ListingSummary { identifier, digest, .. } = found;
    let identifier_equal = expected.has_identifier(identifier);
    let mut digest_equal = expected.has_digest(digest);
    if identifier_equal == Some(true) && digest_equal == Some(false) {
        if names_only {
            digest_equal = None;
        } else if !has_checksums(listing)? {
            digest_equal = None;
            let what = "the digest was not checked: the listing has no checksums";
            session.warn(WarningKind::CitationNotChecked, what);
        }
    }
    let identical = identifier_equal != Some(false) && digest_equal != Some(false);
    let compared =
        ComparedName { identical, identifier_equal, digest_equal, expected, source, found };
    session.present(&compared, |out, compared| {
        let granules = counted(&compared["granules"], "granule");
        if compared["identical"] == true {
            writeln!(out, "identical: {granules}")?;
        } else if compared["identifier_equal"] == true {
            writeln!(out, "different: the same {granules}, with other checksums or sizes")?;
        } else {
            let expected = in_words(&compared["expected"]);
            writeln!(out, "different: the granules of {expected} are not known here")?;
        }
        write_fields(out, &[Column::text("identifier"), Column::text("digest")], compared)
    })?;
    Ok(if identical { Exit::Done } else { Exit::Differs })
}

/// Prints the differences between two sides.
fn report(
    session: &mut Session,
    compared: [Compared; 2],
    sides: &TwoSides,
    is_digest_equal: bool,
    is_summary: bool,
) -> Result<Exit> {
    report_with(session, compared, sides, (is_digest_equal, None), is_summary)
}

/// Prints the differences between two sides. A side may be a listing that was made over a period of time.
fn report_with(
    session: &mut Session,
    [left, right]: [Compared; 2],
    sides: &TwoSides,
    (is_digest_equal, scanned): (bool, Option<Scanned>),
    is_summary: bool,
) -> Result<Exit> {
    let DifferenceCounts { matched, only_left, only_right, contents, .. } = sides.counts;
    let is_identical = sides.counts.is_identical();
    let compared = ComparedSets {
        identical: is_identical,
        left: &left,
        right: &right,
        matched,
        only_left_count: only_left,
        only_right_count: only_right,
        spelling_pairs: sides.spelling_pairs,
        other_content_count: contents.other,
        digest_equal: is_digest_equal,
        contents,
        scanned,
    };
    let only = [
        OneSide {
            member: "only_left",
            lines: MarkedLines { mark: "<", count: "only_left_count", kind: "only left" },
        },
        OneSide {
            member: "only_right",
            lines: MarkedLines { mark: ">", count: "only_right_count", kind: "only right" },
        },
    ];
    let mut lists = differences(sides, only);
    if is_summary {
        lists.iter_mut().for_each(|list| list.lines = None);
    }
    session.present_with_lists(&compared, write_summary, &lists)?;
    Ok(if is_identical { Exit::Done } else { Exit::Differs })
}

/// Writes the numbers of granules by which two sides differ.
fn write_summary(out: &mut Output, compared: &Value) -> io::Result<()> {
    let is_identical = compared["identical"] == true;
    let count = |member: &str| compared[member].as_u64().unwrap_or(0);
    let held = ["left", "right"].map(|side| &compared[side]["held"]);
    let held = held.into_iter().filter(|held| !held.is_null()).map(|held| {
        let until = held["until"].as_str().unwrap_or("now");
        format!("the contents held {} to {until}", in_words(&held["from"]))
    });
    let tried = held.collect::<Vec<_>>().join(" and ");
    let matched = count("matched");
    if is_identical {
        let to = if tried.is_empty() { "" } else { " to " };
        writeln!(out, "identical{to}{tried}: {}", plural(matched, "granule"))?;
    } else {
        let (left, right) = (count("only_left_count"), count("only_right_count"));
        writeln!(out, "different: {matched} in both, {left} only left, {right} only right")?;
        if !tried.is_empty() {
            writeln!(out, "nearest: {tried}")?;
        }
    }
    let pairs = count("spelling_pairs");
    if pairs > 0 {
        let verb = if pairs == 1 { "differs" } else { "differ" };
        let pairs = plural(pairs, "pair");
        writeln!(out, "{pairs} {verb} only in Unicode normalisation or letter case")?;
    }
    if let Some(changed) = compared["scanned"]["changed"].as_u64() {
        writeln!(out, "{} changed during the scan", plural(changed, "granule"))?;
    }
    let files = count("compared");
    if compared["digest_equal"] != true && files + count("not_comparable") > 0 {
        let other = count("other_content_count");
        writeln!(
            out,
            "sizes or checksums: compared for {files} of {matched}, different in {other}"
        )?;
    }
    if is_identical {
        return Ok(());
    }
    write_sides(out, ["left", "right"].map(|side| (side, &compared[side])))
}

/// Writes the two sides of a comparison, each with its name.
pub fn write_sides(out: &mut Output, sides: [(&str, &Value); 2]) -> io::Result<()> {
    const COLUMNS: &[Column] = &[
        Column::text("side"),
        Column::text("identifier").or("no history yet"),
        Column::text("dataset"),
        Column::text("as of").of("timestamp"),
    ];
    let rows = sides.map(|(name, side)| {
        // A listing has a source instead of a dataset.
        let dataset = side.get("dataset").or(side.get("source"));
        json!({
            "side": name,
            "identifier": side["identifier"],
            "dataset": dataset,
            "timestamp": side["timestamp"],
        })
    });
    write_rows(out, COLUMNS, &rows)
}

/// The JSON of a set. A subset has its own identifier, digest and number of granules, not those of its
/// instance. The period of the contents is only known if files were compared.
fn compared(contents: &[HeldContents], index: usize, sides: &TwoSides) -> Compared {
    let compared = &contents[index];
    let HeldContents { ref set, from, until, .. } = *compared;
    let (identifier, digest, granules) = (set.identifier(), set.digest(), set.granule_count());
    let instance = Instance { identifier, digest, granules, ..set.instance().clone() };
    let is_found = contents.len() > 1 && sides.counts.contents.compared > 0;
    let held = is_found.then_some(HeldPeriod { from, until, contents: contents.len() });
    Compared::Set { instance: Box::new(instance), held }
}

/// The output of the granules that only one side has.
pub struct OneSide {
    /// The member of the result with these granules.
    pub member: &'static str,
    /// The format as text.
    pub lines: MarkedLines,
}

/// The lists of a comparison of two sides: the granules of only the left side, of only the right side, and with
/// other content.
pub fn differences(sides: &TwoSides, [left, right]: [OneSide; 2]) -> [MarkedList<'_>; 4] {
    let text = |id: accession::Result<GranuleId>| id.map(|id| id.to_string());
    let other =
        MarkedLines { mark: "~", count: "other_content_count", kind: "with different content" };
    [
        MarkedList {
            member: left.member,
            values: Streamed::of(move || sides.only_left().map(text)),
            lines: Some(left.lines),
        },
        MarkedList {
            member: right.member,
            values: Streamed::of(move || sides.only_right().map(text)),
            lines: Some(right.lines),
        },
        MarkedList {
            member: "other_content",
            values: Streamed::of(move || sides.other_content().map(text)),
            lines: None,
        },
        MarkedList {
            member: "contradictions",
            values: Streamed::of(|| sides.contradictions()),
            lines: Some(other),
        },
    ]
}

/// One of several sides.
#[derive(Serialize)]
struct SideRow {
    name: String,
    /// `None` means that the side is a list.
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
        let found = match self.lists.names_only() {
            true => found,
            false => with_checksums(session, found)?,
        };
        let (sides, rows) = side_by_side(specs, found)?;
        report_many(session, sides, rows, limit, self.summary)
    }
}

/// Adds checksums to the sides that are directories.
fn with_checksums(session: &Session, mut sides: Vec<Side>) -> Result<Vec<Side>> {
    for index in 0..sides.len() {
        let Side::Listing(Listed { listing, directory: Some(root), .. }) = &sides[index] else {
            continue;
        };
        let described = described(session, listing, root.clone(), other_files(&sides)?)?;
        if let Side::Listing(listed) = &mut sides[index] {
            listed.listing = described;
        }
    }
    Ok(sides)
}

/// Reads the sides in one pass. Also returns the row to print for each.
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
            Side::Set(registry, mut contents) | Side::Published(registry, mut contents) => {
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
                // `report_many` subtracts the granules that were read, to count repeated ids. If the list has
                // file metadata, several rows of one granule are not repetitions.
                let granules = if listing.states_files() { 0 } else { listing.count() };
                sides.add_list(&listing)?;
                SideRow { name, identifier: None, timestamp: None, granules }
            }
            Side::Unknown(error) => return Err(error),
        });
    }
    Ok((sides, rows))
}

/// The result of a comparison of several sides, as JSON after the granules that differ.
#[derive(Serialize)]
struct ComparedSides {
    identical: bool,
    same: u64,
    different: u64,
    compared: Option<u64>,
    /// The number of differing granules that were listed.
    listed: u64,
    sides: Vec<SideRow>,
    patterns: Vec<Object>,
}

/// Prints the differences between several sides.
fn report_many(
    session: &mut Session,
    mut sides: SideBySide,
    mut rows: Vec<SideRow>,
    limit: u64,
    is_summary: bool,
) -> Result<Exit> {
    const GRANULES: &[Column] = &[Column::text("granule"), Column::text("sides")];
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let mut patterns: BTreeMap<Vec<Presence>, u64> = BTreeMap::new();
    let mut list = session.list(GRANULES);
    let mut listed = 0;
    for uneven in sides.by_ref() {
        let (granule_id, presences) = uneven?;
        if listed < limit {
            let granule = ("granule", json!(granule_id));
            list.add(session, &by_name(granule, &names, &presences))?;
            listed += 1;
        }
        *patterns.entry(presences).or_default() += 1;
    }
    list.finish(session)?;
    let different: u64 = patterns.values().sum();
    for (row, granules) in rows.iter_mut().zip(sides.granules()) {
        warn_of_repeated(session, row.granules.saturating_sub(*granules));
        row.granules = *granules;
    }
    let of_pattern = |(pattern, granules): (&Vec<Presence>, &u64)| {
        by_name(("granules", json!(granules)), &names, pattern)
    };
    let summary = ComparedSides {
        identical: different == 0,
        same: sides.same(),
        different,
        compared: sides.compared(),
        listed,
        sides: rows,
        patterns: patterns.iter().map(of_pattern).collect(),
    };
    let text = if is_summary { write_sides_summary } else { write_many };
    session.present(&BTreeMap::from([("summary", summary)]), text)?;
    Ok(if different == 0 { Exit::Done } else { Exit::Differs })
}

/// Writes the number of differing granules that are not listed, and how the sides differ.
fn write_many(out: &mut Output, compared: &Value) -> io::Result<()> {
    let [different, listed] =
        ["different", "listed"].map(|member| compared["summary"][member].as_u64().unwrap_or(0));
    match different.saturating_sub(listed) {
        0 => {}
        more => writeln!(out, "and {more} more")?,
    }
    write_sides_summary(out, compared)
}

/// Writes the numbers of granules by which several sides differ.
fn write_sides_summary(out: &mut Output, compared: &Value) -> io::Result<()> {
    const SIDES: &[Column] = &[
        Column::text("side").of("name"),
        Column::text("identifier"),
        Column::text("as of").of("timestamp"),
        Column::number("granules"),
    ];
    const PATTERNS: &[Column] = &[Column::number("granules"), Column::text("sides")];
    let summary = &compared["summary"];
    let [same, different] =
        ["same", "different"].map(|member| summary[member].as_u64().unwrap_or(0));
    match different {
        0 => writeln!(out, "identical: {}", plural(same, "granule"))?,
        _ => writeln!(out, "different: {same} the same on all sides, {different} not")?,
    }
    let all = same + different;
    if let Some(compared) = summary["compared"].as_u64().filter(|compared| *compared < all) {
        writeln!(out, "sizes or checksums: compared for {compared} of {all}")?;
    }
    for (member, columns) in [("sides", SIDES), ("patterns", PATTERNS)] {
        write_rows(out, columns, summary[member].as_array().into_iter().flatten())?;
    }
    Ok(())
}

/// The marks of the sides, in their order.
fn marks(sides: &[Presence]) -> String {
    let marks: Vec<String> = sides.iter().map(|side| side.mark().to_string()).collect();
    marks.join(" ")
}

/// The marks of the sides, and the names of the sides that have the granules and of those with other content,
/// as JSON.
fn by_name(of: (&'static str, Value), names: &[String], sides: &[Presence]) -> Object {
    let with = |is_meant: fn(&Presence) -> bool| -> Value {
        let meant = names.iter().zip(sides).filter(|(_, side)| is_meant(side));
        meant.map(|(name, _)| name.as_str()).collect()
    };
    let having = ("in", with(|side| *side != Presence::Absent));
    let other = ("other_content", with(|side| *side == Presence::OtherBytes));
    Object(vec![of, ("sides", json!(marks(sides))), having, other])
}
