//! Progress reports of long operations, and ways to stop them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

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
    /// stops the work, which then fails with [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted) and
    /// changes nothing.
    fn advance(&self, more: u64) -> ControlFlow<()>;

    /// The work has ended, whether it succeeded or not.
    fn end(&self);

    /// Whether anybody sees the reports. A total that takes time to find out is only found out then.
    fn is_watched(&self) -> bool {
        false
    }

    /// Asks whether to continue.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted): the work is to stop.
    fn go_on(&self) -> Result<()> {
        match self.advance(0) {
            ControlFlow::Break(()) => Err(Error::interrupted()),
            ControlFlow::Continue(()) => Ok(()),
        }
    }

    /// A change was committed, whatever the operation that made it fails with afterwards.
    fn committed(&self) {}
}

/// The monitor of threads that work side by side. The thread that started them reports when the
/// work begins and ends.
struct JointMonitor {
    inner: Option<Arc<dyn Monitor>>,
    is_over: AtomicBool,
}

/// Stops threads that work side by side.
pub(super) struct JointWork(Arc<JointMonitor>);

impl JointWork {
    /// The monitor of threads whose work is reported to another one as one, and what stops them.
    pub fn of(inner: Option<Arc<dyn Monitor>>) -> (Arc<dyn Monitor>, Self) {
        let joint = Arc::new(JointMonitor { inner, is_over: AtomicBool::new(false) });
        (joint.clone(), JointWork(joint))
    }

    /// Stops them.
    pub fn stop(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Monitor for JointMonitor {
    fn begin(&self, _: &'static str, _: &'static str, _: Option<u64>) {}

    fn advance(&self, more: u64) -> ControlFlow<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        self.inner.as_ref().map_or(ControlFlow::Continue(()), |inner| inner.advance(more))
    }

    fn end(&self) {}
}

/// Work that is reported to a monitor.
pub(crate) struct Work {
    monitor: Option<Arc<dyn Monitor>>,
    unreported: u64,
}

/// The number of things after which the monitor is called.
const REPORTED_THINGS: u64 = 4_096;

impl Work {
    /// Reports that work begins; when it is dropped, that it ends.
    pub(crate) fn begin(
        monitor: Option<Arc<dyn Monitor>>,
        what: &'static str,
        things: &'static str,
        total: Option<u64>,
    ) -> Self {
        if let Some(monitor) = &monitor {
            monitor.begin(what, things, total);
        }
        Work { monitor, unreported: 0 }
    }

    /// Counts one more thing as done.
    pub fn advance(&mut self) -> Result<()> {
        self.unreported += 1;
        if self.unreported < REPORTED_THINGS { Ok(()) } else { self.report() }
    }

    /// Counts `more` things as done.
    pub fn advance_by(&mut self, more: u64) -> Result<()> {
        self.unreported += more;
        self.report()
    }

    fn report(&mut self) -> Result<()> {
        let more = std::mem::take(&mut self.unreported);
        match self.monitor.as_ref().map(|monitor| monitor.advance(more)) {
            Some(ControlFlow::Break(())) => Err(Error::interrupted()),
            Some(ControlFlow::Continue(())) | None => Ok(()),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(monitor) = &self.monitor {
            monitor.end();
        }
    }
}
