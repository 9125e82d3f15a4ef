//! The tables `dataset` and `record_version`: the records of the datasets, with their earlier versions,
//! and withdrawals.

use std::collections::BTreeMap;

use super::annotation::annotations;
use super::dataset::limits;
use crate::model::{
    Creator, Dataset, DatasetName, Doi, GranuleUrl, Listed, RecordVersion, Timestamp, ValueError,
    WebAddress, Withdrawal,
};
use crate::store::Result;
use crate::store::page::ascending;
use crate::store::rows::{DatasetKey, REGISTRY, ToChange, Withdrawn};
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, Value, damaged};

/// A query of the columns of a dataset, followed by the given clauses.
macro_rules! select_dataset {
    ($($rest:expr),*) => {
        Sql::new(concat!(
            "SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive, granule_url, keywords, free_access, temporal
            FROM {dataset}
            ",
            $($rest),*
        ))
    };
}

/// The query for what a list shows of datasets, followed by the given clauses. No name contains a
/// space.
macro_rules! select_listed {
    ($($rest:expr),*) => {
        Sql::new(concat!(
            "SELECT id, name, doi, title, description, creators, publisher, version, year, url,
                licence, archive, granule_url, keywords, free_access, temporal, withdrawn,
                withdrawn_note, (
                    SELECT string_agg(former.name, ' ' ORDER BY former.renamed DESC, former.name)
                    FROM {dataset_name} AS former
                    WHERE former.dataset_id = dataset.id AND NOT EXISTS (
                        SELECT 1
                        FROM {dataset} AS present
                        WHERE present.name = former.name)),
                max_delete, max_add
            FROM {dataset}
            ",
            $($rest),*
        ))
    };
}

/// The query for the key of a dataset by its name, or one that it had before it was renamed.
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

impl Snapshot {
    /// The dataset that has a name, or had it before it was renamed, and its key. `None` means that
    /// no dataset has or had it.
    ///
    /// In a transaction on a server, the dataset is locked until its end, and the record is the one
    /// under the lock.
    pub fn dataset(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>> {
        static NAMED: Sql = select_dataset!("WHERE id = (", key_of_name!(), ")");
        static DATASET: Sql = select_dataset!("WHERE id = ?1");
        if !self.session.locks_datasets() {
            return self.row(Scope::Registry, &NAMED, &[name.into()], dataset);
        }
        let Some(key) = self.key_of(name)? else { return Ok(None) };
        self.row(Scope::Locked(key), &DATASET, &[key.into()], dataset)
    }

    /// The key and the present name of the dataset that has a name, or had it before it was renamed,
    /// whether or not its record can be read. `None` means that no dataset has or had it.
    ///
    /// In a transaction on a server, the dataset is locked until its end.
    pub fn key_and_name(&self, name: &DatasetName) -> Result<Option<(DatasetKey, DatasetName)>> {
        static NAMED: Sql =
            Sql::new(concat!("SELECT id, name FROM {dataset} WHERE id = (", key_of_name!(), ")"));
        static NAME: Sql = Sql::new("SELECT id, name FROM {dataset} WHERE id = ?1");
        let decode = |row: &dyn Columns| Ok((key(row)?, row.dataset_name(1)?));
        if !self.session.locks_datasets() {
            return self.row(Scope::Registry, &NAMED, &[name.into()], decode);
        }
        let Some(key) = self.key_of(name)? else { return Ok(None) };
        self.row(Scope::Locked(key), &NAME, &[key.into()], decode)
    }

    /// The dataset that has a name, or had it before it was renamed, to be changed: on a server, it is
    /// locked until the end of the transaction. `None` means that no dataset has or had the name.
    pub fn dataset_to_change(&self, name: &DatasetName) -> Result<Option<ToChange>> {
        static DATASET: Sql = Sql::new(concat!(
            "SELECT dataset.name, latest.timestamp, CAST(NULL AS bigint), latest.identifier,
                latest.granules, latest.ingested, latest.deleted, latest.recorded,
                latest.recorded_by, latest.note,
                ",
            annotations!("?1", "latest.timestamp"),
            ", dataset.id, latest.row_check, dataset.withdrawn, dataset.withdrawn_note, dataset.max_delete,
                dataset.max_add
            FROM {dataset}
            LEFT JOIN (
                SELECT timestamp, identifier, granules, ingested, deleted, recorded, recorded_by,
                    note, row_check
                FROM {instance}
                WHERE dataset_id = ?1
                ORDER BY timestamp DESC
                LIMIT 1) AS latest ON true
            WHERE dataset.id = ?1"
        ));
        let Some(key) = self.key_of(name)? else { return Ok(None) };
        let to_change = self.row(Scope::Locked(key), &DATASET, &[key.into()], |row| {
            let has_history = row.int_or_null(1)?.is_some();
            Ok(ToChange {
                key,
                name: row.dataset_name(0)?,
                withdrawal: withdrawal(row, 13)?,
                limits: limits(row, 15)?,
                latest: has_history.then(|| self.instance_of(row)).transpose()?,
            })
        })?;
        let Some(mut to_change) = to_change else { return Ok(None) };
        let latest = to_change.latest.take();
        to_change.latest =
            latest.map(|latest| self.not_from_the_future(key, latest)).transpose()?;
        Ok(Some(to_change))
    }

    fn key_of(&self, name: &DatasetName) -> Result<Option<DatasetKey>> {
        static KEY: Sql = Sql::new(key_of_name!());
        self.row(Scope::Registry, &KEY, &[name.into()], key)
    }

    /// The names of datasets that differ from one at most by the case of letters, at most two of them.
    /// Costs a pass over all names.
    pub fn names_in_any_case(&self, name: &DatasetName) -> Result<Vec<DatasetName>> {
        static NAMES: Sql = Sql::new(
            "SELECT name
            FROM {dataset}
            WHERE lower(name) = lower(?1)
            ORDER BY name
            LIMIT 2",
        );
        self.rows(Scope::Registry, &NAMES, &[name.into()], |row| row.dataset_name(0))
    }

    /// The datasets after a name (`None` means from the first), by name, at most `limit` of them.
    pub fn datasets_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, Dataset)>> {
        static PAGE: Sql = select_dataset!(
            "WHERE name > ?1 AND (withdrawn IS NULL OR ?2)
            ORDER BY name
            LIMIT ?3"
        );
        ascending(
            "dataset",
            self.rows(Scope::Registry, &PAGE, &page(after, withdrawn, limit), dataset)?,
            |(_, first)| after.is_none_or(|after| *after < first.name),
            |(_, one), (_, next)| one.name < next.name,
        )
    }

    /// The datasets after a name, as [`Snapshot::datasets_after`] returns them, with what a list shows
    /// of each. This takes three statements, whatever the number of datasets.
    ///
    /// The names are those of the dataset; the instances are on the machines of their datasets, each of
    /// which is asked once.
    pub fn listed_after(
        &self,
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, Listed)>> {
        static PAGE: Sql = select_listed!(
            "WHERE name > ?1 AND (withdrawn IS NULL OR ?2)
            ORDER BY name
            LIMIT ?3"
        );
        let mut listed = ascending(
            "dataset",
            self.described_rows(&PAGE, &page(after, withdrawn, limit))?,
            |(_, first)| after.is_none_or(|after| *after < first.dataset.name),
            |(_, one), (_, next)| one.dataset.name < next.dataset.name,
        )?;
        let keys: Vec<_> = listed.iter().map(|(key, _)| *key).collect();
        let mut confirmed = self.confirmations(&keys)?;
        for (key, listed) in &mut listed {
            listed.confirmed = confirmed.remove(&key.0);
        }
        Ok(listed)
    }

    /// The dataset that has a name, or had it before it was renamed, with what a list shows of it.
    pub fn listed(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Listed)>> {
        let Some((key, listed)) = self.described(name)? else { return Ok(None) };
        Ok(Some((key, Listed { confirmed: self.confirmation(key)?, ..listed })))
    }

    /// The same without the last confirmation.
    pub fn described(&self, name: &DatasetName) -> Result<Option<(DatasetKey, Listed)>> {
        static NAMED: Sql = select_listed!("WHERE dataset.id = (", key_of_name!(), ")");
        Ok(self.described_rows(&NAMED, &[name.into()])?.pop())
    }

    fn described_rows(
        &self,
        sql: &'static Sql,
        values: &[Value<'_>],
    ) -> Result<Vec<(DatasetKey, Listed)>> {
        let mut listed = self.rows(Scope::Registry, sql, values, |row| {
            let (key, dataset) = dataset(row)?;
            let former = row.text_or_null(18)?.unwrap_or_default().split_whitespace();
            let former_names = former.map(str::parse).collect::<Result<_, _>>();
            let listed = Listed {
                dataset,
                withdrawn: withdrawal(row, 16)?,
                former_names: former_names.map_err(damaged)?,
                limits: if self.is_public() { None } else { Some(limits(row, 19)?) },
                latest: None,
                confirmed: None,
            };
            Ok((key, listed))
        })?;
        let keys: Vec<_> = listed.iter().map(|(key, _)| *key).collect();
        let mut latest = self.latest_instances(&keys)?;
        for (key, listed) in &mut listed {
            listed.latest = latest.remove(&key.0);
        }
        Ok(listed)
    }

    /// The datasets that have a DOI, compared without case, by name. Costs a pass over all records,
    /// which are small.
    pub fn datasets_with_doi(&self, doi: &Doi) -> Result<Vec<DatasetName>> {
        static WITH_DOI: Sql = Sql::new(
            "SELECT name, doi
            FROM {dataset}
            WHERE doi IS NOT NULL
            ORDER BY name",
        );
        let named = self.rows(Scope::Registry, &WITH_DOI, &[], |row| {
            let is_same = row.text(1)?.eq_ignore_ascii_case(doi.as_str());
            is_same.then(|| row.dataset_name(0)).transpose()
        })?;
        Ok(named.into_iter().flatten().collect())
    }

    /// The names of the datasets after one (`""` means from the first), in order, at most `limit`
    /// of them, as they are stored. They are read from an index, so that a damaged record hides
    /// neither its own name nor those after it.
    pub fn dataset_names_after(&self, after: &str, limit: u32) -> Result<Vec<String>> {
        static PAGE: Sql = Sql::new(
            "SELECT name
            FROM {dataset}
            WHERE name > ?1
            ORDER BY name
            LIMIT ?2",
        );
        let values = [after.into(), limit.into()];
        let names = self.rows(Scope::Registry, &PAGE, &values, |row| row.string(0))?;
        ascending("dataset", names, |first| first.as_str() > after, |one, next| one < next)
    }
}

impl Transaction {
    /// Adds a dataset, whose name must not be in use.
    pub fn insert_dataset(&self, dataset: &Dataset) -> Result<DatasetKey> {
        static NEXT: Sql = Sql::new(
            "SELECT coalesce(max(id), 0) + 1
            FROM {dataset}",
        );
        static INSERT: Sql = Sql::new(
            "INSERT INTO {dataset}
                (id, name, doi, title, description, creators, publisher, version, year, url,
                 licence, archive, granule_url, keywords, free_access, temporal)
            VALUES (?16, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        );
        // Datasets are added one after the other, by whoever holds the lock on the registry.
        self.lock_registry()?;
        let key = self.row(Scope::Registry, &NEXT, &[], key)?.unwrap_or(DatasetKey(1));
        self.session.lock_new(key)?;
        self.put_dataset(&INSERT, dataset, Some(key))?;
        Ok(key)
    }

    /// Waits until no other transaction holds the lock on the registry, and holds it until the end of
    /// this one: what is read afterwards of all datasets is what the other wrote.
    pub fn lock_registry(&self) -> Result<()> {
        self.session.lock(REGISTRY)
    }

    /// Replaces the record of the dataset with that name.
    pub fn update_dataset(&self, dataset: &Dataset) -> Result<()> {
        static UPDATE: Sql = Sql::new(
            "UPDATE {dataset}
            SET doi = ?2, title = ?3, description = ?4, creators = ?5, publisher = ?6,
                version = ?7, year = ?8, url = ?9, licence = ?10, archive = ?11,
                granule_url = ?12, keywords = ?13, free_access = ?14, temporal = ?15
            WHERE name = ?1",
        );
        self.put_dataset(&UPDATE, dataset, None)
    }

    fn put_dataset(
        &self,
        sql: &'static Sql,
        dataset: &Dataset,
        key: Option<DatasetKey>,
    ) -> Result<()> {
        let creators = json_of(&dataset.creators);
        let keywords = json_of(&dataset.keywords);
        let temporal = dataset.temporal.map(|temporal| temporal.to_string());
        let mut values = vec![
            (&dataset.name).into(),
            dataset.doi.as_ref().map(Doi::as_str).into(),
            dataset.title.as_deref().into(),
            dataset.description.as_deref().into(),
            creators.as_str().into(),
            dataset.publisher.as_deref().into(),
            dataset.version.as_deref().into(),
            Value::Int(dataset.year.map(|year| year.as_number().into())),
            dataset.url.as_ref().map(WebAddress::as_str).into(),
            dataset.licence.as_deref().into(),
            dataset.archive.as_deref().into(),
            dataset.granule_url.as_ref().map(GranuleUrl::as_str).into(),
            keywords.as_str().into(),
            Value::Int(dataset.free_access.map(i64::from)),
            temporal.as_deref().into(),
        ];
        values.extend(key.map(Value::from));
        self.session.run(sql, &values)
    }
}

/// The values of a query of a page: the name before it, whether it has withdrawn datasets, its size.
fn page(after: Option<&DatasetName>, withdrawn: Withdrawn, limit: u32) -> [Value<'_>; 3] {
    let start = after.map_or("", DatasetName::as_str);
    [start.into(), Value::Flag(withdrawn == Withdrawn::Listed), limit.into()]
}

fn key(row: &dyn Columns) -> Result<DatasetKey> {
    row.int(0).map(DatasetKey)
}

/// The dataset in the first sixteen columns of a row.
fn dataset(row: &dyn Columns) -> Result<(DatasetKey, Dataset)> {
    let doi = row.text_or_null(2)?.map(str::parse);
    let year = row.int_or_null(8)?.map(|year| {
        let year = u16::try_from(year).map_err(damaged)?;
        year.try_into().map_err(damaged)
    });
    let free_access = row.int_or_null(14)?.map(|free_access| match free_access {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(damaged(format!("free_access is {other}"))),
    });
    let temporal = row.text_or_null(15)?.map(str::parse);
    let dataset = Dataset {
        name: row.dataset_name(1)?,
        doi: doi.transpose().map_err(damaged)?,
        title: row.string_or_null(3)?,
        description: row.string_or_null(4)?,
        creators: creators_from(row.text(5)?)?,
        publisher: row.string_or_null(6)?,
        version: row.string_or_null(7)?,
        year: year.transpose()?,
        url: row.text_or_null(9)?.and_then(WebAddress::from_stored),
        licence: row.string_or_null(10)?,
        archive: row.string_or_null(11)?,
        granule_url: granule_url(row, 12)?,
        keywords: serde_json::from_str(row.text(13)?).map_err(damaged)?,
        free_access: free_access.transpose()?,
        temporal: temporal.transpose().map_err(damaged)?,
    };
    Ok((key(row)?, dataset))
}

/// The addresses of granules in a column.
pub(super) fn granule_url(row: &dyn Columns, column: usize) -> Result<Option<GranuleUrl>> {
    let template = row.text_or_null(column)?.map(str::parse);
    template.transpose().map_err(damaged)
}

/// Values as a JSON array of strings, in their order.
fn json_of(values: &[impl ToString]) -> String {
    let written = values.iter().map(ToString::to_string);
    written.collect::<serde_json::Value>().to_string()
}

/// The creators that a column lists.
fn creators_from(text: &str) -> Result<Vec<Creator>> {
    let written: Vec<String> = serde_json::from_str(text).map_err(damaged)?;
    let creators = written
        .iter()
        // Before schema 4 a creator could be any string. One that cannot be parsed is taken as the
        // name of an organisation.
        .map(|text| text.parse().or_else(|_| Creator::organisation(text)));
    creators.collect::<Result<_, ValueError>>().map_err(damaged)
}

impl Snapshot {
    /// When a dataset was withdrawn, and why. `None` means that it is not withdrawn.
    pub fn withdrawal(&self, dataset: DatasetKey) -> Result<Option<Withdrawal>> {
        static WITHDRAWN: Sql = Sql::new(
            "SELECT withdrawn, withdrawn_note
            FROM {dataset}
            WHERE id = ?1",
        );
        self.row(Scope::Registry, &WITHDRAWN, &[dataset.into()], |row| withdrawal(row, 0))?
            .ok_or_else(|| damaged("a dataset has no row"))
    }

    /// The versions of a dataset's record after a version (0 means from the first), at most
    /// `limit`.
    pub fn record_versions(
        &self,
        dataset: DatasetKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<RecordVersion>> {
        static PAGE: Sql = Sql::new(
            "SELECT version, recorded, recorded_by, action, record
            FROM {record_version}
            WHERE dataset_id = ?1 AND version > ?2
            ORDER BY version
            LIMIT ?3",
        );
        let values = [dataset.into(), after.into(), limit.into()];
        let versions = self.rows(Scope::Dataset(dataset), &PAGE, &values, |row| {
            Ok(RecordVersion {
                version: row.count(0)?,
                recorded: row.instant(1)?,
                recorded_by: self.shown(row.string_or_null(2)?),
                action: row.string(3)?,
                dataset: serde_json::from_str(row.text(4)?).map_err(damaged)?,
            })
        })?;
        ascending(
            "record_version",
            versions,
            |first| first.version > after,
            |one, next| one.version < next.version,
        )
    }

    /// The latest time at which anything was recorded: a change, a version of a record, a citation
    /// of a subset, the reading of a log, an annotation, a confirmation, file records. `None` means that nothing was. If there are times at or
    /// after `enough`, any one of them may be returned.
    ///
    /// In a file, all but the versions are one look-up in each of the indexes of the second copies; on a
    /// server, they cost a pass on every machine. If these times are older than `enough`, the versions
    /// of the records are read, from the dataset that was added last.
    pub fn last_recorded(&self, enough: Timestamp) -> Result<Option<Timestamp>> {
        static OTHERS: Sql = Sql::new(
            "SELECT max(newest)
            FROM (
                SELECT max(recorded) AS newest FROM {instance}
                UNION ALL
                SELECT max(cited) FROM {saved_selection}
                UNION ALL
                SELECT max(read) FROM {mirror_source}
                UNION ALL
                SELECT max(recorded) FROM {annotation}
                UNION ALL
                SELECT max(recorded) FROM {confirmation}
                UNION ALL
                SELECT max(recorded) FROM {record_batch}
            ) AS times",
        );
        static RECENT_VERSION: Sql = Sql::new(
            "SELECT recorded
            FROM {record_version}
            WHERE recorded >= ?1
            ORDER BY dataset_id DESC, version DESC
            LIMIT 1",
        );
        static VERSIONS: Sql = Sql::new(
            "SELECT max(recorded)
            FROM {record_version}",
        );
        let newest = |sql, values: &[_]| -> Result<Option<Timestamp>> {
            Ok(self.row(Scope::Registry, sql, values, |row| row.instant_or_null(0))?.flatten())
        };
        let others = newest(&OTHERS, &[])?;
        if others.is_some_and(|newest| newest >= enough) {
            return Ok(others);
        }
        match newest(&RECENT_VERSION, &[enough.into()])? {
            None => Ok(others.max(newest(&VERSIONS, &[])?)),
            recent => Ok(recent),
        }
    }

    /// When the records of the datasets from one name to another were edited last. It asks every machine,
    /// once for a page of datasets.
    pub fn last_edits(
        &self,
        from: &DatasetName,
        to: &DatasetName,
    ) -> Result<BTreeMap<String, Timestamp>> {
        static EDITS: Sql = Sql::new(
            "SELECT dataset.name, max(record_version.recorded)
            FROM {record_version}
            JOIN {dataset} ON dataset.id = record_version.dataset_id
            WHERE dataset.name BETWEEN ?1 AND ?2
            GROUP BY dataset.name",
        );
        let values = [from.as_str().into(), to.as_str().into()];
        let edits = self
            .rows(Scope::AllDatasets, &EDITS, &values, |row| Ok((row.string(0)?, row.instant(1)?)));
        Ok(edits?.into_iter().collect())
    }

    /// The number of the last version of a dataset's record. 0 means that no version is stored.
    pub fn last_record_version(&self, dataset: DatasetKey) -> Result<u64> {
        static LAST: Sql = Sql::new(
            "SELECT coalesce(max(version), 0)
            FROM {record_version}
            WHERE dataset_id = ?1",
        );
        self.count(Scope::Dataset(dataset), &LAST, &[dataset.into()])
    }
}

impl Transaction {
    /// Adds a version of a dataset's record.
    pub fn insert_record_version(
        &self,
        dataset: DatasetKey,
        version: &RecordVersion,
    ) -> Result<()> {
        static INSERT: Sql = Sql::new(
            "INSERT INTO {record_version}
                (dataset_id, version, recorded, recorded_by, action, record)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        );
        let record = version.dataset.to_string();
        let values = [
            dataset.into(),
            version.version.into(),
            version.recorded.into(),
            version.recorded_by.as_deref().into(),
            version.action.as_str().into(),
            record.as_str().into(),
        ];
        self.run(dataset, &INSERT, &values)
    }

    /// Withdraws a dataset; `None` reinstates it.
    pub fn set_withdrawal(
        &self,
        dataset: DatasetKey,
        withdrawal: Option<&Withdrawal>,
    ) -> Result<()> {
        static SET: Sql = Sql::new(
            "UPDATE {dataset}
            SET withdrawn = ?2, withdrawn_note = ?3
            WHERE id = ?1",
        );
        let withdrawn = withdrawal.map(|withdrawal| withdrawal.timestamp);
        let note = withdrawal.and_then(|withdrawal| withdrawal.note.as_deref());
        self.run(dataset, &SET, &[dataset.into(), withdrawn.into(), note.into()])
    }
}

/// The withdrawal in two columns: when, and why.
pub(super) fn withdrawal(row: &dyn Columns, first: usize) -> Result<Option<Withdrawal>> {
    let note = row.string_or_null(first + 1)?;
    Ok(row.instant_or_null(first)?.map(|timestamp| Withdrawal { timestamp, note }))
}
