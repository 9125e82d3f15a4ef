//! Divides sorted events into batches, on a thread of its own if there are many.
//!
//! Merging the runs of a staging area costs about as much as storing a row or writing a line, so
//! that both together take less time on two processors.

use std::iter::Peekable;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::Scope;

use crate::disk::scratch;
use crate::error::{Error, Result};
use crate::model::Event;

/// The number of granules whose stored periods are looked up and stored at once. (On a server, 4,096
/// take a tenth longer.)
const BATCH_GRANULES: usize = 16_384;

/// The number of events from which a thread of their own reads and merges them.
const EVENTS_OF_A_THREAD: u64 = 2 * BATCH_GRANULES as u64;

/// The batches that exist at the same time if a thread fills them.
const BATCHES: usize = 3;

/// Calls `enter` for each batch of `events`. Consecutive events of a granule are in the same batch.
/// `count` is how many events there are.
///
/// # Errors
///
/// Those of `events` and of `enter`.
pub(in crate::registry) fn each_batch<'scope, E: From<Error>>(
    scope: &'scope Scope<'scope, '_>,
    count: u64,
    events: impl Iterator<Item = Result<Event>> + Send + 'scope,
    mut enter: impl FnMut(&mut Vec<Event>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let events = events.peekable();
    if count <= EVENTS_OF_A_THREAD {
        let (mut events, mut batch) = (events, Vec::new());
        while fill(&mut events, &mut batch)? {
            enter(&mut batch)?;
        }
        return Ok(());
    }
    let (empty, to_fill) = channel();
    let (full, to_enter) = sync_channel(BATCHES);
    for _ in 0..BATCHES {
        // The batches go round: the thread that allocated an event frees it, which costs less.
        let _ = empty.send(Vec::new());
    }
    let fill = move || fill_all(events, &to_fill, |filled| full.send(filled).is_ok());
    let thread = std::thread::Builder::new().spawn_scoped(scope, fill);
    thread.map_err(|source| scratch::unusable("read", source))?;
    enter_all(&to_enter, &empty, enter)
}

/// Fills batches until the last event, or until they are no longer wanted.
fn fill_all(
    mut events: Peekable<impl Iterator<Item = Result<Event>>>,
    to_fill: &Receiver<Vec<Event>>,
    pass_on: impl Fn(Result<Vec<Event>>) -> bool,
) {
    for mut batch in to_fill {
        let filled = match fill(&mut events, &mut batch) {
            Ok(true) => Ok(batch),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        let is_last = filled.is_err();
        if !pass_on(filled) || is_last {
            return;
        }
    }
}

fn enter_all<E: From<Error>>(
    to_enter: &Receiver<Result<Vec<Event>>>,
    empty: &Sender<Vec<Event>>,
    mut enter: impl FnMut(&mut Vec<Event>) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for filled in to_enter {
        let mut batch = filled?;
        enter(&mut batch)?;
        // After the last batch, nobody takes it any more.
        let _ = empty.send(batch);
    }
    Ok(())
}

/// Replaces the events of a batch by the next ones. `false` means that there are none.
fn fill(
    events: &mut Peekable<impl Iterator<Item = Result<Event>>>,
    batch: &mut Vec<Event>,
) -> Result<bool> {
    batch.clear();
    let mut granules = 0;
    while let Some(event) = events.next_if(|event| match (event, batch.last()) {
        (Ok(event), Some(last)) if event.granule_id != last.granule_id => granules < BATCH_GRANULES,
        _ => true,
    }) {
        let event = event?;
        if batch.last().is_none_or(|last| last.granule_id != event.granule_id) {
            granules += 1;
        }
        batch.push(event);
    }
    Ok(!batch.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorKind;
    use crate::model::{EventKind, Timestamp};

    fn event((number, second): (usize, i64)) -> Event {
        Event {
            granule_id: format!("{number:06}").parse().unwrap(),
            at: Timestamp::from_micros(second).unwrap(),
            kind: EventKind::Ingested,
            producer_granule: None,
            location: None,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn batches_are_the_events_in_order_and_do_not_divide_a_granule(
            (granules, times) in (0_usize..40_000, 1_i64..4),
            is_many in any::<bool>(),
        ) {
            let events = (0..granules).flat_map(|number| (0..times).map(move |time| (number, time)));
            let expected: Vec<Event> = events.clone().map(event).collect();
            let count = if is_many { u64::MAX } else { 0 };
            let mut batches: Vec<Vec<Event>> = Vec::new();
            std::thread::scope(|scope| {
                each_batch(scope, count, events.map(|it| Ok(event(it))), |batch| -> Result<()> {
                    batches.push(batch.to_vec());
                    Ok(())
                })
            }).unwrap();
            for pair in batches.windows(2) {
                prop_assert!(pair[0].last().unwrap().granule_id < pair[1][0].granule_id);
                prop_assert_eq!(pair[0].len(), BATCH_GRANULES * usize::try_from(times).unwrap());
            }
            prop_assert_eq!(batches.concat(), expected);
        }
    }

    #[test]
    fn an_error_on_either_side_ends_both() {
        let interrupted = || Err(Error::interrupted());
        let endless = || (0..).map(|number| Ok(event((number, 0))));
        let failed = std::thread::scope(|scope| {
            each_batch(scope, u64::MAX, endless(), |_| Err::<(), Error>(Error::interrupted()))
        });
        assert_eq!(failed.unwrap_err().kind(), ErrorKind::Interrupted);
        let mut entered = 0;
        let events = endless().take(BATCH_GRANULES + 1).chain(std::iter::once_with(interrupted));
        let failed = std::thread::scope(|scope| {
            each_batch(scope, u64::MAX, events, |batch| -> Result<()> {
                entered += batch.len();
                Ok(())
            })
        });
        assert_eq!((failed.unwrap_err().kind(), entered), (ErrorKind::Interrupted, BATCH_GRANULES));
    }
}
