//! The exit status, as `diff` has it.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done, or the same.
    Done = 0,
    /// A comparison or a check found a difference.
    Differs = 1,
    /// Bad usage, bad input, I/O: nothing was changed.
    Trouble = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
