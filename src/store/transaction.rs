//! A change of a registry, in either store.

use std::ops::Deref;

#[cfg(feature = "postgres")]
use super::postgres;
use super::rows::{DatasetKey, NewPeriod, SourceKey, StoredVersion, SubsetKey, WorkerRow};
use super::snapshot::{Of, Snapshot};
use super::{Result, sqlite};
use crate::model::{
    Checkpoint, Dataset, DatasetName, GranuleId, Instance, LogChange, Subset, Timestamp, Withdrawal,
};

/// A change of the registry, of which nothing is stored until [`Transaction::commit`]. It reads what
/// it has written.
pub(crate) struct Transaction {
    snapshot: Snapshot,
}

impl Transaction {
    /// The change that is made in a snapshot that was begun for writing.
    pub(super) fn of(of: Of) -> Self {
        Transaction { snapshot: Snapshot::new(of) }
    }

    /// Takes the change back, once every statement of it was run: what it would have failed at is an
    /// error.
    ///
    /// # Errors
    ///
    /// Those of its statements.
    pub fn roll_back(self) -> Result<()> {
        match self.snapshot.of {
            // Each statement was run when it was called; the transaction ends with the snapshot.
            Of::Sqlite(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Of::Postgres(snapshot) => snapshot.flush(),
        }
    }

    /// Commits the change, which is durable when this returns.
    ///
    /// # Errors
    ///
    /// [`Error::Replaced`](super::Error::Replaced): the registry was moved or removed. Nothing is
    /// changed.
    pub fn commit(self) -> Result<()> {
        match self.snapshot.of {
            Of::Sqlite(snapshot) => snapshot.commit(),
            #[cfg(feature = "postgres")]
            Of::Postgres(snapshot) => snapshot.commit(),
        }
    }
}

impl Deref for Transaction {
    type Target = Snapshot;

    fn deref(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// Defines each statement by its signature: it passes its arguments on to the store.
macro_rules! statements {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        impl Transaction {
            $(
                $(#[$doc])*
                pub fn $name(&self, $($argument: $type),*) -> $result {
                    match &self.snapshot.of {
                        Of::Sqlite(snapshot) => {
                            sqlite::Transaction::of(snapshot).$name($($argument),*)
                        }
                        #[cfg(feature = "postgres")]
                        Of::Postgres(snapshot) => {
                            postgres::Transaction::of(snapshot).$name($($argument),*)
                        }
                    }
                }
            )*
        }
    };
}

statements! {
    /// Adds a dataset, whose name must not be in use.
    fn insert_dataset(dataset: &Dataset) -> Result<DatasetKey>;

    /// Replaces the record of the dataset with that name.
    fn update_dataset(dataset: &Dataset) -> Result<()>;

    /// Adds a version of a dataset's record.
    fn insert_record_version(dataset: DatasetKey, version: &StoredVersion) -> Result<()>;

    /// Gives a dataset a new name, and keeps the former one.
    fn rename_dataset(
        dataset: DatasetKey,
        former: &DatasetName,
        name: &DatasetName,
        renamed: Timestamp,
    ) -> Result<()>;

    /// Keeps a name that a dataset gave up.
    fn keep_name(dataset: DatasetKey, former: &DatasetName, renamed: Timestamp) -> Result<()>;

    /// Withdraws a dataset; `None` reinstates it.
    fn set_withdrawal(dataset: DatasetKey, withdrawal: Option<&Withdrawal>) -> Result<()>;

    /// Adds rows to a history. `until` is not stored, since it is the timestamp of the next row.
    fn insert_instances(dataset: DatasetKey, instances: &[Instance]) -> Result<()>;

    /// Adds periods, which must not overlap existing ones.
    fn insert_periods(dataset: DatasetKey, periods: &[NewPeriod<'_>]) -> Result<()>;

    /// Ends the present holding period of each of some granules, each at its own time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: one is not held, although this transaction has read that it is.
    fn end_periods(dataset: DatasetKey, ends: &[(&GranuleId, Timestamp)]) -> Result<()>;

    /// Deletes the checkpoints at and after an id, which a change there has invalidated.
    fn drop_checkpoints_from(dataset: DatasetKey, granule_id: &str) -> Result<()>;

    /// Adds checkpoints after ids that have none.
    fn insert_checkpoints(dataset: DatasetKey, checkpoints: &[Checkpoint]) -> Result<()>;

    /// Adds a subset that is not stored yet.
    fn insert_subset(dataset: DatasetKey, subset: &Subset) -> Result<SubsetKey>;

    /// Adds the granules that a new subset names.
    fn insert_named(
        dataset: DatasetKey,
        subset: SubsetKey,
        granule_ids: &[GranuleId],
    ) -> Result<()>;

    /// Stores when a log was read for a dataset, the entity tag of its state and, unless it is
    /// `None`, when the dataset was identical to it; adds the log if it was not read before.
    fn save_mirror_source(
        dataset: DatasetKey,
        source: &str,
        read: Timestamp,
        identical: Option<Timestamp>,
        etag: Option<&str>,
    ) -> Result<SourceKey>;

    /// Forgets the changes that were read of a log from one on.
    fn forget_changes_from(dataset: DatasetKey, source: SourceKey, number: u64) -> Result<()>;

    /// Adds changes that were read of a log.
    fn insert_changes_read(
        dataset: DatasetKey,
        source: SourceKey,
        changes: &[LogChange],
    ) -> Result<()>;

    /// Stores the last id that a worker issued.
    fn save_payment_worker(row: &WorkerRow) -> Result<()>;

    /// Stores ids of the old scheme; returns how many are new.
    fn insert_payments_taken(ids: &[&str]) -> Result<u64>;
}
