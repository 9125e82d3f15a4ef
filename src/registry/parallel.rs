//! Work on several threads: jobs whose results are returned in order, and items that are read ahead.
//!
//! A panic on a thread is passed on to the caller that waits for its result. Dropping `InOrder` or `Ahead`
//! stops its threads and waits for them.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, Scope};
use std::time::{Duration, Instant};
use std::vec;

use crate::error::{Error, ErrorKind, Result};

/// What is done with each job.
pub(crate) trait Task: Send + Sync + 'static {
    type Job: Send + 'static;
    type Done: Send + 'static;

    /// The greatest number of jobs that are begun, or wait for a thread, before the first result is returned.
    const WINDOW: usize;

    /// Does a job. The jobs are numbered from 0, and are begun in this order.
    fn work(&self, number: u64, job: Self::Job) -> Self::Done;

    /// Ends the begun jobs as soon as possible: their results are no longer needed.
    fn stop(&self) {}
}

/// The results of jobs, in the order of the jobs. Several jobs are done in parallel.
///
/// If `Jobs` fails, its error is the last item, after the results of the jobs before it.
pub(crate) struct InOrder<T: Task, Jobs> {
    task: Arc<T>,
    /// `None` means that there are no further jobs.
    jobs: Option<Jobs>,
    /// `None` means that each job is done on the calling thread when its result is requested.
    threads: Option<Threads<T>>,
    /// The results of begun jobs that were not returned yet. `None` means that the job is not done.
    begun: VecDeque<Option<Result<T::Done>>>,
    /// The number of results that were returned.
    returned: u64,
}

struct Threads<T: Task> {
    /// `None` tells the threads to end.
    to_do: Option<Sender<(u64, T::Job)>>,
    done: Receiver<Finished<T>>,
    handles: Vec<JoinHandle<()>>,
}

/// The number of a job, and its result.
type Finished<T> = (u64, std::thread::Result<<T as Task>::Done>);

impl<T: Task, Jobs: Iterator<Item = Result<T::Job>>> InOrder<T, Jobs> {
    /// Begins jobs on this number of threads. 0 means on the calling thread, one after the other.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): a thread cannot be started.
    pub fn of(threads: usize, task: T, jobs: Jobs) -> Result<Self> {
        let task = Arc::new(task);
        let threads = (threads > 0).then(|| Threads::spawn(threads, &task)).transpose()?;
        let begun = VecDeque::new();
        Ok(InOrder { task, jobs: Some(jobs), threads, begun, returned: 0 })
    }

    pub fn task(&self) -> &T {
        &self.task
    }

    /// Waits until the next result is ready, at most for a time. Returns whether it is ready. After the last
    /// result, returns `true`.
    pub fn wait(&mut self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        loop {
            self.begin_jobs();
            let (Some(threads), Some(None)) = (&self.threads, self.begun.front()) else {
                return true;
            };
            match threads.done.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(finished) => self.finish(finished),
                Err(_) => return false,
            }
        }
    }

    fn begin_jobs(&mut self) {
        let Some(Threads { to_do: Some(to_do), .. }) = &self.threads else { return };
        while self.begun.len() < T::WINDOW {
            match self.jobs.as_mut().and_then(Iterator::next) {
                Some(Ok(job)) => {
                    let number = self.returned + self.begun.len() as u64;
                    to_do.send((number, job)).expect("the threads wait for jobs");
                    self.begun.push_back(None);
                }
                Some(Err(error)) => {
                    self.begun.push_back(Some(Err(error)));
                    self.jobs = None;
                }
                None => return,
            }
        }
    }

    fn finish(&mut self, (number, done): Finished<T>) {
        let done = done.unwrap_or_else(|panic| resume_unwind(panic));
        let place = usize::try_from(number - self.returned).expect("the job is one of those begun");
        self.begun[place] = Some(Ok(done));
    }
}

impl<T: Task, Jobs: Iterator<Item = Result<T::Job>>> Iterator for InOrder<T, Jobs> {
    type Item = Result<T::Done>;

    fn next(&mut self) -> Option<Result<T::Done>> {
        if self.threads.is_none() {
            let job = self.jobs.as_mut()?.next()?;
            self.returned += 1;
            return Some(job.map(|job| self.task.work(self.returned - 1, job)));
        }
        loop {
            self.begin_jobs();
            if let Some(done) = self.begun.front_mut()?.take() {
                self.begun.pop_front();
                self.returned += 1;
                return Some(done);
            }
            let finished = self.threads.as_ref()?.done.recv().expect("each job has a result");
            self.finish(finished);
        }
    }
}

impl<T: Task, Jobs> Drop for InOrder<T, Jobs> {
    fn drop(&mut self) {
        self.task.stop();
    }
}

impl<T: Task> Threads<T> {
    fn spawn(threads: usize, task: &Arc<T>) -> Result<Self> {
        let (to_do, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (finished, done) = channel();
        let mut spawned = Threads { to_do: Some(to_do), done, handles: Vec::new() };
        for _ in 0..threads {
            let (waiting, task, finished) =
                (Arc::clone(&waiting), Arc::clone(task), finished.clone());
            let work = move || {
                while let Some((number, job)) = next(&waiting) {
                    // A panic is passed on. Otherwise the calling thread would wait forever.
                    let done = catch_unwind(AssertUnwindSafe(|| task.work(number, job)));
                    if finished.send((number, done)).is_err() {
                        break;
                    }
                }
            };
            let cannot =
                |cause| Error::new(ErrorKind::Io, format!("cannot start a thread: {cause}"));
            spawned.handles.push(Builder::new().spawn(work).map_err(cannot)?);
        }
        Ok(spawned)
    }
}

fn next<Job>(waiting: &Mutex<Receiver<Job>>) -> Option<Job> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl<T: Task> Drop for Threads<T> {
    fn drop(&mut self) {
        self.to_do = None;
        // A panic belongs to a result that is no longer needed.
        self.handles.drain(..).for_each(|handle| drop(handle.join()));
    }
}

/// The greatest number of batches that are read ahead.
const BATCHES_AHEAD: usize = 2;

/// The items of an iterator, which a thread reads ahead from the second batch on. So two lists that are
/// compared are read at the same time. A short list starts no thread.
///
/// Dropping it waits for the thread, which reads at most one more batch. Afterwards nothing of the registry is
/// in use.
pub(crate) struct Ahead<Item> {
    batch: vec::IntoIter<Item>,
    rest: Remaining<Item>,
}

enum Remaining<Item> {
    /// No thread reads. The size of a batch, and whether the first batch has been read.
    Here(Box<dyn Iterator<Item = Item> + Send>, usize, bool),
    /// The thread reads.
    Thread(Receiver<Vec<Item>>, JoinHandle<()>),
    /// All batches have been read.
    Over,
}

impl<Item: Send + 'static> Ahead<Item> {
    /// The items of a list, which the thread reads in batches of this size.
    pub fn of(list: impl Iterator<Item = Item> + Send + 'static, batch: usize) -> Self {
        Ahead { batch: Vec::new().into_iter(), rest: Remaining::Here(Box::new(list), batch, false) }
    }

    /// The next batch, which is empty only at the end.
    fn next_batch(&mut self) -> Vec<Item> {
        match std::mem::replace(&mut self.rest, Remaining::Over) {
            Remaining::Here(mut list, size, false) => {
                let first: Vec<Item> = list.by_ref().take(size).collect();
                if first.len() == size {
                    self.rest = Remaining::Here(list, size, true);
                }
                first
            }
            Remaining::Here(list, size, true) => {
                self.rest = spawn(list, size);
                self.next_batch()
            }
            Remaining::Thread(batches, thread) => match batches.recv() {
                Ok(batch) => {
                    self.rest = Remaining::Thread(batches, thread);
                    batch
                }
                Err(_) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    Vec::new()
                }
            },
            Remaining::Over => Vec::new(),
        }
    }
}

fn spawn<Item: Send + 'static>(
    mut list: Box<dyn Iterator<Item = Item> + Send>,
    size: usize,
) -> Remaining<Item> {
    let (read, batches) = sync_channel(BATCHES_AHEAD);
    let thread = std::thread::spawn(move || {
        loop {
            let batch: Vec<Item> = list.by_ref().take(size).collect();
            // An error means that the list was dropped before its end.
            if batch.is_empty() || read.send(batch).is_err() {
                break;
            }
        }
    });
    Remaining::Thread(batches, thread)
}

impl<Item: Send + 'static> Iterator for Ahead<Item> {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        if self.batch.len() == 0 {
            self.batch = self.next_batch().into_iter();
        }
        self.batch.next()
    }
}

impl<Item> Drop for Ahead<Item> {
    fn drop(&mut self) {
        if let Remaining::Thread(batches, thread) =
            std::mem::replace(&mut self.rest, Remaining::Over)
        {
            drop(batches);
            // A panic after the consumer dropped the list is ignored.
            drop(thread.join());
        }
    }
}

/// The items of a list, which a thread of `scope` reads ahead. A panic of the list is passed on when the scope
/// ends.
pub(super) fn ahead_within<'scope, Item: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    list: impl Iterator<Item = Item> + Send + 'scope,
) -> impl Iterator<Item = Item> {
    let (read, items) = sync_channel(BATCHES_AHEAD);
    scope.spawn(move || {
        for item in list {
            // An error means that the items were dropped before the last one.
            if read.send(item).is_err() {
                break;
            }
        }
    });
    items.into_iter()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Calls a function with each job. Counts the jobs, and the calls of `stop`.
    struct Calls<F>(F, [Arc<AtomicUsize>; 2]);

    impl<F: Fn(u64) + Send + Sync + 'static> Task for Calls<F> {
        type Job = u64;
        type Done = u64;

        const WINDOW: usize = 100;

        fn work(&self, number: u64, job: u64) -> u64 {
            assert_eq!(number, job);
            self.1[0].fetch_add(1, Ordering::SeqCst);
            (self.0)(job);
            job
        }

        fn stop(&self) {
            self.1[1].fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_jobs_whatever_the_number_of_threads() {
        for number in [0, 1, 2, 3, 64] {
            // Of each ten jobs, the later ones are faster.
            let work = |job: u64| {
                std::hint::black_box((0..(10 - job % 10) * 1_000).sum::<u64>());
            };
            let work = Calls(work, Default::default());
            let done = InOrder::of(number, work, (0..3_000).map(Ok)).unwrap();
            assert!(done.map(Result::unwrap).eq(0..3_000), "{number}");
        }
    }

    #[test]
    fn no_further_job_begins_after_an_error_or_when_no_result_is_wanted() {
        for number in [0, 1, 2, 8] {
            let counts: [Arc<AtomicUsize>; 2] = Default::default();
            let work = Calls(|_| (), counts.clone());
            let mut done = InOrder::of(number, work, (0..).map(Ok)).unwrap();
            assert!(done.by_ref().take(5).map(Result::unwrap).eq(0..5));
            drop(done);
            let [begun, stopped] = counts.map(|count| count.load(Ordering::SeqCst));
            assert_eq!(stopped, 1);
            assert!(begun <= 5 + 100);
            let fail = |job| if job == 5 { Err(Error::interrupted()) } else { Ok(job) };
            let work = Calls(|_| (), Default::default());
            let mut done = InOrder::of(number, work, (0..9).map(fail)).unwrap();
            assert!(done.by_ref().take(5).map(Result::unwrap).eq(0..5));
            assert_eq!(done.next().unwrap().unwrap_err().kind(), ErrorKind::Interrupted);
        }
    }

    #[test]
    fn a_result_is_waited_for_at_most_for_a_time() {
        let (ask, asked) = channel::<()>();
        let asked = Mutex::new(asked);
        let work = Calls(move |_| asked.lock().unwrap().recv().unwrap(), Default::default());
        let mut done = InOrder::of(2, work, (0..1).map(Ok)).unwrap();
        assert!(!done.wait(Duration::from_millis(1)));
        ask.send(()).unwrap();
        assert!(done.wait(Duration::MAX / 4));
        assert_eq!(done.next().unwrap().unwrap(), 0);
        assert!(done.wait(Duration::ZERO) && done.next().is_none());
    }

    #[test]
    fn a_panic_in_a_job_is_passed_on() {
        let work = Calls(|job| assert!(job != 5, "the fifth"), Default::default());
        let run = || InOrder::of(3, work, (0..9).map(Ok)).unwrap().count();
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    }

    #[test]
    fn the_items_are_those_of_the_list() {
        for length in 0..50 {
            for batch in [1, 2, 7, 49] {
                assert!(Ahead::of(0..length, batch).eq(0..length), "{length} by {batch}");
            }
        }
    }

    #[test]
    fn a_list_that_is_dropped_early_is_in_use_no_more() {
        for read in [0, 1, 3, 4, 9] {
            let in_use = Arc::new(());
            let held = Arc::clone(&in_use);
            let list = (0..).inspect(move |_| assert_eq!(Arc::strong_count(&held), 2));
            let mut ahead = Ahead::of(list, 3);
            assert!(ahead.by_ref().take(read).eq(0..read as u64));
            drop(ahead);
            assert_eq!(Arc::strong_count(&in_use), 1, "{read}");
        }
    }

    #[test]
    fn a_panic_of_the_list_is_passed_on() {
        let list = (0..9).inspect(|number| assert!(*number != 7, "the seventh"));
        let mut ahead = Ahead::of(list, 2);
        assert!(ahead.by_ref().take(6).eq(0..6));
        assert!(catch_unwind(AssertUnwindSafe(|| ahead.next())).is_err());
    }
}
