//! What an archive does with its registry.
//!
//! The promises: nothing is ever erased, so every identifier that was ever in force resolves to its
//! exact granules for ever; history is never rewritten, so a change comes after the last one; a
//! change is there whole or not at all, whatever happens.
//!
//! [`Registry`] has one `impl` block per task, each in the file named after it. Time is an argument
//! throughout: nothing here reads a clock.

mod backup;
mod change;
mod cite;
mod compare;
mod dataset;
mod export;
mod history;
mod import;
mod moment;
mod monitor;
mod payment;
mod refusal;
mod resolve;
mod resume;
mod selection;
mod verify;

use std::path::Path;

pub use backup::BackedUp;
pub use change::{Applied, Change, Entry, Work};
pub use cite::{Cited, Wanted};
pub use compare::{Comparison, Difference};
pub(crate) use compare::{Counts, Side};
pub use dataset::{DatasetEdit, Listed};
pub use export::Exported;
pub use import::{Expected, Import, ImportOptions, Imported};
pub use moment::Stamp;
pub use monitor::Monitor;
pub use payment::Lease;
pub use refusal::ChangeError;
pub(crate) use refusal::before;
pub use resolve::{Resolution, Resolved};
pub use selection::{Selected, Selection};
pub use verify::{Code, Finding, Verification};

pub use crate::store::Access;

use crate::model::{Dataset, DatasetName};
use crate::store::{DatasetKey, Read, Store, TemporaryRegistry, Write};
use crate::{Error, Result};

/// A registry: one file that holds the datasets of an archive.
///
/// # Examples
///
/// ```
/// use accession::{Change, Registry, Stamp};
///
/// let folder = tempfile::tempdir()?;
/// let mut registry = Registry::create(&folder.path().join("accession.db"))?;
/// let dataset = "US.FOOL2.002".parse()?;
/// let change = Change {
///     ingest: vec!["FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse::<accession::GranuleId>()?.into()],
///     create: true,
///     ..Change::default()
/// };
/// let now = "2026-01-01T00:00:00Z".parse()?;
/// let stamp = Stamp { at: Some("2001-01-02T00:00:00Z".parse()?), now };
/// let applied = registry.change(&dataset, change, stamp)?;
/// let instance = applied.instance.expect("something changed");
/// assert_eq!(instance.identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
/// assert_eq!(applied.work.steps, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    store: Store,
    monitor: Box<dyn Monitor>,
}

/// A new registry that nobody sees until it is published: what fails meanwhile leaves nothing.
pub struct NewRegistry {
    /// The registry, empty at first.
    pub registry: Registry,
    draft: TemporaryRegistry,
}

/// How a piece of work on the registry ends.
enum End {
    Commit,
    RollBack,
}

impl Registry {
    /// Opens a registry.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: there is none, it is something else, damaged, of a newer version, or
    /// cannot be opened for this.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        let store = Store::open(path, access).map_err(|error| Error::from(error).in_file(path))?;
        Ok(Registry::over(store))
    }

    /// Makes an empty registry where there is no file yet.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: there is a file, or none can be made there.
    pub fn create(path: &Path) -> Result<Self> {
        Registry::draft(path)?.publish()?;
        Registry::open(path, Access::Write)
    }

    /// Makes a registry that lies nowhere, and is gone when it is dropped: to try things out.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: no memory.
    pub fn in_memory() -> Result<Self> {
        Ok(Registry::over(Store::in_memory()?))
    }

    /// Makes a new registry that has yet to be published at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]: no file can be made in that folder.
    pub fn draft(path: &Path) -> Result<NewRegistry> {
        let (store, draft) =
            Store::create(path).map_err(|error| Error::from(error).in_file(path))?;
        Ok(NewRegistry { registry: Registry::over(store), draft })
    }

    /// Tells `monitor` how work goes on from now on.
    pub fn set_monitor(&mut self, monitor: impl Monitor + 'static) {
        self.monitor = Box::new(monitor);
    }

    /// The path the registry was opened by.
    pub fn path(&self) -> &Path {
        self.store.path()
    }

    fn over(store: Store) -> Self {
        Registry { store, monitor: Box::new(()) }
    }

    /// Does `work` on one consistent state of the registry.
    fn reading<T>(
        &mut self,
        work: impl FnOnce(&Read<'_>, &mut dyn Monitor) -> Result<T>,
    ) -> Result<T> {
        let path = self.store.path().to_owned();
        let monitor = &mut *self.monitor;
        let read = |store: &mut Store| {
            let read = store.read()?;
            let result = work(&read, monitor)?;
            read.finish()?;
            Ok(result)
        };
        read(&mut self.store).map_err(|error: Error| error.in_file(&path))
    }

    /// Does `work` as one change: all of it or, if it fails or says so, nothing.
    fn writing<T>(
        &mut self,
        work: impl FnOnce(&Write<'_>, &mut dyn Monitor) -> Result<(T, End)>,
    ) -> Result<T> {
        let path = self.store.path().to_owned();
        let monitor = &mut *self.monitor;
        let write = |store: &mut Store| {
            let write = store.write()?;
            let (result, end) = work(&write, monitor)?;
            match end {
                End::Commit => write.commit()?,
                End::RollBack => drop(write),
            }
            Ok(result)
        };
        write(&mut self.store).map_err(|error: Error| error.in_file(&path))
    }
}

impl NewRegistry {
    /// Puts the registry in its place, whole.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] of kind `registry-exists`: by now there is a file; another was faster.
    pub fn publish(self) -> Result<()> {
        let NewRegistry { registry, draft } = self;
        let path = registry.path().to_owned();
        registry.store.put_in_place(draft).map_err(|error| Error::from(error).in_file(&path))
    }
}

/// The key and the record of a dataset that must be there.
fn dataset_of(read: &Read<'_>, name: &DatasetName) -> Result<(DatasetKey, Dataset)> {
    read.dataset(name)?.ok_or_else(|| Error::NoDataset { name: name.clone() })
}

/// The key of a dataset that is to be changed, which is made if it is missing and `create` says so.
fn dataset_to_change(write: &Write<'_>, name: &DatasetName, create: bool) -> Result<DatasetKey> {
    match write.dataset(name)? {
        Some((dataset, _)) => Ok(dataset),
        None if create => Ok(write.insert_dataset(&Dataset::named(name.clone()))?),
        None => Err(Error::NoDataset { name: name.clone() }),
    }
}
