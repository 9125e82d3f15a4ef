//! Comparing what a mirror and its primary know of the bytes of files.
//!
//! Names and contents are compared on their own: the log of the file records has its own count and last
//! check, and what is read of it is remembered beside what is read of the log of changes.

use super::Status;
use super::log::FilesPosition;
use crate::disk::Spool;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, GranuleId, Identifier, Set};
use crate::registry::{FilesRead, LoggedRecords, RecordMerge, Registry, RememberedFiles};

/// What is done about the file records of a primary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Files {
    /// They are not read.
    Ignored,
    /// They are compared.
    #[default]
    Compared,
    /// What they say more is taken. With a note, what contradicts is taken, too.
    Taken(Option<String>),
}

/// The file records of a primary, as far as they were read.
pub(super) struct Content {
    files: Files,
    /// What was remembered.
    known: Option<FilesRead>,
    /// What was read since, or from the start on. `None` means that there was nothing to read.
    read: Option<(LoggedRecords, FilesPosition)>,
    /// How the two compare. `None` means that it is as it was, or that there is no mirror yet.
    merge: Option<RecordMerge>,
    /// Stale or rewritten, if the log does not continue what was read before.
    pub status: Option<Status>,
}

/// Where the file records of a primary are read.
pub(super) struct Records<'a> {
    /// Where they end. `None` means where they ended when they were read last.
    pub end: Option<FilesPosition>,
    /// Whether they can be read from any place on.
    pub have_places: bool,
    /// Whether they are chained, so that the check at a place shows what precedes it.
    pub are_chained: bool,
    /// Reads them from a place on, and returns the check of the record with a number, if it was read.
    pub read: &'a mut dyn FnMut(FilesPosition, u64) -> Result<(LoggedRecords, Option<Identifier>)>,
}

impl Content {
    /// Compares the file records of a primary with those of a mirror.
    pub fn compare(
        mirror: &Registry,
        dataset: &DatasetName,
        known: Option<FilesRead>,
        files: Files,
        records: Records<'_>,
    ) -> Result<Self> {
        let nothing =
            |known, files| Content { files, known, read: None, merge: None, status: None };
        let (Some(end), false) = (records.end, files == Files::Ignored) else {
            return Ok(nothing(known, files));
        };
        // No snapshot is open while records are read.
        let exists = mirror.snapshot()?.has_dataset(dataset)?;
        let accepts = matches!(files, Files::Taken(Some(_)));
        let takes = matches!(files, Files::Taken(_));
        let (mut status, mut tail_of) = (None, None);
        if let Some(known) = known.as_ref().filter(|_| exists) {
            let is_same = (end.count, end.check) == (known.count, known.check);
            if records.are_chained && end.count < known.count {
                status = Some(Status::Stale);
            } else if records.are_chained && end.count == known.count && !is_same {
                status = Some(Status::Rewritten);
            } else if (known.taken || !takes)
                && mirror.snapshot()?.files_are_settled(dataset, known)?
            {
                if is_same && !(accepts && known.has_contradictions()) {
                    return Ok(nothing(Some(known.clone()), files));
                }
                tail_of = Some((known, is_same)).filter(|_| records.have_places || is_same);
            }
        }
        let merge = |log: &LoggedRecords| match exists {
            true => {
                let here = mirror.snapshot()?;
                here.merge_files(dataset, log, known.as_ref(), accepts).map(Some)
            }
            false => Ok(None),
        };
        if let Some((known, is_same)) = tail_of {
            let FilesRead { count, bytes, check, .. } = *known;
            let read = match is_same {
                true => Ok((LoggedRecords::after(count), None)),
                false => (records.read)(FilesPosition { count, bytes, check }, 0),
            };
            match read {
                Ok((log, _)) => {
                    let merged = merge(&log)?;
                    if !merged.as_ref().is_some_and(|merged| merged.needs_whole) {
                        let read = Some((log, end));
                        return Ok(Content {
                            files,
                            known: Some(known.clone()),
                            read,
                            merge: merged,
                            status,
                        });
                    }
                }
                // It may not continue what was read before: it is read from its start.
                Err(error) if is_of_log(&error) => {}
                Err(error) => return Err(error),
            }
        }
        let at = known.as_ref().map_or(0, |known| known.count);
        let (log, check) = (records.read)(FilesPosition::default(), at)?;
        if let Some(known) = known.as_ref().filter(|known| {
            records.are_chained && known.count > 0 && known.count <= end.count && exists
        }) && check != known.check
        {
            status = Some(Status::Rewritten);
        }
        let merged = merge(&log)?;
        Ok(Content { files, known, read: Some((log, end)), merge: merged, status })
    }

    /// Whether nothing is known otherwise on the two sides.
    pub fn agrees(&self) -> bool {
        match (&self.merge, &self.known) {
            (Some(merge), _) => !merge.has_contradictions(),
            (None, Some(known)) => !known.has_contradictions(),
            (None, None) => true,
        }
    }

    /// The granules that the mirror holds, and of whose files the primary says something else than what
    /// is known here, in canonical order.
    pub fn granules(&self, mirror: &Registry, dataset: &DatasetName) -> Result<Spool> {
        let (mut found, here) = (Spool::default(), mirror.snapshot()?);
        if self.files == Files::Ignored || !here.has_dataset(dataset)? {
            return Ok(found);
        }
        let Some(latest) = here.dataset(dataset)?.latest else { return Ok(found) };
        let set = Set::Instance(latest);
        const PAGE_IDS: usize = 1_024;
        let mut page: Vec<GranuleId> = Vec::new();
        let mut held = |page: &mut Vec<GranuleId>| -> Result<()> {
            page.dedup();
            for granule_id in here.held_among(&set, page)? {
                found.add(granule_id.as_str().as_bytes())?;
            }
            page.clear();
            Ok(())
        };
        let ids: Box<dyn Iterator<Item = Result<GranuleId>>> = match (&self.merge, &self.known) {
            (Some(merge), _) => {
                Box::new(merge.contradicting().map(|record| Ok(record?.record.granule_id)))
            }
            (None, Some(known)) => {
                Box::new(known.granules().map(|id| GranuleId::new(id).map_err(Error::damaged)))
            }
            (None, None) => Box::new(std::iter::empty()),
        };
        for granule_id in ids {
            let granule_id = granule_id?;
            if page.len() >= PAGE_IDS && page.last() != Some(&granule_id) {
                held(&mut page)?;
            }
            page.push(granule_id);
        }
        held(&mut page)?;
        Ok(found)
    }

    /// What the mirror would take.
    pub fn counts(&self) -> crate::registry::FileCounts {
        let merge = self.merge.as_ref().filter(|_| matches!(self.files, Files::Taken(_)));
        merge.map_or_else(Default::default, |merge| merge.counts)
    }

    /// What is to be remembered. `pulled` says whether it is taken.
    pub fn remembered(&self, pulled: bool) -> Option<RememberedFiles<'_>> {
        let known = self.known.as_ref();
        let (take, merge) = match &self.files {
            Files::Ignored => {
                return known.map(|known| RememberedFiles::Disagreed(known.clone()));
            }
            Files::Taken(note) if pulled => (Some(note.as_deref()), self.merge.as_ref()),
            // What would be accepted is not, so it still contradicts.
            Files::Taken(Some(_)) => (None, None),
            Files::Taken(None) | Files::Compared => (None, self.merge.as_ref()),
        };
        let Some((log, end)) = &self.read else {
            return known.map(|known| RememberedFiles::Unchanged(known.clone()));
        };
        // What was compared is not taken: the next pull reads it again.
        let keeps = known.is_some_and(|known| known.taken) || self.status.is_some();
        if take.is_none() && keeps {
            return known.map(|known| RememberedFiles::Disagreed(known.clone()));
        }
        let FilesPosition { count, bytes, check } = *end;
        let read = FilesRead { count, bytes, check, ..FilesRead::default() };
        Some(RememberedFiles::Read { log, known, read, merge, take })
    }
}

fn is_of_log(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotPublished | ErrorKind::NotAGranuleId)
}
