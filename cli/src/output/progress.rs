//! Progress of long work, on stderr.

use std::fmt;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use accession::{Observer, Work};
use indicatif::{HumanBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};

/// How long work takes before its progress is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many rows are counted before they are shown.
const ROWS: u64 = 4_096;

/// Whether stderr is that of this program, and not that of one that runs its commands.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Shows progress from now on, if stderr is a terminal.
pub fn show_progress() {
    IS_SHOWN.store(true, Ordering::Relaxed);
}

/// What is counted where the rate is shown, too.
const BYTES: &str = "bytes";

/// How often a phase that reports nothing is looked at.
const TICK: Duration = Duration::from_millis(250);

/// A line on stderr that shows how far the work has come, after its first second. Nothing is shown
/// if stderr is not a terminal, or before [`show_progress`].
pub struct Progress {
    /// `None` if nothing is shown.
    current: Option<Arc<Current>>,
    rows: AtomicU64,
    /// Becomes true when a change is committed.
    committed: Arc<AtomicBool>,
    /// When the work ends, however much is left then. `None` means when all is done.
    ends_at: Option<Instant>,
}

/// What is being done at present. `None` between two phases.
type Current = Mutex<Option<Phase>>;

struct Phase {
    /// What is done, such as `reading`.
    activity: &'static str,
    /// What is counted, such as `granules`.
    things: &'static str,
    /// About how many there are. `None` if that is not known.
    total: Option<u64>,
    done: u64,
    started: Instant,
    ends_at: Option<Instant>,
    bar: Option<ProgressBar>,
}

/// What is done and what is counted, in words.
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
            // Without this thread, only a phase that reports how far it has come is shown.
            let _ = std::thread::Builder::new().spawn(move || watch(&watched));
            current
        });
        Progress { current, rows: AtomicU64::new(0), committed: Arc::default(), ends_at: None }
    }

    /// The same, which notes here that a change is committed.
    pub fn noting(mut self, committed: &Arc<AtomicBool>) -> Self {
        self.committed = Arc::clone(committed);
        self
    }

    /// The same, of work that ends at a time, however much is left then. `None` means when all is done.
    pub fn ending_at(mut self, ends_at: Option<Instant>) -> Self {
        self.ends_at = ends_at;
        self
    }

    /// One more row is done. Cheap enough to be called for every row of a file.
    pub fn advance_row(&self) {
        if self.rows.fetch_add(1, Ordering::Relaxed).is_multiple_of(ROWS) {
            self.advance(ROWS);
        }
    }

    fn phase(&self) -> Option<MutexGuard<'_, Option<Phase>>> {
        self.current.as_ref().map(|current| lock(current))
    }
}

/// Shows a phase that takes long, even if it reports nothing: a commit, or a file that is slow.
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
    // The state after a panic is good enough to show.
    current.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Progress {
    /// Work begins. About how many things there are: `None` means that it is not known.
    pub fn begin(&self, activity: &'static str, things: &'static str, total: Option<u64>) {
        self.end();
        if let Some(mut phase) = self.phase() {
            let started = Instant::now();
            let ends_at = self.ends_at;
            *phase = Some(Phase { activity, things, total, done: 0, started, ends_at, bar: None });
        }
    }

    /// So many more things are done.
    pub fn advance(&self, more: u64) {
        if let Some(mut phase) = self.phase()
            && let Some(phase) = &mut *phase
        {
            phase.done += more;
            phase.show();
        }
    }

    /// The work has ended.
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
    /// Shows how far the work has come, if it takes long.
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

    /// How much was done in a second so far, and how long the rest takes. The bar knows neither, since it
    /// is made when a part is done.
    fn rate_and_time_left(&self) -> (f64, Option<Duration>) {
        let rate = self.done as f64 / self.started.elapsed().as_secs_f64();
        let rest = self.total.map(|total| total.saturating_sub(self.done) as f64 / rate.max(1.0));
        let rest = rest.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let until_end = self.ends_at.map(|end| end.saturating_duration_since(Instant::now()));
        (rate, rest.into_iter().chain(until_end).min())
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
