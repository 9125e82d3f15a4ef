//! The primary of `mirror compare` and `mirror pull`, and how it is read over HTTP.

use super::age::age;
use std::io::{IsTerminal, Write, stdin};
use std::path::PathBuf;
use std::time::Duration;

use accession::DatasetName;
use accession::mirror::PrimaryOptions;
use accession::mirror::{Primary, Retry};
use accession::status::KnownPrimary;
use accession::text::quoted;
use clap::builder::RangedU64ValueParser;

use crate::error::{Error, Result};
use crate::input_file::InputFile;
use crate::output::{json, one_line};
use crate::session::Session;

/// A primary.
#[derive(clap::Args)]
pub struct PrimaryArgs {
    /// The primary: an address, a directory, a file, or - [default: that of the last pull]
    ///
    /// The address of a published dataset, a published directory, a registry file, or a manifest, also gzipped; - is
    /// a manifest on standard input. Without it, the mirror's last primary is read again, with the same options.
    primary: Option<InputFile>,

    /// The dataset of the primary [default: the same name, or the only one]
    #[arg(long, hide_short_help = true, value_name = "N")]
    primary_dataset: Option<DatasetName>,

    #[command(flatten)]
    http: HttpArgs,
}

impl PrimaryArgs {
    /// The primary of a mirror: the named one, else the mirror's default. `command` is the subcommand of
    /// `mirror`, for the hint.
    pub fn source(
        &self,
        mirror: &DatasetName,
        command: &str,
        session: &Session,
    ) -> Result<Primary> {
        let primary_dataset = self.primary_dataset.clone();
        let options = PrimaryOptions { primary_dataset, ..self.http.options()? };
        match &self.primary {
            Some(InputFile::Path(path)) => {
                Ok(reporting(Primary::from(path.clone()).with_options(options), session))
            }
            Some(stream) => Ok(Primary::from_reader(stdin(), &stream.name(), options)?),
            None => {
                let sources = session.open()?.snapshot()?.mirror_sources(mirror)?;
                let default =
                    sources.into_iter().find_map(|it| Primary::of_last_pull(it, options.clone()));
                default.map(|source| reporting(source, session)).ok_or_else(|| {
                    let program = session.program();
                    Error::usage(format!("{mirror} was not pulled from any primary yet")).with_hint(
                        format!("name it: `{program} mirror {command} {mirror} PRIMARY`"),
                    )
                })
            }
        }
    }

    /// The primary of a mirror's last pull. `None` means that `known` is not that primary.
    pub fn default_source(
        &self,
        known: KnownPrimary,
        session: &Session,
    ) -> Result<Option<Primary>> {
        let mut options = self.http.options()?;
        if !Primary::from(known.source.as_str()).is_at_address() {
            // These options apply only to mirrors whose primary is at an address.
            (options.timeout_seconds, options.ca_file, options.insecure) = (None, None, false);
        }
        let source = Primary::of_last_pull(known, options);
        Ok(source.map(|source| reporting(source, session)))
    }
}

/// The same source, with a report of each repeated request.
fn reporting(source: Primary, session: &Session) -> Primary {
    match (session.is_verbose(), session.is_json()) {
        (true, true) => source.before_retry(report_as_json),
        (true, false) => source.before_retry(report),
        (false, false) if std::io::stderr().is_terminal() => source.before_retry(report),
        (false, _) => source,
    }
}

/// Parses the number of seconds to wait for a server.
pub fn timeout() -> RangedU64ValueParser {
    RangedU64ValueParser::new().range(1..=3_600)
}

/// How a primary at an address is read.
#[derive(clap::Args)]
pub struct HttpArgs {
    /// Give up after this many slow seconds [default: 30]
    ///
    /// A second is slow if the server sends nothing, or less than 10 kB.
    #[arg(long, hide_short_help = true, value_name = "S", value_parser = timeout(), help_heading = "Options for addresses")]
    timeout: Option<u64>,

    /// Give up after this many bytes, counted after decompression [default: 64 GiB]
    #[arg(long, hide_short_help = true, value_name = "N")]
    max_bytes: Option<u64>,

    /// The greatest age of a publication: 90m, 36h or 2d
    ///
    /// `mirror` also accepts it for a manifest or a published directory, of which the time of the last write counts.
    #[arg(long, hide_short_help = true, value_name = "AGE", value_parser = age)]
    max_age: Option<Duration>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, hide_short_help = true, value_name = "F", help_heading = "Options for addresses")]
    ca_file: Option<PathBuf>,

    /// Accept http for any host: anyone on the way can change what is read
    #[arg(long, hide_short_help = true, help_heading = "Options for addresses")]
    insecure: bool,
}

impl HttpArgs {
    /// The options as they are stored with a source.
    fn options(&self) -> Result<PrimaryOptions> {
        let ca_file = self.ca_file.as_ref().map(std::path::absolute).transpose()?;
        Ok(PrimaryOptions {
            primary_dataset: None,
            timeout_seconds: self.timeout,
            max_bytes: self.max_bytes,
            max_age_seconds: self.max_age.map(|age| age.as_secs()),
            ca_file: ca_file.map(|path| path.to_string_lossy().into_owned()),
            insecure: self.insecure,
        })
    }

    /// Whether an option is given.
    pub fn are_given(&self) -> bool {
        let HttpArgs { timeout, max_bytes, max_age, ca_file, insecure } = self;
        let numbers = timeout.is_some() || max_bytes.is_some() || max_age.is_some();
        numbers || ca_file.is_some() || *insecure
    }

    /// The dataset at an address. Sends no request yet. `None` means that the file is not an address and none
    /// of these options is given.
    pub fn remote(&self, file: &InputFile, session: &Session) -> Result<Option<Primary>> {
        let options = self.options()?;
        let are_given = options != PrimaryOptions::default();
        let remote = match file.path() {
            Some(path) => {
                let primary = Primary::from(path.to_owned()).with_options(options);
                Some(reporting(primary, session)).filter(Primary::is_at_address)
            }
            None => None,
        };
        if remote.is_none() && are_given {
            let name = file.name();
            let what =
                "--timeout, --max-bytes, --max-age, --ca-file and --insecure are for addresses";
            return Err(Error::usage(format!("{} is not an address: {what}", quoted(&name))));
        }
        Ok(remote)
    }
}

/// Prints on stderr that a request is repeated, and why. A server can ask clients to wait for minutes.
fn report(retry: &Retry<'_>) -> Duration {
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
    *delay
}

fn report_as_json(retry: &Retry<'_>) -> Duration {
    let Retry { error, attempt, attempts, delay } = retry;
    let report = serde_json::json!({ "retry": {
        "kind": error.kind().as_str(),
        "message": error.to_string(),
        "attempt": attempt,
        "attempts": attempts,
        "seconds": delay.as_secs_f64(),
    } });
    let _ = writeln!(std::io::stderr(), "{}", json::to_string(&report));
    *delay
}
