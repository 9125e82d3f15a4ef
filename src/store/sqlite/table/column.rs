//! How values of the domain are stored in columns. All conversions are in this file.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::model::{GranuleId, Identifier, Timestamp};

/// A `Timestamp` in an INTEGER column, in microseconds.
pub(super) struct Micros(pub Timestamp);

impl FromSql for Micros {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let micros = value.as_i64()?;
        match Timestamp::from_micros(micros) {
            Some(timestamp) => Ok(Micros(timestamp)),
            None => Err(FromSqlError::OutOfRange(micros)),
        }
    }
}

impl ToSql for Micros {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.as_micros().into())
    }
}

/// An `Identifier` in a BLOB column of 16 bytes.
pub(super) struct Digest(pub Identifier);

impl FromSql for Digest {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        <[u8; 16]>::column_result(value).map(|bytes| Digest(Identifier::from_bytes(bytes)))
    }
}

impl ToSql for Digest {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.0.as_bytes().as_slice()))
    }
}

/// A `GranuleId` in a TEXT column.
pub(super) struct Id(pub GranuleId);

impl FromSql for Id {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        GranuleId::new(value.as_str()?).map(Id).map_err(FromSqlError::other)
    }
}

/// A count in an INTEGER column.
pub(super) struct Count(pub u64);

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let count = value.as_i64()?;
        u64::try_from(count).map(Count).map_err(|_| FromSqlError::OutOfRange(count))
    }
}

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        i64::try_from(self.0)
            .map(ToSqlOutput::from)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}
