use std::io::Write;

use accession::dataset::GranuleUrl;
use accession::file::{Algorithm, Content};
use accession::fixity::ListStyle;
use accession::history::FileList;
use accession::text::quoted;
use accession::{
    DatasetName, Granule, GranuleId, Granules, Holding, Pattern, Registry, Set, SetSpec, Snapshot,
    WarningKind,
};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::json;

use crate::args::{DetectedListArgs, KnownAtArgs, SiteArgs};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Progress, in_words};
use crate::session::Session;
use crate::sources::{ListedSource, Named, as_set, listed, refuse_unread, snapshot};

/// List the granules of a set
///
/// Granules are listed in canonical order. A complete list is verified against the identifier of the set; a
/// partial list is not. --count prints the number that the history states.
///
/// Formats: ids; checksums, as `sha256sum --check` reads them; bagit, a manifest of BagIt; list, the canonical
/// list, whose SHA-256 is the digest of the set. Checksums are listed by granule, then path. Files without a
/// checksum of the algorithm are left out and counted.
///
/// With --producer, list every period in which granules with this producer's id were held; the exit status is 1
/// if there was none.
///
/// Examples:
///   accession granules US.FOOL2.002@2001-01-05
///   accession granules US.FOOL2.002@2001-01-05 --select 'FOOL2.v2.1*' --count
///   accession granules US.FOOL2.002 --format checksums | (cd /data && sha256sum --check --quiet)
///   accession granules US.FOOL2.002 --format list | sha256sum
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: see `accession --help`
    set: SetSpec,

    /// How the granules are listed
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "ids")]
    format: Format,

    /// The checksums that are listed [default: sha-256 if a file has one, else the strongest]
    ///
    /// Of a listing, also the algorithm of checksums that do not name theirs.
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,

    #[command(flatten)]
    site: SiteArgs,

    #[command(flatten)]
    known_at: KnownAtArgs,

    #[command(flatten)]
    filter: Filter,

    /// List the periods of the granules with this producer's id
    #[arg(
        long,
        hide_short_help = true,
        value_name = "ID",
        conflicts_with_all = ["format", "known_at", "select", "after", "limit", "count"]
    )]
    producer: Option<GranuleId>,

    #[command(flatten)]
    lists: DetectedListArgs,
}

/// How granules are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Their ids
    Ids,
    /// The checksums of their files, as sha256sum reads them
    Checksums,
    /// A manifest of BagIt
    Bagit,
    /// The canonical list, of which the digest is the SHA-256
    List,
}

/// Which granules of the set are listed, and whether they are only counted.
#[derive(clap::Args)]
struct Filter {
    /// Only granules whose ids match: * is any characters, ? is one, [a-c] is one of these, [!a-c]
    /// is one of the others (can be repeated: a granule must match one of them)
    #[arg(long, value_name = "PATTERN")]
    select: Vec<Pattern>,

    /// Only granules after this id in canonical order
    #[arg(long, hide_short_help = true, value_name = "ID")]
    after: Option<GranuleId>,

    /// List at most this many granules
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print only the number of granules
    #[arg(long)]
    count: bool,
}

/// A granule, its address, and the recorded metadata of its files. `files` is `None` if no set was selected,
/// because the metadata depends on the time.
#[derive(Serialize)]
struct Addressed {
    #[serde(flatten)]
    granule: Holding,
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Content>,
}

impl Addressed {
    fn new(granule: Holding, files: Option<Content>, template: Option<&GranuleUrl>) -> Self {
        let url = template.and_then(|template| template.address_of(&granule.granule_id));
        Addressed { granule, url, files }
    }
}

/// The set to list, and its registry.
struct Listed {
    registry: Registry,
    set: Set,
    url: Option<GranuleUrl>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.refuse_without_effect()?;
        self.site.follow(session, std::slice::from_ref(&self.set))?;
        if let Some(producer) = &self.producer {
            refuse_unread(self.lists.given().or(self.lists.paths.given()))?;
            self.refuse_algorithm()?;
            let snapshot = session.open()?.snapshot()?;
            let dataset = self.set.dataset(&snapshot)?;
            return list_of_producer(session, snapshot, &dataset, producer);
        }
        let listed = self.listed(session)?;
        match self.format {
            Format::Checksums | Format::Bagit => self.list_checksums(session, &listed),
            Format::List => print_list(session, &listed),
            Format::Ids => self.list_ids(session, &listed),
        }
    }

    fn refuse_without_effect(&self) -> Result<()> {
        let is_filtered = self.filter.count || !self.filter.is_whole();
        if self.format != Format::Ids && is_filtered {
            return Err(Error::usage("--select, --after, --limit and --count need --format ids"));
        }
        Ok(())
    }

    /// Rejects an algorithm if the format has no checksums.
    fn refuse_algorithm(&self) -> Result<()> {
        let has_checksums = matches!(self.format, Format::Checksums | Format::Bagit);
        if self.algorithm.is_some() && !has_checksums {
            return Err(Error::usage("--algorithm chooses among checksums")
                .with_hint("add --format checksums or --format bagit"));
        }
        Ok(())
    }

    /// Finds the set. On return, no snapshot is open.
    fn listed(&self, session: &mut Session) -> Result<Listed> {
        let snapshot = snapshot(session)?;
        let snapshot =
            snapshot.map(|snapshot| self.known_at.apply(snapshot, session)).transpose()?;
        let (resolution, snapshot) = match Named::find(session, snapshot.as_ref(), &self.set)? {
            Named::Set(resolution) => (resolution, snapshot.as_ref()),
            Named::Listing(file) => {
                drop(snapshot);
                self.known_at.refuse_for_listing()?;
                let options = self.lists.options().algorithm(self.algorithm.clone());
                let ListedSource { listing, .. } =
                    listed(session, file, (options, &self.lists.paths))?;
                let (registry, set) = as_set(session, &listing)?;
                return Ok(Listed { registry, set, url: None });
            }
        };
        let Some(snapshot) = snapshot else {
            return Err(Error::usage(format!("{} is not in a registry", self.set)));
        };
        refuse_unread(self.lists.given().or(self.lists.paths.given()))?;
        self.refuse_algorithm()?;
        self.known_at.check(resolution.selection(), snapshot)?;
        let mut selected = resolution.names()?;
        let reads_files = self.format != Format::Ids || (session.is_json() && !self.filter.count);
        if reads_files {
            selected.set = resolution.contents()?;
        }
        session.warn_of_dataset(snapshot, selected.set.dataset())?;
        if let (Some(at), false) = (self.set.time(), selected.others.is_empty()) {
            session.warn(
                WarningKind::OtherIdentifiers,
                &format!(
                    "the dataset changed on {at}; these are its granules {}",
                    selected.instance().in_force()
                ),
            );
        }
        let url = match session.is_json() {
            true => snapshot.granule_url(selected.set.dataset())?,
            false => None,
        };
        Ok(Listed { registry: snapshot.registry().clone(), set: selected.set, url })
    }

    fn list_ids(&self, session: &mut Session, listed: &Listed) -> Result<Exit> {
        let Listed { registry, set, url } = listed;
        let after = self.filter.after.as_ref();
        let files = (session.is_json() && !self.filter.count).then(|| match after {
            None => registry.files(set),
            after => registry.files_after(set, after),
        });
        let granules = match self.filter.is_whole() {
            true => registry.granules(set),
            false => registry.granules_after(set, after),
        };
        let progress = Progress::new();
        // A list on the terminal shows its own progress.
        if self.filter.count || !session.is_on_terminal() {
            progress.begin("listing", "granules", Some(set.granule_count()));
        }
        let counted = match files {
            // The number is in the history.
            _ if self.filter.count && self.filter.is_whole() => set.granule_count(),
            Some(files) => {
                self.filter.list_json(session, granules, files, url.as_ref(), &progress)?
            }
            None => self.filter.list_ids(session, granules, &progress)?,
        };
        progress.end();
        match self.filter.count {
            true => session.present(&json!({ "granules": counted }), |out, count| {
                writeln!(out, "{}", in_words(&count["granules"]))
            }),
            false => Ok(Exit::Done),
        }
    }

    fn list_checksums(&self, session: &mut Session, listed: &Listed) -> Result<Exit> {
        let Listed { registry, set, .. } = listed;
        let style = match self.format {
            Format::Bagit => ListStyle::BagIt,
            _ => ListStyle::Checksums,
        };
        let algorithm = self.algorithm.clone();
        let found = registry.each_checksum::<Error>(set, algorithm, |id, file, checksum| {
            if session.is_json() {
                return Ok(session.json(&object!({
                    "granule": id,
                    "path": file.path(id),
                    "algorithm": checksum.algorithm().as_str(),
                    "size": file.size(),
                    "checksum": checksum.to_string(),
                }))?);
            }
            Ok(style.write_line(session.document(), checksum, file.path(id))?)
        })?;
        session.warn_all(found.warning());
        Ok(Exit::Done)
    }
}

impl Filter {
    /// Prints the granules as JSON, and returns their number.
    fn list_json(
        &self,
        session: &mut Session,
        granules: Granules,
        mut files: FileList,
        template: Option<&GranuleUrl>,
        progress: &Progress,
    ) -> Result<u64> {
        let mut counted = 0;
        for granule in granules {
            let granule = granule?;
            progress.advance_row();
            if counted == self.limit() {
                return Ok(counted);
            }
            // Both iterators have the same granules in the same order.
            let content = files.next().transpose()?.map(|files| files.content);
            if self.selects(granule.granule_id.as_str()) {
                counted += 1;
                session.json(&Addressed::new(granule, content, template))?;
            }
        }
        // Reading to the end verifies the metadata of the files.
        files.next().transpose()?;
        Ok(counted)
    }

    /// Prints the ids, unless only their number is requested. Returns the number.
    fn list_ids(
        &self,
        session: &mut Session,
        granules: Granules,
        progress: &Progress,
    ) -> Result<u64> {
        let mut counted = 0;
        for page in granules.into_id_pages() {
            let page = page?;
            progress.advance(page.len() as u64);
            let left = self.limit() - counted;
            if left == 0 {
                break;
            }
            if self.select.is_empty() && page.len() as u64 <= left {
                counted += page.len() as u64;
                if !self.count {
                    session.document().write_all(page.as_lines().as_bytes())?;
                }
                continue;
            }
            for id in page.iter().filter(|id| self.selects(id)) {
                if counted == self.limit() {
                    return Ok(counted);
                }
                counted += 1;
                if !self.count {
                    writeln!(session.document(), "{id}")?;
                }
            }
        }
        Ok(counted)
    }

    /// Whether all granules are listed, so that the list can be verified.
    fn is_whole(&self) -> bool {
        self.select.is_empty() && self.after.is_none() && self.limit.is_none()
    }

    fn limit(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| limit as u64)
    }

    fn selects(&self, id: &str) -> bool {
        self.select.is_empty() || self.select.iter().any(|it| it.matches(id))
    }
}

/// Prints the canonical list of a set. As JSON, prints one line for each granule.
fn print_list(session: &mut Session, listed: &Listed) -> Result<Exit> {
    let Listed { registry, set, .. } = listed;
    let progress = Progress::new();
    if !session.is_on_terminal() {
        progress.begin("listing", "granules", Some(set.granule_count()));
    }
    let mut line = Vec::new();
    for granule in registry.files(set) {
        let Granule { granule_id, content, .. } = granule?;
        progress.advance_row();
        line.clear();
        content.write_line(granule_id.as_str(), &mut line);
        if session.is_json() {
            let line = String::from_utf8_lossy(&line);
            session.json(&json!({ "granule": granule_id, "line": line.trim_end_matches('\n') }))?;
        } else {
            session.document().write_all(&line)?;
        }
    }
    progress.end();
    Ok(Exit::Done)
}

fn list_of_producer(
    session: &mut Session,
    snapshot: Snapshot,
    dataset: &DatasetName,
    producer: &GranuleId,
) -> Result<Exit> {
    let granules = snapshot.registry().granules_of_producer(dataset, producer);
    let template = snapshot.granule_url(dataset)?;
    drop(snapshot);
    let rows = granules.map(|granule| Ok(Addressed::new(granule?, None, template.as_ref())));
    const COLUMNS: &[Column] =
        &[Column::text("granule"), Column::text("ingested"), Column::text("deleted").or("held")];
    if session.rows(COLUMNS, rows)? == 0 {
        let producer = quoted(producer.as_str());
        session.warn(
            WarningKind::NeverHeld,
            &format!("{dataset} never held a granule with the producer id {producer}"),
        );
        return Ok(Exit::Differs);
    }
    Ok(Exit::Done)
}
