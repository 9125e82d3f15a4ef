//! Copying the history of a primary, with its record and its cited subsets.

use super::follow::{check_end, last_change_read, read_log};
use super::remote::{Fetched, Remote};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::Position;
use crate::mirror::log::manifest::events;
use crate::mirror::plan::{Memory, Plan, is_of_log, known, plan};
use crate::model::{Dataset, DatasetName, Digest, Identifier, LogChange, Timestamp};
use crate::registry::{Import, Imported, LogChanges, Registry, Remembered, Stamp};

/// What was read of a primary to copy it.
pub struct Replica {
    /// The record of the primary's dataset.
    pub record: Dataset,
    source: String,
    etag: Option<String>,
    /// The last change of the primary's log, and what it holds since. `None` means that it has none.
    last: Option<(Timestamp, Identifier, Digest)>,
    changes: LogChanges,
}

/// Reads the log of a primary into an import: what a dataset, which was copied from the same address
/// before, does not have yet, and all cited subsets and annotations.
///
/// # Errors
///
/// [`ErrorKind::NotPublished`](crate::ErrorKind::NotPublished): a line is wrong; those of requests.
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
        return Err(Error::of_url(ErrorKind::Response, source, what));
    };
    let memory = Memory { last: None, base };
    let planned = plan(Some(&of.head), &memory);
    let memory = Registry::in_memory()?;
    let reports_to = registry.unwrap_or(&memory);
    let mut changes = LogChanges::default();
    let mut read = |plan: &Plan, added: &mut bool| {
        let mut last = plan.after().cloned();
        let position = last.as_ref().map_or_else(Position::default, Position::from);
        let mut take = |log_line, change: Option<LogChange>, location| {
            *added = true;
            for event in events(log_line, &location) {
                import.add(event)?;
            }
            if let Some(change) = change {
                changes.add(&change)?;
                let digest = Some(change.digest);
                import.expect(change.timestamp, change.identifier, digest, Some(location));
                import.note(change.timestamp, change.note.as_deref())?;
                last = Some(change);
            }
            Ok(())
        };
        read_log(remote, reports_to, &of, position, &mut take)?;
        Ok(last)
    };
    let mut added = false;
    let last = match read(&planned, &mut added) {
        // Not what was read before: the import compares it with what is stored.
        Err(error) if is_of_log(&error) && !added && planned != Plan::Whole => {
            read(&Plan::Whole, &mut added)?
        }
        last => last?,
    };
    check_end(&of, last.as_ref())?;
    let until = last.as_ref().map(|last| last.timestamp);
    let (of, subsets, annotations) = remote.beside(of, until)?;
    import.keep_beside(subsets, annotations);
    import.options.record = Some(of.head.record.clone());
    let last = last.map(|last| (last.timestamp, last.identifier, last.digest));
    import.withdrawn = of.head.withdrawn;
    Ok(Replica { record: of.head.record, source, etag: of.etag, last, changes })
}

/// The remembered change that matches the dataset's latest instance.
fn base(registry: &Registry, dataset: &DatasetName, source: &str) -> Result<Option<LogChange>> {
    if known(registry, dataset, source)?.is_none() {
        return Ok(None);
    }
    let snapshot = registry.snapshot()?;
    let listed = snapshot.dataset(dataset)?;
    let is_free = listed.gives_up(dataset);
    let Some(latest) = listed.latest.filter(|_| !is_free) else { return Ok(None) };
    drop(snapshot);
    last_change_read(registry, dataset, source, |change| {
        (change.timestamp <= latest.timestamp).then_some(
            (change.timestamp, change.identifier, change.digest)
                == (latest.timestamp, latest.identifier, latest.digest),
        )
    })
}

impl Replica {
    /// The address of the primary.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether the dataset, as it was imported, has changes after the last one of the primary's log:
    /// the address shows an older state of it.
    pub fn is_stale(&self, imported: &Imported) -> bool {
        let in_force = imported.in_force.as_ref().map(|in_force| in_force.timestamp);
        in_force > self.last.map(|(timestamp, ..)| timestamp)
    }

    /// Applies the import, and remembers in the same transaction what was read, so that the next copy
    /// reads only what is new.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::import`].
    pub fn import(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
        import: &Import,
        stamp: &Stamp,
    ) -> Result<Imported> {
        let remembered = |imported: &Imported| {
            let held = imported.in_force.as_ref();
            let held = held.map(|in_force| (in_force.identifier, in_force.digest));
            // The primary may show an older state of its log.
            let empty = (Identifier::EMPTY, Digest::EMPTY);
            let primary = self.last.map_or(empty, |(_, identifier, digest)| (identifier, digest));
            let is_identical = held == Some(primary);
            Remembered {
                source: &self.source,
                etag: self.etag.as_deref().filter(|_| is_identical),
                is_identical,
                pulled_with: None,
                refusal: None,
                forget_from: None,
                changes: Some(&self.changes),
            }
        };
        registry.import_and_remember(dataset, import, stamp, Some(&remembered))
    }
}
