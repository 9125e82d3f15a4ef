//! Keyword arguments that several calls take, each of which is read in one way.

use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use accession::mirror::PrimaryOptions;
use accession::{ChangeOptions, IfMissing, Limit, Limits, Moment};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::Failure;
use crate::time::{ChangeTime, duration, moment};

/// How an address is read.
pub const HTTP: &str = "timeout max_bytes max_age ca_file insecure";

/// The value of an argument that is given as a string.
///
/// # Errors
///
/// It cannot be read.
pub fn parsed<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Failure> {
    text.parse().map_err(|cause| Failure::unreadable(name, cause))
}

/// A limit: a number of granules, or a percentage of those held. Only the percentage of `max_add` may be
/// greater than 100.
///
/// # Errors
///
/// It is something else.
pub fn limit(name: &str, text: &str) -> Result<Limit, Failure> {
    let read = if name == "max_add" { text.parse() } else { Limit::of_held(text) };
    read.map_err(|cause| Failure::unreadable(name, cause))
}

/// The values of an argument that is given as a list of strings.
///
/// # Errors
///
/// One of them cannot be read.
pub fn all_parsed<T>(name: &str, texts: &[String]) -> Result<Vec<T>, Failure>
where
    T: FromStr<Err: Display>,
{
    texts.iter().map(|text| parsed(name, text)).collect()
}

/// The keyword arguments of a call.
pub struct Keywords<'a, 'py>(Option<&'a Bound<'py, PyDict>>);

impl<'a, 'py> Keywords<'a, 'py> {
    /// Takes what was given, of which each must have one of the names: each element has several, with spaces
    /// between.
    ///
    /// # Errors
    ///
    /// A `TypeError`, as Python has it: the call has no such argument.
    pub fn of(given: Option<&'a Bound<'py, PyDict>>, names: &[&str]) -> Result<Self, Failure> {
        for (name, _) in given.into_iter().flatten() {
            let name: String = name.extract()?;
            if !names.iter().flat_map(|names| names.split(' ')).any(|known| known == name) {
                let message = format!("got an unexpected keyword argument '{name}'");
                return Err(PyTypeError::new_err(message).into());
            }
        }
        Ok(Keywords(given))
    }

    /// The value of an argument. `None` means that it was not given, or is None.
    ///
    /// # Errors
    ///
    /// Those of Python.
    pub fn get(&self, name: &str) -> Result<Option<Bound<'py, PyAny>>, Failure> {
        let Some(given) = self.0 else { return Ok(None) };
        Ok(given.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// The value of an argument.
    ///
    /// # Errors
    ///
    /// A `TypeError`: it has another type.
    pub fn value<T: FromPyObjectOwned<'py>>(&self, name: &str) -> Result<Option<T>, Failure> {
        let Some(value) = self.get(name)? else { return Ok(None) };
        let extracted: PyResult<T> = value.extract().map_err(Into::into);
        extracted.map(Some).map_err(|error| {
            let message = format!("argument '{name}': {}", error.value(value.py()));
            PyTypeError::new_err(message).into()
        })
    }

    /// Whether an argument is true.
    ///
    /// # Errors
    ///
    /// Those of [`Keywords::value`].
    pub fn is_set(&self, name: &str) -> Result<bool, Failure> {
        Ok(self.value(name)?.unwrap_or(false))
    }

    /// A time.
    ///
    /// # Errors
    ///
    /// Those of [`moment`].
    pub fn moment(&self, name: &str) -> Result<Option<Moment>, Failure> {
        self.get(name)?.map(|given| moment(name, &given)).transpose()
    }

    /// How old something may be, or how long it may take.
    ///
    /// # Errors
    ///
    /// Those of [`duration`].
    pub fn duration(&self, name: &str) -> Result<Option<Duration>, Failure> {
        self.get(name)?.map(|given| duration(name, &given)).transpose()
    }

    /// A limit: a number of granules, or a percentage of those held.
    ///
    /// # Errors
    ///
    /// Those of [`limit`].
    pub fn limit(&self, name: &str) -> Result<Option<Limit>, Failure> {
        let given = self.get(name)?;
        given.map(|given| limit(name, given.str()?.to_str()?)).transpose()
    }

    /// How many granules a listing or a primary may delete and add.
    ///
    /// # Errors
    ///
    /// Those of [`Keywords::limit`].
    pub fn limits(&self) -> Result<Limits, Failure> {
        let (max_delete, max_add) = (self.limit("max_delete")?, self.limit("max_add")?);
        Ok(Limits { max_delete, max_add, max_replace: None })
    }

    /// When a change takes effect.
    ///
    /// # Errors
    ///
    /// Those of [`ChangeTime::of`].
    pub fn at(&self) -> Result<ChangeTime, Failure> {
        ChangeTime::of(self.get("at")?.as_ref())
    }

    /// What to do if the dataset does not exist.
    ///
    /// # Errors
    ///
    /// The argument cannot be read.
    pub fn if_missing(&self) -> Result<IfMissing, Failure> {
        Ok(if self.is_set("create")? { IfMissing::Create } else { IfMissing::Fail })
    }

    /// The options of a change.
    ///
    /// # Errors
    ///
    /// An argument cannot be read.
    pub fn change(&self) -> Result<ChangeOptions, Failure> {
        Ok(ChangeOptions::new()
            .at(self.at()?.at)
            .note(self.value("note")?)
            .skip_existing(self.is_set("skip_existing")?)
            .skip_missing(self.is_set("skip_missing")?)
            .if_missing(self.if_missing()?)
            .limits(
                self.limit("max_replace")?
                    .map(|most| Limits { max_replace: Some(most), ..Limits::NONE }),
            )
            .dry_run(self.is_set("dry_run")?))
    }

    /// How a primary is read, as it is kept with a mirror.
    ///
    /// # Errors
    ///
    /// An argument cannot be read.
    pub fn source(&self) -> Result<PrimaryOptions, Failure> {
        let primary_dataset: Option<String> = self.value("primary_dataset")?;
        let ca_file: Option<PathBuf> = self.value("ca_file")?;
        let ca_file = ca_file.map(std::path::absolute).transpose()?;
        let max_age = self.duration("max_age")?;
        Ok(PrimaryOptions {
            primary_dataset: primary_dataset
                .map(|name| parsed("primary_dataset", &name))
                .transpose()?,
            timeout_seconds: self.value("timeout")?,
            max_bytes: self.value("max_bytes")?,
            max_age_seconds: max_age.map(|age| age.as_secs()),
            ca_file: ca_file.map(|path| path.to_string_lossy().into_owned()),
            insecure: self.is_set("insecure")?,
        })
    }
}
