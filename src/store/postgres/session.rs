//! A registry on a server in use: snapshots for reading, transactions for writing.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::address::Address;
use super::commit::{Change, Outcome, outcome};
use super::connection::Connection;
use super::parameter::{Parameter, bigint, text};
use super::pool::Pool;
use super::schema::{self, Stated};
use crate::store::{Access, Error, Result, Watch};

/// Begins a transaction that reads one state of the registry.
///
/// Every statement of the store has one plan that is right at any size: by an index. Statistics
/// would have to be gathered first, and an import into a new table has none.
const BEGIN_READ: &str = "
    BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL jit = off;
    SELECT registry_id, version, copied_from
    FROM accession.registry";

/// Begins a transaction that writes. Each statement sees what was committed before it: once a
/// dataset is locked, it sees the change of whoever held the lock before.
const BEGIN_WRITE: &str = "
    BEGIN ISOLATION LEVEL READ COMMITTED;
    SET LOCAL enable_seqscan = off;
    SET LOCAL enable_bitmapscan = off;
    SET LOCAL enable_hashjoin = off;
    SET LOCAL enable_mergejoin = off;
    SET LOCAL jit = off";

/// Locks a dataset, and keeps the token of the change.
const LOCK: &str = "
    UPDATE accession.writer
    SET revision = revision + 1, tokens = ARRAY[CAST($2 AS uuid)] || tokens[1:15]
    WHERE dataset_id = $1
    RETURNING revision";

/// An open registry on a server.
pub(crate) struct Store {
    pub(super) pool: Pool,
    pub(super) address: Address,
    pub(super) access: Access,
    pub(super) busy_wait: Duration,
    /// The address without its password.
    pub(super) path: PathBuf,
    pub(super) stage: Stage,
}

/// Whether the registry is visible to others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is, with this id.
    Visible(String),
    /// It is being created in a transaction of the only connection.
    New,
}

/// One consistent state of the registry, or the state that a transaction sees.
pub(crate) struct Snapshot {
    lease: Lease,
    writing: Option<Writing>,
}

/// What a transaction that writes must know to ask whether it was committed.
struct Writing {
    token: String,
    transaction_id: String,
    /// The datasets that are locked, each with its revision.
    locked: RefCell<Vec<(i64, i64)>>,
}

/// A snapshot that [`Store::transaction`] began, as the statements that write see it.
pub(crate) struct Transaction<'snapshot> {
    snapshot: &'snapshot Snapshot,
}

/// A connection that is returned to its pool when dropped.
struct Lease {
    connection: Option<Connection>,
    store: Arc<Store>,
    /// Whether a transaction, or a savepoint, is open.
    is_open: Cell<bool>,
}

impl Store {
    /// Opens the registry at an address.
    ///
    /// # Errors
    ///
    /// [`Error::Address`], [`Error::Unreachable`], [`Error::Missing`], [`Error::NotARegistry`],
    /// [`Error::Newer`], [`Error::Older`], [`Error::Unfinished`].
    pub fn open(name: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        let store = Store::open_unfinished(name, access, busy_wait)?;
        match store.copied_from()? {
            Some(source) => Err(Error::Unfinished { source_name: source }),
            None => Ok(store),
        }
    }

    /// Opens the registry at an address, which may be an unfinished copy.
    ///
    /// # Errors
    ///
    /// Those of [`Store::open`] but the last.
    pub fn open_unfinished(name: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        let address = Address::parse(name)?;
        let connection = Connection::open(&address)?;
        let stated = state(&connection)?;
        if let (Err(Error::Older { .. }), Access::Write) = (stated.check_version(), access) {
            connection.begin(&begin_write(busy_wait))?;
            schema::migrate(&connection)?;
            connection.run("COMMIT")?;
        } else {
            stated.check_version()?;
        }
        let path = PathBuf::from(address.to_string());
        let stage = Stage::Visible(stated.registry_id);
        let store = Store { pool: Pool::default(), address, access, busy_wait, path, stage };
        store.pool.put_back(connection);
        Ok(store)
    }

    /// The address, without its password.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn copied_from(&self) -> Result<Option<String>> {
        let connection = self.connection()?;
        let stated = state(&connection);
        self.pool.put_back(connection);
        Ok(stated?.copied_from)
    }

    /// Begins a read transaction.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`]: there is another registry at the address now.
    pub fn snapshot(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Snapshot> {
        let begin = |lease: &Lease| match &self.stage {
            Stage::New => lease.open("SAVEPOINT accession").map(|_| ()),
            Stage::Visible(registry_id) => {
                let stated = Stated::of(&lease.open(BEGIN_READ)?)?;
                stated.check_version()?;
                check_same(&stated, registry_id)
            }
        };
        Ok(Snapshot { lease: self.lease(watch, begin)?, writing: None })
    }

    /// Begins a write transaction, of which nothing is stored until [`Snapshot::commit`].
    ///
    /// # Errors
    ///
    /// [`Error::ReadOnly`]: the registry was opened for reading, or the server is a standby.
    pub fn transaction(self: &Arc<Self>, watch: Option<&Watch>) -> Result<Snapshot> {
        const STATE: &str = "
            SELECT registry_id, version, copied_from, gen_random_uuid(),
                CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_xact_id() END
            FROM accession.registry";
        if self.access.is_for_reading() {
            return Err(Error::ReadOnly);
        }
        // One round trip.
        let begin_sql = match &self.stage {
            Stage::New => format!("SAVEPOINT accession; {STATE}"),
            Stage::Visible(_) => format!("{}; {STATE}", begin_write(self.busy_wait)),
        };
        let row = RefCell::default();
        let begin = |lease: &Lease| {
            row.replace(lease.open(&begin_sql)?);
            Ok(())
        };
        let lease = self.lease(watch, begin)?;
        let row = row.into_inner();
        let stated = Stated::of(&row)?;
        stated.check_version()?;
        if let Stage::Visible(registry_id) = &self.stage {
            check_same(&stated, registry_id)?;
        }
        let [.., Some(token), transaction_id] = row.as_slice() else {
            return Err(Error::Damaged { what: "the registry does not state its id".to_owned() });
        };
        let writing = Writing {
            token: token.clone(),
            transaction_id: transaction_id.clone().ok_or(Error::ReadOnly)?,
            locked: RefCell::default(),
        };
        Ok(Snapshot { lease, writing: Some(writing) })
    }

    /// Takes a connection and begins a transaction on it. An idle connection may have been lost
    /// meanwhile, so another one is tried.
    fn lease(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        begin: impl Fn(&Lease) -> Result<()>,
    ) -> Result<Lease> {
        let leased = |connection: Connection| {
            connection.set_watch(watch);
            let store = Arc::clone(self);
            let lease = Lease { connection: Some(connection), store, is_open: Cell::new(false) };
            begin(&lease)?;
            Ok(lease)
        };
        if self.stage == Stage::New {
            return leased(self.pool.wait(self.busy_wait)?);
        }
        while let Some(idle) = self.pool.take() {
            match leased(idle) {
                Err(Error::ConnectionLost { .. }) => {}
                result => return result,
            }
        }
        leased(Connection::open(&self.address)?)
    }

    pub(super) fn connection(&self) -> Result<Connection> {
        match self.pool.take() {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.address),
        }
    }
}

/// What the registry at the other end of a connection states about itself.
pub(super) fn state(connection: &Connection) -> Result<Stated> {
    let row = connection.begin(BEGIN_READ);
    let ended = connection.roll_back("ROLLBACK");
    let stated = Stated::of(&row?)?;
    ended?;
    Ok(stated)
}

/// The statements that begin a transaction that writes, limit how long it waits for a lock, and make
/// its commit durable: an administrator may have chosen more than `on`, but not less.
pub(super) fn begin_write(busy_wait: Duration) -> String {
    // 0 would mean no limit.
    let milliseconds = busy_wait.as_millis().clamp(1, i32::MAX as u128);
    format!(
        "{BEGIN_WRITE};
        SELECT set_config('lock_timeout', '{milliseconds}', true),
            set_config('synchronous_commit',
                CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
                THEN 'on' ELSE current_setting('synchronous_commit') END, true)"
    )
}

fn check_same(stated: &Stated, registry_id: &str) -> Result<()> {
    if stated.registry_id == registry_id { Ok(()) } else { Err(Error::Replaced) }
}

impl Snapshot {
    /// Whether the snapshot was begun for writing.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Locks a dataset against other writers until the transaction ends; row 0 is the registry
    /// itself. In a snapshot that only reads, this does nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]: another writer did not finish in time.
    pub(super) fn lock(&self, dataset_id: i64) -> Result<()> {
        match self.locking(dataset_id) {
            None => Ok(()),
            Some(lock) => {
                let locked = self.connection().query(LOCK, &lock)?;
                self.note_locked(dataset_id, &locked)
            }
        }
    }

    /// The rows of a query, which sees the dataset as it is once it is locked, as
    /// [`Snapshot::lock`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::lock`].
    pub(super) fn query_locked(
        &self,
        dataset_id: i64,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>> {
        let Some(lock) = self.locking(dataset_id) else {
            return self.reading()?.query(sql, parameters);
        };
        let (locked, rows) = self.connection().query_both([(LOCK, &lock), (sql, parameters)])?;
        self.note_locked(dataset_id, &locked)?;
        Ok(rows)
    }

    /// The parameters of [`LOCK`]. `None` means that nothing has to be locked.
    fn locking(&self, dataset_id: i64) -> Option<[Parameter<'_>; 2]> {
        let writing = self.writing.as_ref()?;
        let is_locked = writing.locked.borrow().iter().any(|(locked, _)| *locked == dataset_id);
        (!is_locked).then(|| [bigint(dataset_id), text(writing.token.as_str())])
    }

    fn note_locked(&self, dataset_id: i64, rows: &[Row]) -> Result<()> {
        let Some(row) = rows.first() else {
            let what = format!("the table writer has no row for dataset {dataset_id}");
            return Err(Error::Damaged { what });
        };
        if let Some(writing) = &self.writing {
            writing.locked.borrow_mut().push((dataset_id, row.try_get(0)?));
        }
        Ok(())
    }

    /// Adds the row by which a new dataset is locked, and so locks it.
    pub(super) fn insert_writer(&self, dataset_id: i64) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO accession.writer (dataset_id, revision, tokens)
            VALUES ($1, 1, ARRAY[CAST($2 AS uuid)])";
        let Some(writing) = &self.writing else { return Ok(()) };
        let parameters = [bigint(dataset_id), text(writing.token.as_str())];
        self.connection().defer(INSERT, &parameters)?;
        writing.locked.borrow_mut().push((dataset_id, 1));
        Ok(())
    }

    /// Nothing to check: the registry was identified when the transaction began, and another cannot
    /// take its place within it.
    ///
    /// # Errors
    ///
    /// None.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the other store checks")]
    pub fn check_same_file(&self) -> Result<()> {
        Ok(())
    }

    /// Sends the statements that wait to be sent with the next one.
    ///
    /// # Errors
    ///
    /// Those of the statements.
    pub fn flush(&self) -> Result<()> {
        self.connection().flush()
    }

    /// Commits a write transaction, whose changes are durable when this returns.
    ///
    /// If the connection is lost meanwhile, the server is asked on another one whether the change
    /// was committed.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`]: nothing was committed, and the change can be made again.
    /// [`Error::OutcomeUnknown`]: the server cannot be asked.
    pub fn commit(self) -> Result<()> {
        let connection = self.connection();
        if connection.has_failed() {
            // COMMIT would end it without an error, and without a change.
            let what = "a statement of the change failed before".to_owned();
            return Err(Error::Conflict { what });
        }
        let store = &self.lease.store;
        if store.stage == Stage::New {
            connection.run("RELEASE SAVEPOINT accession")?;
            self.lease.is_open.set(false);
            return Ok(());
        }
        let lost = match connection.run("COMMIT") {
            Ok(()) => {
                self.lease.is_open.set(false);
                return Ok(());
            }
            Err(Error::ConnectionLost { what }) => what,
            Err(error) => return Err(error),
        };
        let Some(writing) = &self.writing else { return Ok(()) };
        let locked = writing.locked.borrow();
        // Nothing is written without a lock.
        let Some(&(dataset_id, revision)) = locked.first() else {
            return Err(Error::ConnectionLost { what: lost });
        };
        let change = Change {
            token: &writing.token,
            transaction_id: &writing.transaction_id,
            dataset_id,
            revision,
        };
        match outcome(&store.address, &change, store.busy_wait) {
            Outcome::Committed => Ok(()),
            Outcome::NotCommitted => Err(Error::Conflict { what: lost }),
            Outcome::Unknown => Err(Error::OutcomeUnknown),
        }
    }

    pub(super) fn connection(&self) -> &Connection {
        self.lease.connection()
    }

    /// The connection for a query. If damage made one fail before, the server would refuse every
    /// other one in the transaction, so a snapshot that only reads begins another: what is
    /// undamaged can still be read.
    pub(super) fn reading(&self) -> Result<&Connection> {
        let connection = self.connection();
        if connection.has_failed() && !self.is_writing() && self.lease.store.stage != Stage::New {
            connection.roll_back("ROLLBACK")?;
            connection.begin(BEGIN_READ)?;
        }
        Ok(connection)
    }
}

impl<'snapshot> Transaction<'snapshot> {
    /// The statements that write, in a snapshot that [`Store::transaction`] began.
    pub fn of(snapshot: &'snapshot Snapshot) -> Self {
        Transaction { snapshot }
    }
}

impl Deref for Transaction<'_> {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        self.snapshot
    }
}

impl Lease {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has its connection until it is dropped")
    }

    fn open(&self, sql: &str) -> Result<Vec<Option<String>>> {
        self.is_open.set(true);
        self.connection().begin(sql)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        connection.set_watch(None);
        let is_new = self.store.stage == Stage::New;
        let rolled_back = match (self.is_open.get(), is_new) {
            (false, _) => Ok(()),
            (true, false) => connection.roll_back("ROLLBACK"),
            (true, true) => {
                connection.roll_back("ROLLBACK TO SAVEPOINT accession; RELEASE SAVEPOINT accession")
            }
        };
        // A connection that cannot roll back is closed, which rolls back. That of a new registry
        // is the registry.
        if rolled_back.is_ok() || is_new {
            self.store.pool.put_back(connection);
        }
    }
}
