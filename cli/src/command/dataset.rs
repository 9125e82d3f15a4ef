//! Datasets: their records, their names, and whether they accept changes.

use std::io::Write;

use accession::citation::record;
use accession::dataset::DatasetMetadata;
use accession::dataset::{
    Creator, DatasetRecord, GranuleUrl, Keyword, Licence, Temporal, WebAddress, Year,
};
use accession::dataset::{Edit as Change, SharedDoi, Withdrawn};
use accession::{DatasetName, Limit, Limits, Registry};
use accession::{Doi, Warning};
use serde::Serialize;
use serde_json::Value;

use super::correct::Correct;
use super::export::ExportArgs;
use crate::applied::Created;
use crate::args::{ClockArgs, Refusal, edit, edit_as};
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::output::{Column, annotation_in, in_words, plural, write_fields};
use crate::references::read_record;
use crate::session::{Create, Session};

commands! {
    /// Create, edit, list, export, correct or withdraw datasets
    enum Command {
        Create(CreateDataset),
        Edit(EditDataset),
        List(ListDatasets),
        Export(ExportArgs),
        Correct(Correct),
        Rename(Rename),
        Withdraw(Withdraw),
        Reinstate(Reinstate),
        Remove(Remove),
    }
}

/// Create a dataset
///
/// Creates the registry, too, if it does not exist.
///
/// Example:
///   accession dataset create FOO --doi 10.9999/FOO.v2 --title 'FOO Level 2' --year 2001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct CreateDataset {
    /// The name of the dataset: letters, digits and . _ - :
    name: DatasetName,

    #[command(flatten)]
    record: RecordArgs,
}

/// Change the metadata of a dataset
///
/// Fields that are not named are not changed. An empty string removes a field.
///
/// Example:
///   accession dataset edit US.FOOL2.002 --publisher 'US Archive' --title ''
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct EditDataset {
    /// The dataset
    name: DatasetName,

    #[command(flatten)]
    record: RecordArgs,
}

/// The JSON that `dataset create` prints.
#[derive(Serialize)]
struct CreatedDataset<'a> {
    #[serde(flatten)]
    listed: &'a DatasetRecord,
    created: Created,
}

impl CreateDataset {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut dataset = DatasetMetadata::named(self.name);
        let mut limits = Limits::default();
        let (record, file) = (&self.record, self.record.read_file()?);
        record.apply_to(file.as_ref(), &mut dataset, &mut limits);
        let create = Create::IfMissing;
        let is_new_registry = session.new_registry(create)?.is_some();
        session.write(create, record.clock.time(), |registry, _| {
            Ok(registry.add_dataset_with(&dataset, limits, record.shared_doi())?)
        })?;
        let listed = session.open()?.snapshot()?.dataset(&dataset.name)?;
        let created = Created { registry: is_new_registry, dataset: true };
        session.present_done(&CreatedDataset { listed: &listed, created }, |out, listed| {
            writeln!(out, "created dataset {}", in_words(&listed["name"]))?;
            write_fields(out, DATASET, listed)
        })
    }
}

impl EditDataset {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let EditDataset { name, record } = &self;
        if record.from.is_none() && record.fields == FieldArgs::default() {
            return Err(Error::usage("no field is named")
                .with_hint("name the fields to change, such as --title"));
        }
        let file = record.read_file()?;
        edit_and_confirm(session, name, &record.clock, |registry| {
            let apply = |dataset: &mut _, limits: &mut _| {
                record.apply_to(file.as_ref(), dataset, limits);
            };
            registry.edit_dataset_with(name, record.shared_doi(), apply).map(drop)
        })
    }
}

/// Give a dataset another name
///
/// The dataset is still found by its former name, which another dataset can get only when this one
/// is withdrawn.
///
/// Example:
///   accession dataset rename US.FOOL2.02 US.FOOL2.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Rename {
    /// The present name
    old: DatasetName,

    /// The new name
    new: DatasetName,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Withdraw a dataset: it accepts no further changes, and is listed with --all only
///
/// All its identifiers still resolve, marked as withdrawn.
///
/// Example:
///   accession dataset withdraw US.FOOL2.001 --note 'replaced by US.FOOL2.002'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Withdraw {
    /// The dataset
    name: DatasetName,

    /// Why it is withdrawn
    #[arg(long, value_name = "WHY")]
    note: String,

    #[command(flatten)]
    clock: ClockArgs,
}

/// End the withdrawal of a dataset
///
/// Example:
///   accession dataset reinstate US.FOOL2.001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Reinstate {
    /// The dataset
    name: DatasetName,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Remove a dataset that was created by mistake
///
/// Only a dataset that never had a change, another name, a primary, a subset or checks of files. Its name is free
/// then.
///
/// Example:
///   accession dataset remove US.FOOL.002
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Remove {
    /// The dataset
    name: DatasetName,
}

impl Remove {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let removed = session
            .write(Create::Never, None, |registry, _| Ok(registry.remove_dataset(&self.name)?))?;
        session.present_done(&object!({ "removed": removed.name }), |out, done| {
            writeln!(out, "removed dataset {}", in_words(&done["removed"]))
        })
    }
}

impl Rename {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        edit_and_confirm(session, &self.new, &self.clock, |registry| {
            registry.rename_dataset(&self.old, &self.new).map(drop)
        })
    }
}

impl Withdraw {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.note.trim().is_empty() {
            return Err(Error::usage("the note is empty")
                .with_hint("state with --note why the dataset is withdrawn: readers will see it"));
        }
        edit_and_confirm(session, &self.name, &self.clock, |registry| {
            registry.withdraw_dataset(&self.name, &self.note).map(drop)
        })
    }
}

impl Reinstate {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        edit_and_confirm(session, &self.name, &self.clock, |registry| {
            registry.reinstate_dataset(&self.name).map(drop)
        })
    }
}

/// Edits a record, and prints the dataset. `name` is its name after the edit.
fn edit_and_confirm(
    session: &mut Session,
    name: &DatasetName,
    clock: &ClockArgs,
    make: impl FnOnce(&Registry) -> accession::Result<()>,
) -> Result<Exit> {
    session.write(Create::Never, clock.time(), |registry, _| Ok(make(registry)?))?;
    let listed = session.open()?.snapshot()?.dataset(name)?;
    session.warn_all(Warning::of_former_name(name, &listed.dataset.name));
    session.present_done(&listed, |out, listed| write_fields(out, DATASET, listed))
}

/// What is recorded, and how.
#[derive(clap::Args)]
pub struct RecordArgs {
    #[command(flatten)]
    fields: FieldArgs,

    /// Metadata from doi.org (CSL-JSON or DataCite JSON), or -
    ///
    /// Other options take precedence.
    #[arg(long, value_name = "FILE")]
    from: Option<InputFile>,

    /// Accept a DOI that another dataset has
    #[arg(long, hide_short_help = true)]
    shared_doi: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

/// The fields of a record and its limits, each of which an empty string clears.
#[derive(Default, PartialEq, clap::Args)]
struct FieldArgs {
    /// The DOI
    #[arg(long, value_name = "D", value_parser = edit::<Doi>)]
    doi: Option<Change<Doi>>,

    /// The title
    #[arg(long, value_name = "T", value_parser = edit::<String>)]
    title: Option<Change<String>>,

    /// What the dataset contains
    ///
    /// Search engines expect 50 to 5,000 characters.
    #[arg(long, value_name = "X", value_parser = edit::<String>)]
    description: Option<Change<String>>,

    /// "Family, Given (ORCID)", or an organisation (repeatable)
    ///
    /// Creators are in the order of the citation, and replace all creators of the dataset. The ORCID can be left
    /// out. The name of an organisation is in braces if it contains a comma.
    #[arg(long = "creator", value_name = "C", value_parser = edit::<Creator>)]
    creators: Vec<Change<Creator>>,

    /// The publisher
    #[arg(long, value_name = "P", value_parser = edit::<String>)]
    publisher: Option<Change<String>>,

    /// The version, as the producer names it
    #[arg(long = "dataset-version", value_name = "V", value_parser = edit::<String>)]
    version: Option<Change<String>>,

    /// The year of publication
    #[arg(long, value_name = "Y", value_parser = edit::<Year>)]
    year: Option<Change<Year>>,

    /// The address of the landing page
    #[arg(long, value_name = "U", value_parser = edit::<WebAddress>)]
    url: Option<Change<WebAddress>>,

    /// The archive that holds the granules
    #[arg(long, value_name = "A", value_parser = edit::<String>)]
    archive: Option<Change<String>>,

    /// The licence: an SPDX identifier such as CC-BY-4.0, or an address
    #[arg(long, visible_alias = "license", value_name = "L", value_parser = edit::<Licence>)]
    licence: Option<Change<Licence>>,

    /// The address of a granule, with {granule} for its id
    #[arg(long, value_name = "URL", value_parser = edit::<GranuleUrl>)]
    granule_url: Option<Change<GranuleUrl>>,

    /// The site that resolves identifiers, for citations
    ///
    /// Write https://data.example.org if identifiers are at https://data.example.org/DI:…
    #[arg(long, value_name = "URL", value_parser = edit::<WebAddress>)]
    resolver: Option<Change<WebAddress>>,

    /// A keyword (repeatable)
    ///
    /// Keywords replace all keywords of the dataset.
    #[arg(long = "keyword", value_name = "K", value_parser = edit::<Keyword>)]
    keywords: Vec<Change<Keyword>>,

    /// Whether everybody can read the data without paying
    #[arg(long, value_name = "yes|no", hide_short_help = true, value_parser = |text: &str| edit_as(text, yes_or_no))]
    free_access: Option<Change<bool>>,

    /// The time that the data are about; one end may be ..
    #[arg(long, value_name = "START/END", value_parser = edit::<Temporal>)]
    temporal: Option<Change<Temporal>>,

    /// The greatest number of granules that a sync may delete
    ///
    /// A number, or a percentage of the held granules. An empty string restores the default: the larger of 10
    /// granules and 2%, never more than half, but at least one. The limit is not published.
    #[arg(long, value_name = "N|P%", value_parser = |text: &str| edit_as(text, |text| Ok(Limit::of_held(text)?)))]
    max_delete: Option<Change<Limit>>,

    /// The greatest number of granules that a sync may add
    ///
    /// A number, or a percentage of the held granules. An empty string restores the default: the larger of 1,000
    /// granules and 100%. The limit is not published.
    #[arg(long, value_name = "N|P%", value_parser = edit::<Limit>)]
    max_add: Option<Change<Limit>>,

    /// The greatest number of granules that may get another checksum
    ///
    /// A number, or a percentage of the held granules. An empty string restores the default: 0. The limit is not
    /// published.
    #[arg(long, hide_short_help = true, value_name = "N|P%", value_parser = |text: &str| edit_as(text, |text| Ok(Limit::of_held(text)?)))]
    max_replace: Option<Change<Limit>>,
}

fn yes_or_no(text: &str) -> Result<bool, Refusal> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("the value is yes or no".into()),
    }
}

impl RecordArgs {
    /// Reads the text of the file with the record.
    fn read_file(&self) -> Result<Option<String>> {
        self.from.as_ref().map(read_record).transpose()
    }

    fn shared_doi(&self) -> SharedDoi {
        if self.shared_doi { SharedDoi::Accepted } else { SharedDoi::Refused }
    }

    /// Applies the file's record, and then the options.
    fn apply_to(&self, file: Option<&String>, dataset: &mut DatasetMetadata, limits: &mut Limits) {
        if let Some(file) = file {
            record::read(file, dataset).expect("it was read before");
        }
        let of = &self.fields;
        apply(&of.doi, &mut dataset.doi);
        apply(&of.title, &mut dataset.title);
        apply(&of.description, &mut dataset.description);
        apply_all(&of.creators, &mut dataset.creators);
        apply(&of.publisher, &mut dataset.publisher);
        apply(&of.version, &mut dataset.version);
        apply(&of.year, &mut dataset.year);
        apply(&of.url, &mut dataset.url);
        apply(&of.archive, &mut dataset.archive);
        apply(&of.licence, &mut dataset.licence);
        apply(&of.granule_url, &mut dataset.granule_url);
        apply(&of.resolver, &mut dataset.resolver);
        apply_all(&of.keywords, &mut dataset.keywords);
        apply(&of.free_access, &mut dataset.free_access);
        apply(&of.temporal, &mut dataset.temporal);
        apply(&of.max_delete, &mut limits.max_delete);
        apply(&of.max_add, &mut limits.max_add);
        apply(&of.max_replace, &mut limits.max_replace);
    }
}

fn apply<T: Clone>(option: &Option<Change<T>>, field: &mut Option<T>) {
    option.clone().unwrap_or_default().apply_to(field);
}

/// Applies a repeated option. If all values are empty, it removes the existing values.
fn apply_all<T: Clone>(options: &[Change<T>], field: &mut Vec<T>) {
    if !options.is_empty() {
        field.clear();
        field.extend(options.iter().filter_map(|option| match option {
            Change::Set(value) => Some(value.clone()),
            Change::Keep | Change::Clear => None,
        }));
    }
}

/// List the datasets, each with its latest identifier
///
/// Datasets that were withdrawn are left out, unless --all is given.
///
/// Example:
///   accession dataset list --all
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListDatasets {
    /// Also list the datasets that were withdrawn
    #[arg(long)]
    all: bool,
}

/// The columns of the list of datasets. The last is only for withdrawn datasets.
const LISTED: &[Column] = &[
    Column::text("dataset").of("name"),
    Column::text("identifier").of("latest/identifier").or("no history yet"),
    Column::number("granules").of("latest/granules").or("0"),
    Column::text("since").of("latest/timestamp"),
    Column::text("confirmed").of("confirmed/timestamp"),
    Column::text("withdrawn").of("withdrawn/timestamp"),
];

/// The number of datasets in a page.
const PAGE_ROWS: u32 = 1_000;

impl ListDatasets {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let withdrawn = if self.all { Withdrawn::Listed } else { Withdrawn::LeftOut };
        let mut list = session.list(&LISTED[..if self.all { 6 } else { 5 }]);
        let registry = session.open()?;
        let now = session.now()?;
        let mut after = None;
        loop {
            let snapshot = registry.snapshot()?;
            let mut page = snapshot.datasets(after.as_ref(), withdrawn, PAGE_ROWS)?;
            let Some(last) = page.last() else { break };
            after = Some(last.dataset.name.clone());
            for listed in &mut page {
                session.warn_all(listed.latest.iter().filter_map(|it| Warning::of_future(it, now)));
                snapshot.replace_future_instance(listed)?;
            }
            drop(snapshot);
            for listed in &page {
                list.add(session, listed)?;
            }
            if page.len() < PAGE_ROWS as usize {
                break;
            }
        }
        list.finish(session)?;
        Ok(Exit::Done)
    }
}

/// The fields that are shown of one dataset.
pub const DATASET: &[Column] = &[
    Column::text("dataset").of("name"),
    Column::text("latest").by(latest).or("no history yet"),
    Column::prose("annotation").of("latest/annotations").by(annotation_in),
    Column::text("confirmed").of("confirmed/timestamp"),
    Column::prose("refused"),
    Column::text("doi"),
    Column::prose("title"),
    Column::prose("description"),
    Column::prose("creator").of("creators"),
    Column::prose("publisher"),
    Column::text("version"),
    Column::number("year"),
    Column::text("url"),
    Column::prose("archive"),
    Column::text("licence"),
    Column::prose("keyword").of("keywords"),
    Column::text("free access").of("free_access"),
    Column::text("temporal"),
    Column::text("granule url").of("granule_url"),
    Column::text("resolver"),
    Column::text("max delete").of("max_delete"),
    Column::text("max add").of("max_add"),
    Column::text("max replace").of("max_replace"),
    Column::text("formerly").of("former_names"),
    Column::prose("corrected").of("corrections").by(correction),
    Column::text("withdrawn").of("withdrawn/timestamp"),
    Column::prose("why").of("withdrawn/note"),
];

/// A correction of a dataset's history: when it was made, and which dataset has the earlier history.
fn correction(correction: &Value) -> String {
    let [recorded, kept_as] = ["recorded", "kept_as"].map(|member| in_words(&correction[member]));
    format!("{recorded}; {kept_as} has the earlier history")
}

/// The latest instance of a dataset, from its JSON.
fn latest(latest: &Value) -> String {
    let granules = plural(latest["granules"].as_u64().unwrap_or_default(), "granule");
    let [identifier, since] = ["identifier", "timestamp"].map(|member| in_words(&latest[member]));
    format!("{identifier}, {granules} since {since}")
}
