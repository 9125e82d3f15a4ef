//! The parameters of statements.

use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::store::{Error, Result};

/// A parameter of a statement, and its type.
pub(super) type Parameter<'value> = (Box<dyn ToSql + Sync + 'value>, Type);

/// Parameters as the driver takes them.
pub(super) type Borrowed<'value> = Vec<(&'value (dyn ToSql + Sync), Type)>;

pub(super) fn borrowed<'value>(parameters: &'value [Parameter<'_>]) -> Borrowed<'value> {
    parameters.iter().map(|(value, its_type)| (value.as_ref() as _, its_type.clone())).collect()
}

/// Encoded parameters as the driver takes them.
pub(super) fn borrowed_encoded(parameters: &[(Encoded, Type)]) -> Borrowed<'_> {
    parameters.iter().map(|(value, its_type)| (value as _, its_type.clone())).collect()
}

/// Parameters that no longer depend on the values that they were made of.
///
/// # Errors
///
/// [`ErrorKind::Unstorable`]: a value cannot be encoded.
pub(super) fn encoded(parameters: &[Parameter<'_>]) -> Result<Vec<(Encoded, Type)>> {
    let encode = |(value, its_type): &Parameter<'_>| -> Result<(Encoded, Type)> {
        let mut bytes = BytesMut::new();
        let is_null = value
            .to_sql_checked(its_type, &mut bytes)
            .map_err(|error| Error::unstorable(error.to_string()))?;
        let encoded = match is_null {
            IsNull::Yes => Encoded(None),
            IsNull::No => Encoded(Some(bytes)),
        };
        Ok((encoded, its_type.clone()))
    };
    parameters.iter().map(encode).collect()
}

/// A value in the form in which it is sent. `None` is null.
#[derive(Debug)]
pub(super) struct Encoded(Option<BytesMut>);

impl ToSql for Encoded {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(bytes) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(bytes);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
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
