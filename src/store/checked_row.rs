//! Rows with a checksum each: reading a damaged row is an error.
//!
//! The checksum is the CRC-32 (IEEE) of the values of the other columns, in their order. It is computed when a
//! row is written, from the same bytes in both stores.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::LazyLock;

use super::page::{check_order, paged};
use super::rows::DatasetKey;
use super::session::{Transaction, View};
use super::statement::{Columns, Existing, Field, Sql, StoredTable, TABLES, Value, damaged};
use super::{Error, Result};
use crate::model::quoted;

/// A row of a table, without its first columns, which identify its owner.
pub(crate) trait Row: RowPart {
    fn table() -> &'static StoredTable;

    /// Removes the name of the person or program that recorded it.
    fn hide_recorder(&mut self) {}
}

/// One or several columns of a row.
pub(crate) trait RowPart: Sized {
    /// The number of columns.
    const COLUMNS: usize;

    /// Reads the columns, in their order.
    fn decode(reader: &mut Reader<'_>) -> Result<Self>;

    /// Adds the values of the columns, in their order.
    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>);
}

impl<F: Field> RowPart for F {
    const COLUMNS: usize = 1;

    fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        F::read(reader.value()?, reader.column - 1)
    }

    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        values.push(self.value());
    }
}

impl<A: RowPart, B: RowPart> RowPart for (A, B) {
    const COLUMNS: usize = A::COLUMNS + B::COLUMNS;

    fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        Ok((A::decode(reader)?, B::decode(reader)?))
    }

    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        self.0.encode(values);
        self.1.encode(values);
    }
}

/// Implements [`RowPart`] for a type with one field for each column, in their order. `beside` lists the fields
/// that the query selects in addition to the table's columns. The fields in `empty` get their default values.
macro_rules! part {
    ($part:ident { $($field:ident),+ $(,)? }
        $(beside { $($beside:ident),+ } empty { $($empty:ident),* })?) => {
        impl $crate::store::checked_row::RowPart for $part {
            const COLUMNS: usize = <[&str]>::len(&[$(stringify!($field)),+]);

            fn decode(reader: &mut $crate::store::checked_row::Reader<'_>) -> $crate::store::Result<Self> {
                Ok($part {
                    $($field: $crate::store::checked_row::RowPart::decode(reader)?,)+
                    $($($beside: reader.beside()?,)+ $($empty: Default::default(),)*)?
                })
            }

            fn encode<'a>(&'a self, values: &mut Vec<$crate::store::statement::Value<'a>>) {
                $($crate::store::checked_row::RowPart::encode(&self.$field, values);)+
            }
        }
    };
}

/// Implements [`RowPart`] for an `Option`: `None` is NULL in all its columns.
macro_rules! optional_part {
    ($part:ty) => {
        impl $crate::store::checked_row::RowPart for Option<$part> {
            const COLUMNS: usize = <$part as $crate::store::checked_row::RowPart>::COLUMNS;

            fn decode(
                reader: &mut $crate::store::checked_row::Reader<'_>,
            ) -> $crate::store::Result<Self> {
                if reader.skip_null(Self::COLUMNS)? {
                    return Ok(None);
                }
                $crate::store::checked_row::RowPart::decode(reader).map(Some)
            }

            fn encode<'a>(&'a self, values: &mut Vec<$crate::store::statement::Value<'a>>) {
                match self {
                    Some(part) => part.encode(values),
                    None => values.extend(std::iter::repeat_n(
                        $crate::store::statement::Value::Null,
                        Self::COLUMNS,
                    )),
                }
            }
        }
    };
}

/// Implements [`Row`] for a type with one field for each column of a table.
macro_rules! row {
    ($row:ident in $table:ident { $($field:ident),+ $(,)? } $(hides $($recorder:ident).+)?
        $(, $($rest:tt)+)?) => {
        $crate::store::checked_row::part!($row { $($field),+ } $($($rest)+)?);

        impl $crate::store::checked_row::Row for $row {
            fn table() -> &'static $crate::store::statement::StoredTable {
                &$crate::store::statement::$table
            }

            $(fn hide_recorder(&mut self) {
                self.$($recorder).+ = None;
            })?
        }
    };
}

pub(super) use {optional_part, part, row};

/// Enough bytes for the checked values of most rows.
pub(super) const CHECKED_BYTES: usize = 256;

/// Reads the columns of a row in order, each once.
pub(crate) struct Reader<'row> {
    row: &'row dyn Columns,
    column: usize,
    /// The next column that the query adds to those of the table.
    beside: usize,
    /// The bytes that the checksum of the row covers, as far as they were read.
    checked: &'row mut Vec<u8>,
}

impl<'row> Reader<'row> {
    /// Reads the next columns.
    pub(super) fn next<P: RowPart>(&mut self) -> Result<P> {
        P::decode(self)
    }

    /// Reads the next value that the query adds to the columns of the table.
    pub(super) fn beside<F: Field>(&mut self) -> Result<F> {
        self.beside += 1;
        self.row.get(self.beside - 1)
    }

    /// If the next column is NULL, skips this many columns and returns `true`.
    pub(super) fn skip_null(&mut self, columns: usize) -> Result<bool> {
        let is_null = self.row.value(self.column)? == Value::Null;
        if is_null {
            self.skip(columns)?;
        }
        Ok(is_null)
    }

    fn skip(&mut self, columns: usize) -> Result<()> {
        (0..columns).try_for_each(|_| self.value().map(drop))
    }

    /// Reads the next value.
    pub(super) fn value(&mut self) -> Result<Value<'row>> {
        let value = self.row.value(self.column)?;
        add(self.checked, &value);
        self.column += 1;
        Ok(value)
    }
}

/// Reads a row whose columns begin at column `first` of a query. `decode` must read all columns but those of
/// the owner. Also returns whether the row agrees with its checksum, which is true if its table has no
/// checksums. `checked` is a buffer.
fn read_by<T>(
    table: &StoredTable,
    row: &dyn Columns,
    first: usize,
    checked: &mut Vec<u8>,
    decode: impl FnOnce(&mut Reader<'_>) -> Result<T>,
) -> Result<(T, bool)> {
    checked.clear();
    let beside = first + table.columns.len() + 1;
    let mut reader = Reader { row, column: first, beside, checked };
    reader.skip(table.owner)?;
    let decoded = decode(&mut reader)?;
    debug_assert_eq!(reader.column, first + table.columns.len(), "{}", table.name);
    let is_sound = match table.what {
        Some(_) => row.value(reader.column)? == i64::from(crc32fast::hash(reader.checked)).into(),
        None => true,
    };
    Ok((decoded, is_sound))
}

/// Whether a row agrees with its checksum, which is the column after the others.
pub(super) fn is_sound(
    table: &StoredTable,
    row: &dyn Columns,
    first: usize,
    checked: &mut Vec<u8>,
) -> Result<bool> {
    let end = first + table.columns.len();
    checked.clear();
    for column in first..end {
        add(checked, &row.value(column)?);
    }
    Ok(row.value(end)? == i64::from(crc32fast::hash(checked)).into())
}

pub(super) fn row_check(values: &[Value<'_>], checked: &mut Vec<u8>) -> Value<'static> {
    checked.clear();
    values.iter().for_each(|value| add(checked, value));
    i64::from(crc32fast::hash(checked)).into()
}

/// Adds a value to the bytes that a checksum covers. NULL is one byte. Other values are a byte for their type
/// and 8 bytes, least significant first: the number, or the length of the bytes that follow.
///
/// Hashing a whole row at once takes a third of the time of updating a checksum value by value.
fn add(checked: &mut Vec<u8>, value: &Value<'_>) {
    let (kind, number, bytes): (u8, u64, &[u8]) = match value {
        Value::Null => return checked.push(0),
        Value::Int(value) => (1, value.cast_unsigned(), &[]),
        Value::TooLarge(count) => (1, *count, &[]),
        Value::Text(text) => (2, text.len() as u64, text.as_bytes()),
        Value::Bytes(bytes) => (3, bytes.len() as u64, bytes),
        Value::Texts(_) | Value::Ints(_) | Value::Identifiers(_) => {
            unreachable!("a column has a number, a string or bytes")
        }
    };
    checked.push(kind);
    checked.extend_from_slice(&number.to_le_bytes());
    checked.extend_from_slice(bytes);
}

/// The key of a row as text, with the names of its columns.
pub(super) fn position(table: &StoredTable, row: &dyn Columns, first: usize) -> Result<String> {
    let mut position = Vec::new();
    for (column, name) in table.columns[..table.key].iter().enumerate() {
        let value = match row.value(first + column)? {
            Value::Text(text) => quoted(&text).to_string(),
            Value::Int(value) => value.to_string(),
            _ => continue,
        };
        position.push(format!("{name} {value}"));
    }
    Ok(position.join(", "))
}

impl View {
    /// Reads a row whose columns begin at column `first` of a query. Also returns whether it agrees with its
    /// checksum. `checked` is a buffer.
    pub(super) fn read<R: Row>(
        &self,
        row: &dyn Columns,
        first: usize,
        checked: &mut Vec<u8>,
    ) -> Result<(R, bool)> {
        read_by(R::table(), row, first, checked, |reader| self.shown_row(reader))
    }

    /// Reads a row. In a public view, it does not contain the name of the person or program that recorded it.
    fn shown_row<R: Row>(&self, reader: &mut Reader<'_>) -> Result<R> {
        let mut row = R::decode(reader)?;
        if self.is_public() {
            row.hide_recorder();
        }
        Ok(row)
    }

    /// The rows of a query whose first columns are all columns of the table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](super::ErrorKind::Damaged): a row differs from its checksum.
    pub(super) fn select<R: Row>(&self, sql: &'static Sql, values: &[Value<'_>]) -> Result<Vec<R>> {
        self.select_with(sql, values, |row, _, _| Ok(row))
    }

    /// Like [`View::select`], but returns the results of `decode`. It gets a row, all columns of the query, and
    /// the number of the first column after those of the table.
    pub(super) fn select_with<R: Row, T>(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(R, &dyn Columns, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let table = R::table();
        let mut rows = Vec::new();
        let shown = |reader: &mut Reader<'_>| self.shown_row(reader);
        self.each_read(sql, values, table, shown, |read, row| {
            rows.push(decode(read, row, table.columns.len() + 1)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `each` for every row of a query whose first columns are all columns of a table.
    ///
    /// # Errors
    ///
    /// Errors of `each`; [`ErrorKind::Damaged`](super::ErrorKind::Damaged): a row differs from its checksum.
    pub(super) fn each_sound(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        table: &'static StoredTable,
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let columns = table.columns.len() - table.owner;
        self.each_read(sql, values, table, |reader| reader.skip(columns), |(), row| each(row))
    }

    /// Like [`View::each_sound`], but `decode` reads the columns of the table, without those of the owner.
    pub(super) fn each_read<T>(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
        table: &'static StoredTable,
        mut decode: impl FnMut(&mut Reader<'_>) -> Result<T>,
        mut each: impl FnMut(T, &dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let (mut checked, mut differing) = (Vec::with_capacity(CHECKED_BYTES), None);
        let read = self.session()?.rows(sql, values, &mut |row| {
            match read_by(table, row, 0, &mut checked, &mut decode) {
                Ok((decoded, true)) => return each(decoded, row),
                Err(error) if is_sound(table, row, 0, &mut checked)? => return Err(error),
                Ok((_, false)) | Err(_) => {}
            }
            let dataset = table.dataset_column().map(|column| row.get(column)).transpose()?;
            differing = Some((dataset, position(table, row, 0)?));
            Err(damaged("a row differs from its checksum"))
        });
        match differing {
            None => read,
            Some((dataset, position)) => Err(self.differs(table, dataset, &position)),
        }
    }

    /// The first `limit` rows of a dataset, in the order of their key. For a table whose rows belong to no
    /// dataset, `dataset` is `None`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](super::ErrorKind::Damaged): a row differs from its checksum, or they are not in
    /// order.
    pub fn first<R: Row>(
        &self,
        dataset: impl Into<Option<DatasetKey>>,
        limit: u32,
    ) -> Result<Vec<R>> {
        let rows = self.with_keys(dataset.into(), &[], [Rows::First; 2], limit)?;
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// All rows after a key, in its order. The key is given without the dataset; an empty one means from the
    /// first row. Each item may be an error that [`View::first`] returns.
    pub fn all<R: Row>(
        &self,
        dataset: impl Into<Option<DatasetKey>>,
        after: Vec<Value<'static>>,
    ) -> impl Iterator<Item = Result<R>> {
        self.in_pages(dataset.into(), after, [Rows::First, Rows::After])
    }

    /// Like [`View::all`], but only rows whose keys have the same first value.
    pub fn all_within<R: Row>(
        &self,
        dataset: impl Into<Option<DatasetKey>>,
        after: Vec<Value<'static>>,
    ) -> impl Iterator<Item = Result<R>> {
        self.in_pages(dataset.into(), after, [Rows::Within; 2])
    }

    fn in_pages<R: Row>(
        &self,
        dataset: Option<DatasetKey>,
        after: Vec<Value<'static>>,
        rows: [Rows; 2],
    ) -> impl Iterator<Item = Result<R>> {
        let page = move |after: &Key, limit| self.with_keys(dataset, after, rows, limit);
        paged(after, page, |(key, _): &(Key, R)| key.clone()).map(|row| row.map(|(_, row)| row))
    }

    fn with_keys<R: Row>(
        &self,
        dataset: Option<DatasetKey>,
        after: &[Value<'static>],
        rows: [Rows; 2],
        limit: u32,
    ) -> Result<Vec<(Key, R)>> {
        let table = R::table();
        let (sql, given) = page_of(table, dataset, after, rows, limit);
        let keyed = |row, columns: &dyn Columns, _| {
            let key = table.key_in_dataset().map(|column| Ok(columns.value(column)?.into_owned()));
            Ok((key.collect::<Result<Key>>()?, row))
        };
        let keyed: Vec<(Key, R)> = self.select_with(sql, &given, keyed)?;
        let start = Some(after).filter(|after| !after.is_empty());
        check_order(table.name, start, keyed.iter().map(|(key, _)| key.as_slice()))?;
        Ok(keyed)
    }

    /// The number of rows that a dataset has in a table.
    pub fn count_of<R: Row>(&self, dataset: DatasetKey) -> Result<u64> {
        self.count(&QUERIES[R::table().name].count, &[dataset.into()])
    }

    /// The highest number that is the key of a row of a dataset; numbers begin at 1. 0 means that the dataset
    /// has no rows.
    pub fn last_number<R: Row>(&self, dataset: DatasetKey) -> Result<u64> {
        self.count(&QUERIES[R::table().name].last, &[dataset.into()])
    }

    /// Calls `each` for at most `limit` rows after a key (empty means from the first), in a table with or
    /// without checksums.
    pub(super) fn each_after(
        &self,
        table: &'static StoredTable,
        dataset: Option<DatasetKey>,
        after: &[Value<'_>],
        limit: u32,
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let (sql, given) = page_of(table, dataset, after, [Rows::First, Rows::After], limit);
        match table.what {
            Some(_) => self.each_sound(sql, &given, table, each),
            None => self.session()?.rows(sql, &given, each),
        }
    }

    /// The error for a row that differs from its checksum.
    pub(super) fn differs(
        &self,
        table: &StoredTable,
        dataset: Option<i64>,
        position: &str,
    ) -> Error {
        static NAME: Sql = Sql::new("SELECT name FROM {dataset} WHERE id = ?1");
        let name = |key: i64| {
            let name = self.row(&NAME, &[key.into()], |row| row.get(0));
            name.ok().flatten().unwrap_or_else(|| format!("dataset {key}"))
        };
        differing(table, dataset.map(name).as_deref(), position)
    }
}

/// The error for a row that differs from its checksum. `dataset` is the dataset that it belongs to, if any.
pub(super) fn differing(
    table: &StoredTable,
    dataset: Option<&str>,
    position: impl Display,
) -> Error {
    let what = table.what.unwrap_or(table.name);
    let of = dataset.map_or(String::new(), |dataset| format!(" of {dataset}"));
    damaged(format_args!("{what}{of} differs from its checksum ({position})"))
}

/// The key of a row, without the dataset.
type Key = Vec<Value<'static>>;

/// The rows from which a page is read.
#[derive(Clone, Copy)]
enum Rows {
    First,
    /// The rows after a key.
    After,
    /// The rows after a key whose keys have the same first value.
    Within,
}

/// The query for the first page or, if `after` is not empty, for the page after that key, with its values.
fn page_of<'a>(
    table: &StoredTable,
    dataset: Option<DatasetKey>,
    after: &[Value<'a>],
    [first, next]: [Rows; 2],
    limit: u32,
) -> (&'static Sql, Vec<Value<'a>>) {
    let mut given: Vec<Value<'a>> = dataset.into_iter().map(Value::from).collect();
    given.extend_from_slice(after);
    given.push(limit.into());
    let rows = if after.is_empty() { first } else { next };
    (&QUERIES[table.name].pages[rows as usize], given)
}

/// The queries for the rows of a table.
struct TableQueries {
    /// Indexed by [`Rows`].
    pages: [Sql; 3],
    count: Sql,
    last: Sql,
}

static QUERIES: LazyLock<BTreeMap<&str, TableQueries>> =
    LazyLock::new(|| TABLES.iter().map(|table| (table.name, TableQueries::of(table))).collect());

impl TableQueries {
    fn of(table: &StoredTable) -> Self {
        let name = table.name;
        let keys = &table.columns[table.key_in_dataset()];
        let of_dataset = table.dataset_column().map(|column| table.columns[column]);
        let of_dataset = of_dataset.map(|column| format!("{column} = ?1"));
        let before = usize::from(of_dataset.is_some());
        // The conditions for keys that equal the given key in the first `alike` columns, and are greater in the
        // rest.
        let after = |alike: usize| {
            let given: Vec<_> = (1..=keys.len()).map(|key| format!("?{}", before + key)).collect();
            let equal =
                keys.iter().zip(&given).take(alike).map(|(key, it)| format!("{key} = {it}"));
            let rest = (keys[alike..].join(", "), given[alike..].join(", "));
            let greater = keys.get(alike).map(|_| format!("({}) > ({})", rest.0, rest.1));
            equal.chain(greater).collect::<Vec<_>>()
        };
        let query = |of_keys: Vec<String>| {
            let limit = before + 1 + if of_keys.is_empty() { 0 } else { keys.len() };
            let mut sql = format!("SELECT {{{name}.*}} FROM {{{name}}}");
            let conditions: Vec<_> = of_dataset.iter().cloned().chain(of_keys).collect();
            if !conditions.is_empty() {
                sql.push_str(&format!(" WHERE {}", conditions.join(" AND ")));
            }
            if !keys.is_empty() {
                sql.push_str(&format!(" ORDER BY {}", keys.join(", ")));
            }
            Sql::of(format!("{sql} LIMIT ?{limit}"))
        };
        let counting = |what: &str| {
            let of_dataset = of_dataset.as_deref().unwrap_or("true");
            Sql::of(format!("SELECT {what} FROM {{{name}}} WHERE {of_dataset}"))
        };
        let last = format!("coalesce(max({}), 0)", keys.last().unwrap_or(&"0"));
        TableQueries {
            pages: [query(Vec::new()), query(after(0)), query(after(keys.len().min(1)))],
            count: counting("count(*)"),
            last: counting(&last),
        }
    }
}

impl Transaction {
    /// Adds rows to a dataset, after locking it.
    pub fn insert<R: Row>(&self, dataset: DatasetKey, rows: &[R]) -> Result<()> {
        self.add(dataset, R::table(), Existing::Refused, rows, R::encode)
    }

    /// Adds a row to a dataset, after locking it, or replaces the row with the same key.
    pub fn put<R: Row>(&self, dataset: DatasetKey, row: &R) -> Result<()> {
        self.add(dataset, R::table(), Existing::Replaced, std::slice::from_ref(row), R::encode)
    }

    /// Adds rows to a dataset, after locking it. `encode` appends the values of a row, without the owner, to a
    /// list.
    pub(super) fn add<'a, T>(
        &self,
        dataset: DatasetKey,
        table: &'static StoredTable,
        existing: Existing,
        rows: &'a [T],
        encode: impl Fn(&'a T, &mut Vec<Value<'a>>),
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.session()?.lock(dataset)?;
        let mut values = Vec::with_capacity(rows.len() * (table.columns.len() + 1));
        let mut checked = Vec::with_capacity(CHECKED_BYTES);
        for row in rows {
            let first = values.len();
            if table.owner > 0 {
                values.push(dataset.into());
            }
            encode(row, &mut values);
            debug_assert_eq!(values.len() - first, table.columns.len(), "{}", table.name);
            if table.what.is_some() {
                values.push(row_check(&values[first..], &mut checked));
            }
        }
        self.session()?.insert(table, existing, &values)
    }
}
