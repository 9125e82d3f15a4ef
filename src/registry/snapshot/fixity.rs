//! What checks of files found, and when each file was last checked.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::view::Snapshot;
use crate::error::{Error, Result};
use crate::model::{Algorithm, DatasetName, Granule, Set, Timestamp};
use crate::registry::files::{Coverage, FileState, KnownFile, known_files};
use crate::registry::handle::Registry;
use crate::store::{self, DatasetKey, StoredFinding, StoredRun, pages};

/// How many granules are looked up at once.
const PAGE_GRANULES: usize = 4_096;

/// A file that is not as it is recorded: the latest finding of a check that still holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OpenFinding {
    /// The name of the root directory.
    pub root: String,
    /// The granule. `None` means that no granule has the file.
    pub granule: Option<String>,
    /// The path below the root.
    pub path: String,
    /// What is wrong: `missing`, `size`, `checksum`, …
    pub status: String,
    /// What is recorded. `None` means nothing.
    pub expected: Option<String>,
    /// What was found instead. `None` means nothing.
    pub found: Option<String>,
    /// When it was first found.
    pub checked: Timestamp,
}

/// The checks at a root directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RootState {
    /// The name of the directory.
    pub root: String,
    /// The time since when every file of which something is recorded was checked there: that of the
    /// oldest of their latest checks. `None` means that one was never checked.
    pub since: Option<Timestamp>,
    /// How many files were neither recorded nor checked there since the time that was asked for.
    #[serde(skip)]
    pub old: u64,
}

/// What is known of the files of a dataset, and how they were when they were checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixityState {
    /// The dataset.
    pub dataset: DatasetName,
    /// The granules that it holds.
    pub granules: u64,
    /// The number of their files with a checksum of each algorithm.
    #[serde(serialize_with = "by_name")]
    pub records: BTreeMap<Algorithm, u64>,
    /// The roots where they were checked, by name.
    pub roots: Vec<RootState>,
    /// What is wrong: at most one finding a file and root, by granule, path and root.
    pub open: Vec<OpenFinding>,
    /// How many files were not recorded since the time that was asked for, if none was ever checked.
    #[serde(skip)]
    pub old: u64,
}

impl FixityState {
    /// What is wrong with the files, in sentences. `oldest` is the time that was asked for.
    pub fn problems(&self, oldest: Option<Timestamp>) -> Vec<String> {
        let count = |number: u64, noun: &str| match number {
            1 => format!("1 {noun}"),
            number => format!("{number} {noun}s"),
        };
        let mut problems = Vec::new();
        if !self.open.is_empty() {
            let findings = count(self.open.len() as u64, "finding");
            problems.push(format!("{findings} in the last checks of files"));
        }
        let Some(oldest) = oldest else { return problems };
        if self.old > 0 {
            let files = count(self.old, "file");
            problems.push(format!("{files} recorded before {oldest}, and never checked"));
        }
        for root in self.roots.iter().filter(|root| root.old > 0) {
            let files = count(root.old, "file");
            problems.push(format!("{files} not checked at {} since {oldest}", root.root));
        }
        problems
    }
}

fn by_name<S: Serializer>(
    records: &BTreeMap<Algorithm, u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(records.iter().map(|(algorithm, files)| (algorithm.as_str(), files)))
}

impl Snapshot {
    /// What is wrong with files of a dataset, according to their latest checks: at most one finding a file
    /// and root, by granule, path and root.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn open_findings(&self, dataset: &DatasetName) -> Result<Vec<OpenFinding>> {
        self.first_open_findings(dataset, usize::MAX)
    }

    /// As [`Snapshot::open_findings`], but not many more than `most` of them.
    pub(crate) fn first_open_findings(
        &self,
        dataset: &DatasetName,
        most: usize,
    ) -> Result<Vec<OpenFinding>> {
        self.ask_of(dataset, |read, key| {
            let mut open = BTreeMap::new();
            let mut runs = BTreeMap::new();
            for page in open_pages(read, key) {
                let page = page?;
                if runs.is_empty() {
                    runs = runs_of(read, key)?;
                }
                for (finding, closed_by) in page.iter().zip(closings(read, key, &page, &runs)?) {
                    let run = runs.get(&finding.run).filter(|_| closed_by.is_none());
                    let Some(StoredRun { root, .. }) = run else { continue };
                    let finding = open_finding(finding, root);
                    // Later checks are read later.
                    let file = (finding.granule.clone(), finding.path.clone(), root.clone());
                    open.insert(file, finding);
                }
                if open.len() >= most {
                    break;
                }
            }
            Ok(open.into_values().collect())
        })
    }

    /// The datasets of which files were ever checked, by name.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn checked_datasets(&self) -> Result<Vec<DatasetName>> {
        let mut names = self.ask(store::Snapshot::checked_datasets)?;
        names.retain(|name| self.shown.shows(name));
        Ok(names)
    }

    /// When files of a dataset were last checked. `None` means never. Costs one look-up.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn last_checked(&self, dataset: &DatasetName) -> Result<Option<Timestamp>> {
        self.ask(|read| read.last_checked(self.dataset_of(read, dataset)?.0))
    }
}

impl Registry {
    /// What is known of the files that a dataset holds now, when they were checked, and what is wrong
    /// with them. `oldest`: files that were neither recorded nor checked since then are counted.
    ///
    /// Costs a pass over the granules, if anything is recorded of their files.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown).
    pub fn fixity_state(
        &self,
        dataset: &DatasetName,
        oldest: Option<Timestamp>,
    ) -> Result<FixityState> {
        let snapshot = self.snapshot()?;
        let open = snapshot.open_findings(dataset)?;
        let (key, name, latest, runs, batches) = snapshot.ask(|read| {
            let (key, dataset) = snapshot.dataset_of(read, dataset)?;
            let latest = read.latest_instance(key)?;
            Ok((key, dataset.name, latest, runs_of(read, key)?, batches_of(read, key)?))
        })?;
        let granules = match &latest {
            Some(latest) if !batches.is_empty() => {
                Some(snapshot.granules(&Set::Instance(latest.clone()))?)
            }
            _ => None,
        };
        drop(snapshot);
        let mut by_root: BTreeMap<String, Vec<StoredRun>> = BTreeMap::new();
        for run in runs.into_values().filter(|run| run.forgotten.is_none()) {
            let of_root = by_root.entry(run.root.clone()).or_default();
            if !run.is_subset {
                of_root.push(run);
            }
        }
        let roots: Vec<(String, Coverage)> =
            by_root.into_iter().map(|(root, runs)| (root, Coverage::of(runs))).collect();
        let mut survey = Survey::of(roots, &batches, oldest);
        let mut granules = granules.into_iter().flatten();
        loop {
            let page: Vec<Granule> =
                granules.by_ref().take(PAGE_GRANULES).collect::<Result<_>>()?;
            if page.is_empty() {
                break;
            }
            let ids: Vec<&str> = page.iter().map(|granule| granule.granule_id.as_str()).collect();
            let records = self.read().and_then(|read| read.file_records_among(key, &ids));
            let known = known_files(records.map_err(|error| self.named(error))?);
            let mut granules = page.iter();
            let mut granule = granules.next();
            for file in &known {
                while granule.is_some_and(|it| it.granule_id < file.granule_id) {
                    granule = granules.next();
                }
                if let Some(granule) = granule {
                    survey.add(granule, file);
                }
            }
        }
        let Survey { algorithms: records, roots, old, .. } = survey;
        let roots = roots.into_iter().map(|(state, _)| state).collect();
        let granules = latest.map_or(0, |latest| latest.granules);
        Ok(FixityState { dataset: name, granules, records, roots, open, old })
    }
}

/// What is known so far in a pass over the granules.
struct Survey<'a> {
    batches: &'a [(u64, Timestamp)],
    oldest: Option<Timestamp>,
    algorithms: BTreeMap<Algorithm, u64>,
    roots: Vec<(RootState, Coverage)>,
    files: u64,
    old: u64,
}

impl<'a> Survey<'a> {
    fn of(
        roots: Vec<(String, Coverage)>,
        batches: &'a [(u64, Timestamp)],
        oldest: Option<Timestamp>,
    ) -> Self {
        let roots = roots.into_iter();
        let roots = roots.map(|(root, it)| (RootState { root, since: None, old: 0 }, it)).collect();
        Survey { batches, oldest, algorithms: BTreeMap::new(), roots, files: 0, old: 0 }
    }

    fn add(&mut self, granule: &Granule, file: &KnownFile) {
        for checksum in file.state.checksums() {
            *self.algorithms.entry(checksum.algorithm().clone()).or_default() += 1;
        }
        let batch = self.batches.partition_point(|(last, _)| *last < file.state.last());
        let recorded = self.batches.get(batch).map(|(_, recorded)| *recorded);
        for (root, coverage) in &mut self.roots {
            let mut runs = coverage.at(granule.granule_id.as_str());
            // A granule that was ingested again since is another one.
            let run =
                runs.find(|run| granule.ingested <= run.timestamp && counts(run, &file.state));
            let checked = run.map(|run| run.started);
            root.since = if self.files == 0 { checked } else { root.since.min(checked) };
            root.old += u64::from(recorded.max(checked) < self.oldest);
        }
        self.old += u64::from(self.roots.is_empty() && recorded < self.oldest);
        self.files += 1;
    }
}

/// Whether a check of a granule counts as one of a file: it was made of everything that is known of it.
fn counts(run: &StoredRun, state: &FileState) -> bool {
    let mut computed =
        state.checksums().iter().filter(|it| !matches!(it.algorithm(), Algorithm::Other(_)));
    state.last() <= run.last_record
        && (state.checksums().is_empty() || computed.clone().next().is_some())
        // No name of an algorithm is a part of another's.
        && computed.all(|checksum| run.algorithms.contains(checksum.algorithm().as_str()))
}

fn open_finding(finding: &StoredFinding, root: &str) -> OpenFinding {
    let StoredFinding { granule_id, path, status, expected, found, checked, .. } = finding.clone();
    let path = if path.is_empty() { granule_id.clone() } else { path };
    let granule = Some(granule_id).filter(|granule_id| !granule_id.is_empty());
    OpenFinding { root: root.to_owned(), granule, path, status, expected, found, checked }
}

/// All checks of the files of a dataset.
pub(in crate::registry) fn runs_of(
    read: &store::Snapshot,
    dataset: DatasetKey,
) -> Result<BTreeMap<u64, StoredRun>> {
    read.fixity_runs(dataset).map(|run| run.map(|run| (run.run, run))).collect()
}

/// The number of the last record of each batch, and when it was recorded.
fn batches_of(read: &store::Snapshot, dataset: DatasetKey) -> Result<Vec<(u64, Timestamp)>> {
    let batches = read.record_batches(dataset, 0);
    batches.map(|batch| batch.map(|batch| (batch.last_number, batch.recorded))).collect()
}

/// The findings of a dataset that no check and no command has closed, by granule, page by page.
pub(in crate::registry) fn open_pages(
    read: &store::Snapshot,
    dataset: DatasetKey,
) -> impl Iterator<Item = Result<Vec<StoredFinding>>> {
    pages(
        (String::new(), 0, 0),
        move |(granule_id, run, number), limit| {
            read.open_findings_after(dataset, (granule_id, *run, *number), limit)
        },
        |last| (last.granule_id.clone(), last.run, last.number),
    )
}

/// Why each of some findings does not hold any longer. `None` means that it does.
///
/// A finding ends when its granule is deleted, when other content of its file is accepted, or when its
/// root is forgotten. Nothing is written when that happens, so that a change does not look for findings.
pub(in crate::registry) fn closings(
    read: &store::Snapshot,
    dataset: DatasetKey,
    findings: &[StoredFinding],
    runs: &BTreeMap<u64, StoredRun>,
) -> Result<Vec<Option<&'static str>>> {
    let mut ids: Vec<&str> = findings.iter().map(|finding| finding.granule_id.as_str()).collect();
    ids.retain(|id| !id.is_empty());
    ids.dedup();
    let mut held: BTreeMap<String, Timestamp> = BTreeMap::new();
    let mut files: BTreeMap<String, Vec<KnownFile>> = BTreeMap::new();
    if !ids.is_empty() {
        let periods = read.periods_among(dataset, &ids)?.into_iter();
        let present = periods.filter(|period| period.deleted.is_none());
        held.extend(present.map(|period| (period.granule_id.to_string(), period.ingested)));
        for file in known_files(read.file_records_among(dataset, &ids)?) {
            files.entry(file.granule_id.to_string()).or_default().push(file);
        }
    }
    let mut closings = Vec::new();
    for finding in findings {
        let run = runs.get(&finding.run).ok_or_else(|| {
            Error::damaged(format!("the check {} of a finding is missing", finding.run))
        })?;
        let granule_id = finding.granule_id.as_str();
        let path = if finding.path.is_empty() { granule_id } else { &finding.path };
        let mut known = files.get(granule_id).into_iter().flatten();
        let is_new = |file: &KnownFile| file.state.since() > run.last_record;
        let is_replaced = match finding.status.as_str() {
            "no-record" => known.clone().next().is_some() && known.all(is_new),
            _ => known.any(|file| file.path == path && is_new(file)),
        };
        closings.push(match held.get(granule_id) {
            _ if run.forgotten.is_some() => Some("forgotten"),
            _ if granule_id.is_empty() => None,
            None => Some("deleted"),
            Some(ingested)
                if *ingested > run.timestamp
                    && read
                        .instance_at(dataset, *ingested)?
                        .is_some_and(|instance| instance.recorded > finding.checked) =>
            {
                Some("deleted")
            }
            Some(_) => is_replaced.then_some("replaced"),
        });
    }
    Ok(closings)
}
