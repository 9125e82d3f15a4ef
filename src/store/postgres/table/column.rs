//! How values of the domain are stored in columns. All conversions are in this file.

use tokio_postgres::Row;

use crate::model::{DatasetName, GranuleId, Identifier, Timestamp};
pub(super) use crate::store::postgres::connection::value;
use crate::store::{Error, Result};

/// The instant in a `bigint` column, in microseconds.
pub(super) fn instant(row: &Row, index: usize) -> Result<Timestamp> {
    instant_of(value(row, index)?)
}

/// The instant in a `bigint` column that can be null.
pub(super) fn instant_or_null(row: &Row, index: usize) -> Result<Option<Timestamp>> {
    value::<Option<i64>>(row, index)?.map(instant_of).transpose()
}

/// An instant in microseconds.
pub(super) fn instant_of(micros: i64) -> Result<Timestamp> {
    Timestamp::from_micros(micros)
        .ok_or_else(|| Error::damaged(format!("{micros} is not an instant")))
}

/// The identifier in a `bytea` column of 16 bytes.
pub(super) fn identifier(row: &Row, index: usize) -> Result<Identifier> {
    let bytes: &[u8] = value(row, index)?;
    let bytes = <[u8; 16]>::try_from(bytes)
        .map_err(|_| Error::damaged(format!("an identifier has {} bytes", bytes.len())))?;
    Ok(Identifier::from_bytes(bytes))
}

/// The id in a `text` column.
pub(super) fn granule_id(row: &Row, index: usize) -> Result<GranuleId> {
    GranuleId::new(value::<&str>(row, index)?).map_err(damaged)
}

/// The id in a `text` column that can be null.
pub(super) fn granule_id_or_null(row: &Row, index: usize) -> Result<Option<GranuleId>> {
    let text: Option<&str> = value(row, index)?;
    text.map(|text| GranuleId::new(text).map_err(damaged)).transpose()
}

/// The dataset name in a `text` column.
pub(super) fn dataset_name(row: &Row, index: usize) -> Result<DatasetName> {
    value::<&str>(row, index)?.parse().map_err(damaged)
}

/// The count in a `bigint` column.
pub(super) fn count(row: &Row, index: usize) -> Result<u64> {
    let count: i64 = value(row, index)?;
    u64::try_from(count).map_err(|_| Error::damaged(format!("{count} is not a count")))
}

/// A count as a column stores it.
pub(super) fn stored(count: u64) -> Result<i64> {
    i64::try_from(count).map_err(|_| Error::unstorable(format!("the number {count}")))
}

/// The error of a value that cannot be one of its column.
pub(super) fn damaged(error: impl std::fmt::Display) -> Error {
    Error::damaged(error.to_string())
}
