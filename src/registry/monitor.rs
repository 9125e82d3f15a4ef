//! Reports on work that takes long, and a way to stop it.

use std::ops::ControlFlow;

/// Receives reports on work that takes long, and can stop it. The library itself prints nothing.
///
/// Work is reported from the threads that do it.
pub trait Monitor: Send + Sync {
    /// Work begins: `what` is done to `things`, for instance `"hashing"` to `"granules"`. `total`
    /// is about how many there are; `None` if that is not known.
    fn begin(&self, what: &'static str, things: &'static str, total: Option<u64>);

    /// So many more are done; 0 only asks whether to go on. [`ControlFlow::Break`] stops the work,
    /// which then fails with [`Error::Interrupted`](super::Error::Interrupted) and changes nothing.
    fn advance(&self, more: u64) -> ControlFlow<()>;

    /// The work has ended, whether it succeeded or not.
    fn end(&self);
}
