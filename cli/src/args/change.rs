//! The arguments of commands that change something: the time, the note, the dry run.

use accession::{ChangeOptions, DatasetName, IfMissing, Limit, Limits};
use clap::ValueEnum;

use crate::applied::Application;
use crate::session::ChangeTime;

/// The time of a change, and its options.
#[derive(clap::Args)]
pub struct ChangeArgs {
    #[command(flatten)]
    pub dry_run: DryRunArgs,

    /// When the change took effect [default: now]
    ///
    /// RFC 3339, or a date, which means 00:00:00Z of that day, or now.
    #[arg(long, value_name = "TIME")]
    pub at: Option<ChangeTime>,

    /// Why the change was made
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

/// Whether a change is only tried, and what is shown of it then.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct DryRunArgs {
    /// Show what would change, and record nothing
    #[arg(long)]
    pub dry_run: bool,

    /// With --dry-run: show the ids of all granules, not only the first three of each side
    #[arg(long, requires = "dry_run", conflicts_with = "json", hide_short_help = true)]
    pub all: bool,
}

impl ChangeArgs {
    /// The options of the change in the library.
    pub fn options(&self) -> ChangeOptions {
        let (note, DryRunArgs { dry_run, all }) = (self.note.clone(), self.dry_run);
        ChangeOptions::new()
            .at(self.at.and_then(ChangeTime::instant))
            .note(note)
            .dry_run(dry_run)
            .all_examples(all)
    }

    /// The change as it was asked for.
    pub fn application<'a>(&self, dataset: &'a DatasetName, create: bool) -> Application<'a> {
        let DryRunArgs { dry_run, .. } = self.dry_run;
        Application {
            dataset,
            at: self.at,
            create,
            dry_run,
            has_line: false,
            reads_history: false,
            findings: None,
        }
    }
}

/// The meaning of `--create` for a dataset.
pub fn if_missing(create: bool) -> IfMissing {
    if create { IfMissing::Create } else { IfMissing::Fail }
}

/// How much a listing may change.
#[derive(Clone, Copy, clap::Args)]
pub struct LimitArgs {
    /// The greatest number of granules that may be deleted
    ///
    /// A number, or a percentage of the held granules [default: that of the dataset, else the larger of 10 granules
    /// and 2%, never more than half, but at least one].
    #[arg(long, value_name = "N|P%", value_parser = Limit::of_held, hide_short_help = true)]
    max_delete: Option<Limit>,

    /// The greatest number of granules that may be added
    ///
    /// A number, or a percentage of the held granules [default: that of the dataset, else the larger of 1,000 granules
    /// and 100%].
    #[arg(long, value_name = "N|P%", hide_short_help = true)]
    max_add: Option<Limit>,
}

impl LimitArgs {
    /// Whether one is given.
    pub fn are_given(self) -> bool {
        self.max_delete.is_some() || self.max_add.is_some()
    }

    /// The limits, which come before those of the dataset.
    pub fn limits(self) -> Limits {
        Limits { max_delete: self.max_delete, max_add: self.max_add, max_replace: None }
    }
}

/// The confirmation of the clock.
#[derive(clap::Args)]
pub struct ClockArgs {
    /// Accept a clock two years ahead
    ///
    /// A clock that is two years ahead of everything recorded is rejected otherwise.
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
