//! Verifies several datasets or all of them, and the file once, on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::finding::{
    Code, Finding, Findings, Verification, VerifyWork, readable, refuse_mismatch,
};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, quoted};
use crate::registry::handle::Registry;
use crate::registry::monitor::{JointWork, Work};
use crate::registry::snapshot::dataset_of;
use crate::store::DatasetKey;

/// The number of dataset names in a page.
const PAGE_NAMES: u32 = 1_024;

/// The totals of [`Verifications`].
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

/// What was verified: the file, if there are findings about it, and then each dataset, in order.
///
/// Damage in one dataset does not prevent the verification of others, nor does a machine of a cluster
/// that cannot be reached. No lock is held between two of them. When it is dropped, the threads are
/// stopped and waited for.
pub struct Verifications {
    jobs: InOrder<Worker, Parts, JointWork>,
    verified: Verified,
    /// Whether the next one is that of the file.
    is_file: bool,
    /// The work of several threads is reported as one. `None` means that it is done, or that there is
    /// one thread.
    progress: Option<Work>,
    is_over: bool,
}

impl Verifications {
    /// The totals of what was verified so far; those of everything once the iterator has ended.
    pub fn verified(&self) -> Verified {
        self.verified
    }

    /// Verifies what is left, and returns the totals.
    ///
    /// # Errors
    ///
    /// Those of the iterator.
    pub fn finish(mut self) -> Result<Verified> {
        self.by_ref().try_for_each(|verification| verification.map(drop))?;
        Ok(self.verified)
    }

    /// The same, but what does not agree is an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged).
    pub(in crate::registry) fn refuse_mismatches(mut self) -> Result<Verified> {
        self.by_ref().try_for_each(|verification| refuse_mismatch(verification?))?;
        Ok(self.verified)
    }
}

impl Iterator for Verifications {
    type Item = Result<Verification>;

    fn next(&mut self) -> Option<Result<Verification>> {
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
    /// The same as [`Registry::verify_all_on`] with as many jobs as there are cores.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::verify_all_on`].
    pub fn verify_all(&self, datasets: &[DatasetName]) -> Result<Verifications> {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.verify_all_on(cores, datasets)
    }

    /// Checks the file once, and verifies these datasets, or all of them if none is named. On a server
    /// only the rows of the datasets that are named are checked in place of the file.
    ///
    /// The file and the datasets are checked side by side, up to `jobs` of them at a time, but at
    /// most 16; each dataset also has a thread that hashes. With one job, and in a registry that has
    /// only one connection, such as [`Registry::in_memory`], or on a database server, they are checked
    /// one after the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown), before anything is verified; from the iterator, an error of the store: the
    /// registry was replaced, or cannot be opened. Damage is not an error.
    pub fn verify_all_on(
        &self,
        jobs: NonZeroUsize,
        datasets: &[DatasetName],
    ) -> Result<Verifications> {
        let keys = self.keys_of(datasets)?;
        let jobs = if self.has_many_connections() { jobs } else { NonZeroUsize::MIN };
        let (registry, stop) = self.with_joint_monitor();
        let (registry, progress) = match jobs {
            NonZeroUsize::MIN => (self.clone(), None),
            _ => (registry, Some(self.begin("verifying", "granules", None))),
        };
        let left_out = (!datasets.is_empty()).then(|| match self.store().is_file() {
            true => "the identifiers of the other datasets",
            false => "the other datasets, and payment ids",
        });
        let all = datasets.is_empty().then(|| Names::of(registry.clone())).into_iter().flatten();
        let datasets: Vec<Part> = datasets.iter().cloned().map(Part::Dataset).collect();
        let parts: Parts = Box::new(std::iter::once(Part::File).chain(datasets).map(Ok).chain(all));
        let worker = Worker { registry, keys };
        Ok(Verifications {
            jobs: InOrder::new(jobs, worker, parts, stop),
            verified: Verified { left_out, ..Verified::default() },
            is_file: true,
            progress,
            is_over: false,
        })
    }

    /// The keys of the datasets, none of which may be unknown.
    fn keys_of(&self, datasets: &[DatasetName]) -> Result<Vec<DatasetKey>> {
        let keys = || {
            let read = self.read()?;
            let key = |name| Ok(dataset_of(&read, name)?.0);
            datasets.iter().map(key).collect::<Result<_>>()
        };
        keys().map_err(|error| self.named(error))
    }

    /// Makes SQLite check the pages and indexes of the file, the second copies of data that cannot
    /// be recomputed, and that every row refers to rows that exist. Returns the findings, which are
    /// empty if the file is sound. Costs one pass over the file.
    ///
    /// # Errors
    ///
    /// An error of the store: the registry was replaced, or cannot be opened. Damage is not an error.
    pub fn check_file(&self) -> Result<Vec<Finding>> {
        Ok(self.verify_file(&[])?.mismatches)
    }

    /// The same for these datasets, if the registry is on a server and any is given.
    fn verify_file(&self, datasets: &[DatasetKey]) -> Result<Verification> {
        let progress = self.begin("checking", "pages", None);
        let check = || self.read()?.integrity(datasets);
        let found = readable(check()).map_err(|error: Error| self.named(error))?;
        drop(progress);
        let mut findings = Findings::default();
        match found {
            Ok(found) => {
                found.into_iter().for_each(|text| findings.add(Code::File, None, None, || text));
            }
            Err(error) => findings.add_unreadable("the file cannot be checked", &error),
        }
        let work = VerifyWork { file_checks: 1, ..VerifyWork::default() };
        Ok(Verification::new(None, 0, findings, work))
    }
}

/// Verifies one part after another.
struct Worker {
    registry: Registry,
    /// The datasets that were named.
    keys: Vec<DatasetKey>,
}

impl Task for Worker {
    type Job = Part;
    type Done = Result<Verification>;

    fn work(&self, part: Part) -> Result<Verification> {
        let registry = &self.registry;
        let dataset = match part {
            Part::Finding(verification) => return Ok(verification),
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
                Ok(Verification::new(dataset, 0, findings, VerifyWork::default()))
            }
            verified => verified,
        }
    }

    fn size(verified: &Result<Verification>) -> usize {
        verified.as_ref().map_or(0, |verification| verification.mismatches.len())
    }

    const MOST: usize = Verification::MAX_MISMATCHES;
}

type Parts = Box<dyn Iterator<Item = Result<Part>> + Send>;

/// Every dataset, by name. If the names cannot be read, the last part is a finding.
struct Names {
    registry: Registry,
    /// The last name of the page. `None` means that there are no further pages.
    after: Option<String>,
    page: std::vec::IntoIter<String>,
}

impl Names {
    fn of(registry: Registry) -> Self {
        Names { registry, after: Some(String::new()), page: Vec::new().into_iter() }
    }
}

impl Iterator for Names {
    type Item = Result<Part>;

    fn next(&mut self) -> Option<Result<Part>> {
        loop {
            if let Some(name) = self.page.next() {
                return Some(Ok(part_of(&name)));
            }
            let last = self.after.take()?;
            let read = || self.registry.read()?.dataset_names_after(&last, PAGE_NAMES);
            let names = readable(read()).map_err(|error: Error| self.registry.named(error));
            let names = match names {
                Ok(Ok(names)) => names,
                Ok(Err(error)) => {
                    let mut findings = Findings::default();
                    findings.add_unreadable("the list of datasets cannot be read", &error);
                    return Some(Ok(Part::Finding(not_of_a_dataset(findings))));
                }
                Err(error) => return Some(Err(error)),
            };
            self.after = names.last().cloned();
            self.page = names.into_iter();
        }
    }
}

/// A part of what is verified.
enum Part {
    File,
    Dataset(DatasetName),
    /// Something that was found before.
    Finding(Verification),
}

fn part_of(name: &str) -> Part {
    match name.parse() {
        Ok(dataset) => Part::Dataset(dataset),
        Err(_) => Part::Finding(of_impossible_name(name)),
    }
}

fn not_of_a_dataset(findings: Findings) -> Verification {
    Verification::new(None, 0, findings, VerifyWork::default())
}

fn of_impossible_name(name: &str) -> Verification {
    let mut findings = Findings::default();
    findings.add(Code::File, None, None, || {
        format!("a dataset has the name {}, which is not a valid dataset name", quoted(name))
    });
    not_of_a_dataset(findings)
}

/// The greatest number of threads: each needs a database connection with a page cache of 2 MB, and
/// all caches together must fit into the 64 MiB that SQLite may use.
const MOST_THREADS: usize = 16;

/// How many results may wait for an earlier one.
const RESULTS_AHEAD: usize = 256;

/// What is done with each job.
pub(super) trait Task: Send + Sync + 'static {
    type Job: Send + 'static;
    type Done: Send + 'static;

    fn work(&self, job: Self::Job) -> Self::Done;

    /// The memory that a result needs, in any unit: no further job begins while the results that wait
    /// need more than [`Task::MOST`].
    fn size(done: &Self::Done) -> usize;

    const MOST: usize;
}

/// The results of jobs, in the order of the jobs. With one thread, each job is done when its result is
/// wanted; else several are done side by side.
///
/// `Jobs` may fail: then its error is returned in place of a result. When this is dropped, `Stop` is
/// dropped, and jobs that are being worked on are waited for.
pub(super) struct InOrder<W: Task, Jobs, Stop> {
    work: Arc<W>,
    jobs: Jobs,
    /// `None` means that the jobs are done on the calling thread.
    threads: Option<Threads<W>>,
    stop: Option<Stop>,
}

struct Threads<W: Task> {
    /// `None` once the threads are to end.
    to_do: Option<Sender<(usize, W::Job)>>,
    results: Receiver<(usize, std::thread::Result<W::Done>)>,
    handles: Vec<JoinHandle<()>>,
    /// How many jobs were handed over, and how many results were returned.
    sent: usize,
    returned: usize,
    are_all_sent: bool,
    /// The results that wait for an earlier one, and their size.
    ready: BTreeMap<usize, W::Done>,
    ready_size: usize,
}

impl<W: Task, Jobs: Iterator<Item = Result<W::Job>>, Stop> InOrder<W, Jobs, Stop> {
    /// Begins jobs on at most so many threads.
    pub fn new(threads: NonZeroUsize, work: W, jobs: Jobs, stop: Stop) -> Self {
        let work = Arc::new(work);
        let threads = match threads {
            NonZeroUsize::MIN => None,
            threads => Some(Threads::spawn(threads.get().min(MOST_THREADS), &work)),
        };
        InOrder { work, jobs, threads, stop: Some(stop) }
    }
}

impl<W: Task, Jobs: Iterator<Item = Result<W::Job>>, Stop> Iterator for InOrder<W, Jobs, Stop> {
    type Item = Result<W::Done>;

    fn next(&mut self) -> Option<Result<W::Done>> {
        match &mut self.threads {
            None => Some(self.jobs.next()?.map(|job| self.work.work(job))),
            Some(threads) => threads.next(&mut self.jobs).transpose(),
        }
    }
}

impl<W: Task, Jobs, Stop> Drop for InOrder<W, Jobs, Stop> {
    fn drop(&mut self) {
        self.stop = None;
        let Some(threads) = &mut self.threads else { return };
        threads.to_do = None;
        // A panic belongs to a result that nobody wants any more.
        threads.handles.drain(..).for_each(|handle| drop(handle.join()));
    }
}

impl<W: Task> Threads<W> {
    fn spawn(threads: usize, work: &Arc<W>) -> Self {
        let (to_do, waiting) = channel::<(usize, W::Job)>();
        let waiting = Arc::new(Mutex::new(waiting));
        let (done, results) = channel();
        let spawn = |_| {
            let (waiting, work, done) = (Arc::clone(&waiting), Arc::clone(work), done.clone());
            std::thread::spawn(move || {
                while let Some((number, job)) = next(&waiting) {
                    // A panic is passed on: otherwise the calling thread would wait for ever.
                    let result = catch_unwind(AssertUnwindSafe(|| work.work(job)));
                    if done.send((number, result)).is_err() {
                        break;
                    }
                }
            })
        };
        Threads {
            to_do: Some(to_do),
            results,
            handles: (0..threads).map(spawn).collect(),
            sent: 0,
            returned: 0,
            are_all_sent: false,
            ready: BTreeMap::new(),
            ready_size: 0,
        }
    }

    /// The result of the next job. `None` after the last one.
    fn next(&mut self, jobs: &mut impl Iterator<Item = Result<W::Job>>) -> Result<Option<W::Done>> {
        loop {
            while !self.are_all_sent
                && self.sent - self.returned < RESULTS_AHEAD
                && self.ready_size <= W::MOST
            {
                match (jobs.next().transpose()?, &self.to_do) {
                    (Some(job), Some(to_do)) => {
                        to_do.send((self.sent, job)).expect("the threads wait for jobs");
                        self.sent += 1;
                    }
                    _ => self.are_all_sent = true,
                }
            }
            if let Some(done) = self.ready.remove(&self.returned) {
                self.returned += 1;
                self.ready_size -= W::size(&done);
                return Ok(Some(done));
            }
            if self.returned == self.sent {
                return Ok(None);
            }
            let (number, done) = self.results.recv().expect("each job has a result");
            let done = done.unwrap_or_else(|panic| resume_unwind(panic));
            self.ready_size += W::size(&done);
            self.ready.insert(number, done);
        }
    }
}

fn next<Job>(waiting: &Mutex<Receiver<(usize, Job)>>) -> Option<(usize, Job)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often work was stopped.
    struct Stop(Arc<AtomicUsize>);

    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Calls a function with a number, and counts the calls.
    struct Calls<F>(F, Arc<AtomicUsize>);

    impl<F: Fn(u64) + Send + Sync + 'static> Task for Calls<F> {
        type Job = u64;
        type Done = u64;

        fn work(&self, job: u64) -> u64 {
            self.1.fetch_add(1, Ordering::SeqCst);
            (self.0)(job);
            job
        }

        fn size(_: &u64) -> usize {
            1
        }

        const MOST: usize = 7;
    }

    fn threads(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs_whatever_the_number_of_threads() {
        for number in [1, 2, 3, 64] {
            // Later jobs of each ten are faster.
            let work = |job: u64| {
                std::hint::black_box((0..(10 - job % 10) * 1_000).sum::<u64>());
            };
            let work = Calls(work, Arc::default());
            let done = InOrder::new(threads(number), work, (0..3_000).map(Ok), ());
            assert!(done.map(Result::unwrap).eq(0..3_000), "{number}");
        }
    }

    #[test]
    fn no_further_job_begins_after_an_error_or_when_no_result_is_wanted() {
        for number in [1, 2, 8] {
            let (stops, begun) = (Arc::default(), Arc::<AtomicUsize>::default());
            let stop = Stop(Arc::clone(&stops));
            let work = Calls(|_| (), Arc::clone(&begun));
            let mut done = InOrder::new(threads(number), work, (0..).map(Ok), stop);
            assert!(done.by_ref().take(5).map(Result::unwrap).eq(0..5));
            drop(done);
            assert_eq!(stops.load(Ordering::SeqCst), 1);
            assert!(begun.load(Ordering::SeqCst) <= 6 + RESULTS_AHEAD);
            let fail = |job| if job == 5 { Err(Error::interrupted()) } else { Ok(job) };
            let work = Calls(|_| (), Arc::default());
            let mut done = InOrder::new(threads(number), work, (0..9).map(fail), ());
            assert!(
                done.any(|done| done.is_err_and(|error| error.kind().as_str() == "interrupted"))
            );
        }
    }

    #[test]
    fn a_panic_in_a_job_is_passed_on() {
        let work = Calls(|job| assert!(job != 5, "the fifth"), Arc::default());
        let run = || InOrder::new(threads(3), work, (0..9).map(Ok), ()).count();
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
