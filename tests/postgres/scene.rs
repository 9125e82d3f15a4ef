//! A registry on a private server, and the program that works on it.

use std::path::{Path, PathBuf};
use std::process::Command;

use accession::model::{Checksum, Content, Extent, FilePath, KnownFile};
use accession::{Access, Change, DatasetName, Entry, GranuleId, Registry, Stamp, Timestamp};

use crate::harness::program::program;
use crate::harness::server::{Server, client};

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

    /// On a server of its own, which can be killed.
    pub fn private() -> Option<Self> {
        Some(Scene::on(Server::start(&[])?))
    }

    /// On a cluster, distributed.
    pub fn distributed(cluster: Server) -> Self {
        let url = cluster.new_cluster_database();
        Registry::create(Path::new(&url)).unwrap().distribute().unwrap();
        Scene { server: cluster, url }
    }

    pub fn on(server: Server) -> Self {
        let url = server.new_database();
        drop(Registry::create(Path::new(&url)).unwrap());
        Scene { server, url }
    }

    pub fn path(&self) -> PathBuf {
        PathBuf::from(&self.url)
    }

    pub fn open(&self) -> Registry {
        Registry::open(&self.path(), Access::Write).unwrap()
    }

    /// A handle that waits for a lock no longer than this.
    pub fn impatient(&self, milliseconds: u64) -> Registry {
        let wait = std::time::Duration::from_millis(milliseconds);
        Registry::open_waiting(&self.path(), Access::Write, wait).unwrap()
    }

    pub fn client(&self) -> postgres::Client {
        client(&self.url)
    }

    /// The program on the registry.
    pub fn command(&self, arguments: &[&str]) -> Command {
        command(&self.url, arguments)
    }
}

/// The program on a registry.
pub fn command(registry: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.env("ACCESSION_REGISTRY", registry).args(arguments);
    command
}

/// How often a fault is tried: in every run, or for the report.
pub fn rounds(always: u32, reported: u32) -> u32 {
    if std::env::var_os("TRUST").is_some() { reported } else { always }
}

pub fn name(text: &str) -> DatasetName {
    text.parse().unwrap()
}

pub fn second(number: i64) -> Timestamp {
    Timestamp::from_micros(1_000_000_000_000_000 + number * 1_000_000).unwrap()
}

pub fn stamp() -> Stamp {
    Stamp::now("2026-01-01T00:00:00Z".parse().unwrap())
}

/// The same, with a clock that is right however long ago the last time was recorded.
pub fn confirmed_stamp() -> Stamp {
    Stamp { is_clock_confirmed: true, ..stamp() }
}

/// A change that ingests a granule, and creates the dataset.
pub fn ingest(granule_id: &str) -> Change {
    let mut change = Change::new();
    change.ingest(granule_id.parse::<GranuleId>().unwrap()).unwrap();
    change.options.create_dataset = true;
    change
}

/// The number of holding periods of a granule in the registry: 1 if it was ingested once.
pub fn periods_of(registry: &Registry, granule_id: &str) -> usize {
    let granule_id: GranuleId = granule_id.parse().unwrap();
    registry.snapshot().unwrap().find(&granule_id, None, 1_000).unwrap().len()
}

/// A number that differs from round to round, below a bound: splitmix64.
pub fn dice(round: u32, bound: u64) -> u64 {
    let mut mixed = u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) % bound
}

/// A change that states files of a granule that is held.
pub fn stating<'a>(
    granule: &GranuleId,
    files: impl IntoIterator<Item = (&'a str, Option<u64>, Checksum)>,
) -> Change {
    let mut change = Change::stating(Extent::Named);
    for (path, size, checksum) in files {
        let path = Some(FilePath::new(path).unwrap());
        let file = KnownFile::new(granule, path, size, Some(checksum));
        let content = Content::of(granule, file.into_iter().collect()).ok();
        change.describe(Entry { content, ..granule.clone().into() }).unwrap();
    }
    change
}
