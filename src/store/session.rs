//! A transaction, which each store implements, and what is made of it for the callers: one consistent state
//! of a registry and one change of it; and the idle connections, which are kept open for the next one.

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

/// A transaction of one of the stores, in which statements are run: what `table` is written for. What only
/// a server has, or only a file, does nothing in the other one.
pub(super) trait StoreSession: Send {
    /// Calls `each` for every row of a query, as it is read. `each` must not use the session: a server sends
    /// the response to another statement only after all rows of this one.
    fn rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()>;

    /// Whether datasets are locked one by one: in a transaction that writes to a server. In a file,
    /// a transaction locks all of them.
    fn locks_datasets(&self) -> bool {
        false
    }

    /// Locks a dataset against other writers until the transaction ends, if datasets are locked one by
    /// one. [`REGISTRY`](super::rows::REGISTRY) is what does not belong to a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): another writer did not finish in time.
    fn lock(&self, _dataset: DatasetKey) -> Result<()> {
        Ok(())
    }

    /// The same together with the next query, in one round trip.
    fn lock_with_next(&self, _dataset: DatasetKey) {}

    /// Locks a dataset that is being added.
    fn lock_new(&self, _dataset: DatasetKey) -> Result<()> {
        Ok(())
    }

    /// Runs a statement whose result nobody needs. A server may run it later, in its order: at the
    /// latest with the commit, which then returns its error.
    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()>;

    /// Adds rows, whose values follow each other: those of all columns of the table.
    fn insert(
        &self,
        table: &'static StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()>;

    /// How many rows a page has, in a pass over a whole dataset.
    fn page_rows(&self) -> u32;

    /// The rows of a query about granules.
    fn page(&self, sql: &'static Sql, values: &[Value<'_>], packing: Packing) -> Result<Page>;

    /// Ends the present holding period of each of some granules, each at its own time. Returns the
    /// first granule of which not one row was changed, with the number of rows.
    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>>;

    /// What the store itself finds of what [`View::integrity`] returns.
    fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>>;

    /// What [`View::check_unchanged`] checks.
    fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// What [`View::copy_beside`] does.
    fn copy_beside(
        &self,
        _target: &Path,
        _progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        Err(Error::not_a_file("a copy of the file"))
    }

    /// Runs what is still to be run, without a commit.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Commits a write transaction, whose changes are durable when this returns.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// One consistent state of the registry. It should be short-lived (see the documentation of the
/// module `store`).
pub(crate) struct View {
    pub(super) session: Box<dyn StoreSession>,
    /// The keys of the datasets that are shown. `None` means all.
    shown: Option<Arc<[i64]>>,
    /// Whether others see it: who recorded something is not shown.
    is_public: bool,
    /// What was recorded later is not known.
    known: Timestamp,
    /// With what a test makes it fail.
    #[cfg(test)]
    pub(super) fault: Option<super::faulty::TransactionFault>,
}

/// A change of the registry, of which nothing is stored until [`Transaction::commit`]. It reads what
/// it has written.
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

    /// What statements are run in.
    #[cfg_attr(not(test), expect(clippy::unnecessary_wraps, reason = "a test makes it fail"))]
    pub(super) fn session(&self) -> Result<&dyn StoreSession> {
        #[cfg(test)]
        self.fault.as_ref().map_or(Ok(()), super::faulty::TransactionFault::call)?;
        Ok(&*self.session)
    }

    /// The same state as others see it, with the datasets of a filter. Any other dataset is as if it did not
    /// exist: no name leads to its key, and every statement about several datasets leaves it out.
    pub fn for_public(self, filter: &DatasetFilter) -> Result<Self> {
        let shown = match filter {
            DatasetFilter::All => None,
            DatasetFilter::Only(names) => Some(self.keys_of(names)?.into()),
        };
        Ok(View { shown, is_public: true, ..self })
    }

    /// Whether a dataset is shown.
    pub fn shows(&self, dataset: DatasetKey) -> bool {
        self.shown.as_deref().is_none_or(|shown| shown.contains(&dataset.0))
    }

    /// The same state as far as it was known at a time: only annotations that were recorded by then are
    /// shown. What of the instances and subsets is shown is up to the caller.
    pub fn known_at(self, recorded: Timestamp) -> Self {
        View { known: recorded, ..self }
    }

    /// What was recorded later than this is not known.
    pub fn known(&self) -> Timestamp {
        self.known
    }

    /// Whether others see what is read.
    pub(super) fn is_public(&self) -> bool {
        self.is_public
    }

    /// The values of a statement that leaves out datasets, and the two after them: the keys of those that are
    /// shown, and whether all are, in which case no list of them is looked at.
    pub(super) fn with_shown<'a>(&'a self, values: impl Into<Vec<Value<'a>>>) -> Vec<Value<'a>> {
        let shown = self.shown.as_deref();
        let mut values = values.into();
        values.extend([shown.map_or(Value::Null, Value::Ints), i64::from(shown.is_none()).into()]);
        values
    }

    /// What the rows of a query say.
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

    /// What the only row of a query says. `None` means that there is none.
    pub(super) fn row<T>(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(&dyn Columns) -> Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.rows(sql, values, decode)?.pop())
    }

    /// What the only row of a query says: whether there is something.
    pub(super) fn exists(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<bool> {
        Ok(self.row(sql, values, |row| row.get(0))?.unwrap_or(false))
    }

    /// What the only row of a query says: how many there are.
    pub(super) fn count(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<u64> {
        Ok(self.row(sql, values, |row| row.get(0))?.unwrap_or(0))
    }

    /// How many rows a page has, in a pass over a whole dataset.
    pub fn page_rows(&self) -> u32 {
        self.session.page_rows()
    }

    /// Checks, after a read, that a file that is read without locks has not changed. With locks, and on a
    /// server, all that is read within a transaction is of the state in which it began.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced),
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced).
    pub fn check_unchanged(&self) -> Result<()> {
        self.session()?.check_unchanged()
    }

    /// Copies the registry, in the state of this snapshot, into a file beside `target`, where no
    /// file exists yet. `progress` is called with the number of pages copied and the total number of
    /// pages.
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
    /// The change that is made in a session that was begun for writing.
    pub(super) fn new(view: View) -> Self {
        Transaction { view }
    }

    /// Runs a statement about a dataset, once it is locked, whose result nobody needs.
    pub(super) fn run(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.session()?.lock(dataset)?;
        self.session()?.run(sql, values)
    }

    /// Takes the change back, once every statement of it was run: what it would have failed at is an
    /// error.
    pub fn roll_back(self) -> Result<()> {
        self.session()?.flush()
    }

    /// Commits the change, which is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`](super::ErrorKind::Replaced): the registry was moved or removed. Nothing is
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

/// The greatest number of idle connections that are kept; a further one is closed when it is
/// returned.
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

    /// Takes an idle connection. `None` means that there are none.
    pub fn take(&self) -> Option<Connection> {
        self.idle().pop()
    }

    /// Waits for the connection that is returned next, of a registry that has only one. `None` means
    /// that none was returned within `busy_wait`.
    pub fn wait(&self, busy_wait: Duration) -> Option<Connection> {
        let wait = self.returned.wait_timeout_while(self.idle(), busy_wait, |idle| idle.is_empty());
        let (mut idle, _) = wait.unwrap_or_else(PoisonError::into_inner);
        idle.pop()
    }

    /// Returns a connection, or closes it if there are enough.
    pub fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE {
            idle.push(connection);
            self.returned.notify_one();
        }
    }

    /// Closes all idle connections but one, which is returned.
    pub fn into_one(self) -> Option<Connection> {
        self.into_all().pop()
    }

    /// All idle connections.
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
