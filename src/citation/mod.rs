//! Writes citations of datasets, recognises them in pasted text, and checks them.
//!
//! A [`Citation`] contains the facts, and [`Citation::render`] prints them in one of the formats of
//! [`CitationFormat`]. A property that is missing in the metadata of a dataset is omitted, never invented, and
//! [`Citation::missing_fields`] lists it.
//!
//! - [`record`] reads the metadata of a dataset from CSL-JSON or DataCite JSON
//! - [`Reference::find_all`] splits a text into references
//! - [`FoundCitation::find_all`] finds citations in pasted text
//! - [`Checker`] compares recognised citations with a registry
//! - [`SetSpec`] parses a set as a person writes it: a dataset, an identifier, a citation, or a listing
//!
//! Sources: ESIP Data Citation Guidelines for Earth Science Data, version 2; for the tuple, the message of Curt
//! Tilmes (docs/about/errata.md, Dataset identifiers).

mod check;
mod context;
mod facts;
mod format;
mod marks;
mod recognise;
pub mod record;
mod references;
mod resolve;
mod set_spec;

pub use check::{Checker, CitationVerdict, CitedSet};
pub use facts::Citation;
pub use format::CitationFormat;
pub use recognise::{FoundCitation, ParsedField, Part};
pub use references::Reference;
pub use resolve::{Resolution, Source};
pub use set_spec::SetSpec;
pub(crate) use set_spec::{Meaning, NamedDataset};
