//! What `ingest`, `delete` and `change` take.

use accession::Moment;

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
