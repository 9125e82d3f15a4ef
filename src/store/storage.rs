//! What the stores implement: how registries are found, opened and created.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Result;
use super::rows::{Access, Watch};
use super::session::Session;

/// What each store implements: how its registries are found and created.
pub(super) trait Kind: Sync {
    /// What [`exists`](super::exists) returns.
    fn exists(&self, name: &Path) -> Result<bool>;

    /// What `Store::open` returns.
    fn open(&self, name: &Path, access: Access, busy_wait: Duration) -> Result<Arc<dyn Storage>>;

    /// What `Store::create` returns.
    fn create(
        &self,
        name: &Path,
        busy_wait: Duration,
    ) -> Result<(Arc<dyn Storage>, Box<dyn NewStorage>)>;

    /// What `Store::create_copy` returns.
    fn create_copy(
        &self,
        name: &Path,
        source: &Path,
        busy_wait: Duration,
    ) -> Result<(Arc<dyn Storage>, Box<dyn CopyStorage>)>;

    /// What [`check_is_file`](super::check_is_file) checks.
    fn check_is_file(&self, what: &'static str) -> Result<()>;

    /// The name in full, as messages show it.
    fn full_name(&self, name: &Path) -> PathBuf;
}

/// What each store implements: an open registry.
pub(super) trait Storage: Send + Sync {
    /// What `Store::path` returns.
    fn path(&self) -> Option<&Path>;

    /// What `Store::snapshot` begins.
    fn snapshot(self: Arc<Self>, watch: Option<&Watch>) -> Result<Box<dyn Session>>;

    /// What `Store::transaction` begins.
    fn transaction(self: Arc<Self>, watch: Option<&Watch>) -> Result<Box<dyn Session>>;

    /// What `Store::has_many_connections` returns.
    fn has_many_connections(&self) -> bool;

    /// What `Store::is_file` returns.
    fn is_file(&self) -> bool;

    /// What `Store::distribute` does.
    fn distribute(&self) -> Result<u64>;

    /// The connection that filled a registry in a file, to close it. `None` means that it is closed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`](super::ErrorKind::Busy): a clone of the store is still in use.
    /// [`ErrorKind::NotAFile`](super::ErrorKind::NotAFile).
    fn into_connection(self: Arc<Self>) -> Result<Option<rusqlite::Connection>>;
}

/// What each store implements: a new registry.
pub(super) trait NewStorage {
    /// What `New::put_in_place` does.
    fn put_in_place(self: Box<Self>, store: Arc<dyn Storage>) -> Result<()>;
}

/// What each store implements: the target of a copy.
pub(super) trait CopyStorage {
    /// Gives the copy the permissions of a file, if it is one itself.
    fn take_permissions_of(&self, file: &Path) -> Result<()>;

    /// What `Copy::reopen` returns.
    fn reopen(&self, store: Arc<dyn Storage>, busy_wait: Duration) -> Result<Arc<dyn Storage>>;

    /// What `Copy::finish` does.
    fn finish(self: Box<Self>, store: Arc<dyn Storage>) -> Result<()>;
}
