//! What to do about an error, as a program in Python reads it: as the command line says it, with arguments instead
//! of options.

use accession::{Error, ErrorDetail, ErrorKind, WarningKind};

/// The hint for an error of the library. `None` means that the message is sufficient.
pub fn of_library(error: &Error) -> Option<String> {
    let own = match error.detail() {
        Some(detail) => of_detail(detail),
        // The hint for a time in a file names no argument.
        None if error.location().is_some() => None,
        None => of_kind(error.kind()),
    };
    own.map(str::to_owned).or_else(|| accession_cli::hint(error).map(as_arguments))
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
        WarningKind::PrimaryWithdrawn => "withdraw() withdraws it here",
        _ => return None,
    })
}

/// A hint that names other functions or values than the one of the command line.
const fn of_kind(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::RegistryMissing => {
            "if a file was lost, `accession registry restore` restores it from a backup; open(…, create=True) creates a new one"
        }
        ErrorKind::DatasetUnknown => "Registry.datasets() lists the datasets of the registry",
        ErrorKind::IdentifierUnknown => "Registry.history() lists the identifiers of a dataset",
        ErrorKind::SelectsNothing => "granules() lists the granules held; at=… names another time",
        ErrorKind::ClockAhead => {
            "nothing was changed; correct the clock, or confirm it by a change with at=\"now\" if it is right"
        }
        ErrorKind::Twice => {
            "name each granule once, or make two changes; skip_existing=True and skip_missing=True skip repetitions"
        }
        ErrorKind::Empty => "name granules",
        ErrorKind::TooManyDeletions => {
            "nothing was changed; check that the listing is complete: compare() shows all that differ; if it is right, max_delete=N or \"P%\" allows more"
        }
        ErrorKind::TooManyAdditions => {
            "nothing was changed; check that the listing is of this dataset: compare() shows all that differ; if it is right, max_add=N or \"P%\" allows more"
        }
        ErrorKind::ContentContradicts => {
            "nothing was changed; compare() shows all that differ; either a file is damaged, or it was processed again: then max_replace=N or \"P%\" with note=… takes its new bytes, and the history keeps the old"
        }
        ErrorKind::NotAfterLast => "name a later time with at=…, or at=\"now\"",
        ErrorKind::Future => "name an earlier time with at=…, or at=\"now\"",
        _ => return None,
    })
}

const fn of_detail(detail: ErrorDetail) -> Option<&'static str> {
    Some(match detail {
        ErrorDetail::DeletedGranules => "only delete() takes deleted granules",
        ErrorDetail::FileMetadata => "correct the list",
        ErrorDetail::NoAlgorithm => "name it with algorithm=…",
        ErrorDetail::NeverChanged => "Dataset.ingest() makes its first change",
        ErrorDetail::NoPublishedDataset => {
            "Dataset.fixity_check(root) compares the files of a directory with their records"
        }
        _ => return None,
    })
}

/// The options that are switches.
const SWITCHES: [&str; 5] = ["insecure", "mounted", "shared_doi", "skip_existing", "skip_missing"];

/// A hint of the command line in which each option is an argument, except within commands, which are in backticks.
fn as_arguments(hint: &str) -> String {
    let mut text = String::with_capacity(hint.len());
    for (number, part) in hint.split('`').enumerate() {
        if number % 2 == 1 {
            text.push_str(&format!("`{part}`"));
            continue;
        }
        let mut options = part.split("--");
        text.push_str(options.next().unwrap_or_default());
        for option in options {
            let is_of_name = |it: char| it == '-' || it.is_ascii_alphabetic();
            let end = option.find(|it| !is_of_name(it)).unwrap_or(option.len());
            let name = option[..end].replace('-', "_");
            let value = if SWITCHES.contains(&name.as_str()) { "True" } else { "…" };
            text.push_str(&format!("{name}={value}{}", &option[end..]));
        }
    }
    text
}
