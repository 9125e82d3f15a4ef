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

    /// Sets when the change takes effect. Default: now.
    #[must_use]
    pub fn at(mut self, at: impl Into<Option<Timestamp>>) -> Self {
        self.at = at.into();
        self
    }

    /// Sets what to do if the mirror does not exist. Default: [`IfMissing::Fail`].
    #[must_use]
    pub fn if_missing(mut self, if_missing: IfMissing) -> Self {
        self.if_missing = if_missing;
        self
    }

    /// Changes the mirror whatever its status, but only if it then holds exactly this set. With a digest, the
    /// primary's sizes and checksums also replace those that this registry recorded from other sources.
    ///
    /// Default: only a mirror that follows the primary is changed: one without a history, or that is identical
    /// or behind. Any other has granules that the primary never held together. The recorded sizes and checksums
    /// stay, unless the dataset has its own limit for replacements.
    ///
    /// [`PullReport::expect`] is the value that accepts the primary's set.
    #[must_use]
    pub fn expect(mut self, expect: impl Into<Option<Expected>>) -> Self {
        self.expect = expect.into();
        self
    }

    /// Whether to check and compute everything, and then roll the change back. Default: it is committed.
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
    /// The change that was made. Nothing changed if the mirror was identical, or must not be changed.
    pub applied: ChangeReport,
    /// The present name of the primary's dataset, if it was requested by a former name.
    pub primary_renamed: Option<DatasetName>,
    /// When and why the primary withdrew its dataset.
    pub primary_withdrawn: Option<Withdrawal>,
    /// The set that the mirror would hold if it accepted everything from the primary, for
    /// [`PullOptions::expect`]. `None` means that it did accept everything.
    pub expect: Option<Expected>,
    /// The granules whose content was not pulled, because this registry recorded different content from another
    /// source.
    left: UnresolvedConflicts,
    agrees: bool,
}

/// The granules whose content at the primary differs from the recorded content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct UnresolvedConflicts {
    /// The number of these granules.
    granules: u64,
    /// Descriptions of the first of them, at most three.
    named: Vec<String>,
}

impl PullReport {
    /// Whether the mirror now holds the primary's set and follows the primary's history, and no file has
    /// different content.
    pub fn is_identical(&self) -> bool {
        self.agrees && self.left.granules == 0
    }

    /// Whether the mirror now also has the primary's digest: the records of all files are equal.
    pub fn is_digest_equal(&self) -> bool {
        let held = self.applied.in_force.as_ref();
        held.is_some_and(|held| held.digest == self.before.primary.digest)
    }

    /// Warnings about the pull of the mirror named `mirror`: annotations that were left out, a primary that
    /// renamed or withdrew its dataset, and why the mirror is not identical to the primary.
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
                "{mirror}: the primary recorded different content for {}, and the records here stay: {}",
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

    /// Why nothing was changed. Only meaningful if nothing was.
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

/// Makes a mirror hold the primary's set, in one change, which is committed only if the resulting identifier is
/// the primary's. The mirror keeps its own timestamps and its own history.
///
/// A mirror that does not follow the primary is changed only to an expected set. If it is not changed, that is
/// no error ([`PullReport::is_identical`]). The log that was read is remembered in the same transaction as the
/// change. The primary's annotations are copied to the mirror's instances with the annotated sets. A new mirror
/// gets the primary's metadata, under its own name.
///
/// The primary becomes the default of the mirror if the mirror was changed, or was already identical to it. If
/// contents conflict with those recorded here, it becomes the default only if the mirror was changed.
///
/// More than about 8 MiB of differences are stored in a temporary file.
///
/// # Errors
///
/// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): the mirror does not exist, and must not be
/// created; those of [`compare`](super::compare()) for the primary; the change is rejected: because of its
/// time, because another process changed the mirror and the identifier differs, because another set is
/// expected, or because more granules would be deleted or added than the limits allow.
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

/// Rejects a pull that changes nothing if the mirror holds a different set than expected.
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

/// What a change does with files whose content conflicts with the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conflicts {
    /// The recorded content stays, and the granules are counted.
    Left,
    /// The files get the primary's content.
    Taken,
}

/// Returns the change that makes the mirror hold the primary's set, and the conflicts that it leaves. This
/// decides for each granule what is recorded of its files afterwards.
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

/// Returns the content of a granule after it is updated from the log, and the conflict with content recorded
/// here from another source, as text. It is not a conflict if the log states that the recorded content was
/// replaced. `None` means that the log has no records of the granule's files.
///
/// If both sides had the same records before, the log's content of replaced files is used unchanged, so that
/// the mirror gets the primary's digest. Metadata that the primary only adds is merged with the metadata
/// recorded here.
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
