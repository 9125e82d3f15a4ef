//! A registry of the data granules of an archive.
//!
//! A *registry* is one file. It records which exact set of granules a dataset held at any time,
//! gives each such set an identifier that every archive computes in the same way, and keeps both
//! for ever: an identifier that was published always resolves to its granules.
//!
//! # Opening a registry
//!
//! [`Registry::create`] creates a new file, and [`Registry::open`] opens an existing one. A registry
//! is cheap to clone, and can be shared between threads.
//!
//! ```
//! use accession::{Access, Registry};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("accession.db");
//! drop(Registry::create(&path)?);
//! let registry = Registry::open(&path, Access::Write)?;
//! assert_eq!(registry.snapshot()?.count_datasets()?, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A change
//!
//! A dataset changes by ingesting granules and by deleting them, which marks them as deleted:
//! nothing is ever erased. One change is one transaction, and results in a new identifier.
//!
//! ```
//! use accession::{Change, DatasetName, GranuleId, Registry, Selection, Stamp};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("accession.db");
//! let registry = Registry::create(&path)?;
//! let dataset: DatasetName = "US.FOOL2.002".parse()?;
//!
//! let mut change = Change::new();
//! change.ingest("FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse::<GranuleId>()?)?;
//! change.options.create_dataset = true;
//! // It took effect on 2001-01-02, and is recorded years later.
//! let (at, now) = ("2001-01-02T00:00:00Z".parse()?, "2026-01-01T00:00:00Z".parse()?);
//! let applied = registry.change(&dataset, &change, &Stamp::at(at, now))?;
//! let identifier = applied.instance.expect("the granule is new").identifier;
//! assert_eq!(identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
//!
//! // A snapshot reads the registry: what was in force on a later day?
//! let snapshot = registry.snapshot()?;
//! let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
//! let selected = snapshot.select(&selection)?;
//! assert_eq!(selected.set.identifier(), identifier);
//!
//! // A long list needs no snapshot: it is read page by page, and can be stopped at any time.
//! let granules = snapshot.granules(&selected.set)?;
//! drop(snapshot);
//! for granule in granules {
//!     println!("{}", granule?.granule_id);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The identifier of a list
//!
//! A reader who holds files and an identifier from a paper needs no registry:
//!
//! ```
//! use accession::{GranuleId, Listing};
//!
//! let mut listing = Listing::new();
//! for text in ["FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204"] {
//!     listing.add(text.parse::<GranuleId>()?)?;
//! }
//! let identified = listing.identify()?;
//! assert_eq!(identified.identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The layers
//!
//! Each may use only those below it:
//!
//! - `server`, with the feature `serve`: landing pages and an HTTP API
//! - [`publish`]: writes the logs of datasets as files for any web server
//! - `pages`, with the feature `serve`: the pages themselves, as HTML
//! - [`mirror`]: manifests, and the comparison of a mirror with its primary
//! - [`citation`]: writes citations in every format, and checks pasted ones
//! - [`input`]: reads files of other systems as a stream of ids, each with its source location
//! - [`registry`]: the operations of an archive: change, look up, resolve, compare, verify
//! - `store`, which is private: the registry file; all SQL, and nothing but SQL
//! - [`chain`]: the rule, and the sweep over a history; no I/O
//! - [`disk`]: atomic creation of files, and temporary files
//! - [`minting`]: the two id helpers: unique granule ids, payment ids
//! - [`error`]: the error of every operation, and its kinds
//! - [`model`]: values that are checked when they are created
//!
//! Times are always arguments: the library reads no clock.

pub mod chain;
pub mod citation;
pub mod disk;
pub mod error;
pub mod input;
pub mod minting;
pub mod mirror;
pub mod model;
#[cfg(feature = "serve")]
pub mod pages;
pub mod publish;
pub mod registry;
#[cfg(feature = "serve")]
pub mod server;
mod store;

pub use error::ErrorKind;
pub use model::{
    Creator, CreatorError, Criteria, Dataset, DatasetName, DatasetNameError, Day, Doi, DoiError,
    Entry, Event, EventKind, Granule, GranuleId, GranuleIdError, IdPage, Identifier,
    IdentifierError, Instance, Licence, LicenceError, LogChange, Moment, Orcid, OrcidError,
    Pattern, PatternError, Set, SourceLocation, Subset, Timestamp, TimestampError, WebAddress,
    WebAddressError, Withdrawal, Year, YearError, quoted,
};
pub use registry::{
    Access, Agreement, Applied, BUSY_WAIT, BackedUp, Change, ChangeError, ChangeOptions, Cited,
    CitedSubset, Code, Copied, Counts, DatasetEdit, DatasetPage, Difference, Differences,
    EarlierSet, Edit, Effort, Error, Exported, Finding, FoundPeriod, Granules, History, IdPages,
    Identified, Import, Imported, Kept, Lacks, Lease, Listed, Listing, ListingDifferences,
    MaxDelete, MirrorSource, Monitor, Named, NewRegistry, NotedPeriod, OpenOptions, PaymentIds,
    RecordVersion, Registry, Resolution, Resolved, Restored, Result, Selected, Selection, Skipped,
    Snapshot, Stamp, Verification, Verified, VerifyWork, Wanted, Withdrawn, limit_memory,
    rehearse_restore, restore,
};
