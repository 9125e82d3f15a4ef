//! Progress reports of long operations, and a way to stop them.

use std::ops::ControlFlow;

/// Receives progress reports of long operations, and can stop them. The library itself prints
/// nothing.
///
/// The methods are called on the threads that do the work.
pub trait Monitor: Send + Sync {
    /// Work begins: `what` is done to `things`, for instance `"hashing"` to `"granules"`. `total`
    /// is approximately the number of things. `None` means that it is not known.
    ///
    /// One work follows the other; none is within another. Sorting is a part of what reads the
    /// sorted list. Some work, such as `"committing"`, cannot say how far it has come, and calls
    /// [`Monitor::advance`] never.
    fn begin(&self, what: &'static str, things: &'static str, total: Option<u64>);

    /// `more` further things are done; 0 only asks whether to continue. [`ControlFlow::Break`]
    /// stops the work, which then fails with [`Error::Interrupted`](super::Error::Interrupted) and
    /// changes nothing.
    fn advance(&self, more: u64) -> ControlFlow<()>;

    /// The work has ended, whether it succeeded or not.
    fn end(&self);
}
