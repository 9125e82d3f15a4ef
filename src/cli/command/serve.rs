use std::fs::create_dir_all;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;

use accession::pages::{Serves, Site};
use accession::server::{AccessLog, Config, Limits, Network, Server, log};
use accession::{Access, DatasetName, quoted};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::args::{PublicUrl, named_path};
use crate::cli::exit::Exit;
use crate::cli::session::Session;
use crate::cli::usage::UsageError;

/// Serve landing pages and an HTTP API over the registry, read-only
///
/// Others can go on writing to the registry meanwhile. Every dataset is public, unless datasets are
/// named. Requests are logged on stderr: as JSON lines with --json, and not at all with --quiet.
/// SIGTERM and SIGINT let requests that are being answered end, within ten seconds.
///
/// Examples:
///   accession serve
///   accession serve US.FOOL2.002 --public-url https://registry.archive.example --site-name 'US Archive'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets that are public [default: all]
    #[arg(value_name = "DATASET")]
    datasets: Vec<DatasetName>,

    /// The address and the port to listen on; port 0 means any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8000")]
    listen: SocketAddr,

    /// The address at which readers reach the server, if it is behind a proxy [default: http:// and
    /// the address that it listens on]
    #[arg(long, value_name = "URL")]
    public_url: Option<PublicUrl>,

    /// The name of the site, which every page shows
    #[arg(long, value_name = "TEXT", default_value = "Granule registry")]
    site_name: String,

    /// How to reach the people who run it: an e-mail address, a web address, or any text
    #[arg(long, value_name = "TEXT")]
    contact: Option<String>,

    /// The directory for the logs that mirrors read, which are published into it whenever a dataset
    /// has changed [default: a temporary one]
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    cache: Option<PathBuf>,

    /// The greatest number of connections at the same time
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections,
        value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    max_connections: usize,

    /// A network of proxies whose header X-Forwarded-For names the client, as that of proxies on this
    /// host does (can be repeated)
    #[arg(long = "trusted-proxy", value_name = "CIDR")]
    trusted_proxies: Vec<Network>,
}

/// Where the server listens, as `--json` prints it.
#[derive(Serialize)]
struct Listening<'a> {
    listening: String,
    public_url: &'a str,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        self.check_datasets(session)?;
        if let Some(directory) = &self.cache {
            let shown = quoted(&directory.to_string_lossy()).to_string();
            create_dir_all(directory).with_context(|| format!("cannot create {shown}"))?;
        }
        let server = Server::bind(self.listen)?;
        let listening = format!("http://{}", server.address());
        let public_url = self.public_url.map_or(listening.clone(), |PublicUrl(url)| url);
        let (open, datasets) = (session.opener(), self.datasets);
        let config = Config {
            site: Site {
                name: self.site_name,
                contact: self.contact,
                public_url: Some(public_url.clone()),
                serves: Serves::Everything,
            },
            open: Box::new(move || Ok(open()?.published(&datasets))),
            clock: Box::new(session.clock()),
            limits: Limits { connections: self.max_connections, ..Limits::default() },
            cache: self.cache,
            trusted_proxies: self.trusted_proxies,
        };
        if session.is_json() {
            session.json(&Listening { listening, public_url: &public_url })?;
        } else {
            writeln!(session.out(), "listening on {listening}/")?;
        }
        session.finish()?;
        log(match (session.is_quiet(), session.is_json()) {
            (true, _) => AccessLog::Off,
            (false, true) => AccessLog::Json,
            (false, false) => AccessLog::Text,
        });
        server.run(config)?;
        Ok(Exit::Done)
    }

    /// Checks that the registry can be read, and that the datasets that are named are there.
    fn check_datasets(&self, session: &Session) -> Result<()> {
        let snapshot = session.open(Access::Follow)?.snapshot()?;
        for name in &self.datasets {
            let dataset = snapshot.dataset(name)?.dataset;
            if !dataset.name.is_publishable() {
                let message = format!("{} cannot be part of an address", dataset.name);
                return Err(UsageError::new(message)
                    .with_hint("`accession dataset rename` gives it another name")
                    .into());
            }
        }
        Ok(())
    }
}
