//! When a change takes effect, as it is typed.

use std::str::FromStr;

use accession::{Moment, Timestamp, TimestampError};

/// When a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTime {
    /// Now, by a clock that the user confirms.
    Now,
    /// At an instant. A date means its beginning.
    At(Timestamp),
}

impl ChangeTime {
    /// The instant. `None` means the time of the clock.
    pub fn instant(self) -> Option<Timestamp> {
        match self {
            ChangeTime::Now => None,
            ChangeTime::At(at) => Some(at),
        }
    }
}

impl FromStr for ChangeTime {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        match text {
            "now" => Ok(ChangeTime::Now),
            text => text.parse().map(|at| ChangeTime::At(Moment::of_change(at))),
        }
    }
}
