//! Hints of the command line about errors. Each names one thing to do, if possible as a command to paste.

use accession::ErrorDetail;
use accession::{Error, ErrorKind};
use accession::{Warning, WarningKind};

use super::kind::Kind;

/// The hint for an error of the library. `None` means that the message is sufficient. A value from a file needs
/// a different hint than a typed value.
pub fn of_library(error: &Error) -> Option<&str> {
    if let Some(hint) = error.hint() {
        return Some(hint);
    }
    let is_read = error.location().is_some();
    match error.detail() {
        Some(detail) => of_detail(detail),
        None => of_kind(error.kind(), is_read, error.is_from_store()),
    }
}

const INCOMPLETE: &str = "name the files of all pages";

/// The hint for a refusal of a guard. `command` is the same command with the resulting set as the expected one.
/// `program` is the beginning of a command.
pub fn of_refusal(error: &Error, command: &str, program: &str) -> String {
    if let Some(hint) = error.hint() {
        // Wrong reading options cannot be accepted with `--expect`.
        if error.kind() == ErrorKind::Input {
            return hint.to_owned();
        }
        return format!("{hint}; if it is right, `{command}` makes exactly this change");
    }
    let option = match error.kind() {
        ErrorKind::ClockAhead => {
            return format!("correct the clock; if it is right, `{command}` makes this change");
        }
        ErrorKind::TooManyDeletions => Some("--max-delete"),
        ErrorKind::TooManyAdditions => Some("--max-add"),
        ErrorKind::ContentContradicts => Some("--max-replace"),
        _ => None,
    };
    let hint = format!("if this is right, `{command}` makes exactly this change");
    let Some((option, (dataset, count))) = option.zip(error.refused_before()) else { return hint };
    format!("{hint}; `{program} dataset edit {dataset} {option} {count}` sets a limit that lasts")
}

/// The hint for a dataset that was not created because another one has a similar name.
pub fn of_similar_name(name: &str, program: &str) -> String {
    format!(
        "if it is another dataset, create it: `{program} dataset create {name}`, and repeat the command"
    )
}

/// The hint for an error that only the command line can detect.
pub const fn of_command(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::CannotListen => {
            "name another address with --listen, or stop the program that uses it"
        }
        Kind::Incomplete => "try again when the machine can be reached",
        Kind::Library(ErrorKind::Incomplete) => INCOMPLETE,
        Kind::Library(_) | Kind::Output => return None,
    })
}

/// The end of a warning of the library: what to do about it. `None` means that the message is sufficient.
/// `program` is the beginning of a command.
pub fn of_warning(warning: &Warning, program: &str) -> Option<String> {
    let named = (warning.dataset.as_ref(), warning.timestamp);
    Some(match (warning.kind, named) {
        (WarningKind::CameBack, (Some(dataset), Some(at))) => format!(
            "if they were never gone, `{program} annotate {dataset}@{at} WHY --questionable` marks that set"
        ),
        (WarningKind::OtherIdentifiers, (Some(dataset), _)) => {
            format!("`{program} history {dataset}` lists them")
        }
        (WarningKind::PrimaryWithdrawn, (Some(dataset), _)) => {
            format!("`{program} dataset withdraw {dataset} --note TEXT` withdraws it here")
        }
        _ => return None,
    })
}

const fn of_kind(kind: ErrorKind, is_read: bool, is_from_store: bool) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::InvalidPath => "use another name, or a shorter path",
        ErrorKind::Temporary => "nothing was changed; set TMPDIR to a directory with enough space",
        ErrorKind::NotMounted => {
            "is it mounted? if it is the right one, and its files are gone, --mounted says so"
        }
        ErrorKind::RegistryMissing => {
            "if a file was lost, `accession registry restore` restores it from a backup; `accession dataset create NAME` and --create create a new one"
        }
        ErrorKind::AlreadyExists if is_from_store => {
            "name a file that does not exist, or an empty database"
        }
        ErrorKind::AlreadyExists => "move it away, or write elsewhere",
        ErrorKind::NotARegistry => "name the file of a registry",
        ErrorKind::OtherSchema => {
            "if another version of accession wrote it, use that version; its `dataset export` writes what `import` reads into a new registry"
        }
        ErrorKind::Busy => "wait until the other command has finished, and try again",
        ErrorKind::Full => "nothing was changed; free some space, and try again",
        ErrorKind::Misplaced => {
            "put the missing file back, with those whose names continue with -wal and -shm, or move these files away: SQLite would apply them to the next file of that name"
        }
        ErrorKind::Denied => {
            "nothing was changed; check who is permitted to read the file, and to write to it and to its directory; on a server, the privileges of the role, and whether the server is a standby"
        }
        ErrorKind::Replaced => {
            "nothing was changed; find out where the registry is now, and try again"
        }
        ErrorKind::Damaged => {
            "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror"
        }
        ErrorKind::TooLong => {
            "shorten the note, the title, or the list of patterns or of the files of a granule"
        }
        ErrorKind::Address if is_from_store => {
            "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass"
        }
        ErrorKind::Address => {
            "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/"
        }
        ErrorKind::Unreachable if is_from_store => {
            "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs"
        }
        ErrorKind::Unreachable => "nothing was changed; try again later",
        ErrorKind::ConnectionLost => {
            "nothing was changed; try again when the server can be reached"
        }
        ErrorKind::OutcomeUnknown => {
            "when the server can be reached, `accession history` shows whether the change was made"
        }
        ErrorKind::NotVisible => {
            "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)"
        }
        ErrorKind::Conflict => "nothing was changed; try again",
        ErrorKind::DatasetUnknown => "`accession dataset list` lists the datasets of the registry",
        ErrorKind::DatasetExists => {
            "name another; `accession dataset edit` changes the metadata of this one"
        }
        ErrorKind::DoiTaken => "--shared-doi gives it to both",
        ErrorKind::Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        ErrorKind::IdentifierUnknown => "`accession history` lists the identifiers of a dataset",
        ErrorKind::Ambiguous => "name one of them",
        ErrorKind::Incomplete => INCOMPLETE,
        ErrorKind::NotAList => "write one id a line, or a table with a header",
        ErrorKind::SelectsNothing => {
            "`accession granules DATASET@TIME` lists the granules held at that time"
        }
        ErrorKind::ClockAhead => {
            "correct the clock; if it is right, --at now of a command that records a change confirms it"
        }
        ErrorKind::Held => "--skip-existing skips granules that are already held",
        ErrorKind::NotHeld => "--skip-missing skips granules that are not held",
        ErrorKind::Twice => {
            "name each granule once, or make two changes; `ingest --skip-existing` and `delete --skip-missing` skip repetitions"
        }
        ErrorKind::NotAsExpected if is_read => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        ErrorKind::NotAsExpected => {
            "nothing was changed; the dataset or the input has changed: try the command without --expect, to see what it does now"
        }
        ErrorKind::Empty => "name a file, a directory, or - for standard input",
        ErrorKind::TooManyDeletions | ErrorKind::TooManyAdditions | ErrorKind::Unlike => {
            "`accession compare DATASET FILE` lists all that differ; if it is right, expect the set that the error names"
        }
        ErrorKind::SimilarName => "if it is another dataset, `accession dataset create` creates it",
        ErrorKind::ContentContradicts => {
            "`accession compare DATASET FILE --json` lists all that differ; either a file is damaged, or it was processed again: then expect the set that the error names"
        }
        ErrorKind::NotStated => "`accession proof sign` states what is new, and signs it",
        ErrorKind::TreeDiffers => {
            "nothing was signed or published: two trees under one name prove that the archive contradicts itself; if the registry was restored from an older backup, `accession proof sign --recover` takes published statements back; one that is built anew from exports begins a new log, with a new key under a new name"
        }
        ErrorKind::NotAfterLast if is_read => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        ErrorKind::NotAfterLast => {
            "name a later time with --at, or --at now; if the last change has a wrong date, `accession dataset correct` takes it out"
        }
        ErrorKind::Future if is_read => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        ErrorKind::Future => "name an earlier time with --at, or --at now",
        ErrorKind::Certificate => {
            "nothing was changed; --ca-file names a file with the certificates of a private authority, in PEM form; of a public one, check the address, or ask those who run the server"
        }
        ErrorKind::Response => "nothing was changed; check the address, or try again later",
        ErrorKind::PrimaryInvalid => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        ErrorKind::PrimaryConflict => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        ErrorKind::PrimaryDatasetUnknown => {
            "name one of them: with --primary-dataset, or, of a website, datasets/NAME in its address or directory"
        }
        ErrorKind::TooManyBytes => "nothing was changed; a larger --max-bytes permits more",
        ErrorKind::TooOld => {
            "nothing was changed; ask the primary, or accept its age with --max-age"
        }
        ErrorKind::PublishedOtherwise => {
            "nothing of this dataset was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; if another history has the name for good, move the directory of the dataset away and publish again: its mirrors report `rewritten`"
        }
        ErrorKind::PublishedDamaged => {
            "nothing more of this dataset was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes"
        }
        _ => return None,
    })
}

const fn of_detail(detail: ErrorDetail) -> Option<&'static str> {
    Some(match detail {
        ErrorDetail::PaymentId => {
            "name the layout and the epoch of the ids with --layout and --epoch"
        }
        ErrorDetail::BeingChecked => {
            "its files are free again when the other run has ended, or ten minutes after it was killed; --jobs reads more files at a time"
        }
        ErrorDetail::NotAGranuleId => "nothing was changed; correct the file and try again",
        ErrorDetail::ForbiddenCharacter => "nothing was changed; leave out this character",
        ErrorDetail::CurrentDirectory => {
            r"nothing was changed; leave out ./, as find -printf '%P\n' does, or sed 's,^\./,,'"
        }
        ErrorDetail::NoColumn => "name one of them with --column",
        ErrorDetail::CellCount => {
            "correct the file; --comment and --skip-lines skip lines that are not rows"
        }
        ErrorDetail::NoDates => {
            "an import needs a column ingested, an event file, or listings with a date in their names; `accession ingest` reads others"
        }
        ErrorDetail::IsAHistory => "`accession import` takes event files and manifests",
        ErrorDetail::DeletedGranules => {
            "only `accession delete` and `ingest --delete` read deleted granules"
        }
        ErrorDetail::OutOfTurn => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        ErrorDetail::NoList => {
            "check whether the response reports an error, or has another --format"
        }
        ErrorDetail::NoField => "name the field with --column",
        ErrorDetail::FileMetadata => {
            "correct the file; --no-files of commands that ingest granules ignores sizes and checksums"
        }
        ErrorDetail::NoAlgorithm => {
            "name it with --algorithm; --no-files of commands that ingest granules ignores sizes and checksums"
        }
        ErrorDetail::NotOfFormat => {
            "nothing was changed; omit the option, or name the format with --format"
        }
        ErrorDetail::UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with --column; or one id a line (jq -r '.[]')"
        }
        ErrorDetail::Markup => {
            "ask the catalogue for JSON or CSV, or take the ids out first, one a line; or a server sent a page, to log in or about an error: download the file again"
        }
        ErrorDetail::BinaryTable => {
            "write it as CSV first: `duckdb -csv -c \"SELECT * FROM 'FILE'\"` prints that of Parquet; a bucket can write its inventory as CSV"
        }
        ErrorDetail::DataFile => {
            "fetch all data files of the inventory again; where they have their whole keys, name the directory with --root"
        }
        ErrorDetail::NotGzip => "download the file again, or rename it",
        ErrorDetail::NotAFile => {
            "`accession registry copy` copies a registry in a file to a server, and one on a server to a file"
        }
        ErrorDetail::NotAServer => "`accession registry copy` copies the registry to a server",
        ErrorDetail::NoCitus => "CREATE EXTENSION citus, on every machine, as a superuser",
        ErrorDetail::Cancelled => "nothing was changed; try again",
        ErrorDetail::NeverChanged => "`accession ingest` makes its first change",
        ErrorDetail::FirstChange => {
            "`accession dataset correct DATASET --after none` takes it out of the history"
        }
        ErrorDetail::NothingToCorrect => {
            "`accession history DATASET` lists the changes; --after names the last one that is right, or none"
        }
        ErrorDetail::FollowsPrimary => {
            "nothing was changed; when the primary has corrected it, `accession mirror pull DATASET` follows"
        }
        ErrorDetail::NotUnused => {
            "`accession dataset withdraw` ends a dataset, and `accession dataset rename` gives it another name"
        }
        ErrorDetail::NotRecordedThen => "name a later time with --known-at, or omit it",
        ErrorDetail::NoChecksums => "`accession fixity add` records checksums",
        ErrorDetail::SetInFuture => "name an earlier time",
        ErrorDetail::EmptyListing => {
            "check how the listing was made; `accession delete` deletes granules"
        }
        ErrorDetail::Disk => {
            "`df` shows whether the disk is full; if it is not, look for its errors in the log of the system"
        }
        ErrorDetail::DanglingLink => {
            "`find DIR -xtype l` lists all such links: mount or restore their targets, or remove the links"
        }
        ErrorDetail::NotEncrypted => "use https; --insecure accepts http",
        ErrorDetail::Proxy => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        ErrorDetail::NoPublishedDataset => {
            "`accession fixity check DATASET --root DIR` compares the files of a directory with their records"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        let hint = |is_read| of_kind(ErrorKind::Future, is_read, false).unwrap();
        assert!(hint(false).contains("--at"), "{}", hint(false));
        assert!(!hint(true).contains("--at"), "{}", hint(true));
    }

    #[test]
    fn every_detail_has_a_hint() {
        for detail in ErrorDetail::ALL {
            assert!(of_detail(*detail).is_some(), "{detail:?}");
        }
    }
}
