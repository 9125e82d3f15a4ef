//! The record of a dataset, read from options and a file.

use std::io::Read;

use accession::citation::record;
use accession::{
    Creator, DatasetEdit, Doi, Edit as Change, Licence, LicenceError, WebAddress, Year, quoted,
};
use anyhow::{Context, Result};

use crate::cli::args::{ValueOrRemoval, edit_of, value_or_removal};
use crate::cli::reading::{InputFile, open};
use crate::cli::session::Session;
use crate::cli::usage::UsageError;
use crate::cli::warning::WarningKind;

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
    /// creators that the record has)
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

    /// The archive whose holdings are registered
    #[arg(long, value_name = "A")]
    archive: Option<String>,

    /// The licence: an SPDX identifier such as CC-BY-4.0, or an address
    #[arg(long, visible_alias = "license", value_name = "L", value_parser = licence)]
    licence: Option<ValueOrRemoval<Licence>>,

    /// A file with the record, as CSL-JSON or DataCite JSON; - is stdin. Other options take
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

impl Record {
    /// The fields of the file, if one is named, overridden by those of the options.
    pub fn into_edit(self, session: &Session) -> Result<DatasetEdit> {
        self.warn_of_people(session);
        let edit = match &self.from {
            Some(file) => read_record(file)?,
            None => DatasetEdit::default(),
        };
        Ok(self.options().or(edit))
    }

    /// Warns about creators that are read as organisations but look like people.
    fn warn_of_people(&self, session: &Session) {
        for creator in self.creators.iter().filter_map(|creator| creator.0.as_ref()) {
            let name = creator.to_string();
            if let Some(person) = Creator::likely_person(&name) {
                session.warn(
                    WarningKind::LikelyPerson,
                    &format!(
                        "the creator {} is recorded as an organisation; a person is written {}",
                        quoted(&name),
                        quoted(&person.to_string())
                    ),
                );
            }
        }
    }

    fn options(self) -> DatasetEdit {
        let text = |text: Option<String>| match text {
            None => Change::Keep,
            Some(text) if text.is_empty() => Change::Clear,
            Some(text) => Change::Set(text),
        };
        let creators: Vec<Creator> =
            self.creators.iter().filter_map(|creator| creator.0.clone()).collect();
        DatasetEdit {
            doi: edit_of(self.doi),
            title: text(self.title),
            description: text(self.description),
            creators: match (self.creators.is_empty(), creators.is_empty()) {
                (true, _) => Change::Keep,
                (false, true) => Change::Clear,
                (false, false) => Change::Set(creators),
            },
            publisher: text(self.publisher),
            version: text(self.version),
            year: edit_of(self.year),
            url: edit_of(self.url),
            archive: text(self.archive),
            licence: licence_edit(self.licence),
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
        let error = anyhow::Error::from(error);
        UsageError::new(format!("{name}: {error:#}"))
            .with_hint(
                "the file must be CSL-JSON or DataCite JSON, as doi.org and DataCite provide it",
            )
            .into()
    })
}
