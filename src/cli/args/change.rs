//! The arguments of `ingest`, `delete` and `change`.

use accession::{Change, Moment};

use crate::cli::apply::Application;

/// The time of a change, and its options.
#[derive(clap::Args)]
pub struct ChangeArgs {
    /// When the change took effect: RFC 3339, or a date, which means 00:00:00Z of that day
    /// [default: now]
    #[arg(long, value_name = "T")]
    pub at: Option<Moment>,

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
        Application {
            at: self.at.map(Moment::of_change),
            create,
            dry_run: self.dry_run,
            unchanged: None,
        }
    }
}
