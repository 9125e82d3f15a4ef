//! Suggests what to type after an error of the library, which itself does not know the command
//! line.

use accession::input::{self, InputErrorKind};
use accession::minting::payment::PaymentError;
use accession::model::{GranuleIdError, TimestampError};
use accession::registry::ChangeError;
use accession::{Error, mirror};

/// Returns what to do about an error. `None` means that the message is sufficient.
pub fn of(error: &Error) -> Option<String> {
    let hint = match error {
        Error::Change(refusal) => of_refusal(refusal)?,
        Error::Payment(error) => of_payment_error(error)?,
        error => of_kind(error.kind())?,
    };
    Some(hint.to_owned())
}

/// Returns what to do about an error of a mirror or its primary.
pub fn of_mirror(error: &mirror::Error) -> Option<String> {
    match error {
        mirror::Error::Registry(error) => of(error),
        mirror::Error::Input(error) => of_input(error),
        error => of_kind(error.kind()).map(str::to_owned),
    }
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

fn of_refusal(refusal: &ChangeError) -> Option<&'static str> {
    let hint = match refusal {
        ChangeError::Held { .. } => "--skip-existing skips granules that are already held",
        ChangeError::HeldThen { .. } | ChangeError::NotHeldThen { .. } => {
            "nothing was changed; correct the file: a granule is ingested and deleted in turn"
        }
        ChangeError::NotHeld { .. } => "--skip-missing skips granules that are not held",
        ChangeError::Twice { .. } => {
            "name each granule once; --skip-existing and --skip-missing skip repetitions"
        }
        ChangeError::GranuleId { cause: GranuleIdError::CurrentDirectory, .. } => {
            "nothing was changed; leave out ./, as find -printf '%P\\n' does, or sed 's|^\\./||'"
        }
        ChangeError::GranuleId { .. } => "nothing was changed; leave out this character",
        ChangeError::Both { .. } => "make two changes, one after the other",
        ChangeError::NotAsExpected { location: Some(_), .. }
        | ChangeError::SubsetNotAsExpected { .. } => {
            "nothing was changed; the log contradicts itself, or the dataset has another history: tell the primary"
        }
        ChangeError::NotAsExpected { .. } => {
            "nothing was changed; either another process changed the dataset, or the input is wrong"
        }
        ChangeError::EmptyListing { .. } => {
            "nothing was changed; check how the listing was made; `accession delete` deletes granules"
        }
        ChangeError::TooManyDeletions { .. } => {
            "nothing was changed; check that the listing is complete; --max-delete N or P% allows more"
        }
        ChangeError::Empty => "name granules as arguments, or a file with --from",
        ChangeError::NotAfterLast { location: Some(_), .. } => {
            "nothing was changed; an import must be later than the last change of the dataset"
        }
        ChangeError::NotAfterLast { .. } => "name a later time with --at, or omit --at for now",
        ChangeError::Future { location: Some(_), .. } => {
            "nothing was changed; correct the time, or import the file when that time has come"
        }
        ChangeError::Future { .. } => "name an earlier time with --at, or omit --at for now",
        _ => return None,
    };
    Some(hint)
}

fn of_payment_error(error: &PaymentError) -> Option<&'static str> {
    let hint = match error {
        PaymentError::ClockBehind { .. } => "correct the clock, or wait until it has caught up",
        PaymentError::NotYet { .. } => "name the epoch of the id with --epoch",
        PaymentError::NoSuchPlace { .. } => "name the layout of the id with --layout",
        _ => return None,
    };
    Some(hint)
}

/// What to do about an error of a kind that [`Error::kind`] returns.
pub fn of_kind(kind: &str) -> Option<&'static str> {
    let hint = match kind {
        "registry-missing" => {
            "create a registry with `accession dataset add NAME`, or with `accession ingest --create`"
        }
        "cannot-listen" => "name another address with --listen, or stop the program that uses it",
        "not-a-registry" => "name another file with --registry",
        "registry-exists" => "name a file that does not exist, or an empty database",
        "newer" => "use the version of accession that wrote the file, or a newer one",
        "replaced" => "nothing was changed; find out where the registry is now, and try again",
        "path-too-long" => "use a shorter path, or work in another directory",
        "reserved-name" => "name another file",
        "temporary" => "nothing was changed; set TMPDIR to a directory with enough space",
        "withdrawn" => "`accession dataset reinstate` ends the withdrawal",
        "busy" => "wait until the other command has finished, and try again",
        "full" => "nothing was changed; free some space, and try again",
        "orphaned" => {
            "put the missing file back, or move these files away: SQLite would apply them to the next file of that name"
        }
        "moved-away" => {
            "move the file back, with those whose names continue with -wal and -shm, before anything else"
        }
        "read-only" => {
            "nothing was changed; check who is permitted to write to the registry, and whether its server is a standby"
        }
        "cannot-open" => "check who is permitted to read the file, and to write to its directory",
        "changed" => "try again",
        "damaged" => {
            "`accession verify` shows what is damaged; write nothing more to the registry, keep a copy of it, and restore it from a backup or a mirror"
        }
        "too-long" => "shorten the note, the title or the list of patterns",
        "registry-address" => {
            "write the path of a file, or postgres://USER@HOST/DATABASE and the password into ~/.pgpass"
        }
        "unreachable" => {
            "check the address, the role, its password (PGPASSWORD, or a line of ~/.pgpass), and whether the server runs"
        }
        "connection-lost" => "nothing was changed; try again when the server can be reached",
        "outcome-unknown" => {
            "when the server can be reached, `accession history` shows whether the change was made"
        }
        "not-visible" => {
            "do not make it again: it appears when Citus has recovered the machine (citus.recover_2pc_interval)"
        }
        "incomplete" => "try again when the machine can be reached",
        "conflict" | "cancelled" => "nothing was changed; try again",
        "denied" => "nothing was changed; the guide lists the privileges that a role needs",
        "older" => "a command that changes something, as the owner of the tables, migrates it",
        "unfinished-copy" => "run the same `accession copy` again to finish it",
        "copied-before" => {
            "nothing was changed in it; DROP SCHEMA accession CASCADE in the target removes the unfinished copy, and the command can be run again"
        }
        "clock-ahead" => {
            "nothing was changed; correct the clock, or confirm it with --at now if it is right"
        }
        "not-a-file" => {
            "`accession copy` copies a registry in a file to a server, and one on a server to a file"
        }
        "not-a-server" => "`accession copy` copies the registry to a server",
        "no-citus" => "CREATE EXTENSION citus, on every machine, as a superuser",
        "published-otherwise" => {
            "nothing was published; if the registry was restored from a backup, `accession import` restores the days that it lost from the published log; publish another history into another directory"
        }
        "published-damaged" => {
            "nothing more was published; if `accession verify` finds the registry sound, move the directory of the dataset away and publish again: the log gets the same bytes"
        }
        "not-encrypted" => "use https; --insecure accepts http",
        "no-certificate" => "--ca-file names a file of certificates in PEM form",
        "unknown-authority" => {
            "nothing was changed; --ca-file names the certificates of a private authority"
        }
        "certificate" => "nothing was changed; check the address, or ask those who run the server",
        "proxy" => {
            "nothing was changed; HTTPS_PROXY, HTTP_PROXY or ALL_PROXY is http://USER:PASSWORD@HOST:PORT, and NO_PROXY names hosts that need no proxy"
        }
        "address" => {
            "write the address of a dataset, such as https://data.example.org/datasets/US.FOOL2.002/"
        }
        "no-response" => "nothing was changed; try again later",
        "response" => "nothing was changed; check the address, or try again later",
        "primary-conflict" => {
            "nothing was changed; tell the primary: trying again does not help before its operator has acted"
        }
        "too-many-bytes" => "nothing was changed; a larger --max-bytes permits more",
        "too-old" => "nothing was changed; ask the primary, or accept its age with --max-age",
        "primary-dataset-unknown" => "name one of them with --primary-dataset",
        "dataset-unknown" => "`accession dataset list` lists the datasets of the registry",
        "dataset-exists" => "`accession dataset edit` changes its record",
        "no-history" => "`accession ingest` makes its first change",
        "nothing-known" => "name a later time with --known-at, or omit it",
        "identifier-unknown" => "`accession history` lists the identifiers of a dataset",
        "selects-nothing" | "not-held" => {
            "`accession granules` lists the granules held; --at names another time"
        }
        "pages-missing" => {
            "nothing was changed; name the files of all pages; ingest and import take these with --partial"
        }
        "payment-scheme" => {
            "name these with --layout and --epoch, or use another registry for other ids"
        }
        _ => return None,
    };
    Some(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_change_has_a_hint() {
        let at = "2001-01-02T00:00:00Z".parse().unwrap();
        let refusals = [
            ChangeError::Empty,
            ChangeError::NotAfterLast { location: None, at, last: at },
            ChangeError::Future { location: None, at, now: at },
            ChangeError::Both { granule_id: "A".parse().unwrap(), location: None, first: None },
            ChangeError::NotHeld { granule_id: "A".parse().unwrap(), location: None, more: 0 },
        ];
        for refusal in refusals {
            assert!(of(&refusal.clone().into()).is_some(), "{refusal}");
        }
    }

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        let at = "2001-01-02T00:00:00Z".parse().unwrap();
        let location = accession::SourceLocation::Line { source: "a.csv".into(), line: 2 };
        let typed = ChangeError::Future { location: None, at, now: at };
        let read = ChangeError::Future { location: Some(location), at, now: at };
        assert!(of(&typed.into()).unwrap().contains("--at"));
        assert!(!of(&read.into()).unwrap().contains("--at"));
    }
}
