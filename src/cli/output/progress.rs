//! Progress of long work, on stderr.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use accession::Monitor;
use indicatif::{ProgressBar, ProgressStyle};

/// How long work takes before its progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many rows of a file are read between two calls of [`Monitor::advance`].
pub const PROGRESS_ROWS: usize = 4_096;

/// A line on stderr that shows how far the work has come, after its first second. Nothing is shown
/// if stderr is not a terminal.
pub struct Progress {
    is_terminal: bool,
    phase: Mutex<Option<Phase>>,
}

/// What is being done at present.
struct Phase {
    /// What is done, such as `reading`.
    activity: &'static str,
    /// What is counted, such as `granules`.
    things: &'static str,
    /// About how many there are. `None` if that is not known.
    total: Option<u64>,
    done: u64,
    started: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new() -> Self {
        Progress { is_terminal: std::io::stderr().is_terminal(), phase: Mutex::new(None) }
    }

    fn phase(&self) -> MutexGuard<'_, Option<Phase>> {
        // The state after a panic is good enough to show.
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Monitor for Progress {
    fn begin(&self, activity: &'static str, things: &'static str, total: Option<u64>) {
        self.end();
        *self.phase() = self.is_terminal.then(|| Phase {
            activity,
            things,
            total,
            done: 0,
            started: Instant::now(),
            bar: None,
        });
    }

    fn advance(&self, more: u64) -> ControlFlow<()> {
        if let Some(phase) = &mut *self.phase() {
            phase.done += more;
            match &phase.bar {
                Some(bar) => bar.set_position(phase.done),
                None if phase.started.elapsed() > PATIENCE => phase.bar = Some(phase.bar()),
                None => {}
            }
        }
        ControlFlow::Continue(())
    }

    fn end(&self) {
        if let Some(bar) = self.phase().take().and_then(|phase| phase.bar) {
            bar.finish_and_clear();
        }
    }
}

impl Phase {
    fn bar(&self) -> ProgressBar {
        let bar = match self.total {
            Some(total) => ProgressBar::new(total).with_style(style(
                "{msg} {human_pos} of {human_len} {prefix} {wide_bar} {percent} %, {eta} left",
            )),
            None => {
                ProgressBar::no_length().with_style(style("{msg} {human_pos} {prefix}, {elapsed}"))
            }
        };
        let bar = bar
            .with_message(self.activity)
            .with_prefix(self.things)
            .with_elapsed(self.started.elapsed());
        bar.set_position(self.done);
        bar
    }
}

/// A style without colours, so `NO_COLOR` makes no difference.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}

impl Drop for Progress {
    fn drop(&mut self) {
        // After an error, the message must not follow half a progress line.
        self.end();
    }
}
