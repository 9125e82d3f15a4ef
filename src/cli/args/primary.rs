//! The primary of `mirror compare` and `mirror pull`, and how it is read over HTTP.

use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use accession::citation::typed::refuse_future;
use accession::mirror::{Address, HttpOptions, Primary, Remote, Retry, source_name};
use accession::model::{SourceOptions, WarningKind, age};
use accession::registry::MirrorSource;
use accession::{Access, DatasetName, ErrorKind, Moment};

use crate::cli::error::{Error, Result};
use crate::cli::output::{json, one_line};
use crate::cli::reading::{InputFile, open};
use crate::cli::session::Session;

/// A primary.
#[derive(clap::Args)]
pub struct PrimaryArgs {
    /// The primary: the address of a published dataset, a published directory, a manifest, gzipped or not, or
    /// a registry file; - is a manifest on stdin [default: the one that the mirror was last pulled
    /// from, with the same options]
    primary: Option<InputFile>,

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
    /// The primary of a mirror: the one that was named, or else its default.
    pub fn source(&self, mirror: &DatasetName, session: &Session) -> Result<Source> {
        if let Some(at) = self.primary_at {
            refuse_future(at, session.now()?)?;
        }
        let primary_dataset = self.primary_dataset.clone();
        let options = SourceOptions { primary_dataset, ..self.http.options()? };
        if let Some(primary) = &self.primary {
            return Ok(Source { primary: primary.clone(), options, is_remembered: false });
        }
        let sources = session.open(Access::Read)?.snapshot()?.mirror_sources(mirror)?;
        let default = sources.into_iter().find_map(|known| Source::of(known, options.clone()));
        default.ok_or_else(|| {
            Error::usage(format!("{mirror} was not pulled from any primary yet"))
                .with_hint(format!("name it: `accession mirror pull {mirror} PRIMARY`"))
        })
    }

    /// The primary from which a mirror was last pulled. `None`: `known` is another one.
    pub fn default_source(&self, known: MirrorSource) -> Result<Option<Source>> {
        Ok(Source::of(known, self.http.options()?))
    }
}

/// Where a primary is, and how it is read.
pub struct Source {
    primary: InputFile,
    options: SourceOptions,
    /// Whether it is that of the last pull, and was not named.
    is_remembered: bool,
}

impl Source {
    /// The default of a mirror, with options that take precedence over those of the last pull.
    fn of(known: MirrorSource, options: SourceOptions) -> Option<Self> {
        let pulled = known.pulled.filter(|_| known.is_default)?;
        let primary = InputFile::Path(known.source.into());
        Some(Source { primary, options: options.or(&pulled.options), is_remembered: true })
    }

    /// Opens the primary.
    pub fn open(&self, mirror: &DatasetName, session: &Session) -> Result<Primary> {
        let now = session.now()?;
        let named = self.options.primary_dataset.as_ref();
        let primary = match &self.primary {
            InputFile::Path(path) if !is_stream(path) => {
                match remote(&self.primary.name(), &self.options, session)? {
                    Some(remote) => Primary::at_address(remote, named),
                    None => Primary::open(path, mirror, named, now)?,
                }
            }
            stream => {
                if let (true, InputFile::Path(path)) = (self.is_remembered, stream) {
                    Primary::check_remembered(path)?;
                }
                let (manifest, name) = open(stream)?;
                let most = self.options.max_bytes.unwrap_or(HttpOptions::default().max_bytes);
                Primary::from_manifest(Bounded { manifest, left: most, most }, &name, named, now)?
            }
        };
        Ok(primary.with_options(self.options.clone()))
    }

    /// Remembers that it could not be read, or that the mirror could not be pulled from it.
    pub fn remember_failure(&self, mirror: &DatasetName, error: &Error, session: &Session) {
        let InputFile::Path(path) = &self.primary else { return };
        let source = source_name(&path.to_string_lossy());
        let remembered = session.open(Access::Write).and_then(|registry| {
            let stamp = session.stamp(None)?;
            Ok(registry.remember_failed_attempt(mirror, &source, &error.to_string(), &stamp)?)
        });
        match remembered {
            Err(other) if other.of_library() == Some(ErrorKind::RegistryMissing) => {}
            Err(other) if other.of_library() != error.of_library() => session.warn(
                WarningKind::MirrorNotRemembered,
                &format!("the failure could not be remembered: {other}"),
            ),
            _ => {}
        }
    }
}

/// Whether a path is that of a pipe or a device, which is read once.
fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// A manifest of which at most so many bytes are copied to a temporary file.
struct Bounded<R> {
    manifest: R,
    left: u64,
    most: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.manifest.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            let most = self.most;
            io::Error::other(format!("more than {most} bytes; a larger --max-bytes permits more"))
        })?;
        Ok(read)
    }
}

/// How a primary at an address is read.
#[derive(clap::Args)]
pub struct HttpArgs {
    /// Give up if the server sends nothing, or less than 10 kB a second, for this many seconds
    /// [default: 30]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=3_600), help_heading = "Options for addresses")]
    timeout: Option<u64>,

    /// Give up after this many bytes, counted after decompression [default: 64 GiB]
    #[arg(long, value_name = "N", help_heading = "Options for addresses")]
    max_bytes: Option<u64>,

    /// Refuse a primary that was last published longer ago than this: 90m, 36h or 2d
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
    /// The options as they are kept with a source.
    fn options(&self) -> Result<SourceOptions> {
        let ca_file = self.ca_file.as_ref().map(std::path::absolute).transpose()?;
        Ok(SourceOptions {
            primary_dataset: None,
            timeout_seconds: self.timeout,
            max_bytes: self.max_bytes,
            max_age_seconds: self.max_age.map(|age| age.as_secs()),
            ca_file: ca_file.map(|path| path.to_string_lossy().into_owned()),
            insecure: self.insecure,
        })
    }

    /// The dataset at an address. Nothing is requested yet. `None`: the text is not an address.
    pub fn remote(&self, text: &str, session: &Session) -> Result<Option<Remote>> {
        remote(text, &self.options()?, session)
    }
}

/// The dataset at an address. Nothing is requested yet. `None`: the text is not an address.
fn remote(text: &str, options: &SourceOptions, session: &Session) -> Result<Option<Remote>> {
    if !Address::is_meant(text) {
        return Ok(None);
    }
    let address = Address::parse(text, options.insecure)?;
    let retrying: fn(&Retry<'_>) = match (session.is_verbose(), session.is_json()) {
        (true, true) => report_as_json,
        (true, false) => report,
        (false, false) if std::io::stderr().is_terminal() => report,
        (false, _) => |_| {},
    };
    let options = HttpOptions { retrying: Arc::new(retrying), ..HttpOptions::of(options)? };
    Ok(Some(Remote::new(address, options, session.now()?)?))
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
