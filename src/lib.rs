//! A registry of the data granules of an archive.
//!
//! A *registry* is one file, or one database on a PostgreSQL server. It records which exact set of granules a
//! dataset held at any time, gives each such set an identifier that every archive computes in the same way,
//! and keeps both for ever: an identifier that was published always resolves to its granules.
//!
//! # Example
//!
//! A dataset changes by ingesting granules and by deleting them, which marks them as deleted:
//! nothing is ever erased. One change is one transaction, and results in a new identifier.
//!
//! ```
//! use accession::{
//!     Access, Change, DatasetName, GranuleId, IfMissing, ListingBuilder, Registry, Selection, Stamp,
//! };
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("accession.db");
//! // A registry is created once, and opened from then on. It is cheap to clone, and can be shared
//! // between threads.
//! drop(Registry::create(&path)?);
//! let registry = Registry::open(&path, Access::Write)?;
//!
//! let dataset: DatasetName = "US.FOOL2.002".parse()?;
//! let granule_id: GranuleId = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse()?;
//! let mut change = Change::new();
//! change.ingest(granule_id.clone())?;
//! change.options = change.options.if_missing(IfMissing::Create);
//! // It took effect on 2001-01-02, and is recorded years later. Times are always arguments: the
//! // library reads no clock.
//! let (at, now) = ("2001-01-02T00:00:00Z".parse()?, "2026-01-01T00:00:00Z".parse()?);
//! let applied = registry.change(&dataset, &change, &Stamp::at(at, now))?;
//! let identifier = applied.instance().expect("the granule is new").identifier;
//! assert_eq!(identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
//!
//! // A snapshot reads the registry: what was in force on a later day?
//! let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
//! let selected = registry.snapshot()?.select(&selection)?;
//! assert_eq!(selected.set.identifier(), identifier);
//!
//! // A long list needs no snapshot: it is read page by page, and can be stopped at any time.
//! for granule in registry.granules(&selected.set) {
//!     println!("{}", granule?.granule_id);
//! }
//!
//! // A reader who holds files and an identifier from a paper needs no registry.
//! let mut listing = ListingBuilder::new();
//! listing.add(granule_id)?;
//! let listing = listing.finish();
//! assert_eq!(listing.identify()?.identifier, identifier);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In asynchronous programs
//!
//! Every call blocks until it is done: make it on a thread for blocking work, such as that of
//! `tokio::task::spawn_blocking`. Elsewhere it delays other tasks, and on a PostgreSQL server, within a
//! `LocalSet` of tokio's multi-threaded runtime, it panics. A handle may be dropped anywhere: in an asynchronous
//! program, another thread ends the connections. [`Registry::close`] waits for their end, and reports errors.
//!
//! # What is where
//!
//! The crate exports the types that most programs need. The results and options of single operations are in
//! [`registry`], and other values in [`model`]. Each module is a layer, which uses only the layers below it
//! (`docs/about/design.md` walks through a change, a look-up and a pull). The program is in the crate
//! `accession-cli`, and web pages and the HTTP API are in the crate `accession-server`.
//!
//! | Module | What it contains |
//! |---|---|
//! | [`publish`] | a registry as a directory of logs and statements |
//! | [`mirror`] | logs (`log/line` is a line of a log), the sources from which they are read, and the comparison of a mirror with its primary |
//! | [`citation`] | citations: written in several formats, recognised in text, checked; sets as people type them |
//! | [`input`] | files of other systems: a format is a reader in a file of its own, and a line in `format` |
//! | [`fixity`] | files on disk, compared with their recorded checksums |
//! | [`registry`] | what an archive does: `snapshot` reads, `write` changes, `verify` recomputes |
//! | `store` | all SQL: `table` has a file for each table, with its rows and statements |
//! | `disk` | atomic files, spools, sorting |
//! | [`signed`] | statements, their tree, signatures, proofs and policies |
//! | [`chain`] | the rule for identifiers and digests, recomputed from the first granule that changes |
//! | [`minting`] | unique granule ids and payment ids |
//! | [`error`] | the error of every operation, and its kinds |
//! | [`model`] | values that are valid by construction |
//!
//! # Features
//!
//! `postgres` (default): registries on PostgreSQL. Without it, a registry is a file, and the library compiles
//! neither tokio nor a driver.

pub mod chain;
pub mod citation;
#[doc(hidden)]
pub mod disk;
pub mod error;
pub mod fixity;
pub mod input;
pub mod minting;
pub mod mirror;
pub mod model;
pub mod publish;
pub mod registry;
pub mod signed;
mod store;

pub use error::{Error, ErrorKind};
pub use model::{
    Annotation, Confirmation, DatasetFilter, DatasetMetadata, DatasetName, Event, EventKind,
    GranuleId, Holding, Identifier, Instance, Limit, Limits, ListingEntry, Moment, Pattern, Set,
    SourceLocation, Subset, SubsetCriteria, Timestamp,
};
pub use registry::{
    Access, CancelToken, Change, ChangeOptions, ChangeReport, CitationFacts, DatasetVerification,
    Difference, DifferenceCounts, Differences, EarlierSet, Exported, Finding, Granules, History,
    HistoryOptions, IfMissing, Import, Listing, ListingBuilder, Observer, Progress, Registry,
    Resolution, Selected, Selection, Snapshot, Stamp, SubsetMembers, Watcher, Work,
};
