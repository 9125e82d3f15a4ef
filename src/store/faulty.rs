//! A store for tests, which fails at a call that is chosen.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::page::{Packing, Page};
use super::rows::DatasetKey;
use super::session::{StoreSession, View};
use super::sqlite::NewFile;
use super::statement::{Columns, Existing, Sql, StoredTable, Value};
use super::{Error, ErrorKind, Result};
use crate::model::{GranuleId, Timestamp};

/// With what, and at which call, a store fails. The transaction of the call fails from then on, unless the
/// fault passes; later ones do not.
pub(crate) struct Fault {
    kind: ErrorKind,
    passes: bool,
    /// Counted from 1.
    at: usize,
    calls: AtomicUsize,
}

struct FaultySession {
    inner: Box<dyn StoreSession>,
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
    pub(super) fn begin(
        self: &Arc<Self>,
        begin: impl FnOnce() -> Result<Box<dyn StoreSession>>,
    ) -> Result<Box<dyn StoreSession>> {
        if self.strikes() && self.kind != ErrorKind::OutcomeUnknown {
            return Err(self.error());
        }
        let fault = Arc::clone(self);
        Ok(Box::new(FaultySession { inner: begin()?, fault, has_failed: Cell::new(false) }))
    }

    fn error(&self) -> Error {
        Error::stored(self.kind, format!("the fault of call {}", self.at))
    }
}

impl FaultySession {
    /// The session, unless it fails.
    fn call(&self) -> Result<&dyn StoreSession> {
        let strikes = self.fault.strikes() && self.fault.kind != ErrorKind::OutcomeUnknown;
        self.has_failed.set(self.has_failed.get() || (strikes && !self.fault.passes));
        if strikes || self.has_failed.get() { Err(self.fault.error()) } else { Ok(&*self.inner) }
    }
}

impl StoreSession for FaultySession {
    fn rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        self.call()?.rows(sql, values, each)
    }

    fn locks_datasets(&self) -> bool {
        self.inner.locks_datasets()
    }

    fn lock(&self, dataset: DatasetKey) -> Result<()> {
        self.call()?.lock(dataset)
    }

    fn lock_with_next(&self, dataset: DatasetKey) {
        self.inner.lock_with_next(dataset);
    }

    fn lock_new(&self, dataset: DatasetKey) -> Result<()> {
        self.call()?.lock_new(dataset)
    }

    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()> {
        self.call()?.run(sql, values)
    }

    fn insert(
        &self,
        table: &'static StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.call()?.insert(table, existing, values)
    }

    fn page_rows(&self) -> u32 {
        self.inner.page_rows()
    }

    fn page(&self, sql: &'static Sql, values: &[Value<'_>], packing: Packing) -> Result<Page> {
        self.call()?.page(sql, values, packing)
    }

    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>> {
        self.call()?.end_periods(dataset, ends)
    }

    fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        self.call()?.integrity(datasets)
    }

    fn check_same_file(&self) -> Result<()> {
        self.call()?.check_same_file()
    }

    fn copy_beside(
        &self,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        self.call()?.copy_beside(target, progress)
    }

    fn flush(&self) -> Result<()> {
        self.call()?.flush()
    }

    fn commit(self: Box<Self>) -> Result<()> {
        if self.fault.kind != ErrorKind::OutcomeUnknown {
            self.call()?;
            return self.inner.commit();
        }
        let strikes = self.fault.strikes();
        self.inner.commit()?;
        if strikes { Err(self.fault.error()) } else { Ok(()) }
    }
}

impl View {
    /// Everything that is stored, to be compared.
    pub fn contents(&self) -> Result<String> {
        let mut contents = String::new();
        let datasets = self.dataset_keys()?;
        let of_datasets = datasets.into_iter().flat_map(|dataset| self.raw_rows_of(dataset));
        for rows in of_datasets.chain(self.raw_rows_of_none()) {
            contents += &format!("{:?}\n", rows?);
        }
        Ok(contents)
    }
}
