//! Recognises citations in pasted text: the tuple, a sentence, BibTeX, RIS, JSON,
//! DataCite XML or CITATION.cff.
//!
//! # Identifiers
//!
//! An identifier is `DI:` and 32 hexadecimal digits, in any case. It may be broken over two lines, or
//! by a space. In a passage without any `DI:`, a word of 32 hexadecimal digits is an identifier too.
//! After a `#`, `DI:` names an instance to which the cited one is related; it counts only where the
//! passage has no other identifier. What follows `DI:` and cannot be read as an identifier is reported
//! as [`Stated::Unreadable`]: a wrong number of digits, or another letter among them.
//!
//! # DOIs and dates
//!
//! A text is read in passages: a BibTeX entry, a RIS record, an item of JSON, DataCite XML, a paragraph,
//! an entry of a list. The DOI and the date of an identifier are taken from its passage, and in running text
//! between its neighbours. The date follows `as held at`; in a tuple, it is a member; in running
//! text, it precedes a comma and the identifier. It can be written as `2001-01-05`,
//! `20010105`, `2001/1/5`, `5 January 2001` or `January 5, 2001`, and as RFC 3339. The year of
//! publication and the day of access are not taken for the date.
//!
//! # Cost
//!
//! Linear in the length of the text: what is examined around an identifier is bounded.

mod dates;
mod dois;
mod find;
mod marks;
mod markup;
mod passages;

use crate::model::{DatasetName, Doi, Identifier, Moment};
pub use dois::dois;
pub use find::find;

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

/// A count of the work that recognising costs, so that tests can assert that it is linear.
mod work {
    #[cfg(test)]
    use std::cell::Cell;

    #[cfg(test)]
    thread_local! {
        static STEPS: Cell<usize> = const { Cell::new(0) };
    }

    /// Adds steps: bytes examined, or marks moved. Does nothing outside tests.
    pub(super) fn count(steps: usize) {
        #[cfg(test)]
        STEPS.set(STEPS.get() + steps);
        #[cfg(not(test))]
        let _ = steps;
    }

    /// The steps that `run` counts on this thread.
    #[cfg(test)]
    pub(super) fn steps_of<T>(run: impl FnOnce() -> T) -> usize {
        let before = STEPS.get();
        run();
        STEPS.get() - before
    }
}
