//! The error of every operation of the library.
//!
//! An error is worded where it is raised. Who handles it decides by its [`ErrorKind`], never by the
//! text of its message.

mod hint;

use std::error::Error as StdError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::hint::FrontEnd;
use crate::model::{DatasetName, GranuleId, SourceLocation, quoted};

/// The result of an operation of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation of the library.
///
/// Its message says where it occurred and what is wrong. Its cause is returned by `source()` and is
/// not part of the message, so that a chain of errors states each fact once.
///
/// # Examples
///
/// ```
/// use accession::{ErrorKind, Registry};
///
/// let registry = Registry::in_memory()?;
/// let error = registry.snapshot()?.dataset(&"US.FOOL2.002".parse()?).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DatasetUnknown);
/// assert_eq!(error.to_string(), "the registry has no dataset US.FOOL2.002");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Error(Box<Repr>);

/// What was named that a registry does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// A dataset.
    Dataset(DatasetName),
    /// An identifier, as it was written.
    Identifier(String),
}

#[derive(Debug, Clone)]
struct Repr {
    kind: ErrorKind,
    message: String,
    location: Option<SourceLocation>,
    granule: Option<GranuleId>,
    path: Option<PathBuf>,
    line: Option<u64>,
    unknown: Option<Unknown>,
    is_of_store: bool,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Creates an error with a message: lower case, no full stop, without its cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error(Box::new(Repr {
            kind,
            message: message.into(),
            location: None,
            granule: None,
            path: None,
            line: None,
            unknown: None,
            is_of_store: false,
            source: None,
        }))
    }

    /// Adds where the value was read that is refused. The message begins with it.
    #[must_use]
    pub fn at(mut self, location: impl Into<Option<SourceLocation>>) -> Self {
        self.0.location = location.into();
        self
    }

    /// Adds the granule that the error concerns.
    #[must_use]
    pub fn of(mut self, granule_id: GranuleId) -> Self {
        self.0.granule = Some(granule_id);
        self
    }

    /// Adds the path of the file or of the registry that the error concerns. The message of an error
    /// of a registry begins with it.
    #[must_use]
    pub fn in_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Adds the line of the file that the error concerns, from 1.
    #[must_use]
    pub fn in_line(mut self, line: impl Into<Option<u64>>) -> Self {
        self.0.line = line.into();
        self
    }

    /// Adds what is unknown.
    #[must_use]
    pub(crate) fn about(mut self, unknown: Unknown) -> Self {
        self.0.unknown = Some(unknown);
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Adds the end of the message.
    #[must_use]
    pub(crate) fn continued(mut self, end: &str) -> Self {
        self.0.message.push_str(end);
        self
    }

    /// The same error as one of a stored registry, whose message begins with the path of the registry
    /// once that is known.
    #[must_use]
    pub(crate) fn of_store(mut self) -> Self {
        (self.0.is_of_store, self.0.path) = (true, None);
        self
    }

    /// Adds the path of the registry to an error of the store that does not have it yet. A registry
    /// in memory has an empty path.
    #[must_use]
    pub(crate) fn in_registry(self, path: &Path) -> Self {
        match self.0.is_of_store && self.0.path.is_none() {
            true => self.in_path(path),
            false => self,
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message, without where it occurred and without its cause.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// Where the value was read that is refused. `None` means that no such value was read.
    pub fn location(&self) -> Option<&SourceLocation> {
        self.0.location.as_ref()
    }

    /// The granule that the error concerns.
    pub fn granule(&self) -> Option<&GranuleId> {
        self.0.granule.as_ref()
    }

    /// The path of the file or of the registry that the error concerns. Empty if the registry is in
    /// memory.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of the file that the error concerns, from 1. `None` means that it concerns all of it.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// What was named that is unknown. `None` if that is not the error.
    pub fn unknown(&self) -> Option<&Unknown> {
        self.0.unknown.as_ref()
    }

    /// Whether the error is of a stored registry, and not of what a caller asked of it.
    pub fn is_of_registry(&self) -> bool {
        self.0.is_of_store
    }

    /// The message and those of all causes, separated by colons.
    pub fn with_causes(&self) -> String {
        Error::chain_of(self)
    }

    /// The message of any error and those of its causes, separated by colons. Each states only its
    /// own part.
    pub fn chain_of(error: &(dyn StdError + 'static)) -> String {
        followed_by(own_message(error), error.source())
    }

    /// The same without the path of the registry, for who knows it or may not see it.
    pub fn reason(&self) -> String {
        let message = &self.0.message;
        let text = match &self.0.location {
            Some(location) => format!("{location}: {message}"),
            None => message.clone(),
        };
        followed_by(text, self.source())
    }
}

fn followed_by(mut text: String, mut cause: Option<&(dyn StdError + 'static)>) -> String {
    while let Some(error) = cause {
        text = format!("{text}: {}", own_message(error));
        cause = error.source();
    }
    text
}

/// The message of one error, without the number that an error of the system has, which helps nobody.
fn own_message(error: &(dyn StdError + 'static)) -> String {
    let text = error.to_string();
    match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (os error ")) {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repr { message, location, path, is_of_store, .. } = &*self.0;
        if let (true, Some(path)) = (is_of_store, path) {
            match path.as_os_str().is_empty() {
                true => f.write_str("the registry in memory: ")?,
                false => write!(f, "registry {}: ", quoted(&path.to_string_lossy()))?,
            }
        }
        if let Some(location) = location {
            write!(f, "{location}: ")?;
        }
        f.write_str(message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

/// Defines the kinds, each with the name that scripts know.
macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// The kind of an [`Error`].
        ///
        /// Kinds that differ in what can be done about them may have the same name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ErrorKind {
            /// Every kind.
            pub const ALL: &[ErrorKind] = &[$(ErrorKind::$kind,)+];

            /// The stable name, for scripts; the command line prints it with `--json`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)+
                }
            }
        }
    };
}

error_kinds! {
    /// A file already exists at the path of a new one.
    FileExists = "file-exists",
    /// The name is one that SQLite gives to a file beside a registry.
    ReservedName = "reserved-name",
    /// A temporary file cannot be created or used.
    Temporary = "temporary",
    /// An operation on a file or a directory failed.
    Io = "io",
    /// What was asked for cannot be written.
    Output = "output",
    /// The caller stopped the operation. Nothing was changed.
    Interrupted = "interrupted",
    /// The root directory of a dataset's files is missing or empty, or has none of the files that it
    /// should have: its file system may not be mounted.
    NotMounted = "not-mounted",
    /// There is no registry here.
    RegistryMissing = "registry-missing",
    /// There is a file or a registry at the path of a new one.
    RegistryExists = "registry-exists",
    /// The file is not a registry.
    NotARegistry = "not-a-registry",
    /// Another version of this software wrote the registry, or somebody has altered its schema.
    OtherSchema = "other-schema",
    /// Another process is writing, and did not finish in time; or the only connection is in use.
    Busy = "busy",
    /// The disk, or a quota, is full.
    Full = "full",
    /// A registry cannot be created beside the `-wal` or `-journal` file of one that no longer
    /// exists.
    Orphaned = "orphaned",
    /// A registry was renamed to be replaced; that failed, and it cannot be renamed back.
    MovedAway = "moved-away",
    /// The registry cannot be written.
    ReadOnly = "read-only",
    /// The registry, or a file of SQLite beside it, cannot be opened.
    CannotOpen = "cannot-open",
    /// The path is too long for SQLite.
    PathTooLong = "path-too-long",
    /// The registry changed while it was read without locks.
    Changed = "changed",
    /// The path no longer refers to the file that was opened.
    Replaced = "replaced",
    /// The content of the registry is damaged.
    Damaged = "damaged",
    /// The disk failed to read, write or sync. A full disk may report this too.
    Disk = "io",
    /// A value is longer than a registry or a log may have it.
    TooLong = "too-long",
    /// SQLite needs more memory than it may use.
    Memory = "memory",
    /// SQLite or the server reported another error.
    Database = "database",
    /// The server reported that what is created exists already.
    Duplicate = "database",
    /// The server reported a fault of its own or of its system: it is not known what it did.
    ServerFault = "database",
    /// The address of a server cannot be read.
    RegistryAddress = "registry-address",
    /// The server cannot be reached, or refuses the connection.
    Unreachable = "unreachable",
    /// The connection to the server was lost before the change was committed, or during a read.
    ConnectionLost = "connection-lost",
    /// The connection was lost during the commit, and the server cannot be asked what became of it.
    OutcomeUnknown = "outcome-unknown",
    /// The change was made, but a machine of a cluster did not finish it in time.
    NotVisible = "not-visible",
    /// Other changes interfered with this one, again and again.
    Conflict = "conflict",
    /// The role lacks a privilege.
    Denied = "denied",
    /// The server cancelled a statement.
    Cancelled = "cancelled",
    /// The server cannot store a value.
    Unstorable = "unstorable",
    /// The operation is for a registry in a file.
    NotAFile = "not-a-file",
    /// The operation is for a registry on a server.
    NotAServer = "not-a-server",
    /// The database lacks the extension that distributes tables.
    NoCitus = "no-citus",
    /// This program was built without PostgreSQL.
    NoPostgres = "no-postgres",
    /// Machines of a cluster cannot be reached, so the answer lacks what is on them.
    Incomplete = "incomplete",
    /// There is no dataset with this name.
    DatasetUnknown = "dataset-unknown",
    /// There is already a dataset with this name, or it is a former name of one that is not withdrawn.
    DatasetExists = "dataset-exists",
    /// Another dataset has the DOI.
    DoiTaken = "doi-taken",
    /// The dataset was withdrawn and accepts no further changes.
    Withdrawn = "withdrawn",
    /// The dataset has had no change yet.
    NoHistory = "no-history",
    /// The time is before the dataset's first change.
    BeforeHistory = "before-history",
    /// Nothing of the dataset's history had been recorded at the time as of which the registry is
    /// asked.
    NothingKnown = "nothing-known",
    /// The identifier was never in force.
    IdentifierUnknown = "identifier-unknown",
    /// What was named in short is the name of several.
    Ambiguous = "ambiguous",
    /// The identifier is that of a subset, and an instance is needed.
    NotAnInstance = "not-an-instance",
    /// A citation would select no granules.
    SelectsNothing = "selects-nothing",
    /// A granule that is to be cited was not held.
    NotHeldToCite = "not-held",
    /// The clock is more than two years ahead of every time that the registry has recorded.
    ClockAhead = "clock-ahead",
    /// A payment id is not valid, or cannot be issued.
    PaymentId = "payment-id",
    /// No payment id can be issued, because the clock was set back by more than a few seconds.
    ClockBehind = "payment-id",
    /// The time of a payment id is in the future.
    NotYetIssued = "payment-id",
    /// A payment id is of a worker that the layout does not have.
    WorkerUnknown = "payment-id",
    /// The registry issues payment ids with another layout or epoch.
    PaymentScheme = "payment-scheme",
    /// A granule that is to be ingested is already held.
    Held = "held",
    /// An import ingests a granule that is already held at that time.
    HeldThen = "held",
    /// A granule that is to be deleted is not held.
    NotHeld = "not-held",
    /// An import deletes a granule that is not held at that time.
    NotHeldThen = "not-held",
    /// A granule is listed twice.
    Twice = "twice",
    /// A granule is to be both ingested and deleted.
    Both = "both",
    /// A change does not result in the identifier that is expected.
    NotAsExpected = "not-as-expected",
    /// A granule is new, and its id has a character that no new id may have.
    RefusedCharacter = "input",
    /// A granule is new, and its id begins with `./`.
    RefusedDirectory = "input",
    /// The change neither ingests nor deletes a granule.
    Empty = "empty",
    /// The listing to which a dataset is to be synchronised is empty.
    EmptyListing = "empty-listing",
    /// The change would delete more granules than is allowed.
    TooManyDeletions = "too-many-deletions",
    /// Another run is checking the files at this root.
    BeingChecked = "being-checked",
    /// Files of a set have no checksum of the algorithm.
    NoChecksums = "no-checksums",
    /// What is to be recorded of a file contradicts what is known of it.
    ContentContradicts = "content-contradicts",
    /// The change would add more granules than is allowed.
    TooManyAdditions = "too-many-additions",
    /// A change without a time would follow a history that was entered long after it happened.
    Backfill = "backfill",
    /// The change would take effect at or before the dataset's last one.
    NotAfterLast = "not-after-last",
    /// The change would take effect in the future.
    Future = "future",
    /// A set is asked for as of a time in the future.
    NotYet = "usage",
    /// What was asked for cannot be asked.
    Usage = "usage",
    /// A file exists that is not replaced.
    NotReplaced = "usage",
    /// An input file is not valid in a way that none of the next kinds says.
    Input = "input",
    /// What was read is not a granule id.
    NotAGranuleId = "input",
    /// A table does not have the column, or none that usually has the ids.
    NoColumn = "input",
    /// A row has more or fewer cells than the header.
    Cells = "input",
    /// A time has no offset from UTC.
    NoOffset = "input",
    /// A file or a granule has no date of ingest, although one is needed.
    NoDates = "input",
    /// A file is an event file or a manifest, although a list of granules is expected.
    IsAHistory = "input",
    /// Pages of a search result are missing.
    PagesMissing = "pages-missing",
    /// A response does not have its list of granules, such as one that reports an error.
    NoList = "input",
    /// An object has no field of that name, or no string in it.
    NoField = "input",
    /// What a file states of another file is not a path, a size or a checksum.
    StatedFile = "input",
    /// A checksum does not say by which algorithm it was computed.
    NoAlgorithm = "input",
    /// An option names a part of a file that its format does not have.
    NotOfFormat = "usage",
    /// A document is in none of the formats.
    UnknownFormat = "input",
    /// A file is an HTML or XML document.
    Markup = "input",
    /// A file is a table in a binary format.
    BinaryTable = "input",
    /// A data file of an S3 Inventory is missing, or has other bytes than the manifest states.
    DataFile = "input",
    /// What was read of a primary is not a manifest, or not the list that was asked for.
    NotPublished = "input",
    /// The name of a file ends in `.gz`, and it is not gzip.
    NotGzip = "input",
    /// A string is not the address of a dataset.
    Address = "address",
    /// An address is not encrypted.
    NotEncrypted = "not-encrypted",
    /// A file of authorities has no certificate.
    NoCertificate = "no-certificate",
    /// A certificate is from an authority that is not trusted.
    UnknownAuthority = "unknown-authority",
    /// A certificate is refused for another reason.
    Certificate = "certificate",
    /// A proxy cannot be used, or does not connect to the server.
    Proxy = "proxy",
    /// A server cannot be reached, or a connection broke again and again.
    NoResponse = "no-response",
    /// A response is refused.
    Response = "response",
    /// The primary refuses until a person acts.
    PrimaryConflict = "primary-conflict",
    /// More bytes were read than are allowed.
    TooManyBytes = "too-many-bytes",
    /// What the primary published was written too long ago.
    TooOld = "too-old",
    /// The primary does not have the dataset.
    PrimaryDatasetUnknown = "primary-dataset-unknown",
    /// A history is not the one that was published.
    PublishedOtherwise = "published-otherwise",
    /// A published file is not as it was written.
    PublishedDamaged = "published-damaged",
    /// A server cannot listen on an address.
    CannotListen = "cannot-listen",
}

impl ErrorKind {
    /// Whether nothing changed and an immediate retry may succeed, because other changes interfered.
    pub fn is_conflict(self) -> bool {
        self == ErrorKind::Conflict
    }

    /// Whether files are checked all the same, and the check is not recorded: the registry cannot be
    /// written, or its disk is full.
    pub fn is_of_recording(self) -> bool {
        matches!(
            self,
            ErrorKind::ReadOnly
                | ErrorKind::CannotOpen
                | ErrorKind::Denied
                | ErrorKind::Full
                | ErrorKind::Disk
        )
    }

    /// Whether an error of a stored registry concerns its content or the disk below it, so that
    /// another part of the registry may still be readable.
    pub fn is_of_content(self) -> bool {
        matches!(
            self,
            ErrorKind::Damaged
                | ErrorKind::NotARegistry
                | ErrorKind::TooLong
                | ErrorKind::Memory
                | ErrorKind::Disk
                | ErrorKind::Database
                | ErrorKind::Duplicate
                | ErrorKind::ServerFault
        )
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn full() -> Error {
        Error::new(ErrorKind::Io, "cannot write \"a\"")
            .because(io::Error::other("no space left on device"))
    }

    #[test]
    fn a_message_begins_with_the_place_and_does_not_repeat_the_cause() {
        let location = SourceLocation::Line { source: "ids.txt".into(), line: 12 };
        let error = Error::new(ErrorKind::NotHeld, "\"A\" is not held")
            .at(location.clone())
            .of("A".parse().unwrap());
        assert_eq!(error.to_string(), "ids.txt:12: \"A\" is not held");
        assert_eq!(error.location(), Some(&location));
        assert_eq!(error.granule().unwrap().as_str(), "A");
        assert_eq!(full().to_string(), "cannot write \"a\"");
        assert_eq!(full().with_causes(), "cannot write \"a\": no space left on device");
        let repeated = io::Error::other(format!("cannot: {}", io::Error::from_raw_os_error(2)));
        assert!(repeated.to_string().ends_with(" (os error 2)"), "{repeated}");
        assert!(!Error::chain_of(&repeated).contains("os error"), "{repeated}");
    }

    #[test]
    fn an_error_of_the_store_begins_with_its_registry_once_that_is_known() {
        let missing =
            || Error::new(ErrorKind::RegistryMissing, "there is no registry here").of_store();
        assert_eq!(missing().to_string(), "there is no registry here");
        let named = missing().in_registry(Path::new("/a.db"));
        assert_eq!(named.to_string(), "registry \"/a.db\": there is no registry here");
        let once = named.in_registry(Path::new("/b.db"));
        assert_eq!(once.path(), Some(Path::new("/a.db")));
        let in_memory = missing().in_registry(Path::new(""));
        assert_eq!(in_memory.to_string(), "the registry in memory: there is no registry here");
        let other = full().in_registry(Path::new("/a.db"));
        assert_eq!(other.to_string(), "cannot write \"a\"");
    }

    #[test]
    fn the_reference_has_the_name_of_every_kind() {
        let reference = include_str!("../../docs/reference/json.md");
        for kind in ErrorKind::ALL {
            assert!(reference.contains(&format!("\n| `{kind}` | ")), "{kind}");
        }
    }
}
