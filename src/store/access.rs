//! How a registry is opened, and how long work on it is stopped.

use std::sync::Arc;
use std::time::Duration;

/// Whether a registry is opened for reading or for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// For reading only, which is also possible where nothing can be written. A read never changes
    /// the file.
    Read,
    /// For reading and writing.
    Write,
}

/// How long a writer waits for another writer by default.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Returns whether long work should stop. It is called now and then from the thread that does the
/// work.
pub(crate) type Watch = Arc<dyn Fn() -> bool + Send + Sync>;
