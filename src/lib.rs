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
//! use accession::{Change, Clock, DatasetName, GranuleId, IfMissing, ListingBuilder, Registry, Selection};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("accession.db");
//! // The first change creates the registry. It is cheap to clone, and can be shared between threads. What it
//! // records has the times of the clock.
//! let registry = Registry::open_or_create(path, Clock::system())?.recorded_by("curt".parse()?);
//!
//! let dataset: DatasetName = "US.FOOL2.002".parse()?;
//! let granule_id: GranuleId = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse()?;
//! let mut change = Change::new();
//! change.ingest(granule_id.clone())?;
//! change.options = change.options.if_missing(IfMissing::Create);
//! // It took effect on 2001-01-02, and is recorded now.
//! change.options = change.options.at("2001-01-02T00:00:00Z".parse::<Timestamp>()?);
//! let applied = registry.change(&dataset, &change)?;
//! let identifier = applied.instance().expect("the granule is new").identifier;
//! assert_eq!(identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
//!
//! // A snapshot reads the registry: what was in force on a later day?
//! let selection = Selection::Dataset { name: dataset, at: Some("2001-01-05".parse()?) };
//! let selected = registry.snapshot()?.select(&selection)?;
//! assert_eq!(selected.set.identifier(), identifier);
//!
//! // A long list is read page by page, and can be stopped at any time.
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

pub use crate::citation::{Citation, CitationFormat};
pub use crate::error::ErrorDetail;
pub use crate::error::{ErrorKind, Result};
pub use crate::input::ListingOptions;
pub use crate::model::{
    DatasetFilter, DatasetName, Day, Digest, Doi, Event, EventKind, FileRecord, GranuleId, Holding,
    Identifier, Instance, Limit, Limits, ListingEntry, Moment, ParseError, Pattern, Set,
    SourceLocation, Timestamp, Warning, WarningKind,
};
pub use crate::registry::{
    Author, CancelToken, Change, ChangeOptions, ChangeReport, CitationFacts, Clock, Difference,
    DifferenceCounts, Differences, Error, Granule, Granules, History, HistoryOptions, IfMissing,
    Import, Listing, ListingBuilder, Location, Observer, Progress, Registry, Resolution, Selected,
    Selection, ServerAddress, Snapshot, SubsetMembers, Watcher, Work, limit_memory,
};

/// What is recorded of a dataset itself: its metadata, and what is done with all of it.
pub mod dataset {
    pub use crate::model::{
        Confirmation, Creator, DatasetMetadata, DatasetRecord, GranuleUrl, Keyword, Licence,
        MetadataVersion, Orcid, RefusedListing, Temporal, WebAddress, Withdrawal, Year,
    };
    pub use crate::registry::{
        Edit, FirstRegistration, LastSubsets, Neighbours, SharedDoi, Withdrawn,
    };
}

/// What is recorded of the files of a granule.
pub mod file {
    pub use crate::model::{
        Algorithm, Checksum, Content, ContentChange, ContentConflict, ContentMatch, Coverage,
        FileContent, FilePath, OtherAlgorithm, Strength,
    };
}

/// Listings in files of other systems, and what they contain.
pub mod listing {
    pub use crate::input::{
        Events, InputFormat, ListedRecords, OpenedFile, Record, Records, SearchPages,
        old_payment_ids, open, unzipped,
    };
    pub use crate::registry::{ListingSummary, SkippedEntries};
}

/// The history of a dataset: its sets, subsets and annotations, and how sets differ.
pub mod history {
    pub use crate::model::{
        Annotation, ChangeCounts, DigestPrefix, FoundPeriod, FoundPosition, GranulePrefix, IdPage,
        IdentifierPrefix, Subset, SubsetCriteria,
    };
    pub use crate::registry::{
        Agreement, Annotated, ChangeExamples, ContentCounts, ContentDifference, Counts,
        DigestPeriod, EarlierSet, Export, Exported, FileList, FileTotals, HeldContents, IdPages,
        ImportCounts, KeptAnnotations, MAX_EXAMPLES, NewAnnotation, NotedPeriod, Period, Presence,
        ReturnedGranules, SavedSubset, SideBySide, Skipped, Span, SubsetCitation, SubsetState,
        TwoSides, UnevenGranule, WorkCounts,
    };
}

/// What an operator looks at every day.
pub mod status {
    pub use crate::model::{FailedAttempt, LastPull};
    pub use crate::registry::{
        DatasetStatus, FileCheck, FilesChecked, KnownPrimary, LastChange, Mirrored, NewCheck,
        OpenFinding, RootState, StatusThresholds, StoredSource,
    };
}

/// Copies of a registry.
pub mod backup {
    pub use crate::registry::{
        BackupReport, CopyReport, MissingFromBackup, PaymentIds, RestoreReport, restore,
    };
}

/// The files of a published site.
pub mod site {
    pub use crate::mirror::{
        HEAD, PublishedSite, PublishedStatements, SHARDS, SITE, Shard, ShardPeriod, SiteRegistry,
    };
}

/// The results of recomputing what a registry states.
pub mod verify {
    pub use crate::registry::{
        DatasetVerification, Finding, FindingKind, VerificationTotals, Verifications, VerifyWork,
    };
}

/// Signed statements, and proofs.
pub mod proof {
    pub use crate::mirror::ask_witness;
    pub use crate::registry::{ProvedSet, SignedCheckpoint, StatementLog};
    pub use crate::signed::{
        Cosignature, KeyUse, ListedBy, ListedSet, LogCheckpoint, Note, NoteSignature, Policy,
        ProofProblem, ProofVerdict, SetStatement, SigningKey, StatementProof, StatementTree,
        VerificationKey, Witness,
    };
}

/// Ids that this crate makes.
pub mod ids {
    pub use crate::minting::{payment, unique_granule as granule};
    pub use crate::registry::Lease;
}

/// Text in messages.
pub mod text {
    pub use crate::model::{
        is_escaped, is_interpreted, is_invisible, parse_duration, plural, quoted, write_visible,
    };
}
