//! A store for tests, which fails at a call that is chosen.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Error, ErrorKind, Result};

/// With what, and at which call, a store fails. The transaction of the call fails from then on, unless the
/// fault passes; later ones do not.
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
    /// A fault of a kind at the `at`-th call, counted from 1. [`ErrorKind::OutcomeUnknown`] is a commit
    /// that is done, although it fails; other calls do not fail with it.
    pub fn new(kind: ErrorKind, at: usize) -> Arc<Self> {
        Arc::new(Fault { kind, passes: false, at, calls: AtomicUsize::new(0) })
    }

    /// A fault of only the `at`-th call, as of a disk that reads a page the second time.
    pub fn passing(kind: ErrorKind, at: usize) -> Arc<Self> {
        Arc::new(Fault { kind, passes: true, at, calls: AtomicUsize::new(0) })
    }

    /// How many calls there were.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether there were so many calls.
    pub fn has_struck(&self) -> bool {
        self.calls() >= self.at
    }

    fn strikes(&self) -> bool {
        self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.at
    }

    /// Begins a transaction that fails.
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
    /// Fails if it strikes at this call, or did in the transaction.
    pub fn call(&self) -> Result<()> {
        let strikes = self.fault.strikes() && self.fault.kind != ErrorKind::OutcomeUnknown;
        self.has_failed.set(self.has_failed.get() || (strikes && !self.fault.passes));
        if strikes || self.has_failed.get() { Err(self.fault.error()) } else { Ok(()) }
    }

    /// Commits, and fails before or afterwards.
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
