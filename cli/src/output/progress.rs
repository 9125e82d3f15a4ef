//! Progress of long work, on stderr.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use accession::{Observer, Work};
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// The duration of work after which its progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// The number of rows between two updates.
const ROWS: u64 = 4_096;

/// Whether stderr belongs to this program, and not to another program that runs its commands.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Enables the display of progress, if stderr is a terminal.
pub fn show_progress() {
    IS_SHOWN.store(true, Ordering::Relaxed);
}

/// The unit for which the rate is also shown.
const BYTES: &str = "bytes";

/// The interval at which a phase is shown that reports no progress.
const TICK: Duration = Duration::from_millis(250);

/// A line on stderr that shows the progress of work, after its first second. Nothing is shown if stderr is not
/// a terminal, or before [`show_progress`] was called.
pub struct Progress {
    /// `None` means that nothing is shown.
    current: Option<Arc<Current>>,
    rows: AtomicU64,
    /// Becomes true when a change is committed.
    committed: Arc<AtomicBool>,
    /// The time at which the work ends, even if it is incomplete. `None` means that it ends when everything is
    /// done.
    ends_at: Option<Instant>,
}

/// The present phase. `None` between two phases.
type Current = Mutex<Option<Phase>>;

struct Phase {
    /// The activity, such as `reading`.
    activity: &'static str,
    /// The unit that is counted, such as `granules`.
    things: &'static str,
    /// The approximate total. `None` means that it is unknown.
    total: Option<u64>,
    done: u64,
    started: Instant,
    ends_at: Option<Instant>,
    bar: Option<ProgressBar>,
}

/// The activity and the unit, in words.
fn words(work: Work) -> (&'static str, &'static str) {
    match work {
        Work::Hash => ("hashing", "granules"),
        Work::Compare => ("comparing", "granules"),
        Work::CompareIdentifiers => ("comparing", "identifiers"),
        Work::Sort => ("sorting", "granules"),
        Work::Export => ("exporting", "granules"),
        Work::Select => ("selecting", "granules"),
        Work::Write => ("writing", "granules"),
        Work::Commit => ("committing", "changes"),
        Work::Verify => ("verifying", "granules"),
        Work::CheckPages => ("checking", "pages"),
        Work::CopyPages => ("copying", "pages"),
        Work::CopyGranules => ("copying", "granules"),
        Work::ReadBytes => ("reading", BYTES),
        _ => ("working", "steps"),
    }
}

impl Progress {
    pub fn new() -> Self {
        let is_shown = IS_SHOWN.load(Ordering::Relaxed) && std::io::stderr().is_terminal();
        let current = is_shown.then(|| {
            let current = Arc::new(Current::default());
            let watched = Arc::downgrade(&current);
            // Without this thread, a phase that reports no progress is not shown.
            let _ = std::thread::Builder::new().spawn(move || watch(&watched));
            current
        });
        Progress { current, rows: AtomicU64::new(0), committed: Arc::default(), ends_at: None }
    }

    /// The same progress, which sets `committed` when a change is committed.
    pub fn noting(mut self, committed: &Arc<AtomicBool>) -> Self {
        self.committed = Arc::clone(committed);
        self
    }

    /// The same progress, of work that ends at a time, even if it is incomplete. `None` means that it ends when
    /// everything is done.
    pub fn ending_at(mut self, ends_at: Option<Instant>) -> Self {
        self.ends_at = ends_at;
        self
    }

    /// Counts one more row. Cheap enough to call for every row of a file.
    pub fn advance_row(&self) {
        if self.rows.fetch_add(1, Ordering::Relaxed).is_multiple_of(ROWS) {
            self.advance(ROWS);
        }
    }

    fn phase(&self) -> Option<MutexGuard<'_, Option<Phase>>> {
        self.current.as_ref().map(|current| lock(current))
    }
}

/// Shows a long phase even if it reports no progress: a commit, or a slow file.
fn watch(current: &Weak<Current>) {
    loop {
        std::thread::sleep(TICK);
        let Some(current) = current.upgrade() else { return };
        if let Some(phase) = &mut *lock(&current) {
            phase.show();
        }
    }
}

fn lock(current: &Current) -> MutexGuard<'_, Option<Phase>> {
    // The state after a panic can still be shown.
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// Begins a phase. `total` is approximate; `None` means that it is unknown.
    pub fn begin(&self, activity: &'static str, things: &'static str, total: Option<u64>) {
        self.end();
        if let Some(mut phase) = self.phase() {
            let started = Instant::now();
            let ends_at = self.ends_at;
            *phase = Some(Phase { activity, things, total, done: 0, started, ends_at, bar: None });
        }
    }

    /// Counts more things as done.
    pub fn advance(&self, more: u64) {
        if let Some(mut phase) = self.phase()
            && let Some(phase) = &mut *phase
        {
            phase.done += more;
            phase.show();
        }
    }

    /// Ends the phase.
    pub fn end(&self) {
        let phase = self.phase().and_then(|mut phase| phase.take());
        if let Some(bar) = phase.and_then(|phase| phase.bar) {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn event(&self, event: accession::Progress) {
        match event {
            accession::Progress::Begin(work, total) => {
                let (activity, things) = words(work);
                self.begin(activity, things, total);
            }
            accession::Progress::Advance(more) => self.advance(more),
            accession::Progress::End => self.end(),
            accession::Progress::Committed => self.committed.store(true, Ordering::Relaxed),
            _ => {}
        }
    }

    fn shows_totals(&self) -> bool {
        self.current.is_some()
    }
}

impl Phase {
    /// Shows the progress, if the work takes long.
    fn show(&mut self) {
        if self.started.elapsed() <= PATIENCE {
            return;
        }
        let is_bytes = self.things == BYTES;
        let (rate, left) = self.rate_and_time_left();
        let style = style(match (self.done, self.total) {
            (0, _) => "{msg}, {elapsed}",
            (_, None) if is_bytes && left.is_some() => "{msg} {bytes}, {rate}/s, {left} left",
            (_, None) if is_bytes => "{msg} {bytes}, {rate}/s, {elapsed}",
            (_, Some(_)) if is_bytes => {
                "{msg} {bytes} of {total_bytes}, {rate}/s {wide_bar} {percent} %, {left} left"
            }
            (_, None) => "{msg} {human_pos} {prefix}, {elapsed}",
            (_, Some(_)) => {
                "{msg} {human_pos} of {human_len} {prefix} {wide_bar} {percent} %, {left} left"
            }
        });
        let style = style
            .with_key("rate", move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = write!(out, "{}", HumanBytes(rate as u64));
            })
            .with_key("left", move |_: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = write!(out, "{:#}", HumanDuration(left.unwrap_or_default()));
            });
        let bar = self.bar.get_or_insert_with(|| {
            ProgressBar::new(self.total.unwrap_or(0))
                .with_message(self.activity)
                .with_prefix(self.things)
                .with_elapsed(self.started.elapsed())
        });
        bar.set_style(style);
        bar.set_position(self.done);
        bar.tick();
    }

    /// The rate per second so far, and the remaining time. The bar does not know either, because it is created
    /// after a part of the work was done.
    fn rate_and_time_left(&self) -> (f64, Option<Duration>) {
        let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
        let rest = self.total.map(|total| total.saturating_sub(self.done) as f64 / rate.max(1.0));
        let rest = rest.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let until_end = self.ends_at.map(|end| end.saturating_duration_since(Instant::now()));
        (rate, rest.into_iter().chain(until_end).min())
    }
}

/// A style without colours, so `NO_COLOR` has no effect.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is valid")
}

impl Drop for Progress {
    fn drop(&mut self) {
        // An error message must not follow half a line of progress.
        self.end();
    }
}
