//! The mirror and the primary of `mirror compare` and `mirror pull`, and how a primary is read over
//! HTTP.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use accession::mirror::{Address, HttpOptions, Primary, Remote, Retry};
use accession::model::quoted;
use accession::{DatasetName, Moment};

use super::set::refuse_future;
use crate::cli::error::{Context, Error, Result};
use crate::cli::output::{json, one_line};
use crate::cli::reading::{InputFile, open};
use crate::cli::session::Session;

/// A mirror and its primary.
#[derive(clap::Args)]
pub struct PrimaryArgs {
    /// The mirror: a dataset of this registry
    pub dataset: DatasetName,

    /// The primary: the address of a published dataset, a manifest, compressed with gzip or not, or
    /// a registry file; - is a manifest on stdin
    primary: InputFile,

    /// The dataset of the primary [default: the one of the same name, or the only one]
    #[arg(long, value_name = "N")]
    primary_dataset: Option<DatasetName>,

    /// The time as of which the primary is read: RFC 3339, or a date, which means the end of that
    /// day [default: its latest change]
    #[arg(long, value_name = "T")]
    pub primary_at: Option<Moment>,

    #[command(flatten)]
    http: HttpArgs,
}

impl PrimaryArgs {
    /// Opens the primary.
    pub fn open(&self, session: &Session) -> Result<Primary> {
        let now = session.now()?;
        if let Some(at) = self.primary_at {
            refuse_future(at, now)?;
        }
        let named = self.primary_dataset.as_ref();
        if let Some(remote) = self.http.remote(&self.primary.name(), session)? {
            return Ok(Primary::at_address(remote, named));
        }
        Ok(match &self.primary {
            InputFile::Path(path) => Primary::open(path, &self.dataset, named, now)?,
            InputFile::StandardInput => {
                let (manifest, name) = open(&self.primary)?;
                Primary::from_manifest(manifest, &name, named, now)?
            }
        })
    }
}

/// How a primary at an address is read.
#[derive(clap::Args)]
pub struct HttpArgs {
    /// Give up a server that sends nothing, or less than 10 kB a second, for so many seconds
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3_600), help_heading = "Options for addresses")]
    timeout: u64,

    /// Give up after so many bytes, counted after decompression
    #[arg(long, value_name = "N", default_value_t = HttpOptions::default().max_bytes, help_heading = "Options for addresses")]
    max_bytes: u64,

    /// Refuse a primary that was last published so long ago: 90m, 36h or 2d
    #[arg(long, value_name = "AGE", value_parser = age, help_heading = "Options for addresses")]
    max_age: Option<Duration>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "F", help_heading = "Options for addresses")]
    ca_file: Option<PathBuf>,

    /// Accept http for any host: anyone on the way can change what is read
    #[arg(long, help_heading = "Options for addresses")]
    insecure: bool,
}

impl HttpArgs {
    /// The dataset at an address. Nothing is requested yet. `None`: the text is not an address.
    pub fn remote(&self, text: &str, session: &Session) -> Result<Option<Remote>> {
        if !Address::is_meant(text) {
            return Ok(None);
        }
        let address = Address::parse(text, self.insecure)?;
        let authorities = match &self.ca_file {
            None => None,
            Some(path) => {
                let shown = quoted(&path.to_string_lossy()).to_string();
                Some(std::fs::read(path).with_context(|| format!("cannot read {shown}"))?)
            }
        };
        let retrying: fn(&Retry<'_>) = match (session.is_verbose(), session.is_json()) {
            (true, true) => report_as_json,
            (true, false) => report,
            (false, false) if std::io::stderr().is_terminal() => report,
            (false, _) => |_| {},
        };
        let options = HttpOptions {
            timeout: Duration::from_secs(self.timeout),
            max_bytes: self.max_bytes,
            max_age: self.max_age,
            permits_http: self.insecure,
            authorities,
            environment: Arc::new(|variable| std::env::var(variable).ok()),
            retrying: Arc::new(retrying),
            ..HttpOptions::default()
        };
        Ok(Some(Remote::new(address, options, session.now()?)?))
    }
}

/// Prints on stderr that a request is repeated, and why: a server can ask to wait for minutes.
fn report(retry: &Retry<'_>) {
    let Retry { error, attempt, attempts, delay } = retry;
    let (error, seconds) = (error.to_string(), delay.as_secs_f64());
    // The progress of the work may be on this line.
    let clear = if std::io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    let mut stderr = std::io::stderr();
    // If stderr cannot be written, there is nowhere left to report it.
    let _ = writeln!(
        stderr,
        "{clear}{}: attempt {attempt} of {attempts} failed, trying again in {seconds} s",
        one_line(&error)
    );
}

fn report_as_json(retry: &Retry<'_>) {
    let Retry { error, attempt, attempts, delay } = retry;
    let report = serde_json::json!({ "retry": {
        "kind": error.kind().as_str(),
        "message": error.to_string(),
        "attempt": attempt,
        "attempts": attempts,
        "seconds": delay.as_secs_f64(),
    } });
    let _ = writeln!(std::io::stderr(), "{}", json::to_string(&report));
}

/// Reads a duration: a number, and its unit.
fn age(text: &str) -> Result<Duration, Error> {
    let wrong = || Error::usage("an age is a number and a unit: 90m, 36h or 2d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = text.trim_end_matches(unit).parse().map_err(|_| wrong())?;
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}
