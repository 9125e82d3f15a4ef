//! A registry file in use: snapshots for reading, transactions for writing, and SQLite's own check of it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::types::{Null, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, Statement, params};

use super::create::{self, NewFile};
use super::files::Identity;
use super::open::{self, Opened};
use super::{connection, schema};
use crate::disk::scratch::ScratchDirectory;
use crate::model::{GranuleId, Timestamp};
use crate::store::integrity::note_failure;
use crate::store::page::{Packing, Page};
use crate::store::rows::DatasetKey;
use crate::store::session::{Pool, StoreSession};
use crate::store::statement::{Columns, Existing, Sql, StoredTable, Value, damaged, insertion};
use crate::store::{BUSY_WAIT, Error, ErrorKind, Result, Watch};

/// The number of SQLite's instructions between two checks whether to stop: about a millisecond.
const STEPS_BETWEEN_CHECKS: i32 = 50_000;

/// An open registry.
pub(crate) struct FileStore {
    pool: Pool<Connection>,
    identity: Identity,
    /// Set when the first change has found the registry writable.
    is_written: OnceLock<()>,
    /// The path with which the registry was opened. `None` means that it is in memory.
    path: Option<PathBuf>,
    /// The directory of a temporary registry. It must be the last field, so that it is dropped after all
    /// connections are closed.
    directory: Option<ScratchDirectory>,
}

/// A transaction on a connection to the file. When dropped, it returns the connection to its pool.
pub(crate) struct FileSession {
    connection: Option<Connection>,
    store: Arc<FileStore>,
    /// Whether the connection was leased for a change.
    is_writing: bool,
    busy_wait: Duration,
}

impl FileStore {
    /// Opens the registry at `path`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::RegistryMissing`], [`ErrorKind::NotARegistry`], [`ErrorKind::OtherSchema`] and the
    /// errors of opening a file.
    pub fn open(path: &Path) -> Result<Self> {
        Ok(FileStore { path: Some(path.to_owned()), ..FileStore::of(open::open(path)?) })
    }

    /// Creates a registry in memory, which is deleted when the store is dropped.
    pub fn in_memory() -> Result<Self> {
        Ok(FileStore::of(open::in_memory()?))
    }

    /// Creates a registry in a temporary directory, which is deleted when the store is dropped. Also returns
    /// its path.
    pub fn temporary() -> Result<(Self, PathBuf)> {
        let directory = ScratchDirectory::new()?;
        let path = directory.path().join("accession.db");
        let store = FileStore::of(open::temporary(path.clone())?);
        Ok((FileStore { path: Some(path.clone()), directory: Some(directory), ..store }, path))
    }

    /// Creates a registry in a file that is put in place at `path` later.
    pub fn create(path: &Path) -> Result<(Self, NewFile)> {
        let (connection, file) = NewFile::create(path, BUSY_WAIT)?;
        let identity = Identity::of_connection();
        let store = FileStore::of(Opened { connection, identity });
        Ok((FileStore { path: Some(path.to_owned()), ..store }, file))
    }

    fn of(opened: Opened) -> Self {
        let Opened { connection, identity } = opened;
        let (pool, is_written) = (Pool::of(connection), OnceLock::new());
        FileStore { pool, identity, is_written, path: None, directory: None }
    }

    fn lease(self: &Arc<Self>, watch: Option<&Watch>, busy_wait: Duration) -> Result<FileSession> {
        let mut connection = match self.pool.take() {
            Some(connection) => connection,
            None => match self.identity.open_again()? {
                Some(connection) => {
                    if self.directory.is_some() {
                        connection::without_syncs(&connection)?;
                    }
                    connection
                }
                // The registry can have only one connection.
                None => self.pool.wait(busy_wait).ok_or_else(in_use)?,
            },
        };
        connection.busy_timeout(busy_wait)?;
        let handler = watch.cloned().map(|watch| move || watch());
        connection.progress_handler(STEPS_BETWEEN_CHECKS, handler)?;
        let (connection, store) = (Some(connection), Arc::clone(self));
        Ok(FileSession { connection, store, is_writing: false, busy_wait })
    }
}

impl FileStore {
    /// Begins a read transaction.
    pub fn snapshot(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        busy_wait: Duration,
    ) -> Result<FileSession> {
        let session = self.lease(watch, busy_wait)?;
        session.connection().prepare_cached("BEGIN DEFERRED")?.execute([])?;
        // SQLite begins the transaction with its first read, which must not be later than the caller's first
        // query. This read also detects that a newer version has migrated the registry.
        schema::check_version(session.connection())?;
        self.identity.check()?;
        Ok(session)
    }

    /// Begins a write transaction.
    ///
    /// # Errors
    ///
    /// The errors of [`Identity::enable_writes`]; [`ErrorKind::Busy`].
    pub fn transaction(
        self: &Arc<Self>,
        watch: Option<&Watch>,
        busy_wait: Duration,
    ) -> Result<FileSession> {
        let mut session = self.lease(watch, busy_wait)?;
        session.is_writing = true;
        if let Some(connection) = &mut session.connection {
            self.identity.enable_writes(connection, self.is_written.get().is_none())?;
        }
        self.is_written.get_or_init(|| ());
        // A statement that adds many rows can be undone alone, so SQLite stores copies of the pages that it
        // changes. These few pages stay in memory: a change must not need a temporary file of SQLite, whose
        // directory can be full or unusable.
        session.connection().execute_batch("PRAGMA temp_store = MEMORY; BEGIN IMMEDIATE")?;
        schema::check_version(session.connection())?;
        self.identity.check()?;
        Ok(session)
    }

    /// Whether the registry can be read in several connections. A registry in memory, and a new one that is not
    /// in place yet, can have only one.
    pub fn has_many_connections(&self) -> bool {
        self.identity.file().is_some()
    }

    /// The connection that filled a registry in a file, for closing it. `None` means that it is already closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is still in use.
    pub fn into_connection(self: Arc<Self>) -> Result<Option<Connection>> {
        Ok(Arc::try_unwrap(self).map_err(|_| Error::busy())?.pool.into_one())
    }

    /// Closes all connections.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: a clone of the store is still in use. Errors that SQLite reports.
    pub fn close(self: Arc<Self>) -> Result<()> {
        let connections = Arc::try_unwrap(self).map_err(|_| Error::busy())?.pool.into_all();
        connections
            .into_iter()
            .try_for_each(|connection| connection.close().map_err(|(_, error)| Error::from(error)))
    }
}

impl StoreSession for FileSession {
    fn rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection().prepare_cached(sql.for_file())?;
        bind(&mut statement, values)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            each(row)?;
        }
        Ok(())
    }

    fn run(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<()> {
        let mut statement = self.connection().prepare_cached(sql.for_file())?;
        bind(&mut statement, values)?;
        statement.raw_execute()?;
        Ok(())
    }

    /// One statement adds many rows: SQLite finds the position of the next row from that of the last one. A
    /// statement for each row would begin at the root of the tree.
    fn insert(
        &self,
        table: &'static StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()> {
        let columns = table.all_columns().count();
        for values in values.chunks(columns * INSERTED_AT_ONCE) {
            let bytes: usize = values.iter().map(Value::bytes).sum();
            let is_full = values.len() == columns * INSERTED_AT_ONCE && bytes <= INSERTED_BYTES;
            let rows = if is_full { INSERTED_AT_ONCE } else { 1 };
            let mut statement = self.insert_statement(table, existing, rows)?;
            values.chunks(columns * rows).try_for_each(|values| execute(&mut statement, values))?;
        }
        Ok(())
    }

    fn page_rows(&self) -> u32 {
        // Pages of this size stay in the processor's cache: with 16,384 rows, a pass takes 1.1 times as long.
        1_024
    }

    fn page(&self, sql: &'static Sql, values: &[Value<'_>], packing: Packing) -> Result<Page> {
        let mut statement = self.connection().prepare_cached(sql.for_file())?;
        bind(&mut statement, values)?;
        let mut page = Page::default();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            page.push_id(row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?);
            if packing != Packing::Ids {
                page.push_period(row.get(1)?, row.get(2)?);
            }
            if packing == Packing::Produced {
                let producer = row.get_ref(3)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
                page.push_producer(producer.unwrap_or_default());
            }
        }
        Ok(page)
    }

    fn end_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>> {
        const END: &str = "
            UPDATE granule
            SET deleted = ?3
            WHERE dataset_id = ?1 AND granule_id = ?2 AND deleted IS NULL";
        let mut end = self.connection().prepare_cached(END)?;
        for (granule_id, deleted) in ends {
            let rows = end.execute(params![dataset.0, granule_id.as_str(), deleted.as_micros()])?;
            if rows != 1 {
                return Ok(Some(((*granule_id).clone(), rows)));
            }
        }
        Ok(None)
    }

    fn integrity(&self, _: &[DatasetKey]) -> Result<Vec<String>> {
        self.check_integrity()
    }

    fn check_unchanged(&self) -> Result<()> {
        self.store.identity.check_unchanged()
    }

    fn copy_beside(
        &self,
        target: &Path,
        progress: &mut dyn FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<NewFile> {
        let (of, source) = (self.store.path.as_deref(), self.connection());
        create::copy_beside(source, of, target, self.busy_wait, progress)
    }

    fn commit(self: Box<Self>) -> Result<()> {
        self.store.identity.check()?;
        Ok(self.connection().execute_batch("COMMIT")?)
    }
}

/// Binds values to a statement, which may have fewer parameters than there are values.
pub(super) fn bind(statement: &mut Statement<'_>, values: &[Value<'_>]) -> Result<()> {
    for (number, value) in (1..=statement.parameter_count()).zip(values) {
        statement.raw_bind_parameter(number, value)?;
    }
    Ok(())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let too_large = |error: std::num::TryFromIntError| {
            rusqlite::Error::ToSqlConversionFailure(error.into())
        };
        Ok(match self {
            Value::Null => Null.into(),
            Value::Int(value) => (*value).into(),
            Value::TooLarge(count) => i64::try_from(*count).map_err(too_large)?.into(),
            Value::Text(text) => (&**text).into(),
            Value::Bytes(bytes) => (&**bytes).into(),
            Value::Texts(texts) => list(texts.iter().map(|&text| text.to_owned().into())),
            Value::Ints(ints) => list(ints.iter().map(|&int| int.into())),
            Value::Identifiers(identifiers) => {
                list(identifiers.iter().map(|it| it.as_bytes().to_vec().into()))
            }
        })
    }
}

/// A list as a parameter of `rarray`.
fn list<'a>(values: impl Iterator<Item = rusqlite::types::Value>) -> ToSqlOutput<'a> {
    ToSqlOutput::from_rc(Rc::new(values.collect::<Vec<_>>()), c"rarray")
}

impl Columns for Row<'_> {
    fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(match self.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(value) => value.into(),
            ValueRef::Text(bytes) => {
                std::str::from_utf8(bytes).map_err(|error| wrong(self, column, error))?.into()
            }
            ValueRef::Blob(bytes) => bytes.into(),
            ValueRef::Real(_) => return Err(damaged("no column of a registry has fractions")),
        })
    }
}

/// The error for a value that is not of the type of its column.
fn wrong(row: &Row<'_>, column: usize, error: std::str::Utf8Error) -> Error {
    let name = row.as_ref().column_name(column).unwrap_or_default();
    damaged(format_args!("a value of the column {name} is not valid: {error}"))
}

/// The error for a registry that can have only one connection, while a snapshot of it is still open.
fn in_use() -> Error {
    let message =
        "the registry has only one connection, which a snapshot or another operation still uses";
    Error::stored(ErrorKind::Busy, message)
}

impl FileSession {
    pub(super) fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("a session has its connection until it is dropped")
    }
}

impl Drop for FileSession {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        // The watch must not interrupt the rollback.
        let mut is_reusable = connection.progress_handler(0, None::<fn() -> bool>).is_ok();
        if !connection.is_autocommit() {
            let rolled_back = connection.prepare_cached("ROLLBACK");
            is_reusable &= rolled_back.and_then(|mut rollback| rollback.execute([])).is_ok();
        }
        if self.is_writing {
            // A reader may sort more than fits into memory.
            is_reusable &= connection.execute_batch("PRAGMA temp_store = DEFAULT").is_ok();
            is_reusable &= self.store.identity.disable_writes(&connection).is_ok();
        }
        // A connection that fails to roll back is closed, which rolls back. The only connection of an in-memory
        // registry contains the registry, so it is always returned.
        if is_reusable || self.store.identity.file().is_none() {
            self.store.pool.put_back(connection);
        }
    }
}

/// The number of rows that one statement adds.
const INSERTED_AT_ONCE: usize = 64;

/// The greatest number of bytes that one statement adds. SQLite copies them, so longer rows are added one by
/// one.
const INSERTED_BYTES: usize = 4 * 1_024 * 1_024;

impl FileSession {
    /// A statement that adds this number of rows.
    fn insert_statement(
        &self,
        table: &StoredTable,
        existing: Existing,
        rows: usize,
    ) -> Result<CachedStatement<'_>> {
        let (into, then) = insertion(table, existing, "");
        let row = format!("({})", vec!["?"; table.all_columns().count()].join(", "));
        let sql = format!("{into} VALUES {}{then}", vec![row.as_str(); rows].join(", "));
        Ok(self.connection().prepare_cached(&sql)?)
    }
}

fn execute(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<()> {
    bind(statement, values)?;
    statement.raw_execute()?;
    Ok(())
}

/// The number of findings after which SQLite's check of the file stops.
const MAX_FINDINGS: u32 = 100;

impl FileSession {
    /// Returns the errors that SQLite's check of the pages and indexes finds, at most 100. Costs one pass over
    /// the whole file.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked. The others may
    /// have constraints that take hours to evaluate, or that fail.
    pub(super) fn check_integrity(&self) -> Result<Vec<String>> {
        let connection = self.connection();
        let mut findings = Vec::new();
        if schema::has_others(connection)? {
            for table in schema::tables() {
                let checked = integrity_check(connection, table, &mut findings);
                note_failure(checked, table, &mut findings)?;
            }
        } else {
            let checked = integrity_check(connection, MAX_FINDINGS, &mut findings);
            note_failure(checked, "the file", &mut findings)?;
        }
        Ok(by_index(findings))
    }
}

/// Combines the findings about rows that are missing from an index into one for each index.
fn by_index(findings: Vec<String>) -> Vec<String> {
    let mut grouped: Vec<(String, Option<String>, u64)> = Vec::new();
    for finding in findings {
        let index = finding.split_once(" missing from index ").map(|(_, index)| index.to_owned());
        let known = grouped.iter_mut().find(|(_, known, _)| known.is_some() && *known == index);
        match known {
            Some((.., others)) => *others += 1,
            None => grouped.push((finding, index, 0)),
        }
    }
    let text = |(first, _, others)| match others {
        0 => first,
        _ => format!("{first}, and {others} rows or more like it"),
    };
    grouped.into_iter().map(text).collect()
}

/// Adds the findings of SQLite's check of one table, or of the whole file, up to a number of findings.
fn integrity_check(
    connection: &Connection,
    of: impl ToSql,
    findings: &mut Vec<String>,
) -> Result<()> {
    let mut found: Vec<String> = Vec::new();
    connection.pragma(None, "integrity_check", of, |row| {
        found.push(row.get(0)?);
        Ok(())
    })?;
    findings.extend(found.into_iter().filter(|finding| finding != "ok"));
    Ok(())
}
