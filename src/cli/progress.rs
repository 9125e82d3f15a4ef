//! How work goes on, on a terminal; nothing where stderr goes elsewhere.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use accession::Monitor;
use indicatif::{ProgressBar, ProgressStyle};

/// Work that takes less is not worth a line.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line on stderr that says how far work has come, from its first second on.
pub struct Progress {
    is_terminal: bool,
    work: Option<Work>,
}

struct Work {
    what: &'static str,
    things: &'static str,
    total: u64,
    done: u64,
    since: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Progress that is shown if stderr is a terminal.
    pub fn new() -> Self {
        Progress { is_terminal: std::io::stderr().is_terminal(), work: None }
    }
}

impl Monitor for Progress {
    fn begin(&mut self, what: &'static str, things: &'static str, total: u64) {
        self.end();
        self.work = self.is_terminal.then(|| Work {
            what,
            things,
            total,
            done: 0,
            since: Instant::now(),
            bar: None,
        });
    }

    fn advance(&mut self, more: u64) {
        let Some(work) = &mut self.work else { return };
        work.done += more;
        match &work.bar {
            Some(bar) => bar.set_position(work.done),
            None if work.since.elapsed() > PATIENCE => work.bar = Some(work.bar()),
            None => {}
        }
    }

    fn end(&mut self) {
        if let Some(bar) = self.work.take().and_then(|work| work.bar) {
            bar.finish_and_clear();
        }
    }
}

impl Work {
    fn bar(&self) -> ProgressBar {
        let bar = if self.total > 0 {
            ProgressBar::new(self.total).with_style(style(
                "{msg} {human_pos} of {human_len} {prefix} {wide_bar} {percent} %, {eta} left",
            ))
        } else {
            ProgressBar::no_length().with_style(style("{msg} {human_pos} {prefix}, {elapsed}"))
        };
        let bar =
            bar.with_message(self.what).with_prefix(self.things).with_elapsed(self.since.elapsed());
        bar.set_position(self.done);
        bar
    }
}

/// No colours: it reads alike on every terminal, and `NO_COLOR` has nothing to forbid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is written right")
}

impl Drop for Progress {
    fn drop(&mut self) {
        // What fails leaves no half a line before its message.
        self.end();
    }
}
