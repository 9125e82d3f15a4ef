//! One connection to the server, and the state of its transaction.

use std::cell::{Cell, RefCell};

use ::postgres::binary_copy::BinaryCopyInWriter;
use ::postgres::types::{ToSql, Type};
use ::postgres::{Client, Row, SimpleQueryMessage};

use super::address::Address;
use super::error::of_connecting;
use super::tls;
use crate::store::{Error, Result, Watch};

/// A parameter of a statement, and its type.
pub(super) type Parameter<'value> = (Box<dyn ToSql + Sync + 'value>, Type);

/// The result of writing a row of a COPY.
pub(super) type Written = std::result::Result<(), ::postgres::Error>;

/// A connection to the server.
///
/// Statements are unnamed, with the types of their parameters stated: they take one round trip, and
/// nothing of them remains in the session, so that a pooler may give the next transaction another
/// one.
pub(super) struct Connection {
    client: Box<RefCell<Client>>,
    watch: RefCell<Option<Watch>>,
    /// Whether a statement failed, after which the server refuses all others of the transaction.
    has_failed: Cell<bool>,
}

impl Connection {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`Error::Unreachable`], with what the server or the network reported.
    pub fn open(address: &Address) -> Result<Self> {
        let connector = tls::connector(&address.tls)?;
        let client = address.config.connect(connector).map_err(|error| of_connecting(&error))?;
        Ok(Connection {
            client: Box::new(RefCell::new(client)),
            watch: RefCell::new(None),
            has_failed: Cell::new(false),
        })
    }

    /// Whether the connection is known to be lost.
    pub fn is_closed(&self) -> bool {
        self.client.borrow().is_closed()
    }

    /// Whether a statement of the present transaction failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.get()
    }

    /// Sets what decides whether to stop; it is called before each statement.
    pub fn set_watch(&self, watch: Option<&Watch>) {
        *self.watch.borrow_mut() = watch.cloned();
    }

    /// Runs statements without parameters or results, in one round trip.
    pub fn run(&self, sql: &str) -> Result<()> {
        self.note(self.client.borrow_mut().batch_execute(sql))
    }

    /// Begins a transaction with some statements, and returns the last row that they return, as
    /// text.
    pub fn begin(&self, sql: &str) -> Result<Vec<Option<String>>> {
        self.has_failed.set(false);
        let messages = self.note(self.client.borrow_mut().simple_query(sql))?;
        let row = messages.iter().rev().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let Some(row) = row else { return Ok(Vec::new()) };
        let columns = 0..row.len();
        columns.map(|index| Ok(row.try_get(index)?.map(ToOwned::to_owned))).collect()
    }

    /// The rows of a query.
    pub fn query(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>> {
        self.check_watch()?;
        self.note(self.client.borrow_mut().query_typed(sql, &borrowed(parameters)))
    }

    /// The only row of a query. `None` means that there is none.
    pub fn query_opt(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Option<Row>> {
        Ok(self.query(sql, parameters)?.into_iter().next())
    }

    /// Runs a statement; returns how many rows it changed.
    pub fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.check_watch()?;
        self.note(self.client.borrow_mut().execute_typed(sql, &borrowed(parameters)))
    }

    /// Runs a COPY of rows from the client, with values of these types. For thousands of rows this
    /// costs the server about half as much as INSERT.
    pub fn copy_in<Row>(
        &self,
        sql: &str,
        types: &[Type],
        rows: &[Row],
        write: impl Fn(&mut BinaryCopyInWriter<'_>, &Row) -> Written,
    ) -> Result<()> {
        self.check_watch()?;
        let mut client = self.client.borrow_mut();
        let mut copy = || {
            let mut writer = BinaryCopyInWriter::new(client.copy_in(sql)?, types);
            rows.iter().try_for_each(|row| write(&mut writer, row))?;
            writer.finish()
        };
        self.note(copy()).map(|_| ())
    }

    fn check_watch(&self) -> Result<()> {
        match &*self.watch.borrow() {
            Some(watch) if watch() => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }

    fn note<T>(&self, result: std::result::Result<T, ::postgres::Error>) -> Result<T> {
        result.map_err(|error| {
            self.has_failed.set(true);
            error.into()
        })
    }
}

fn borrowed<'value>(
    parameters: &'value [Parameter<'_>],
) -> Vec<(&'value (dyn ToSql + Sync), Type)> {
    parameters.iter().map(|(value, its_type)| (value.as_ref() as _, its_type.clone())).collect()
}

/// A `bigint` parameter.
pub(super) fn bigint(value: i64) -> Parameter<'static> {
    (Box::new(value), Type::INT8)
}

/// A `bigint` parameter that can be null.
pub(super) fn bigint_or_null(value: Option<i64>) -> Parameter<'static> {
    (Box::new(value), Type::INT8)
}

/// An `integer` parameter that can be null.
pub(super) fn integer(value: impl Into<Option<i32>>) -> Parameter<'static> {
    (Box::new(value.into()), Type::INT4)
}

/// A `text` parameter.
pub(super) fn text(value: &str) -> Parameter<'_> {
    (Box::new(value), Type::TEXT)
}

/// A `text` parameter that can be null.
pub(super) fn text_or_null(value: Option<&str>) -> Parameter<'_> {
    (Box::new(value), Type::TEXT)
}

/// A `bytea` parameter.
pub(super) fn bytes(value: &[u8]) -> Parameter<'_> {
    (Box::new(value), Type::BYTEA)
}

/// A `boolean` parameter.
pub(super) fn boolean(value: bool) -> Parameter<'static> {
    (Box::new(value), Type::BOOL)
}

/// An array as a parameter.
pub(super) fn array<'value>(
    values: &'value (impl ToSql + Sync),
    array_type: Type,
) -> Parameter<'value> {
    (Box::new(values), array_type)
}
