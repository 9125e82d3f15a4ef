//! How the values of statements are sent.

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::store::statement::Value;
use crate::store::{Error, Result};

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl Value<'_> {
    /// The type with which a value is sent.
    pub(super) fn sql_type(&self) -> Type {
        match self {
            Value::Int(_) | Value::Count(_) => Type::INT8,
            Value::Text(_) => Type::TEXT,
            Value::Identifier(_) => Type::BYTEA,
            Value::Flag(_) => Type::BOOL,
            Value::Texts(_) => Type::TEXT_ARRAY,
            Value::Ints(_) => Type::INT8_ARRAY,
        }
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self, its_type: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        match self {
            Value::Int(value) => value.to_sql(its_type, out),
            Value::Count(None) => Ok(IsNull::Yes),
            Value::Count(Some(count)) => i64::try_from(*count)
                .map_err(|_| format!("the number {count}"))?
                .to_sql(its_type, out),
            Value::Text(text) => text.to_sql(its_type, out),
            Value::Identifier(identifier) => identifier.as_bytes().as_slice().to_sql(its_type, out),
            Value::Flag(flag) => flag.to_sql(its_type, out),
            Value::Texts(texts) => texts.to_sql(its_type, out),
            Value::Ints(ints) => ints.to_sql(its_type, out),
        }
    }

    /// Every value is sent with [`Value::sql_type`].
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Values as the driver takes them.
pub(super) type Borrowed<'value> = Vec<(&'value (dyn ToSql + Sync), Type)>;

pub(super) fn borrowed<'value>(values: &'value [Value<'_>]) -> Borrowed<'value> {
    values.iter().map(|value| (value as _, value.sql_type())).collect()
}

/// A value in the form in which it is sent, which no longer depends on what it was made of. `None` is
/// null.
#[derive(Debug)]
pub(super) struct Encoded(Option<BytesMut>, Type);

impl Encoded {
    /// Encodes a value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unstorable`]: it cannot be encoded.
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

/// Encoded values as the driver takes them.
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
