//! What who pulls or compares a mirror should know: each is worded once, for every program that shows it.

use std::fmt;

use super::compare::LEFT;
use super::followed::FollowedStatements;
use super::pull::{Left, Pulled};
use super::{FirstDifference, MirrorStatus, Status};
use crate::model::{DatasetName, Warning, WarningKind, Withdrawal, count, quoted};

impl Pulled {
    /// Warnings about the pull: annotations that are left out; that the primary renamed or withdrew its
    /// dataset, and why the mirror is not identical to it. The mirror was named `mirror`.
    pub fn warnings(&self, mirror: &DatasetName) -> Vec<Warning> {
        let renamed = self.primary_renamed.as_ref().map(|present| {
            let message =
                format!("{mirror}: the primary renamed its dataset, which is now {present}");
            Warning::new(WarningKind::PrimaryRenamed, message)
        });
        let withdrawn = self.primary_withdrawn.as_ref();
        let withdrawn = withdrawn.map(|found| Warning::of_withdrawn_primary(mirror, found));
        let not_identical = if self.left.granules > 0 {
            let Left { granules, named } = &self.left;
            let message = format!(
                "{mirror}: of {} the primary states other bytes than are known here, which stay: {}; --max-replace N or P% takes the primary's",
                count(*granules, "granule"),
                named.join("; ")
            );
            Some(Warning::new(WarningKind::OtherContent, message))
        } else {
            let message = || self.before.why_not_changed(mirror);
            (!self.is_identical()).then(|| Warning::new(WarningKind::MirrorNotChanged, message()))
        };
        let annotations = self.applied.annotations.warning();
        let pinned = Warning::of_pinned_keys(&self.before);
        annotations
            .into_iter()
            .chain(pinned)
            .chain(renamed)
            .chain(withdrawn)
            .chain(not_identical)
            .collect()
    }

    /// Why nothing was changed, if nothing was.
    pub fn why_unchanged(&self) -> &'static str {
        if self.left.granules > 0 {
            return LEFT;
        }
        let refusal = self.before.status.refusal().filter(|_| !self.is_identical());
        refusal.unwrap_or("the mirror is already identical to the primary")
    }
}

impl Warning {
    /// That the statements of a primary are believed by the keys that its site shows.
    pub(super) fn of_pinned_keys(found: &MirrorStatus) -> Option<Self> {
        let FollowedStatements { origin, pinned, .. } = found.statements.as_ref()?;
        let message = format!(
            "the statements of {origin} are believed from now on by what its site shows, {}: compare that with what the archive says elsewhere; --policy believes other keys",
            pinned.join(" and ")
        );
        (!pinned.is_empty()).then(|| Warning::new(WarningKind::KeysPinned, message))
    }

    /// That a primary withdrew the dataset that one of this registry follows.
    pub fn of_withdrawn_primary(name: &DatasetName, found: &Withdrawal) -> Self {
        let note = found.note.as_ref().map_or_else(String::new, |it| format!(": {}", quoted(it)));
        let at = found.timestamp;
        let message = format!(
            "{name}: the primary withdrew its dataset at {at}{note}; `accession dataset withdraw {name} --note TEXT` withdraws it here"
        );
        Warning::new(WarningKind::PrimaryWithdrawn, message)
    }
}

impl MirrorStatus {
    /// Why a mirror was not changed, and what the user can do.
    fn why_not_changed(&self, mirror: &DatasetName) -> String {
        let primary = &self.primary;
        let why = match self.status {
            Status::Ahead => format!(
                "is ahead of {}, whose latest change here is {}: this is an older state of the primary, or the mirror was changed",
                primary.dataset, primary.timestamp
            ),
            Status::Stale => format!(
                "would follow an older state of {}: changes after {} were read before",
                primary.dataset, primary.timestamp
            ),
            Status::Rewritten => {
                let change = self.first_difference;
                let change = change.map_or_else(String::new, |change| format!(": {change}"));
                format!("would follow a history of {} that was rewritten{change}", primary.dataset)
            }
            Status::Forked => format!(
                "would follow an archive that has signed two trees of statements{}, of which neither continues the other: both checkpoints prove that to anybody",
                self.statements
                    .as_ref()
                    .map_or_else(String::new, |it| format!(" of {}", it.origin))
            ),
            Status::Misstated => {
                let misstated = self.statements.as_ref().and_then(|it| it.misstated.clone());
                format!(
                    "would follow a log that is not what the archive has stated: {}",
                    misstated.unwrap_or_default()
                )
            }
            _ => format!(
                "has diverged from {}, which never held its granules: this is another dataset, or the mirror was changed",
                primary.dataset
            ),
        };
        format!(
            "{mirror} was not changed: it {why}; `accession mirror compare` shows the differences, and --reset replaces what the mirror holds"
        )
    }
}

/// The change, as a sentence: it contradicts what was read of the log before.
impl fmt::Display for FirstDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FirstDifference { change, timestamp } = self;
        write!(f, "change {change}, at {timestamp}, is not the one that was read before")
    }
}
