//! One consistent state of a registry, in either store.

use std::ops::ControlFlow;
use std::path::Path;

#[cfg(feature = "postgres")]
use super::postgres;
use super::rows::{
    Begin, DatasetKey, ListedRow, Period, ProducedPeriod, SourceKey, StoredSource, StoredVersion,
    SubsetKey, ToChange, Withdrawn, WorkerRow,
};
use super::{Error, Result, sqlite};
use crate::model::{
    Checkpoint, Criteria, Dataset, DatasetName, Doi, Granule, GranuleId, IdPage, Identifier,
    Instance, LogChange, Subset, Timestamp, Withdrawal,
};

/// One consistent state of the registry. It should be short-lived (see the documentation of the
/// module `store`).
pub(crate) struct Snapshot {
    pub(super) of: Of,
    hides_recorders: bool,
}

/// A snapshot of one of the stores.
pub(super) enum Of {
    Sqlite(sqlite::Snapshot),
    #[cfg(feature = "postgres")]
    Postgres(postgres::Snapshot),
}

/// What says who recorded it.
trait Recorded {
    /// Leaves that out.
    fn hide_recorder(&mut self);
}

impl Recorded for Instance {
    fn hide_recorder(&mut self) {
        self.recorded_by = None;
    }
}

impl Recorded for ListedRow {
    fn hide_recorder(&mut self) {
        self.latest.iter_mut().for_each(Instance::hide_recorder);
    }
}

impl Recorded for StoredVersion {
    fn hide_recorder(&mut self) {
        self.recorded_by = None;
    }
}

impl Snapshot {
    pub(super) fn new(of: Of) -> Self {
        Snapshot { of, hides_recorders: false }
    }

    /// The same snapshot, which does not say who recorded anything if it is for the public.
    pub fn for_public(self, is_for_public: bool) -> Self {
        Snapshot { hides_recorders: is_for_public, ..self }
    }

    fn as_stored<Found>(&self, found: Found) -> Found {
        found
    }

    fn shown<Found, Row: Recorded + 'static>(&self, mut found: Result<Found>) -> Result<Found>
    where
        for<'a> &'a mut Found: IntoIterator<Item = &'a mut Row>,
    {
        if self.hides_recorders
            && let Ok(found) = &mut found
        {
            found.into_iter().for_each(Row::hide_recorder);
        }
        found
    }
}

/// Defines each query by its signature: it passes its arguments on to the store, and the result through
/// a function.
macro_rules! queries {
    ($through:ident: $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)*) => {
        impl Snapshot {
            $(
                $(#[$doc])*
                pub fn $name(&self, $($argument: $type),*) -> $result {
                    self.$through(match &self.of {
                        Of::Sqlite(read) => read.$name($($argument),*),
                        #[cfg(feature = "postgres")]
                        Of::Postgres(read) => read.$name($($argument),*),
                    })
                }
            )*
        }
    };
}

queries! {
    shown:
    /// The dataset that has a name, or had it before it was renamed, with what a list shows of it.
    fn listed(name: &DatasetName) -> Result<Option<ListedRow>>;

    /// The datasets after a name, as [`Snapshot::datasets_after`] returns them, with what a list shows of
    /// each. On a server this takes two statements, whatever the number of datasets.
    fn listed_after(
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<ListedRow>>;

    /// The versions of a dataset's record after a version (0 means from the first), at most
    /// `limit`.
    fn record_versions(dataset: DatasetKey, after: u64, limit: u32) -> Result<Vec<StoredVersion>>;

    /// The last instance of the history. `None` means that there was no change yet.
    fn latest_instance(dataset: DatasetKey) -> Result<Option<Instance>>;

    /// The latest instance that was recorded at or before a time. `None` means that none was. Reads
    /// one row for each change that was recorded later.
    fn latest_recorded_by(dataset: DatasetKey, recorded: Timestamp) -> Result<Option<Instance>>;

    /// The instances that came into force between two instants (inclusive) according to the
    /// registry at the time: once the change had taken effect and was recorded. In order of time.
    /// Costs a pass over the history.
    fn instances_known_between(
        dataset: DatasetKey,
        first: Timestamp,
        last: Timestamp,
    ) -> Result<Vec<Instance>>;

    /// The instance in force at an instant according to the registry at that time. `None` means
    /// that none was known.
    fn instance_known_at(dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>>;

    /// The first instance of the history. `None` means that there was no change yet.
    fn first_instance(dataset: DatasetKey) -> Result<Option<Instance>>;

    /// The instance in force at an instant. `None` means that it is before the first change.
    fn instance_at(dataset: DatasetKey, at: Timestamp) -> Result<Option<Instance>>;

    /// The instances whose change took effect after `after` (`None` means from the first) and at or
    /// before `up_to`, in order of time, at most `limit` of them.
    fn instances_after(
        dataset: DatasetKey,
        after: Option<Timestamp>,
        up_to: Timestamp,
        limit: u32,
    ) -> Result<Vec<Instance>>;

    /// The instances whose change took effect before `before` and at or after `since` (`None` means
    /// from the first), latest first, at most `limit` of them.
    fn instances_before(
        dataset: DatasetKey,
        before: Timestamp,
        since: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Instance>>;

    /// The instances with an identifier after a dataset and a time, by dataset and time, at most
    /// `limit` of them.
    fn instances_with(
        identifier: Identifier,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Instance>>;

    /// The instances of one dataset with an identifier, in order of time.
    fn instances_of_with(dataset: DatasetKey, identifier: Identifier) -> Result<Vec<Instance>>;

    /// The latest instance with an identifier in any dataset. `None` means that no instance ever
    /// had it.
    fn latest_with(identifier: Identifier) -> Result<Option<Instance>>;
}

queries! {
    as_stored:

    /// The dataset that has a name, or had it before it was renamed, and its key. `None` means that
    /// no dataset has or had it.
    fn dataset(name: &DatasetName) -> Result<Option<(DatasetKey, Dataset)>>;

    /// The dataset that has a name, or had it before it was renamed, to be changed. `None` means that
    /// no dataset has or had it.
    fn dataset_to_change(name: &DatasetName) -> Result<Option<ToChange>>;

    /// The datasets after a name (`None` means from the first), by name, at most `limit` of them.
    fn datasets_after(
        after: Option<&DatasetName>,
        withdrawn: Withdrawn,
        limit: u32,
    ) -> Result<Vec<(DatasetKey, Dataset)>>;

    /// The datasets that have a DOI, compared without case, by name. Costs a pass over all records,
    /// which are small.
    fn datasets_with_doi(doi: &Doi) -> Result<Vec<DatasetName>>;

    /// The names of the datasets that are not withdrawn, from one of them (counted from 0), by name, at
    /// most `limit` of them.
    fn names_from(first: u64, limit: u32) -> Result<Vec<DatasetName>>;

    /// How many datasets there are.
    fn count_datasets() -> Result<u64>;

    /// The former names of a dataset, latest first.
    fn former_names(dataset: DatasetKey) -> Result<Vec<DatasetName>>;

    /// The names that a dataset gave up, each with the time, in order of time.
    fn names_given_up(dataset: DatasetKey) -> Result<Vec<(DatasetName, Timestamp)>>;

    /// When a dataset was withdrawn, and why. `None` means that it is not withdrawn.
    fn withdrawal(dataset: DatasetKey) -> Result<Option<Withdrawal>>;

    /// The latest time at which anything was recorded: a change, a version of a record, a citation
    /// of a subset, the reading of a log. `None` means that nothing was. If there are times at or
    /// after `enough`, any one of them may be returned.
    fn last_recorded(enough: Timestamp) -> Result<Option<Timestamp>>;

    /// The number of the last version of a dataset's record. 0 means that no version is stored.
    fn last_record_version(dataset: DatasetKey) -> Result<u64>;

    /// The number of instances in the registry with an identifier.
    fn count_instances_with(identifier: Identifier) -> Result<u64>;

    /// The number of instances of a dataset with a timestamp at or before `up_to`.
    fn count_instances(dataset: DatasetKey, up_to: Timestamp) -> Result<u64>;

    /// The granules held at an instant, after an id (`""` means from the first), in canonical
    /// order, at most `limit` of them.
    fn held_after(
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<Granule>>;

    /// The ids of the granules that [`Snapshot::held_after`] returns, at a third of its cost.
    fn held_ids_after(
        dataset: DatasetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<IdPage>;

    /// The last granules held at an instant, in the reverse of canonical order, at most `limit` of
    /// them.
    fn last_held(dataset: DatasetKey, at: Timestamp, limit: u32) -> Result<Vec<Granule>>;

    /// The granules with some of these ids that were held at an instant, in canonical order.
    fn held_among(dataset: DatasetKey, at: Timestamp, granule_ids: &[&str]) -> Result<Vec<Granule>>;

    /// The granules that a subset names, as they were held at an instant, after an id, in canonical
    /// order, at most `limit` of them. The second value is `None` if the granule was not held then.
    fn named_after(
        dataset: DatasetKey,
        subset: SubsetKey,
        at: Timestamp,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(GranuleId, Option<Granule>)>>;

    /// The holding periods of the granules with a producer's id, after an id and the start of one
    /// of its periods, by id and then by time, at most `limit` of them.
    fn of_producer_after(
        dataset: DatasetKey,
        producer_granule: &GranuleId,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>>;

    /// Every period of a dataset, past or present, after an id and the start of one of its periods
    /// (`None` means from the first), by id and then by time, at most `limit` of them.
    fn periods_after(
        dataset: DatasetKey,
        after: Option<(&GranuleId, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<Granule>>;

    /// Every period in which a granule was held in one dataset, in order of time.
    fn periods_of_one(dataset: DatasetKey, granule_id: &GranuleId) -> Result<Vec<Granule>>;

    /// The periods in which a granule was held in any dataset, after a dataset and a time of ingest
    /// (`None` means from the first), by dataset and time, at most `limit` of them.
    ///
    /// Costs a look-up for each dataset that is passed: the table is in order of dataset.
    fn periods_everywhere(
        granule_id: &GranuleId,
        after: Option<(&DatasetName, Timestamp)>,
        limit: u32,
    ) -> Result<Vec<(DatasetName, Granule)>>;

    /// Every stored period of some ids, by id and then by time. The ids are in canonical order.
    fn periods_among(dataset: DatasetKey, granule_ids: &[&str]) -> Result<Vec<Granule>>;

    /// Whether an id at or after this one is held now.
    fn holds_from(dataset: DatasetKey, granule_id: &GranuleId) -> Result<bool>;

    /// The last checkpoint before an id. `None` means that there is no checkpoint before it.
    fn checkpoint_before(dataset: DatasetKey, granule_id: &str) -> Result<Option<Checkpoint>>;

    /// The checkpoints of a dataset after an id (`""` means from the first), in canonical order, at
    /// most `limit` of them. One granule in 1,024 has one.
    fn checkpoints_after(dataset: DatasetKey, after: &str, limit: u32) -> Result<Vec<Checkpoint>>;

    /// The subset that the same criteria selected from the same dataset. `None` means that it was
    /// not cited.
    fn subset(
        dataset: DatasetKey,
        identifier: Identifier,
        criteria: &Criteria,
    ) -> Result<Option<(SubsetKey, Subset)>>;

    /// Every subset with an identifier, by dataset and by the time of its first citation.
    fn subsets_with(identifier: Identifier) -> Result<Vec<(SubsetKey, Subset)>>;

    /// A number that grows whenever a subset of the dataset is cited, and perhaps when one of another
    /// dataset is. Costs one look-up.
    fn last_subset(dataset: DatasetKey) -> Result<u64>;

    /// Every subset of a dataset, by identifier.
    fn subsets_of(dataset: DatasetKey) -> Result<Vec<(SubsetKey, Subset)>>;

    /// The logs that were read for a dataset, by source.
    fn mirror_sources(dataset: DatasetKey) -> Result<Vec<StoredSource>>;

    /// The changes that were read of a log after one (0 means from the first), in order, at most
    /// `limit` of them.
    fn changes_read_after(
        dataset: DatasetKey,
        source: SourceKey,
        after: u64,
        limit: u32,
    ) -> Result<Vec<LogChange>>;

    /// The last change that was read of a log. `None` means that none was.
    fn last_change_read(dataset: DatasetKey, source: SourceKey) -> Result<Option<LogChange>>;

    /// The last id that each worker issued, by the worker's number: at most 45 rows.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: the two copies of a row differ (V5), so an id could be issued twice.
    fn payment_workers() -> Result<Vec<WorkerRow>>;

    /// The ids of the old scheme after an id (`""` means from the first), ascending, at most `limit` of
    /// them.
    fn payments_taken_after(after: &str, limit: u32) -> Result<Vec<String>>;

    /// The ids of the old scheme between two ids (inclusive), ascending.
    fn payments_taken(first: &str, last: &str) -> Result<Vec<String>>;

    /// The errors that SQLite's check of the pages and indexes finds, the rows whose second copy
    /// (V5) differs, and the rows that refer to a row that does not exist; at most 100 findings for
    /// each table. Costs one pass over the whole file. On a server, only the rows of these datasets
    /// are checked, unless none is given.
    ///
    /// If others have added tables or indexes to the file, only those of the schema are checked:
    /// the others may have constraints that take hours to evaluate, or that fail.
    fn integrity(datasets: &[DatasetKey]) -> Result<Vec<String>>;

    /// The names of the datasets after one (`""` means from the first), in order, at most `limit`
    /// of them, as they are stored. They are read from an index, so that a damaged record hides
    /// neither its own name nor those after it.
    fn dataset_names_after(after: &str, limit: u32) -> Result<Vec<String>>;

    /// The key of a dataset, whether or not its record can be read. `None` means that there is no
    /// such dataset.
    fn dataset_key(name: &DatasetName) -> Result<Option<DatasetKey>>;

    /// Checks, after a read, that the registry is still the one that was opened.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Replaced`], [`ErrorKind::Changed`].
    fn check_same_file() -> Result<()>;
}

impl Snapshot {
    /// Calls `show` for the periods that last beyond an instant (`None` means all periods),
    /// beginning at an id, by id and then by time.
    pub fn each_period<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        beyond: Option<Timestamp>,
        show: impl FnMut(Period<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match &self.of {
            Of::Sqlite(read) => read.each_period(dataset, begin, beyond, show),
            #[cfg(feature = "postgres")]
            Of::Postgres(read) => read.each_period(dataset, begin, beyond, show),
        }
    }

    /// Calls `show` for every period of a dataset that lasts beyond a time (`None`: for all of them),
    /// by id and then by time.
    ///
    /// Costs a pass over the dataset's rows, whatever the time: the table is in order of id.
    pub fn each_change<E: From<Error>>(
        &self,
        dataset: DatasetKey,
        after: Option<Timestamp>,
        show: impl FnMut(ProducedPeriod<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match &self.of {
            Of::Sqlite(read) => read.each_change(dataset, after, show),
            #[cfg(feature = "postgres")]
            Of::Postgres(read) => read.each_change(dataset, after, show),
        }
    }

    /// Copies the registry, in the state of this snapshot, into a file beside `target`, where no
    /// file exists yet. `progress` is called with the number of pages copied and the total number of
    /// pages.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReservedName`], [`ErrorKind::RegistryExists`], [`ErrorKind::Full`]; [`ErrorKind::Interrupted`]:
    /// `progress` returned `Break`.
    pub fn copy_beside(
        &self,
        target: &Path,
        progress: impl FnMut(u64, u64) -> ControlFlow<()>,
    ) -> Result<sqlite::NewFile> {
        match &self.of {
            Of::Sqlite(read) => read.copy_beside(target, progress),
            #[cfg(feature = "postgres")]
            Of::Postgres(_) => Err(Error::not_a_file("a copy of the file")),
        }
    }
}
