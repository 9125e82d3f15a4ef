//! A recognised citation.

use crate::model::{DatasetName, Doi, Identifier, Moment};

/// A citation that was recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// The identifier.
    pub identifier: Stated<Identifier>,
    /// The DOI; `None` if there is none that can be read.
    pub doi: Option<Doi>,
    /// The name of the dataset in an archive, which a tuple without a DOI contains.
    pub dataset: Option<DatasetName>,
    /// The time for which the set is cited; `None` if the citation does not state one.
    pub date: Option<Stated<Moment>>,
}

/// Something that a citation states.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stated<T> {
    /// The value.
    Read(T),
    /// The text in its place, which cannot be read.
    Unreadable(String),
}
