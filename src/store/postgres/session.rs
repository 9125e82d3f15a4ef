//! An open registry on a server: snapshots for reading, transactions for writing. A new registry is filled in
//! the transaction that creates it.

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::address::Endpoint;
use super::connection::{Connection, value};
use super::schema::{self, StatedSchema};
use super::transaction::{self, CommitOutcome, SentChange, outcome};
use crate::model::{GranuleId, Timestamp};
use crate::store::page::{Packing, Page};
use crate::store::rows::DatasetKey;
use crate::store::session::{Pool, StoreSession};
use crate::store::statement::{Columns, Existing, Sql, StoredTable, Value};
use crate::store::{Error, ErrorKind, Result, Watch};

/// Reads the row of the table `registry`, and the administrator's setting of `synchronous_commit`.
const STATE: &str = "
    SELECT registry_id, version, schema_check, current_setting('synchronous_commit')
    FROM accession.registry";

/// Locks a dataset, and stores the token of the change.
const LOCK: &str = "
    UPDATE accession.writer
    SET revision = revision + 1, tokens = ARRAY[CAST($2 AS uuid)] || tokens[1:15]
    WHERE dataset_id = $1
    RETURNING revision";

/// An open registry on a server.
pub(crate) struct ServerStore {
    pool: Pool<Connection>,
    address: Endpoint,
    /// The administrator's setting on the server.
    synchronous_commit: String,
    stage: Stage,
}

/// Whether the registry is visible to others.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Stage {
    /// It is visible, and has this id.
    Visible(String),
    /// It is being created in a transaction of the only connection.
    New,
}

/// One consistent state of the registry, or the state that a write transaction sees.
pub(crate) struct ServerSession {
    lease: Lease,
    writing: Option<Writing>,
    /// The dataset to lock together with the next query.
    locked_next: Cell<Option<DatasetKey>>,
}

/// The data with which a write transaction can ask later whether it was committed.
struct Writing {
    busy_wait: Duration,
    token: String,
    transaction_id: String,
    /// The locked datasets, each with its revision.
    locked: RefCell<Vec<(i64, i64)>>,
}

/// A connection that is returned to its pool when the lease is dropped.
struct Lease {
    connection: Option<Connection>,
    store: Arc<ServerStore>,
    /// Whether a transaction, or a savepoint, is open.
    is_open: Cell<bool>,
}

impl ServerStore {
    /// Closes all connections.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is still in use. The error that a connection was lost.
    pub fn close(self: Arc<Self>) -> Result<()> {
        let connections = Arc::try_unwrap(self).map_err(|_| Error::busy())?.pool.into_all();
        connections.into_iter().try_for_each(Connection::close)
    }

    /// Opens the registry at an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Address`], [`ErrorKind::Unreachable`], [`ErrorKind::RegistryMissing`],
    /// [`ErrorKind::NotARegistry`], [`ErrorKind::OtherSchema`].
    pub fn open(name: &Path) -> Result<Self> {
        let address = Endpoint::parse(name)?;
        let connection = Connection::open(&address)?;
        let (stated, synchronous_commit) = state(&connection)?;
        // An older schema is checked when it is migrated. Until then, every read rejects it.
        if !stated.is_older() {
            stated.check_schema()?;
        }
        let (stage, pool) = (Stage::Visible(stated.registry_id), Pool::of(connection));
        Ok(ServerStore { pool, address, synchronous_commit, stage })
    }

    /// Migrates the registry from an older schema.
    fn migrate(&self, busy_wait: Duration) -> Result<()> {
        // If this function fails, the connection is dropped, which rolls back.
        let connection = self.connection()?;
        connection.begin(&transaction::writing(
            busy_wait,
            &self.synchronous_commit,
            schema::DISTRIBUTING,
        ))?;
        schema::migrate(&connection)?;
        if schema::is_distributed(&connection)? {
            schema::distribute_rest(&connection)?;
        }
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(())
    }

    /// Takes a connection and begins a transaction on it. If an idle connection was lost, tries the next one.
    fn lease(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        busy_wait: Duration,
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
            return leased(self.pool.wait(busy_wait).ok_or_else(Error::busy)?);
        }
        while let Some(idle) = self.idle() {
            match leased(idle) {
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                result => return result,
            }
        }
        leased(Connection::open(&self.address)?)
    }

    fn connection(&self) -> Result<Connection> {
        self.idle().map_or_else(|| Connection::open(&self.address), Ok)
    }

    /// Takes an idle connection that is not known to be lost. `None` means that there is none.
    fn idle(&self) -> Option<Connection> {
        std::iter::from_fn(|| self.pool.take()).find(|connection| !connection.is_closed())
    }
}

/// Reads the row of the table `registry`. Also returns the administrator's `synchronous_commit`. Takes one
/// round trip.
fn state(connection: &Connection) -> Result<(StatedSchema, String)> {
    let row = connection.begin(&transaction::reading([STATE, "ROLLBACK"]))?;
    let synchronous_commit = row.get(3).cloned().flatten().unwrap_or_default();
    Ok((StatedSchema::of(&row)?, synchronous_commit))
}

fn check_same(stated: &StatedSchema, registry_id: &str) -> Result<()> {
    if stated.registry_id == registry_id { Ok(()) } else { Err(Error::replaced()) }
}

impl ServerSession {
    /// The values for [`LOCK`]. `None` means that no lock is needed.
    fn locking(&self, dataset_id: i64) -> Option<[Value<'_>; 2]> {
        let writing = self.writing.as_ref()?;
        let is_locked = writing.locked.borrow().iter().any(|(locked, _)| *locked == dataset_id);
        (!is_locked).then(|| [dataset_id.into(), writing.token.as_str().into()])
    }

    fn note_locked(&self, dataset_id: i64, rows: &[Row]) -> Result<()> {
        let Some(row) = rows.first() else {
            let what = format!("the table writer has no row for dataset {dataset_id}");
            return Err(Error::damaged(what));
        };
        if let Some(writing) = &self.writing {
            writing.locked.borrow_mut().push((dataset_id, value(row, 0)?));
        }
        Ok(())
    }

    pub(super) fn connection(&self) -> &Connection {
        self.lease.connection()
    }

    /// The connection for a query. If damage made an earlier query fail, the server rejects all others in the
    /// transaction. A snapshot that only reads then begins a new transaction, so that undamaged data can still
    /// be read.
    pub(super) fn reading(&self) -> Result<&Connection> {
        let connection = self.connection();
        if connection.has_failed() && self.writing.is_none() && self.lease.store.stage != Stage::New
        {
            connection.roll_back("ROLLBACK")?;
            connection.begin(&transaction::reading([]))?;
        }
        Ok(connection)
    }

    /// Runs a query, and returns its rows.
    pub(super) fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.reading()?.query(sql, values)
    }

    /// Runs a query with at most one row. `None` means that there is no row.
    pub(super) fn query_opt(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

impl ServerStore {
    /// Begins a read transaction.
    pub fn snapshot(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        busy_wait: Duration,
    ) -> Result<ServerSession> {
        let begin = |lease: &Lease| match &self.stage {
            Stage::New => lease.open(&["SAVEPOINT accession".to_owned()]).map(|_| ()),
            Stage::Visible(registry_id) => {
                let row = lease.open(&transaction::reading([STATE]))?;
                let stated = StatedSchema::of(&row)?;
                stated.check_schema()?;
                check_same(&stated, registry_id)
            }
        };
        let lease = self.lease(watch, busy_wait, begin)?;
        Ok(ServerSession { lease, writing: None, locked_next: Cell::default() })
    }

    /// Begins a write transaction. The first transaction of an older registry migrates its schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Denied`]: the server is a standby.
    pub fn transaction(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        busy_wait: Duration,
    ) -> Result<ServerSession> {
        const STATE: &str = "
            SELECT registry_id, version, schema_check, gen_random_uuid(),
                CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_current_xact_id() END
            FROM accession.registry";
        let begin_sql = match &self.stage {
            Stage::New => ["SAVEPOINT accession", STATE].map(str::to_owned).to_vec(),
            Stage::Visible(_) => transaction::writing(busy_wait, &self.synchronous_commit, [STATE]),
        };
        let row = RefCell::default();
        let begin = |lease: &Lease| {
            row.replace(lease.open(&begin_sql)?);
            Ok(())
        };
        let mut lease = self.lease(watch, busy_wait, begin)?;
        if StatedSchema::of(&row.borrow())?.is_older() {
            drop(lease);
            self.migrate(busy_wait)?;
            lease = self.lease(watch, busy_wait, begin)?;
        }
        let row = row.into_inner();
        let stated = StatedSchema::of(&row)?;
        stated.check_schema()?;
        if let Stage::Visible(registry_id) = &self.stage {
            check_same(&stated, registry_id)?;
        }
        let [.., Some(token), transaction_id] = row.as_slice() else {
            return Err(Error::damaged("the registry does not state its id"));
        };
        let writing = Writing {
            busy_wait,
            token: token.clone(),
            transaction_id: transaction_id.clone().ok_or_else(Error::read_only)?,
            locked: RefCell::default(),
        };
        Ok(ServerSession { lease, writing: Some(writing), locked_next: Cell::default() })
    }

    /// Distributes the registry over the machines of a cluster. Returns the number of tables that were
    /// distributed.
    pub fn distribute(&self, busy_wait: Duration) -> Result<u64> {
        // If this function fails, the connection is dropped, which rolls back.
        let connection = self.connection()?;
        connection.begin(&transaction::writing(
            busy_wait,
            &self.synchronous_commit,
            schema::DISTRIBUTING,
        ))?;
        let distributed = schema::distribute(&connection)?;
        connection.run("COMMIT")?;
        self.pool.put_back(connection);
        Ok(distributed)
    }
}

impl ServerStore {
    /// Whether a registry exists at an address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Address`], [`ErrorKind::Unreachable`], [`ErrorKind::Denied`].
    pub fn exists(name: &Path) -> Result<bool> {
        let connection = Connection::open(&Endpoint::parse(name)?)?;
        match state(&connection) {
            Ok(_) => Ok(true),
            Err(error) => match error.kind() {
                ErrorKind::RegistryMissing => Ok(false),
                ErrorKind::NotARegistry => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// Creates a registry at an address. It is visible there after it is put in place.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`]: a registry exists. [`ErrorKind::Denied`]: the role may not create a
    /// schema.
    pub fn create(name: &Path, busy_wait: Duration) -> Result<Self> {
        let address = Endpoint::parse(name)?;
        let connection = Connection::open(&address)?;
        let chosen = connection.begin(&["SHOW synchronous_commit".to_owned()])?;
        let synchronous_commit = chosen.into_iter().flatten().next().unwrap_or_default();
        connection.begin(&transaction::writing(busy_wait, &synchronous_commit, []))?;
        schema::create(&connection)?;
        let (pool, stage) = (Pool::of(connection), Stage::New);
        Ok(ServerStore { pool, address, synchronous_commit, stage })
    }

    /// Commits a new registry.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is in use. [`ErrorKind::AlreadyExists`]: another process
    /// has created a registry.
    pub fn put_in_place(&self) -> Result<()> {
        const ID: &str = "
            SELECT registry_id::text
            FROM accession.registry";
        let connection = self.pool.take().ok_or_else(Error::busy)?;
        let row = connection.query_opt(ID, &[])?.ok_or_else(Error::replaced)?;
        let registry_id: String = value(&row, 0)?;
        match connection.run("COMMIT") {
            Err(lost) if lost.kind() == ErrorKind::ConnectionLost => {
                let found = Connection::open(&self.address).and_then(|other| state(&other));
                match found {
                    Ok((stated, _)) if stated.registry_id == registry_id => Ok(()),
                    Ok(_) => Err(Error::exists()),
                    Err(error) if error.kind() == ErrorKind::RegistryMissing => Err(lost),
                    Err(_) => Err(Error::outcome_unknown()),
                }
            }
            result => result,
        }
    }
}

impl StoreSession for ServerSession {
    fn rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let locking = self.locked_next.take();
        let locking = locking.and_then(|dataset| Some((dataset.0, self.locking(dataset.0)?)));
        let Some((dataset_id, lock)) = locking else {
            return self.reading()?.each_row(&sql.for_server(), values, &mut |row| each(row));
        };
        let queries = [(LOCK, lock.as_slice()), (&sql.for_server(), values)];
        let (locked, rows) = self.connection().query_both(queries)?;
        self.note_locked(dataset_id, &locked)?;
        rows.iter().try_for_each(|row| each(row))
    }

    fn locks_datasets(&self) -> bool {
        self.writing.is_some()
    }

    fn lock(&self, dataset: DatasetKey) -> Result<()> {
        match self.locking(dataset.0) {
            None => Ok(()),
            Some(lock) => {
                let locked = self.connection().query(LOCK, &lock)?;
                self.note_locked(dataset.0, &locked)
            }
        }
    }

    fn lock_with_next(&self, dataset: DatasetKey) {
        self.locked_next.set(Some(dataset));
    }

    /// Adds the row that locks a new dataset, and so locks it. The row of a removed dataset with the same key
    /// may still exist.
    fn lock_new(&self, dataset: DatasetKey) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO accession.writer (dataset_id, revision, tokens)
            VALUES ($1, 1, ARRAY[CAST($2 AS uuid)])
            ON CONFLICT (dataset_id) DO UPDATE
            SET revision = writer.revision + 1, tokens = excluded.tokens || writer.tokens[1:15]";
        let Some(writing) = &self.writing else { return Ok(()) };
        let values = [dataset.into(), writing.token.as_str().into()];
        self.connection().defer(INSERT, &values)?;
        writing.locked.borrow_mut().push((dataset.0, 1));
        Ok(())
    }

    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()> {
        self.connection().defer(&sql.for_server(), values)
    }

    fn insert(
        &self,
        table: &'static StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.insert_rows(table, existing, values)
    }

    fn page_rows(&self) -> u32 {
        // Each page is a round trip.
        16_384
    }

    fn page(&self, sql: &'static Sql, values: &[Value<'_>], packing: Packing) -> Result<Page> {
        self.read_page(sql, values, packing)
    }

    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>> {
        self.end_all_periods(dataset, ends)
    }

    fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        self.check_producers(datasets)
    }

    fn flush(&self) -> Result<()> {
        self.connection().flush()
    }

    /// Commits a write transaction. The changes are durable when this returns.
    ///
    /// If the connection or a machine of a cluster is lost meanwhile, a new connection asks the server whether
    /// the change was committed, until it is visible.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`]: nothing was committed, and the change can be made again.
    /// [`ErrorKind::OutcomeUnknown`]: the server cannot be asked. [`ErrorKind::NotVisible`]: the change was
    /// committed, but is not visible yet.
    fn commit(self: Box<Self>) -> Result<()> {
        let connection = self.connection();
        if connection.has_failed() {
            // COMMIT would end the transaction without an error and without a change.
            let what = "a statement of the change failed before".to_owned();
            return Err(Error::conflict(what));
        }
        let store = &self.lease.store;
        if store.stage == Stage::New {
            connection.run("RELEASE SAVEPOINT accession")?;
            self.lease.is_open.set(false);
            return Ok(());
        }
        let lost = match connection.commit() {
            Ok(true) => {
                self.lease.is_open.set(false);
                return Ok(());
            }
            Ok(false) => {
                self.lease.is_open.set(false);
                None
            }
            Err(error) if error.leaves_outcome_open() => Some(error),
            Err(error) => return Err(error),
        };
        let Some(writing) = &self.writing else { return Ok(()) };
        let locked = writing.locked.borrow();
        // Without a lock, nothing was written.
        if locked.is_empty() {
            return lost.map_or(Ok(()), Err);
        }
        let change = SentChange {
            token: &writing.token,
            transaction_id: &writing.transaction_id,
            locked: &locked,
        };
        match (outcome(&store.address, &change, writing.busy_wait), lost) {
            (CommitOutcome::Committed, _) => Ok(()),
            (CommitOutcome::NotCommitted, Some(error)) => Err(error.made_again()),
            (CommitOutcome::NotCommitted, None) => {
                let what = "a machine of the cluster did not commit it".to_owned();
                Err(Error::conflict(what))
            }
            (CommitOutcome::Unknown, Some(_)) => Err(Error::outcome_unknown()),
            (CommitOutcome::Unknown, None) => Err(Error::stored(
                ErrorKind::NotVisible,
                "the change was made, but cannot be seen yet: a machine of the cluster was lost during the commit",
            )),
        }
    }
}

impl Lease {
    fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has its connection until it is dropped")
    }

    fn open(&self, statements: &[String]) -> Result<Vec<Option<String>>> {
        self.is_open.set(true);
        self.connection().begin(statements)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        let is_new = self.store.stage == Stage::New;
        connection.set_watch(None);
        let rolled_back = match (self.is_open.get(), is_new) {
            (false, _) => Ok(()),
            (true, false) => connection.roll_back("ROLLBACK"),
            (true, true) => {
                connection.roll_back("ROLLBACK TO SAVEPOINT accession; RELEASE SAVEPOINT accession")
            }
        };
        // A connection that cannot roll back is closed, which rolls back. The connection of a new registry is
        // always returned, because it contains the registry.
        if rolled_back.is_ok() || is_new {
            self.store.pool.put_back(connection);
        }
    }
}
