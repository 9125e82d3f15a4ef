//! What `ingest`, `delete` and `change` take.

use accession::{Change, Moment};

use crate::cli::apply::Application;

/// When a change took effect, and how it is made.
#[derive(clap::Args)]
pub struct ChangeArgs {
    /// When the change took effect: RFC 3339, or a date, which means 00:00:00Z of that day
    /// [default: now]
    #[arg(long, value_name = "T")]
    pub at: Option<Moment>,

    /// A note to keep with the change
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,

    /// Show what would be done, without changing anything
    #[arg(long)]
    pub dry_run: bool,
}

impl ChangeArgs {
    /// A change of nothing yet, with its note.
    pub fn change(&self) -> Change {
        let mut change = Change::new();
        change.note(self.note.clone());
        if self.dry_run {
            change.dry_run();
        }
        change
    }

    /// How the change is made.
    pub fn application(&self, create: bool) -> Application {
        Application {
            at: self.at.map(Moment::of_change),
            create,
            dry_run: self.dry_run,
            unchanged: None,
        }
    }
}
