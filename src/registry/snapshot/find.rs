//! The periods in which a granule was held.

use serde::Serialize;

use super::view::Snapshot;
use crate::model::{DatasetName, Granule, GranuleId, Timestamp};
use crate::registry::error::Result;
use crate::store::{self, DatasetKey};

/// A period in which a granule was held in a dataset.
///
/// Its fields are those of `find` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FoundPeriod {
    /// The dataset.
    pub dataset: DatasetName,
    /// The granule.
    pub granule: GranuleId,
    /// The time of ingest.
    pub ingested: Timestamp,
    /// The time of deletion, which is the first instant at which it was not held. `None` means that
    /// it is still held.
    pub deleted: Option<Timestamp>,
}

/// A period in which a granule was held, with the notes of the changes that began and ended it.
///
/// Its fields are those of `history --granule` in the command line's JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotedPeriod {
    /// The period.
    #[serde(flatten)]
    pub period: Granule,
    /// The note of the change that ingested the granule. `None` means that the change has no note.
    pub ingest_note: Option<String>,
    /// The note of the change that deleted the granule. `None` means that the change has no note,
    /// or that the granule is still held.
    pub delete_note: Option<String>,
}

impl Snapshot {
    /// The datasets and periods in which a granule was held, after a dataset and a time of ingest
    /// (`None` means from the first), by dataset and time, at most `limit` of them. Costs a look-up for
    /// each dataset that is passed.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store): the registry cannot be read. A granule that was never
    /// held is not an error.
    pub fn find(
        &self,
        granule_id: &GranuleId,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<FoundPeriod>> {
        self.ask(|read| {
            let (mut periods, mut after) = (Vec::new(), after.map(|(name, at)| (name.clone(), at)));
            // Periods in datasets that are not shown do not count.
            loop {
                let missing = limit - periods.len() as u32;
                let position = after.as_ref().map(|(name, at)| (name, *at));
                let found = read.periods_everywhere(granule_id, position, missing)?;
                let is_last = found.len() < missing as usize;
                after = found.last().map(|(name, period)| (name.clone(), period.ingested));
                let shown = found.into_iter().filter(|(dataset, _)| self.shown.shows(dataset));
                periods.extend(shown.map(|(dataset, period)| FoundPeriod {
                    dataset,
                    granule: period.granule_id,
                    ingested: period.ingested,
                    deleted: period.deleted,
                }));
                if is_last || periods.len() == limit as usize {
                    return Ok(periods);
                }
            }
        })
    }

    /// Every period in which a granule was held in one dataset, in order of time, with the notes of
    /// the changes that began and ended it.
    ///
    /// # Errors
    ///
    /// [`Error::NoDataset`](crate::Error::NoDataset): no dataset has the name.
    pub fn history_of_granule(
        &self,
        dataset: &DatasetName,
        granule_id: &GranuleId,
    ) -> Result<Vec<NotedPeriod>> {
        self.ask(|read| {
            let (key, _) = self.dataset_of(read, dataset)?;
            let noted = |period: Granule| {
                let ingest_note = note_at(read, key, Some(period.ingested))?;
                let delete_note = note_at(read, key, period.deleted)?;
                Ok(NotedPeriod { period, ingest_note, delete_note })
            };
            read.periods_of_one(key, granule_id)?.into_iter().map(noted).collect()
        })
    }
}

fn note_at(
    read: &store::Snapshot,
    dataset: DatasetKey,
    at: Option<Timestamp>,
) -> Result<Option<String>> {
    let Some(at) = at else { return Ok(None) };
    Ok(read.instance_at(dataset, at)?.and_then(|instance| instance.note))
}
