//! Combines the events of each UTC day into those of one change.

use std::collections::VecDeque;

use crate::error::Result;
use crate::model::{Day, Event, EventKind};

/// Combines events by day, and counts those that are left out or cancel out.
#[derive(Debug)]
pub(super) struct Daily {
    /// The present day, which is not complete.
    today: Day,
    left_out: u64,
    cancelled: u64,
}

impl Daily {
    pub(super) fn new(today: Day) -> Self {
        Daily { today, left_out: 0, cancelled: 0 }
    }

    /// The number of events on a day that is not complete.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// The number of pairs of events that cancel out.
    pub(super) fn cancelled(&self) -> u64 {
        self.cancelled
    }

    /// The events of complete days, each at the last microsecond of its day. The events must be
    /// passed in order of granule and then of time.
    pub(super) fn events<'a>(
        &'a mut self,
        events: impl Iterator<Item = Result<Event>> + 'a,
    ) -> impl Iterator<Item = Result<Event>> + 'a {
        let mut events = events.peekable();
        let mut ready = VecDeque::new();
        std::iter::from_fn(move || {
            while ready.is_empty() {
                let first = match events.next()? {
                    Ok(first) => first,
                    Err(error) => return Some(Err(error)),
                };
                let day = first.at.day();
                let mut of_day = vec![first];
                while let Some(next) = events.next_if(|next| {
                    next.as_ref().is_ok_and(|next| {
                        next.granule_id == of_day[0].granule_id && next.at.day() == day
                    })
                }) {
                    match next {
                        Ok(next) => of_day.push(next),
                        Err(error) => return Some(Err(error)),
                    }
                }
                if day >= self.today {
                    self.left_out += of_day.len() as u64;
                    continue;
                }
                let (kept, pairs) = net(of_day);
                self.cancelled += pairs;
                let at = day.end();
                ready.extend(kept.into_iter().map(|event| Ok(Event { at, ..event })));
            }
            ready.pop_front()
        })
    }
}

/// The net events of one granule on one day, and the number of pairs that cancel out. Events that
/// contradict each other are all returned, so that the engine refuses them.
fn net(mut of_day: Vec<Event>) -> (Vec<Event>, u64) {
    let is_opposite = |pair: &[Event]| pair[0].kind != pair[1].kind && pair[0].at != pair[1].at;
    if !of_day.windows(2).all(is_opposite) {
        return (of_day, 0);
    }
    let pairs = of_day.len() as u64 / 2;
    if of_day.len().is_multiple_of(2) {
        of_day.clear();
    } else if of_day[0].kind == EventKind::Ingested {
        // Of several ingests, the last one counts.
        of_day.drain(..of_day.len() - 1);
    } else {
        of_day.truncate(1);
    }
    (of_day, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(granule_id: &str, at: &str, kind: EventKind) -> Event {
        let (granule_id, at) = (granule_id.parse().unwrap(), at.parse().unwrap());
        Event { at, kind, granule_id, producer_granule: None, location: None }
    }

    #[test]
    fn the_events_of_a_day_become_its_last_microsecond_and_pairs_cancel_out() {
        use EventKind::{Deleted, Ingested};
        let events = [
            event("A", "2024-01-01T01:00:00Z", Ingested),
            event("A", "2024-01-01T02:00:00Z", Deleted),
            event("A", "2024-01-01T03:00:00Z", Ingested),
            event("B", "2024-01-01T01:00:00Z", Ingested),
            event("B", "2024-01-01T02:00:00Z", Deleted),
            event("C", "2024-01-01T23:59:59Z", Ingested),
            event("C", "2024-01-02T00:00:00Z", Deleted),
            event("C", "2024-01-03T00:00:00Z", Ingested),
        ];
        let mut daily = Daily::new("2024-01-03".parse().unwrap());
        let events: Vec<Event> =
            daily.events(events.into_iter().map(Ok)).map(Result::unwrap).collect();
        let first = "2024-01-01T23:59:59.999999Z";
        let expected = [
            event("A", first, Ingested),
            event("C", first, Ingested),
            event("C", "2024-01-02T23:59:59.999999Z", Deleted),
        ];
        assert_eq!(events, expected);
        assert_eq!((daily.cancelled(), daily.left_out()), (2, 1));
    }

    #[test]
    fn events_that_contradict_each_other_remain() {
        let twice = ["2024-01-01T01:00:00Z", "2024-01-01T02:00:00Z"]
            .map(|at| Ok(event("A", at, EventKind::Ingested)));
        let mut daily = Daily::new("2024-01-03".parse().unwrap());
        assert_eq!(daily.events(twice.into_iter()).count(), 2);
        assert_eq!(daily.cancelled(), 0);
    }
}
