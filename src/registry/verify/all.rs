//! Verifies several datasets or all of them, and the file once, on several threads.

use std::num::NonZeroUsize;

use super::finding::{
    DatasetVerification, Finding, FindingKind, Findings, readable, refuse_mismatch,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetFilter, DatasetName, quoted};
use crate::registry::cancel::CancelToken;
use crate::registry::handle::Registry;
use crate::registry::observer::{OpenWork, Work};
use crate::registry::parallel::{InOrder, Task};
use crate::registry::snapshot::{Reads, dataset_of};
use crate::registry::statements::check_statements;
use crate::registry::work_counts::WorkCounts;
use crate::store::{DatasetKey, paged};

/// The greatest number of threads. Each needs a database connection with a page cache of 2 MB, and all caches
/// together must fit into the 64 MiB that SQLite may use.
const MOST_THREADS: usize = 16;

/// The totals of [`Verifications`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerificationTotals {
    /// The number of datasets that were verified.
    pub datasets: u64,
    /// The number of identifiers that were recomputed.
    pub identifiers: u64,
    /// The number of findings, including those about the file. 0 means that everything agrees.
    pub findings: u64,
    /// The number of datasets that could not be verified, because a machine of a cluster cannot be reached.
    pub unreachable: u64,
    /// What was not verified, because only some datasets were selected. `None` means that everything was
    /// verified.
    pub left_out: Option<&'static str>,
    /// The work that it took.
    pub work: WorkCounts,
}

impl VerificationTotals {
    fn add(&mut self, verification: &DatasetVerification) {
        self.datasets += u64::from(verification.dataset.is_some());
        self.identifiers += verification.identifiers;
        let unreachable = verification.is_incomplete();
        self.findings += verification.mismatches.len() as u64 - u64::from(unreachable);
        self.unreachable += u64::from(unreachable && verification.dataset.is_some());
        self.work += verification.work;
    }
}

/// The results of a verification: that of the file, if there are findings about it, and then that of each
/// dataset, in order.
///
/// Damage in one dataset does not prevent the verification of others, nor does an unreachable machine of a
/// cluster. No lock is held between two results. Dropping it stops the threads and waits for them.
pub struct Verifications {
    jobs: InOrder<Worker, Parts>,
    verified: VerificationTotals,
    /// Whether the next result is that of the file.
    is_file: bool,
    /// The work of several threads is reported as one. `None` means that it is done, or that there is only one
    /// thread.
    progress: Option<OpenWork>,
    is_over: bool,
}

crate::model::debug_fields!(Verifications: verified);

impl Verifications {
    /// The totals so far. Once the iterator has ended, they are complete.
    pub fn verified(&self) -> VerificationTotals {
        self.verified
    }

    /// Verifies the rest, and returns the totals.
    pub fn finish(mut self) -> Result<VerificationTotals> {
        self.by_ref().try_for_each(|verification| verification.map(drop))?;
        Ok(self.verified)
    }

    /// The same, but a finding is an error.
    pub(in crate::registry) fn refuse_mismatches(mut self) -> Result<VerificationTotals> {
        self.by_ref().try_for_each(|verification| refuse_mismatch(verification?))?;
        Ok(self.verified)
    }
}

impl Iterator for Verifications {
    type Item = Result<DatasetVerification>;

    fn next(&mut self) -> Option<Result<DatasetVerification>> {
        while !self.is_over {
            let next = self.jobs.next().map(Result::flatten);
            self.is_over = !matches!(next, Some(Ok(_)));
            if self.is_over {
                self.progress = None;
            }
            let verification = match next? {
                Ok(verification) => verification,
                Err(error) => return Some(Err(error)),
            };
            self.verified.add(&verification);
            if !std::mem::take(&mut self.is_file) || !verification.ok {
                return Some(Ok(verification));
            }
        }
        None
    }
}

impl Registry {
    /// Like [`Registry::verify_all_on`], with as many jobs as there are cores.
    pub fn verify_all(&self, filter: &DatasetFilter) -> Result<Verifications> {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.verify_all_on(cores, filter)
    }

    /// Checks the file once, and verifies the datasets of the filter. On a server, if datasets are named, only
    /// their rows are checked instead of the file. If the filter names no dataset, nothing is checked.
    ///
    /// The file and the datasets are checked in parallel, up to `jobs` of them at a time, but at most 16. Each
    /// dataset also has a thread that hashes. They are checked one after the other with one job, in a registry
    /// that does not exist yet, and on a database server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown), before anything is verified. From the
    /// iterator, an error of the store: the registry was replaced, or cannot be opened. Damage is not an error.
    pub fn verify_all_on(
        &self,
        jobs: NonZeroUsize,
        filter: &DatasetFilter,
    ) -> Result<Verifications> {
        let keys = self.keys_of(filter)?;
        let jobs = if self.has_many_connections() { jobs } else { NonZeroUsize::MIN };
        let stop = CancelToken::new();
        let registry = self.for_parts().cancelled_by(&stop);
        let (registry, progress) = match jobs {
            NonZeroUsize::MIN => (self.clone(), None),
            _ => (registry, Some(self.begin(Work::Verify, None))),
        };
        let left_out = (*filter != DatasetFilter::All).then(|| match self.location().is_file() {
            true => "the identifiers of the other datasets",
            false => "the other datasets, payment ids and statements",
        });
        let file = std::iter::once(Ok(Part::File));
        let parts: Parts = match filter {
            DatasetFilter::All => Box::new(file.chain(all_datasets(&registry))),
            DatasetFilter::Only(names) if names.is_empty() => Box::new(std::iter::empty()),
            DatasetFilter::Only(names) => {
                Box::new(file.chain(names.clone().into_iter().map(Part::Dataset).map(Ok)))
            }
        };
        let threads = if jobs == NonZeroUsize::MIN { 0 } else { jobs.get().min(MOST_THREADS) };
        Ok(Verifications {
            jobs: InOrder::of(threads, Worker { registry, keys, stop }, parts)?,
            verified: VerificationTotals { left_out, ..VerificationTotals::default() },
            is_file: true,
            progress,
            is_over: false,
        })
    }

    /// The keys of the named datasets, all of which must exist.
    fn keys_of(&self, filter: &DatasetFilter) -> Result<Vec<DatasetKey>> {
        let DatasetFilter::Only(names) = filter else { return Ok(Vec::new()) };
        self.ask(|read| names.iter().map(|name| Ok(dataset_of(read, name)?.0)).collect())
    }

    /// Checks the file: SQLite checks its pages and indexes, rows that cannot be recomputed are compared with
    /// their checksums, and every row must refer to rows that exist. Returns the findings, which are empty if
    /// the file is sound. Costs one pass over the file.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry was replaced, or cannot be opened. Damage is not an error.
    pub fn check_file(&self) -> Result<Vec<Finding>> {
        Ok(self.verify_file(&[])?.mismatches)
    }

    /// The same for the rows of these datasets, if the registry is on a server and there are any.
    fn verify_file(&self, datasets: &[DatasetKey]) -> Result<DatasetVerification> {
        let datasets = if self.location().is_file() { &[] } else { datasets };
        let progress = self.begin(Work::CheckPages, None);
        let check = || {
            let read = self.read()?;
            let mut found = read.integrity(datasets)?;
            if datasets.is_empty() {
                found.extend(check_statements(&read)?);
            }
            Ok(found)
        };
        let found = readable(check()).map_err(|error: Error| self.named(error))?;
        drop(progress);
        let mut findings = Findings::default();
        match found {
            Ok(found) => {
                found
                    .into_iter()
                    .for_each(|text| findings.add(FindingKind::File, None, None, || text));
            }
            Err(error) => findings.add_unreadable("the file cannot be checked", &error),
        }
        let work = WorkCounts { file_checks: 1, ..WorkCounts::default() };
        Ok(DatasetVerification::new(None, 0, findings, work))
    }
}

/// Verifies one part after the other.
struct Worker {
    registry: Registry,
    /// The named datasets. Empty if all are verified.
    keys: Vec<DatasetKey>,
    stop: CancelToken,
}

impl Task for Worker {
    type Job = Part;
    type Done = Result<DatasetVerification>;

    const WINDOW: usize = 256;

    fn work(&self, _: u64, part: Part) -> Result<DatasetVerification> {
        let registry = &self.registry;
        let dataset = match part {
            Part::Found(findings) => {
                return Ok(DatasetVerification::new(None, 0, findings, WorkCounts::default()));
            }
            Part::File => None,
            Part::Dataset(dataset) => Some(dataset),
        };
        let verified = match &dataset {
            None => registry.verify_file(&self.keys),
            Some(dataset) => registry.verify(dataset),
        };
        match verified {
            Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                let mut findings = Findings::default();
                findings.add_unreachable(&error);
                Ok(DatasetVerification::new(dataset, 0, findings, WorkCounts::default()))
            }
            verified => verified,
        }
    }

    fn stop(&self) {
        self.stop.cancel();
    }
}

type Parts = Box<dyn Iterator<Item = Result<Part>> + Send>;

/// Every dataset, by name. If the names cannot be read, the last part is a finding.
fn all_datasets(registry: &Registry) -> impl Iterator<Item = Result<Part>> + use<> {
    let (registry, failed) = (registry.clone(), registry.clone());
    let page = move |after: &String, limit| registry.read()?.dataset_names_after(after, limit);
    paged(String::new(), page, String::clone).map(move |name| {
        let mut findings = Findings::default();
        match readable(name).map_err(|error| failed.named(error))? {
            Ok(name) => match name.parse() {
                Ok(dataset) => return Ok(Part::Dataset(dataset)),
                Err(_) => findings.add(FindingKind::File, None, None, || {
                    let name = quoted(&name);
                    format!("a dataset has the name {name}, which is not a valid dataset name")
                }),
            },
            Err(error) => findings.add_unreadable("the list of datasets cannot be read", &error),
        }
        Ok(Part::Found(findings))
    })
}

/// A part of the verification.
enum Part {
    File,
    Dataset(DatasetName),
    /// Findings from the list of datasets.
    Found(Findings),
}
