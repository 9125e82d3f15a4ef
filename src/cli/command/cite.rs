use std::io::Write;

use accession::citation::{Citation, CitationFormat, RecordField};
use accession::model::WarningKind;
use accession::{Access, DatasetName, Listing, Members, Moment, Pattern, Selection};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::args::{SetArgs, SiteArgs, resolver};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile};
use crate::cli::session::Session;

/// Print a citation of a dataset, or of a subset of it, with the identifier inside
///
/// A subset is saved in the registry, so that its identifier can always be resolved. Citing the
/// same granules again by the same selection gives the same identifier. A warning names the fields
/// that the metadata of the dataset lacks.
///
/// Examples:
///   accession cite US.FOOL2.002 --at 2001-01-05
///   accession cite DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession cite US.FOOL2.002 --format bibtex >> paper.bib
///   accession cite US.FOOL2.002 --at 2001-01-05 --select 'FOOL2.v2.1*'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    set: SetArgs,

    #[command(flatten)]
    site: SiteArgs,

    /// The format: text, tuple, bibtex, ris, csl-json, datacite-json or json-ld
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
    #[arg(long, value_name = "GLOB", conflicts_with_all = ["identifier", "site"])]
    select: Vec<Pattern>,

    /// Cite only the granules that a file names; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["identifier", "select", "site"])]
    select_from: Option<InputFile>,

    /// Name the digest, too, which covers what is known of the bytes of the files
    #[arg(long)]
    digest: bool,

    #[command(flatten)]
    paths: PathArgs,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.digest && self.format == CitationFormat::Tuple {
            return Err(Error::usage("a tuple has no place for the digest")
                .with_hint("omit --digest, or name another --format"));
        }
        self.site.follow(session, [self.set.on_site()])?;
        let now = session.now()?;
        let typed_at = self.set.typed_at();
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let (selection, at) = match self.set.into_selection(now, &snapshot)? {
            Selection::Dataset { name, .. } => {
                let at = Some(typed_at.unwrap_or(Moment::Day(now.day())));
                (Selection::Dataset { name, at }, at)
            }
            selection => (selection, typed_at),
        };
        drop(snapshot);
        let members = match &self.select_from {
            Some(file) => {
                let mut listing = Listing::new();
                for entry in Entries::of_file(session, file, &self.paths) {
                    listing.add(entry?)?;
                }
                Some(Members::Listed(listing))
            }
            None if self.select.is_empty() => None,
            None => Some(Members::Patterns(self.select)),
        };
        let cited = match (&members, &selection) {
            (None, _) => session.open(Access::Read)?.snapshot()?.cite(&selection)?,
            (Some(members), Selection::Dataset { name, .. }) => {
                let (writable, registry) =
                    (session.open(Access::Write), session.open(Access::Read)?);
                let cited = registry.cite_members(writable, name, at, members, now)?;
                session.warn_all(cited.warnings());
                cited.cited
            }
            (Some(_), Selection::Identifier { .. } | Selection::Digest(_)) => {
                return Err(Error::usage("a subset is selected from a dataset as of a time")
                    .with_hint("name the set as DATASET or DATASET@TIME"));
            }
        };
        let dataset = cited.dataset.dataset.name.clone();
        session.warn_all(cited.warnings(at, now));
        let annotations = cited.set.instance().annotations.clone();
        let digest = cited.set.digest();
        let citation = Citation::new(cited, at, now.day())
            .with_resolver(resolver()?.as_deref())
            .with_digest(self.digest);
        warn_of_lacking(session, &dataset, &citation, self.format);
        let text = citation.write(self.format);
        let printed = object!({
            "format": self.format.name(),
            "citation": text,
            "annotations": annotations,
            "digest": digest,
        });
        session.print(&printed, |out| write!(out, "{text}"))
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
