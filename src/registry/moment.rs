//! Which timestamp a change may carry.

use super::ChangeError;
use crate::model::Timestamp;

/// When a change takes effect, and when it is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The instant asked for; none: now.
    pub at: Option<Timestamp>,
    /// What the caller's clock says.
    pub now: Timestamp,
}

/// A second: a clock that is behind by less is not worth a word.
const NOTICEABLE_MICROS: i64 = 1_000_000;

impl Stamp {
    /// The instant of a change that comes after `last`, and by how many microseconds the clock was
    /// behind, where that is worth a warning.
    ///
    /// A change without a time of its own is stamped now; if the clock stands at or before the
    /// last change, a microsecond after that (cli.md), so that history stays strictly increasing.
    pub(crate) fn after(
        self,
        last: Option<Timestamp>,
    ) -> Result<(Timestamp, Option<i64>), ChangeError> {
        match (self.at, last) {
            (Some(at), _) if at > self.now => {
                Err(ChangeError::Future { location: None, at, now: self.now })
            }
            (Some(at), Some(last)) if at <= last => {
                Err(ChangeError::NotAfterLast { location: None, at, last })
            }
            (Some(at), _) => Ok((at, None)),
            (None, Some(last)) if self.now <= last => {
                let at = last.next().ok_or(ChangeError::NotAfterLast {
                    location: None,
                    at: self.now,
                    last,
                })?;
                let behind_micros = last.as_micros() - self.now.as_micros();
                Ok((at, (behind_micros > NOTICEABLE_MICROS).then_some(behind_micros)))
            }
            (None, _) => Ok((self.now, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000).unwrap()
    }

    fn stamp(at: Option<Timestamp>, now: Timestamp) -> Stamp {
        Stamp { at, now }
    }

    #[test]
    fn a_change_is_stamped_now_or_when_it_says() {
        assert_eq!(stamp(None, at(9)).after(None), Ok((at(9), None)));
        assert_eq!(stamp(None, at(9)).after(Some(at(8))), Ok((at(9), None)));
        assert_eq!(stamp(Some(at(5)), at(9)).after(Some(at(4))), Ok((at(5), None)));
        assert_eq!(stamp(Some(at(9)), at(9)).after(None), Ok((at(9), None)));
    }

    #[test]
    fn a_clock_that_stands_or_is_behind_gives_the_next_microsecond() {
        let next = at(9).next().unwrap();
        assert_eq!(stamp(None, at(9)).after(Some(at(9))), Ok((next, None)));
        assert_eq!(stamp(None, at(8)).after(Some(at(9))), Ok((next, None)));
        assert_eq!(stamp(None, at(7)).after(Some(at(9))), Ok((next, Some(2_000_000))));
    }

    #[test]
    fn a_change_at_or_before_the_last_or_in_the_future_is_refused() {
        for second in [3, 4] {
            let refused = ChangeError::NotAfterLast { location: None, at: at(second), last: at(4) };
            assert_eq!(stamp(Some(at(second)), at(9)).after(Some(at(4))), Err(refused));
        }
        let refused = ChangeError::Future { location: None, at: at(10), now: at(9) };
        assert_eq!(stamp(Some(at(10)), at(9)).after(None), Err(refused));
    }
}
