//! Copying the history of a primary, with its record and its cited subsets.

use super::follow::{known, read_log};
use super::remote::{Fetched, Remote};
use crate::mirror::error::{Error, Result};
use crate::mirror::log::Position;
use crate::mirror::manifest::events;
use crate::model::{Dataset, DatasetName, LogChange, Timestamp};
use crate::registry::{Expected, Import, Registry, Remembered};

/// What was read of a primary to copy it.
pub struct Replica {
    /// The record of the primary's dataset.
    pub record: Dataset,
    source: String,
    etag: Option<String>,
    changes: Vec<LogChange>,
}

/// Reads the log of a primary into an import: what a dataset, which was copied from the same address
/// before, does not have yet, and all cited subsets.
///
/// # Errors
///
/// [`Error::Input`]: a line is wrong; those of requests.
pub fn read_replica(
    remote: &Remote,
    registry: Option<&Registry>,
    dataset: &DatasetName,
    import: &mut Import,
) -> Result<Replica> {
    let source = remote.address.to_string();
    let base = match registry {
        Some(registry) => base(registry, dataset, &source)?,
        None => None,
    };
    let Fetched::Head(of) = remote.head(None)? else {
        let what = "the server says that nothing changed, but was not asked".to_owned();
        return Err(Error::Response { url: source, what });
    };
    let base = base.filter(|base| base.number <= of.head.changes);
    let mut position = base.as_ref().map_or_else(Position::default, Position::from);
    let mut changes: Vec<LogChange> = Vec::new();
    let mut last = base;
    let memory = Registry::in_memory()?;
    let reports_to = registry.unwrap_or(&memory);
    loop {
        let mut added = false;
        let mut take = |part, change: Option<LogChange>, location| {
            added = true;
            for event in events(part, &location) {
                import.add(event)?;
            }
            if let Some(change) = change {
                let LogChange { timestamp, identifier, note, .. } = change.clone();
                let (identifier, location) = (Some(identifier), Some(location));
                import.expect(timestamp, Expected { identifier, note, location });
                last = Some(change.clone());
                changes.push(change);
            }
            Ok(())
        };
        match read_log(remote, reports_to, &of, position, &mut take) {
            Ok(()) => break,
            // Not what was read before: the import compares it with what is stored.
            Err(Error::Input(_)) if !added && position != Position::default() => {
                position = Position::default();
                last = None;
            }
            Err(error) => return Err(error),
        }
    }
    if let Err(what) = of.head.check_end(last.as_ref().map_or(0, |last| last.number), last.as_ref())
    {
        return Err(Remote::contradiction(&of, &what));
    }
    let (of, subsets) = remote.subsets(of)?;
    let known_until = last.as_ref().map(|last| last.timestamp);
    for subset in subsets {
        // Of a change that came after the head: the next copy keeps it.
        if known_until.is_some_and(|until| subset.timestamp <= until) {
            import.keep_subset(subset);
        }
    }
    import.describe(of.head.record.clone());
    Ok(Replica { record: of.head.record, source, etag: of.etag, changes })
}

/// The change of the log after which the dataset stands, as far as is remembered.
fn base(registry: &Registry, dataset: &DatasetName, source: &str) -> Result<Option<LogChange>> {
    if known(registry, dataset, source)?.is_none() {
        return Ok(None);
    }
    let snapshot = registry.snapshot()?;
    let Some(latest) = snapshot.dataset(dataset)?.latest else { return Ok(None) };
    let mut base = None;
    snapshot.each_change_read(dataset, source, 0, |change| {
        if (change.timestamp, change.identifier) == (latest.timestamp, latest.identifier) {
            base = Some(change);
            return false;
        }
        change.timestamp < latest.timestamp
    })?;
    Ok(base)
}

impl Replica {
    /// Remembers what was read, so that the next copy reads only what is new.
    ///
    /// # Errors
    ///
    /// [`Error::Registry`]: the registry cannot be written.
    pub fn remember(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
        read: Timestamp,
    ) -> Result<()> {
        Ok(registry.remember(
            dataset,
            &Remembered {
                source: &self.source,
                read,
                etag: self.etag.as_deref(),
                is_identical: true,
                forget_from: None,
                changes: &self.changes,
            },
        )?)
    }
}
