//! What may have been meant by a name or an identifier that is unknown.

use accession::error::Unknown;
use accession::{Access, DatasetName, Snapshot};

use super::error::Error;
use super::session::Session;
use super::warning::WarningKind;

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
