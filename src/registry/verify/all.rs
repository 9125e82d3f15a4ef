//! Verifies several datasets or all of them, and the file once.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};

use super::finding::{Code, Finding, Findings, Verification, VerifyWork, readable};
use super::jobs::in_order;
use crate::model::{DatasetName, quoted};
use crate::registry::error::{Error, Result};
use crate::registry::handle::Registry;
use crate::registry::snapshot::dataset_of;
use crate::store::DatasetKey;

/// The number of dataset names in a page.
const PAGE_NAMES: u32 = 1_024;

/// The result of [`Registry::verify_all`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verified {
    /// The number of datasets that were verified.
    pub datasets: u64,
    /// The number of identifiers that were recomputed.
    pub identifiers: u64,
    /// The number of findings, including those about the file. 0 means that everything agrees.
    pub findings: u64,
    /// How many datasets could not be verified, because a machine of a cluster cannot be reached.
    pub unreachable: u64,
    /// What was not verified, because datasets were named. `None` means that everything was.
    pub left_out: Option<&'static str>,
    /// The work that it took.
    pub work: VerifyWork,
}

impl Verified {
    fn add(&mut self, verification: &Verification) {
        self.datasets += u64::from(verification.dataset.is_some());
        self.identifiers += verification.identifiers;
        let unreachable = verification.is_incomplete();
        self.findings += verification.mismatches.len() as u64 - u64::from(unreachable);
        self.unreachable += u64::from(unreachable && verification.dataset.is_some());
        self.work += verification.work;
    }
}

impl Registry {
    /// The same as [`Registry::verify_all_on`] with as many jobs as there are cores.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::verify_all_on`].
    pub fn verify_all<E: From<Error>>(
        &self,
        datasets: &[DatasetName],
        show: impl FnMut(Verification) -> Result<(), E>,
    ) -> Result<Verified, E> {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.verify_all_on(cores, datasets, show)
    }

    /// Checks the file once, and verifies these datasets, or all of them if none is named. On a server
    /// only the rows of the datasets that are named are checked in place of the file. Calls `show` with a [`Verification`] of the file if it has findings, and then with one for each
    /// dataset, in order. Damage in one dataset does not prevent the verification of others, nor does a
    /// machine of a cluster that cannot be reached. No lock is held while `show` runs.
    ///
    /// The file and the datasets are checked side by side, up to `jobs` of them at a time, but at
    /// most 16; each dataset also has a thread that hashes. With one job, and in a registry that has
    /// only one connection, such as [`Registry::in_memory`], or on a database server, they are checked one after the other.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`], before anything is verified; [`Error::Store`]: the registry was
    /// replaced, or cannot be opened; the errors of `show`. Damage is not an error.
    pub fn verify_all_on<E: From<Error>>(
        &self,
        jobs: NonZeroUsize,
        datasets: &[DatasetName],
        mut show: impl FnMut(Verification) -> Result<(), E>,
    ) -> Result<Verified, E> {
        let keys = self.keys_of(datasets)?;
        let jobs = if self.has_many_connections() { jobs } else { NonZeroUsize::MIN };
        let (registry, stop) = self.with_joint_monitor();
        // Several threads report their work as one.
        let (registry, _progress) = match jobs {
            NonZeroUsize::MIN => (self.clone(), None),
            _ => (registry, Some(self.begin("verifying", "granules", None))),
        };
        let left_out = (!datasets.is_empty()).then(|| match self.store().is_file() {
            true => "the identifiers of the other datasets",
            false => "the other datasets, and payment ids",
        });
        let mut verified = Verified { left_out, ..Verified::default() };
        let mut is_file = true;
        let show = |verification: Result<Verification>| {
            let verification = verification?;
            verified.add(&verification);
            if std::mem::take(&mut is_file) && verification.ok {
                return Ok(());
            }
            show(verification)
        };
        let parts = std::iter::once(Part::File).chain(datasets.iter().cloned().map(Part::Dataset));
        let rest = datasets.is_empty().then(|| self.names()).into_iter().flatten();
        let parts = parts.map(Ok).chain(rest).map(|part| part.map_err(E::from));
        let size = |verification: &Result<Verification>| {
            verification.as_ref().map_or(0, |verification| verification.mismatches.len())
        };
        // What one query about all machines cannot answer is asked of each dataset.
        let is_split = AtomicBool::new(false);
        let work = |part| registry.verify_part(part, &keys, &is_split);
        in_order(jobs, stop, parts, work, (size, Verification::MAX_MISMATCHES), show)?;
        Ok(verified)
    }

    fn verify_part(
        &self,
        part: Part,
        keys: &[DatasetKey],
        is_split: &AtomicBool,
    ) -> Result<Verification> {
        let dataset = match part {
            Part::Finding(verification) => return Ok(verification),
            Part::File => None,
            Part::Dataset(dataset) => Some(dataset),
        };
        let verified = match &dataset {
            None => self.verify_file(keys),
            Some(dataset) if is_split.load(Ordering::Relaxed) => {
                let rows = || self.verify_file(&self.keys_of(std::slice::from_ref(dataset))?);
                self.verify(dataset).and_then(|verified| Ok(verified.and(rows()?)))
            }
            Some(dataset) => self.verify(dataset),
        };
        match verified {
            Err(error) if error.is_of_lost_connection() => {
                is_split.fetch_or(dataset.is_none(), Ordering::Relaxed);
                let mut findings = Findings::default();
                findings.add_unreachable(&error);
                Ok(Verification::new(dataset, 0, findings, VerifyWork::default()))
            }
            verified => verified,
        }
    }

    /// The keys of the datasets, none of which may be unknown.
    fn keys_of(&self, datasets: &[DatasetName]) -> Result<Vec<DatasetKey>> {
        let keys = || {
            let read = self.read()?;
            let key = |name| {
                // A record that cannot be read is a finding, not a reason to stop.
                match read.dataset_key(name)? {
                    Some(key) => Ok(key),
                    None => Ok(dataset_of(&read, name)?.0),
                }
            };
            datasets.iter().map(key).collect::<Result<_>>()
        };
        keys().map_err(|error| self.named(error))
    }

    /// Every dataset, by name. If the names cannot be read, the last part is a finding.
    fn names(&self) -> impl Iterator<Item = Result<Part>> {
        let mut after = Some(String::new());
        let mut page = Vec::<String>::new().into_iter();
        std::iter::from_fn(move || {
            loop {
                if let Some(name) = page.next() {
                    return Some(Ok(part_of(&name)));
                }
                let last = after.take()?;
                let read = || Ok(self.read()?.dataset_names_after(&last, PAGE_NAMES)?);
                let names = match readable(read()).map_err(|error: Error| self.named(error)) {
                    Ok(Ok(names)) => names,
                    Ok(Err(error)) => {
                        let mut findings = Findings::default();
                        findings.add_unreadable("the list of datasets cannot be read", &error);
                        return Some(Ok(Part::Finding(not_of_a_dataset(findings))));
                    }
                    Err(error) => return Some(Err(error)),
                };
                after = names.last().cloned();
                page = names.into_iter();
            }
        })
    }
}

/// A part of what [`Registry::verify_all`] verifies.
enum Part {
    File,
    Dataset(DatasetName),
    /// Something that was found before.
    Finding(Verification),
}

fn part_of(name: &str) -> Part {
    match DatasetName::from_stored(name) {
        Ok(dataset) => Part::Dataset(dataset),
        Err(_) => Part::Finding(of_impossible_name(name)),
    }
}

fn not_of_a_dataset(findings: Findings) -> Verification {
    Verification::new(None, 0, findings, VerifyWork::default())
}

fn of_impossible_name(name: &str) -> Verification {
    let mut findings = Findings::default();
    let text =
        format!("a dataset has the name {}, which is not a valid dataset name", quoted(name));
    findings.add(Code::File, None, None, text);
    not_of_a_dataset(findings)
}

/// For [`Registry::verify_all`]: stops at the first thing that does not agree.
///
/// # Errors
///
/// [`Error::Store`] of kind `damaged`.
pub(in crate::registry) fn refuse_mismatch(verification: Verification) -> Result<()> {
    let Some(finding) = verification.mismatches.into_iter().next() else { return Ok(()) };
    let Finding { timestamp, granule, text, .. } = finding;
    let dataset = verification.dataset.map(|dataset| dataset.to_string());
    let at = timestamp.map(|timestamp| format!("at {timestamp}"));
    let granule = granule.map(|granule| quoted(&granule).to_string());
    let place: Vec<String> = [dataset, at, granule].into_iter().flatten().collect();
    Err(Error::damaged(match place.is_empty() {
        true => text,
        false => format!("{}: {text}", place.join(" ")),
    }))
}
