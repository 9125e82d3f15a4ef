//! Whether a registry still has the history that was published.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::error::{Error, Result};
use crate::disk::Directory;
use crate::mirror::log::{Head, LogReader, MAX_LINE_BYTES, Position, Segment};
use crate::model::{DatasetName, Instance, LogChange, Moment, SourceLocation, Timestamp};
use crate::registry::{self, Selection, Snapshot};

/// Refuses a history that does not begin with what was published.
///
/// An identifier depends on all granules held, so a history that has the same number of changes up
/// to the last one that was published, which has the same time, identifier and number of granules,
/// is assumed to be the same; otherwise the first change that differs is searched for.
pub(super) fn refuse(
    snapshot: &Snapshot,
    name: &DatasetName,
    head: &Head,
    directory: &Directory,
    log: &Directory,
) -> Result<()> {
    let Some((timestamp, identifier)) = head.latest else { return Ok(()) };
    let in_force = instance_at(snapshot, name, timestamp)?;
    let is_same = in_force.is_some_and(|in_force| {
        (in_force.timestamp, in_force.identifier, in_force.granules)
            == (timestamp, identifier, head.granules)
    });
    if is_same && snapshot.count_history(name, Some(timestamp))? == head.changes {
        return Ok(());
    }
    let mut contradiction = None;
    each_published(log, head, |change| {
        let found = instance_at(snapshot, name, change.timestamp)?;
        let is_same = found.is_some_and(|found| {
            (found.timestamp, found.identifier) == (change.timestamp, change.identifier)
        });
        let count = snapshot.count_history(name, Some(change.timestamp))?;
        if is_same && count == change.number {
            return Ok(true);
        }
        contradiction = Some((change.number, change.timestamp));
        Ok(false)
    })?;
    let (change, timestamp) = contradiction.unwrap_or((head.changes, timestamp));
    let (name, path) = (name.clone(), directory.path().to_owned());
    Err(Error::Contradicts { name, path, change, timestamp })
}

/// The instance in force at a time. `None` means that there was none yet.
pub(super) fn instance_at(
    snapshot: &Snapshot,
    name: &DatasetName,
    at: Timestamp,
) -> Result<Option<Instance>> {
    let selection = Selection::Dataset { name: name.clone(), at: Some(Moment::Instant(at)) };
    match snapshot.select(&selection) {
        Ok(selected) => Ok(Some(selected.instance().clone())),
        Err(registry::Error::NoHistory { .. } | registry::Error::BeforeHistory { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Calls `show` for each change that was published, until it returns `false`.
fn each_published(
    log: &Directory,
    head: &Head,
    mut show: impl FnMut(LogChange) -> Result<bool>,
) -> Result<()> {
    let source: Arc<str> = log.path().to_string_lossy().into();
    let mut reader = LogReader::at(Position::default(), source, 0, Timestamp::MAX);
    for (index, segment) in head.segments.0.iter().enumerate() {
        let name = Segment::file_name(index);
        let path = log.path_of(&name);
        let failed = |source| Error::file("read", &path, source);
        reader.enter(path.to_string_lossy().into(), 0);
        let Some(file) = log.read(&name)? else { return Ok(()) };
        let mut file = BufReader::new(file.take(segment.bytes));
        let mut line = Vec::new();
        while file.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line).map_err(failed)? > 0 {
            let read = reader.read(&line).map_err(|error| {
                let line = match error.location {
                    SourceLocation::Line { line, .. } => Some(line),
                    _ => None,
                };
                Error::Damaged { path: path.clone(), line, what: error.kind.to_string() }
            })?;
            if let Some((_, Some(change))) = read
                && !show(change)?
            {
                return Ok(());
            }
            line.clear();
        }
    }
    Ok(())
}
