//! The store that the tests use: SQLite, or PostgreSQL or Citus if the environment says so.

use crate::values::clock;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use accession::Registry;

use crate::server::Server;

/// The environment variable with the database of which each test gets a copy. If it is set, the tests use
/// PostgreSQL.
pub const TEMPLATE: &str = "ACCESSION_TEST_TEMPLATE";

/// If this environment variable is set, the tests use the cluster.
pub const ON_CLUSTER: &str = "ACCESSION_TEST_ON_CLUSTER";

/// The source of registries for tests on a server.
enum Source {
    /// Copies of a database with an empty registry.
    Template(Server, String),
    /// New databases, which are distributed.
    Cluster(Server),
}

static SOURCE: LazyLock<Option<Source>> = LazyLock::new(|| {
    if std::env::var_os(ON_CLUSTER).is_some() {
        return Some(Source::Cluster(Server::of_cluster()?));
    }
    let template = std::env::var(TEMPLATE).ok()?;
    Some(Source::Template(Server::find(&[])?, template))
});

impl Source {
    fn new_registry(&self) -> (PathBuf, Registry) {
        match self {
            Source::Template(server, template) => {
                let url = PathBuf::from(server.copy_database(template));
                let registry = Registry::open(&url, clock()).unwrap();
                (url, registry)
            }
            Source::Cluster(server) => {
                let url = PathBuf::from(server.new_cluster_database());
                let registry = Registry::create(&url, clock()).unwrap();
                assert!(registry.distribute().unwrap() > 0);
                (url, registry)
            }
        }
    }
}

impl Server {
    /// The URL of the server, without a database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a database as a copy of another, to which nobody is connected.
    pub fn copy_database(&self, template: &str) -> String {
        let name = Server::unused_name();
        self.create(&name, template);
        self.database(&name)
    }
}

/// Whether the tests use PostgreSQL.
pub fn is_on_server() -> bool {
    SOURCE.is_some()
}

/// A new empty registry: in memory, or in a database of its own.
pub fn new_registry() -> Registry {
    match &*SOURCE {
        None => Registry::temporary(clock()).unwrap(),
        Some(source) => source.new_registry().1,
    }
}

/// A new empty registry that has a path or an address: in a directory, or in a database of its own.
pub fn new_registry_in(directory: &Path) -> (PathBuf, Registry) {
    match &*SOURCE {
        None => {
            let path = directory.join("accession.db");
            let registry = Registry::create(&path, clock()).unwrap();
            (path, registry)
        }
        Some(source) => source.new_registry(),
    }
}
