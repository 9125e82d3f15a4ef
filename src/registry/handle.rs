//! The registry itself: opening it, beginning and ending work on it, and which of its datasets are shown.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::author::Author;
use super::cancel::CancelToken;
use super::clock::Clock;
use super::observer::{Observer, OpenWork, Progress, Watcher, Work};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetFilter, Timestamp};
use crate::store::{self, Location, Store, Transaction, Watch};

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
/// use accession::{Change, Clock, GranuleId, IfMissing, Registry, Timestamp};
///
/// let directory = tempfile::tempdir()?;
/// let location = directory.path().join("accession.db");
/// let registry = Registry::open_or_create(location, Clock::system())?;
/// let granule_id: GranuleId = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204".parse()?;
/// let mut change = Change::new();
/// change.ingest(granule_id)?;
/// change.options = change.options.if_missing(IfMissing::Create);
/// let at: Timestamp = "2001-01-02T00:00:00Z".parse()?;
/// change.options = change.options.at(at);
/// let applied = registry.change(&"US.FOOL2.002".parse()?, &change)?;
/// let instance = applied.instance().expect("something changed");
/// assert_eq!(instance.identifier.to_string(), "f869b254eb75be5a2736cdb28b30eba0");
/// assert_eq!(applied.effort.steps, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Registry {
    store: Store,
    clock: Clock,
    /// Who records changes. `None` means that this is not recorded.
    author: Option<Author>,
    watcher: Watcher,
    /// The datasets that others see, who do not see who recorded a change. `None` means that it is read as
    /// the archive sees it.
    public: Option<Arc<DatasetFilter>>,
    /// Whether its lists are read in small pages.
    has_small_pages: bool,
}

// The location of a registry on a server has no password.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("location", self.location()).finish_non_exhaustive()
    }
}

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
    /// Opens a registry. What it records has the times of `clock`.
    ///
    /// Reading never writes, so a registry can also be read where nothing can be written. The first change
    /// opens it for writing; a registry with an older schema is migrated then, and cannot be read before.
    ///
    /// # Errors
    ///
    /// The error of a registry: it does not exist (`registry-missing`), is not a registry
    /// (`not-a-registry`), is damaged, has another schema (`other-schema`), or cannot be opened.
    pub fn open(location: impl Into<Location>, clock: Clock) -> Result<Self> {
        let location = location.into();
        let store = Store::open(&location).map_err(|error| match error.kind() {
            // A relative path may be wrong because the current directory is.
            ErrorKind::RegistryMissing => error.in_registry(&location.full_name()),
            _ => location.named(error),
        })?;
        Ok(Registry::of(store, clock))
    }

    /// Creates an empty registry where there is none yet, and opens it.
    ///
    /// # Errors
    ///
    /// The error of a registry: something exists there (`already-exists`), or nothing can be created.
    pub fn create(location: impl Into<Location>, clock: Clock) -> Result<Self> {
        let location = location.into();
        let create = || {
            let (store, new) = Store::create(&location, None)?;
            new.put_in_place(Some(store))
        };
        create().map_err(|error| location.named(error))?;
        Registry::open(location, clock)
    }

    /// Opens a registry or, if there is none, returns one that its first change creates. It is empty until
    /// then, and nothing of it remains if that change fails.
    ///
    /// # Errors
    ///
    /// Those of [`Registry::open`].
    pub fn open_or_create(location: impl Into<Location>, clock: Clock) -> Result<Self> {
        let location = location.into();
        let store = Store::open_or_create(&location).map_err(|error| location.named(error))?;
        Ok(Registry::of(store, clock))
    }

    /// Creates a registry in a temporary file, which is deleted when the last clone and the last snapshot are
    /// dropped.
    ///
    /// # Errors
    ///
    /// No temporary file can be created (`temporary`).
    pub fn temporary(clock: Clock) -> Result<Self> {
        Ok(Registry::of(Store::temporary()?, clock))
    }

    /// Limits the memory that SQLite may use in this process to 64 MiB, so that an untrusted file
    /// cannot make it grow. The limit cannot be raised again, so this is for a program that uses SQLite
    /// for nothing else.
    ///
    /// # Errors
    ///
    /// The error of a registry: SQLite does not accept the limit.
    pub fn limit_memory() -> Result<()> {
        crate::store::limit_memory()
    }

    /// Checks that a change could begin: that the registry can be written, and that no other writer keeps it for
    /// too long. A registry with an older schema is migrated.
    ///
    /// # Errors
    ///
    /// Those with which a change would begin, such as [`ErrorKind::Denied`].
    pub fn check_writable(&self) -> Result<()> {
        self.write(|_| Ok(((), End::RollBack)))
    }

    /// Returns the same registry, whose changes wait so long for another writer before they fail with
    /// [`ErrorKind::Busy`]: ten seconds, if it is not set.
    #[must_use]
    pub fn with_busy_wait(&self, busy_wait: Duration) -> Self {
        Registry { store: self.store.with_busy_wait(busy_wait), ..self.clone() }
    }

    /// Returns the same registry with another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Clock) -> Self {
        Registry { clock, ..self.clone() }
    }

    /// Returns the same registry, in which `author` records changes.
    #[must_use]
    pub fn recorded_by(&self, author: Author) -> Self {
        Registry { author: Some(author), ..self.clone() }
    }

    /// The present time, by the clock of the registry.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The clock.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Who records changes.
    pub(super) fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    /// Returns the same registry, whose clock is confirmed if `is_confirmed`.
    pub(crate) fn confirming(&self, is_confirmed: bool) -> Self {
        match is_confirmed {
            true => self.with_clock(self.clock.clone().confirmed()),
            false => self.clone(),
        }
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
    /// # let registry = Registry::temporary(accession::Clock::system())?;
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
    /// The others are as if they did not exist. Who recorded a change is shown of none. A view of a view shows
    /// what both show. It limits what is read, and not what is changed.
    #[must_use]
    pub fn public_view(&self, filter: DatasetFilter) -> Self {
        let filter = match self.public.as_deref() {
            Some(shown) => shown.both(&filter),
            None => filter,
        };
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
    pub(super) fn of(store: Store, clock: Clock) -> Self {
        let watcher = Watcher::new();
        Registry { store, clock, author: None, watcher, public: None, has_small_pages: false }
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

    /// Closes the connections of the registry. Dropping the last handle does the same, and ignores errors.
    ///
    /// # Errors
    ///
    /// Of kind `busy`: a clone, a snapshot or a list of the registry is still in use, with which the
    /// connections are closed; what the store reports.
    pub fn close(self) -> Result<()> {
        let location = self.location().clone();
        self.store.close_all().map_err(|error| location.named(error))
    }

    /// Where the registry is.
    pub fn location(&self) -> &Location {
        self.store.location()
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

    /// Runs `work` in one write transaction, which is rolled back if `work` fails or requests it. If there is
    /// no registry yet, one is created if `work` changes something.
    ///
    /// `work` may be run again from its beginning: some databases require that, and another process may create
    /// the registry meanwhile.
    pub(super) fn write<T>(
        &self,
        mut work: impl FnMut(&Transaction) -> Result<(T, End)>,
    ) -> Result<T> {
        let mut attempt = || -> Result<T> {
            let new = self.store.creation()?;
            let store = new.as_ref().map_or(&self.store, |(store, _)| store);
            let transaction = store.transaction(self.watch().as_ref())?;
            let (result, end) = work(&transaction)?;
            match end {
                // What was read elsewhere is remembered in a registry that exists.
                End::Remember if new.is_some() => transaction.roll_back()?,
                End::Commit | End::Remember => {
                    let progress = self.begin(Work::Commit, None);
                    transaction.commit()?;
                    new.map_or(Ok(()), |(store, new)| new.put_in_place(Some(store)))?;
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
            match result.as_ref().map_err(Error::kind) {
                Err(ErrorKind::Conflict | ErrorKind::AlreadyExists) => result = attempt(),
                _ => break,
            }
        }
        result.map_err(|error| self.named(error))
    }

    /// Adds the location of this registry to an error that does not have one yet.
    pub(super) fn named(&self, error: Error) -> Error {
        self.location().named(error)
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
