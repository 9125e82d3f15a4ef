use std::io::Write;

use accession::citation::{Citation, CitationFormat, RecordField};
use accession::{
    Access, Cited, DatasetName, Identifier, Moment, Named, Pattern, Selection, Wanted,
};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;

use crate::cli::args::dataset_at;
use crate::cli::commit::Commit;
use crate::cli::dataset_warnings::warn_of_dataset;
use crate::cli::exit::Exit;
use crate::cli::output::in_force;
use crate::cli::reading::{InputFile, each_entry_of_file};
use crate::cli::session::{Create, Session, Written};
use crate::cli::usage::UsageError;
use crate::cli::warning::WarningKind;

/// Print a citation of a dataset, or of a subset of it, with the identifier inside
///
/// A subset is saved in the registry, so that its identifier can always be resolved. Citing the same
/// granules by the same selection again gives the same identifier. Fields that the record of the
/// dataset lacks are named in a warning.
///
/// Examples:
///   accession cite US.FOOL2.002 --at 2001-01-05
///   accession cite US.FOOL2.002 --format bibtex >> paper.bib
///   accession cite US.FOOL2.002 --at 2001-01-05 --select 'FOOL2.v2.1*'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The time: RFC 3339, or a date, which means the end of that day [default: today]
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// An identifier that was in force
    #[arg(long, value_name = "DI", conflicts_with = "at")]
    identifier: Option<Identifier>,

    /// The format: text, tuple, bibtex, bibtex-misc, ris, csl-json, datacite-json, cff or json-ld
    #[arg(
        long,
        value_name = "FORMAT",
        default_value_t = CitationFormat::Text,
        value_parser = PossibleValuesParser::new(CitationFormat::ALL.map(CitationFormat::name))
            .try_map(|name| name.parse::<CitationFormat>()),
        hide_possible_values = true
    )]
    format: CitationFormat,

    /// Cite only the granules whose ids match: * is any characters, ? is one, [a-c] is one of
    /// these, [!a-c] is one of the others (can be repeated: a granule must match one of them)
    #[arg(long, value_name = "GLOB", conflicts_with = "identifier")]
    select: Vec<Pattern>,

    /// Cite only the granules that a file names; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["identifier", "select"])]
    select_from: Option<InputFile>,

    /// A dataset that mirrors this one and held the same granules, to be named in datacite-json
    /// and json-ld (can be repeated)
    #[arg(long, value_name = "DATASET", conflicts_with_all = ["select", "select_from"])]
    mirror: Vec<DatasetName>,
}

#[derive(Serialize)]
struct Printed<'a> {
    format: &'a str,
    citation: &'a str,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.mirror.contains(&self.dataset) {
            return Err(
                UsageError::new(format!("{} is not a mirror of itself", self.dataset)).into()
            );
        }
        let now = session.now()?;
        let at = match self.identifier {
            Some(_) => None,
            None => Some(self.at.unwrap_or(Moment::Day(now.day()))),
        };
        let selection = match self.identifier {
            Some(identifier) => {
                Selection::Identifier { identifier, dataset: Some(self.dataset.clone()) }
            }
            None => dataset_at(self.dataset.clone(), at, now)?,
        };
        let wanted = match &self.select_from {
            Some(file) => {
                let mut named = Named::new();
                each_entry_of_file(file, session, |entry| Ok(named.add(entry)?))?;
                Some(Wanted::Named(named))
            }
            None if self.select.is_empty() => None,
            None => Some(Wanted::Patterns(self.select)),
        };
        let cited = match wanted {
            None => session.open(Access::Read)?.snapshot()?.cite(&selection, &self.mirror)?,
            Some(wanted) => session.write(Create::Never, |registry, _| {
                let cited = registry.cite_subset(&self.dataset, at, &wanted, now)?;
                let committed = cited.set.subset().map(|_| Commit::Subset);
                Ok(Written { result: cited, committed })
            })?,
        };
        let snapshot = session.open(Access::Read)?.snapshot()?;
        warn_of_dataset(session, &snapshot, &self.dataset)?;
        drop(snapshot);
        warn_of_others(session, at, &cited);
        let citation = Citation::new(cited, at, now.day());
        warn_of_lacking(session, &self.dataset, &citation, self.format);
        warn_of_unnamed_mirrors(session, &citation);
        let text = citation.write(self.format);
        if session.is_json() {
            session.json(&Printed { format: self.format.name(), citation: &text })?;
        } else {
            write!(session.out(), "{text}")?;
        }
        Ok(Exit::Done)
    }
}

/// A date cites what was in force at the end of that day; other identifiers of the day are named.
fn warn_of_others(session: &Session, at: Option<Moment>, cited: &Cited) {
    let Some(at) = at else { return };
    for other in &cited.others {
        session.warn(
            WarningKind::OtherIdentifiers,
            &format!(
                "on {at}, {} was also in force: {}; --at can name a time of the day",
                other.identifier,
                in_force(other)
            ),
        );
    }
}

fn warn_of_lacking(
    session: &Session,
    dataset: &DatasetName,
    citation: &Citation,
    format: CitationFormat,
) {
    let options: Vec<&str> = citation.missing_fields(format).into_iter().map(option_of).collect();
    if !options.is_empty() {
        session.warn(
            WarningKind::CitationIncomplete,
            &format!(
                "the citation is incomplete: `accession dataset edit {dataset}` can add {}",
                options.join(", ")
            ),
        );
    }
}

fn warn_of_unnamed_mirrors(session: &Session, citation: &Citation) {
    for mirror in citation.unnamed_mirrors() {
        session.warn(
            WarningKind::MirrorUnnamed,
            &format!("the mirror {mirror} is not named: it has neither its own DOI nor an address"),
        );
    }
}

/// The option of `dataset edit` that adds a field to the record.
fn option_of(field: RecordField) -> &'static str {
    match field {
        RecordField::Doi => "--doi",
        RecordField::Title => "--title",
        RecordField::Creators => "--creator",
        RecordField::Publisher => "--publisher",
        RecordField::Version => "--dataset-version",
        RecordField::Year => "--year",
    }
}
