//! What to do about an error, as a program in Python reads it.

use accession::ErrorDetail;
use accession::WarningKind;
use accession::{Error, ErrorKind};

/// The hint for an error of the library. `None` means that the message is sufficient. A value that was read
/// from a file needs another hint than one that was passed.
pub fn of_library(error: &Error) -> Option<&'static str> {
    let is_read = error.location().is_some();
    match error.detail() {
        Some(detail) => of_detail(detail),
        None => of_kind(error.kind(), is_read, error.is_from_store()),
    }
}

/// The end of a warning of the library: what to do about it. `None` means that the message is sufficient.
pub const fn of_warning(kind: WarningKind) -> Option<&'static str> {
    Some(match kind {
        WarningKind::AlgorithmGuessed => {
            "if `b2sum` printed them, algorithm=\"blake2b-512\" says so"
        }
        WarningKind::CameBack => {
            "if they were never gone, annotate() with questionable=True marks that set"
        }
        WarningKind::MirrorNotChanged => {
            "compare() shows the differences, and reset=True replaces what the mirror holds"
        }
        WarningKind::OtherContent => "max_replace=N or \"P%\" takes the primary's",
        WarningKind::PrimaryWithdrawn => "withdraw() withdraws it here",
        _ => return None,
    })
}

const fn of_kind(kind: ErrorKind, is_read: bool, is_from_store: bool) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::InvalidPath => "use another name, or a shorter path",
        ErrorKind::Temporary => "nothing was changed; set TMPDIR to a directory with enough space",
        ErrorKind::Interrupted if is_from_store => "nothing was changed; try again",
        ErrorKind::NotMounted => {
            "is it mounted? if it is the right one, and its files are gone, mounted=… says so"
        }
        ErrorKind::RegistryMissing => {
            "if a file was lost, `accession restore` restores it from a backup; open(…, create=True) creates a new one"
        }
        ErrorKind::AlreadyExists if is_from_store => {
            "name a file that does not exist, or an empty database"
        }
        ErrorKind::AlreadyExists => "move it away, or write elsewhere",
        ErrorKind::NotARegistry => "name another file with registry=…",
        ErrorKind::OtherSchema => {
            "if another version of accession wrote it, use that version; its `export` writes what `import` reads into a new registry"
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
        ErrorKind::DatasetUnknown => "Registry.datasets() lists the datasets of the registry",
        ErrorKind::DatasetExists => {
            "name another; `accession dataset edit` changes the metadata of this one"
        }
        ErrorKind::DoiTaken => "shared_doi=True gives it to both",
        ErrorKind::Withdrawn => "`accession dataset reinstate` ends the withdrawal",
        ErrorKind::IdentifierUnknown => "Registry.history() lists the identifiers of a dataset",
        ErrorKind::Ambiguous => "name one of them; the set of one dataset is DATASET@TIME",
        ErrorKind::PagesMissing => "nothing was changed; ask the catalogue for all pages",
        ErrorKind::SelectsNothing => {
            "`accession granules` lists the granules held; at=… names another time"
        }
        ErrorKind::ClockAhead => {
            "nothing was changed; correct the clock, or confirm it by a change with at=\"now\" if it is right"
        }
        ErrorKind::PaymentId => {
            "name the layout and the epoch of the ids with layout=… and epoch=…"
        }
        ErrorKind::Held => "skip_existing=True skips granules that are already held",
        ErrorKind::NotHeld => "skip_missing=True skips granules that are not held",
        ErrorKind::Twice => {
            "name each granule once, or make two changes; skip_existing=True and skip_missing=True skip repetitions"
        }
        ErrorKind::NotAsExpected if is_read => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        ErrorKind::NotAsExpected => {
            "nothing was changed; either another process changed the dataset, or the input is wrong"
        }
        ErrorKind::Empty => "name granules as arguments, or a file with from=… (- is stdin)",
        ErrorKind::TooManyDeletions => {
            "nothing was changed; check that the listing is complete: compare() shows all that differ; if it is right, max_delete=N or \"P%\" allows more"
        }
        ErrorKind::TooManyAdditions => {
            "nothing was changed; check that the listing is of this dataset: compare() shows all that differ; if it is right, max_add=N or \"P%\" allows more"
        }
        ErrorKind::BeingChecked => {
            "its files are free again when the other run has ended, or ten minutes after it was killed; jobs=… reads more files at a time"
        }
        ErrorKind::ContentContradicts => {
            "nothing was changed; compare() shows all that differ; either a file is damaged, or it was processed again: then max_replace=N or \"P%\" with note=… takes its new bytes, and the history keeps the old"
        }
        ErrorKind::NotStated => "`accession sign` states what is new, and signs it",
        ErrorKind::TreeDiffers => {
            "nothing was signed or published: two trees under one name prove that the archive contradicts itself; if the registry was restored from an older backup, `accession sign --recover` takes published statements back; one that is built anew from exports begins a new log, with a new key under a new name"
        }
        ErrorKind::Backfill => {
            "nothing was changed; name the time of the change with at=…; say at=\"now\" if it is now"
        }
        ErrorKind::NotAfterLast if is_read => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        ErrorKind::NotAfterLast => {
            "name a later time with at=…, or at=\"now\"; to add an earlier change, build the history again with `accession export --until`"
        }
        ErrorKind::Future if is_read => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        ErrorKind::Future => "name an earlier time with at=…, or at=\"now\"",
        ErrorKind::Certificate => {
            "nothing was changed; ca_file=… names a file with the certificates of a private authority, in PEM form; of a public one, check the address, or ask those who run the server"
        }
        ErrorKind::Response => "nothing was changed; check the address, or try again later",
        ErrorKind::PrimaryInvalid => {
            "nothing was changed; fetch it again, and if that does not help, tell the primary, whose log this is"
        }
        ErrorKind::PrimaryConflict => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        ErrorKind::PrimaryDatasetUnknown => "name one of them with primary_dataset=…",
        ErrorKind::TooManyBytes => "nothing was changed; a larger max_bytes=… permits more",
        ErrorKind::TooOld => {
            "nothing was changed; ask the primary, or accept its age with max_age=…"
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
        ErrorDetail::NotAGranuleId => "nothing was changed; correct the file and try again",
        ErrorDetail::ForbiddenCharacter => "nothing was changed; leave out this character",
        ErrorDetail::CurrentDirectory => {
            r"nothing was changed; leave out ./, as find -printf '%P\n' does, or sed 's,^\./,,'"
        }
        ErrorDetail::NoColumn => {
            "name one of them with column=…; format=… lines takes each line as one granule"
        }
        ErrorDetail::CellCount => "format=… lines takes each line as one granule",
        ErrorDetail::NoOffset => "nothing was changed; add the offset, or Z if the times are UTC",
        ErrorDetail::NoDates => {
            "an import needs a column ingested, or an event file; `accession ingest` takes lists"
        }
        ErrorDetail::IsAHistory => "`accession import` takes event files and manifests",
        ErrorDetail::DeletedGranules => "only delete() takes deleted granules",
        ErrorDetail::OutOfTurn => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        ErrorDetail::NoList => {
            "check whether the response reports an error, or has another format=…"
        }
        ErrorDetail::NoField => "name the field with column=…",
        ErrorDetail::FileMetadata => "correct the list",
        ErrorDetail::NoAlgorithm => {
            "name it with algorithm=…; no_files=… of commands that ingest granules ignores sizes and checksums"
        }
        ErrorDetail::NotOfFormat => {
            "nothing was changed; omit the option, or name the format with format=…"
        }
        ErrorDetail::UnknownFormat => {
            "write one object a line (jq -c '.[]'), and name the field with column=…; or one id a line (jq -r '.[]')"
        }
        ErrorDetail::Markup => {
            "ask the catalogue for JSON or CSV, or take the ids out first, one a line; or a server sent a page, to log in or about an error: download the file again"
        }
        ErrorDetail::BinaryTable => {
            "write it as CSV first: `duckdb -csv -c \"SELECT * FROM 'FILE'\"` prints that of Parquet; a bucket can write its inventory as CSV"
        }
        ErrorDetail::DataFile => {
            "fetch all data files of the inventory again; where they have their whole keys, name the directory with root=…"
        }
        ErrorDetail::NotGzip => "download the file again, or rename it",
        ErrorDetail::NotAFile => {
            "`accession copy` copies a registry in a file to a server, and one on a server to a file"
        }
        ErrorDetail::NotAServer => "`accession copy` copies the registry to a server",
        ErrorDetail::NoCitus => "CREATE EXTENSION citus, on every machine, as a superuser",
        ErrorDetail::NeverChanged => "Dataset.ingest() makes its first change",
        ErrorDetail::NotRecordedThen => "name a later time with known_at=…, or omit it",
        ErrorDetail::NoChecksums => "`accession fixity add` records checksums",
        ErrorDetail::SetInFuture => "name an earlier time",
        ErrorDetail::EmptyListing => {
            "nothing was changed; check how the listing was made; `accession delete` deletes granules"
        }
        ErrorDetail::Disk => {
            "`df` shows whether the disk is full; if it is not, look for its errors in the log of the system"
        }
        ErrorDetail::NotEncrypted => "use https; insecure=True accepts http",
        ErrorDetail::Proxy => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        ErrorDetail::NoPublishedDataset => {
            "Dataset.fixity_check(root) compares the files of a directory with their records"
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_written_as_an_argument() {
        let of_kinds = ErrorKind::ALL.iter().filter_map(|kind| of_kind(*kind, false, false));
        let hints = of_kinds.chain(ErrorDetail::ALL.iter().filter_map(|detail| of_detail(*detail)));
        for hint in hints {
            let mut parts = hint.split('`').step_by(2);
            assert!(parts.all(|part| !part.contains("--")), "{hint}");
        }
    }
}
