use std::io::Write;
use std::path::PathBuf;

use accession::citation::{Citation, CitationFormat, RecordField};
use accession::{Access, Cited, DatasetName, Identifier, Moment, Pattern, Selection, Wanted};
use anyhow::Result;
use serde::Serialize;

use crate::cli::Exit;
use crate::cli::output::in_force;
use crate::cli::report::Usage;
use crate::cli::selection::dataset_at;
use crate::cli::session::{Create, Session};
use crate::cli::source::entries_of_ids;

/// Print a citation of a dataset, or of a part of it, with the identifier inside
///
/// A part is kept in the registry, so that its identifier always resolves; the same selection of the
/// same granules is cited by the same identifier again. What the record lacks is said on stderr.
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

    /// As of when: RFC 3339, or a date, which means the end of that day; default: today
    #[arg(long, value_name = "T")]
    at: Option<Moment>,

    /// The identifier that was in force
    #[arg(long, value_name = "DI", conflicts_with = "at")]
    identifier: Option<Identifier>,

    /// text, tuple, bibtex, bibtex-misc, ris, csl-json, datacite-json, cff or json-ld
    #[arg(long, value_name = "FORMAT", default_value_t = CitationFormat::Text)]
    format: CitationFormat,

    /// Only the granules whose ids match: * any characters, ? one, [a-c] one of them, [!a-c] one of
    /// the others (can be repeated: any of them)
    #[arg(long, value_name = "GLOB", conflicts_with = "identifier")]
    select: Vec<Pattern>,

    /// Only the granules that a file names; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["identifier", "select"])]
    select_from: Option<PathBuf>,

    /// A dataset that mirrors this one and held the same granules, for datacite-json and json-ld
    /// (can be repeated)
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
            return Err(Usage::new(format!("{} is no mirror of itself", self.dataset)).into());
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
            Some(file) => Some(Wanted::Named(entries_of_ids(file, session)?)),
            None if self.select.is_empty() => None,
            None => Some(Wanted::Patterns(self.select)),
        };
        let cited = match wanted {
            None => session.open(Access::Read)?.cite(&selection, &self.mirror)?,
            Some(wanted) => session.write(Create::Never, |registry| {
                Ok(registry.cite_part(&self.dataset, at, wanted.clone(), now)?)
            })?,
        };
        warn_of_others(session, at, &cited);
        let citation = Citation::new(cited, at, now.day());
        warn_of_lacking(session, &self.dataset, &citation, self.format);
        for mirror in citation.unnamed_mirrors() {
            session.warn(&format!(
                "the mirror {mirror} is not named: it has neither a DOI of its own nor an address"
            ));
        }
        let text = citation.write(self.format);
        if session.is_json() {
            session.json(&Printed { format: self.format.name(), citation: &text })?;
        } else {
            write!(session.out(), "{text}")?;
        }
        Ok(Exit::Done)
    }
}

/// A date cites what was in force when that day ended; a reader should know of the others.
fn warn_of_others(session: &Session, at: Option<Moment>, cited: &Cited) {
    let Some(at) = at else { return };
    for other in &cited.others {
        session.warn(&format!(
            "on {at}, {} was in force too: {}; --at takes a time",
            other.identifier,
            in_force(other)
        ));
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
        session.warn(&format!(
            "the citation is not whole: `accession dataset edit {dataset}` has yet to be given {}",
            options.join(", ")
        ));
    }
}

/// The option of `dataset edit` that sets a field of the record.
const fn option_of(field: RecordField) -> &'static str {
    match field {
        RecordField::Doi => "--doi",
        RecordField::Title => "--title",
        RecordField::Creators => "--creator",
        RecordField::Publisher => "--publisher",
        RecordField::Version => "--dataset-version",
        RecordField::Year => "--year",
    }
}
