//! Copies the history of a primary, with its metadata, its cited subsets and its annotations.

use super::MirrorStatus;
use super::log::{LogLine, events};
use super::place::{FoundHead, Place};
use super::plan::{is_of_log, known, last_change_read};
use super::primary::OpenPrimary;
use super::read::{annotations, read_beside, read_head, read_log, subsets};
use super::source::Primary;
use crate::error::Result;
use crate::model::{
    DatasetMetadata, DatasetName, Digest, Identifier, LogChange, SourceLocation, Timestamp,
};
use crate::registry::{ChangeReport, Import, LogChanges, Registry, Remembered, Work};

/// The part of a primary that was read to copy it.
pub struct LogCopy {
    source: String,
    /// The primary's set since the last change of its log. `None` means that the log has no changes.
    last: Option<(Identifier, Digest)>,
    changes: LogChanges,
}

crate::model::debug_fields!(LogCopy: source);

impl Primary {
    /// Reads the log of a primary at an address into an import: the changes that a copy made from this address
    /// does not have yet, and all cited subsets and annotations. `None` means that the primary is not at an
    /// address.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryInvalid`](crate::ErrorKind::PrimaryInvalid): a line is wrong; those of requests.
    pub fn read_replica(
        &self,
        registry: Option<&Registry>,
        dataset: &DatasetName,
        import: &mut Import,
        now: Timestamp,
    ) -> Result<Option<LogCopy>> {
        let Some(remote) = self.remote(now)? else { return Ok(None) };
        let source = remote.address().to_string();
        let base = registry.map(|registry| base(registry, dataset, &source)).transpose()?.flatten();
        let (mut work, latest) = (None, remote.now().latest_elsewhere());
        let (_, last, changes) = copy(&remote, latest, base, import, |left, bytes, _| {
            let Some(registry) = registry else { return Ok(()) };
            work.get_or_insert_with(|| registry.begin(Work::ReadBytes, Some(left)))
                .advance_by(bytes)
        })?;
        let last = last.map(|last| (last.identifier, last.digest));
        Ok(Some(LogCopy { source, last, changes }))
    }
}

/// Reads a log, after the last change that was read before (`None`: from its start), and the files beside it
/// into an import. `advance` is called for each line with the number of bytes to read in all, the length of the
/// line, and its number of granules.
fn copy(
    place: &dyn Place,
    not_after: Timestamp,
    base: Option<LogChange>,
    import: &mut Import,
    mut advance: impl FnMut(u64, u64, u64) -> Result<()>,
) -> Result<(FoundHead, Option<LogChange>, LogChanges)> {
    let mut of = read_head(place)?;
    let base = base.filter(|base| of.head.may_have(base));
    let (mut changes, mut added) = (LogChanges::default(), false);
    let mut read = |after: Option<&LogChange>, added: &mut bool| {
        let mut last = after.cloned();
        let read_before = last.as_ref().map_or(0, |last| last.bytes);
        let left = of.head.segments.bytes().saturating_sub(read_before);
        let mut take = |log_line: LogLine, change: Option<LogChange>, at| {
            let (bytes, location): (u64, SourceLocation) = at;
            advance(left, bytes, log_line.granules() as u64)?;
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
        read_log(place, &of, after, not_after, &mut take)?;
        Ok(last)
    };
    let last = match read(base.as_ref(), &mut added) {
        // The log differs from what was read before. The import compares it with the stored history.
        Err(error) if is_of_log(&error) && !added && base.is_some() => read(None, &mut added)?,
        last => last?,
    };
    let until = last.as_ref().map(|last| last.timestamp);
    let (subsets, annotations) = read_beside(place, &mut of, |of| {
        Ok(match (subsets(place, of, until)?, annotations(place, of, until)?) {
            (Ok(subsets), Ok(annotations)) => Ok((subsets, annotations)),
            (Err(part), _) | (_, Err(part)) => Err(part),
        })
    })?;
    import.keep_beside(subsets, annotations);
    import.options = std::mem::take(&mut import.options).record(of.head.record.clone());
    import.withdrawn.clone_from(&of.head.withdrawn);
    import.end_of_log = Some(until.unwrap_or(Timestamp::MIN));
    Ok((*of, last, changes))
}

impl OpenPrimary {
    /// Reads all changes, cited subsets and annotations into an import. The import then makes each change only
    /// if it results in the identifier recorded in the log. `read` is called with the number of granules of
    /// each line. Returns the metadata of the dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryInvalid`](crate::ErrorKind::PrimaryInvalid): the log is invalid; the error has the
    /// line.
    pub fn read_into(
        &self,
        import: &mut Import,
        mut read: impl FnMut(u64),
    ) -> Result<DatasetMetadata> {
        let (of, ..) = copy(&*self.place, self.not_after, None, import, |_, _, granules| {
            read(granules);
            Ok(())
        })?;
        Ok(of.head.record)
    }
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
    last_change_read(registry, dataset, source, 0, |change| {
        (change.timestamp <= latest.timestamp).then_some(
            (change.timestamp, change.identifier, change.digest)
                == (latest.timestamp, latest.identifier, latest.digest),
        )
    })
}

impl LogCopy {
    /// The address of the primary.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Applies the import, and remembers in the same transaction what was read, so that the next copy reads
    /// only new changes.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::import`].
    pub fn import(
        &self,
        registry: &Registry,
        dataset: &DatasetName,
        import: &Import,
    ) -> Result<ChangeReport> {
        let remembered = |applied: &ChangeReport| {
            let held = applied.in_force.as_ref();
            let held = held.map(|in_force| (in_force.identifier, in_force.digest));
            // The primary may show an older state of its log.
            let is_stale = import.is_stale(applied);
            let primary = self.last.unwrap_or((Identifier::EMPTY, Digest::EMPTY));
            Remembered {
                source: &self.source,
                is_identical: held == Some(primary),
                pulled_with: None,
                is_imported: true,
                refusal: is_stale.then(|| MirrorStatus::Stale.refusal()).flatten(),
                continues: !is_stale,
                contradicts: false,
                forget_from: None,
                changes: Some(&self.changes),
            }
        };
        registry.import_and_remember(dataset, import, Some(&remembered))
    }
}
