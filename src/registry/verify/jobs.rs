//! Runs jobs on several threads, and returns their results in order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::error::Result;

/// The greatest number of threads: each needs a database connection with a page cache of 2 MB, and
/// all caches together must fit into the 64 MiB that SQLite may use.
const MOST_THREADS: usize = 16;

/// How many results may wait for an earlier one.
const RESULTS_AHEAD: usize = 256;

/// What is done with each job.
pub(super) trait Work: Send + Sync + 'static {
    type Job: Send + 'static;
    type Done: Send + 'static;

    fn work(&self, job: Self::Job) -> Self::Done;

    /// The memory that a result needs, in any unit: no further job begins while the results that wait
    /// need more than [`Work::MOST`].
    fn size(done: &Self::Done) -> usize;

    const MOST: usize;
}

/// The results of jobs, in the order of the jobs. With one thread, each job is done when its result is
/// wanted; else several are done side by side.
///
/// `Jobs` may fail: then its error is returned in place of a result. When this is dropped, `Stop` is
/// dropped, and jobs that are being worked on are waited for.
pub(super) struct InOrder<W: Work, Jobs, Stop> {
    work: Arc<W>,
    jobs: Jobs,
    /// `None` means that the jobs are done on the calling thread.
    threads: Option<Threads<W>>,
    stop: Option<Stop>,
}

struct Threads<W: Work> {
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

impl<W: Work, Jobs: Iterator<Item = Result<W::Job>>, Stop> InOrder<W, Jobs, Stop> {
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

impl<W: Work, Jobs: Iterator<Item = Result<W::Job>>, Stop> Iterator for InOrder<W, Jobs, Stop> {
    type Item = Result<W::Done>;

    fn next(&mut self) -> Option<Result<W::Done>> {
        match &mut self.threads {
            None => Some(self.jobs.next()?.map(|job| self.work.work(job))),
            Some(threads) => threads.next(&mut self.jobs).transpose(),
        }
    }
}

impl<W: Work, Jobs, Stop> Drop for InOrder<W, Jobs, Stop> {
    fn drop(&mut self) {
        self.stop = None;
        let Some(threads) = &mut self.threads else { return };
        threads.to_do = None;
        // A panic belongs to a result that nobody wants any more.
        threads.handles.drain(..).for_each(|handle| drop(handle.join()));
    }
}

impl<W: Work> Threads<W> {
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
    use crate::error::Error;

    /// Counts how often work was stopped.
    struct Stop(Arc<AtomicUsize>);

    impl Drop for Stop {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Calls a function with a number, and counts the calls.
    struct Calls<F>(F, Arc<AtomicUsize>);

    impl<F: Fn(u64) + Send + Sync + 'static> Work for Calls<F> {
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
