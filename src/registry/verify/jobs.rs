//! Runs jobs on several threads, and passes their results on in order.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, PoisonError};

/// The greatest number of threads: each needs a database connection with a page cache of 2 MB, and
/// all caches together must fit into the 64 MiB that SQLite may use.
const MOST_THREADS: usize = 16;

/// How many results may wait for an earlier one.
const RESULTS_AHEAD: usize = 256;

/// Runs `work` on each job, on at most so many threads at a time, and calls `show` on the calling
/// thread with each result, in the order of the jobs. `size` is the memory that a result needs, in
/// any unit: no further job begins while the results that wait need more than `most`.
///
/// # Errors
///
/// The first error of `jobs` or `show`. Then `stop` is dropped, and jobs that are being worked on
/// are waited for.
pub(super) fn in_order<Job: Send, Done: Send, E>(
    threads: NonZeroUsize,
    stop: impl Sized,
    mut jobs: impl Iterator<Item = Result<Job, E>>,
    work: impl Fn(Job) -> Done + Sync,
    (size, most): (impl Fn(&Done) -> usize, usize),
    mut show: impl FnMut(Done) -> Result<(), E>,
) -> Result<(), E> {
    if threads == NonZeroUsize::MIN {
        return jobs.try_for_each(|job| show(work(job?)));
    }
    let (to_do, waiting) = channel::<(usize, Job)>();
    let waiting = Mutex::new(waiting);
    let (waiting, work) = (&waiting, &work);
    std::thread::scope(move |scope| {
        let _stop = stop;
        let (done, results) = channel();
        for _ in 0..threads.get().min(MOST_THREADS) {
            let done = done.clone();
            scope.spawn(move || {
                while let Some((number, job)) = next(waiting) {
                    // A panic is passed on: otherwise the calling thread would wait for ever.
                    let result = catch_unwind(AssertUnwindSafe(|| work(job)));
                    if done.send((number, result)).is_err() {
                        break;
                    }
                }
            });
        }
        let (mut sent, mut shown, mut are_all_sent) = (0, 0, false);
        let (mut ready, mut ready_size) = (BTreeMap::new(), 0);
        loop {
            while !are_all_sent && sent - shown < RESULTS_AHEAD && ready_size <= most {
                match jobs.next() {
                    Some(job) => {
                        to_do.send((sent, job?)).expect("the threads wait for jobs");
                        sent += 1;
                    }
                    None => are_all_sent = true,
                }
            }
            if shown == sent {
                return Ok(());
            }
            let (number, result) = results.recv().expect("each job has a result");
            let result = result.unwrap_or_else(|panic| resume_unwind(panic));
            ready_size += size(&result);
            ready.insert(number, result);
            while let Some(result) = ready.remove(&shown) {
                ready_size -= size(&result);
                shown += 1;
                show(result)?;
            }
        }
    })
}

fn next<Job>(waiting: &Mutex<Receiver<(usize, Job)>>) -> Option<(usize, Job)> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Counts how often work was stopped.
    struct Stop<'a>(&'a AtomicUsize);

    impl Drop for Stop<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    static STOPS: AtomicUsize = AtomicUsize::new(0);

    fn threads(number: usize) -> NonZeroUsize {
        NonZeroUsize::new(number).unwrap()
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs_whatever_the_number_of_threads() {
        for number in [1, 2, 3, 64] {
            let mut shown = Vec::new();
            let jobs = (0..3_000_u64).map(Ok::<_, ()>);
            // Later jobs of each ten are faster.
            let work = |job: u64| {
                std::hint::black_box((0..(10 - job % 10) * 1_000).sum::<u64>());
                job
            };
            let keep = |job| {
                shown.push(job);
                Ok(())
            };
            in_order(threads(number), Stop(&STOPS), jobs, work, (|_| 1, 7), keep).unwrap();
            assert!(shown.iter().copied().eq(0..3_000), "{number}");
        }
    }

    #[test]
    fn an_error_ends_the_work_and_no_further_job_begins() {
        for number in [1, 2, 8] {
            let stops = AtomicUsize::new(0);
            let begun = AtomicUsize::new(0);
            let work = |job: usize| {
                begun.fetch_add(1, Ordering::SeqCst);
                job
            };
            let fail = |job| if job == 5 { Err("full") } else { Ok(()) };
            let jobs = (0..).map(Ok);
            let result = in_order(threads(number), Stop(&stops), jobs, work, (|_| 0, 0), fail);
            assert_eq!((result, stops.load(Ordering::SeqCst)), (Err("full"), 1));
            let jobs = (0..9).map(|job| if job == 5 { Err("unreadable") } else { Ok(job) });
            let result =
                in_order(threads(number), Stop(&STOPS), jobs, work, (|_| 0, 0), |_| Ok(()));
            assert_eq!(result, Err("unreadable"));
            assert!(begun.load(Ordering::SeqCst) <= 6 + 5 + RESULTS_AHEAD);
        }
    }

    #[test]
    fn a_panic_in_a_job_is_passed_on() {
        let jobs = (0..9).map(Ok::<_, ()>);
        let fail = |job: i32| assert!(job != 5, "the fifth");
        let run = || in_order(threads(3), Stop(&STOPS), jobs, fail, (|()| 0, 0), Ok);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }
}
