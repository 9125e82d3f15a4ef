//! The trait of a transaction that each store implements, and the two types that callers use: one consistent
//! state of a registry, and one change of it. Also the pool of idle connections.

use std::ops::{ControlFlow, Deref};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::page::{Packing, Page};
use super::rows::DatasetKey;
use super::sqlite::NewFile;
use super::statement::{Columns, Existing, Sql, StoredTable, Value};
use super::{Error, Result};
use crate::model::{DatasetFilter, GranuleId, Timestamp};

/// A transaction of one of the stores, in which the statements of `table` are run. A function that only one of
/// the two stores needs does nothing in the other.
pub(super) trait StoreSession: Send {
    /// Calls `each` for every row of a query, as it is read. `each` must not use the session, because a server
    /// responds to another statement only after all rows of this one.
    fn rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()>;

    /// Whether datasets are locked one by one. This is so in a transaction that writes to a server; in a file,
    /// a transaction locks all of them.
    fn locks_datasets(&self) -> bool {
        false
    }

    /// Locks a dataset against other writers until the transaction ends, if datasets are locked one by one.
    /// [`REGISTRY`](super::rows::REGISTRY) locks what does not belong to a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): another writer did not finish in time.
    fn lock(&self, _dataset: DatasetKey) -> Result<()> {
        Ok(())
    }

    /// Like [`StoreSession::lock`], but together with the next query, in one round trip.
    fn lock_with_next(&self, _dataset: DatasetKey) {}

    /// Locks a dataset that is being added.
    fn lock_new(&self, _dataset: DatasetKey) -> Result<()> {
        Ok(())
    }

    /// Runs a statement whose result is not needed. A server may run it later, in order: at the latest with the
    /// commit, which then returns the statement's error.
    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()>;

    /// Adds rows. `values` are the values of all columns of the first row, then those of the second, and so on.
    fn insert(
        &self,
        table: &'static StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()>;

    /// The number of rows in a page, for a pass over a whole dataset.
    fn page_rows(&self) -> u32;

    /// The rows of a query about granules.
    fn page(&self, sql: &'static Sql, values: &[Value<'_>], packing: Packing) -> Result<Page>;

    /// Ends the current holding period of each of some granules, each at its own time. If a granule did not
    /// have exactly one row to change, returns the first such granule and its number of rows.
    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>>;

    /// The store's own part of [`View::integrity`].
    fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>>;

    /// Does the work of [`View::check_unchanged`].
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Does the work of [`View::copy_beside`].
    fn copy_beside(
        &self,
        _target: &Path,
        _progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        Err(Error::not_a_file("a copy of the file"))
    }

    /// Runs the statements that were not run yet, without a commit.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Commits a write transaction. The changes are durable when this returns.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// One consistent state of the registry. It should be short-lived (see the documentation of the module
/// `store`).
pub(crate) struct View {
    pub(super) session: Box<dyn StoreSession>,
    /// The keys of the datasets that are visible. `None` means all.
    shown: Option<Arc<[i64]>>,
    /// Whether the view is for the public: it hides the people and programs that recorded something.
    is_public: bool,
    /// What was recorded after this time is not visible.
    known: Timestamp,
    /// The fault that makes it fail in a test.
    #[cfg(test)]
    pub(super) fault: Option<super::faulty::TransactionFault>,
}

/// A change of the registry. Nothing is stored before [`Transaction::commit`]. It sees its own writes.
pub(crate) struct Transaction {
    view: View,
}

impl View {
    pub(super) fn new(session: Box<dyn StoreSession>) -> Self {
        View {
            session,
            shown: None,
            is_public: false,
            known: Timestamp::MAX,
            #[cfg(test)]
            fault: None,
        }
    }

    /// The session, in which statements are run.
    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "a test makes it fail"))]
    pub(super) fn session(&self) -> Result<&dyn StoreSession> {
        #[cfg(test)]
        self.fault.as_ref().map_or(Ok(()), super::faulty::TransactionFault::call)?;
        Ok(&*self.session)
    }

    /// The same state for the public, with only the datasets of a filter. Other datasets do not seem to exist:
    /// no name leads to their keys, and every statement about several datasets leaves them out.
    pub fn for_public(self, filter: &DatasetFilter) -> Result<Self> {
        let shown = match filter {
            DatasetFilter::All => None,
            DatasetFilter::Only(names) => Some(self.keys_of(names)?.into()),
        };
        Ok(View { shown, is_public: true, ..self })
    }

    /// Whether a dataset is visible.
    pub fn shows(&self, dataset: DatasetKey) -> bool {
        self.shown.as_deref().is_none_or(|shown| shown.contains(&dataset.0))
    }

    /// The same state as it was known at a time: it shows only annotations that were recorded by then. The
    /// caller must filter instances and subsets.
    pub fn known_at(self, recorded: Timestamp) -> Self {
        View { known: recorded, ..self }
    }

    /// The time after which recorded data are not visible.
    pub fn known(&self) -> Timestamp {
        self.known
    }

    /// Whether the view is for the public.
    pub(super) fn is_public(&self) -> bool {
        self.is_public
    }

    /// Appends two values for a statement that leaves out hidden datasets: the keys of the visible datasets,
    /// and whether all are visible. If all are, the statement does not use the list.
    pub(super) fn with_shown<'a>(&'a self, values: impl Into<Vec<Value<'a>>>) -> Vec<Value<'a>> {
        let shown = self.shown.as_deref();
        let mut values = values.into();
        values.extend([shown.map_or(Value::Null, Value::Ints), i64::from(shown.is_none()).into()]);
        values
    }

    /// The results of `decode` for the rows of a query.
    pub(super) fn rows<T>(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(&dyn Columns) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut rows = Vec::new();
        self.session()?.rows(sql, values, &mut |row| {
            rows.push(decode(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The result of `decode` for the only row of a query. `None` means that there is no row.
    pub(super) fn row<T>(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(&dyn Columns) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(sql, values, decode)?.pop())
    }

    /// Whether something exists, from the only row of a query.
    pub(super) fn exists(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<bool> {
        Ok(self.row(sql, values, |row| row.get(0))?.unwrap_or(false))
    }

    /// A count, from the only row of a query.
    pub(super) fn count(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<u64> {
        Ok(self.row(sql, values, |row| row.get(0))?.unwrap_or(0))
    }

    /// The number of rows in a page, for a pass over a whole dataset.
    pub fn page_rows(&self) -> u32 {
        self.session.page_rows()
    }

    /// Checks, after a read, that a file that is read without locks has not changed. With locks, and on a
    /// server, a transaction reads only the state in which it began.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): the file has changed.
    pub fn check_unchanged(&self) -> Result<()> {
        self.session()?.check_unchanged()
    }

    /// Copies this snapshot of the registry into a file beside `target`, where no file may exist yet. Calls
    /// `progress` with the number of pages copied and the total number of pages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidPath`](super::ErrorKind::InvalidPath),
    /// [`ErrorKind::AlreadyExists`](super::ErrorKind::AlreadyExists),
    /// [`ErrorKind::Full`](super::ErrorKind::Full);
    /// [`ErrorKind::Interrupted`](super::ErrorKind::Interrupted): `progress` returned `Break`;
    /// [`ErrorKind::Unsupported`](super::ErrorKind::Unsupported).
    pub fn copy_beside(
        &self,
        target: &Path,
        mut progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        self.session()?.copy_beside(target, &mut progress)
    }
}

impl Transaction {
    /// A change in a session that was begun for writing.
    pub(super) fn new(view: View) -> Self {
        Transaction { view }
    }

    /// Locks a dataset, and runs a statement about it whose result is not needed.
    pub(super) fn run(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.session()?.lock(dataset)?;
        self.session()?.run(sql, values)
    }

    /// Rolls back the change, after running all its statements: an error of any statement is returned.
    pub fn roll_back(self) -> Result<()> {
        self.session()?.flush()
    }

    /// Commits the change. It is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): the registry was moved or removed; nothing was
    /// changed.
    pub fn commit(self) -> Result<()> {
        let View { session, .. } = self.view;
        #[cfg(test)]
        if let Some(fault) = self.view.fault {
            return fault.commit(|| session.commit());
        }
        session.commit()
    }
}

impl Deref for Transaction {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

/// The greatest number of idle connections in a pool. If there are more, a returned connection is closed.
const MAX_IDLE: usize = 8;

/// The idle connections of a registry.
pub(super) struct Pool<Connection> {
    idle: Mutex<Vec<Connection>>,
    returned: Condvar,
}

impl<Connection> Pool<Connection> {
    /// Creates a pool with one connection.
    pub fn of(connection: Connection) -> Self {
        Pool { idle: Mutex::new(vec![connection]), returned: Condvar::new() }
    }

    /// Takes an idle connection. `None` means that there is none.
    pub fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// Waits until a connection is returned, for a registry that has only one. `None` means that none was
    /// returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Option<Connection> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    /// Returns a connection, or closes it if the pool is full.
    pub fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
            self.returned.notify_one();
        }
    }

    /// Closes all idle connections except one, which is returned.
    pub fn into_one(self) -> Option<Connection> {
        self.into_all().pop()
    }

    /// Takes all idle connections.
    pub fn into_all(self) -> Vec<Connection> {
        self.idle.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// A panic cannot leave the list in an inconsistent state, so a poisoned lock is used as well.
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_connection_is_waited_for_and_no_more_are_kept_than_needed() {
        let pool = Pool::of(0);
        assert_eq!(pool.take(), Some(0));
        assert_eq!(pool.take(), None);
        assert_eq!(pool.wait(Duration::ZERO), None);
        (0..20).for_each(|connection| pool.put_back(connection));
        assert_eq!(pool.wait(Duration::ZERO), Some(7));
        assert_eq!(pool.into_one(), Some(6));
    }
}
