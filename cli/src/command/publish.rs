//! `publish` writes pages and logs for any web server. `serve` is a web server.

use std::fs::File;
use std::io;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use accession::WarningKind;
use accession::dataset::Edit;
use accession::text::{quoted, read_small_text};
use accession::{DatasetFilter, DatasetName, ErrorKind};
use accession_server::pages::{Serves, Site};
use accession_server::{Config, Registration, Server, ServerLimits};
use accession_server::{SiteSettings, publish_pages};
use serde_json::{Value, json};

use crate::args::{Refusal, edit, edit_as, named_or_all, named_path, public_url, resolver};
use crate::error::{Context, Error, Exit, Kind, Result};
use crate::key_file::check_private;
use crate::output::{Output, counted, for_shell, in_words};
use crate::session::Session;

/// Write a website for any web server
///
/// The directory gets the page, the log, the head and the cited subsets of each dataset, in datasets/NAME/, and a
/// list of the datasets. Mirrors read it. Run the command again after each change, or every night: it writes only
/// what is new. If the history of a dataset contradicts its published log, or the log does not end as it was
/// written, the command skips this dataset, and publishes the others. Notes of changes are published, but not
/// who made a change. If all datasets are published, the signed statements are published in statements/.
///
/// --public-url, --site-name and --contact are stored in the directory. An empty value removes one.
///
/// Examples:
///   accession publish /srv/www
///   accession publish /srv/www US.FOOL2.002 --public-url https://data.archive.example
///   accession verify /srv/www
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Publish {
    /// The directory, which is created if it does not exist
    #[arg(value_parser = named_path())]
    directory: PathBuf,

    /// The datasets (can be repeated) [default: all]
    datasets: Vec<DatasetName>,

    /// The address of the directory, for citations
    ///
    /// With it, sitemap.xml lists the pages.
    #[arg(long, value_name = "URL", value_parser = |text: &str| edit_as(text, public_url))]
    public_url: Option<Edit<String>>,

    /// The name of the site, on every page [default: "Granule registry"]
    #[arg(long, value_name = "TEXT", value_parser = edit::<String>)]
    site_name: Option<Edit<String>>,

    /// How to reach the people who run the site
    ///
    /// An e-mail address, a web address, or any text.
    #[arg(long, value_name = "TEXT", value_parser = edit::<String>)]
    contact: Option<Edit<String>>,
}

impl Publish {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        let (mut failed, filter) = (Vec::new(), named_or_all(&self.datasets));
        registry.publish(&self.directory, &filter, |name, published| {
            let published = match published.with_context(|| name.to_string()) {
                Ok(published) => published,
                Err(error) if fails_for_all(&error) => return Err(error),
                Err(error) => {
                    error.report(session.is_json());
                    failed.push(name.clone());
                    return Ok(());
                }
            };
            // If the output cannot be written, the rest is still published. The failure is reported at the end.
            let _ = session.present_done(&published, write_published);
            session.note_commit();
            Ok(())
        })?;
        for name in registry.unknown_datasets(&self.directory)? {
            let place = self.directory.join("datasets").join(name.as_str());
            let what = format!(
                "the directory has {name}, which the registry does not have: it was left as it is, without a link to it; if `dataset remove` removed it, delete {}",
                quoted(&place.to_string_lossy())
            );
            session.warn(WarningKind::NotInRegistry, &what);
        }
        // Statements name all datasets. The pages are published even if the statements are refused.
        let stated = match filter {
            DatasetFilter::All => registry.publish_statements(&self.directory).map(drop),
            DatasetFilter::Only(_) => Ok(()),
        };
        let settings = SiteSettings {
            public_url: self.public_url.unwrap_or_default(),
            name: self.site_name.unwrap_or_default(),
            contact: self.contact.unwrap_or_default(),
            resolver: resolver()?,
        };
        publish_pages(&registry, &self.directory, &settings, &failed)?;
        stated?;
        Ok(if failed.is_empty() { Exit::Done } else { Exit::Trouble })
    }
}

/// Writes the result of publishing a dataset.
fn write_published(out: &mut Output, published: &Value) -> io::Result<()> {
    let dataset = in_words(&published["dataset"]);
    let changes = counted(&published["changes"], "change");
    match &published["new_changes"] {
        none if none == 0 => writeln!(out, "{dataset}: {changes}, none of them new"),
        new => {
            let bytes = &published["bytes"];
            writeln!(out, "{dataset}: {changes}, {new} new, {bytes} bytes added")
        }
    }
}

/// Whether an error of one dataset would also occur for the others.
fn fails_for_all(error: &Error) -> bool {
    matches!(
        error.kind(),
        Kind::Library(
            ErrorKind::Full
                | ErrorKind::Replaced
                | ErrorKind::Unreachable
                | ErrorKind::ConnectionLost
        )
    )
}

/// Run the website and its HTTP API
///
/// Clients can only read. With --register, they can save the subsets that they cite: by POST to
/// /datasets/NAME/subsets, 1,000 new subsets a day.
///
/// Other programs can write to the registry meanwhile. Every dataset is public, unless datasets are named. If a
/// statement names another dataset, the statements are not served. Requests are logged on stderr: as JSON lines
/// with --json, and not at all with --quiet. After SIGTERM or SIGINT, current requests can end, within eight seconds.
///
/// Examples:
///   accession serve
///   accession serve US.FOOL2.002 --public-url https://data.example.org --site-name 'US Archive'
///   accession serve --register --register-token /etc/accession/token
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Serve {
    /// The datasets that are public [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// The address and the port to listen on, or a port of this machine; port 0 is any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000", value_parser = listen_address)]
    listen: SocketAddr,

    /// The address for readers, behind a proxy [default: http:// and the listening address]
    #[arg(long, value_name = "URL", value_parser = public_url)]
    public_url: Option<String>,

    /// The name of the site, on every page
    #[arg(long, value_name = "TEXT", default_value = "Granule registry")]
    site_name: String,

    /// How to reach the people who run the site
    ///
    /// An e-mail address, a web address, or any text.
    #[arg(long, value_name = "TEXT")]
    contact: Option<String>,

    /// The greatest number of connections at the same time
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = ServerLimits::default().connections,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    max_connections: usize,

    /// Let clients save the subsets that they cite; needs --register-token
    #[arg(long)]
    register: bool,

    /// A file with the token that clients need to save subsets
    ///
    /// It is not needed if --listen is an address of the machine itself, such as behind a proxy.
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "register", value_parser = named_path())]
    register_token: Option<PathBuf>,
}

/// Parses the address on which a server listens. A port alone, or the name localhost, means the loopback
/// address.
fn listen_address(text: &str) -> Result<SocketAddr, Refusal> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    match port.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => text.parse().map_err(|_| {
            "write a port, such as 8080, for this machine only, or 0.0.0.0:8080 for every network".into()
        }),
    }
}

impl Serve {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.check_datasets(session)?;
        let token = self.register_token.as_deref().map(read_token).transpose()?;
        if self.register && token.is_none() && !self.listen.ip().to_canonical().is_loopback() {
            return Err(Error::usage(format!(
                "everybody who reaches {} could save subsets",
                self.listen
            ))
            .with_hint("--register-token FILE names a token that clients need: `openssl rand -hex 32` makes one"));
        }
        let server = Server::bind(self.listen)?;
        let listening = format!("http://{}", server.address());
        let is_public = self.public_url.is_some();
        let public_url = self.public_url.unwrap_or_else(|| listening.clone());
        let (open, public) = (session.opener(), named_or_all(&self.datasets));
        let registration = if self.register {
            let (open, public) = (session.opener(), public.clone());
            // If the registry is not writable, report that now, and not to the first client that registers.
            match open()?.check_writable() {
                // Another process is writing, so the registry is writable.
                Err(error) if error.kind() == ErrorKind::Busy => {}
                checked => checked?,
            }
            Some(Registration {
                open: Box::new(move || Ok(open()?.public_view(public.clone()))),
                token,
            })
        } else {
            None
        };
        let config = Config {
            site: Site {
                name: self.site_name,
                contact: self.contact,
                public_url: Some(public_url.clone()),
                serves: Serves::Everything { is_public },
                resolver: resolver()?,
            },
            open: Box::new(move || Ok(open()?.public_view(public.clone()))),
            limits: ServerLimits { connections: self.max_connections, ..ServerLimits::default() },
            registration,
        };
        let is_listening = json!({ "listening": listening, "public_url": public_url });
        session.present(&is_listening, |out, it| {
            writeln!(out, "listening on {}/", in_words(&it["listening"]))
        })?;
        session.finish()?;
        log(session);
        server.run(config)?;
        Ok(Exit::Done)
    }

    /// Checks that the registry is readable and that the named datasets exist. Warns if statements name other
    /// datasets.
    fn check_datasets(&self, session: &Session) -> Result<()> {
        let registry = session.open()?;
        let snapshot = registry.snapshot()?;
        for name in &self.datasets {
            snapshot.dataset(name)?;
        }
        drop(snapshot);
        // Damaged statements are reported to the clients that request them.
        let log = registry.public_view(named_or_all(&self.datasets)).snapshot()?.statement_log();
        if log.is_ok_and(|log| !log.is_shown) {
            let what = "/statements/ is not served: statements name datasets that are not";
            session.warn(WarningKind::StatementsNotServed, what);
        }
        Ok(())
    }
}

/// Reads the token in a file, without the end of its line.
fn read_token(path: &Path) -> Result<String> {
    const LENGTHS: RangeInclusive<usize> = 16..=512;
    let name = quoted(&path.to_string_lossy()).to_string();
    let file = File::open(path).with_context(|| format!("cannot read {name}"))?;
    let text = read_small_text(&file, *LENGTHS.end() as u64 + 2);
    let text = text.with_context(|| format!("cannot read {name}"))?;
    check_private(&file, &name, "a token").map_err(|error| {
        let path = for_shell(&path.to_string_lossy());
        error.with_hint(format!(
            "`chmod 600 {path}`; make another token if others have read this one"
        ))
    })?;
    let token = text.trim_end();
    match LENGTHS.contains(&token.len()) && token.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(token.to_owned()),
        false => Err(Error::usage(format!(
            "{name} has no token: 16 to 512 ASCII characters without spaces, on one line"
        ))
        .with_hint("`openssl rand -hex 32` makes one")),
    }
}

/// Starts the server's log on stderr: requests as text or as JSON, or only warnings.
fn log(session: &Session) {
    let level = match session.is_quiet() {
        true => tracing::Level::WARN,
        false => tracing::Level::INFO,
    };
    let log = tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level);
    let log = log.with_ansi(false).with_target(false);
    // This only fails if a log was set up before, which nothing else does.
    let _ = match session.is_json() && !session.is_quiet() {
        true => log.json().flatten_event(true).try_init(),
        false => log.try_init(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine() {
        let read = |text: &str| listen_address(text).map(|address| address.to_string());
        for (text, address) in [
            ("8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("0.0.0.0:80", "0.0.0.0:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(read(text).unwrap(), address, "{text}");
        }
        for text in [":8080", "localhost", "65536", "localhost:65536", "example.org:80", ""] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains("0.0.0.0:8080"), "{text}: {message}");
        }
    }
}
