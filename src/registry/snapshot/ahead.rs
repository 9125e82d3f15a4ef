//! Reads a long list ahead, on a thread of its own.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;
use std::vec;

/// How many batches may be read ahead.
const BATCHES_AHEAD: usize = 2;

/// The items of an iterator, which a thread reads ahead from the second batch on: two lists that are
/// compared are read at the same time. A short list starts no thread.
///
/// When it is dropped, the thread is waited for, which reads at most one more batch: nothing of the
/// registry remains in use.
pub(crate) struct Ahead<Item> {
    batch: vec::IntoIter<Item>,
    rest: Rest<Item>,
}

enum Rest<Item> {
    /// Nothing has been read, and this many items are a batch.
    Unread(Box<dyn Iterator<Item = Item> + Send>, usize),
    /// The first batch has been read.
    Begun(Box<dyn Iterator<Item = Item> + Send>, usize),
    /// The thread reads.
    Thread(Receiver<Vec<Item>>, JoinHandle<()>),
    /// All batches have been read.
    Over,
}

impl<Item: Send + 'static> Ahead<Item> {
    /// The items of a list. The thread hands them over in batches of this many.
    pub fn of(list: impl Iterator<Item = Item> + Send + 'static, batch: usize) -> Self {
        Ahead { batch: Vec::new().into_iter(), rest: Rest::Unread(Box::new(list), batch) }
    }

    /// The next batch, which is empty only at the end.
    fn next_batch(&mut self) -> Vec<Item> {
        match std::mem::replace(&mut self.rest, Rest::Over) {
            Rest::Unread(mut list, size) => {
                let first: Vec<Item> = list.by_ref().take(size).collect();
                if first.len() == size {
                    self.rest = Rest::Begun(list, size);
                }
                first
            }
            Rest::Begun(list, size) => {
                self.rest = spawn(list, size);
                self.next_batch()
            }
            Rest::Thread(batches, thread) => match batches.recv() {
                Ok(batch) => {
                    self.rest = Rest::Thread(batches, thread);
                    batch
                }
                Err(_) => {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    Vec::new()
                }
            },
            Rest::Over => Vec::new(),
        }
    }
}

fn spawn<Item: Send + 'static>(
    mut list: Box<dyn Iterator<Item = Item> + Send>,
    size: usize,
) -> Rest<Item> {
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
    Rest::Thread(batches, thread)
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
        if let Rest::Thread(batches, thread) = std::mem::replace(&mut self.rest, Rest::Over) {
            drop(batches);
            // A panic after the consumer dropped the list is ignored.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

    use super::*;

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
