//! What to do about an error of each kind: one table for the command line and for the Python package. A command
//! that knows more about a case gives a hint of its own.

use super::{Error, ErrorKind};

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
        let hint = of_kind(self.kind(), self.location().is_some())?;
        // What the two say differently is in braces, of the command line first.
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

fn of_kind(kind: ErrorKind, was_read: bool) -> Option<&'static str> {
    use ErrorKind::*;
    let hint = match kind {
        RegistryMissing => {
            "if it was lost, restore it from a backup with `accession restore`; {`accession dataset add NAME` and --create create|open(…, create=True) creates} a new one"
        }
        CannotListen => "name another address with --listen, or stop the program that uses it",
        NotMounted => {
            "is it mounted? if it is the right one, and its files are gone, --mounted says so"
        }
        NotARegistry => "name another file with --registry",
        RegistryExists => "name a file that does not exist, or an empty database",
        OtherSchema => {
            "use the version of accession that wrote it; its `export` writes what `import` reads into a new registry"
        }
        Replaced => "nothing was changed; find out where the registry is now, and try again",
        PathTooLong => "use a shorter path, or work in another directory",
        ReservedName => "name another file",
        Temporary => "nothing was changed; set TMPDIR to a directory with enough space",
        Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        BeingChecked => {
            "its files are free again when the other run has ended, or ten minutes after it was killed; --jobs reads more files at a time"
        }
        Busy => "wait until the other command has finished, and try again",
        Full => "nothing was changed; free some space, and try again",
        Orphaned => {
            "put the missing file back, or move these files away: SQLite would apply them to the next file of that name"
        }
        MovedAway => {
            "move the file back, with those whose names continue with -wal and -shm, before anything else"
        }
        ReadOnly => {
            "nothing was changed; check who is permitted to write to the registry, and whether its server is a standby"
        }
        CannotOpen => "check who is permitted to read the file, and to write to its directory",
        Changed => "try again",
        Damaged => {
            "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror"
        }
        TooLong => "shorten the note, the title or the list of patterns",
        RegistryAddress => {
            "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass"
        }
        Unreachable => {
            "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs"
        }
        ConnectionLost => "nothing was changed; try again when the server can be reached",
        OutcomeUnknown => {
            "when the server can be reached, `accession history` shows whether the change was made"
        }
        NotVisible => {
            "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)"
        }
        Incomplete => "try again when the machine can be reached",
        Conflict | Cancelled => "nothing was changed; try again",
        Denied => "nothing was changed; the guide lists the privileges that a role needs",
        NotAnInstance => "name the instance as DATASET@TIME: `accession resolve` shows it",
        ClockAhead => {
            "nothing was changed; correct the clock, or confirm it with {--at now|at=\"now\"} if it is right"
        }
        NotAFile => {
            "`accession copy` copies a registry in a file to a server, and one on a server to a file"
        }
        NotAServer => "`accession copy` copies the registry to a server",
        NoCitus => "CREATE EXTENSION citus, on every machine, as a superuser",
        PublishedOtherwise => {
            "nothing of this dataset was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; if another history has the name for good, move the directory of the dataset away and publish again: its mirrors report `rewritten`"
        }
        PublishedDamaged => {
            "nothing more of this dataset was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes"
        }
        NotEncrypted => "use https; {--insecure|insecure=True} accepts http",
        NoCertificate => "--ca-file names a file of certificates in PEM form",
        UnknownAuthority => {
            "nothing was changed; --ca-file names the certificates of a private authority"
        }
        Certificate => "nothing was changed; check the address, or ask those who run the server",
        Proxy => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        Address => {
            "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/"
        }
        NoResponse => "nothing was changed; try again later",
        Response => "nothing was changed; check the address, or try again later",
        PrimaryConflict => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        TooManyBytes => "nothing was changed; a larger --max-bytes permits more",
        TooOld => "nothing was changed; ask the primary, or accept its age with --max-age",
        PrimaryDatasetUnknown => "name one of them with --primary-dataset",
        DatasetUnknown => {
            "{`accession dataset list` lists|Registry.datasets() lists} the datasets of the registry"
        }
        DatasetExists => "`accession dataset edit` changes its metadata",
        DoiTaken => "{--shared-doi|shared_doi=True} gives it to both",
        NoHistory => "`accession ingest` makes its first change",
        NothingKnown => "name a later time with --known-at, or omit it",
        Ambiguous => "name one of them",
        IdentifierUnknown => {
            "{`accession history` lists|Registry.history() lists} the identifiers of a dataset"
        }
        SelectsNothing | NotHeldToCite => {
            "`accession granules` lists the granules held; --at names another time"
        }
        PaymentScheme => {
            "name these with --layout and --epoch, or use another registry for other ids"
        }
        Held => "{--skip-existing|skip_existing=True} skips granules that are already held",
        HeldThen | NotHeldThen => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        NotHeld => "{--skip-missing|skip_missing=True} skips granules that are not held",
        Twice => {
            "name each granule once; {--skip-existing and --skip-missing|skip_existing=True and skip_missing=True} skip repetitions"
        }
        RefusedDirectory => {
            "nothing was changed; leave out ./, as find -printf '%P\\n' does, or sed 's,^\\./,,'"
        }
        RefusedCharacter => "nothing was changed; leave out this character",
        Both => "make two changes, one after the other",
        NotAsExpected if was_read => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        NotAsExpected => {
            "nothing was changed; either another process changed the dataset, or the input is wrong"
        }
        EmptyListing => {
            "nothing was changed; check how the listing was made; `accession delete` deletes granules"
        }
        TooManyDeletions => {
            "nothing was changed; {`accession mirror compare --all` lists|compare() shows} all that differ; {--max-delete N or P%|max_delete=N or \"P%\"} allows more"
        }
        TooManyAdditions => {
            "nothing was changed; {`accession mirror compare --all` lists|compare() shows} all that differ; {--max-add N or P%|max_add=N or \"P%\"} allows more"
        }
        Backfill => {
            "nothing was changed; name the time of the change with --at; say {--at now|at=\"now\"} if it is now"
        }
        ContentContradicts => {
            "nothing was changed; either a file is damaged, or it was processed again: then {--max-replace N or P% with --note WHY|max_replace=N or \"P%\" with note=…} takes its new bytes, and the history keeps the old"
        }
        NoChecksums => "`accession fixity add` records checksums",
        StatedFile => "correct the file; --no-files ignores sizes and checksums",
        NoAlgorithm => "name it with --algorithm; --no-files ignores sizes and checksums",
        Empty => "name granules as arguments, or a file with --from (- is stdin)",
        NotAfterLast if was_read => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        NotAfterLast => {
            "name a later time with --at, or {--at now|at=\"now\"}; to add an earlier change, build the history again with `accession export --until`"
        }
        Future if was_read => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        Future => "name an earlier time with --at, or {--at now|at=\"now\"}",
        NotReplaced => "move it away, or write elsewhere",
        NotYet => "name an earlier time, or omit it for now",
        ClockBehind => "correct the clock, or wait until it has caught up",
        NotYetIssued => "name the epoch of the id with --epoch",
        WorkerUnknown => "name the layout of the id with --layout",
        NoColumn => "name one of them with --column; --format lines takes each line as one granule",
        NotAGranuleId => "nothing was changed; correct the file and try again",
        Cells => "--format lines takes each line as one granule",
        NoOffset => "nothing was changed; add the offset, or Z if the times are UTC",
        NoDates => {
            "an import needs a column ingested, or an event file; `accession ingest` takes lists"
        }
        IsAHistory => "`accession import` takes event files and manifests",
        PagesMissing => {
            "nothing was changed; name the files of all pages; ingest and import take these with --partial"
        }
        NoList => "check whether the response reports an error, or has another --format",
        NoField => "name the field with --column",
        NotOfFormat => "nothing was changed; omit the option, or name the format with --format",
        UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with --column; or one id a \
             line (jq -r '.[]')"
        }
        Markup => {
            "ask the catalogue for JSON or CSV, or take the ids out first, one a line; or a server sent a \
             page, to log in or about an error: download the file again"
        }
        BinaryTable => {
            "write it as CSV first: `duckdb -csv -c \"SELECT * FROM 'FILE'\"` prints that of Parquet; a \
             bucket can write its inventory as CSV"
        }
        DataFile => {
            "fetch all data files of the inventory again; where they have their whole keys, name the \
             directory with --root"
        }
        NotPublished => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        NotGzip => "download the file again, or rename it",
        _ => return None,
    };
    Some(hint)
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
