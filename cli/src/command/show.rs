use std::io::{self, Write};

use accession::dataset::{DatasetRecord, MetadataVersion, RefusedListing};
use accession::history::{ChangeCounts, HeldContents, Period, Periods, Subset};
use accession::listing::ListingSummary;
use accession::{
    Digest, ErrorKind, Identifier, Instance, Resolution, Selection, SetSpec, Snapshot, Timestamp,
    Warning, WarningKind,
};
use serde::Serialize;
use serde_json::Value;

use super::dataset::DATASET;
use crate::applied::sides;
use crate::args::{KnownAtArgs, ListArgs, SiteArgs};
use crate::error::{Error, Exit, Result};
use crate::output::{
    Column, Output, annotation_in, digest_in, in_words, selected_in, to_value, without_recording,
    write_fields, write_rows,
};
use crate::reading::warn_of_repeated;
use crate::session::Session;
use crate::sources::{ListedSource, Named, listed, refuse_unread, snapshot};

/// Describe a dataset, identifier, citation, listing or directory
///
/// A dataset is shown with its metadata, its latest identifier and its cited subsets; DATASET@TIME with the
/// set that it held then. An identifier is shown with every dataset and period in which it was in force. If
/// files were replaced meanwhile, the different contents are listed, each with a name to paste. A listing or
/// a directory is shown with its identifier and digest; no registry is needed.
///
/// Examples:
///   accession show US.FOOL2.002
///   accession show US.FOOL2.002@2001-01-05
///   accession show DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession show files.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The sets: see `accession --help`
    #[arg(value_name = "SET", required = true)]
    sets: Vec<SetSpec>,

    /// List every version of the metadata of a dataset, oldest first
    #[arg(long, hide_short_help = true, conflicts_with_all = ["site", "known_at"])]
    versions: bool,

    #[command(flatten)]
    site: SiteArgs,

    #[command(flatten)]
    known_at: KnownAtArgs,

    #[command(flatten)]
    lists: ListArgs,
}

/// The JSON of one SET.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Shown {
    Dataset(Box<ShownDataset>),
    Set(Box<ShownSet>),
    Listing(ShownListing),
    /// A dataset of a published site, with its kind.
    #[serde(untagged)]
    Published(Value),
}

#[derive(Serialize)]
struct ShownDataset {
    #[serde(flatten)]
    record: DatasetRecord,
    refused: Option<RefusedListing>,
    subsets: Vec<Subset>,
}

#[derive(Serialize)]
struct ShownSet {
    identifier: Identifier,
    /// `None` means that the set had several contents, which are in `contents`.
    digest: Option<Digest>,
    granules: u64,
    periods: Vec<Period>,
    contents: Vec<Contents>,
    others: Vec<Instance>,
}

/// One of several contents of an identifier.
#[derive(Serialize)]
struct Contents {
    /// The argument that names these contents.
    set: String,
    dataset: String,
    from: Timestamp,
    until: Option<Timestamp>,
    digest: Digest,
    /// Its address on the site that resolves identifiers. `None` means that no such site is known.
    address: Option<String>,
}

#[derive(Serialize)]
struct ShownListing {
    source: String,
    #[serde(flatten)]
    summary: ListingSummary,
    /// The algorithms that were guessed from the length of the listing's checksums.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_length: Vec<Value>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if !self.sets.iter().any(|spec| spec.is_standard_input() || spec.path().is_some()) {
            let no_files = self.lists.names_only().then_some("--no-files");
            refuse_unread(self.lists.given().or(no_files))?;
        }
        self.site.follow(session, &self.sets)?;
        if self.versions {
            return self.print_versions(session);
        }
        for (index, spec) in self.sets.iter().enumerate() {
            let shown = self.shown(session, spec)?;
            session.present(&shown, if index == 0 { write_shown } else { write_next })?;
        }
        Ok(Exit::Done)
    }

    /// Finds the set, dataset or listing. On return, no snapshot is open, because printing may wait for a
    /// terminal.
    fn shown(&self, session: &mut Session, spec: &SetSpec) -> Result<Shown> {
        let snapshot = snapshot(session)?;
        let snapshot =
            snapshot.map(|snapshot| self.known_at.apply(snapshot, session)).transpose()?;
        let (resolution, snapshot) = match Named::find(session, snapshot.as_ref(), spec)? {
            Named::Set(resolution) => (resolution, snapshot.as_ref()),
            Named::Listing(file) => {
                drop(snapshot);
                self.known_at.refuse_for_listing()?;
                let ListedSource { source, listing, by_length } =
                    listed(session, file, self.lists.reading())?;
                let summary = listing.identify_watched(&session.watcher())?;
                warn_of_repeated(session, summary.repeated);
                return Ok(Shown::Listing(ShownListing { source, summary, by_length }));
            }
        };
        let Some(snapshot) = snapshot else {
            return Err(Error::usage(format!("{spec} is not in a registry")));
        };
        let selection = resolution.selection();
        self.known_at.check(selection, snapshot)?;
        if let Selection::Dataset { name, .. } = selection {
            // The metadata of a dataset are the present ones.
            if spec.is_dataset() && !self.known_at.is_given() {
                return self.dataset(session, snapshot, spec);
            }
            session.warn_of_dataset(snapshot, name)?;
            let selected = resolution.names()?;
            session.warn_all(Warning::of_others(spec.time(), &selected.others));
            let mut period = snapshot.period(selected.set)?;
            period.is_of_site = self.site.is_given();
            let (identifier, digest) = (period.set.identifier(), Some(period.set.digest()));
            let granules = period.set.granule_count();
            let (periods, contents, others) = (vec![period], Vec::new(), selected.others);
            let shown = ShownSet { identifier, digest, granules, periods, contents, others };
            return Ok(Shown::Set(Box::new(shown)));
        }
        let mut found = spec.periods(snapshot, None, None)?;
        let is_unknown_then = found.agreement().is_none() && found.is_unknown_then();
        if found.agreement().is_some() {
            found.rows.retain(|row| row.agreement.is_some());
        } else if is_unknown_then {
            let what =
                format!("{spec} is a subset here: whether it was the same then is not known");
            session.warn(WarningKind::NotInForce, &what);
        } else {
            found = self.resolved(session, snapshot, spec, &resolution, found)?;
        }
        let mut datasets: Vec<_> = found.rows.iter().map(|row| row.set.dataset()).collect();
        datasets.dedup();
        for dataset in datasets {
            session.warn_of_dataset(snapshot, dataset)?;
        }
        for row in &mut found.rows {
            row.is_of_site = self.site.is_given();
        }
        // If it is not known whether a subset was the same at that time, it has no contents.
        let candidates = match resolution.candidates() {
            Err(error) if is_unknown_then && error.kind() == ErrorKind::IdentifierUnknown => {
                Vec::new()
            }
            candidates => candidates?,
        };
        let set = match (candidates.last(), found.rows.last()) {
            (Some(contents), _) => contents.set.clone(),
            (None, Some(row)) => row.set.clone(),
            (None, None) => resolution.names()?.set,
        };
        let (identifier, granules) = (set.identifier(), set.granule_count());
        let is_single = candidates.len() <= 1;
        let contents = if is_single {
            Vec::new()
        } else {
            let contents = candidates.iter().map(|it| Contents::of(snapshot, it, &candidates));
            contents.collect::<accession::Result<Vec<_>>>()?
        };
        Ok(Shown::Set(Box::new(ShownSet {
            identifier,
            digest: is_single.then(|| set.digest()),
            granules,
            periods: found.rows,
            contents,
            others: Vec::new(),
        })))
    }

    /// The period of the named set. If no period agrees with the name, the error says when the identifier was
    /// in force.
    fn resolved(
        &self,
        session: &Session,
        snapshot: &Snapshot,
        spec: &SetSpec,
        resolution: &Resolution<'_>,
        found: Periods,
    ) -> Result<Periods> {
        match (resolution.names(), found.rows.first()) {
            (Ok(selected), _) => Ok(Periods { rows: vec![snapshot.period(selected.set)?] }),
            (Err(error), Some(row)) if spec.time().is_some() => {
                let (program, identifier) = (session.program(), row.set.identifier());
                let hint = format!("`{program} show DI:{identifier}` lists when it was");
                Err(Error::from(error).with_hint(hint))
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    fn dataset(&self, session: &Session, snapshot: &Snapshot, spec: &SetSpec) -> Result<Shown> {
        let name = spec.dataset(snapshot)?;
        let mut record = snapshot.dataset(&name)?;
        let now = snapshot.now();
        // A withdrawal is one of the fields, so there is no warning about it.
        session.warn_all(Warning::of_former_name(&name, &record.dataset.name));
        session.warn_all(record.latest.iter().filter_map(|it| Warning::of_future(it, now)));
        snapshot.replace_future_instance(&mut record)?;
        let refused = snapshot.refusal(&record.dataset.name)?;
        let subsets = snapshot.subsets(&name)?;
        let shown = ShownDataset { record, refused, subsets };
        if !self.site.is_given() {
            return Ok(Shown::Dataset(Box::new(shown)));
        }
        let mut shown = to_value(&Shown::Dataset(Box::new(shown)));
        if !shown["latest"].is_null() {
            shown["latest"] = without_recording(&shown["latest"]);
        }
        Ok(Shown::Published(shown))
    }

    fn print_versions(&self, session: &mut Session) -> Result<Exit> {
        let [spec] = self.sets.as_slice() else {
            return Err(Error::usage("--versions lists the metadata of one dataset"));
        };

        let snapshot = session.open()?.snapshot()?;
        let name = spec.dataset(&snapshot)?;
        let versions = snapshot.record_versions(&name)?;
        drop(snapshot);
        print_versions(session, &versions)
    }
}

impl Contents {
    fn of(
        snapshot: &Snapshot,
        contents: &HeldContents,
        all: &[HeldContents],
    ) -> accession::Result<Self> {
        let HeldContents { set, from, until, .. } = contents;
        let (identifier, digest) = (set.identifier(), set.digest());
        let resolver = snapshot.dataset(set.dataset())?.dataset.resolver;
        let address = resolver.map(|resolver| {
            let root = resolver.as_str().trim_end_matches('/').to_owned();
            format!("{root}/DI:{identifier}?digest={digest}")
        });
        Ok(Contents {
            set: contents.spec_among(all),
            dataset: set.dataset().to_string(),
            from: *from,
            until: *until,
            digest,
            address,
        })
    }
}

/// Writes a SET after the first one.
fn write_next(out: &mut Output, shown: &Value) -> io::Result<()> {
    writeln!(out)?;
    write_shown(out, shown)
}

fn write_shown(out: &mut Output, shown: &Value) -> io::Result<()> {
    match shown["kind"].as_str() {
        Some("dataset") => {
            let (first, others) = DATASET.split_at(2);
            let columns = [first, &[Column::text("digest").of("latest/digest")], others].concat();
            write_fields(out, &columns, shown)?;
            write_rows(out, SUBSETS, listed_in(shown, "subsets"))
        }
        Some("set") => {
            write_fields(out, SET, shown)?;
            match listed_in(shown, "periods") {
                [period] => {
                    write_fields(out, PERIOD, period)?;
                    if listed_in(period, "digests").len() > 1 {
                        write_fields(out, &[Column::text("digests").by(digest_in)], period)?;
                    }
                }
                periods => write_rows(out, PERIODS, periods)?,
            }
            write_rows(out, CONTENTS, listed_in(shown, "contents"))
        }
        _ => write_fields(out, LISTING, shown),
    }
}

/// The items of a list in a value.
fn listed_in<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

const LISTING: &[Column] =
    &[Column::text("identifier"), Column::text("digest"), Column::number("granules")];

const SET: &[Column] = &[
    Column::text("identifier"),
    Column::text("digest").or("it had several contents"),
    Column::number("granules"),
];

/// The fields of the only period of a set.
const PERIOD: &[Column] = &[
    Column::text("dataset"),
    Column::text("in force").of("").by(in_force),
    Column::text("change").of("instance").by(sides_in),
    Column::text("recorded").of("instance/recorded"),
    Column::text("by").of("instance/recorded_by"),
    Column::prose("note").of("instance/note"),
    Column::prose("subset").by(selected_in),
    Column::prose("annotation").of("annotations").by(annotation_in),
    Column::text("withdrawn").of("withdrawn/timestamp"),
    Column::prose("why").of("withdrawn/note"),
];

const PERIODS: &[Column] = &[
    Column::text("dataset"),
    Column::text("from"),
    Column::text("until").or("now"),
    Column::number("granules"),
    Column::prose("subset").by(selected_in),
];

const CONTENTS: &[Column] = &[
    Column::text("contents").of("set"),
    Column::text("until").or("now"),
    Column::text("dataset"),
    Column::text("digest"),
    Column::text("address").if_any(),
];

const SUBSETS: &[Column] = &[
    Column::text("subset").of("identifier"),
    Column::text("as of").of("timestamp"),
    Column::number("granules"),
    Column::text("cited"),
    Column::prose("patterns").or("named one by one"),
];

/// The period in which a set was in force, from its JSON.
fn in_force(period: &Value) -> String {
    let until = period["until"].as_str().unwrap_or("now");
    format!("{} until {until}", in_words(&period["from"]))
}

/// The numbers of granules that the change of an instance ingested, deleted, replaced and described, from its
/// JSON.
pub fn sides_in(instance: &Value) -> String {
    let count = |side: &str| instance[side].as_u64().unwrap_or_default();
    let mut counts = ChangeCounts::default();
    counts.ingested = count("ingested");
    counts.deleted = count("deleted");
    counts.described = count("described");
    counts.replaced = count("replaced");
    sides(counts)
}

/// A version of the metadata, as JSON.
#[derive(Serialize)]
struct VersionRow<'a> {
    #[serde(flatten)]
    version: &'a MetadataVersion,
    /// The fields that differ from the previous version.
    changed: Vec<&'a str>,
}

fn print_versions(session: &mut Session, versions: &[MetadataVersion]) -> Result<Exit> {
    const COLUMNS: &[Column] = &[
        Column::text("recorded"),
        Column::text("by").of("recorded_by"),
        Column::text("action"),
        Column::prose("changed").of("").by(changes_in),
    ];
    let mut list = session.list(COLUMNS);
    let mut before = None;
    for version in versions {
        let changed = changed(before, &version.dataset);
        list.add(session, &VersionRow { version, changed })?;
        before = Some(&version.dataset);
    }
    list.finish(session)?;
    Ok(Exit::Done)
}

/// Whether a field of the metadata has no value.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// The fields that differ from the previous version.
fn changed<'a>(before: Option<&Value>, after: &'a Value) -> Vec<&'a str> {
    let fields = after.as_object().into_iter().flatten();
    let differs = |(field, value): &(&String, &Value)| {
        let before = before.and_then(|before| before.get(field.as_str()));
        before.map_or(!is_empty(value), |before| before != *value)
    };
    fields.filter(differs).map(|(field, _)| field.as_str()).collect()
}

/// The changes of a version, from its JSON: the changed fields with their new values.
fn changes_in(version: &Value) -> String {
    let fields = version["changed"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let words = fields.map(|field| match &version["dataset"][field] {
        value if is_empty(value) => format!("{field} removed"),
        value => format!("{field} {}", in_words(value)),
    });
    words.collect::<Vec<_>>().join("; ")
}
