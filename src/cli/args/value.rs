//! Values of single options: paths, addresses, and what an empty value removes.

use std::path::PathBuf;
use std::str::FromStr;

use accession::Limit;
use accession::model::{LimitError, WebAddress, WebAddressError};
use accession::registry::Edit;
use clap::builder::{OsStringValueParser, TypedValueParser};

/// The value of an option: a new value, or `None` to remove the one that is kept.
#[derive(Debug, Clone)]
pub struct ValueOrRemoval<T>(pub Option<T>);

/// Reads a value. An empty one removes.
pub fn value_or_removal<T: FromStr>(text: &str) -> Result<ValueOrRemoval<T>, T::Err> {
    match text.is_empty() {
        true => Ok(ValueOrRemoval(None)),
        false => text.parse().map(|value| ValueOrRemoval(Some(value))),
    }
}

/// What the option does. One that is absent changes nothing.
pub fn edit_of<T>(value: Option<ValueOrRemoval<T>>) -> Edit<T> {
    match value {
        None => Edit::Keep,
        Some(ValueOrRemoval(None)) => Edit::Clear,
        Some(ValueOrRemoval(Some(value))) => Edit::Set(value),
    }
}

/// How many granules may be deleted. More than all of them is a slip: it would switch the guard off.
#[derive(Debug, Clone, Copy)]
pub struct Deletions(pub Limit);

/// Why a string is not a limit of deletions.
#[derive(Debug, thiserror::Error)]
pub enum DeletionsError {
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error("it is more than 100%")]
    MoreThanAll,
}

impl FromStr for Deletions {
    type Err = DeletionsError;

    fn from_str(text: &str) -> Result<Self, DeletionsError> {
        match text.parse()? {
            Limit::Percent(101..) => Err(DeletionsError::MoreThanAll),
            limit => Ok(Deletions(limit)),
        }
    }
}

/// A dash was given where a path is needed.
#[derive(Debug, thiserror::Error)]
#[error("this cannot be standard input or output; a file of this name is ./-")]
struct Dash;

/// Parses a path. `-` is refused: whoever writes it means a pipe, not a file of that name.
pub fn named_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new()
        .try_map(|text| if text == "-" { Err(Dash) } else { Ok(PathBuf::from(text)) })
}

/// The address of a site's root, without the slash at its end.
#[derive(Debug, Clone)]
pub struct PublicUrl(pub String);

/// Why a string is not the address of a site's root.
#[derive(Debug, thiserror::Error)]
pub enum PublicUrlError {
    #[error(transparent)]
    Address(#[from] WebAddressError),
    #[error("the address of a site has neither a query nor a fragment")]
    NotARoot,
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let address: WebAddress = text.parse()?;
        if address.as_str().contains(['?', '#']) {
            return Err(PublicUrlError::NotARoot);
        }
        Ok(PublicUrl(address.as_str().trim_end_matches('/').to_owned()))
    }
}
