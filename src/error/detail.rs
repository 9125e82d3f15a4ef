//! What exactly is wrong, for kinds of errors that need more than one kind of hint.

use super::kind::ErrorKind;

/// Defines the details, each with the kind of the errors that have it.
macro_rules! details {
    ($($(#[doc = $doc:literal])+ $detail:ident: $kind:ident;)+) => {
        /// What exactly is wrong, if the hint depends on more than the kind of an error.
        ///
        /// A front end chooses its hint by the detail. A program decides by the [`ErrorKind`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorDetail {
            $($(#[doc = $doc])+ $detail,)+
        }

        impl ErrorDetail {
            /// Every detail.
            pub const ALL: &[ErrorDetail] = &[$(ErrorDetail::$detail,)+];

            /// The kind of the errors with this detail.
            pub const fn kind(self) -> ErrorKind {
                match self {
                    $(ErrorDetail::$detail => ErrorKind::$kind,)+
                }
            }
        }
    };
}

details! {
    /// A string in a file is not a granule id.
    NotAGranuleId: Input;
    /// A new granule id has a character that no new id may have.
    ForbiddenCharacter: Input;
    /// A new granule id begins with `./`.
    CurrentDirectory: Input;
    /// A table does not have the column, or none that usually has the ids.
    NoColumn: Input;
    /// A row has more or fewer cells than the header.
    CellCount: Input;
    /// A file or a granule has no date of ingest, although one is needed.
    NoDates: Input;
    /// A file is an event file or a manifest, although a list of granules is expected.
    IsAHistory: Input;
    /// A file lists deleted granules, although granules to ingest are expected.
    DeletedGranules: Input;
    /// The events of a granule contradict each other: it is ingested while it is held, or deleted while it is
    /// not.
    OutOfTurn: Input;
    /// A response does not have its list of granules, such as one that reports an error.
    NoList: Input;
    /// An object has no field of that name, or no string in it.
    NoField: Input;
    /// The path, the size or the checksum of a file is not valid, or a file is listed twice with different
    /// ones.
    FileMetadata: Input;
    /// A checksum does not say by which algorithm it was computed.
    NoAlgorithm: Input;
    /// An option names a part of a file that its format does not have.
    NotOfFormat: Input;
    /// A document is in none of the formats.
    UnknownFormat: Input;
    /// A file is an HTML or XML document.
    Markup: Input;
    /// A file is a table in a binary format.
    BinaryTable: Input;
    /// A data file of an S3 Inventory is missing, or its checksum differs from the manifest.
    DataFile: Input;
    /// The name of a file ends in `.gz`, and it is not gzip.
    NotGzip: Input;
    /// The operation needs a registry in a file, and this one is on a server.
    NotAFile: Unsupported;
    /// The operation needs a registry on a server, and this one is in a file.
    NotAServer: Unsupported;
    /// The database lacks the extension that distributes tables.
    NoCitus: Unsupported;
    /// The server cancelled a statement, for its own reasons.
    Cancelled: Database;
    /// The dataset has had no change yet.
    NeverChanged: NoHistory;
    /// The dataset has had one change only, so it held nothing before.
    FirstChange: NoHistory;
    /// No change of the dataset is after the time from which its history is to be corrected, or all are.
    NothingToCorrect: NoHistory;
    /// Another run is checking the files at this root.
    BeingChecked: Busy;
    /// A payment id is not one of the layout and the epoch, or cannot be issued.
    PaymentId: Usage;
    /// The dataset follows a primary, which corrects the history.
    FollowsPrimary: Usage;
    /// A dataset that is to be removed has had changes, other names, a primary or subsets.
    NotUnused: Usage;
    /// At the time in `known_at`, nothing of the dataset's history had been recorded.
    NotRecordedThen: NoHistory;
    /// No file of a set has a checksum of the algorithm.
    NoChecksums: SelectsNothing;
    /// A set is requested as of a time in the future.
    SetInFuture: Future;
    /// The listing of a sync is empty.
    EmptyListing: Empty;
    /// The disk failed to read, write or sync. A full disk may report this too.
    Disk: Io;
    /// A directory has a symbolic link whose target does not exist.
    DanglingLink: Io;
    /// The address of a primary, or one to which it redirects, is `http`.
    NotEncrypted: Address;
    /// The proxy that the environment names cannot be used, or does not connect to the server.
    Proxy: Unreachable;
    /// A directory has files, but no published dataset.
    NoPublishedDataset: PrimaryDatasetUnknown;
}

/// The kind of an error, with its detail if it has one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Class {
    pub(super) kind: ErrorKind,
    pub(super) detail: Option<ErrorDetail>,
}

impl From<ErrorKind> for Class {
    fn from(kind: ErrorKind) -> Self {
        Class { kind, detail: None }
    }
}

impl From<ErrorDetail> for Class {
    fn from(detail: ErrorDetail) -> Self {
        Class { kind: detail.kind(), detail: Some(detail) }
    }
}
