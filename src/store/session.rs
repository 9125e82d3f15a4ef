//! What the stores implement: how registries are found, opened and created, and one transaction; and
//! what is made of it for the callers, one consistent state of a registry and one change of it.

use std::ops::{ControlFlow, Deref};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Result;
use super::page::{Packing, Page};
use super::rows::{Access, DatasetKey, Watch};
use super::sqlite::NewFile;
use super::statement::Table;
use super::statement::{Columns, Existing, Scope, Sql, Value};
use crate::model::{GranuleId, Timestamp};

/// A transaction of one of the stores, in which statements are run: what `table` is written for.
pub(super) trait Session: Send {
    /// Calls `each` for every row of a query.
    fn rows(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()>;

    /// Whether datasets are locked one by one: in a transaction that writes to a server. In a file,
    /// a transaction locks all of them.
    fn locks_datasets(&self) -> bool;

    /// Locks a dataset against other writers until the transaction ends, if datasets are locked one by
    /// one. [`REGISTRY`](super::rows::REGISTRY) is what does not belong to a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): another writer did not finish in time.
    fn lock(&self, dataset: DatasetKey) -> Result<()>;

    /// Locks a dataset that is being added.
    fn lock_new(&self, dataset: DatasetKey) -> Result<()>;

    /// Runs a statement whose result nobody needs. A server may run it later, in its order: at the
    /// latest with the commit, which then returns its error.
    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()>;

    /// Adds rows, whose values follow each other: those of all columns of the table.
    fn insert(&self, table: &'static Table, existing: Existing, values: &[Value<'_>])
    -> Result<()>;

    /// How many rows a page has, in a pass over a whole dataset.
    fn page_rows(&self) -> u32;

    /// The rows of a query about granules.
    fn page(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        values: &[Value<'_>],
        packing: Packing,
    ) -> Result<Page>;

    /// Ends the present holding period of each of some granules, each at its own time. Returns the
    /// first granule of which not one row was changed, with the number of rows.
    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>>;

    /// What the store itself finds of what [`Snapshot::integrity`] returns.
    fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>>;

    /// What [`Snapshot::check_same_file`] checks.
    fn check_same_file(&self) -> Result<()>;

    /// What [`Snapshot::copy_beside`] does.
    fn copy_beside(
        &self,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile>;

    /// Runs what is still to be run, without a commit.
    fn flush(&self) -> Result<()>;

    /// Commits a write transaction, whose changes are durable when this returns.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// One consistent state of the registry. It should be short-lived (see the documentation of the
/// module `store`).
pub(crate) struct Snapshot {
    pub(super) session: Box<dyn Session>,
    hides_recorders: bool,
    /// When the last annotation was recorded that is shown.
    annotated_by: Timestamp,
}

/// A change of the registry, of which nothing is stored until [`Transaction::commit`]. It reads what
/// it has written.
pub(crate) struct Transaction {
    snapshot: Snapshot,
}

impl Snapshot {
    pub(super) fn new(session: Box<dyn Session>) -> Self {
        Snapshot { session, hides_recorders: false, annotated_by: Timestamp::MAX }
    }

    /// The same snapshot, which does not say who recorded anything if it is for the public.
    pub fn for_public(self, is_for_public: bool) -> Self {
        Snapshot { hides_recorders: is_for_public, ..self }
    }

    /// The same snapshot, which shows only the annotations that were recorded by a time.
    pub fn annotated_by(self, recorded: Timestamp) -> Self {
        Snapshot { annotated_by: recorded, ..self }
    }

    /// Whether an annotation that was recorded at a time is shown.
    pub(super) fn shows_annotation_of(&self, recorded: Timestamp) -> bool {
        recorded <= self.annotated_by
    }

    /// Whether others see what is read.
    pub fn is_public(&self) -> bool {
        self.hides_recorders
    }

    /// What the rows of a query say.
    pub(super) fn rows<T>(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(&dyn Columns) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.session.rows(scope, sql, values, &mut |row| {
            rows.push(decode(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// What the only row of a query says. `None` means that there is none.
    pub(super) fn row<T>(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(&dyn Columns) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(scope, sql, values, decode)?.pop())
    }

    /// What the only row of a query about a dataset says: whether there is something.
    pub(super) fn exists(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<bool> {
        Ok(self.row(Scope::Dataset(dataset), sql, values, |row| row.flag(0))?.unwrap_or(false))
    }

    /// What the only row of a query says: how many there are.
    pub(super) fn count(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<u64> {
        Ok(self.row(scope, sql, values, |row| row.count(0))?.unwrap_or(0))
    }

    /// How many rows a page has, in a pass over a whole dataset.
    pub fn page_rows(&self) -> u32 {
        self.session.page_rows()
    }

    /// Checks, after a read, that the path still refers to the file that was read and, if the file
    /// is read without locks, that it has not changed. A server has nothing to check: the registry was
    /// identified when the transaction began, and another cannot take its place within it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced), [`ErrorKind::Changed`](super::ErrorKind::Changed).
    pub fn check_same_file(&self) -> Result<()> {
        self.session.check_same_file()
    }

    /// Copies the registry, in the state of this snapshot, into a file beside `target`, where no
    /// file exists yet. `progress` is called with the number of pages copied and the total number of
    /// pages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReservedName`](super::ErrorKind::ReservedName), [`ErrorKind::RegistryExists`](super::ErrorKind::RegistryExists),
    /// [`ErrorKind::Full`](super::ErrorKind::Full); [`ErrorKind::Interrupted`](super::ErrorKind::Interrupted):
    /// `progress` returned `Break`; [`ErrorKind::NotAFile`](super::ErrorKind::NotAFile).
    pub fn copy_beside(
        &self,
        target: &Path,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        self.session.copy_beside(target, &mut progress)
    }
}

impl Transaction {
    /// The change that is made in a session that was begun for writing.
    pub(super) fn new(session: Box<dyn Session>) -> Self {
        Transaction { snapshot: Snapshot::new(session) }
    }

    /// Runs a statement about a dataset, once it is locked, whose result nobody needs.
    pub(super) fn run(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.session.lock(dataset)?;
        self.session.run(sql, values)
    }

    /// Takes the change back, once every statement of it was run: what it would have failed at is an
    /// error.
    ///
    /// # Errors
    ///
    /// Those of its statements.
    pub fn roll_back(self) -> Result<()> {
        self.snapshot.session.flush()
    }

    /// Commits the change, which is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): the registry was moved or removed. Nothing is
    /// changed.
    pub fn commit(self) -> Result<()> {
        self.snapshot.session.commit()
    }
}

impl Deref for Transaction {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// What each store implements: how its registries are found and created.
pub(super) trait Kind: Sync {
    /// What [`exists`](super::exists) returns.
    fn exists(&self, name: &Path) -> Result<bool>;

    /// What `Store::open` returns.
    fn open(&self, name: &Path, access: Access, busy_wait: Duration) -> Result<Arc<dyn Storage>>;

    /// What `Store::create` returns.
    fn create(
        &self,
        name: &Path,
        busy_wait: Duration,
    ) -> Result<(Arc<dyn Storage>, Box<dyn NewStorage>)>;

    /// What [`check_is_file`](super::check_is_file) checks.
    fn check_is_file(&self, what: &'static str) -> Result<()>;

    /// The name in full, as messages show it.
    fn full_name(&self, name: &Path) -> PathBuf;
}

/// What each store implements: an open registry.
pub(super) trait Storage: Send + Sync {
    /// What `Store::path` returns.
    fn path(&self) -> Option<&Path>;

    /// What `Store::snapshot` begins.
    fn snapshot(self: Arc<Self>, watch: Option<&Watch>) -> Result<Box<dyn Session>>;

    /// What `Store::transaction` begins.
    fn transaction(self: Arc<Self>, watch: Option<&Watch>) -> Result<Box<dyn Session>>;

    /// What `Store::state` returns.
    fn state(&self) -> Result<Option<u64>>;

    /// What `Store::has_many_connections` returns.
    fn has_many_connections(&self) -> bool;

    /// What `Store::is_file` returns.
    fn is_file(&self) -> bool;

    /// What `Store::distribute` does.
    fn distribute(&self) -> Result<u64>;

    /// The connection that filled a registry in a file, to close it. `None` means that it is closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use.
    /// [`ErrorKind::NotAFile`](super::ErrorKind::NotAFile).
    fn into_connection(self: Arc<Self>) -> Result<Option<rusqlite::Connection>>;
}

/// What each store implements: a new registry, or the target of a copy.
pub(super) trait NewStorage {
    /// Gives it the permissions of a file, if it is one itself.
    fn take_permissions_of(&self, file: &Path) -> Result<()>;

    /// What `New::reopen` returns.
    fn reopen(&self, store: Arc<dyn Storage>, busy_wait: Duration) -> Result<Arc<dyn Storage>>;

    /// What `New::put_in_place` does.
    fn put_in_place(self: Box<Self>, store: Option<Arc<dyn Storage>>) -> Result<()>;
}
