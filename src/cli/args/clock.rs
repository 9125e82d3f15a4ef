//! The confirmation of the clock, for commands that store its time and no other.

use clap::ValueEnum;

use crate::cli::change_time::ChangeTime;

/// The confirmation of the clock.
#[derive(clap::Args)]
pub struct ClockArgs {
    /// Confirm the clock, which is refused if it is two years ahead of all that was recorded
    #[arg(long, value_name = "now", hide_possible_values = true)]
    at: Option<Confirmed>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Confirmed {
    Now,
}

impl ClockArgs {
    /// The time to record. `None` means that of the clock, unless it is refused.
    pub fn time(&self) -> Option<ChangeTime> {
        self.at.map(|Confirmed::Now| ChangeTime::Now)
    }
}
