//! What people name in short or with a mistake: a dataset by its DOI, an identifier by its first
//! digits, and the identifiers that come close to one that is unknown.

use super::select::{Selection, select};
use super::view::Snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Doi, Identifier, IdentifierPrefix, Timestamp, meant};

/// How many names or identifiers an error lists.
const MAX_LISTED: usize = 5;

impl Snapshot {
    /// The dataset with a DOI, which is compared without case. Costs a pass over the records.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has it;
    /// [`ErrorKind::Ambiguous`](crate::ErrorKind::Ambiguous): several have it, which are named.
    pub fn dataset_with_doi(&self, doi: &Doi) -> Result<DatasetName> {
        let names = self.datasets_with_doi(doi)?;
        match names.as_slice() {
            [] => {
                let message = format!("no dataset of the registry has the DOI {doi}");
                Err(Error::new(ErrorKind::DatasetUnknown, message))
            }
            [name] => Ok(name.clone()),
            names => {
                let message = format!("several datasets have the DOI {doi}: {}", listed(names));
                Err(Error::new(ErrorKind::Ambiguous, message))
            }
        }
    }

    /// The identifier that begins with some digits: of an instance or of a subset, of one dataset or
    /// of any. Costs a look-up in an index.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown): none begins so;
    /// [`ErrorKind::Ambiguous`](crate::ErrorKind::Ambiguous): several begin so, of which some are
    /// named.
    pub fn identifier_beginning(
        &self,
        prefix: &IdentifierPrefix,
        dataset: Option<&DatasetName>,
    ) -> Result<Identifier> {
        if let Some(whole) = prefix.whole() {
            return Ok(whole);
        }
        let found = self.ask(|read| read.identifiers_beginning(prefix, MAX_LISTED as u32 + 1))?;
        let found = self.known_among(found, dataset)?;
        match found.as_slice() {
            [] => {
                let place = dataset.map_or(String::new(), |name| format!(" of {name}"));
                let message = format!("no identifier{place} begins with {prefix}");
                Err(Error::new(ErrorKind::IdentifierUnknown, message).about(prefix))
            }
            [identifier] => Ok(*identifier),
            several => {
                let message =
                    format!("several identifiers begin with {prefix}: {}", listed(several));
                Err(Error::new(ErrorKind::Ambiguous, message))
            }
        }
    }

    /// The identifiers that differ in one character from a string, which may be missing or too many;
    /// the letters O, l and I are read as the digits 0 and 1. At most 5 of them. Costs one statement
    /// with up to 512 look-ups.
    ///
    /// # Errors
    ///
    /// The error of a registry: the registry cannot be read.
    pub fn similar_identifiers(&self, text: &str) -> Result<Vec<Identifier>> {
        let meant = meant(text);
        if meant.is_empty() {
            return Ok(meant);
        }
        let mut found = self.ask(|read| read.identifiers_among(&meant))?;
        found.truncate(MAX_LISTED);
        self.known_among(found, None)
    }

    /// Those of a few identifiers that are known, in one dataset or in any.
    fn known_among(
        &self,
        mut identifiers: Vec<Identifier>,
        dataset: Option<&DatasetName>,
    ) -> Result<Vec<Identifier>> {
        if self.read.known() == Timestamp::MAX && dataset.is_none() {
            return Ok(identifiers);
        }
        let mut unread = None;
        identifiers.retain(|&identifier| {
            let selection =
                Selection::Identifier { identifier, dataset: dataset.cloned(), at: None };
            match self.ask(|read| select(read, &selection)) {
                Ok(_) => true,
                Err(error) if error.kind() == ErrorKind::IdentifierUnknown => false,
                Err(error) => {
                    unread = Some(error);
                    false
                }
            }
        });
        unread.map_or(Ok(identifiers), Err)
    }
}

/// The first values of a list, in a sentence.
fn listed<T: ToString>(values: &[T]) -> String {
    let mut text: Vec<String> = values.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    if values.len() > MAX_LISTED {
        text.push("and more".to_owned());
    }
    text.join(", ")
}
