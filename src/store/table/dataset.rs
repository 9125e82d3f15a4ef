//! The tables `dataset`, `dataset_name` and `record_version`: the records of the datasets, their former names,
//! and the versions of their records.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::instance::sound;
use crate::model::{
    Correction, DatasetMetadata, DatasetName, DatasetRecord, Doi, GranuleUrl, Instance, Limits,
    MetadataVersion, Timestamp, Withdrawal,
};
use crate::store::Result;
use crate::store::checked_row::{Reader, Row, RowPart, optional_part, part, row};
use crate::store::page::{check_order, paged};
use crate::store::rows::{DatasetKey, NamedDataset, REGISTRY, StoredDataset, Withdrawn};
use crate::store::session::{Transaction, View};
use crate::store::statement::{self, Columns, Sql, StoredTable, Value, damaged};

/// A name that a dataset gave up.
struct FormerName {
    name: DatasetName,
    dataset_id: DatasetKey,
    renamed: Timestamp,
}

row!(FormerName in DATASET_NAME { name, dataset_id, renamed });

/// The query for the columns that a list shows of datasets, followed by the given clauses.
macro_rules! select_listed {
    ($($rest:expr),*) => {
        Sql::new(concat!(
            "SELECT {dataset.*}, EXISTS (
                SELECT 1
                FROM {dataset_name} AS former
                WHERE former.dataset_id = dataset.id)
            FROM {dataset}
            ",
            $($rest),*
        ))
    };
}

/// The query for a page of datasets, with the values of [`View::page`].
static PAGE: Sql = select_listed!(
    "WHERE name > ?1 AND (withdrawn IS NULL OR ?2 = 1) AND (?5 = 1 OR id IN rarray(?4))
    ORDER BY name
    LIMIT ?3"
);

/// The query for the key of the dataset that has a name, or had it before it was renamed.
macro_rules! key_of_name {
    () => {
        "SELECT id
        FROM {dataset}
        WHERE name = ?1
        UNION ALL
        SELECT dataset_id
        FROM {dataset_name}
        WHERE name = ?1
          AND NOT EXISTS (SELECT 1 FROM {dataset} WHERE name = ?1)"
    };
}

impl View {
    /// The dataset that has a name, or had it before it was renamed. `None` means that no dataset has or had
    /// it.
    ///
    /// In a transaction on a server, this locks the dataset until the end of the transaction, and reads the
    /// record under the lock.
    pub fn stored_dataset(&self, name: &DatasetName) -> Result<Option<StoredDataset>> {
        static NAMED: Sql = Sql::new(concat!(
            "SELECT {dataset.*}
            FROM {dataset}
            WHERE (?3 = 1 OR id IN rarray(?2)) AND id = (",
            key_of_name!(),
            ")"
        ));
        static DATASET: Sql = Sql::new("SELECT {dataset.*} FROM {dataset} WHERE id = ?1");
        let select = |sql, values: &[Value<'_>]| Ok(self.select(sql, values)?.pop());
        self.of_name(name, [&NAMED, &DATASET], select, |stored: &StoredDataset| {
            stored.dataset.name == *name
        })
    }

    /// The key and the current name of the dataset that has a name, or had it before it was renamed, even if
    /// its record is damaged. `None` means that no dataset has or had it.
    ///
    /// In a transaction on a server, this locks the dataset until the end of the transaction.
    pub fn key_and_name(&self, name: &DatasetName) -> Result<Option<(DatasetKey, DatasetName)>> {
        static NAMED: Sql = Sql::new(concat!(
            "SELECT id, name
            FROM {dataset}
            WHERE (?3 = 1 OR id IN rarray(?2)) AND id = (",
            key_of_name!(),
            ")"
        ));
        static NAME: Sql = Sql::new("SELECT id, name FROM {dataset} WHERE id = ?1");
        let select =
            |sql, values: &[Value<'_>]| self.row(sql, values, |row| Ok((row.get(0)?, row.get(1)?)));
        let has_name = |(_, present): &(DatasetKey, DatasetName)| present == name;
        self.of_name(name, [&NAMED, &NAME], select, has_name)
    }

    /// The templates of the granules' addresses for some datasets, by key. A dataset with a damaged record is
    /// left out; commands that show the record report the damage.
    pub fn granule_urls(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<DatasetKey, GranuleUrl>> {
        static RECORDS: Sql = Sql::new(
            "SELECT {dataset.*}
            FROM {dataset}
            WHERE id IN rarray(?1)",
        );
        let (mut urls, mut checked) = (BTreeMap::new(), Vec::new());
        if datasets.is_empty() {
            return Ok(urls);
        }
        let keys: Vec<i64> = datasets.iter().map(|key| key.0).collect();
        self.session()?.rows(&RECORDS, &[Value::Ints(&keys)], &mut |row| {
            if let Ok((stored, true)) = self.read::<StoredDataset>(row, 0, &mut checked) {
                urls.extend(stored.dataset.granule_url.map(|url| (stored.key, url)));
            }
            Ok(())
        })?;
        Ok(urls)
    }

    /// The key, the current name and the withdrawal of the dataset that has or had a name, even if its record
    /// is damaged. `None` means that no dataset has or had the name.
    pub fn name_and_withdrawal(&self, name: &DatasetName) -> Result<Option<NamedDataset>> {
        static NAMED: Sql = Sql::new(concat!(
            "SELECT id, name, withdrawn, withdrawn_note
            FROM {dataset}
            WHERE (?3 = 1 OR id IN rarray(?2)) AND id = (",
            key_of_name!(),
            ")"
        ));
        self.row(&NAMED, &self.with_shown([name.into()]), |row| {
            let (timestamp, note) = (row.get::<Option<Timestamp>>(2)?, row.get(3)?);
            let withdrawn = timestamp.map(|timestamp| Withdrawal { timestamp, note });
            Ok(NamedDataset { key: row.get(0)?, name: row.get(1)?, withdrawn })
        })
    }

    /// The withdrawal of the dataset with a name, even if its record is damaged. `None` means that it is not
    /// withdrawn.
    pub fn withdrawal_of(&self, name: &DatasetName) -> Result<Option<Withdrawal>> {
        static WITHDRAWN: Sql = Sql::new(
            "SELECT withdrawn, withdrawn_note
            FROM {dataset}
            WHERE name = ?1 AND withdrawn IS NOT NULL",
        );
        self.row(&WITHDRAWN, &[name.into()], |row| {
            Ok(Withdrawal { timestamp: row.get(0)?, note: row.get(1)? })
        })
    }

    /// Selects from a dataset by its name or, in a transaction that locks datasets, by its key under the lock.
    fn of_name<T>(
        &self,
        name: &DatasetName,
        [by_name, by_key]: [&'static Sql; 2],
        select: impl Fn(&'static Sql, &[Value<'_>]) -> Result<Option<T>>,
        has_name: impl Fn(&T) -> bool,
    ) -> Result<Option<T>> {
        if !self.session.locks_datasets() {
            return select(by_name, &self.with_shown([name.into()]));
        }
        self.locked(name, |key| select(by_key, &[key.into()]), has_name)
    }

    /// Locks a dataset and selects from it by its key, in one step. If another writer gave the name to another
    /// dataset during the wait for the lock, locks that dataset instead.
    fn locked<T>(
        &self,
        name: &DatasetName,
        select: impl Fn(DatasetKey) -> Result<Option<T>>,
        has_name: impl Fn(&T) -> bool,
    ) -> Result<Option<T>> {
        let Some(mut key) = self.key_of(name)? else { return Ok(None) };
        loop {
            self.session.lock_with_next(key);
            let found = select(key)?;
            if found.as_ref().is_some_and(&has_name) {
                return Ok(found);
            }
            match self.key_of(name)? {
                None => return Ok(None),
                Some(same) if same == key => return Ok(found),
                Some(other) => key = other,
            }
        }
    }

    /// The dataset to change, which has a name or had it before it was renamed, and the last instance of its
    /// history, if it has one. On a server, this locks the dataset until the end of the transaction. `None`
    /// means that no dataset has or had the name.
    pub fn dataset_to_change(
        &self,
        name: &DatasetName,
    ) -> Result<Option<(StoredDataset, Option<Instance>)>> {
        static DATASET: Sql = Sql::new(
            "SELECT {dataset.*}, {instance.*}, dataset.name, CAST(NULL AS bigint),
                EXISTS (
                    SELECT 1
                    FROM {annotation}
                    WHERE annotation.dataset_id = ?1
                      AND annotation.timestamp = instance.timestamp)
            FROM {dataset}
            LEFT JOIN (
                SELECT {instance.*}
                FROM {instance}
                WHERE dataset_id = ?1
                ORDER BY timestamp DESC
                LIMIT 1) AS instance ON true
            WHERE dataset.id = ?1",
        );
        let decode = |stored: StoredDataset, row: &dyn Columns, first: usize| {
            let has_history = row.get::<Option<i64>>(first)?.is_some();
            let latest = has_history.then(|| self.instance_from(row, first, &mut Vec::new()));
            Ok((stored, latest.transpose()?))
        };
        let select = |key: DatasetKey| Ok(self.select_with(&DATASET, &[key.into()], decode)?.pop());
        let has_name = |(stored, _): &(StoredDataset, _)| stored.dataset.name == *name;
        let Some((stored, latest)) = self.locked(name, select, has_name)? else { return Ok(None) };
        let latest = self.annotated(latest.into_iter().collect())?.pop();
        Ok(Some((stored, latest.map(sound).transpose()?)))
    }

    fn key_of(&self, name: &DatasetName) -> Result<Option<DatasetKey>> {
        static KEY: Sql = Sql::new(key_of_name!());
        self.row(&KEY, &[name.into()], |row| row.get(0))
    }

    /// The keys of the datasets that have one of these names, or had it before they were renamed.
    pub(in crate::store) fn keys_of(&self, names: &[DatasetName]) -> Result<Vec<i64>> {
        static KEYS: Sql = Sql::new(
            "SELECT id
            FROM {dataset}
            WHERE name IN rarray(?1)
            UNION ALL
            SELECT dataset_id
            FROM {dataset_name}
            WHERE name IN rarray(?1) AND NOT EXISTS (
                SELECT 1
                FROM {dataset}
                WHERE dataset.name = dataset_name.name)",
        );
        let names: Vec<&str> = names.iter().map(DatasetName::as_str).collect();
        self.rows(&KEYS, &[Value::Texts(&names)], |row| row.get(0))
    }

    /// At most two names of datasets that equal a name if letter case is ignored. Costs a pass over all names.
    pub fn names_in_any_case(&self, name: &DatasetName) -> Result<Vec<DatasetName>> {
        static NAMES: Sql = Sql::new(
            "SELECT name
            FROM {dataset}
            WHERE lower(name) = lower(?1) AND (?3 = 1 OR id IN rarray(?2))
            ORDER BY name
            LIMIT 2",
        );
        self.rows(&NAMES, &self.with_shown([name.into()]), |row| row.get(0))
    }

    /// The datasets after a name (`None` means from the first), in order of name.
    pub fn datasets_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
    ) -> impl Iterator<Item = Result<(DatasetKey, DatasetMetadata)>> {
        let page = move |after: &Option<DatasetName>, limit| {
            let values = self.page(after.as_ref(), withdrawn, limit);
            let stored: Vec<StoredDataset> = self.select(&PAGE, &values)?;
            let names = stored.iter().map(|stored| &stored.dataset.name);
            check_order("dataset", after.as_ref(), names)?;
            Ok(stored)
        };
        paged(after.cloned(), page, |last| Some(last.dataset.name.clone()))
            .map(|stored| stored.map(|StoredDataset { key, dataset, .. }| (key, dataset)))
    }

    /// The first `limit` datasets after a name (`None` means from the first), in order of name, with the
    /// columns of a list. Takes three statements for any number of datasets.
    ///
    /// All machines know the names. Each instance is on the machine of its dataset, so each machine is asked
    /// once.
    pub fn listed_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, DatasetRecord)>> {
        let mut listed = self.described_rows(&PAGE, &self.page(after, withdrawn, limit))?;
        check_order("dataset", after, listed.iter().map(|(_, listed)| &listed.dataset.name))?;
        let keys: Vec<_> = listed.iter().map(|(key, _)| *key).collect();
        let mut confirmed = self.confirmations(&keys)?;
        for (key, listed) in &mut listed {
            listed.confirmed = confirmed.remove(&key.0);
        }
        Ok(listed)
    }

    /// The dataset that has a name, or had it before it was renamed, with the columns of a list.
    pub fn listed(&self, name: &DatasetName) -> Result<Option<(DatasetKey, DatasetRecord)>> {
        let Some((key, listed)) = self.described(name)? else { return Ok(None) };
        let confirmed = self.confirmations(&[key])?.remove(&key.0);
        Ok(Some((key, DatasetRecord { confirmed, ..listed })))
    }

    /// Like [`View::listed`], without the last confirmation.
    fn described(&self, name: &DatasetName) -> Result<Option<(DatasetKey, DatasetRecord)>> {
        static NAMED: Sql = select_listed!(
            "WHERE (?3 = 1 OR id IN rarray(?2)) AND dataset.id = (",
            key_of_name!(),
            ")"
        );
        Ok(self.described_rows(&NAMED, &self.with_shown([name.into()]))?.pop())
    }

    fn described_rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<Vec<(DatasetKey, DatasetRecord)>> {
        let decode = |stored: StoredDataset, row: &dyn Columns, rest| {
            let listed = DatasetRecord {
                dataset: stored.dataset,
                withdrawn: stored.withdrawn,
                former_names: Vec::new(),
                corrections: stored.corrections,
                limits: Some(stored.limits).filter(|_| !self.is_public()),
                latest: None,
                confirmed: None,
            };
            Ok((stored.key, listed, row.get(rest)?))
        };
        let found = self.select_with(sql, values, decode)?;
        let keys: Vec<_> = found.iter().map(|(key, ..)| *key).collect();
        let mut latest = self.latest_instances(&keys)?;
        let mut listed = Vec::with_capacity(found.len());
        for (key, mut dataset, was_renamed) in found {
            dataset.latest = latest.remove(&key.0);
            if was_renamed {
                dataset.former_names = self.former_names(key)?;
            }
            listed.push((key, dataset));
        }
        Ok(listed)
    }

    /// The datasets with a DOI, compared without letter case, in order of name. Costs a pass over all records,
    /// which are small.
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        static WITH_DOI: Sql = Sql::new(
            "SELECT name, doi
            FROM {dataset}
            WHERE doi IS NOT NULL AND (?2 = 1 OR id IN rarray(?1))
            ORDER BY name",
        );
        let named = self.rows(&WITH_DOI, &self.with_shown([]), |row| {
            let is_same = row.get::<String>(1)?.eq_ignore_ascii_case(doi.as_str());
            is_same.then(|| row.get(0)).transpose()
        })?;
        Ok(named.into_iter().flatten().collect())
    }

    /// The first `limit` names of datasets after a name (`""` means from the first), in order, as they are
    /// stored. They are read from an index, so a damaged record does not hide its own name or the names after
    /// it.
    pub fn dataset_names_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        static PAGE: Sql = Sql::new(
            "SELECT name
            FROM {dataset}
            WHERE name > ?1
            ORDER BY name
            LIMIT ?2",
        );
        let values = [after.into(), limit.into()];
        let names: Vec<String> = self.rows(&PAGE, &values, |row| row.get(0))?;
        check_order("dataset", Some(after), names.iter().map(String::as_str))?;
        Ok(names)
    }

    /// The values of a query of a page: the name before it, whether it includes withdrawn datasets, its size,
    /// and the visible datasets.
    fn page<'a>(
        &'a self,
        after: Option<&'a DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Vec<Value<'a>> {
        let start = after.map_or("", DatasetName::as_str);
        let has_withdrawn = i64::from(withdrawn == Withdrawn::Listed);
        self.with_shown([start.into(), has_withdrawn.into(), limit.into()])
    }
}

impl Transaction {
    /// Adds a dataset. Its name must not be in use.
    pub fn insert_dataset(
        &self,
        dataset: &DatasetMetadata,
        limits: Limits,
    ) -> Result<StoredDataset> {
        static NEXT: Sql = Sql::new(
            "SELECT coalesce(max(id), 0) + 1
            FROM {dataset}",
        );
        // Datasets are added one after the other: only the transaction that holds this lock may add one.
        self.lock_registry()?;
        let next = self.row(&NEXT, &[], |row| row.get(0))?;
        let key = next.unwrap_or(DatasetKey(1));
        self.session()?.lock_new(key)?;
        let dataset = dataset.clone();
        let corrections = Vec::new();
        let stored = StoredDataset { key, dataset, withdrawn: None, limits, corrections };
        self.insert(key, std::slice::from_ref(&stored))?;
        Ok(stored)
    }

    /// Removes a dataset that has only its record, with all versions, and a rejected listing. On a server, the
    /// row that locks it stays, since the next dataset may have the same key.
    pub fn remove_dataset(&self, dataset: DatasetKey) -> Result<()> {
        static VERSIONS: Sql = Sql::new("DELETE FROM {record_version} WHERE dataset_id = ?1");
        static DATASET: Sql = Sql::new("DELETE FROM {dataset} WHERE id = ?1");
        self.delete_refusal(dataset)?;
        self.run(dataset, &VERSIONS, &[dataset.into()])?;
        self.run(dataset, &DATASET, &[dataset.into()])
    }

    /// Locks the registry until the end of the transaction, after waiting for the transaction that holds the
    /// lock. What is then read of all datasets includes its changes.
    pub fn lock_registry(&self) -> Result<()> {
        self.session()?.lock(REGISTRY)
    }
}

impl Row for StoredDataset {
    fn table() -> &'static StoredTable {
        &statement::DATASET
    }
}

impl RowPart for StoredDataset {
    const COLUMNS: usize = statement::DATASET.columns.len();

    fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        let (key, _name): (_, DatasetName) = reader.next()?;
        let (_doi, withdrawn): (Option<String>, _) = reader.next()?;
        let (limits, record): (_, String) = reader.next()?;
        let dataset = serde_json::from_str(&record).map_err(damaged)?;
        let Corrected { corrections } = serde_json::from_str(&record).map_err(damaged)?;
        Ok(StoredDataset { key, dataset, withdrawn, limits, corrections })
    }

    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        let StoredDataset { key, dataset, withdrawn, limits, corrections } = self;
        let doi = dataset.doi.as_ref().map(Doi::as_str);
        values.extend([(*key).into(), (&dataset.name).into(), doi.into()]);
        withdrawn.encode(values);
        limits.encode(values);
        let mut record = serde_json::json!(dataset);
        if !corrections.is_empty() {
            record["corrections"] = serde_json::json!(corrections);
        }
        values.push(record.to_string().into());
    }
}

/// The part of a record that is not metadata.
#[derive(Deserialize)]
struct Corrected {
    #[serde(default)]
    corrections: Vec<Correction>,
}

part!(Withdrawal { timestamp, note });
optional_part!(Withdrawal);
part!(Limits { max_delete, max_add, max_replace });

row!(MetadataVersion in RECORD_VERSION {
    version, recorded, recorded_by, action, dataset
} hides recorded_by);

impl View {
    /// The latest time at which anything was recorded: a change, a version of a record, a citation of a subset,
    /// the reading of a log, an annotation, a confirmation. `None` means that nothing was.
    ///
    /// Costs one look-up in an index of each table in a file; on a server, a pass on every machine.
    pub fn last_recorded(&self) -> Result<Option<Timestamp>> {
        static NEWEST: Sql = Sql::new(
            "SELECT max(newest)
            FROM (
                SELECT max(recorded) AS newest FROM {instance}
                UNION ALL
                SELECT max(recorded) FROM {record_version}
                UNION ALL
                SELECT max(cited) FROM {subset}
                UNION ALL
                SELECT max(read) FROM {mirror_source}
                UNION ALL
                SELECT max(recorded) FROM {annotation}
                UNION ALL
                SELECT max(recorded) FROM {confirmation}
            ) AS times",
        );
        let newest = self.row(&NEWEST, &[], |row| row.get::<Option<Timestamp>>(0))?;
        Ok(newest.flatten())
    }

    /// The time of the latest edit of each record, for the datasets from one name to another. Asks every
    /// machine, once for a page of datasets.
    pub fn last_edits(
        &self,
        from: &DatasetName,
        to: &DatasetName,
    ) -> Result<BTreeMap<String, Timestamp>> {
        static EDITS: Sql = Sql::new(
            "SELECT dataset.name, max(record_version.recorded)
            FROM {record_version}
            JOIN {dataset} ON dataset.id = record_version.dataset_id
            WHERE dataset.name BETWEEN ?1 AND ?2 AND (?4 = 1 OR dataset.id IN rarray(?3))
            GROUP BY dataset.name",
        );
        let values = self.with_shown([from.as_str().into(), to.as_str().into()]);
        let edits = self.rows(&EDITS, &values, |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(edits?.into_iter().collect())
    }

    /// The former names of a dataset, each with the time of the renaming, in order of time.
    pub fn names_given_up(&self, dataset: DatasetKey) -> Result<Vec<(DatasetName, Timestamp)>> {
        static GIVEN_UP: Sql = Sql::new(
            "SELECT {dataset_name.*}
            FROM {dataset_name}
            WHERE dataset_name.dataset_id = ?1
            ORDER BY dataset_name.renamed, dataset_name.name",
        );
        let given_up = self.select(&GIVEN_UP, &[dataset.into()])?;
        Ok(given_up.into_iter().map(|FormerName { name, renamed, .. }| (name, renamed)).collect())
    }

    /// The former names that still lead to a dataset, latest first.
    pub(super) fn former_names(&self, dataset: DatasetKey) -> Result<Vec<DatasetName>> {
        static FORMER: Sql = Sql::new(
            "SELECT {dataset_name.*}
            FROM {dataset_name}
            WHERE dataset_name.dataset_id = ?1 AND NOT EXISTS (
                SELECT 1
                FROM {dataset}
                WHERE dataset.name = dataset_name.name)
            ORDER BY dataset_name.renamed DESC, dataset_name.name",
        );
        let former = self.select(&FORMER, &[dataset.into()])?;
        Ok(former.into_iter().map(|FormerName { name, .. }| name).collect())
    }
}

impl Transaction {
    /// Stores a former name of a dataset, even if another dataset had it before.
    pub fn keep_name(
        &self,
        dataset: DatasetKey,
        former: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()> {
        let name = former.clone();
        self.put(dataset, &FormerName { name, dataset_id: dataset, renamed })
    }
}
