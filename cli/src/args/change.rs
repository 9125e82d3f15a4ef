//! The arguments of commands that change something: the time, the note, the dry run.

use accession::{ChangeOptions, DatasetName, Expected, IfMissing};
use clap::ValueEnum;

use crate::applied::Application;
use crate::session::ChangeTime;

/// The time of a change, and its options.
#[derive(clap::Args)]
pub struct ChangeArgs {
    #[command(flatten)]
    pub dry_run: DryRunArgs,

    #[command(flatten)]
    pub expect: ExpectArgs,

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
            .expect(self.expect.set())
            .dry_run(dry_run)
            .all_examples(all)
    }

    /// The requested change. `create` is whether a missing dataset is created.
    pub fn application<'a>(&self, dataset: &'a DatasetName, create: bool) -> Application<'a> {
        let DryRunArgs { dry_run, .. } = self.dry_run;
        let (has_line, reads_history, findings) = (false, false, None);
        Application { dataset, create, dry_run, has_line, reads_history, findings }
    }
}

/// The meaning of `--create` for a dataset.
pub fn if_missing(create: bool) -> IfMissing {
    if create { IfMissing::Create } else { IfMissing::Fail }
}

/// The set that is expected.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub struct ExpectArgs {
    /// Accept exactly this result, even if a guard refuses it
    ///
    /// All digits of the identifier (DI:HEX) or, if contents are replaced, of the digest (sha256:HEX). The change is
    /// made only if the dataset then holds exactly this set. A refused command and --dry-run print it.
    #[arg(long, value_name = "DI")]
    expect: Option<Expected>,
}

impl ExpectArgs {
    /// The expected set. `None` means that any set that no guard refuses is accepted.
    pub fn set(self) -> Option<Expected> {
        self.expect
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
    /// The time to record. `None` means the time of the clock, unless it is refused.
    pub fn time(&self) -> Option<ChangeTime> {
        self.at.map(|Confirmed::Now| ChangeTime::Now)
    }
}
