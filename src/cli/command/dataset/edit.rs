//! Commands that change the record or the name of a dataset.

use std::io::{Read, Write};
use std::str::FromStr;

use accession::citation::record;
use accession::model::{
    Creator, Doi, GranuleUrl, Keyword, Licence, LicenceError, Temporal, WebAddress, Year, quoted,
};
use accession::registry::{Edit as Change, Listed, SharedDoi};
use accession::{Access, Dataset, DatasetEdit, DatasetName, Limit, Limits, Registry, Stamp};
use serde::Serialize;

use super::show::write_listed;
use crate::cli::applied::{ClockArgs, Created};
use crate::cli::args::{Deletions, ValueOrRemoval, edit_of, value_or_removal};
use crate::cli::dataset_warnings::{warn_of_former_name, warn_of_near_name};
use crate::cli::error::{Commit, Context, Error, Result};
use crate::cli::reading::{InputFile, open};
use crate::cli::session::{Create, Session, Written};

/// Add a dataset
///
/// Creates the registry if it does not exist.
///
/// Example:
///   accession dataset add US.FOOL2.002 --doi 10.9999/US/FOOL2.v2 --title 'FOO Level 2' --year 2001
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Add {
    /// The name of the dataset: letters, digits and . _ - :
    name: DatasetName,

    #[command(flatten)]
    record: Record,

    /// Accept a DOI that another dataset has
    #[arg(long)]
    shared_doi: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

/// Change the metadata of a dataset
///
/// Fields that are not named are not changed. An empty string removes a field.
///
/// Example:
///   accession dataset edit US.FOOL2.002 --publisher 'US Archive' --title ''
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Edit {
    /// The dataset
    name: DatasetName,

    #[command(flatten)]
    record: Record,

    /// Accept a DOI that another dataset has
    #[arg(long)]
    shared_doi: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

/// The JSON that `dataset add` prints.
#[derive(Serialize)]
struct Added<'a> {
    #[serde(flatten)]
    listed: &'a Listed,
    created: Created,
}

impl Add {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let mut dataset = Dataset::named(self.name);
        let edit = self.record.into_edit()?;
        let limits = edit.limits(Limits::default());
        edit.apply_to(&mut dataset);
        let create = Create::IfMissing;
        let is_new_registry = session.new_registry(create)?.is_some();
        session.write(create, |registry, session| {
            let stamp = session.stamp(self.clock.time())?;
            let shared_doi = shared_doi(self.shared_doi);
            registry.add_dataset_with(&dataset, limits, shared_doi, &stamp)?;
            Ok(Written { result: (), committed: Some(Commit::Record) })
        })?;
        let listed = session.open(Access::Read)?.snapshot()?.dataset(&dataset.name)?;
        let created = Created { registry: is_new_registry, dataset: true };
        warn_of_near_name(session, &dataset.name);
        let registry = session.registry_path();
        session.confirm(&Added { listed: &listed, created }, |out| {
            if created.registry {
                writeln!(out, "created registry {}", quoted(&registry.to_string_lossy()))?;
            }
            writeln!(out, "created dataset {}", dataset.name)?;
            write_listed(out, &listed)
        })?;
        Ok(())
    }
}

impl Edit {
    pub fn run(self, session: &mut Session) -> Result<()> {
        let edit = self.record.into_edit()?;
        if edit == DatasetEdit::default() {
            return Err(Error::usage("no field is named")
                .with_hint("name the fields to change, such as --title"));
        }
        let listed = session.write(Create::Never, |registry, session| {
            let stamp = session.stamp(self.clock.time())?;
            let shared_doi = shared_doi(self.shared_doi);
            registry.edit_dataset_with(&self.name, &edit, shared_doi, &stamp)?;
            let listed = registry.snapshot()?.dataset(&self.name)?;
            Ok(Written { result: listed, committed: Some(Commit::Record) })
        })?;
        warn_of_former_name(session, &self.name, &listed.dataset.name);
        session.confirm(&listed, |out| write_listed(out, &listed))?;
        Ok(())
    }
}

/// What `--shared-doi` means.
fn shared_doi(is_accepted: bool) -> SharedDoi {
    if is_accepted { SharedDoi::Accepted } else { SharedDoi::Refused }
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
    pub fn run(self, session: &mut Session) -> Result<()> {
        edit_and_confirm(session, &self.new, &self.clock, |registry, stamp| {
            registry.rename_dataset(&self.old, &self.new, stamp).map(drop)
        })
    }
}

impl Withdraw {
    pub fn run(self, session: &mut Session) -> Result<()> {
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
    pub fn run(self, session: &mut Session) -> Result<()> {
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
) -> Result<()> {
    let listed = session.write(Create::Never, |registry, session| {
        make(registry, &session.stamp(clock.time())?)?;
        let listed = registry.snapshot()?.dataset(name)?;
        Ok(Written { result: listed, committed: Some(Commit::Record) })
    })?;
    warn_of_former_name(session, name, &listed.dataset.name);
    session.confirm(&listed, |out| write_listed(out, &listed))?;
    Ok(())
}

/// The fields of a record.
#[derive(clap::Args)]
pub struct Record {
    /// The DOI
    #[arg(long, value_name = "D", value_parser = value_or_removal::<Doi>)]
    doi: Option<ValueOrRemoval<Doi>>,

    /// The title
    #[arg(long, value_name = "T")]
    title: Option<String>,

    /// What the dataset contains; search engines expect 50 to 5,000 characters
    #[arg(long, value_name = "X")]
    description: Option<String>,

    /// A creator: "Family, Given", "Family, Given (ORCID)", or an organisation, in braces if its
    /// name contains a comma (can be repeated, in the order of the citation; they replace all
    /// creators that the dataset has)
    #[arg(long = "creator", value_name = "C", value_parser = value_or_removal::<Creator>)]
    creators: Vec<ValueOrRemoval<Creator>>,

    /// The publisher
    #[arg(long, value_name = "P")]
    publisher: Option<String>,

    /// The version, as the producer names it
    #[arg(long = "dataset-version", value_name = "V")]
    version: Option<String>,

    /// The year of publication
    #[arg(long, value_name = "Y", value_parser = value_or_removal::<Year>)]
    year: Option<ValueOrRemoval<Year>>,

    /// The address of the landing page
    #[arg(long, value_name = "U", value_parser = value_or_removal::<WebAddress>)]
    url: Option<ValueOrRemoval<WebAddress>>,

    /// The archive that holds the granules
    #[arg(long, value_name = "A")]
    archive: Option<String>,

    /// The licence: an SPDX identifier such as CC-BY-4.0, or an address
    #[arg(long, visible_alias = "license", value_name = "L", value_parser = licence)]
    licence: Option<ValueOrRemoval<Licence>>,

    /// Where a granule can be fetched: an address with {granule} in the place of its id
    #[arg(long, value_name = "URL", value_parser = value_or_removal::<GranuleUrl>)]
    granule_url: Option<ValueOrRemoval<GranuleUrl>>,

    /// A keyword (can be repeated; they replace all keywords that the dataset has)
    #[arg(long = "keyword", value_name = "K", value_parser = value_or_removal::<Keyword>)]
    keywords: Vec<ValueOrRemoval<Keyword>>,

    /// Whether everybody can read the data without paying
    #[arg(long, value_name = "yes|no", value_parser = value_or_removal::<YesOrNo>)]
    free_access: Option<ValueOrRemoval<YesOrNo>>,

    /// The time that the data are about: two dates or times, of which one may be ..
    #[arg(long, value_name = "START/END", value_parser = value_or_removal::<Temporal>)]
    temporal: Option<ValueOrRemoval<Temporal>>,

    /// How many granules a sync may delete: a number, or a percentage of those held. An empty string
    /// goes back to the default: the larger of 10 granules and 2%, never more than half, but at least
    /// one. It is not published
    #[arg(long, value_name = "N|P%", value_parser = value_or_removal::<Deletions>)]
    max_delete: Option<ValueOrRemoval<Deletions>>,

    /// How many granules a sync may add: a number, or a percentage of those held. An empty string
    /// goes back to the default: the larger of 1,000 granules and 100%. It is not published
    #[arg(long, value_name = "N|P%", value_parser = value_or_removal::<Limit>)]
    max_add: Option<ValueOrRemoval<Limit>>,

    /// A file with the metadata, as CSL-JSON or DataCite JSON; - is stdin. Other options take
    /// precedence over it
    #[arg(long, value_name = "FILE")]
    from: Option<InputFile>,
}

fn licence(text: &str) -> Result<ValueOrRemoval<Licence>, LicenceError> {
    value_or_removal(text)
}

fn licence_edit(value: Option<ValueOrRemoval<Licence>>) -> Change<String> {
    match edit_of(value) {
        Change::Keep => Change::Keep,
        Change::Clear => Change::Clear,
        Change::Set(licence) => Change::Set(licence.as_str().to_owned()),
    }
}

/// What a repeated option does. Without a value that is not empty, it removes all values.
fn list_edit<T>(values: Vec<ValueOrRemoval<T>>) -> Change<Vec<T>> {
    if values.is_empty() {
        return Change::Keep;
    }
    let values: Vec<T> = values.into_iter().filter_map(|value| value.0).collect();
    if values.is_empty() { Change::Clear } else { Change::Set(values) }
}

/// The value of an option that is either `yes` or `no`.
#[derive(Debug, Clone, Copy)]
struct YesOrNo(bool);

impl FromStr for YesOrNo {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, &'static str> {
        match text {
            "yes" => Ok(YesOrNo(true)),
            "no" => Ok(YesOrNo(false)),
            _ => Err("the value is yes or no"),
        }
    }
}

impl Record {
    /// The fields of the file, if one is named, overridden by those of the options.
    pub fn into_edit(self) -> Result<DatasetEdit> {
        let edit = match &self.from {
            Some(file) => read_record(file)?,
            None => DatasetEdit::default(),
        };
        Ok(self.options().or(edit))
    }

    fn options(self) -> DatasetEdit {
        let text = |text: Option<String>| match text {
            None => Change::Keep,
            Some(text) if text.is_empty() => Change::Clear,
            Some(text) => Change::Set(text),
        };
        DatasetEdit {
            doi: edit_of(self.doi),
            title: text(self.title),
            description: text(self.description),
            creators: list_edit(self.creators),
            publisher: text(self.publisher),
            version: text(self.version),
            year: edit_of(self.year),
            url: edit_of(self.url),
            archive: text(self.archive),
            licence: licence_edit(self.licence),
            max_delete: match edit_of(self.max_delete) {
                Change::Set(Deletions(limit)) => Change::Set(limit),
                Change::Clear => Change::Clear,
                Change::Keep => Change::Keep,
            },
            max_add: edit_of(self.max_add),
            granule_url: edit_of(self.granule_url),
            keywords: list_edit(self.keywords),
            free_access: match edit_of(self.free_access) {
                Change::Keep => Change::Keep,
                Change::Clear => Change::Clear,
                Change::Set(YesOrNo(free_access)) => Change::Set(free_access),
            },
            temporal: edit_of(self.temporal),
        }
    }
}

/// Reads the record of a dataset from a file.
fn read_record(file: &InputFile) -> Result<DatasetEdit> {
    /// A limit for the file, far longer than any record.
    const MAX_BYTES: u64 = 16 * 1_024 * 1_024;
    let (reader, name) = open(file)?;
    let mut text = String::new();
    let read = reader.take(MAX_BYTES).read_to_string(&mut text);
    read.with_context(|| format!("cannot read {}", quoted(&name)))?;
    record::read(&text).map_err(|error| {
        Error::usage(format!("{name}: {}", accession::Error::chain_of(&error))).with_hint(
            "the file must be CSL-JSON or DataCite JSON, as doi.org and DataCite provide it",
        )
    })
}
