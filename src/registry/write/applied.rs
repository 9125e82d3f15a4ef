//! A single change of a dataset, which is what a change, a sync, a revert and a pull make.

use super::engine::{self, Skipped};
use super::files::{self, Held};
use super::resume::Effort;
use super::target::{ChangeOptions, Conduct, Target};
use crate::error::Result;
use crate::model::{Event, GranuleId, Instance, Timestamp};
use crate::registry::files::{FileCounts, FileListing};
use crate::registry::handle::End;
use crate::registry::staging::Staging;

/// That granules that a sync added had been deleted shortly before: the listing of that change was
/// probably incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CameBack {
    /// How many of them one change had deleted.
    pub granules: u64,
    /// The instance of that change. If there are several, that of the change which deleted most of them,
    /// and then the last.
    pub without: Instance,
    /// The last instance before that one with the set that the dataset has now. `None` means that it is
    /// another set.
    pub earlier: Option<Instance>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The new row of the history. `None` means that nothing changed.
    pub instance: Option<Instance>,
    /// The instance in force afterwards. `None` means that the dataset has no history.
    pub in_force: Option<Instance>,
    /// The time of the last change before this one. `None` means that there was no history.
    pub last: Option<Timestamp>,
    /// The first granules that were ingested, at most [`MAX_EXAMPLES`](crate::registry::MAX_EXAMPLES)
    /// unless [`ChangeOptions::all_examples`] is set.
    pub first_ingested: Vec<GranuleId>,
    /// The first granules that were deleted, as many at most.
    pub first_deleted: Vec<GranuleId>,
    /// The granules that were skipped.
    pub skipped: Skipped,
    /// Whether the dataset was added.
    pub created_dataset: bool,
    /// By how many microseconds the clock was behind the last change. `None` means by less than a
    /// second, or not at all.
    pub clock_behind_micros: Option<i64>,
    /// What was recorded about files. Records alone make no new instance.
    pub files: FileCounts,
    /// Of a sync: that some of what it added had been deleted within the 31 days before. `None` means that
    /// none had.
    pub came_back: Option<CameBack>,
    /// Of a sync without a change: why it could not be recorded that the listing was confirmed. `None`
    /// means that it was, or that it was not to be.
    pub not_confirmed: Option<String>,
    /// The work that it took.
    pub effort: Effort,
}

impl Applied {
    /// Commits the change, unless it changed nothing or was only tried.
    pub(super) fn ended(self, options: &ChangeOptions) -> (Self, End) {
        let is_changed = self.instance.is_some() || self.files.has_any();
        let is_kept = is_changed && !options.dry_run;
        (self, End::commit_if(is_kept))
    }
}

impl Target<'_> {
    /// Adds the events to the history at one instant, whatever the times with which they were
    /// staged, and records what is known of files.
    pub fn apply(
        self,
        events: &Staging,
        conduct: Conduct,
        files: Option<&FileListing>,
    ) -> Result<Applied> {
        let (at, last) = (self.now, self.last());
        let at_once = events.sorted()?.map(|event| Ok(Event { at, ..event? }));
        let added = engine::add(&self, conduct, at_once, events.count())?;
        let instance = added.instances.into_iter().next();
        let files = match files {
            Some(files) => {
                let recorded = instance.as_ref().or(self.latest.as_ref()).map(|it| it.recorded);
                files::record(&self, files, Held::AreListed, recorded)?
            }
            None => FileCounts::default(),
        };
        Ok(Applied {
            created_dataset: self.is_created && instance.is_some(),
            // If nothing changed, the clock does not matter.
            clock_behind_micros: self.clock_behind_micros.filter(|_| instance.is_some()),
            in_force: instance.clone().or(self.latest),
            instance,
            last,
            first_ingested: added.first_ingested,
            first_deleted: added.first_deleted,
            skipped: added.skipped,
            files,
            came_back: None,
            not_confirmed: None,
            effort: added.effort,
        })
    }
}
