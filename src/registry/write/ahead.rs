//! Reads the events of a large addition ahead, on a thread of its own.
//!
//! Merging the runs of a staging area costs about as much as storing a row, so that both together
//! take less time on two processors.

use std::sync::mpsc::sync_channel;
use std::thread::Scope;

use crate::registry::error::Result;
use crate::registry::staging::Staged;

/// Events that are passed on at once.
const BATCH_EVENTS: usize = 1_024;

/// Batches that may be read ahead.
const BATCHES_AHEAD: usize = 4;

/// The same events, which a thread reads ahead. It ends when the returned iterator is dropped.
pub(super) fn read_ahead<'scope>(
    scope: &'scope Scope<'scope, '_>,
    events: impl Iterator<Item = Result<Staged>> + Send + 'scope,
) -> impl Iterator<Item = Result<Staged>> {
    let (read, batches) = sync_channel::<Vec<Result<Staged>>>(BATCHES_AHEAD);
    scope.spawn(move || {
        let mut events = events.peekable();
        while events.peek().is_some() {
            let batch = events.by_ref().take(BATCH_EVENTS).collect();
            if read.send(batch).is_err() {
                // The reader stopped early.
                break;
            }
        }
    });
    batches.into_iter().flatten()
}
