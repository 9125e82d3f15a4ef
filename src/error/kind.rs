//! The kinds of errors, each with its stable name for scripts.

use std::fmt;

/// Defines the kinds, each with its name.
macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal;)+) => {
        /// The kind of an [`Error`](super::Error), by which a program decides.
        ///
        /// Two kinds differ if a program reacts differently, or if a person needs a different hint. If the hint
        /// depends on more than the kind, see [`Error::detail`](super::Error::detail).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind,)+];

            /// The stable name, for scripts. Each kind has its own.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)+
                }
            }
        }
    };
}

error_kinds! {
    /// The request is wrong, or a value in it.
    Usage = "usage";
    /// An input file is not valid, or a new granule id is not allowed.
    Input = "input";
    /// A file or a registry already exists at the path of a new one.
    AlreadyExists = "already-exists";
    /// The path is too long for SQLite, or its name belongs to a file that SQLite keeps beside a registry.
    InvalidPath = "invalid-path";
    /// A temporary file cannot be created or used.
    Temporary = "temporary";
    /// An operation on a file or a directory failed, or the disk did.
    Io = "io";
    /// The caller stopped the operation, or the server cancelled it. Nothing was changed.
    Interrupted = "interrupted";
    /// The root directory of a dataset's files is missing or empty, or has none of the files that it
    /// should have: its file system may not be mounted.
    NotMounted = "not-mounted";
    /// There is no registry here.
    RegistryMissing = "registry-missing";
    /// The file is not a registry.
    NotARegistry = "not-a-registry";
    /// Another version of this software wrote the registry, or somebody has altered its schema.
    OtherSchema = "other-schema";
    /// Another process is writing, and did not finish in time; another run is checking the files at this root; or
    /// the only connection is in use.
    Busy = "busy";
    /// Other changes interfered with this one, again and again.
    Conflict = "conflict";
    /// The disk, or a quota, is full.
    Full = "full";
    /// A file of a registry is not beside the others: a `-wal` or `-journal` file has no registry, or a
    /// registry was renamed to be replaced and cannot be renamed back.
    Misplaced = "misplaced";
    /// The registry may not be opened, read or written: the permissions of its files, the privileges of the
    /// role, or a standby.
    Denied = "denied";
    /// The file is not the one that was opened: it was moved, removed or replaced, or it changed while it was
    /// read without locks.
    Replaced = "replaced";
    /// The content of the registry is damaged.
    Damaged = "damaged";
    /// A value is longer than a registry or a log may have it.
    TooLong = "too-long";
    /// SQLite or the server reported another error.
    Database = "database";
    /// The address of a registry or of a primary cannot be read, or is not encrypted.
    Address = "address";
    /// A server cannot be reached, refuses the connection, or breaks it again and again.
    Unreachable = "unreachable";
    /// The connection to the server of a registry was lost before the change was committed, or during a read.
    ConnectionLost = "connection-lost";
    /// The connection was lost during the commit, and the server cannot be asked whether the change was made.
    OutcomeUnknown = "outcome-unknown";
    /// The change was made, but a machine of a cluster did not finish it in time.
    NotVisible = "not-visible";
    /// The registry, its server or this program does not support the operation.
    Unsupported = "unsupported";
    /// There is no dataset with this name.
    DatasetUnknown = "dataset-unknown";
    /// There is already a dataset with this name, or it is a former name of one that is not withdrawn.
    DatasetExists = "dataset-exists";
    /// Another dataset has the DOI.
    DoiTaken = "doi-taken";
    /// The dataset was withdrawn and accepts no further changes.
    Withdrawn = "withdrawn";
    /// The dataset had no history then: it has never changed, the time is before its first change, or
    /// nothing had been recorded yet at the time in `known_at`.
    NoHistory = "no-history";
    /// The identifier was never in force; or it identifies a subset, and the operation needs an instance.
    IdentifierUnknown = "identifier-unknown";
    /// An abbreviation or an identifier stands for several sets.
    Ambiguous = "ambiguous";
    /// A file does not look like a list of granules.
    NotAList = "not-a-list";
    /// A listing is incomplete, or may be: pages of a search result are missing.
    Incomplete = "incomplete";
    /// A selection has no granules, one that was not held, or no file with a checksum of the algorithm.
    SelectsNothing = "selects-nothing";
    /// The clock is more than two years ahead of every time that the registry has recorded.
    ClockAhead = "clock-ahead";
    /// A granule that is to be ingested is already held.
    Held = "held";
    /// A granule that is to be deleted is not held.
    NotHeld = "not-held";
    /// A granule is listed twice, or is to be both ingested and deleted.
    Twice = "twice";
    /// A change does not result in the identifier that is expected.
    NotAsExpected = "not-as-expected";
    /// The change neither ingests nor deletes a granule, or the listing of a sync is empty.
    Empty = "empty";
    /// The change would delete more granules than is allowed.
    TooManyDeletions = "too-many-deletions";
    /// The change would add more granules than is allowed.
    TooManyAdditions = "too-many-additions";
    /// None of the new ids looks like those that the dataset holds.
    Unlike = "unlike";
    /// The name of a new dataset differs from another one only by case, or by `_`, `-`, `.` or `:`.
    SimilarName = "similar-name";
    /// The size or the checksum of a file contradicts the recorded one.
    ContentContradicts = "content-contradicts";
    /// A set was not stated, or the statement not signed.
    NotStated = "not-stated";
    /// The statements are not those that were signed.
    TreeDiffers = "tree-differs";
    /// The change would take effect at or before the dataset's last one.
    NotAfterLast = "not-after-last";
    /// The time is in the future.
    Future = "future";
    /// A certificate is rejected, or a file of authorities has none.
    Certificate = "certificate";
    /// The response of a server is rejected.
    Response = "response";
    /// What a primary published is not valid, or is not what was requested.
    PrimaryInvalid = "primary-invalid";
    /// The primary responds with an error until its operator acts.
    PrimaryConflict = "primary-conflict";
    /// The primary does not have the dataset.
    PrimaryDatasetUnknown = "primary-dataset-unknown";
    /// More bytes were read than are allowed.
    TooManyBytes = "too-many-bytes";
    /// What the primary published was written too long ago.
    TooOld = "too-old";
    /// A history is not the one that was published.
    PublishedOtherwise = "published-otherwise";
    /// A published file is not as it was written.
    PublishedDamaged = "published-damaged";
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
