//! A store for tests that fails at a chosen call.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, ErrorKind, Result};

/// Makes a store fail at one call, with an error of one kind. All later calls of the same transaction fail too,
/// unless the fault passes. Later transactions do not fail.
pub(crate) struct Fault {
    kind: ErrorKind,
    passes: bool,
    /// Counted from 1.
    at: usize,
    calls: AtomicUsize,
}

/// A fault in one transaction.
pub(super) struct TransactionFault {
    fault: Arc<Fault>,
    has_failed: Cell<bool>,
}

impl Fault {
    /// A fault of this kind at the `at`-th call, counted from 1. [`ErrorKind::OutcomeUnknown`] fails a commit
    /// after it was done, and no other calls.
    pub fn new(kind: ErrorKind, at: usize) -> Arc<Self> {
        Arc::new(Fault { kind, passes: false, at, calls: AtomicUsize::new(0) })
    }

    /// A fault that fails only the `at`-th call, like a disk that reads a page at the second attempt.
    pub fn passing(kind: ErrorKind, at: usize) -> Arc<Self> {
        Arc::new(Fault { kind, passes: true, at, calls: AtomicUsize::new(0) })
    }

    /// The number of calls so far.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether the call that fails has been made.
    pub fn has_struck(&self) -> bool {
        self.calls() >= self.at
    }

    fn strikes(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.at
    }

    /// Begins a transaction, or fails if the fault strikes at this call.
    pub(super) fn begin(self: &Arc<Self>) -> Result<TransactionFault> {
        if self.strikes() && self.kind != ErrorKind::OutcomeUnknown {
            return Err(self.error());
        }
        Ok(TransactionFault { fault: Arc::clone(self), has_failed: Cell::new(false) })
    }

    fn error(&self) -> Error {
        Error::stored(self.kind, format!("the fault of call {}", self.at))
    }
}

impl TransactionFault {
    /// Fails if the fault strikes at this call, or has failed an earlier call of this transaction.
    pub fn call(&self) -> Result<()> {
        let strikes = self.fault.strikes() && self.fault.kind != ErrorKind::OutcomeUnknown;
        self.has_failed.set(self.has_failed.get() || (strikes && !self.fault.passes));
        if strikes || self.has_failed.get() { Err(self.fault.error()) } else { Ok(()) }
    }

    /// Commits. A fault fails it before the commit, or after it for [`ErrorKind::OutcomeUnknown`].
    pub fn commit(&self, commit: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.fault.kind != ErrorKind::OutcomeUnknown {
            self.call()?;
            return commit();
        }
        let strikes = self.fault.strikes();
        commit()?;
        if strikes { Err(self.fault.error()) } else { Ok(()) }
    }
}
