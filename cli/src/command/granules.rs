use std::io::Write;

use accession::Granule;
use accession::WarningKind;
use accession::dataset::GranuleUrl;
use accession::file::Content;
use accession::history::FileList;
use accession::text::quoted;
use accession::{DatasetName, GranuleId, Granules, Holding, Pattern, Snapshot};
use serde::Serialize;
use serde_json::json;

use crate::args::{KnownAtArgs, SetArgs, SiteArgs};
use crate::error::{Error, Exit, Result};
use crate::output::{Column, Progress};
use crate::session::Session;

/// List the exact granules of a set, in canonical order
///
/// At its end, a whole list is compared with the identifier of the set; a part of one cannot be.
/// --count prints the number that the history states.
///
/// With --list, each id is followed by the strongest checksums of its files: the canonical list, whose
/// SHA-256 is the digest of the set.
///
/// With --producer, list instead every period in which granules with this producer id were held;
/// the exit status is 1 if there was none.
///
/// Examples:
///   accession granules US.FOOL2.002 --at 2001-01-05
///   accession granules DI:763122197bfb3ffbf0da14adbfb1b13b
///   accession granules US.FOOL2.002@2001-01-05 --select 'FOOL2.v2.1*' --count
///   accession granules US.FOOL2.002 --list | sha256sum
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    #[command(flatten)]
    set: SetArgs,

    #[command(flatten)]
    site: SiteArgs,

    #[command(flatten)]
    known_at: KnownAtArgs,

    #[command(flatten)]
    filter: Filter,

    /// Print the canonical list, of which the digest is the SHA-256
    #[arg(long, conflicts_with_all = ["known_at", "select", "after", "limit", "count", "producer", "json"])]
    list: bool,

    /// List the periods of the granules with this producer id
    #[arg(
        long,
        value_name = "ID",
        conflicts_with_all = ["at", "identifier", "known_at", "select", "after", "limit", "count"]
    )]
    producer: Option<GranuleId>,
}

/// Which granules of the set are listed, and whether they are only counted.
#[derive(clap::Args)]
struct Filter {
    /// Only granules whose ids match: * is any characters, ? is one, [a-c] is one of these, [!a-c]
    /// is one of the others (can be repeated: a granule must match one of them)
    #[arg(long, value_name = "PATTERN")]
    select: Vec<Pattern>,

    /// Only granules after this id in canonical order
    #[arg(long, value_name = "ID")]
    after: Option<GranuleId>,

    /// List at most this many granules
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Print only the number of granules
    #[arg(long)]
    count: bool,
}

/// A granule, where it can be fetched, and what was known of its files. `None` means that this is not read:
/// it depends on a time.
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

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.site.follow(session, std::slice::from_ref(self.set.typed()))?;
        if let Some(producer) = &self.producer {
            let snapshot = session.open()?.snapshot()?;
            let Some(dataset) = self.set.dataset_only(&snapshot)? else {
                return Err(Error::usage("--producer needs a dataset"));
            };
            return list_of_producer(session, snapshot, &dataset, producer);
        }
        // The time that was typed. If the user typed none, no warning about its day is needed.
        let at = self.set.typed_at();
        let snapshot = session.open()?.snapshot()?;
        session.warn_all(self.set.typed().unchecked(&snapshot)?);
        let selection = self.set.into_selection(&snapshot)?;
        self.known_at.refuse_for_identifier(&selection)?;
        let snapshot = self.known_at.apply(snapshot, session)?;
        let mut selected = snapshot.select(&selection)?;
        let reads_files = self.list || (session.is_json() && !self.filter.count);
        if reads_files {
            selected.set = snapshot.select_contents(&selection)?;
        }
        session.warn_of_dataset(&snapshot, selected.set.dataset())?;
        if let (Some(at), false) = (at, selected.others.is_empty()) {
            session.warn(
                WarningKind::OtherIdentifiers,
                &format!(
                    "the dataset changed on {at}; these are its granules {}",
                    selected.instance().in_force()
                ),
            );
        }
        let template = match session.is_json() {
            true => snapshot.granule_url(selected.set.dataset())?,
            false => None,
        };
        let registry = snapshot.registry().clone();
        drop(snapshot);
        let (set, after) = (&selected.set, self.filter.after.as_ref());
        let files = reads_files.then(|| match after {
            None => registry.files(set),
            after => registry.files_after(set, after),
        });
        let files = match files {
            Some(files) if self.list => return print_list(session, files, set.granule_count()),
            files => files,
        };
        let granules = match self.filter.is_whole() {
            true => registry.granules(set),
            false => registry.granules_after(set, after),
        };
        let progress = Progress::new();
        // A list that is printed on the terminal is its own progress.
        if self.filter.count || session.out().columns().is_none() {
            progress.begin("listing", "granules", Some(selected.set.granule_count()));
        }
        let counted = match files {
            // The history has the number.
            _ if self.filter.count && self.filter.is_whole() => selected.set.granule_count(),
            Some(files) => {
                self.filter.list_json(session, granules, files, template.as_ref(), &progress)?
            }
            None => self.filter.list_ids(session, granules, &progress)?,
        };
        progress.end();
        match self.filter.count {
            true => {
                session.print(&json!({ "granules": counted }), |out| writeln!(out, "{counted}"))
            }
            false => Ok(Exit::Done),
        }
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
            // Both have the same granules in the same order.
            let content = files.next().transpose()?.map(|files| files.content);
            if self.selects(granule.granule_id.as_str()) {
                counted += 1;
                session.json(&Addressed::new(granule, content, template))?;
            }
        }
        // What was known of the files is proved at its end.
        files.next().transpose()?;
        Ok(counted)
    }

    /// Prints the ids unless only their number is wanted, and returns it.
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
                    session.out().write_all(page.as_lines().as_bytes())?;
                }
                continue;
            }
            for id in page.iter().filter(|id| self.selects(id)) {
                if counted == self.limit() {
                    return Ok(counted);
                }
                counted += 1;
                if !self.count {
                    writeln!(session.out(), "{id}")?;
                }
            }
        }
        Ok(counted)
    }

    /// Whether all granules are listed, so that the list can be proved.
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

/// Prints the canonical list of a set.
fn print_list(session: &mut Session, list: FileList, granules: u64) -> Result<Exit> {
    let progress = Progress::new();
    if session.out().columns().is_none() {
        progress.begin("listing", "granules", Some(granules));
    }
    let mut line = Vec::new();
    for granule in list {
        let Granule { granule_id, content, .. } = granule?;
        progress.advance_row();
        line.clear();
        content.write_line(granule_id.as_str(), &mut line);
        session.out().write_all(&line)?;
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
