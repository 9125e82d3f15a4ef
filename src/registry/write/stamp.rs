//! The time at which a change takes effect, and the person who records it.

use crate::model::Timestamp;
use crate::registry::refusal::ChangeError;

/// When a change takes effect, the present time, and who records the change.
pub struct Stamp<'clock> {
    at: Option<Timestamp>,
    clock: Box<dyn Fn() -> Timestamp + Send + Sync + 'clock>,
    recorded_by: Option<String>,
}

/// A clock that is behind by less than a second causes no warning.
const NOTICEABLE_MICROS: i64 = 1_000_000;

impl<'clock> Stamp<'clock> {
    /// A change at `at` (`None` means now), recorded at the time that `clock` returns.
    ///
    /// The clock is read while the write lock is held, and again when the change is complete. So a
    /// change never takes effect before one that was committed earlier, and no change is visible
    /// before the time at which it was recorded.
    pub fn new(
        at: Option<Timestamp>,
        clock: impl Fn() -> Timestamp + Send + Sync + 'clock,
    ) -> Self {
        Stamp { at, clock: Box::new(clock), recorded_by: None }
    }

    /// A change at one time, recorded at another.
    pub fn at(at: Timestamp, now: Timestamp) -> Self {
        Stamp::new(Some(at), move || now)
    }

    /// A change that takes effect now.
    pub fn now(now: Timestamp) -> Self {
        Stamp::new(None, move || now)
    }

    /// Sets who records the change. The name is stored in this registry only.
    #[must_use]
    pub fn recorded_by(self, recorded_by: Option<String>) -> Self {
        Stamp { recorded_by, ..self }
    }

    /// The time at which the change is recorded, which is not before `earliest`, and by whom.
    pub(super) fn record(&self, earliest: Timestamp) -> (Timestamp, Option<String>) {
        ((self.clock)().max(earliest), self.recorded_by.clone())
    }

    /// Reads the clock.
    pub(crate) fn read_clock(&self) -> Timestamp {
        (self.clock)()
    }

    /// The instant of a change after `last`, and by how many microseconds the clock is behind, if
    /// that causes a warning.
    ///
    /// A change without a time takes effect now. If the clock is not after the last change, it
    /// takes effect one microsecond after that change, so that history is strictly
    /// increasing.
    pub(super) fn after(
        &self,
        last: Option<Timestamp>,
    ) -> Result<(Timestamp, Option<i64>), ChangeError> {
        let now = self.read_clock();
        match (self.at, last) {
            (Some(at), _) if at > now => Err(ChangeError::Future { location: None, at, now }),
            (Some(at), Some(last)) if at <= last => {
                Err(ChangeError::NotAfterLast { location: None, at, last })
            }
            (Some(at), _) => Ok((at, None)),
            (None, Some(last)) if now <= last => {
                let refused = ChangeError::NotAfterLast { location: None, at: now, last };
                let at = last.next().ok_or(refused)?;
                let behind_micros = last.as_micros() - now.as_micros();
                Ok((at, (behind_micros > NOTICEABLE_MICROS).then_some(behind_micros)))
            }
            (None, _) => Ok((now, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    #[test]
    fn a_change_is_stamped_now_or_with_its_own_time() {
        assert_eq!(Stamp::now(at(9)).after(None), Ok((at(9), None)));
        assert_eq!(Stamp::now(at(9)).after(Some(at(8))), Ok((at(9), None)));
        assert_eq!(Stamp::at(at(5), at(9)).after(Some(at(4))), Ok((at(5), None)));
        assert_eq!(Stamp::at(at(9), at(9)).after(None), Ok((at(9), None)));
    }

    #[test]
    fn a_clock_at_or_behind_the_last_change_gives_the_next_microsecond() {
        let next = at(9).next().unwrap();
        assert_eq!(Stamp::now(at(9)).after(Some(at(9))), Ok((next, None)));
        assert_eq!(Stamp::now(at(8)).after(Some(at(9))), Ok((next, None)));
        assert_eq!(Stamp::now(at(7)).after(Some(at(9))), Ok((next, Some(2_000_000))));
    }

    #[test]
    fn a_change_at_or_before_the_last_or_in_the_future_is_refused() {
        for second in [3, 4] {
            let refused = ChangeError::NotAfterLast { location: None, at: at(second), last: at(4) };
            assert_eq!(Stamp::at(at(second), at(9)).after(Some(at(4))), Err(refused));
        }
        let refused = ChangeError::Future { location: None, at: at(10), now: at(9) };
        assert_eq!(Stamp::at(at(10), at(9)).after(None), Err(refused));
    }
}
