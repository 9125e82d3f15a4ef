use std::io::{self, Write};
use std::iter;
use std::path::PathBuf;

use accession::dataset::DatasetMetadata;
use accession::history::{Annotation, SubsetCitation, SubsetState};
use accession::{
    Citation, CitationFormat, DatasetName, ErrorKind, Granule, Listing, ListingBuilder, Moment,
    ParseError, Pattern, Registry, Selection, Set, SetSpec, SubsetMembers, Warning, WarningKind,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;

use crate::args::{DetectedListArgs, FileArgs, SiteArgs, named_path};
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::output::{Output, counted, in_words, to_value};
use crate::reading::{Entries, warn_of_repeated};
use crate::references::read_record;
use crate::session::Session;
use crate::sources::{ListedSource, Named, listed, refuse_unread, snapshot};

/// Print a citation
///
/// With --select, a subset is cited. It is saved in the registry, so that its identifier can always be resolved;
/// citing the same granules again by the same patterns gives the same identifier.
///
/// A listing or a directory is cited without a registry: by its identifier and digest, and the dataset that --of
/// names. The format ro-crate describes the set, and with --output its directory gets the canonical list, too.
///
/// Examples:
///   accession cite US.FOOL2.002@2001-01-05
///   accession cite DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession cite US.FOOL2.002 --format bibtex >> paper.bib
///   accession cite US.FOOL2.002@2001-01-05 --select 'FOOL2.v2.1*'
///   accession cite used.txt --of 10.5067/ABC/123 --format ro-crate --output used
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: see `accession --help`
    set: SetSpec,

    /// The dataset that a listing is of: its DOI, a name, or a file with its metadata from doi.org (CSL-JSON or
    /// DataCite JSON); can be repeated
    #[arg(long, value_name = "DOI|NAME|FILE")]
    of: Vec<SetSpec>,

    #[command(flatten)]
    site: SiteArgs,

    /// The format: text, tuple, bibtex, ris, csl-json, datacite-json, json-ld or ro-crate
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = CitationFormat::Text.name(),
        value_parser = PossibleValuesParser::new(names()).try_map(Format::named),
        hide_possible_values = true
    )]
    format: Format,

    /// The directory that gets ro-crate-metadata.json and granules.txt, the list
    ///
    /// The list is the canonical one. The directory is created if it does not exist, and has no other file.
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    output: Option<PathBuf>,

    /// Cite only the granules whose ids match: * is any characters, ? is one, [a-c] is one of
    /// these, [!a-c] is one of the others (can be repeated: a granule must match one of them)
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["site", "of"])]
    select: Vec<Pattern>,

    /// Cite only the granules that a file names; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["select", "site", "of"])]
    select_from: Option<InputFile>,

    /// Save no subset: only show its citation
    #[arg(long)]
    dry_run: bool,

    /// Include the digest of the recorded checksums
    #[arg(long)]
    digest: bool,

    #[command(flatten)]
    lists: DetectedListArgs,

    #[command(flatten)]
    files: FileArgs,
}

/// The format of the output: a citation or a crate.
#[derive(Debug, Clone, Copy)]
enum Format {
    Citation(CitationFormat),
    RoCrate,
}

impl Format {
    fn named(name: String) -> Result<Self, ParseError> {
        match name == RO_CRATE {
            true => Ok(Format::RoCrate),
            false => name.parse().map(Format::Citation),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Citation(format) => format.name(),
            Format::RoCrate => RO_CRATE,
        }
    }
}

const RO_CRATE: &str = "ro-crate";

fn names() -> impl Iterator<Item = &'static str> {
    CitationFormat::ALL.map(CitationFormat::name).into_iter().chain(iter::once(RO_CRATE))
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        if self.digest && matches!(self.format, Format::Citation(CitationFormat::Tuple)) {
            return Err(Error::usage("a tuple has no place for the digest")
                .with_hint("omit --digest, or name another --format"));
        }
        if self.dry_run && self.select.is_empty() && self.select_from.is_none() {
            return Err(Error::usage("without a selection, nothing is saved")
                .with_hint("omit --dry-run, or select granules with --select"));
        }
        if self.output.is_some() && !matches!(self.format, Format::RoCrate) {
            return Err(Error::usage("--output takes a crate").with_hint("add --format ro-crate"));
        }
        self.site.follow(session, std::slice::from_ref(&self.set))?;
        let snapshot = snapshot(session)?;
        let resolution = match Named::find(session, snapshot.as_ref(), &self.set)? {
            Named::Set(resolution) => resolution,
            Named::Listing(file) => {
                drop(snapshot);
                return self.cite_listing(session, file);
            }
        };
        let of_paths = self.select_from.is_none().then(|| self.lists.paths.given()).flatten();
        refuse_unread(self.lists.given().or(of_paths).or(self.files.given()))?;
        if !self.of.is_empty() {
            let message =
                "--of names the dataset of a listing, and the registry knows that of this set";
            return Err(Error::usage(message).with_hint("omit --of"));
        }
        let now = session.now()?;
        let (selection, at) = match resolution.selection().clone() {
            Selection::Dataset { name, at } => {
                let at = match self.set.is_dataset() {
                    true => Some(Moment::Day(now.day())),
                    false => at,
                };
                (Selection::Dataset { name, at }, at)
            }
            // The citation is of the dataset that held the set first. If its contents are ambiguous, none is
            // chosen silently.
            selection => {
                resolution.contents()?;
                let at = match &selection {
                    Selection::Identifier { at, .. } => *at,
                    _ => None,
                };
                (selection, at)
            }
        };
        drop(resolution);
        drop(snapshot);
        self.cite_set(session, selection, at)
    }

    fn cite_listing(self, session: &mut Session, file: InputFile) -> Result<Exit> {
        if !self.select.is_empty() || self.select_from.is_some() {
            return Err(Error::usage("a subset is selected from a dataset, and this is a listing")
                .with_hint("list only the granules that are cited"));
        }
        if self.digest {
            return Err(Error::usage("the citation of a listing has the digest anyway")
                .with_hint("omit --digest"));
        }
        let (mut of, mut record) = (Vec::new(), None);
        for spec in &self.of {
            match spec.path() {
                Some(path) => record = Some(read_record(&InputFile::Path(path.to_owned()))?),
                None => of.push(spec.clone()),
            }
        }
        let dataset = DatasetMetadata::of_list(&of, record.as_deref()).map_err(|error| {
            Error::usage(error.to_string())
                .with_hint("--of names the dataset: its DOI, a name, or a file with its metadata")
        })?;
        let options = self.files.reading(self.lists.options());
        let ListedSource { listing, by_length, .. } =
            listed(session, file, (options, &self.lists.paths))?;
        if listing.is_empty() {
            return Err(Error::usage("the list has no granules: there is nothing to cite"));
        }
        let list = listing.identify_watched(&session.watcher())?;
        warn_of_repeated(session, list.repeated);
        let citation = Citation::of_list(dataset, &list, session.now()?);
        let text = self.text(&citation, || Ok(listing.files()?))?;
        let mut printed = object!({
            "format": self.format.name(),
            "citation": text,
            "annotations": Vec::<Annotation>::new(),
            "digest": list.digest,
            "identifier": list.identifier,
            "granules": list.granules,
        });
        if !by_length.is_empty() {
            printed.0.push(("by_length", by_length.into()));
        }
        session.present(&printed, write_citation)
    }

    fn cite_set(
        self,
        session: &mut Session,
        selection: Selection,
        at: Option<Moment>,
    ) -> Result<Exit> {
        let registry = session.open()?;
        let now = registry.now();
        let members = match &self.select_from {
            Some(file) => {
                let mut listing = ListingBuilder::new();
                let entries = Entries::of_file(session, file, &self.lists.paths);
                entries.read(|entry| Ok(listing.add(entry)?))?.accepted()?;
                let listing = listing.finish();
                Some(SubsetMembers::Listed(listing))
            }
            None if self.select.is_empty() => None,
            None => Some(SubsetMembers::Patterns(self.select.clone())),
        };
        let (mut is_stored, mut saved) = (true, None);
        let cited = match (&members, &selection) {
            (None, _) => registry.snapshot()?.cite(&selection)?,
            (Some(members), Selection::Dataset { name, .. }) => {
                let SubsetCitation { cited, state, .. } = if self.dry_run {
                    registry.snapshot()?.preview_subset(name, at, members)?
                } else {
                    save_subset(session, &registry, name, at, members)?
                };
                is_stored = state != SubsetState::NotStored;
                let set = &cited.period.set;
                let is_new = if self.dry_run { !is_stored } else { state == SubsetState::Added };
                saved = is_new.then(|| {
                    object!({
                        "identifier": set.identifier(),
                        "granules": set.granule_count(),
                        "of": set.instance().granules,
                        "dry_run": self.dry_run,
                    })
                });
                cited
            }
            (Some(_), Selection::Identifier { .. } | Selection::Digest(_)) => {
                return Err(Error::usage("a subset is selected from a dataset as of a time")
                    .with_hint("name the set as DATASET or DATASET@TIME"));
            }
        };
        let dataset = cited.dataset.dataset.name.clone();
        session.warn_all(cited.warnings(at, now));
        let cited_set = cited.period.set.clone();
        let citation = Citation::new(cited, at, now.day());
        let citation = if is_stored { citation.with_contents(&registry)? } else { citation };
        let citation =
            citation.with_resolver(self.site.resolver()?.as_deref()).with_digest(self.digest);
        let mut lacks = Vec::new();
        // The user of a published site cannot edit the record.
        if let Format::Citation(format) = self.format
            && !self.site.is_given()
        {
            lacks = lacking(&citation, format);
        }
        let files = |set: &Set| Ok(registry.files(set));
        let text = match &members {
            Some(SubsetMembers::Listed(listing)) if !is_stored => {
                let instance = Set::Instance(cited_set.instance().clone());
                self.text(&citation, || Ok(listed_of(files(&instance)?, listing)?))?
            }
            _ => self.text(&citation, || files(&cited_set))?,
        };
        let mut printed = object!({
            "format": self.format.name(),
            "citation": text,
            "annotations": cited_set.instance().annotations,
            "digest": cited_set.digest(),
            "lacks": lacks,
            "identifier": cited_set.identifier(),
            "granules": cited_set.granule_count(),
        });
        printed.0.extend(saved.iter().map(|saved| ("saved", to_value(saved))));
        session.present(&printed, write_citation)?;
        if let Some(saved) = saved.as_ref().filter(|_| !session.is_json()) {
            // The line must follow the citation.
            session.finish()?;
            session.note(&saved_line(&to_value(saved)));
        }
        if !lacks.is_empty() && !session.is_json() {
            // The hint must follow the citation.
            session.finish()?;
            let options: Vec<&str> = lacks.into_iter().map(option_of).collect();
            let (program, options) = (session.program(), options.join(", "));
            session.hint(&format!("`{program} dataset edit {dataset}` can add {options}"));
        }
        Ok(Exit::Done)
    }

    /// The text to print. A crate in a directory is written there, and a sentence about it is printed.
    fn text<Granules>(
        &self,
        citation: &Citation,
        granules: impl FnOnce() -> Result<Granules>,
    ) -> Result<String>
    where
        Granules: Iterator<Item = accession::Result<Granule>>,
    {
        Ok(match (self.format, &self.output) {
            (Format::Citation(format), _) => citation.render(format),
            (Format::RoCrate, None) => citation.write_ro_crate(granules()?)?,
            (Format::RoCrate, Some(directory)) => {
                citation.save_ro_crate(directory, granules()?)?;
                citation.render(CitationFormat::Text)
            }
        })
    }
}

/// Saves a subset for its citation, if the registry is writable. Otherwise warns that it is not saved.
fn save_subset(
    session: &Session,
    registry: &Registry,
    dataset: &DatasetName,
    at: Option<Moment>,
    members: &SubsetMembers,
) -> Result<SubsetCitation> {
    let cannot_save = |kind| matches!(kind, ErrorKind::Denied | ErrorKind::ClockAhead);
    let saved = match registry.save_subset(dataset, at, members) {
        Err(error) if cannot_save(error.kind()) => {
            let found = registry.snapshot()?.preview_subset(dataset, at, members)?;
            if found.state == SubsetState::NotStored {
                let why = error.with_causes();
                let message = format!(
                    "{why}: the subset is not saved, and its identifier does not resolve here"
                );
                session.warn_all([Warning::new(WarningKind::SubsetNotSaved, message)]);
            }
            found
        }
        saved => saved?,
    };
    session.warn_all(saved.warning());
    Ok(saved)
}

/// The granules of an instance that a list names. The instance must have all of them. No registry has the list.
fn listed_of<E>(
    granules: impl Iterator<Item = Result<Granule, E>>,
    listing: &Listing,
) -> Result<impl Iterator<Item = Result<Granule, E>>, E>
where
    E: From<accession::Error>,
{
    let mut listed = listing.files()?.peekable();
    Ok(granules.filter_map(move |granule| {
        let Ok(held) = &granule else { return Some(granule) };
        match listed.next_if(|next| !matches!(next, Ok(next) if next.granule_id != held.granule_id))
        {
            Some(Ok(_)) => Some(granule),
            Some(Err(error)) => Some(Err(error.into())),
            None => None,
        }
    }))
}

/// The line on stderr about a saved subset.
fn saved_line(saved: &Value) -> String {
    let [identifier, granules] = ["identifier", "granules"].map(|member| in_words(&saved[member]));
    let verb = if saved["dry_run"] == true { "would save" } else { "saved" };
    let of = counted(&saved["of"], "granule");
    format!("{verb} the subset DI:{identifier}: {granules} of {of}")
}

fn write_citation(out: &mut Output, printed: &Value) -> io::Result<()> {
    write!(out, "{}", in_words(&printed["citation"]))
}

/// The fields that a citation lacks. Datasets that change every night have no version, so a citation that lacks
/// only the version is complete.
fn lacking(citation: &Citation, format: CitationFormat) -> Vec<&'static str> {
    let lacks = citation.missing_fields(format);
    if lacks == ["version"] { Vec::new() } else { lacks }
}

/// The option of `dataset edit` that adds a field of the record.
fn option_of(field: &'static str) -> &'static str {
    match field {
        "doi" => "--doi",
        "title" => "--title",
        "creators" => "--creator",
        "publisher" => "--publisher",
        "version" => "--dataset-version",
        _ => "--year",
    }
}
