//! How a registry is opened, and how long work on it is stopped.

use std::sync::Arc;
use std::time::Duration;

/// Whether a registry is opened for reading or for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading only, which is also possible where nothing can be written. A read never changes
    /// the file.
    Read,
    /// For reading as long as others write to the registry. A registry with an older schema is read
    /// from a copy, as with [`Access::Read`], but the first read after the file was written fails
    /// with the error `changed`: it is to be opened again.
    Follow,
    /// For reading and writing.
    Write,
}

impl Access {
    /// Whether nothing can be written.
    pub(crate) fn is_for_reading(self) -> bool {
        self != Access::Write
    }
}

/// How long a writer waits for another writer by default.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Returns whether long work should stop. It is called now and then from the thread that does the
/// work.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;
