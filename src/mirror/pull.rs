//! Pulls the primary's set into a mirror, in one change that is verified before it is committed.

use super::HistoryComparison;
use super::compare::{Comparison, LEFT, Outcome, compare};
use super::primary::OpenPrimary;
use crate::error::{Error, Result};
use crate::model::{
    Content, ContentChange, ContentUpdate, Coverage, DatasetName, Digest, Expected, Identifier,
    Limits, ListingEntry, Timestamp, Warning, WarningKind, Withdrawal, plural,
};
use crate::registry::{
    Change, ChangeOptions, ChangeReport, ContentDifference, Difference, IfMissing, MAX_EXAMPLES,
    Registry, Taken,
};

/// The options of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PullOptions {
    pub(super) at: Option<Timestamp>,
    if_missing: IfMissing,
    pub(super) expect: Option<Expected>,
    pub(super) dry_run: bool,
}

impl PullOptions {
    /// Returns the default options.
    pub fn new() -> Self {
        PullOptions::default()
    }

    /// When the change takes effect. Default: now.
    #[must_use]
    pub fn at(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        self.at = at.into();
        self
    }

    /// What to do if the mirror does not exist. Default: [`IfMissing::Fail`].
    #[must_use]
    pub fn if_missing(mut self, if_missing: IfMissing) -> Self {
        self.if_missing = if_missing;
        self
    }

    /// Changes any mirror, whatever its status, but only if it then holds exactly this set. A digest also takes the
    /// primary's sizes and checksums where this registry recorded others from another source. Default: only a mirror that
    /// follows the primary is changed: one without a history, or that is identical or behind. Any other has granules
    /// that the primary never held together. The recorded values stay, unless the dataset has a limit of its own for
    /// replacements.
    ///
    /// [`PullReport::expect`] names the set.
    #[must_use]
    pub fn expect(mut self, expect: impl Into<Option<Expected>>) -> Self {
        self.expect = expect.into();
        self
    }

    /// Whether to roll the change back after everything was checked and computed. Default: it is committed.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// The result of a pull.
#[derive(Debug)]
#[non_exhaustive]
pub struct PullReport {
    /// The status of the mirror before the pull.
    pub before: HistoryComparison,
    /// What was done: nothing if the mirror was identical, or may not be changed.
    pub applied: ChangeReport,
    /// The name that the primary's dataset has now, if it was asked for by a former one.
    pub primary_renamed: Option<DatasetName>,
    /// When and why the primary withdrew its dataset.
    pub primary_withdrawn: Option<Withdrawal>,
    /// The set that the mirror would hold if everything were taken of the primary, for [`PullOptions::expect`].
    /// `None` means that everything was taken.
    pub expect: Option<Expected>,
    /// What was not taken of the primary, since something else is known here from elsewhere.
    left: UnresolvedConflicts,
    agrees: bool,
}

/// The granules of which the primary states other bytes than are known here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UnresolvedConflicts {
    /// How many there are.
    granules: u64,
    /// The first of them, at most three, in words.
    named: Vec<String>,
}

impl PullReport {
    /// Whether the mirror now holds the primary's set, and follows the primary's history; and no file of it
    /// has other bytes.
    pub fn is_identical(&self) -> bool {
        self.agrees && self.left.granules == 0
    }

    /// Whether the mirror now has the primary's digest, too: nothing else is known here of any file.
    pub fn is_digest_equal(&self) -> bool {
        let held = self.applied.in_force.as_ref();
        held.is_some_and(|held| held.digest == self.before.primary.digest)
    }

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
            let UnresolvedConflicts { granules, named } = &self.left;
            let message = format!(
                "{mirror}: of {} the primary states other bytes than are known here, which stay: {}",
                plural(*granules, "granule"),
                named.join("; ")
            );
            Some(Warning::new(WarningKind::OtherContent, message))
        } else {
            let message = || self.before.why_not_changed(mirror);
            (!self.is_identical()).then(|| Warning::new(WarningKind::MirrorNotChanged, message()))
        };
        let annotations = self.applied.warning_of_annotations();
        annotations.into_iter().chain(renamed).chain(withdrawn).chain(not_identical).collect()
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

impl AsRef<ChangeReport> for PullReport {
    fn as_ref(&self) -> &ChangeReport {
        &self.applied
    }
}

/// Makes a mirror hold the primary's set, in one change, which is committed only if the resulting
/// identifier is the primary's. The mirror keeps its own timestamps and its own history.
///
/// A mirror that does not follow the primary is only changed to an expected set. That it is not is no error
/// ([`PullReport::is_identical`]). What was read of a log is remembered with the change, in one
/// transaction: neither is committed without the other. The primary's annotations are taken over, each of
/// the instances of the mirror that have the annotated set. A primary from which the mirror was pulled, or
/// to which it was already identical, is its default from then on; one of which the bytes contradict those
/// that are known here only if the mirror was changed. A mirror that is added gets the
/// primary's record, under its own name.
///
/// More than about 8 MiB of differences are kept in a temporary file.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the mirror does not exist, and is not to
/// be created; those of [`compare`](super::compare()) for the primary; a refused change: the time is refused,
/// another process has changed the mirror since and the identifier differs, another set is expected, or more
/// granules would be deleted or added than is allowed.
pub fn pull(
    mirror: &Registry,
    dataset: &DatasetName,
    primary: &OpenPrimary,
    options: PullOptions,
) -> Result<PullReport> {
    let mirror = &mirror.confirming(options.expect.is_some());
    if options.if_missing == IfMissing::Fail && !mirror.snapshot()?.has_dataset(dataset)? {
        return Err(Error::dataset_unknown(dataset));
    }
    let mut comparison = compare(mirror, dataset, primary)?;
    let before = comparison.status().clone();
    let primary_renamed = comparison.renamed.clone();
    let primary_withdrawn = comparison.primary_withdrawn().cloned();
    let mut pulled = PullReport {
        applied: ChangeReport { in_force: before.mirror.clone(), ..ChangeReport::default() },
        before,
        primary_renamed,
        primary_withdrawn,
        left: UnresolvedConflicts::default(),
        expect: None,
        agrees: true,
    };
    let before = pulled.before.clone();
    if options.expect.is_none() && before.status.refusal().is_some() {
        if !options.dry_run {
            comparison.remember(mirror, dataset, Outcome::Compared)?;
        }
        let expect = Some(Expected::Identifier(before.primary.identifier));
        return Ok(PullReport { agrees: false, expect, ..pulled });
    }
    let annotations = comparison.annotations(dataset, primary)?;
    let own = before.mirror.as_ref().map(|_| mirror.snapshot()?.dataset(dataset)).transpose()?;
    let own = own.and_then(|own| own.limits).unwrap_or_default();
    let knows_the_same = comparison.knows_the_same();
    let (mut change, left) = change_of(&comparison, Conflicts::Left)?;
    pulled.left = left;
    let held = before.mirror.as_ref().map_or(0, |mirror| mirror.granules);
    let most = match options.expect {
        Some(Expected::Digest(_)) => u64::MAX,
        _ => own.replacements(held),
    };
    let digest = before.primary.digest;
    let with_options = |change: &mut Change, is_whole: bool| {
        change.options = ChangeOptions::new()
            .at(options.at)
            .expected(before.primary.identifier)
            .expected_digest((is_whole && knows_the_same).then_some(digest))
            .if_missing(options.if_missing)
            .record(comparison.head.head.record.clone())
            .limits(own.or(Limits::NONE))
            .dry_run(options.dry_run);
    };
    if pulled.left.granules > 0 {
        let (mut whole, _) = change_of(&comparison, Conflicts::Taken)?;
        with_options(&mut whole, true);
        if pulled.left.granules <= most {
            change = whole;
            pulled.left = UnresolvedConflicts::default();
        } else {
            whole.options = whole.options.limits(Limits::NONE).dry_run(true);
            let result = mirror.change_of_pull(dataset, &whole)?;
            pulled.expect = result.in_force.map(|it| Expected::Digest(it.digest));
        }
    }
    let is_whole = pulled.left.granules == 0;
    let is_changed = change.count() > 0;
    let outcome = match is_whole {
        true => Outcome::Pulled,
        false => Outcome::Contradicted { is_changed },
    };
    let taken = Taken {
        remembered: comparison.remembered(outcome),
        annotations: &annotations,
        primary: &comparison.head.head.record.name,
    };
    if !is_changed {
        refuse_unexpected(options.expect, dataset, &pulled)?;
        let applied = mirror.take(dataset, &taken, options.dry_run)?;
        return Ok(PullReport { applied, ..pulled });
    }
    with_options(&mut change, is_whole);
    change.options = change.options.expect(options.expect);
    let applied = mirror.change_and_take(dataset, &change, &taken)?;
    Ok(PullReport { applied, ..pulled })
}

/// Refuses a pull that changes nothing if the mirror holds another set than the expected one.
fn refuse_unexpected(
    expect: Option<Expected>,
    dataset: &DatasetName,
    pulled: &PullReport,
) -> Result<()> {
    let held = pulled.before.mirror.as_ref();
    let empty = (Identifier::EMPTY, Digest::EMPTY);
    let (identifier, digest) = held.map_or(empty, |held| (held.identifier, held.digest));
    match expect {
        Some(expect) if !expect.is(identifier, digest) => {
            Err(Error::unexpected(dataset, expect, (identifier, digest)))
        }
        _ => Ok(()),
    }
}

/// What a change does with files of which other bytes are known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conflicts {
    /// They stay as they are, and are counted.
    Left,
    /// They become the primary's.
    Taken,
}

/// The change that makes the mirror hold what the primary does, and what it leaves of the primary. What is known
/// of files afterwards is decided here, for each granule.
fn change_of(
    comparison: &Comparison,
    conflicts: Conflicts,
) -> Result<(Change, UnresolvedConflicts)> {
    let knows_the_same = comparison.knows_the_same();
    let (mut change, mut left) = (Change::stating(Coverage::All), UnresolvedConflicts::default());
    for difference in comparison.differences()? {
        match difference? {
            Difference::OnlyRight(entry) => change.ingest(entry)?,
            Difference::OnlyLeft(granule_id) => change.delete(granule_id)?,
            Difference::OtherContent(other) => {
                let Some((content, contradiction)) = content_after(&other, knows_the_same) else {
                    continue;
                };
                match contradiction.filter(|_| conflicts == Conflicts::Left) {
                    None => {
                        let granule = other.granule_id.into();
                        change.describe(ListingEntry { content: Some(content), ..granule })?;
                    }
                    Some(contradiction) => {
                        left.granules += 1;
                        if left.named.len() < MAX_EXAMPLES {
                            left.named.push(contradiction);
                        }
                    }
                }
            }
        }
    }
    Ok((change, left))
}

/// What is known of a granule after what the log says of it, and in what that contradicts what is known here
/// from elsewhere, unless the log says that those bytes were replaced. `None` means that it says nothing.
///
/// Where both knew the same before, the log's word on bytes that were replaced is taken as it is, so that
/// the mirror has the primary's digest. What the primary only adds is put beside what was found out here.
fn content_after(
    other: &ContentDifference,
    knows_the_same: bool,
) -> Option<(Content, Option<String>)> {
    let ContentDifference { granule_id, known, stated, replaced, .. } = other;
    if knows_the_same && replaced.is_some() {
        return Some((stated.clone(), None));
    }
    if stated.is_empty() {
        return None;
    }
    let after = |stated: &Content| known.after(granule_id, stated, Coverage::Whole);
    let ContentUpdate { content, change, conflict } = after(stated);
    let is_former = |former: &Content| after(former).change != ContentChange::Replaces;
    let is_replaced = replaced.as_ref().is_some_and(|former| former.iter().any(is_former));
    let conflict = conflict.filter(|_| change == ContentChange::Replaces && !is_replaced);
    Some((content, conflict.map(|it| it.to_string())))
}
