//! The table `confirmation`: when a dataset was last compared with a listing, and was the same.

use std::collections::BTreeMap;

use crate::model::Confirmation;
use crate::store::Result;
use crate::store::rows::DatasetKey;
use crate::store::session::{Snapshot, Transaction};
use crate::store::statement::{Columns, Scope, Sql, Value};

impl Snapshot {
    /// The last confirmation of a dataset. `None` means that it was never confirmed.
    pub fn confirmation(&self, dataset: DatasetKey) -> Result<Option<Confirmation>> {
        static OF_DATASET: Sql = Sql::new(
            "SELECT recorded, recorded_by, granules
            FROM {confirmation}
            WHERE dataset_id = ?1",
        );
        self.row(Scope::Dataset(dataset), &OF_DATASET, &[dataset.into()], |row| {
            self.confirmation_of(row)
        })
    }

    /// The last confirmations of some datasets, by their keys. For more than one, asks every machine.
    pub(super) fn confirmations(
        &self,
        datasets: &[DatasetKey],
    ) -> Result<BTreeMap<i64, Confirmation>> {
        static OF_DATASETS: Sql = Sql::by_store(
            "SELECT confirmation.recorded, confirmation.recorded_by, confirmation.granules,
                confirmation.dataset_id
            FROM rarray(?1) AS wanted
            CROSS JOIN confirmation ON confirmation.dataset_id = wanted.value",
            "SELECT recorded, recorded_by, granules, dataset_id
            FROM {confirmation}
            WHERE dataset_id = ANY (?1)",
        );
        // Citus would ask all of them for a single one, too.
        if let [dataset] = datasets {
            let confirmation = self.confirmation(*dataset)?;
            return Ok(confirmation.map(|it| (dataset.0, it)).into_iter().collect());
        }
        let keys: Vec<i64> = datasets.iter().map(|dataset| dataset.0).collect();
        let found = self.rows(Scope::AllDatasets, &OF_DATASETS, &[Value::Ints(&keys)], |row| {
            Ok((row.int(3)?, self.confirmation_of(row)?))
        })?;
        Ok(found.into_iter().collect())
    }

    fn confirmation_of(&self, row: &dyn Columns) -> Result<Confirmation> {
        Ok(Confirmation {
            recorded: row.instant(0)?,
            recorded_by: self.shown(row.string_or_null(1)?),
            granules: row.count(2)?,
        })
    }
}

impl Transaction {
    /// Stores that a dataset was confirmed, in the place of its last confirmation.
    pub fn save_confirmation(
        &self,
        dataset: DatasetKey,
        confirmation: &Confirmation,
    ) -> Result<()> {
        static SAVE: Sql = Sql::new(
            "INSERT INTO {confirmation} (dataset_id, recorded, recorded_by, granules)
            VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (dataset_id) DO UPDATE
            SET recorded = excluded.recorded, recorded_by = excluded.recorded_by,
                granules = excluded.granules",
        );
        let values = [
            dataset.into(),
            confirmation.recorded.into(),
            confirmation.recorded_by.as_deref().into(),
            confirmation.granules.into(),
        ];
        self.run(dataset, &SAVE, &values)
    }
}
