//! One run of the program: its registry, its clock, its user and its output.

use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use accession::mirror::PublishedSite;
use accession::verify::WorkCounts;
use accession::{
    CancelToken, Clock, DatasetName, ErrorKind, Location, Moment, Registry, SetSpec, Snapshot,
    Timestamp,
};
use accession::{ParseError, Warning, WarningKind, Watcher};
use serde::Serialize;
use serde_json::Value;

use super::again::again;
use super::error::{Error as CliError, Exit, Result};
use super::hint;
use super::host::{Host, Outcome};
use super::output::{
    AsText, Column, Failure, Label, MarkedList, Output, Progress, Table, for_shell, json, one_line,
    plural, write_message,
};
use super::paths::named_path;
use super::signals::watch_for_interrupt;

/// The registry that is used if none is named.
pub const REGISTRY: &str = "accession.db";

/// One run of the program.
pub struct Session {
    options: RunOptions,
    /// The arguments. The first is the name of the program.
    arguments: Vec<OsString>,
    began: Instant,
    out: Output,
    committed: Arc<AtomicBool>,
    /// The sets that were read from a published site. They are used instead of the registry.
    site: Option<Registry>,
    /// The other program in which the session runs. `None` means that it runs in the program `accession`.
    host: Option<Host>,
}

/// The options that every command takes.
#[derive(Debug, Default, clap::Args)]
pub struct RunOptions {
    /// Registry file or PostgreSQL address
    ///
    /// An address is postgres://USER@HOST/DATABASE.
    #[arg(
        long,
        global = true,
        value_name = "PATH",
        env = "ACCESSION_REGISTRY",
        default_value = REGISTRY,
        value_parser = named_path(),
        hide_env_values = true
    )]
    pub registry: PathBuf,

    /// Print JSON
    ///
    /// Results are printed on stdout, errors and warnings on stderr.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print nothing unless something changed
    ///
    /// If something changed, sync, mirror pull and import print one line. Warnings and errors are always printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,

    /// Print the work done and the time taken
    ///
    /// They are printed on stderr.
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Who makes the change [default: your user name]
    ///
    /// The registry records the name with each change.
    #[arg(long, global = true, value_name = "NAME", env = "ACCESSION_BY", hide_env_values = true)]
    pub by: Option<String>,
}

impl Session {
    pub fn new(options: RunOptions, arguments: Vec<OsString>) -> Self {
        Session {
            options,
            arguments,
            began: Instant::now(),
            out: Output::new(),
            committed: Arc::default(),
            site: None,
            host: None,
        }
    }

    /// A session in another program. Its output is written to `out`.
    pub fn inside(
        options: RunOptions,
        arguments: Vec<OsString>,
        host: Host,
        out: Box<dyn Write + Send>,
    ) -> Self {
        Session {
            out: Output::to(out, false),
            host: Some(host),
            ..Session::new(options, arguments)
        }
    }

    /// The outcome of the command of a session in another program.
    pub fn conclude_inside(self, result: Result<Exit>) -> Outcome {
        match &self.host {
            Some(host) => Outcome::of(result, host),
            None => Outcome { exit: Exit::Done, warnings: Vec::new(), error: None },
        }
    }

    /// The registry that is already open: the one that was read from a site, or that of the other program.
    fn opened(&self) -> Option<Registry> {
        let of_host = || self.host.as_ref()?.registry.as_ref();
        let registry = self.site.as_ref().or_else(of_host)?;
        Some(self.cancelled(registry.clone()))
    }

    /// The token that ends long work: that of the other program, else one for Ctrl-C. A second Ctrl-C ends the
    /// program at once.
    pub fn interrupt(&self) -> Result<CancelToken> {
        match &self.host {
            Some(host) => Ok(host.token.clone()),
            None => Ok(CancelToken::from(watch_for_interrupt()?)),
        }
    }

    /// Checks that the other program has not cancelled the work.
    pub fn check_cancelled(&self) -> accession::Result<()> {
        self.host.as_ref().map_or(Ok(()), |host| host.token.check())
    }

    /// The watcher of work without a registry.
    pub fn watcher(&self) -> Watcher {
        let watcher = Watcher::new().observed_by(Arc::new(self.progress()));
        match &self.host {
            Some(host) => watcher.cancelled_by(&host.token),
            None => watcher,
        }
    }

    /// A text as it is shown and recorded: without the path of temporary listings.
    pub fn shown(&self, text: &str) -> String {
        self.host.as_ref().map_or(text.to_owned(), |host| host.shown(text))
    }

    /// Reads the sets that `names` mean on a published site. They are used instead of the registry.
    pub fn follow(&mut self, site: &PublishedSite, names: &[SetSpec]) -> Result<()> {
        let registry = site.read(names, self.now()?)?;
        self.options.registry = registry.location().full_name();
        self.site = Some(registry.with_clock(Clock::system()));
        Ok(())
    }

    /// Whether stdout carries JSON only.
    pub fn is_json(&self) -> bool {
        self.options.json
    }

    /// Whether confirmations are omitted. A confirmation only reports success.
    pub fn is_quiet(&self) -> bool {
        self.options.quiet
    }

    /// Whether changes are printed in one line instead of as a confirmation.
    pub fn wants_lines(&self) -> bool {
        self.options.quiet && !self.options.json
    }

    /// Whether the amount of work is reported.
    pub fn is_verbose(&self) -> bool {
        self.options.verbose
    }

    /// Prints the amount of work on stderr, if `--verbose` is given.
    pub fn report_work(&self, effort: &WorkCounts) {
        if !self.options.verbose {
            return;
        }
        let seconds = self.began.elapsed().as_secs_f64();
        if self.is_json() {
            let work = serde_json::json!({ "work": {
                "steps": effort.steps,
                "rows": effort.rows,
                "checkpoints": effort.checkpoints,
                "seconds": seconds,
            } });
            // If stderr cannot be written, there is nowhere left to report it.
            let _ = writeln!(io::stderr(), "{}", json::to_string(&work));
        } else {
            let steps = plural(effort.steps, "step");
            let (rows, checkpoints) =
                (plural(effort.rows, "row"), plural(effort.checkpoints, "checkpoint"));
            let _ = writeln!(
                io::stderr(),
                "hashed {steps}, read {rows}, set {checkpoints} in {seconds:.3} s"
            );
        }
    }

    /// The author of the changes of this run.
    fn by(&self) -> Option<String> {
        let by = self.options.by.clone().filter(|by| !by.trim().is_empty());
        by.or_else(system_user)
    }

    /// The current time.
    pub fn now(&self) -> Result<Timestamp> {
        clock()
            .ok_or_else(|| CliError::usage("the system clock is not within the years 0000 to 9999"))
    }

    /// Returns the registry with this user as the author of changes. A time in `at` confirms the clock.
    pub fn recording(&self, registry: &Registry, at: Option<ChangeTime>) -> Result<Registry> {
        // The clock is checked here once, so that later readings succeed.
        self.now()?;
        let clock = Clock::system();
        let clock = if at.is_some() { clock.confirmed() } else { clock };
        let registry = registry.with_clock(clock);
        Ok(match self.by() {
            Some(by) => registry.recorded_by(by.parse()?),
            None => registry,
        })
    }

    /// Waits until `instant`.
    pub fn sleep_until(&self, instant: Timestamp) -> Result<()> {
        let micros = instant.as_micros() - self.now()?.as_micros();
        std::thread::sleep(Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
        Ok(())
    }

    /// The location of the registry.
    pub fn location(&self) -> Location {
        Location::from(&self.options.registry)
    }

    /// Opens the registry.
    pub fn open(&self) -> accession::Result<Registry> {
        let registry = match self.opened() {
            Some(registry) => registry,
            None => self.cancelled(Registry::open(self.location(), Clock::system())?),
        };
        Ok(registry.observed_by(Arc::new(self.progress())))
    }

    /// The same registry. The other program can cancel its work.
    fn cancelled(&self, registry: Registry) -> Registry {
        self.host.as_ref().map_or(registry.clone(), |host| registry.cancelled_by(&host.token))
    }

    /// Opens the registry for changes of this user.
    pub fn open_to_change(&self, at: Option<ChangeTime>) -> Result<Registry> {
        self.recording(&self.open()?, at)
    }

    /// The progress of work on a registry. It also remembers whether something was committed.
    pub fn progress(&self) -> Progress {
        Progress::new().noting(&self.committed)
    }

    /// Opens the registry. Returns `None` if it does not exist.
    pub fn open_existing(&self) -> Result<Option<Registry>> {
        match self.opened().is_some() || self.location().exists()? {
            true => Ok(Some(self.open()?)),
            false => Ok(None),
        }
    }

    /// Returns a function that opens the registry, without progress and for other threads. It waits for another
    /// writer for a shorter time than a client of the server waits.
    pub fn opener(&self) -> impl Fn() -> accession::Result<Registry> + Send + Sync + use<> {
        let location = self.location();
        let busy_wait = Duration::from_secs(5);
        move || Ok(Registry::open(&location, Clock::system())?.with_busy_wait(busy_wait))
    }

    /// The absolute path of the registry, or its address without the password.
    pub fn registry_path(&self) -> PathBuf {
        self.location().full_name()
    }

    /// Whether a listed path has the name of the registry's file, or of a file that SQLite creates beside it.
    pub fn is_own_file(&self, listed: &str) -> bool {
        self.location().owns(Path::new(listed))
    }

    /// The beginning of a suggested command: the program with the option for this registry.
    pub fn program(&self) -> String {
        let registry = &self.options.registry;
        let is_usual = match std::env::var_os("ACCESSION_REGISTRY") {
            Some(usual) if !usual.is_empty() => *registry == *usual,
            _ => registry == Path::new(REGISTRY),
        };
        match is_usual {
            true => "accession".to_owned(),
            false => {
                let registry = for_shell(&self.registry_path().to_string_lossy());
                format!("accession --registry {registry}")
            }
        }
    }

    /// The command of this run with more options, as a suggestion.
    pub fn again(&self, options: &[(&str, &str)]) -> String {
        again(&self.arguments, &self.program(), options)
    }

    /// The path of the registry that [`Session::write`] would create. `None` means that it would not create
    /// one.
    pub fn new_registry(&self, create: Create) -> Result<Option<&Path>> {
        let is_new =
            create != Create::Never && self.opened().is_none() && !self.location().exists()?;
        Ok(is_new.then_some(&self.options.registry))
    }

    /// Runs `work` on the registry, for changes by this user. A time in `at` confirms the clock. If the
    /// registry does not exist and `create` allows it, the first successful change creates it.
    pub fn write<T>(
        &self,
        create: Create,
        at: Option<ChangeTime>,
        work: impl FnOnce(&Registry, &Session) -> Result<T>,
    ) -> Result<T> {
        let registry = match create {
            Create::IfMissing if self.opened().is_none() => {
                let created = Registry::open_or_create(self.location(), Clock::system())?;
                self.cancelled(created).observed_by(Arc::new(self.progress()))
            }
            Create::Never | Create::IfMissing => self.open()?,
        };
        work(&self.recording(&registry, at)?, self)
    }

    /// Records that something was committed outside the registry, such as a published file.
    pub fn note_commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether something was committed so far.
    pub fn has_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// Prints a warning on stderr. The command still succeeds.
    pub fn warn(&self, kind: WarningKind, message: &str) {
        if let Some(host) = &self.host {
            let warning =
                serde_json::json!({ "kind": kind.name(), "message": host.shown(message) });
            return host.warnings.borrow_mut().push(warning);
        }
        if !self.is_json() {
            return write_message(Label::Warning, message);
        }
        let warning = serde_json::json!({ "warning": { "kind": kind.name(), "message": message } });
        // If stderr cannot be written, there is nowhere left to report it.
        let _ = writeln!(io::stderr(), "{}", json::to_string(&warning));
    }

    /// Prints a message for people on stderr: what was done beside the output.
    pub fn note(&self, message: &str) {
        if self.host.is_none() {
            // If stderr cannot be written, there is nowhere left to report it.
            let _ = writeln!(io::stderr(), "{}", one_line(message));
        }
    }

    /// Prints a hint for people on stderr: what to do next.
    pub fn hint(&self, message: &str) {
        if self.host.is_none() {
            write_message(Label::Hint, message);
        }
    }

    /// Prints warnings of the library, each with a hint.
    pub fn warn_all(&self, warnings: impl IntoIterator<Item = Warning>) {
        for warning in warnings {
            let message = match hint::of_warning(&warning, &self.program()) {
                Some(hint) => format!("{}; {hint}", warning.message),
                None => warning.message,
            };
            self.warn(warning.kind, &message);
        }
    }

    /// Prints every warning about the dataset that a command reads.
    ///
    /// # Errors
    ///
    /// The registry cannot be read. A dataset that does not exist is not an error here.
    pub fn warn_of_dataset(&self, snapshot: &Snapshot, name: &DatasetName) -> Result<()> {
        match snapshot.warnings_of(name) {
            Ok(warnings) => {
                self.warn_all(warnings);
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Adds the next command to an error. For a refusal, it is the same command with the resulting set as the
    /// expected one.
    pub fn with_next_command(&self, error: CliError) -> CliError {
        let Some((refusal, expect)) = error.refusal() else {
            return self.with_suggestion(error);
        };
        if error.has_own_hint() {
            return error;
        }
        let command = self.again(&[("--expect", &expect.to_string())]);
        let hint = hint::of_refusal(refusal, &command, &self.program());
        error.with_hint(hint)
    }

    /// Adds a hint that names similar datasets and identifiers to an error about an unknown one, if there are
    /// any.
    fn with_suggestion(&self, error: CliError) -> CliError {
        let Some(unknown) = error.unknown() else { return error };
        if error.kind() == ErrorKind::SimilarName {
            let hint = hint::of_similar_name(unknown, &self.program());
            return error.with_hint(hint);
        }
        // The command has failed already, so an error here only loses the suggestion.
        let snapshot = self.open_existing().ok().flatten();
        let snapshot = snapshot.and_then(|registry| registry.snapshot().ok());
        match snapshot.and_then(|snapshot| suggestion(&snapshot, unknown)) {
            Some(suggestion) => error.with_hint(suggestion),
            None => error,
        }
    }

    /// Whether stdout is a terminal.
    pub fn is_on_terminal(&self) -> bool {
        self.out.columns().is_some()
    }

    /// Standard output for formats that other programs read: a manifest, a script, a list of ids. Everything
    /// else is printed from values with [`Session::present`].
    pub fn document(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Prints a list: lines of JSON, or a table. Returns the number of rows.
    pub fn rows<R: Serialize>(
        &mut self,
        columns: &'static [Column],
        rows: impl IntoIterator<Item = accession::Result<R>>,
    ) -> Result<u64> {
        let mut list = self.list(columns);
        let mut count = 0;
        for row in rows {
            list.add(self, &row?)?;
            count += 1;
        }
        list.finish(self)?;
        Ok(count)
    }

    /// Starts a list whose rows are printed one by one.
    pub fn list(&self, columns: &'static [Column]) -> PrintedList {
        PrintedList(Table::new(columns, self.out.columns()))
    }

    /// Prints the requested result: as JSON, or as text that is made from the same value.
    pub fn present(&mut self, value: &impl Serialize, text: AsText) -> Result<Exit> {
        if self.is_json() {
            self.json(value)?;
        }
        self.text_of(value, text)?;
        Ok(Exit::Done)
    }

    /// Prints the result of a change: as JSON, as text that is made from the same value, or not at all with
    /// `--quiet`.
    pub fn present_done(&mut self, done: &impl Serialize, text: AsText) -> Result<Exit> {
        match self.is_quiet() && !self.is_json() {
            true => Ok(Exit::Done),
            false => self.present(done, text),
        }
    }

    /// Prints a short list: as lines of JSON, or as text that is made from the same values.
    pub fn present_list(&mut self, rows: &[impl Serialize], text: AsText) -> Result<Exit> {
        if self.is_json() {
            rows.iter().try_for_each(|row| self.json(row))?;
        }
        self.text_of(&rows, text)?;
        Ok(Exit::Done)
    }

    /// Prints the lines of JSON in a file, as they are or as text that is made from each.
    pub fn present_lines(&mut self, mut lines: impl BufRead, text: AsText) -> Result<()> {
        if self.is_json() {
            io::copy(&mut lines, &mut self.out)?;
            return Ok(());
        }
        for line in lines.lines() {
            let value: Value = serde_json::from_str(&line?).map_err(io::Error::from)?;
            text(&mut self.out, &value)?;
        }
        Ok(())
    }

    /// Prints a result with lists that are read while they are printed, so they need no memory. As JSON, each
    /// list is a member. As text, it is made from the same values.
    pub fn present_with_lists(
        &mut self,
        result: &impl Serialize,
        text: AsText,
        lists: &[MarkedList<'_>],
    ) -> Result<Exit> {
        if self.is_json() {
            self.json(&MarkedList::beside(result, lists))?;
            return Ok(Exit::Done);
        }
        let result = serde_json::to_value(result).map_err(io::Error::from)?;
        text(&mut self.out, &result)?;
        for list in lists {
            list.write(&mut self.out, &result)?;
        }
        Ok(Exit::Done)
    }

    /// Prints text that is made from a value. With `--json`, prints nothing: the value is printed as a row of a
    /// list.
    pub fn text_of(&mut self, value: &impl Serialize, text: AsText) -> Result<()> {
        if !self.is_json() {
            // A list that is read while it is serialized can fail.
            let value = serde_json::to_value(value).map_err(io::Error::from)?;
            text(&mut self.out, &value)?;
        }
        Ok(())
    }

    /// Writes a line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        json::write(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes the buffered output.
    pub fn finish(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    /// The reason that the output is incomplete. `None` means that everything was written so far.
    pub fn output_failure(&self) -> Option<&Failure> {
        self.out.failure()
    }
}

/// A list that is printed while its rows are added: lines of JSON, or a table.
pub struct PrintedList(Table);

impl PrintedList {
    /// Adds a row.
    pub fn add(&mut self, session: &mut Session, row: &impl Serialize) -> io::Result<()> {
        match session.is_json() {
            true => session.json(row),
            false => self.0.add(&mut session.out, row),
        }
    }

    /// Prints the remaining rows.
    pub fn finish(self, session: &mut Session) -> io::Result<()> {
        self.0.finish(&mut session.out)
    }
}

/// A question that names the datasets and identifiers that are similar to an unknown one. `None` means that
/// there are none.
pub fn suggestion(snapshot: &Snapshot, unknown: &str) -> Option<String> {
    let datasets = snapshot.similar_datasets(unknown).unwrap_or_default();
    let identifiers = snapshot.similar_identifiers(unknown).unwrap_or_default();
    let identifiers = identifiers.iter().map(|identifier| format!("DI:{identifier}"));
    let meant: Vec<String> = datasets.iter().map(ToString::to_string).chain(identifiers).collect();
    let (last, others) = meant.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        others => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// The current time. `None` means that it is not within the years 0000 to 9999.
fn clock() -> Option<Timestamp> {
    SystemTime::now().try_into().ok()
}

/// Whether to create a missing registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// A missing registry is an error.
    Never,
    /// A missing registry is created.
    IfMissing,
}

impl Create {
    /// The meaning of `--create`.
    pub fn when(create: bool) -> Self {
        if create { Create::IfMissing } else { Create::Never }
    }
}

/// The user name from the environment, else from the system.
fn system_user() -> Option<String> {
    let named = ["LOGNAME", "USER", "USERNAME"].into_iter().find_map(variable);
    named.or_else(user_of_process)
}

/// The value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The user name of the process in `/etc/passwd`, or the number of a user who is not listed there.
fn user_of_process() -> Option<String> {
    let uid = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read("/etc/passwd").unwrap_or_default();
    let users = String::from_utf8_lossy(&users);
    let named = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next().filter(|name| !name.is_empty())?;
        (fields.nth(1) == Some(&uid)).then(|| name.to_owned())
    });
    Some(named.unwrap_or_else(|| format!("uid {uid}")))
}

/// The time at which a change takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeTime {
    /// Now, by a clock that the user confirms.
    Now,
    /// At an instant. A date means its beginning.
    At(Timestamp),
}

impl ChangeTime {
    /// The instant. `None` means the time of the clock.
    pub fn instant(self) -> Option<Timestamp> {
        match self {
            ChangeTime::Now => None,
            ChangeTime::At(at) => Some(at),
        }
    }
}

impl FromStr for ChangeTime {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "now" => Ok(ChangeTime::Now),
            text => text.parse().map(|at| ChangeTime::At(Moment::of_change(at))),
        }
    }
}
