//! A registry on a private server, and the program that uses it.

use harness::values::clock;
use std::path::{Path, PathBuf};
use std::process::Command;

use accession::{Change, GranuleId, Registry};

use crate::running::program::program;
use harness::server::{Server, client};
use harness::values::change;
pub use harness::values::{name, second, stating, with_file};

/// A server with one registry.
pub struct Scene {
    pub server: Server,
    pub url: String,
}

impl Scene {
    /// `None` means that PostgreSQL is not installed, which was reported.
    pub fn new() -> Option<Self> {
        let server = Server::find(&[])?;
        Some(Scene::on(server))
    }

    /// On a separate server, which can be killed.
    pub fn private() -> Option<Self> {
        Some(Scene::on(Server::start(&[])?))
    }

    /// On a cluster, distributed.
    pub fn distributed(cluster: Server) -> Self {
        let url = cluster.new_cluster_database();
        Registry::create(Path::new(&url), clock()).unwrap().distribute().unwrap();
        Scene { server: cluster, url }
    }

    pub fn on(server: Server) -> Self {
        let url = server.new_database();
        drop(Registry::create(Path::new(&url), clock()).unwrap());
        Scene { server, url }
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.url)
    }

    pub fn open(&self) -> Registry {
        Registry::open(self.path(), clock()).unwrap()
    }

    /// A handle that waits for a lock at most this long.
    pub fn impatient(&self, milliseconds: u64) -> Registry {
        let wait = std::time::Duration::from_millis(milliseconds);
        Registry::open(self.path(), clock()).unwrap().with_busy_wait(wait)
    }

    pub fn client(&self) -> postgres::Client {
        client(&self.url)
    }

    /// A command on this registry.
    pub fn command(&self, arguments: &[&str]) -> Command {
        command(&self.url, arguments)
    }
}

/// A command on a registry.
pub fn command(registry: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.env("ACCESSION_REGISTRY", registry).args(arguments);
    command
}

/// The output of a command on a registry. Asserts that it succeeds.
pub fn succeed(registry: &str, arguments: &[&str]) -> String {
    let output = command(registry, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The error of a command on a registry, as JSON. Asserts that it fails with this kind.
pub fn refused(registry: &str, arguments: &[&str], kind: &str) -> String {
    let output = command(registry, &[&["--json"], arguments].concat()).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    let status = if error.contains("\"expect\":") { 3 } else { 2 };
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert!(error.contains(&format!("\"kind\":\"{kind}\"")), "{arguments:?}: {error}");
    error
}

/// How often a fault is tried: in an ordinary run, or for the report.
pub fn rounds(always: u32, reported: u32) -> u32 {
    if std::env::var_os("TRUST").is_some() { reported } else { always }
}

/// A change that ingests a granule, and creates the dataset.
pub fn ingest(granule_id: &str) -> Change {
    change([granule_id], [])
}

/// The number of holding periods of a granule in the registry: 1 if it was ingested once.
pub fn periods_of(registry: &Registry, granule_id: &str) -> usize {
    let granule_id: GranuleId = granule_id.parse().unwrap();
    registry.snapshot().unwrap().find(&granule_id.into(), None, 1_000).unwrap().len()
}

/// A number below a bound that differs from round to round: splitmix64.
pub fn dice(round: u32, bound: u64) -> u64 {
    let mut mixed = u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % bound
}
