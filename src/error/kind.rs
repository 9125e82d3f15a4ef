//! The kinds of errors: for each the name that scripts know, and what to do about it.

use std::fmt;

use super::Error;

/// Defines the kinds, each with its name and, where something can be done, a hint: what to do. For a value
/// that was read from a file instead of typed, there can be another.
macro_rules! error_kinds {
    (
        $(
            $(#[doc = $doc:literal])+
            $kind:ident = $name:literal $(: $hint:literal $(, read: $read:literal)?)?;
        )+
    ) => {
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

            /// The hint, and the one for a value that was read. What the command line and the Python package
            /// say differently is in braces, of the command line first.
            const fn hints(self) -> &'static [&'static str] {
                match self {
                    $(ErrorKind::$kind => &[$($hint $(, $read)?)?],)+
                }
            }
        }
    };
}

error_kinds! {
    /// A file already exists at the path of a new one.
    FileExists = "file-exists";
    /// The name is one that SQLite gives to a file beside a registry.
    ReservedName = "reserved-name": "name another file";
    /// A temporary file cannot be created or used.
    Temporary = "temporary": "nothing was changed; set TMPDIR to a directory with enough space";
    /// An operation on a file or a directory failed.
    Io = "io";
    /// What was asked for cannot be written.
    Output = "output";
    /// The caller stopped the operation. Nothing was changed.
    Interrupted = "interrupted";
    /// The root directory of a dataset's files is missing or empty, or has none of the files that it
    /// should have: its file system may not be mounted.
    NotMounted = "not-mounted":
        "is it mounted? if it is the right one, and its files are gone, --mounted says so";
    /// There is no registry here.
    RegistryMissing = "registry-missing":
        "if a file was lost, `accession restore` restores it from a backup; {`accession dataset add NAME` and --create create|open(…, create=True) creates} a new one";
    /// There is a file or a registry at the path of a new one.
    RegistryExists = "registry-exists": "name a file that does not exist, or an empty database";
    /// The file is not a registry.
    NotARegistry = "not-a-registry": "name another file with --registry";
    /// Another version of this software wrote the registry, or somebody has altered its schema.
    OtherSchema = "other-schema":
        "if another version of accession wrote it, use that version; its `export` writes what `import` reads into a new registry";
    /// Another process is writing, and did not finish in time; or the only connection is in use.
    Busy = "busy": "wait until the other command has finished, and try again";
    /// The disk, or a quota, is full.
    Full = "full": "nothing was changed; free some space, and try again";
    /// A registry cannot be created beside the `-wal` or `-journal` file of one that no longer
    /// exists.
    Orphaned = "orphaned":
        "put the missing file back, or move these files away: SQLite would apply them to the next file of that name";
    /// A registry was renamed to be replaced; that failed, and it cannot be renamed back.
    MovedAway = "moved-away":
        "move the file back, with those whose names continue with -wal and -shm, before anything else";
    /// The registry cannot be written.
    ReadOnly = "read-only":
        "nothing was changed; check who is permitted to write to the registry, and whether its server is a standby";
    /// The registry, or a file of SQLite beside it, cannot be opened.
    CannotOpen = "cannot-open": "check who is permitted to read the file, and to write to its directory";
    /// The path is too long for SQLite.
    PathTooLong = "path-too-long": "use a shorter path, or work in another directory";
    /// The registry changed while it was read without locks.
    Changed = "changed": "try again";
    /// The path no longer refers to the file that was opened.
    Replaced = "replaced": "nothing was changed; find out where the registry is now, and try again";
    /// The content of the registry is damaged.
    Damaged = "damaged":
        "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror";
    /// The disk failed to read, write or sync. A full disk may report this too.
    Disk = "io": "`df` shows whether the disk is full; if it is not, look for its errors in the log of the system";
    /// A value is longer than a registry or a log may have it.
    TooLong = "too-long": "shorten the note, the title, or the list of patterns or of the files of a granule";
    /// SQLite needs more memory than it may use.
    Memory = "memory";
    /// SQLite or the server reported another error.
    Database = "database";
    /// The server reported that what is created exists already.
    Duplicate = "database";
    /// The server reported a fault of its own or of its system: it is not known what it did.
    ServerFault = "database";
    /// The address of a server cannot be read.
    RegistryAddress = "registry-address":
        "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass";
    /// The server cannot be reached, or refuses the connection.
    Unreachable = "unreachable":
        "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs";
    /// The connection to the server was lost before the change was committed, or during a read.
    ConnectionLost = "connection-lost": "nothing was changed; try again when the server can be reached";
    /// The connection was lost during the commit, and the server cannot be asked what became of it.
    OutcomeUnknown = "outcome-unknown":
        "when the server can be reached, `accession history` shows whether the change was made";
    /// The change was made, but a machine of a cluster did not finish it in time.
    NotVisible = "not-visible":
        "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)";
    /// Other changes interfered with this one, again and again.
    Conflict = "conflict": "nothing was changed; try again";
    /// The role lacks a privilege.
    Denied = "denied": "nothing was changed; the guide lists the privileges that a role needs";
    /// The server cancelled a statement.
    Cancelled = "cancelled": "nothing was changed; try again";
    /// The server cannot store a value.
    Unstorable = "unstorable";
    /// The operation is for a registry in a file.
    NotAFile = "not-a-file":
        "`accession copy` copies a registry in a file to a server, and one on a server to a file";
    /// The operation is for a registry on a server.
    NotAServer = "not-a-server": "`accession copy` copies the registry to a server";
    /// The database lacks the extension that distributes tables.
    NoCitus = "no-citus": "CREATE EXTENSION citus, on every machine, as a superuser";
    /// This program was built without PostgreSQL.
    NoPostgres = "no-postgres";
    /// Machines of a cluster cannot be reached, so the answer lacks what is on them.
    Incomplete = "incomplete": "try again when the machine can be reached";
    /// There is no dataset with this name.
    DatasetUnknown = "dataset-unknown":
        "{`accession dataset list` lists|Registry.datasets() lists} the datasets of the registry";
    /// There is already a dataset with this name, or it is a former name of one that is not withdrawn.
    DatasetExists = "dataset-exists": "name another; `accession dataset edit` changes the metadata of this one";
    /// Another dataset has the DOI.
    DoiTaken = "doi-taken": "{--shared-doi|shared_doi=True} gives it to both";
    /// The dataset was withdrawn and accepts no further changes.
    Withdrawn = "withdrawn": "`accession dataset reinstate` ends the withdrawal";
    /// The dataset has had no change yet.
    NoHistory = "no-history": "`accession ingest` makes its first change";
    /// The time is before the dataset's first change.
    BeforeHistory = "before-history";
    /// Nothing of the dataset's history had been recorded at the time as of which the registry is
    /// asked.
    NothingKnown = "nothing-known": "name a later time with --known-at, or omit it";
    /// The identifier was never in force.
    IdentifierUnknown = "identifier-unknown":
        "{`accession history` lists|Registry.history() lists} the identifiers of a dataset";
    /// What was named in short is the name of several.
    Ambiguous = "ambiguous": "name one of them; the set of one dataset is DATASET@TIME";
    /// The identifier is that of a subset, and an instance is needed.
    NotAnInstance = "not-an-instance": "name the instance as DATASET@TIME: `accession resolve` shows it";
    /// A citation would select no granules.
    SelectsNothing = "selects-nothing":
        "`accession granules` lists the granules held; --at names another time";
    /// A granule that is to be cited was not held.
    NotHeldToCite = "not-held": "`accession granules` lists the granules held; --at names another time";
    /// The clock is more than two years ahead of every time that the registry has recorded.
    ClockAhead = "clock-ahead":
        "nothing was changed; correct the clock, or confirm it by a change with {--at now|at=\"now\"} if it is right";
    /// A payment id is not valid, or cannot be issued.
    PaymentId = "payment-id";
    /// No payment id can be issued, because the clock was set back by more than a few seconds.
    ClockBehind = "payment-id": "correct the clock, or wait until it has caught up";
    /// The time of a payment id is in the future.
    NotYetIssued = "payment-id": "name the epoch of the id with --epoch";
    /// A payment id is of a worker that the layout does not have.
    WorkerUnknown = "payment-id": "name the layout of the id with --layout";
    /// The registry issues payment ids with another layout or epoch.
    PaymentScheme = "payment-scheme":
        "name these with --layout and --epoch, or use another registry for other ids";
    /// A granule that is to be ingested is already held.
    Held = "held": "{--skip-existing|skip_existing=True} skips granules that are already held";
    /// An import ingests a granule that is already held at that time.
    HeldThen = "held": "nothing was changed; correct the file: a granule is ingested and deleted in turn";
    /// A granule that is to be deleted is not held.
    NotHeld = "not-held": "{--skip-missing|skip_missing=True} skips granules that are not held";
    /// An import deletes a granule that is not held at that time.
    NotHeldThen = "not-held":
        "nothing was changed; correct the file: a granule is ingested and deleted in turn";
    /// A granule is listed twice.
    Twice = "twice":
        "name each granule once; {`ingest --skip-existing` and `delete --skip-missing`|skip_existing=True and skip_missing=True} skip repetitions";
    /// A granule is to be both ingested and deleted.
    Both = "both": "make two changes, one after the other";
    /// A change does not result in the identifier that is expected.
    NotAsExpected = "not-as-expected":
        "nothing was changed; either another process changed the dataset, or the input is wrong",
        read: "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary";
    /// A granule is new, and its id has a character that no new id may have.
    RefusedCharacter = "input": "nothing was changed; leave out this character";
    /// A granule is new, and its id begins with `./`.
    RefusedDirectory = "input":
        "nothing was changed; leave out ./, as find -printf '%P\\n' does, or sed 's,^\\./,,'";
    /// The change neither ingests nor deletes a granule.
    Empty = "empty": "name granules as arguments, or a file with --from (- is stdin)";
    /// The listing to which a dataset is to be synchronised is empty.
    EmptyListing = "empty-listing":
        "nothing was changed; check how the listing was made; `accession delete` deletes granules";
    /// The change would delete more granules than is allowed.
    TooManyDeletions = "too-many-deletions":
        "nothing was changed; check that the listing is complete: {`accession compare DATASET --from FILE`, or `accession mirror compare` of the dataset, lists|compare() shows} all that differ; if it is right, {--max-delete N or P%|max_delete=N or \"P%\"} allows more";
    /// Another run is checking the files at this root.
    BeingChecked = "being-checked":
        "its files are free again when the other run has ended, or ten minutes after it was killed; --jobs reads more files at a time";
    /// Files of a set have no checksum of the algorithm.
    NoChecksums = "no-checksums": "`accession fixity add` records checksums";
    /// What is to be recorded of a file contradicts what is known of it.
    ContentContradicts = "content-contradicts":
        "nothing was changed; {`accession compare DATASET --from FILE --json` lists|compare() shows} all that differ; either a file is damaged, or it was processed again: then {--max-replace N or P% with --note WHY|max_replace=N or \"P%\" with note=…} takes its new bytes, and the history keeps the old";
    /// The change would add more granules than is allowed.
    TooManyAdditions = "too-many-additions":
        "nothing was changed; check that the listing is of this dataset: {`accession compare DATASET --from FILE`, or `accession mirror compare` of the dataset, lists|compare() shows} all that differ; if it is right, {--max-add N or P%|max_add=N or \"P%\"} allows more";
    /// A set was not stated, or the statement not signed.
    NotStated = "not-stated": "`accession sign` states what is new, and signs it";
    /// The statements are not those that were signed.
    TreeDiffers = "tree-differs":
        "nothing was signed or published: two trees under one name prove that the archive contradicts itself; if the registry was restored from an older backup, `accession sign --recover` takes published statements back; one that is built anew from exports begins a new log, with a new key under a new name";
    /// A change without a time would follow a history that was entered long after it happened.
    Backfill = "backfill":
        "nothing was changed; name the time of the change with --at; say {--at now|at=\"now\"} if it is now";
    /// The change would take effect at or before the dataset's last one.
    NotAfterLast = "not-after-last":
        "name a later time with --at, or {--at now|at=\"now\"}; to add an earlier change, build the history again with `accession export --until`",
        read: "nothing was changed; an import must be later than the last change of the dataset";
    /// The change would take effect in the future.
    Future = "future":
        "name an earlier time with --at, or {--at now|at=\"now\"}",
        read: "nothing was changed; correct the time, or import the file when that time has come";
    /// A set is asked for as of a time in the future.
    NotYet = "usage": "name an earlier time";
    /// What was asked for cannot be asked.
    Usage = "usage";
    /// A directory has files, but no published dataset.
    NoPublishedDataset = "usage":
        "{`accession fixity check DATASET --root DIR`|Dataset.fixity_check(root)} compares the files of a directory with their records";
    /// A file exists that is not replaced.
    NotReplaced = "usage": "move it away, or write elsewhere";
    /// An input file is not valid in a way that none of the next kinds says.
    Input = "input";
    /// What was read is not a granule id.
    NotAGranuleId = "input": "nothing was changed; correct the file and try again";
    /// A table does not have the column, or none that usually has the ids.
    NoColumn = "input": "name one of them with --column; --format lines takes each line as one granule";
    /// A row has more or fewer cells than the header.
    Cells = "input": "--format lines takes each line as one granule";
    /// A time has no offset from UTC.
    NoOffset = "input": "nothing was changed; add the offset, or Z if the times are UTC";
    /// A file or a granule has no date of ingest, although one is needed.
    NoDates = "input": "an import needs a column ingested, or an event file; `accession ingest` takes lists";
    /// A file is an event file or a manifest, although a list of granules is expected.
    IsAHistory = "input": "`accession import` takes event files and manifests";
    /// Pages of a search result are missing.
    PagesMissing = "pages-missing":
        "nothing was changed; {name the files of all pages; ingest and import take these with --partial|ask the catalogue for all pages}";
    /// A response does not have its list of granules, such as one that reports an error.
    NoList = "input": "check whether the response reports an error, or has another --format";
    /// An object has no field of that name, or no string in it.
    NoField = "input": "name the field with --column";
    /// What a file states of another file is not a path, a size or a checksum.
    StatedFile = "input": "{correct the file; --no-files of commands that ingest granules ignores sizes and checksums|correct the list}";
    /// A checksum does not say by which algorithm it was computed.
    NoAlgorithm = "input": "name it with --algorithm; --no-files of commands that ingest granules ignores sizes and checksums";
    /// A log is to be combined into changes of days, but has times of its own.
    OwnTimes = "usage": "omit {--every|every}";
    /// An option names a part of a file that its format does not have.
    NotOfFormat = "usage": "nothing was changed; omit the option, or name the format with --format";
    /// A document is in none of the formats.
    UnknownFormat = "input":
        "write one object a line (jq -c '.[]'), and name the field with --column; or one id a line (jq -r '.[]')";
    /// A file is an HTML or XML document.
    Markup = "input":
        "ask the catalogue for JSON or CSV, or take the ids out first, one a line; or a server sent a page, to log in or about an error: download the file again";
    /// A file is a table in a binary format.
    BinaryTable = "input":
        "write it as CSV first: `duckdb -csv -c \"SELECT * FROM 'FILE'\"` prints that of Parquet; a bucket can write its inventory as CSV";
    /// A data file of an S3 Inventory is missing, or has other bytes than the manifest states.
    DataFile = "input":
        "fetch all data files of the inventory again; where they have their whole keys, name the directory with --root";
    /// What was read of a primary is not a manifest, or not the list that was asked for.
    NotPublished = "input":
        "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is";
    /// The name of a file ends in `.gz`, and it is not gzip.
    NotGzip = "input": "download the file again, or rename it";
    /// A string is not the address of a dataset.
    Address = "address":
        "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/";
    /// An address is not encrypted.
    NotEncrypted = "not-encrypted": "use https; {--insecure|insecure=True} accepts http";
    /// A file of authorities has no certificate.
    NoCertificate = "no-certificate": "--ca-file names a file of certificates in PEM form";
    /// A certificate is from an authority that is not trusted.
    UnknownAuthority = "unknown-authority":
        "nothing was changed; --ca-file names the certificates of a private authority";
    /// A certificate is refused for another reason.
    Certificate = "certificate": "nothing was changed; check the address, or ask those who run the server";
    /// A proxy cannot be used, or does not connect to the server.
    Proxy = "proxy":
        "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy";
    /// A server cannot be reached, or a connection broke again and again.
    NoResponse = "no-response": "nothing was changed; try again later";
    /// A response is refused.
    Response = "response": "nothing was changed; check the address, or try again later";
    /// The primary refuses until a person acts.
    PrimaryConflict = "primary-conflict":
        "nothing was changed; tell the primary: trying again does not help before its operator has acted";
    /// More bytes were read than are allowed.
    TooManyBytes = "too-many-bytes": "nothing was changed; a larger --max-bytes permits more";
    /// What the primary published was written too long ago.
    TooOld = "too-old": "nothing was changed; ask the primary, or accept its age with --max-age";
    /// The primary does not have the dataset.
    PrimaryDatasetUnknown = "primary-dataset-unknown": "name one of them with --primary-dataset";
    /// A history is not the one that was published.
    PublishedOtherwise = "published-otherwise":
        "nothing of this dataset was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; if another history has the name for good, move the directory of the dataset away and publish again: its mirrors report `rewritten`";
    /// A published file is not as it was written.
    PublishedDamaged = "published-damaged":
        "nothing more of this dataset was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes";
    /// A server cannot listen on an address.
    CannotListen = "cannot-listen": "name another address with --listen, or stop the program that uses it";
}

impl ErrorKind {
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

    /// Whether a listing was refused for what it has, or lacks, or for its time.
    pub fn is_of_listing(self) -> bool {
        matches!(
            self,
            ErrorKind::EmptyListing
                | ErrorKind::TooManyDeletions
                | ErrorKind::TooManyAdditions
                | ErrorKind::ContentContradicts
                | ErrorKind::StatedFile
                | ErrorKind::RefusedCharacter
                | ErrorKind::RefusedDirectory
                | ErrorKind::Backfill
                | ErrorKind::NotAfterLast
                | ErrorKind::Future
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

/// Where a hint is read, and how options are written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// An option is `--at`.
    CommandLine,
    /// An option is `at=…`.
    Python,
}

impl Error {
    /// Returns what to do about it. A value that is refused was read from a file, or else typed.
    pub fn hint(&self, front_end: FrontEnd) -> Option<String> {
        let hints = self.kind().hints();
        let hint = if self.location().is_some() { hints.last() } else { hints.first() }?;
        let parts = hint.split('{').flat_map(|part| part.split('}'));
        let said = parts.map(|part| match (part.split_once('|'), front_end) {
            (Some((typed, _)), FrontEnd::CommandLine) => typed.to_owned(),
            (Some((_, called)), FrontEnd::Python) => called.to_owned(),
            (None, FrontEnd::CommandLine) => part.to_owned(),
            (None, FrontEnd::Python) => as_arguments(part),
        });
        Some(said.collect())
    }
}

/// A text in which each option is an argument of a function, but for commands, which are in backticks.
fn as_arguments(text: &str) -> String {
    let mut options = text.split("--");
    let first = options.next().unwrap_or_default().to_owned();
    options.fold(first, |text, rest| {
        if !text.matches('`').count().is_multiple_of(2) {
            return format!("{text}--{rest}");
        }
        let is_of_name = |it: char| it == '-' || it.is_ascii_alphabetic();
        let end = rest.find(|it| !is_of_name(it)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        format!("{text}{}=…{rest}", name.replace('-', "_"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SourceLocation;

    #[test]
    fn options_are_named_as_their_reader_writes_them() {
        let hint = |kind, reader| Error::new(kind, "").hint(reader).unwrap();
        let (typed, called) = (FrontEnd::CommandLine, FrontEnd::Python);
        assert!(hint(ErrorKind::Held, typed).starts_with("--skip-existing skips"));
        assert!(hint(ErrorKind::Held, called).starts_with("skip_existing=True skips"));
        assert!(hint(ErrorKind::TooOld, called).ends_with("accept its age with max_age=…"));
        assert!(hint(ErrorKind::NotAfterLast, called).ends_with("`accession export --until`"));
        for kind in ErrorKind::ALL {
            for reader in [typed, called] {
                let hint = Error::new(*kind, "").hint(reader).unwrap_or_default();
                assert!(!hint.contains(['{', '}', '|']), "{kind}: {hint}");
            }
        }
    }

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        let typed = Error::new(ErrorKind::Future, "");
        let read = typed.clone().at(SourceLocation::Argument { number: 1 });
        assert!(typed.hint(FrontEnd::CommandLine).unwrap().contains("--at"));
        assert!(!read.hint(FrontEnd::CommandLine).unwrap().contains("--at"));
    }
}
