//! Rows with checksums of their own: a row that was damaged is an error of whoever reads it.
//!
//! The checksum is the CRC-32 (IEEE) of the values of the other columns, in their order. It is computed
//! when a row is written, in both stores from the same bytes.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::rows::DatasetKey;
use super::session::{Snapshot, Transaction};
use super::statement::{Columns, Existing, Scope, Sql, Value, damaged};
use super::statement::{TABLES, Table};
use super::{Error, Result};
use crate::model::{
    Content, DatasetName, Digest, GranuleId, Identifier, LineCheck, Timestamp, quoted,
};

/// A row of a table. The column `dataset_id` is not part of it where it is the first one.
pub(crate) trait Row: Sized {
    fn table() -> &'static Table;

    /// Reads the columns of a row, in their order.
    fn decode(reader: &mut Reader<'_>) -> Result<Self>;

    /// Removes the name of who recorded it.
    fn hide_recorder(&mut self) {}
}

/// A row that is written whole.
pub(crate) trait Written: Row {
    /// Adds the values of the columns, in their order.
    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>);
}

/// Implements [`Row`] and [`Written`] for a type that has a field for each column, in the order of the columns.
macro_rules! row {
    ($row:ident in $table:ident { $($field:ident),+ $(,)? } $(hides $recorder:ident)?) => {
        impl $crate::store::row::Row for $row {
            fn table() -> &'static $crate::store::statement::Table {
                &$crate::store::statement::$table
            }

            fn decode(reader: &mut $crate::store::row::Reader<'_>) -> $crate::store::Result<Self> {
                Ok($row { $($field: reader.next()?),+ })
            }

            $(fn hide_recorder(&mut self) {
                self.$recorder = None;
            })?
        }

        impl $crate::store::row::Written for $row {
            fn encode<'a>(&'a self, values: &mut Vec<$crate::store::statement::Value<'a>>) {
                $(values.push($crate::store::row::Field::value(&self.$field));)+
            }
        }
    };
}

pub(super) use row;

/// A value of a column.
pub(super) trait Field: Sized {
    fn read(row: &dyn Columns, column: usize) -> Result<Self>;

    fn value(&self) -> Value<'_>;
}

macro_rules! fields {
    ($($field:ty: $read:ident, $value:expr;)+) => {
        $(impl Field for $field {
            fn read(row: &dyn Columns, column: usize) -> Result<Self> {
                row.$read(column)
            }

            fn value(&self) -> Value<'_> {
                let value: fn(&Self) -> Value<'_> = $value;
                value(self)
            }
        })+
    };
}

fields! {
    u64: count, |count| (*count).into();
    u32: small_count, |count| (*count).into();
    bool: boolean, |flag| i64::from(*flag).into();
    Timestamp: instant, |timestamp| (*timestamp).into();
    Option<Timestamp>: instant_or_null, |timestamp| (*timestamp).into();
    Identifier: identifier, |identifier| (*identifier).into();
    Digest: digest, |digest| digest.into();
    LineCheck: line_check, |check| check.into();
    Vec<u8>: byte_string, |bytes| bytes.as_slice().into();
    String: string, |text| text.as_str().into();
    Option<String>: string_or_null, |text| text.as_deref().into();
    DatasetKey: dataset_key, |dataset| (*dataset).into();
    DatasetName: dataset_name, |name| name.into();
    GranuleId: granule_id, |granule_id| granule_id.into();
    Content: content, |content| content.encoded().as_bytes().into();
}

/// The bytes that the checksum of a row is of. What the values of most rows take is there from the start.
pub(super) struct CheckedBytes(Vec<u8>);

impl Default for CheckedBytes {
    fn default() -> Self {
        CheckedBytes(Vec::with_capacity(256))
    }
}

/// The columns of a row, one after the other.
pub(crate) struct Reader<'row> {
    row: &'row dyn Columns,
    column: usize,
}

impl Reader<'_> {
    /// The value in the next column.
    pub(super) fn next<F: Field>(&mut self) -> Result<F> {
        self.column += 1;
        F::read(self.row, self.column - 1)
    }
}

/// Whether a row agrees with its checksum, which is in the column after the others.
pub(super) fn is_sound(
    table: &Table,
    row: &dyn Columns,
    first: usize,
    CheckedBytes(checked): &mut CheckedBytes,
) -> Result<bool> {
    let end = first + table.columns.len();
    checked.clear();
    for column in first..end {
        add(checked, &row.value(column)?);
    }
    let stated = i64::from(crc32fast::hash(checked));
    Ok(matches!(row.value(end)?, Value::Int(Some(check)) if check == stated))
}

fn row_check(values: &[Value<'_>], CheckedBytes(checked): &mut CheckedBytes) -> Value<'static> {
    checked.clear();
    values.iter().for_each(|value| add(checked, value));
    i64::from(crc32fast::hash(checked)).into()
}

/// Adds a value to what a checksum is of: its type, and a number in 8 bytes, the least significant first,
/// or the length in as many bytes, and the bytes. What is NULL is one byte.
///
/// The checksum of a row in one piece takes a third of the time of one that is updated value by value.
fn add(checked: &mut Vec<u8>, value: &Value<'_>) {
    let sized = |kind, bytes| Some((kind, <[u8]>::len(bytes) as u64, bytes));
    let added: Option<(u8, u64, &[u8])> = match value {
        Value::Int(value) => value.map(|value| (1, value.cast_unsigned(), [].as_slice())),
        Value::Count(count) => count.map(|count| (1, count, [].as_slice())),
        Value::Text(text) => text.as_ref().and_then(|text| sized(2, text.as_bytes())),
        Value::Identifier(identifier) => sized(3, identifier.as_bytes()),
        Value::Bytes(bytes) => sized(3, bytes),
        Value::Flag(_) | Value::Texts(_) | Value::Ints(_) | Value::Identifiers(_) => {
            unreachable!("a column has a number, a string or bytes")
        }
    };
    match added {
        None => checked.push(0),
        Some((kind, number, bytes)) => {
            checked.push(kind);
            checked.extend_from_slice(&number.to_le_bytes());
            checked.extend_from_slice(bytes);
        }
    }
}

/// Which row of its table a row is, by its key.
pub(super) fn position(table: &Table, row: &dyn Columns, first: usize) -> Result<String> {
    let mut position = Vec::new();
    for (column, name) in table.columns[..table.key].iter().enumerate() {
        let value = match row.value(first + column)? {
            Value::Text(text) => quoted(&text.unwrap_or_default()).to_string(),
            Value::Int(value) => value.unwrap_or_default().to_string(),
            _ => continue,
        };
        position.push(format!("{name} {value}"));
    }
    Ok(position.join(", "))
}

impl Snapshot {
    /// The rows of a query that begins with all columns of their table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](super::ErrorKind::Damaged): a row differs from its checksum.
    pub(super) fn select<R: Row>(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<Vec<R>> {
        self.select_with(scope, sql, values, |row, _, _| Ok(row))
    }

    /// The same, with what `decode` makes of a row and of the columns from a number on, which are after
    /// those of the table.
    pub(super) fn select_with<R: Row, T>(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
        decode: impl Fn(R, &dyn Columns, usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        let end = R::table().columns.len() + 1;
        let mut rows = Vec::new();
        self.each_sound(scope, sql, values, R::table(), &mut |row| {
            rows.push(decode(self.decoded(row, 0)?, row, end)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Calls `each` for the rows of a query that begins with all columns of a table.
    ///
    /// # Errors
    ///
    /// Those of `each`; [`ErrorKind::Damaged`](super::ErrorKind::Damaged): a row differs from its checksum.
    pub(super) fn each_sound(
        &self,
        scope: Scope,
        sql: &'static Sql,
        values: &[Value<'_>],
        table: &'static Table,
        each: &mut dyn FnMut(&dyn Columns) -> Result<()>,
    ) -> Result<()> {
        let mut checked = CheckedBytes::default();
        let mut differing = None;
        let read = self.session.rows(scope, sql, values, &mut |row| {
            if !is_sound(table, row, 0, &mut checked)? {
                let dataset = table.dataset_column().map(|column| row.int(column)).transpose()?;
                differing = Some((dataset, position(table, row, 0)?));
                return Err(damaged("a row differs from its checksum"));
            }
            each(row)
        });
        match differing {
            None => read,
            Some((dataset, position)) => Err(self.differs(table, dataset, &position)),
        }
    }

    /// The row whose columns begin with one of a query. Nothing is compared with its checksum.
    pub(super) fn decoded<R: Row>(&self, row: &dyn Columns, first: usize) -> Result<R> {
        let column = first + usize::from(R::table().begins_with_dataset());
        let mut decoded = R::decode(&mut Reader { row, column })?;
        if self.is_public() {
            decoded.hide_recorder();
        }
        Ok(decoded)
    }

    /// The error of a row that differs from its checksum.
    pub(super) fn differs(&self, table: &Table, dataset: Option<i64>, position: &str) -> Error {
        static NAME: Sql = Sql::new("SELECT name FROM {dataset} WHERE id = ?1");
        let name = |key: i64| {
            let name = self.row(Scope::Registry, &NAME, &[key.into()], |row| row.string(0));
            let name = name.ok().flatten().unwrap_or_else(|| format!("dataset {key}"));
            format!(" of {name}")
        };
        let (what, of) = (table.what.unwrap_or(table.name), dataset.map_or(String::new(), name));
        damaged(format_args!("{what}{of} differs from its checksum ({position})"))
    }

    /// The errors that SQLite's check of the pages and indexes finds, the rows that differ from their
    /// checksums, and the rows that refer to a row that does not exist; at most 100 findings for
    /// each table. Costs one pass over the whole file. On a server, only the rows of these datasets
    /// are checked, unless none is given.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked:
    /// the others may have constraints that take hours to evaluate, or that fail.
    pub fn integrity(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        let mut findings = self.session.integrity(datasets)?;
        // The verification of a dataset names each damaged row of its history.
        let is_checked = |table: &&Table| table.what.is_some() && table.name != "instance";
        for table in TABLES.into_iter().filter(is_checked) {
            match self.differing_rows(table, datasets) {
                Ok((0, _)) => {}
                Ok((rows, first)) => findings.push(format!(
                    "{rows} rows of {} differ from their checksums, first that of {first}",
                    table.name
                )),
                Err(error) if error.kind().is_of_content() => {
                    let (table, cause) = (table.name, error.reason());
                    findings.push(format!("the check of {table} failed before its end: {cause}"));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(findings)
    }

    /// How many rows of a table differ from their checksums, and the position of the first of them: of
    /// these datasets, or of all if none is given.
    fn differing_rows(&self, table: &Table, datasets: &[DatasetKey]) -> Result<(u64, String)> {
        let all = vec![(Scope::AllDatasets, Vec::new())];
        let column = table.dataset_column();
        let parts = match datasets {
            [] => all,
            _ if column.is_none() => Vec::new(),
            _ => datasets.iter().map(|it| (Scope::Dataset(*it), vec![Value::from(*it)])).collect(),
        };
        let [every, of_dataset] = &WHOLE_TABLES[table.name];
        let mut found = (0, String::new());
        for (scope, values) in parts {
            let sql = if values.is_empty() { every } else { of_dataset };
            let mut checked = CheckedBytes::default();
            self.session.rows(scope, sql, &values, &mut |row| {
                if !is_sound(table, row, 0, &mut checked)? {
                    if found.0 == 0 {
                        found.1 = position(table, row, 0)?;
                    }
                    found.0 += 1;
                }
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// The queries for all rows of each table with checksums, and for those of a dataset.
static WHOLE_TABLES: LazyLock<BTreeMap<&str, [Sql; 2]>> = LazyLock::new(|| {
    let queries = |table: &&'static Table| {
        let name = table.name;
        let column = table.dataset_column().map_or("NULL", |column| table.columns[column]);
        let every = format!("SELECT {{{name}.*}} FROM {{{name}}}");
        let of_dataset = format!("{every} WHERE {column} = ?1");
        (name, [every, of_dataset].map(Sql::of))
    };
    TABLES.iter().filter(|table| table.what.is_some()).map(queries).collect()
});

impl Transaction {
    /// Adds rows to a dataset, once it is locked.
    pub fn insert<R: Written>(&self, dataset: DatasetKey, rows: &[R]) -> Result<()> {
        self.add(dataset, R::table(), Existing::Refused, rows, R::encode)
    }

    /// Adds a row to a dataset, once it is locked, or replaces the one with the same key.
    pub fn put<R: Written>(&self, dataset: DatasetKey, row: &R) -> Result<()> {
        self.add(dataset, R::table(), Existing::Replaced, std::slice::from_ref(row), R::encode)
    }

    /// Adds rows whose values are added to a list.
    pub(super) fn add<'a, T>(
        &self,
        dataset: DatasetKey,
        table: &'static Table,
        existing: Existing,
        rows: &'a [T],
        encode: impl Fn(&'a T, &mut Vec<Value<'a>>),
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.session.lock(dataset)?;
        let mut values = Vec::with_capacity(rows.len() * (table.columns.len() + 1));
        let mut checked = CheckedBytes::default();
        for row in rows {
            let first = values.len();
            if table.begins_with_dataset() {
                values.push(dataset.into());
            }
            encode(row, &mut values);
            debug_assert_eq!(values.len() - first, table.columns.len(), "{}", table.name);
            if table.what.is_some() {
                values.push(row_check(&values[first..], &mut checked));
            }
        }
        self.session.insert(table, existing, &values)
    }
}
