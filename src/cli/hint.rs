//! Suggests what to type after an error of the library, which itself does not know the command
//! line.

use accession::input::{self, InputErrorKind};
use accession::model::TimestampError;
use accession::{Error, ErrorKind};

/// Returns what to do about an error. `None` means that the message is sufficient.
pub fn of(error: &Error) -> Option<String> {
    of_kind(error.kind(), error.location().is_some()).map(str::to_owned)
}

/// Returns what to do about a file that cannot be read as the command needs it.
pub fn of_input(error: &input::Error) -> Option<String> {
    let hint = match &error.kind {
        InputErrorKind::NoColumn { .. } | InputErrorKind::NoUsualColumn { .. } => {
            "name one of them with --column; --format lines takes each line as one granule"
        }
        InputErrorKind::GranuleId { .. } => "nothing was changed; correct the file and try again",
        InputErrorKind::Cells { .. } => "--format lines takes each line as one granule",
        InputErrorKind::Time { cause: TimestampError::NoOffset, .. } => {
            "nothing was changed; add the offset, or Z if the times are UTC"
        }
        InputErrorKind::NoDates | InputErrorKind::NoIngestDate => {
            "an import needs a column ingested, or a change log; `accession ingest` takes lists"
        }
        InputErrorKind::IsAHistory => "`accession import` takes change logs and manifests",
        InputErrorKind::NoList { .. } => {
            "check whether the response reports an error, or has another --format"
        }
        InputErrorKind::NoField { .. } => "name the field with --column",
        InputErrorKind::UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with --column; or one id a \
             line (jq -r '.[]')"
        }
        InputErrorKind::Markup => {
            "a server may have sent a page about an error; download the file again"
        }
        InputErrorKind::Manifest { .. } | InputErrorKind::List { .. } => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        InputErrorKind::NotGzip => "download the file again, or rename it",
        _ => return None,
    };
    Some(hint.to_owned())
}

/// What to do about a search result that lacks pages.
pub const OF_MISSING_PAGES: &str =
    "nothing was changed; name the files of all pages; ingest and import take these with --partial";

/// Returns what to do about an error of a kind. A value that is refused was read from a file, or else
/// typed.
pub fn of_kind(kind: ErrorKind, was_read: bool) -> Option<&'static str> {
    let hint = match kind {
        ErrorKind::RegistryMissing => {
            "create a registry with `accession dataset add NAME`, or with `accession ingest --create`"
        }
        ErrorKind::CannotListen => {
            "name another address with --listen, or stop the program that uses it"
        }
        ErrorKind::NotARegistry => "name another file with --registry",
        ErrorKind::RegistryExists => "name a file that does not exist, or an empty database",
        ErrorKind::Newer => "use the version of accession that wrote the file, or a newer one",
        ErrorKind::Replaced => {
            "nothing was changed; find out where the registry is now, and try again"
        }
        ErrorKind::PathTooLong => "use a shorter path, or work in another directory",
        ErrorKind::ReservedName => "name another file",
        ErrorKind::Temporary => "nothing was changed; set TMPDIR to a directory with enough space",
        ErrorKind::Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        ErrorKind::Busy => "wait until the other command has finished, and try again",
        ErrorKind::Full => "nothing was changed; free some space, and try again",
        ErrorKind::Orphaned => {
            "put the missing file back, or move these files away: SQLite would apply them to the next file of that name"
        }
        ErrorKind::MovedAway => {
            "move the file back, with those whose names continue with -wal and -shm, before anything else"
        }
        ErrorKind::ReadOnly => {
            "nothing was changed; check who is permitted to write to the registry, and whether its server is a standby"
        }
        ErrorKind::CannotOpen => {
            "check who is permitted to read the file, and to write to its directory"
        }
        ErrorKind::Changed => "try again",
        ErrorKind::Damaged => {
            "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror"
        }
        ErrorKind::TooLong => "shorten the note, the title or the list of patterns",
        ErrorKind::RegistryAddress => {
            "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass"
        }
        ErrorKind::Unreachable => {
            "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs"
        }
        ErrorKind::ConnectionLost => {
            "nothing was changed; try again when the server can be reached"
        }
        ErrorKind::OutcomeUnknown => {
            "when the server can be reached, `accession history` shows whether the change was made"
        }
        ErrorKind::NotVisible => {
            "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)"
        }
        ErrorKind::Incomplete => "try again when the machine can be reached",
        ErrorKind::Conflict | ErrorKind::Cancelled => "nothing was changed; try again",
        ErrorKind::Denied => {
            "nothing was changed; the guide lists the privileges that a role needs"
        }
        ErrorKind::Older => {
            "a command that changes something migrates it (on a server: as the owner of the tables)"
        }
        ErrorKind::UnfinishedCopy => "run the same `accession copy` again to finish it",
        ErrorKind::CopiedBefore => {
            "nothing was changed in it; DROP SCHEMA accession CASCADE in the target removes the unfinished copy, and the command can be run again"
        }
        ErrorKind::ClockAhead => {
            "nothing was changed; correct the clock, or confirm it with --at now if it is right"
        }
        ErrorKind::NotAFile => {
            "`accession copy` copies a registry in a file to a server, and one on a server to a file"
        }
        ErrorKind::NotAServer => "`accession copy` copies the registry to a server",
        ErrorKind::NoCitus => "CREATE EXTENSION citus, on every machine, as a superuser",
        ErrorKind::PublishedOtherwise => {
            "nothing was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; publish another history into another directory"
        }
        ErrorKind::PublishedDamaged => {
            "nothing more was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes"
        }
        ErrorKind::NotEncrypted => "use https; --insecure accepts http",
        ErrorKind::NoCertificate => "--ca-file names a file of certificates in PEM form",
        ErrorKind::UnknownAuthority => {
            "nothing was changed; --ca-file names the certificates of a private authority"
        }
        ErrorKind::Certificate => {
            "nothing was changed; check the address, or ask those who run the server"
        }
        ErrorKind::Proxy => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        ErrorKind::Address => {
            "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/"
        }
        ErrorKind::NoResponse => "nothing was changed; try again later",
        ErrorKind::Response => "nothing was changed; check the address, or try again later",
        ErrorKind::PrimaryConflict => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        ErrorKind::TooManyBytes => "nothing was changed; a larger --max-bytes permits more",
        ErrorKind::TooOld => {
            "nothing was changed; ask the primary, or accept its age with --max-age"
        }
        ErrorKind::PrimaryDatasetUnknown => "name one of them with --primary-dataset",
        ErrorKind::DatasetUnknown => "`accession dataset list` lists the datasets of the registry",
        ErrorKind::DatasetExists => "`accession dataset edit` changes its record",
        ErrorKind::NoHistory => "`accession ingest` makes its first change",
        ErrorKind::NothingKnown => "name a later time with --known-at, or omit it",
        ErrorKind::IdentifierUnknown => "`accession history` lists the identifiers of a dataset",
        ErrorKind::SelectsNothing | ErrorKind::NotHeldToCite => {
            "`accession granules` lists the granules held; --at names another time"
        }
        ErrorKind::PaymentScheme => {
            "name these with --layout and --epoch, or use another registry for other ids"
        }
        ErrorKind::Held => "--skip-existing skips granules that are already held",
        ErrorKind::HeldThen | ErrorKind::NotHeldThen => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        ErrorKind::NotHeld => "--skip-missing skips granules that are not held",
        ErrorKind::Twice => {
            "name each granule once; --skip-existing and --skip-missing skip repetitions"
        }
        ErrorKind::RefusedDirectory => {
            "nothing was changed; leave out ./, as find -printf '%P\\n' does, or sed 's|^\\./||'"
        }
        ErrorKind::RefusedCharacter => "nothing was changed; leave out this character",
        ErrorKind::Both => "make two changes, one after the other",
        ErrorKind::NotAsExpected if was_read => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        ErrorKind::NotAsExpected => {
            "nothing was changed; either another process changed the dataset, or the input is wrong"
        }
        ErrorKind::EmptyListing => {
            "nothing was changed; check how the listing was made; `accession delete` deletes granules"
        }
        ErrorKind::TooManyDeletions => {
            "nothing was changed; check that the listing is complete; --max-delete N or P% allows more"
        }
        ErrorKind::Empty => "name granules as arguments, or a file with --from",
        ErrorKind::NotAfterLast if was_read => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        ErrorKind::NotAfterLast => "name a later time with --at, or omit --at for now",
        ErrorKind::Future if was_read => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        ErrorKind::Future => "name an earlier time with --at, or omit --at for now",
        ErrorKind::ClockBehind => "correct the clock, or wait until it has caught up",
        ErrorKind::NotYetIssued => "name the epoch of the id with --epoch",
        ErrorKind::WorkerUnknown => "name the layout of the id with --layout",
        ErrorKind::NoColumn => {
            "name one of them with --column; --format lines takes each line as one granule"
        }
        ErrorKind::NotAGranuleId => "nothing was changed; correct the file and try again",
        ErrorKind::Cells => "--format lines takes each line as one granule",
        ErrorKind::NoOffset => "nothing was changed; add the offset, or Z if the times are UTC",
        ErrorKind::NoDates => {
            "an import needs a column ingested, or a change log; `accession ingest` takes lists"
        }
        ErrorKind::IsAHistory => "`accession import` takes change logs and manifests",
        ErrorKind::NoList => "check whether the response reports an error, or has another --format",
        ErrorKind::NoField => "name the field with --column",
        ErrorKind::UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with --column; or one id a \
             line (jq -r '.[]')"
        }
        ErrorKind::Markup => {
            "a server may have sent a page about an error; download the file again"
        }
        ErrorKind::NotPublished => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        ErrorKind::NotGzip => "download the file again, or rename it",
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_change_has_a_hint() {
        let refusals = [
            ErrorKind::Empty,
            ErrorKind::NotAfterLast,
            ErrorKind::Future,
            ErrorKind::Both,
            ErrorKind::NotHeld,
        ];
        for kind in refusals {
            assert!(of_kind(kind, false).is_some(), "{kind}");
        }
    }

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        assert!(of_kind(ErrorKind::Future, false).unwrap().contains("--at"));
        assert!(!of_kind(ErrorKind::Future, true).unwrap().contains("--at"));
    }
}
