//! One connection to the server, the state of its transaction, and the encoding of the values of statements.

use std::cell::{Cell, RefCell};
use std::future::ready;
use std::pin::{Pin, pin};

use bytes::BytesMut;
use futures_util::TryStreamExt;
use futures_util::future::{try_join, try_join_all};
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Row, RowStream, SimpleQueryMessage};

use super::address::Endpoint;
use super::driver::{Answered, Driver};
use crate::store::statement::{Columns, Value};
use crate::store::{Error, Result, Watch};

/// The greatest number of statements that wait to be sent with the next one.
const MAX_DEFERRED: usize = 16;

/// The waiting statements are sent when their values have this total size in bytes.
const MAX_DEFERRED_BYTES: usize = 8 * 1_024 * 1_024;

/// The greatest number of rows that a statement adds; a power of two.
const MAX_ROWS: usize = 512;

/// A connection to the server.
///
/// Statements are unnamed and state the types of their parameters. So they take one round trip and leave
/// nothing in the session, and a pooler may give the next transaction another session. A statement whose result
/// is not needed is sent together with the next one.
pub(super) struct Connection {
    driver: Driver,
    deferred: RefCell<Vec<Statement>>,
    watch: RefCell<Option<Watch>>,
    /// Whether a statement failed. The server then rejects all later statements of the transaction.
    has_failed: Cell<bool>,
}

/// A statement that is not sent yet.
struct Statement {
    sql: String,
    values: Vec<Encoded>,
}

impl Statement {
    fn bytes(&self) -> usize {
        let bytes = |value: &Encoded| value.0.as_ref().map_or(0, |bytes| bytes.len());
        self.values.iter().map(bytes).sum()
    }
}

impl Connection {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreachable`], with what the server or the network reported.
    pub fn open(address: &Endpoint) -> Result<Self> {
        Ok(Connection {
            driver: Driver::connect(address)?,
            deferred: RefCell::default(),
            watch: RefCell::new(None),
            has_failed: Cell::new(false),
        })
    }

    /// Ends the connection.
    ///
    /// # Errors
    ///
    /// The error that the connection was lost before.
    pub fn close(self) -> Result<()> {
        self.driver.close()
    }

    /// Whether the connection is known to be lost.
    pub fn is_closed(&self) -> bool {
        self.driver.is_closed()
    }

    /// Whether a statement of the current transaction failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Sets the function that returns whether to stop. It is called before each statement.
    pub fn set_watch(&self, watch: Option<&Watch>) {
        *self.watch.borrow_mut() = watch.cloned();
    }

    /// Runs statements without parameters or results, in one round trip.
    pub fn run(&self, sql: &str) -> Result<()> {
        self.send(|client| client.batch_execute(sql))
    }

    /// Commits the transaction. Returns whether the server sent no warning: Citus warns if a machine did not
    /// confirm its part.
    pub fn commit(&self) -> Result<bool> {
        self.driver.take_warned();
        self.run("COMMIT")?;
        Ok(!self.driver.take_warned())
    }

    /// Runs a statement that rolls back a transaction, or a part of it. Deferred statements are discarded.
    pub fn roll_back(&self, sql: &str) -> Result<()> {
        self.deferred.borrow_mut().clear();
        self.run(sql)
    }

    /// Begins a transaction with some statements, each sent as its own message, in one round trip. Returns the
    /// last row that they return, as text.
    pub fn begin(&self, statements: &[String]) -> Result<Vec<Option<String>>> {
        self.has_failed.set(false);
        self.run_each(statements)
    }

    /// Runs statements in the current transaction, as [`Connection::begin`] does.
    pub fn run_each(&self, statements: &[String]) -> Result<Vec<Option<String>>> {
        let messages = self
            .send(|client| try_join_all(statements.iter().map(|sql| client.simple_query(sql))))?;
        let row = messages.iter().flatten().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let Some(row) = row else { return Ok(Vec::new()) };
        let columns = 0..row.len();
        let text = |index| row.try_get(index).map(|text| text.map(ToOwned::to_owned));
        columns.map(|index| text(index).map_err(|error| (&error).into())).collect()
    }

    /// Runs a query, and returns its rows.
    pub fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>> {
        self.check_watch()?;
        let values = borrowed(values);
        self.send(|client| client.query_typed(sql, &values))
    }

    /// Calls `each` for the rows of a query, as they arrive. Only some of the rows are in memory at once.
    /// `each` must not use this connection.
    ///
    /// # Errors
    ///
    /// An error of `each`, which ends the reading; an error that the server reported.
    pub fn each_row(
        &self,
        sql: &str,
        values: &[Value<'_>],
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        self.check_watch()?;
        let values = borrowed(values);
        let (mut rows, mut rest) = self.send(async move |client| {
            next_rows(Box::pin(client.query_typed_raw(sql, values).await?)).await
        })?;
        loop {
            rows.iter().try_for_each(&mut *each)?;
            let Some(stream) = rest else { return Ok(()) };
            self.check_watch()?;
            (rows, rest) = self.receive(next_rows(stream))?;
        }
    }

    /// Runs two queries in one round trip, and returns their rows. The second query sees the changes of the
    /// first.
    pub fn query_both(
        &self,
        [first, second]: [(&str, &[Value<'_>]); 2],
    ) -> Result<(Vec<Row>, Vec<Row>)> {
        self.check_watch()?;
        let [first, second] = [first, second].map(|(sql, values)| (sql, borrowed(values)));
        self.send(|client| {
            try_join(client.query_typed(first.0, &first.1), client.query_typed(second.0, &second.1))
        })
    }

    /// Runs a query with at most one row. `None` means that there is no row.
    pub fn query_opt(&self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, values)?.into_iter().next())
    }

    /// Runs a statement, and waits for it.
    pub fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<()> {
        self.query(sql, values).map(|_| ())
    }

    /// Runs a statement of a transaction whose result is not needed. It is sent together with the next
    /// statement that is waited for. That is at the latest the COMMIT, which then returns the error.
    pub fn defer(&self, sql: &str, values: &[Value<'_>]) -> Result<()> {
        self.check_watch()?;
        let values = values.iter().map(Encoded::of).collect::<Result<_>>()?;
        self.defer_encoded(Statement { sql: sql.to_owned(), values })
    }

    fn defer_encoded(&self, statement: Statement) -> Result<()> {
        let is_full = {
            let mut deferred = self.deferred.borrow_mut();
            deferred.push(statement);
            let bytes: usize = deferred.iter().map(Statement::bytes).sum();
            deferred.len() == MAX_DEFERRED || bytes >= MAX_DEFERRED_BYTES
        };
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Adds rows to a table, as [`Connection::defer`] does. `into` is the text of the statement before VALUES,
    /// and `then` the text after the rows.
    ///
    /// Planning a statement for many rows costs a server little more than for one row. A cluster sends it to
    /// one machine, which commits it alone; if the rows came from a query, the cluster would collect them
    /// first. The numbers of rows are powers of two, so that there are few different statements.
    pub fn insert(
        &self,
        into: &str,
        then: &str,
        columns: usize,
        mut values: &[Value<'_>],
    ) -> Result<()> {
        while !values.is_empty() {
            let rows = 1 << (values.len() / columns).ilog2().min(MAX_ROWS.ilog2());
            let (batch, rest) = values.split_at(rows * columns);
            values = rest;
            self.check_watch()?;
            let mut sql = format!("{into} VALUES ");
            for number in 1..=batch.len() {
                sql.push_str(match (number, number % columns == 1 % columns) {
                    (1, _) => "(",
                    (_, true) => "), (",
                    (_, false) => ", ",
                });
                sql.push_str(&format!("${number}"));
            }
            sql.push(')');
            sql.push_str(then);
            let values = batch.iter().map(Encoded::of).collect::<Result<_>>()?;
            self.defer_encoded(Statement { sql, values })?;
        }
        Ok(())
    }

    /// Sends the deferred statements.
    pub fn flush(&self) -> Result<()> {
        let is_empty = self.deferred.borrow().is_empty();
        if is_empty { Ok(()) } else { self.send(|_| ready(Ok(()))) }
    }

    /// Adds rows with a COPY, whose columns have these types. For thousands of rows this costs the server about
    /// half as much as INSERT.
    pub fn copy_in(
        &self,
        sql: &str,
        types: &[Type],
        columns: usize,
        values: &[Value<'_>],
    ) -> Result<()> {
        self.check_watch()?;
        let copied = self.send(async move |client| {
            let mut writer = pin!(BinaryCopyInWriter::new(client.copy_in(sql).await?, types));
            for row in values.chunks(columns) {
                writer.as_mut().write_raw(row).await?;
            }
            writer.finish().await
        });
        copied.map(|_| ())
    }

    /// Sends the deferred statements and then `last`, and waits for all responses. The requests are sent in
    /// order, before any response has arrived; if one cannot be sent, the later ones are not sent either.
    fn send<'client, T: Send, Last: Future<Output = Answered<T>> + Send>(
        &'client self,
        last: impl FnOnce(&'client Client) -> Last,
    ) -> Result<T> {
        let deferred = self.deferred.take();
        let client = self.driver.client();
        let execute = async |statement: &Statement| {
            client.execute_typed(&statement.sql, &borrowed_encoded(&statement.values)).await
        };
        let deferred = try_join_all(deferred.iter().map(execute));
        self.receive(try_join(deferred, last(client))).map(|(_, answer)| answer)
    }

    /// Waits for a response from the server.
    fn receive<T: Send>(&self, answer: impl Future<Output = Answered<T>> + Send) -> Result<T> {
        let answered = self.driver.wait(answer);
        self.has_failed.set(self.has_failed.get() || answered.is_err());
        answered
    }

    fn check_watch(&self) -> Result<()> {
        match &*self.watch.borrow() {
            Some(watch) if watch() => Err(Error::interrupted()),
            _ => Ok(()),
        }
    }
}

/// The approximate size in bytes of the rows that are in memory at once.
const ROWS_BYTES: usize = 256 * 1_024;

/// The rows of a query that the client has not read yet.
type Rest = Pin<Box<RowStream>>;

/// The next rows of a query, in total [`ROWS_BYTES`] or a little more, and the rest of the query. `None` for
/// the rest means that these rows are the last ones.
async fn next_rows(mut rest: Rest) -> Answered<(Vec<Row>, Option<Rest>)> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < ROWS_BYTES {
        let Some(row) = rest.try_next().await? else { return Ok((rows, None)) };
        bytes += row.raw_size_bytes();
        rows.push(row);
    }
    Ok((rows, Some(rest)))
}

/// The value in a column of a row.
///
/// # Errors
///
/// [`ErrorKind::Damaged`]: it is not of the type of the column.
pub(super) fn value<'row, T: FromSql<'row>>(row: &'row Row, index: usize) -> Result<T> {
    row.try_get(index).map_err(|error| Error::damaged(Error::chain_of(&error)))
}

impl Columns for Row {
    fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(match *self.columns()[column].type_() {
            Type::TEXT => value::<Option<&str>>(self, column)?.into(),
            Type::BYTEA => value::<Option<&[u8]>>(self, column)?.into(),
            Type::BOOL => value::<Option<bool>>(self, column)?.map(i64::from).into(),
            Type::INT4 => value::<Option<i32>>(self, column)?.map(i64::from).into(),
            _ => value::<Option<i64>>(self, column)?.into(),
        })
    }
}

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl Value<'_> {
    /// The SQL type with which a value is sent. NULL takes its type from the column that it is written into.
    pub(super) fn sql_type(&self) -> Type {
        match self {
            Value::Null => Type::UNKNOWN,
            Value::Int(_) | Value::TooLarge(_) => Type::INT8,
            Value::Text(_) => Type::TEXT,
            Value::Bytes(_) => Type::BYTEA,
            Value::Texts(_) => Type::TEXT_ARRAY,
            Value::Ints(_) => Type::INT8_ARRAY,
            Value::Identifiers(_) => Type::BYTEA_ARRAY,
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, its_type: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) => value.to_sql(its_type, out),
            Value::TooLarge(count) => Err(format!("the number {count}").into()),
            Value::Text(text) => text.to_sql(its_type, out),
            Value::Bytes(bytes) => bytes.to_sql(its_type, out),
            Value::Texts(texts) => texts.to_sql(its_type, out),
            Value::Ints(ints) => ints.to_sql(its_type, out),
            Value::Identifiers(identifiers) => {
                let bytes: Vec<&[u8]> = identifiers.iter().map(|it| &it.as_bytes()[..]).collect();
                bytes.to_sql(its_type, out)
            }
        }
    }

    /// Every value is sent with [`Value::sql_type`].
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Values in the form that the driver accepts.
pub(super) type Borrowed<'value> = Vec<(&'value (dyn ToSql + Sync), Type)>;

pub(super) fn borrowed<'value>(values: &'value [Value<'_>]) -> Borrowed<'value> {
    values.iter().map(|value| (value as _, value.sql_type())).collect()
}

/// A value in the form in which it is sent, independent of the value that it was made from. `None` is NULL.
#[derive(Debug)]
pub(super) struct Encoded(Option<BytesMut>, Type);

impl Encoded {
    /// Encodes a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Database`]: it cannot be encoded.
    pub fn of(value: &Value<'_>) -> Result<Self> {
        let (mut bytes, its_type) = (BytesMut::new(), value.sql_type());
        let is_null = value
            .to_sql(&its_type, &mut bytes)
            .map_err(|error| Error::unstorable(error.to_string()))?;
        let bytes = match is_null {
            IsNull::Yes => None,
            IsNull::No => Some(bytes),
        };
        Ok(Encoded(bytes, its_type))
    }
}

/// Encoded values in the form that the driver accepts.
pub(super) fn borrowed_encoded(values: &[Encoded]) -> Borrowed<'_> {
    values.iter().map(|value| (value as _, value.1.clone())).collect()
}

impl ToSql for Encoded {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
