//! Commands that change the record or the name of a dataset.

use std::io::Write;

use accession::model::{
    Creator, Doi, GranuleUrl, Keyword, Licence, Temporal, Warning, WebAddress, Year, quoted,
};
use accession::registry::{Edit as Change, Listed, SharedDoi};
use accession::{Access, Dataset, DatasetEdit, DatasetName, Limit, Limits, Registry, Stamp};
use serde::Serialize;

use super::show::DATASET;
use crate::cli::applied::Created;
use crate::cli::args::ClockArgs;
use crate::cli::args::{Refusal, deletions, edit, edit_as};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::write_fields;
use crate::cli::reading::{InputFile, read_record};
use crate::cli::session::{Create, Session};

/// Add a dataset
///
/// Creates the registry if it does not exist.
///
/// Example:
///   accession dataset add US.FOOL2.002 --doi 10.9999/US/FOOL2.v2 --title 'FOO Level 2' --year 2001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AddDataset {
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

/// The JSON that `dataset add` prints.
#[derive(Serialize)]
struct Added<'a> {
    #[serde(flatten)]
    listed: &'a Listed,
    created: Created,
}

impl AddDataset {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut dataset = Dataset::named(self.name);
        let (edit, shared_doi, clock) = self.record.into_edit()?;
        let limits = edit.limits(Limits::default());
        edit.apply_to(&mut dataset);
        let create = Create::IfMissing;
        let is_new_registry = session.new_registry(create)?.is_some();
        session.write(create, |registry, session| {
            let stamp = session.stamp(clock.time())?;
            Ok(registry.add_dataset_with(&dataset, limits, shared_doi, &stamp)?)
        })?;
        let listed = session.open(Access::Read)?.snapshot()?.dataset(&dataset.name)?;
        let created = Created { registry: is_new_registry, dataset: true };
        let registry = session.registry_path();
        session.confirm(&Added { listed: &listed, created }, |out| {
            if created.registry {
                writeln!(out, "created registry {}", quoted(&registry.to_string_lossy()))?;
            }
            writeln!(out, "created dataset {}", dataset.name)?;
            write_fields(out, DATASET, &listed)
        })
    }
}

impl EditDataset {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (edit, shared_doi, clock) = self.record.into_edit()?;
        if edit == DatasetEdit::default() {
            return Err(Error::usage("no field is named")
                .with_hint("name the fields to change, such as --title"));
        }
        edit_and_confirm(session, &self.name, &clock, |registry, stamp| {
            registry.edit_dataset_with(&self.name, &edit, shared_doi, stamp).map(drop)
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

impl Rename {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        edit_and_confirm(session, &self.new, &self.clock, |registry, stamp| {
            registry.rename_dataset(&self.old, &self.new, stamp).map(drop)
        })
    }
}

impl Withdraw {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.note.trim().is_empty() {
            return Err(Error::usage("the note is empty")
                .with_hint("state with --note why the dataset is withdrawn: readers will see it"));
        }
        edit_and_confirm(session, &self.name, &self.clock, |registry, stamp| {
            registry.withdraw_dataset(&self.name, &self.note, stamp).map(drop)
        })
    }
}

impl Reinstate {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        edit_and_confirm(session, &self.name, &self.clock, |registry, stamp| {
            registry.reinstate_dataset(&self.name, stamp).map(drop)
        })
    }
}

/// Edits a record, and prints the dataset, which is called `name` afterwards.
fn edit_and_confirm(
    session: &mut Session,
    name: &DatasetName,
    clock: &ClockArgs,
    mut make: impl FnMut(&Registry, &Stamp) -> accession::error::Result<()>,
) -> Result<Exit> {
    session.write(Create::Never, |registry, session| {
        Ok(make(registry, &session.stamp(clock.time())?)?)
    })?;
    let listed = session.open(Access::Read)?.snapshot()?.dataset(name)?;
    session.warn_all(Warning::of_former_name(name, &listed.dataset.name));
    session.confirm(&listed, |out| write_fields(out, DATASET, &listed))
}

/// The fields of a record, and how they are recorded.
#[derive(clap::Args)]
pub struct RecordArgs {
    /// The DOI
    #[arg(long, value_name = "D", value_parser = edit::<Doi>)]
    doi: Option<Change<Doi>>,

    /// The title
    #[arg(long, value_name = "T", value_parser = edit::<String>)]
    title: Option<Change<String>>,

    /// What the dataset contains; search engines expect 50 to 5,000 characters
    #[arg(long, value_name = "X", value_parser = edit::<String>)]
    description: Option<Change<String>>,

    /// A creator: "Family, Given", "Family, Given (ORCID)", or an organisation, in braces if its
    /// name contains a comma (can be repeated, in the order of the citation; they replace all
    /// creators that the dataset has)
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
    #[arg(long, visible_alias = "license", value_name = "L", value_parser = |text: &str| edit_as(text, licence))]
    licence: Option<Change<String>>,

    /// Where a granule can be fetched: an address with {granule} in the place of its id
    #[arg(long, value_name = "URL", value_parser = edit::<GranuleUrl>)]
    granule_url: Option<Change<GranuleUrl>>,

    /// The address of the site that resolves identifiers, which citations name: https://data.example.org
    /// for https://data.example.org/DI:…
    #[arg(long, value_name = "URL", value_parser = edit::<WebAddress>)]
    resolver: Option<Change<WebAddress>>,

    /// A keyword (can be repeated; they replace all keywords that the dataset has)
    #[arg(long = "keyword", value_name = "K", value_parser = edit::<Keyword>)]
    keywords: Vec<Change<Keyword>>,

    /// Whether everybody can read the data without paying
    #[arg(long, value_name = "yes|no", value_parser = |text: &str| edit_as(text, yes_or_no))]
    free_access: Option<Change<bool>>,

    /// The time that the data are about: two dates or times, of which one may be ..
    #[arg(long, value_name = "START/END", value_parser = edit::<Temporal>)]
    temporal: Option<Change<Temporal>>,

    /// How many granules a sync may delete: a number, or a percentage of those held. An empty string
    /// goes back to the default: the larger of 10 granules and 2%, never more than half, but at least
    /// one. It is not published
    #[arg(long, value_name = "N|P%", value_parser = |text: &str| edit_as(text, deletions))]
    max_delete: Option<Change<Limit>>,

    /// How many granules a sync may add: a number, or a percentage of those held. An empty string
    /// goes back to the default: the larger of 1,000 granules and 100%. It is not published
    #[arg(long, value_name = "N|P%", value_parser = edit::<Limit>)]
    max_add: Option<Change<Limit>>,

    /// Of how many granules a change may state other bytes than are known, without a note: a number, or a
    /// percentage of those held. An empty string goes back to the default: 0. It is not published
    #[arg(long, value_name = "N|P%", value_parser = edit::<Limit>)]
    max_replace: Option<Change<Limit>>,

    /// A file with the metadata, as CSL-JSON or DataCite JSON; - is stdin. Other options take
    /// precedence over it
    #[arg(long, value_name = "FILE")]
    from: Option<InputFile>,

    /// Accept a DOI that another dataset has
    #[arg(long)]
    shared_doi: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

fn licence(text: &str) -> Result<String, Refusal> {
    Ok(text.parse::<Licence>()?.as_str().to_owned())
}

fn yes_or_no(text: &str) -> Result<bool, Refusal> {
    match text {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err("the value is yes or no".into()),
    }
}

/// What a repeated option does. Without a value that is not empty, it removes all values.
fn list_edit<T>(values: Vec<Change<T>>) -> Change<Vec<T>> {
    if values.is_empty() {
        return Change::Keep;
    }
    let values: Vec<T> = values.into_iter().filter_map(Change::into_value).collect();
    if values.is_empty() { Change::Clear } else { Change::Set(values) }
}

impl RecordArgs {
    /// The fields of the file, if one is named, overridden by those of the options.
    fn into_edit(self) -> Result<(DatasetEdit, SharedDoi, ClockArgs)> {
        let of_file = self.from.as_ref().map(read_record).transpose()?.unwrap_or_default();
        let shared_doi = if self.shared_doi { SharedDoi::Accepted } else { SharedDoi::Refused };
        let options = DatasetEdit {
            doi: self.doi.unwrap_or_default(),
            title: self.title.unwrap_or_default(),
            description: self.description.unwrap_or_default(),
            creators: list_edit(self.creators),
            publisher: self.publisher.unwrap_or_default(),
            version: self.version.unwrap_or_default(),
            year: self.year.unwrap_or_default(),
            url: self.url.unwrap_or_default(),
            archive: self.archive.unwrap_or_default(),
            licence: self.licence.unwrap_or_default(),
            max_delete: self.max_delete.unwrap_or_default(),
            max_add: self.max_add.unwrap_or_default(),
            max_replace: self.max_replace.unwrap_or_default(),
            granule_url: self.granule_url.unwrap_or_default(),
            resolver: self.resolver.unwrap_or_default(),
            keywords: list_edit(self.keywords),
            free_access: self.free_access.unwrap_or_default(),
            temporal: self.temporal.unwrap_or_default(),
        };
        Ok((options.or(of_file), shared_doi, self.clock))
    }
}
