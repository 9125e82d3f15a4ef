//! One run of the program: which registry, which clock, which output.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use accession::{Access, Applied, Error, Registry, Timestamp};
use anyhow::{Context, Result};
use serde::Serialize;

use super::json;
use super::output::one_line;
use super::progress::Progress;
use super::report::Usage;
use super::seen::Seen;
use super::source::folder_of;

/// One run of the program.
pub struct Session {
    registry: PathBuf,
    json: bool,
    out: io::BufWriter<Seen<io::Stdout>>,
}

impl Session {
    pub fn new(registry: PathBuf, json: bool) -> Self {
        let out = Seen::new(io::stdout(), io::stdout().is_terminal());
        Session { registry, json, out: io::BufWriter::new(out) }
    }

    /// Whether stdout carries JSON only.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// What the clock says; the only place that reads it.
    pub fn now(&self) -> Result<Timestamp> {
        let now = SystemTime::now();
        let micros = match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).ok(),
            Err(before) => i64::try_from(before.duration().as_micros()).ok().map(|micros| -micros),
        };
        micros
            .and_then(Timestamp::from_micros)
            .ok_or_else(|| Usage::new("the clock is not within the years 0000 to 9999").into())
    }

    /// Waits until an instant has come.
    pub fn sleep_until(&self, at: Timestamp) -> Result<()> {
        let micros = at.as_micros() - self.now()?.as_micros();
        std::thread::sleep(Duration::from_micros(u64::try_from(micros).unwrap_or(0)));
        Ok(())
    }

    /// Opens the registry.
    pub fn open(&self, access: Access) -> Result<Registry> {
        let mut registry = Registry::open(&self.registry, access)?;
        registry.set_monitor(Progress::new());
        Ok(registry)
    }

    /// The folder of a registry that [`Session::write`] would make; none if it would not.
    pub fn new_in(&self, create: Create) -> Option<&Path> {
        let is_made = create != Create::Never && !self.registry.exists();
        is_made.then(|| folder_of(&self.registry))
    }

    /// Does `work` on the registry, and makes it first if it is missing and `create` says so: then
    /// nobody sees it before the work is done, and if that fails it never was.
    ///
    /// `work` is done twice if another process makes the registry at the same time.
    pub fn write<T>(
        &self,
        create: Create,
        mut work: impl FnMut(&mut Registry) -> Result<T>,
    ) -> Result<T> {
        if create == Create::Never || self.registry.exists() {
            return work(&mut self.open(Access::Write)?);
        }
        let mut new = Registry::draft(&self.registry)?;
        new.registry.set_monitor(Progress::new());
        let result = work(&mut new.registry)?;
        if create == Create::Rehearse {
            return Ok(result);
        }
        match new.publish() {
            Ok(()) => Ok(result),
            // Another process made it meanwhile: what we did stands in no registry yet.
            Err(error) if error.kind() == "registry-exists" => work(&mut self.open(Access::Write)?),
            Err(error) => Err(error.into()),
        }
    }

    /// Says something on stderr that a person should know, though all went well.
    pub fn warn(&self, message: &str) {
        let text = if self.json {
            json::text(&serde_json::json!({ "warning": { "message": message } }))
        } else {
            format!("warning: {}", one_line(message))
        };
        // Nothing is left to tell if stderr cannot be written.
        let _ = writeln!(io::stderr(), "{text}");
    }

    /// Says what the library noticed about a change.
    pub fn warn_of(&self, applied: &Applied) {
        if let Some(behind_micros) = applied.clock_behind_micros {
            let seconds = behind_micros / 1_000_000;
            self.warn(&format!(
                "the clock is {seconds} s behind the last change; stamped a microsecond after that"
            ));
        }
        let skipped = applied.skipped_held + applied.skipped_repeated;
        if skipped > 0 {
            self.warn(&format!(
                "passed over {skipped}: {} held already, {} repeated",
                applied.skipped_held, applied.skipped_repeated
            ));
        }
    }

    /// Where output goes: as it is, since what reads a pipe wants the ids themselves (the README's
    /// check with md5sum), but on a terminal [`Seen`]; buffered, and closed by [`Session::finish`].
    pub fn out(&mut self) -> &mut impl Write {
        &mut self.out
    }

    /// Writes one object of JSON on a line.
    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        json::write(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes what is still buffered.
    pub fn finish(&mut self) -> Result<()> {
        self.out.flush().context("cannot write to standard output")
    }
}

/// Whether a missing registry is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Create {
    /// No: it is an error.
    Never,
    /// Yes.
    IfMissing,
    /// Only to try the work on it; then it goes again.
    Rehearse,
}

impl Create {
    /// What `--create` and `--dry-run` mean together.
    pub fn when(create: bool, dry_run: bool) -> Self {
        match (create, dry_run) {
            (false, _) => Create::Never,
            (true, false) => Create::IfMissing,
            (true, true) => Create::Rehearse,
        }
    }
}

/// The library's error in what `show` returned, unpacked: then a closed pipe is seen as one.
pub fn shown<T>(result: accession::Result<T>) -> Result<T> {
    result.map_err(|error| match error {
        Error::Output { source } => {
            anyhow::Error::from(source).context("cannot write to standard output")
        }
        error => error.into(),
    })
}
