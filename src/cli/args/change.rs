//! The arguments of `ingest`, `delete` and `change`.

use accession::Change;

use crate::cli::apply::Application;
use crate::cli::change_time::ChangeTime;

/// The time of a change, and its options.
#[derive(clap::Args)]
pub struct ChangeArgs {
    /// When the change took effect: RFC 3339, or a date, which means 00:00:00Z of that day, or now
    /// [default: now]
    #[arg(long, value_name = "T")]
    pub at: Option<ChangeTime>,

    /// A note to store with the change
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Show what would be done, without changing anything
    #[arg(long)]
    pub dry_run: bool,
}

impl ChangeArgs {
    /// An empty change, with its note.
    pub fn change(&self) -> Change {
        let mut change = Change::new();
        change.note(self.note.clone());
        if self.dry_run {
            change.dry_run();
        }
        change
    }

    /// The options of the change.
    pub fn application(&self, create: bool) -> Application {
        Application { at: self.at, create, dry_run: self.dry_run, unchanged: None }
    }
}
