//! Observing and cancelling long work.

use std::fmt;
use std::sync::Arc;

use super::cancel::CancelToken;
use crate::error::{Error, Result};

/// Observes long work. The library itself prints nothing.
pub trait Observer: Send + Sync {
    /// Receives an event. This is called on the threads that do the work, which waits meanwhile.
    fn event(&self, event: Progress);

    /// Whether the observer shows totals. A total that takes time to count is only counted if it does.
    fn shows_totals(&self) -> bool {
        false
    }
}

/// The events that an [`Observer`] receives.
///
/// One work follows another; they are never nested. Sorting is a part of the work that reads the sorted list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Work begins. The total is approximate; `None` means that it is not known.
    Begin(Work, Option<u64>),
    /// So many more granules, or other things that the work counts, are done. Some work, such as
    /// [`Work::Commit`], does not report its progress.
    Advance(u64),
    /// The work has ended, whether it succeeded or not.
    End,
    /// A change was committed, even if the operation that made it fails afterwards.
    Committed,
}

/// The kinds of long work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Work {
    /// Granules are hashed.
    Hash,
    /// Granules are compared.
    Compare,
    /// The identifiers of a registry and of its backup are compared.
    CompareIdentifiers,
    /// The granules of a log are sorted.
    Sort,
    /// The granules of a log are written.
    Export,
    /// The granules of a subset are selected.
    Select,
    /// The granules of a change are written.
    Write,
    /// A change is committed.
    Commit,
    /// The granules of a dataset are verified.
    Verify,
    /// The pages of a registry file are checked.
    CheckPages,
    /// The pages of a registry file are copied.
    CopyPages,
    /// Granules are copied to another registry.
    CopyGranules,
    /// Files or a log are read. Bytes are counted.
    ReadBytes,
}

/// The observer of work, and the tokens that cancel it. [`Registry::observed_by`](super::Registry::observed_by)
/// and [`Registry::cancelled_by`](super::Registry::cancelled_by) set those of a registry. Work without a
/// registry has a parameter for a watcher.
#[derive(Clone, Default)]
pub struct Watcher {
    observer: Option<Arc<dyn Observer>>,
    tokens: Vec<CancelToken>,
}

impl fmt::Debug for Watcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_observed = self.observer.is_some();
        let mut shown = out.debug_struct("Watcher");
        shown.field("is_observed", &is_observed).field("tokens", &self.tokens).finish()
    }
}

impl Watcher {
    /// A watcher without an observer and without tokens.
    pub fn new() -> Self {
        Watcher::default()
    }

    /// The same watcher with an observer, which replaces any other.
    #[must_use]
    pub fn observed_by(self, observer: Arc<dyn Observer>) -> Self {
        Watcher { observer: Some(observer), ..self }
    }

    /// The same watcher with one more token that cancels the work.
    #[must_use]
    pub fn cancelled_by(mut self, token: &CancelToken) -> Self {
        self.tokens.push(token.clone());
        self
    }

    /// Checks that the work is not cancelled.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::interrupted()) } else { Ok(()) }
    }

    /// Whether the work is cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.tokens.iter().any(CancelToken::is_cancelled)
    }

    /// Whether anything can cancel the work.
    pub(super) fn can_be_cancelled(&self) -> bool {
        !self.tokens.is_empty()
    }

    /// Whether the observer shows totals.
    pub(crate) fn shows_totals(&self) -> bool {
        self.observer.as_ref().is_some_and(|observer| observer.shows_totals())
    }

    /// Reports that work begins. Dropping the result reports that it ends.
    pub(crate) fn begin(&self, work: Work, total: Option<u64>) -> OpenWork {
        self.report(Progress::Begin(work, total));
        OpenWork { watcher: self.clone(), unreported: 0 }
    }

    /// Sends an event to the observer.
    pub(crate) fn report(&self, event: Progress) {
        if let Some(observer) = &self.observer {
            observer.event(event);
        }
    }

    /// The watcher of threads that do a part of the open work. It only reports their progress.
    pub(super) fn of_parts(&self) -> Self {
        self.reporting(|event| matches!(event, Progress::Advance(_)))
    }

    /// The watcher of data that is saved during other work. It only reports commits, and cannot cancel them.
    pub(super) fn of_saves(&self) -> Self {
        let saves = self.reporting(|event| *event == Progress::Committed);
        Watcher { tokens: Vec::new(), ..saves }
    }

    fn reporting(&self, reports: fn(&Progress) -> bool) -> Self {
        let some = |inner: Arc<dyn Observer>| -> Arc<dyn Observer> {
            Arc::new(PartialObserver { inner, reports })
        };
        Watcher { observer: self.observer.clone().map(some), tokens: self.tokens.clone() }
    }
}

/// Passes on some of the events.
struct PartialObserver {
    inner: Arc<dyn Observer>,
    reports: fn(&Progress) -> bool,
}

impl Observer for PartialObserver {
    fn event(&self, event: Progress) {
        if (self.reports)(&event) {
            self.inner.event(event);
        }
    }
}

/// Work that was begun.
pub(crate) struct OpenWork {
    watcher: Watcher,
    unreported: u64,
}

/// The number of things after which progress is reported.
const REPORTED_THINGS: u64 = 4_096;

impl OpenWork {
    /// Counts one more thing as done.
    pub fn advance(&mut self) -> Result<()> {
        self.unreported += 1;
        if self.unreported < REPORTED_THINGS { Ok(()) } else { self.report() }
    }

    /// Counts `more` things as done.
    pub fn advance_by(&mut self, more: u64) -> Result<()> {
        self.unreported += more;
        self.report()
    }

    /// Checks that the work is not cancelled.
    pub fn check(&self) -> Result<()> {
        self.watcher.check()
    }

    fn report(&mut self) -> Result<()> {
        match std::mem::take(&mut self.unreported) {
            0 => {}
            more => self.watcher.report(Progress::Advance(more)),
        }
        self.watcher.check()
    }
}

impl Drop for OpenWork {
    fn drop(&mut self) {
        self.watcher.report(Progress::End);
    }
}
