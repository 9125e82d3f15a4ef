//! The tables `mirror_source` and `log_change`: the primaries that a mirror has read, with the outcomes, and
//! the changes that it has read of their logs.

use crate::model::{DatasetName, FailedAttempt, LastPull, LogChange};
use crate::store::Result;
use crate::store::checked_row::{Row, RowPart, optional_part, part, row};
use crate::store::rows::{DatasetKey, SourceKey, StoredSource};
use crate::store::session::{Transaction, View};
use crate::store::statement::{self, Existing, Sql, StoredTable, Value};

impl Row for (SourceKey, StoredSource) {
    fn table() -> &'static StoredTable {
        &statement::MIRROR_SOURCE
    }
}

part!(StoredSource { source, read, identical, pulled, failed, contradicts, imported });
part!(LastPull { recorded, options });
part!(FailedAttempt { recorded, message });
optional_part!(LastPull);
optional_part!(FailedAttempt);

row!(LogChange in LOG_CHANGE {
    number, timestamp, identifier, digest, check, bytes, granules, ingested, deleted, described,
    replaced, note
});

impl View {
    /// The primaries that were read for a dataset, in order of source.
    pub fn mirror_sources(&self, dataset: DatasetKey) -> Result<Vec<(SourceKey, StoredSource)>> {
        let mut sources: Vec<(SourceKey, StoredSource)> = self.first(dataset, u32::MAX)?;
        sources.sort_by(|(_, one), (_, other)| one.source.cmp(&other.source));
        Ok(sources)
    }

    /// A primary that was read for a dataset. `None` means that it was never read.
    pub fn mirror_source(
        &self,
        dataset: DatasetKey,
        source: &str,
    ) -> Result<Option<(SourceKey, StoredSource)>> {
        let mut known = self.mirror_sources(dataset)?.into_iter();
        Ok(known.find(|(_, stored)| stored.source == source))
    }

    /// The primaries that were read for some datasets, by dataset and source. Asks every machine, once.
    pub fn mirror_sources_of(
        &self,
        datasets: &[&DatasetName],
    ) -> Result<Vec<(DatasetName, StoredSource)>> {
        static SOURCES: Sql = Sql::new(
            "SELECT {mirror_source.*}, dataset.name
            FROM {mirror_source}
            JOIN {dataset} ON dataset.id = mirror_source.dataset_id
            WHERE dataset.name IN rarray(?1) AND (?3 = 1 OR dataset.id IN rarray(?2))
            ORDER BY dataset.name, mirror_source.source",
        );
        let names: Vec<&str> = datasets.iter().map(|name| name.as_str()).collect();
        let values = self.with_shown([Value::Texts(&names)]);
        self.select_with(&SOURCES, &values, |(_, stored): (SourceKey, _), columns, rest| {
            Ok((columns.get(rest)?, stored))
        })
    }

    /// The changes that were read of a log after a number (0 means from the first), in order.
    pub fn changes_read_after(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        after: u64,
    ) -> impl Iterator<Item = Result<LogChange>> {
        self.all_within(dataset, vec![source.into(), after.into()])
    }

    /// The last change that was read of a log. `None` means that no change was read.
    pub fn last_change_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
    ) -> Result<Option<LogChange>> {
        static LAST: Sql = Sql::new(
            "SELECT {log_change.*}
            FROM {log_change}
            WHERE dataset_id = ?1 AND source_id = ?2
            ORDER BY number DESC
            LIMIT 1",
        );
        Ok(self.select(&LAST, &[dataset.into(), source.into()])?.pop())
    }
}

impl Transaction {
    /// Stores that a primary was read for a dataset, and adds the primary if it is new. If `identical`,
    /// `pulled` or `imported` is `None`, the stored value stays.
    pub fn save_mirror_source(
        &self,
        dataset: DatasetKey,
        stored: &StoredSource,
    ) -> Result<SourceKey> {
        self.session()?.lock(dataset)?;
        let known = self.mirror_sources(dataset)?;
        let last = known.iter().map(|(key, _)| key.0).max().unwrap_or(0);
        let before = known.into_iter().find(|(_, before)| before.source == stored.source);
        let (key, before) = before.unzip();
        let (key, mut stored) = (key.unwrap_or(SourceKey(last + 1)), stored.clone());
        if let Some(before) = before {
            stored.identical = stored.identical.or(before.identical);
            stored.pulled = stored.pulled.or(before.pulled);
            stored.imported = stored.imported.or(before.imported);
        }
        self.put(dataset, &(key, stored))?;
        Ok(key)
    }

    /// Stores that the last attempt to read a primary failed. A primary that was never read is not added.
    pub fn save_failed_attempt(
        &self,
        dataset: DatasetKey,
        source: &str,
        failed: &FailedAttempt,
    ) -> Result<()> {
        self.session()?.lock(dataset)?;
        match self.mirror_source(dataset, source)? {
            None => Ok(()),
            Some((key, stored)) => {
                let stored = StoredSource { failed: Some(failed.clone()), ..stored };
                self.put(dataset, &(key, stored))
            }
        }
    }

    /// Deletes the changes that were read of a log, from a number.
    pub fn forget_changes_from(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        number: u64,
    ) -> Result<()> {
        static FORGET: Sql = Sql::new(
            "DELETE FROM {log_change}
            WHERE dataset_id = ?1 AND source_id = ?2 AND number >= ?3",
        );
        self.run(dataset, &FORGET, &[dataset.into(), source.into(), number.into()])
    }

    /// Adds changes that were read of a log.
    pub fn insert_changes_read(
        &self,
        dataset: DatasetKey,
        source: SourceKey,
        changes: &[LogChange],
    ) -> Result<()> {
        let table = &statement::LOG_CHANGE;
        self.add(dataset, table, Existing::Refused, changes, |change, values| {
            values.push(source.into());
            change.encode(values);
        })
    }
}
