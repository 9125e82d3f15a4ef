//! The register in which an archive enters its data granules.
//!
//! A *registry* is one file. It says which exact set of granules a dataset held at any time, gives
//! that set an identifier that every archive computes alike, and never forgets either.
//!
//! # The first day of the seed document
//!
//! ```
//! use accession::{Access, Change, GranuleId, Registry, Selection, Stamp};
//!
//! let folder = tempfile::tempdir()?;
//! let mut registry = Registry::create(&folder.path().join("accession.db"))?;
//!
//! // US ingests a granule on 2001-01-02, and enters it today.
//! let dataset: accession::DatasetName = "US.FOOL2.002".parse()?;
//! let granule_id: GranuleId = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse()?;
//! let change = Change { ingest: vec![granule_id.into()], create: true, ..Change::default() };
//! let stamp = Stamp {
//!     at: Some("2001-01-02T00:00:00Z".parse()?),
//!     now: "2026-01-01T00:00:00Z".parse()?,
//! };
//! registry.change(&dataset, change, stamp)?;
//!
//! // A reader asks what was in force on a later day.
//! let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
//! let selected = registry.select(&selection)?;
//! assert_eq!(selected.instance.identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The layers
//!
//! Each may use only those below it:
//!
//! - [`citation`]: citations in every format, and what is known of a pasted one
//! - [`mirror`]: manifests, and whether a mirror holds the same set
//! - [`input`]: other people's files: a stream of ids, each with its place
//! - [`registry`]: what an archive does: change, look up, resolve, compare, verify
//! - [`store`]: the file; all SQL, and nothing but SQL
//! - [`minting`]: the two id helpers: unique granule ids, payment ids
//! - [`chain`]: the rule, the rewind, the sweep; no I/O
//! - [`model`]: values that cannot be wrong

pub mod chain;
pub mod citation;

pub mod disk;
pub mod input;

pub mod minting;
pub mod mirror;

pub mod model;
pub mod registry;
mod store;

pub use model::{
    Creator, CreatorError, Criteria, Dataset, DatasetName, DatasetNameError, Day, Doi, DoiError,
    Entry, Event, EventKind, Granule, GranuleId, GranuleIdError, Identifier, IdentifierError,
    Instance, Licence, LicenceError, Moment, Orcid, OrcidError, Pattern, PatternError, Set,
    SourceLocation, Subset, Timestamp, TimestampError, WebAddress, WebAddressError, Withdrawal,
    Year, YearError, quoted,
};
pub use registry::*;
