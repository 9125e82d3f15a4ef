//! What a command says about a dataset besides its result: the library's warnings about it, those that
//! need the registry again, and which identifier may have been meant by one that is unknown.

use accession::model::WarningKind;
use accession::{Access, DatasetName, ErrorKind, Snapshot};

use super::error::{Error, Result};
use super::session::Session;

/// Prints every warning about the dataset that a command reads.
///
/// # Errors
///
/// The registry cannot be read. A dataset that does not exist is not an error here.
pub fn warn_of_dataset(session: &Session, snapshot: &Snapshot, name: &DatasetName) -> Result<()> {
    match snapshot.described_dataset(name) {
        Ok(listed) => {
            session.warn_all(listed.warnings(name, session.now()?));
            Ok(())
        }
        Err(error) if error.kind() == ErrorKind::DatasetUnknown => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Warns that other datasets have the DOI of one that was created with the record of its primary.
pub fn warn_of_shared_doi(session: &Session, name: &DatasetName) -> Result<()> {
    let snapshot = session.open(Access::Read)?.snapshot()?;
    let Some(doi) = snapshot.dataset(name)?.dataset.doi else { return Ok(()) };
    let others = snapshot.datasets_with_doi(&doi)?;
    for other in others.iter().filter(|other| *other != name) {
        session.warn(WarningKind::SharedDoi, &format!("{name} has the DOI {doi}, as {other} has"));
    }
    Ok(())
}

/// The error of a list that lacks the datasets of machines that cannot be reached.
pub fn incomplete(datasets: u64) -> accession::Error {
    let message =
        format!("a machine cannot be reached, and the answer lacks its datasets: {datasets}");
    accession::Error::new(ErrorKind::Incomplete, message)
}

/// The error with a hint of what may have been meant, if anything that exists comes close.
pub fn with_suggestion(error: Error, session: &Session) -> Error {
    let Some(unknown) = error.unknown() else { return error };
    // The command has failed already: that nothing can be suggested is not reported.
    let snapshot = session.open_existing().ok().flatten();
    let snapshot = snapshot.and_then(|registry| registry.snapshot().ok());
    match snapshot.and_then(|snapshot| suggestion(&snapshot, unknown)) {
        Some(suggestion) => error.with_hint(suggestion),
        None => error,
    }
}

/// A question that names the identifiers that come close. `None` means that none does.
pub fn suggestion(snapshot: &Snapshot, unknown: &str) -> Option<String> {
    let similar = snapshot.similar_identifiers(unknown).unwrap_or_default();
    let meant: Vec<String> = similar.iter().map(|identifier| format!("DI:{identifier}")).collect();
    let (last, others) = meant.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}
