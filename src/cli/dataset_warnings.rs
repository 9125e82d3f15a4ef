//! Warnings for a reader of a dataset: that it was renamed or withdrawn, or that its last change is
//! in the future.

use accession::error::Unknown;
use accession::model::{Withdrawal, quoted};
use accession::registry::Listed;
use accession::{Access, DatasetName, ErrorKind, Instance, Moment, Snapshot, Timestamp};

use super::error::{Error, Result};
use super::output::in_force;
use super::session::Session;
use super::warning::WarningKind;

/// Prints every warning about the dataset that a command reads.
///
/// # Errors
///
/// The registry cannot be read. A dataset that does not exist is not an error here.
pub fn warn_of_dataset(session: &Session, snapshot: &Snapshot, name: &DatasetName) -> Result<()> {
    match snapshot.described_dataset(name) {
        Ok(listed) => warn_of_listed(session, name, &listed),
        Err(error) if error.kind() == ErrorKind::DatasetUnknown => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Prints every warning about a dataset that was named `asked`.
///
/// # Errors
///
/// The clock cannot be used.
pub fn warn_of_listed(session: &Session, asked: &DatasetName, listed: &Listed) -> Result<()> {
    let name = &listed.dataset.name;
    warn_of_former_name(session, asked, name);
    if let Some(withdrawal) = &listed.withdrawn {
        warn_of_withdrawal(session, name, withdrawal);
    }
    warn_of_future(session, listed, session.now()?);
    Ok(())
}

/// Warns that a dataset was named by a former name.
pub fn warn_of_former_name(session: &Session, asked: &DatasetName, current: &DatasetName) {
    if asked != current {
        session.warn(WarningKind::FormerName, &format!("{asked} was renamed: it is now {current}"));
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

/// Warns that a primary withdrew the dataset that one of this registry follows.
pub fn warn_of_withdrawn_primary(session: &Session, name: &DatasetName, found: &Withdrawal) {
    let note = found.note.as_ref().map_or_else(String::new, |note| format!(": {}", quoted(note)));
    let at = found.timestamp;
    let what = format!(
        "{name}: the primary withdrew its dataset at {at}{note}; `accession dataset withdraw {name}` withdraws it here"
    );
    session.warn(WarningKind::PrimaryWithdrawn, &what);
}

fn warn_of_withdrawal(session: &Session, name: &DatasetName, withdrawal: &Withdrawal) {
    let note = withdrawal.note.as_deref();
    let note = note.map(|note| format!(": {}", quoted(note))).unwrap_or_default();
    let since = withdrawal.timestamp;
    session.warn(WarningKind::Withdrawn, &format!("{name} was withdrawn at {since}{note}"));
}

/// More identifiers of a day than these are counted.
const MOST_NAMED: usize = 5;

/// Warns that a date, which means the end of that day, is not enough to name one set.
pub fn warn_of_others(session: &Session, at: Option<Moment>, others: &[Instance]) {
    let Some(at) = at else { return };
    if let [first, .., last] = others
        && others.len() > MOST_NAMED
    {
        let Instance { dataset, identifier, .. } = first;
        let what = format!(
            "on {at}, {} others were also in force, from {identifier} to {}: `accession history {dataset}` lists them; a time of the day names one",
            others.len(),
            last.identifier
        );
        return session.warn(WarningKind::OtherIdentifiers, &what);
    }
    for other in others {
        let (identifier, in_force) = (other.identifier, in_force(other));
        session.warn(
            WarningKind::OtherIdentifiers,
            &format!(
                "on {at}, {identifier} was also in force: {in_force}; a time of the day names one"
            ),
        );
    }
}

/// Warns that the last change of a dataset is in the future.
pub fn warn_of_future(session: &Session, listed: &Listed, now: Timestamp) {
    if let Some(latest) = &listed.latest {
        warn_of_future_change(session, latest, now);
    }
}

/// Warns that an instance takes effect in the future.
pub fn warn_of_future_change(session: &Session, latest: &Instance, now: Timestamp) {
    if latest.timestamp > now {
        let Instance { dataset, timestamp, .. } = latest;
        session.warn(
            WarningKind::LastChangeInFuture,
            &format!(
                "the last change of {dataset}, at {timestamp}, is in the future: now it is {now}"
            ),
        );
    }
}

/// The error of a list that lacks the datasets of machines that cannot be reached.
pub fn incomplete(datasets: u64) -> accession::Error {
    let message =
        format!("a machine cannot be reached, and the answer lacks its datasets: {datasets}");
    accession::Error::new(ErrorKind::Incomplete, message)
}

/// Warns that a change of a dataset that has a history takes effect long before it is recorded.
pub fn warn_of_back_dated(session: &Session, change: &Instance) {
    if !change.is_back_dated() {
        return;
    }
    let (at, day) = (change.timestamp, change.timestamp.day());
    let at = if day.start() == at { day.to_string() } else { at.to_string() };
    session.warn(
        WarningKind::BackDated,
        &format!(
            "back-dated to {at}: a citation already made for a date after that gives the previous identifier"
        ),
    );
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

/// A question that names what exists and comes close. `None` means that nothing does.
pub fn suggestion(snapshot: &Snapshot, unknown: &Unknown) -> Option<String> {
    let identifiers = |text: &str| {
        let similar = snapshot.similar_identifiers(text).unwrap_or_default();
        similar.iter().map(|identifier| format!("DI:{identifier}")).collect::<Vec<_>>()
    };
    let meant = match unknown {
        Unknown::Identifier(text) => identifiers(text),
        Unknown::Dataset(name) => {
            // In a short name, two other characters make another name.
            let most = if name.as_str().len() < 5 { 1 } else { 2 };
            let similar = snapshot.similar_datasets(name, most).unwrap_or_default();
            match similar.is_empty() {
                true => identifiers(name.as_str()),
                false => similar.iter().map(ToString::to_string).collect(),
            }
        }
    };
    let (last, others) = meant.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// Warns that the name of a dataset that was created differs from that of another in one character, or in
/// case only. In a name of fewer than four characters, another character makes another name.
pub fn warn_of_near_name(session: &Session, name: &DatasetName) {
    let most = usize::from(name.as_str().len() >= 4);
    let snapshot = session.open(Access::Read).ok().and_then(|registry| registry.snapshot().ok());
    let similar = snapshot.and_then(|snapshot| snapshot.similar_datasets(name, most).ok());
    if let Some(other) = similar.and_then(|similar| similar.into_iter().next()) {
        session.warn(
            WarningKind::NearName,
            &format!("{name} is a new dataset, whose name is almost that of {other}"),
        );
    }
}
