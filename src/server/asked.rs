//! What a request asks for.

use std::borrow::Cow;
use std::convert::Infallible;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};

use super::client::Client;
use super::format::{self, Format};
use super::problem::Problem;
use crate::model::{DatasetName, Moment};

/// A request: its path, its query and its headers.
#[derive(Debug)]
pub struct Asked {
    path: String,
    query: String,
    headers: HeaderMap,
    client: Option<Client>,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Asked {
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers.clone(),
            client: parts.extensions.get().copied(),
        })
    }
}

impl Asked {
    /// The client, by which limits count. `None` means that it is not known.
    pub fn client(&self) -> Option<Client> {
        self.client
    }

    /// The path as it was sent.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The query as it was sent.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// A segment of the path, counted from 0, decoded.
    ///
    /// # Errors
    ///
    /// The path has fewer segments, or is not UTF-8.
    pub fn segment(&self, index: usize) -> Result<String, Problem> {
        let segment = self.path.trim_start_matches('/').split('/').nth(index).unwrap_or_default();
        decoded(segment)
    }

    /// What follows a prefix of the path, decoded.
    ///
    /// # Errors
    ///
    /// It is not UTF-8.
    pub fn after(&self, prefix: &str) -> Result<String, Problem> {
        decoded(self.path.strip_prefix(prefix).unwrap_or_default())
    }

    /// The first value of a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// All values of a parameter of the query.
    pub fn parameters(&self, name: &str) -> Vec<Cow<'_, str>> {
        let pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs.filter(|(key, _)| key == name).map(|(_, value)| value).collect()
    }

    /// A parameter of the query as a value. `None` means that it is absent or empty.
    ///
    /// # Errors
    ///
    /// It is not such a value.
    pub fn parsed<T>(&self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr,
        T::Err: std::fmt::Display,
    {
        let Some(text) = self.parameter(name).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let refused = |error: T::Err| Problem::usage(format!("The parameter {name}: {error}."));
        text.parse().map(Some).map_err(refused)
    }

    /// The number of rows that are wanted: `?limit=`, which is at most `most`.
    ///
    /// # Errors
    ///
    /// It is not a number from 1 to `most`.
    pub fn limit(&self, default: u32, most: u32) -> Result<u32, Problem> {
        let limit = self.parsed("limit")?.unwrap_or(default);
        if limit == 0 || limit > most {
            return Err(Problem::usage(format!("The parameter limit is from 1 to {most}.")));
        }
        Ok(limit)
    }

    /// The format that is wanted.
    ///
    /// # Errors
    ///
    /// None of those offered is accepted.
    pub fn format(&self, offered: &[Format]) -> Result<Format, Problem> {
        let named = self.parameter("format").filter(|named| !named.is_empty());
        format::choose(offered, named.as_deref(), self.accept())
    }

    /// A header as text. `None` means that it is absent or not ASCII.
    pub fn header(&self, name: HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    fn accept(&self) -> Option<&str> {
        self.header(ACCEPT)
    }
}

/// A name of a dataset in a path.
///
/// # Errors
///
/// No dataset that is published has such a name.
pub fn dataset_name(text: &str) -> Result<DatasetName, Problem> {
    text.parse().map_err(|error| {
        Problem::unknown("dataset-unknown", format!("No dataset has this name: {error}."))
    })
}

/// A time in a path or a query.
///
/// # Errors
///
/// It is not RFC 3339, nor a date.
pub fn moment(text: &str) -> Result<Moment, Problem> {
    // A plus sign in a query may have been decoded to a space.
    let text = text.replace(' ', "+");
    text.parse().map_err(|error| Problem::usage(format!("The time {text:?}: {error}.")))
}

fn decoded(text: &str) -> Result<String, Problem> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(Cow::into_owned).map_err(|_| Problem::usage("The address is not UTF-8."))
}
