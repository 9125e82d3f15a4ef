//! A registry of the data granules of scientific archives.
//!
//! A *registry* is one file, or one database on a PostgreSQL server. It records which granules (usually files)
//! a dataset held at any time. It gives each such set an identifier that every archive computes in the same
//! way, and stores both for ever: a published identifier always resolves to its granules.
//!
//! Start with [`Registry`], which is opened, changed and read. A [`Snapshot`] looks things up in one consistent
//! state. Long lists are streams of the registry, which are verified at their end.
//!
//! # Register a directory, and print a citation
//!
//! ```
//! use accession::{
//!     ChangeOptions, Citation, CitationFormat, Clock, DatasetName, IfMissing, Listing,
//!     ListingOptions, Registry,
//! };
//!
//! fn register(registry: &str, directory: &str) -> accession::Result<String> {
//!     // The first change creates the file.
//!     let registry = Registry::open_or_create(registry, Clock::system())?;
//!     let registry = registry.recorded_by("curt".parse()?);
//!     let name: DatasetName = "FOO".parse()?;
//!     let listing = Listing::read(directory, &ListingOptions::new())?; // names and sizes
//!     let options = ChangeOptions::new().if_missing(IfMissing::Create);
//!     registry.sync(&name, &listing, &options)?;
//!
//!     let snapshot = registry.snapshot()?;
//!     let facts = snapshot.cite(&name.into())?;
//!     Ok(Citation::new(facts, None, snapshot.now().day()).render(CitationFormat::Text))
//! }
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
//! # std::fs::create_dir(path("data"))?;
//! # std::fs::write(path("data/A.nc"), "a")?;
//! # std::fs::write(path("data/B.nc"), "b")?;
//! let citation = register(&path("accession.db"), &path("data"))?;
//! assert!(citation.starts_with("FOO. [Dataset]."), "{citation}");
//! assert!(citation.contains("DI:"), "{citation}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # List the files that a citation means
//!
//! ```
//! use accession::{Clock, Registry, SetSpec};
//! # use accession::{Change, DatasetName, GranuleId, IfMissing};
//!
//! /// Prints the files of a set: `FOO@2024-01-15`, `DI:7fb1e8ba`, or a citation.
//! fn list(registry: &Registry, spec: &SetSpec) -> accession::Result<()> {
//!     let snapshot = registry.snapshot()?;
//!     for granule in registry.files(&snapshot.resolve(spec)?.contents()?) {
//!         let granule = granule?;
//!         for file in granule.content.files() {
//!             println!("{}", file.path(&granule.granule_id));
//!         }
//!     }
//!     Ok(())
//! }
//!
//! # let registry = Registry::temporary(Clock::system())?;
//! # let mut change = Change::new();
//! # change.options = change.options.if_missing(IfMissing::Create);
//! # change.ingest("A".parse::<GranuleId>()?)?;
//! # registry.change(&"FOO".parse::<DatasetName>()?, &change)?;
//! list(&registry, &"FOO".parse()?)?;
//! assert!(list(&registry, &"DI:00000000".parse()?).is_err());
//! # Ok::<(), accession::Error>(())
//! ```
//!
//! # Follow a primary, and report the differences
//!
//! ```
//! use accession::mirror::{MirrorStatus, Primary, PullOptions};
//! use accession::{DatasetName, IfMissing, Registry};
//! # use accession::{Change, Clock, GranuleId};
//!
//! /// Follows a dataset: `https://data.example.org/datasets/US/`, a published directory, a log, or a registry.
//! fn follow(registry: &Registry, primary: &str) -> accession::Result<MirrorStatus> {
//!     let (mirror, primary): (DatasetName, Primary) = ("THEM".parse()?, primary.parse()?);
//!     registry.pull(&mirror, &primary, PullOptions::new().if_missing(IfMissing::Create))?;
//!     let mut comparison = registry.compare_mirror(&mirror, &primary)?;
//!     for difference in comparison.by_ref() {
//!         println!("{:?}", difference?);
//!     }
//!     Ok(comparison.finish()?.status.status)
//! }
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("us.db");
//! # let us = Registry::create(&*path, Clock::system())?;
//! # let mut change = Change::new();
//! # change.options = change.options.if_missing(IfMissing::Create);
//! # change.ingest("A".parse::<GranuleId>()?)?;
//! # us.change(&"US".parse::<DatasetName>()?, &change)?;
//! # us.close()?;
//! let registry = Registry::temporary(Clock::system())?;
//! let status = follow(&registry, path.to_str().expect("the path is UTF-8"))?;
//! assert_eq!(status, MirrorStatus::Identical);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # In asynchronous programs
//!
//! Every call blocks until it is done, so call it on a thread for blocking work, such as that of
//! `tokio::task::spawn_blocking`. On other threads, it delays other tasks. With a PostgreSQL server, it panics
//! in a `LocalSet` of tokio's multi-threaded runtime. A handle may be dropped anywhere: in an asynchronous
//! program, another thread closes the connections. [`Registry::close`] waits for this, and reports errors.
//!
//! # What is where
//!
//! The crate's root has the types that most programs need.
//!
//! | Module | What it contains |
//! |---|---|
//! | [`dataset`] | the metadata of a dataset |
//! | [`file`](mod@file) | sizes and checksums of the files of a granule |
//! | [`listing`] | files of other systems, read into a [`Listing`] |
//! | [`history`] | sets, subsets, annotations, and how sets differ |
//! | [`status`] | what an operator looks at every day |
//! | [`backup`] | copies of a registry |
//! | [`mirror`] | the primary of a dataset, pulls and comparisons |
//! | [`fixity`] | files on disk, compared with their recorded checksums |
//! | [`verify`] | the results of [`Registry::verify`] |
//! | [`proof`] | signed statements, proofs and policies |
//! | [`citation`] | citations, recognised in text and checked |
//! | [`publish`] | a registry as a directory for any web server |
//! | [`ids`] | unique granule ids, and payment ids |
//! | [`chain`] | the rule for identifiers and digests |
//! | [`text`] | names in messages |
//!
//! The program is in the crate `accession-cli`; web pages and the HTTP API are in the crate `accession-server`.
//! Each directory of `src/` is a layer, which uses only the layers below it. `docs/about/design.md` walks
//! through a change, a look-up and a pull.
//!
//! # Features
//!
//! `postgres` (default): registries on PostgreSQL. Without it, a registry is a file, and neither tokio nor a
//! driver is compiled.

// Users of the library can name every type that it returns.
#![warn(unnameable_types)]

pub mod chain;
pub mod citation;
mod disk;
mod error;
pub mod fixity;
mod input;
mod minting;
pub mod mirror;
mod model;
pub mod publish;
mod registry;
mod signed;
mod store;

pub use crate::citation::{Citation, CitationFormat, Resolution, SetSpec, Source};
pub use crate::error::ErrorDetail;
pub use crate::error::{ErrorKind, Result};
pub use crate::input::ListingOptions;
pub use crate::model::{
    DatasetFilter, DatasetName, Day, Digest, Doi, Event, EventKind, Expected, FileRecord,
    GranuleId, Holding, Identifier, Instance, Limit, Limits, ListingEntry, Moment, ParseError,
    Pattern, Set, SourceLocation, Timestamp, Warning, WarningKind,
};
pub use crate::registry::{
    Author, CancelToken, Change, ChangeOptions, ChangeReport, CitationFacts, Clock, Difference,
    DifferenceCounts, Differences, Error, Granule, Granules, HistoryOptions, IfMissing, Import,
    Listing, ListingBuilder, Location, Observer, Periods, Progress, Registry, Selected, Selection,
    Snapshot, SubsetMembers, Watcher, Work,
};

/// The metadata of a dataset, and operations on a whole dataset.
pub mod dataset {
    pub use crate::model::{
        Confirmation, Correction, Creator, DatasetMetadata, DatasetRecord, GranuleUrl, Keyword,
        Licence, MetadataVersion, Orcid, RefusedListing, Temporal, WebAddress, Withdrawal, Year,
    };
    pub use crate::registry::{CorrectionReport, Edit, HistoryCounts, SharedDoi, Withdrawn};
}

/// The records of the files of a granule.
pub mod file {
    pub use crate::model::{Algorithm, Checksum, Content, FilePath, OtherAlgorithm};
}

/// Listings in files of other systems, and their content.
pub mod listing {
    pub use crate::input::{
        DirectoryFile, DirectoryListing, Events, FileRead, Findings, InputFormat, OpenedFile,
        Record, Records, RowFilter, unzipped,
    };
    pub use crate::registry::ListingSummary;
}

/// The history of a dataset: its sets, subsets and annotations, and how sets differ.
pub mod history {
    pub use crate::model::{
        Annotation, ChangeCounts, DigestPrefix, FoundPeriod, FoundPosition, GranuleQuery, IdPage,
        IdentifierPrefix, ScanPeriod, Subset, SubsetCriteria,
    };
    pub use crate::registry::{
        Agreement, Annotated, ChangeExamples, ContentCounts, ContentDifference, DigestPeriod,
        Exported, FileList, FileTotals, HeldContents, NewAnnotation, Period, Periods, Presence,
        SideBySide, Skipped, Span, SubsetCitation, SubsetState, TwoSides,
    };
}

/// The status of datasets, mirrors and files, for daily operation.
pub mod status {
    pub use crate::registry::{
        DatasetStatus, FileCheck, FilesChecked, FilesFact, KnownPrimary, MirrorFacts, Mirrored,
        NewCheck, OpenFinding, RootState, StatusThresholds,
    };
}

/// Copies of a registry.
pub mod backup {
    pub use crate::registry::{MissingFromBackup, RestoreReport};
}

/// The results of verifying a registry.
pub mod verify {
    pub use crate::registry::{
        DatasetVerification, Finding, FindingKind, VerificationTotals, Verifications, WorkCounts,
    };
}

/// Signed statements, and proofs.
pub mod proof {
    pub use crate::registry::{ProvedSet, PublishedStatements, SignedCheckpoint, StatementLog};
    pub use crate::signed::{
        LogCheckpoint, Note, Policy, ProofProblem, ProofVerdict, SetStatement, SigningKey,
        StatementProof, StatementTree, VerificationKey, Witness,
    };
}

/// Ids that this crate creates.
pub mod ids {
    pub use crate::minting::{payment, unique_granule as granule};
    pub use crate::registry::Lease;
}

/// Text in messages, and reading small text files.
pub mod text {
    pub use crate::disk::{read_small, read_small_text};
    pub use crate::model::{is_escaped, plural, quoted};
}
