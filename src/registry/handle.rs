//! The registry itself: opening it, beginning and ending work on it, and which of its datasets are shown.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::cancel::CancelToken;
use super::observer::{Observer, OpenWork, Progress, Watcher, Work};
use crate::error::{Error, ErrorKind, Result};
use crate::model::DatasetFilter;
use crate::store::{self, Access, BUSY_WAIT, NewStore, Store, Transaction, Watch};

/// A registry: one file that records the datasets of an archive.
///
/// It is cheap to clone and to share between threads: clones use the same pool of connections. A
/// [`Snapshot`](super::Snapshot) reads it; each method that changes something is one transaction.
///
/// Each method fails if the registry cannot be read or written; one that takes the name of a dataset with
/// [`ErrorKind::DatasetUnknown`] if no dataset has it; and one that records something with
/// [`ErrorKind::ClockAhead`] if the registry already has times after now.
///
/// # Examples
///
/// ```
/// use accession::{Change, GranuleId, IfMissing, Registry, Stamp};
///
/// let directory = tempfile::tempdir()?;
/// let registry = Registry::create(&directory.path().join("accession.db"))?;
/// let granule_id: GranuleId = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse()?;
/// let mut change = Change::new();
/// change.ingest(granule_id)?;
/// change.options = change.options.if_missing(IfMissing::Create);
/// let stamp = Stamp::at("2001-01-02T00:00:00Z".parse()?, "2026-01-01T00:00:00Z".parse()?);
/// let applied = registry.change(&"US.FOOL2.002".parse()?, &change, &stamp)?;
/// let instance = applied.instance().expect("something changed");
/// assert_eq!(instance.identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
/// assert_eq!(applied.effort.steps, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    store: Store,
    watcher: Watcher,
    /// The datasets that others see, who do not see who recorded a change. `None` means that it is read as
    /// the archive sees it.
    public: Option<Arc<DatasetFilter>>,
    /// Whether its lists are read in small pages.
    has_small_pages: bool,
}

// The path of a registry on a server has no password.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// A new registry that does not exist at its path until it is put in place, so that a failure
/// before that leaves no file.
pub struct NewRegistry {
    /// The registry, which is empty at first.
    pub registry: Registry,
    new: NewStore,
    path: PathBuf,
}

crate::model::debug_fields!(NewRegistry: registry);

/// How often a change is made at most where other changes interfere with it.
const ATTEMPTS: u32 = 8;

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    /// Commits what is no change of the registry: what was read elsewhere.
    Remember,
    RollBack,
}

impl End {
    pub fn commit_if(is_kept: bool) -> Self {
        if is_kept { End::Commit } else { End::RollBack }
    }
}

impl Registry {
    /// Opens a registry, whose changes wait ten seconds for another writer before they fail.
    ///
    /// # Errors
    ///
    /// The error of a registry: the file does not exist (`registry-missing`), is not a registry
    /// (`not-a-registry`), is damaged, has another schema (`other-schema`), or cannot be opened with this
    /// access.
    pub fn open(path: &Path, access: Access) -> Result<Self> {
        Registry::open_waiting(path, access, BUSY_WAIT)
    }

    /// The same with another time to wait for another writer.
    pub fn open_waiting(path: &Path, access: Access, busy_wait: Duration) -> Result<Self> {
        let store = Store::open(path, access, busy_wait);
        let store = store.map_err(|error| match error.kind() {
            // A relative path may be wrong because the current directory is.
            ErrorKind::RegistryMissing => error.in_registry(&store::full_name(path)),
            _ => error.in_registry(&store::shown_name(path)),
        })?;
        Ok(Registry::of(store))
    }

    /// Creates an empty registry at a path where no file exists yet.
    ///
    /// # Errors
    ///
    /// The error of a registry: a file exists there (`already-exists`), or cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        Registry::prepare(path)?.put_in_place()?;
        Registry::open(path, Access::Write)
    }

    /// Creates a registry in memory, which is deleted when its last clone is dropped.
    ///
    /// It has only one connection: while a [`Snapshot`](super::Snapshot) of it is open, every other
    /// operation waits until the snapshot is dropped.
    ///
    /// # Errors
    ///
    /// The error of a registry: there is not enough memory.
    pub fn in_memory() -> Result<Self> {
        let store = Store::in_memory(BUSY_WAIT)?;
        Ok(Registry::of(store))
    }

    /// Creates a new registry that is to be put in place at `path` later.
    ///
    /// # Errors
    ///
    /// The error of a registry: no file can be created in that directory.
    pub fn prepare(path: &Path) -> Result<NewRegistry> {
        let (store, new) = Store::create(path, None, BUSY_WAIT)
            .map_err(|error| error.in_registry(&store::shown_name(path)))?;
        let registry = Registry::of(store);
        Ok(NewRegistry { registry, new, path: path.to_owned() })
    }

    /// Returns the same registry with an observer of its work, instead of any before.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use accession::{CancelToken, Observer, Progress, Registry};
    ///
    /// struct Printed;
    ///
    /// impl Observer for Printed {
    ///     fn event(&self, event: Progress) {
    ///         eprintln!("{event:?}");
    ///     }
    /// }
    ///
    /// # let registry = Registry::in_memory()?;
    /// let token = CancelToken::new();
    /// let registry = registry.observed_by(Arc::new(Printed)).cancelled_by(&token);
    /// // Another thread may do this.
    /// token.cancel();
    /// assert_eq!(registry.snapshot().err().map(|error| error.kind().as_str()), Some("interrupted"));
    /// # Ok::<(), accession::Error>(())
    /// ```
    #[must_use]
    pub fn observed_by(&self, observer: Arc<dyn Observer>) -> Self {
        Registry { watcher: self.watcher.clone().observed_by(observer), ..self.clone() }
    }

    /// Returns the same registry with one more token that cancels its work.
    #[must_use]
    pub fn cancelled_by(&self, token: &CancelToken) -> Self {
        Registry { watcher: self.watcher.clone().cancelled_by(token), ..self.clone() }
    }

    /// Who observes its work, and what cancels it.
    pub fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Returns the same registry as others may see it: its snapshots show only the datasets of the filter.
    /// The others are as if they did not exist. Who recorded a change is shown of none.
    #[must_use]
    pub fn public_view(&self, filter: DatasetFilter) -> Self {
        Registry { public: Some(Arc::new(filter)), ..self.clone() }
    }

    /// Returns the same registry for clients that may read lists slowly: pages end by bytes, and are hashed on
    /// the thread that reads them. A list needs little memory, and no thread.
    #[must_use]
    pub fn in_small_pages(&self) -> Self {
        Registry { has_small_pages: true, ..self.clone() }
    }

    /// Whether its lists are read in small pages.
    pub(super) fn has_small_pages(&self) -> bool {
        self.has_small_pages
    }

    /// The registry in a store.
    pub(super) fn of(store: Store) -> Self {
        Registry { store, watcher: Watcher::new(), public: None, has_small_pages: false }
    }

    /// Returns the same registry with another watcher.
    pub(super) fn watched_by(&self, watcher: Watcher) -> Self {
        Registry { watcher, ..self.clone() }
    }

    /// Returns the same registry without a watcher: what it writes is not what the caller asked for.
    pub(super) fn unwatched(&self) -> Self {
        self.watched_by(Watcher::new())
    }

    /// Returns the same registry for threads that work side by side, and whose work is reported as one.
    pub(super) fn for_parts(&self) -> Self {
        self.watched_by(self.watcher.of_parts())
    }

    /// Returns the same registry for what is saved during other work, also when that is cancelled.
    pub(crate) fn for_saves(&self) -> Self {
        self.watched_by(self.watcher.of_saves())
    }

    /// Whether several threads can read the registry at the same time.
    pub(super) fn has_many_connections(&self) -> bool {
        self.store.has_many_connections()
    }

    /// Whether it is in a file.
    pub(super) fn is_file(&self) -> bool {
        self.store.is_file()
    }

    /// Spreads the registry over the machines of a Citus cluster, by dataset, in one transaction.
    /// It can be new or filled, and is used afterwards as before. Returns how many tables were
    /// distributed; 0 means that they had been before.
    ///
    /// Cost: every row is sent to its machine. Others wait meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): the registry is a file; of kind
    /// `unsupported`: the extension is not installed; of kind `denied`: the role is not the owner of
    /// the tables.
    pub fn distribute(&self) -> Result<u64> {
        self.store().distribute().map_err(|error| self.named(error))
    }

    /// The same registry, whose store fails once.
    #[cfg(test)]
    pub(crate) fn with_fault(&self, fault: Arc<store::Fault>) -> Self {
        Registry { store: self.store.with_fault(fault), ..self.clone() }
    }

    /// Everything that is stored, to be compared.
    #[cfg(test)]
    pub(crate) fn contents(&self) -> Result<String> {
        self.read()?.contents()
    }

    /// What stores it.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// The store, to close it.
    pub(super) fn into_store(self) -> Store {
        self.store
    }

    /// Whether there is anything at the path or the address of a registry.
    ///
    /// # Errors
    ///
    /// The error of a registry: a server cannot be asked.
    pub fn exists(name: &Path) -> Result<bool> {
        store::exists(name).map_err(|error| error.in_registry(&store::shown_name(name)))
    }

    /// Closes the connections of the registry. Dropping the last handle does the same, and ignores errors.
    ///
    /// # Errors
    ///
    /// Of kind `busy`: a clone, a snapshot or a list of the registry is still in use, with which the
    /// connections are closed; what the store reports.
    pub fn close(self) -> Result<()> {
        let path = self.path().map(Path::to_owned).unwrap_or_default();
        self.store.close_all().map_err(|error| error.in_registry(&path))
    }

    /// Refuses the address of a server for what only a file can be used for.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported); of kind `address`: it is
    /// neither the path of a file nor the address of a registry, and is not repeated, since it can
    /// contain a password.
    pub fn check_is_file(name: &Path, what: &'static str) -> Result<()> {
        store::check_is_file(name, what)
            .map_err(|error| error.in_registry(&store::shown_name(name)))
    }

    /// The path or the address of a registry in full, as messages show it: a path is absolute, with
    /// links resolved where it exists; an address is without its password.
    pub fn full_name(name: &Path) -> PathBuf {
        store::full_name(name)
    }

    /// The path with which the registry was opened, or the address without its password. `None`
    /// means that it is in memory.
    pub fn path(&self) -> Option<&Path> {
        self.store.path()
    }

    /// Begins a read transaction, unless the work is cancelled.
    pub(super) fn read(&self) -> Result<store::View> {
        self.watcher.check()?;
        let read = || {
            let view = self.store.snapshot(self.watch().as_ref())?;
            match &self.public {
                None => Ok(view),
                Some(filter) => view.for_public(filter),
            }
        };
        read().map_err(|error| self.named(error))
    }

    /// Runs `work` in one write transaction, which is rolled back if `work` fails or requests it.
    ///
    /// `work` may be run again from its beginning, since some databases require that.
    pub(super) fn write<T>(
        &self,
        mut work: impl FnMut(&Transaction) -> Result<(T, End)>,
    ) -> Result<T> {
        let mut attempt = || -> Result<T> {
            let transaction = self.store.transaction(self.watch().as_ref())?;
            let (result, end) = work(&transaction)?;
            match end {
                End::Commit | End::Remember => {
                    let progress = self.begin(Work::Commit, None);
                    transaction.commit()?;
                    drop(progress);
                    if end == End::Commit {
                        self.watcher.report(Progress::Committed);
                    }
                }
                End::RollBack => transaction.roll_back()?,
            }
            Ok(result)
        };
        let mut result = attempt();
        for _ in 1..ATTEMPTS {
            match &result {
                Err(error) if error.kind() == ErrorKind::Conflict => result = attempt(),
                _ => break,
            }
        }
        result.map_err(|error| self.named(error))
    }

    /// Adds the path of this registry to an error that does not have one yet.
    pub(super) fn named(&self, error: Error) -> Error {
        error.in_registry(self.path().unwrap_or(Path::new("")))
    }

    /// Reports that work begins; the guard reports that it ends.
    pub(crate) fn begin(&self, work: Work, total: Option<u64>) -> OpenWork {
        self.watcher.begin(work, total)
    }

    /// Whether the work is cancelled, in the form that the store calls.
    fn watch(&self) -> Option<Watch> {
        let watcher = self.watcher.clone();
        watcher.can_be_cancelled().then(|| Arc::new(move || watcher.is_cancelled()) as Watch)
    }
}

impl NewRegistry {
    /// Renames the registry to its path, atomically.
    ///
    /// # Errors
    ///
    /// The error of a registry: of kind `already-exists` if another process has created a file
    /// there; of kind `busy` if a clone of the registry is still in use.
    pub fn put_in_place(self) -> Result<()> {
        let NewRegistry { registry, new, path } = self;
        let put = new.put_in_place(Some(registry.into_store()));
        put.map_err(|error| error.in_registry(&store::shown_name(&path)))
    }
}
