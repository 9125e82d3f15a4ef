//! Exit statuses, with the same meanings as those of `diff`.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The command succeeded, or both sides are the same.
    Done = 0,
    /// A comparison or a check found a difference.
    Differs = 1,
    /// Incorrect usage, invalid input, an I/O error, or output that could not be written.
    Trouble = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
