//! The registry itself: opens it, begins and ends work on it, and limits which of its datasets are shown.

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

/// A registry: one file, or one database on a server, that records the datasets of an archive.
///
/// It is cheap to clone and to share between threads: clones use the same pool of connections. A
/// [`Snapshot`](super::Snapshot) reads it. Each method that changes something is one transaction.
///
/// Each method fails if the registry cannot be read or written. A method with the name of a dataset fails with
/// [`ErrorKind::DatasetUnknown`] if no dataset has that name. A method that records something fails with
/// [`ErrorKind::ClockAhead`] if the clock is more than two years after every recorded time.
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
    /// The author of changes. `None` means that it is not recorded.
    author: Option<Author>,
    watcher: Watcher,
    /// The datasets that others see. They do not see who recorded a change. `None` means that everything is
    /// shown.
    public: Option<Arc<DatasetFilter>>,
    has_small_pages: bool,
}

// The location of a registry on a server has no password.
impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("location", self.location()).finish_non_exhaustive()
    }
}

/// The greatest number of attempts at a change with which other changes interfere.
const ATTEMPTS: u32 = 8;

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    /// Commits data that was read elsewhere, which is no change of the registry.
    Remember,
    RollBack,
}

impl End {
    pub fn commit_if(is_kept: bool) -> Self {
        if is_kept { End::Commit } else { End::RollBack }
    }
}

impl Registry {
    /// Opens a registry. Recorded times are read from `clock`.
    ///
    /// Reading never writes, so a registry can also be read on a read-only disk. The first change opens it for
    /// writing. A registry with an older schema is migrated then, and cannot be read before.
    ///
    /// # Errors
    ///
    /// The error of a registry: it does not exist (`registry-missing`), is not a registry
    /// (`not-a-registry`), is damaged, has another schema (`other-schema`), or cannot be opened.
    pub fn open(location: impl Into<Location>, clock: Clock) -> Result<Self> {
        let location = location.into();
        let store = Store::open(&location).map_err(|error| match error.kind() {
            // A relative path may be wrong because the current directory is wrong.
            ErrorKind::RegistryMissing => error.in_registry(&location.full_name()),
            _ => location.named(error),
        })?;
        Ok(Registry::of(store, clock))
    }

    /// Creates an empty registry where none exists yet, and opens it.
    ///
    /// # Errors
    ///
    /// The error of a registry: something already exists there (`already-exists`), or nothing can be created.
    pub fn create(location: impl Into<Location>, clock: Clock) -> Result<Self> {
        let location = location.into();
        let create = || {
            let (store, new) = Store::create(&location, None)?;
            new.put_in_place(Some(store))
        };
        create().map_err(|error| location.named(error))?;
        Registry::open(location, clock)
    }

    /// Opens a registry. If none exists, the first change creates it. It is empty until then, and nothing of it
    /// remains if that change fails.
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

    /// Checks that a change could begin: the registry can be written, and no other writer locks it for too
    /// long. Migrates a registry with an older schema.
    ///
    /// # Errors
    ///
    /// Those of a change that cannot begin, such as [`ErrorKind::Denied`].
    pub fn check_writable(&self) -> Result<()> {
        self.write(|_| Ok(((), End::RollBack)))
    }

    /// Returns the same registry, whose changes wait this long for another writer before they fail with
    /// [`ErrorKind::Busy`]. The default is ten seconds.
    #[must_use]
    pub fn with_busy_wait(&self, busy_wait: Duration) -> Self {
        Registry { store: self.store.with_busy_wait(busy_wait), ..self.clone() }
    }

    /// Returns the same registry with another clock.
    #[must_use]
    pub fn with_clock(&self, clock: Clock) -> Self {
        Registry { clock, ..self.clone() }
    }

    /// Returns the same registry, with `author` as the author of its changes.
    #[must_use]
    pub fn recorded_by(&self, author: Author) -> Self {
        Registry { author: Some(author), ..self.clone() }
    }

    /// The present time, by the clock of the registry.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(super) fn author(&self) -> Option<&Author> {
        self.author.as_ref()
    }

    /// Returns the same registry, with a confirmed clock if `is_confirmed`.
    pub(crate) fn confirming(&self, is_confirmed: bool) -> Self {
        match is_confirmed {
            true => self.with_clock(self.clock.clone().confirmed()),
            false => self.clone(),
        }
    }

    /// Returns the same registry with an observer of its work, which replaces any other.
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

    /// The observer of its work, and the tokens that cancel it.
    pub fn watcher(&self) -> &Watcher {
        &self.watcher
    }

    /// Returns the same registry as others may see it. Snapshots show only the datasets of the filter, as if no
    /// others existed, and never show who recorded a change. A view of a view shows the datasets that both
    /// show. Changes are not limited.
    #[must_use]
    pub fn public_view(&self, filter: DatasetFilter) -> Self {
        let filter = match self.public.as_deref() {
            Some(shown) => shown.both(&filter),
            None => filter,
        };
        Registry { public: Some(Arc::new(filter)), ..self.clone() }
    }

    /// Returns the same registry for clients that may read lists slowly. Pages are limited in bytes, and hashed
    /// on the thread that reads them. So a list needs little memory, and no thread.
    #[must_use]
    pub fn in_small_pages(&self) -> Self {
        Registry { has_small_pages: true, ..self.clone() }
    }

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

    /// Returns the same registry without a watcher, for writes that the caller did not request.
    pub(super) fn unwatched(&self) -> Self {
        self.watched_by(Watcher::new())
    }

    /// Returns the same registry for parallel threads whose work is reported as one.
    pub(super) fn for_parts(&self) -> Self {
        self.watched_by(self.watcher.of_parts())
    }

    /// Returns the same registry for saving data during other work, even if that work is cancelled.
    pub(crate) fn for_saves(&self) -> Self {
        self.watched_by(self.watcher.of_saves())
    }

    /// Whether several threads can read the registry at the same time.
    pub(super) fn has_many_connections(&self) -> bool {
        self.store.has_many_connections()
    }

    /// Spreads the registry over the machines of a Citus cluster, by dataset, in one transaction. It can be
    /// empty or filled, and is used as before. Returns the number of tables that were distributed; 0 means that
    /// all were distributed before.
    ///
    /// Cost: every row is sent to its machine. Other users wait meanwhile.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported): the registry is a file, or the extension is
    /// not installed. Kind `denied`: the role is not the owner of the tables.
    pub fn distribute(&self) -> Result<u64> {
        self.store().distribute().map_err(|error| self.named(error))
    }

    /// The same registry, whose store fails once.
    #[cfg(test)]
    pub(crate) fn with_fault(&self, fault: Arc<store::Fault>) -> Self {
        Registry { store: self.store.with_fault(fault), ..self.clone() }
    }

    /// Everything that is stored, for comparisons.
    #[cfg(test)]
    pub(crate) fn contents(&self) -> Result<String> {
        self.read()?.contents()
    }

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
    /// Kind `busy`: a clone, a snapshot or a list of the registry is still in use; the connections are closed
    /// with the last of them. Errors of the store.
    pub fn close(self) -> Result<()> {
        let location = self.location().clone();
        self.store.close_all().map_err(|error| location.named(error))
    }

    /// The location of the registry.
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

    /// Runs `work` in one write transaction, which is rolled back if `work` fails or requests it. If no
    /// registry exists yet, one is created if `work` changes something.
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
                // Data that was read elsewhere is only saved in a registry that exists.
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

    /// Reports that work begins. Dropping the result reports that it ends.
    pub(crate) fn begin(&self, work: Work, total: Option<u64>) -> OpenWork {
        self.watcher.begin(work, total)
    }

    /// The function that tells the store whether the work is cancelled. `None` means that nothing can cancel
    /// it.
    fn watch(&self) -> Option<Watch> {
        let watcher = self.watcher.clone();
        watcher.can_be_cancelled().then(|| Arc::new(move || watcher.is_cancelled()) as Watch)
    }
}
