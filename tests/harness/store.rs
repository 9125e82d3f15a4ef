//! The store that the tests use: SQLite, or PostgreSQL where the run is for that.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use accession::{Access, Registry};

use super::server::Server;

/// The database that each test gets a copy of. Where it is set, the tests use PostgreSQL.
pub const TEMPLATE: &str = "ACCESSION_TEST_TEMPLATE";

static SERVER: LazyLock<Option<(Server, String)>> = LazyLock::new(|| {
    let template = std::env::var(TEMPLATE).ok()?;
    Some((Server::find(&[])?, template))
});

impl Server {
    /// The URL of the server, without a database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Creates a database as a copy of another, to which nobody is connected.
    pub fn copy_database(&self, template: &str) -> String {
        let name = self.unused_name();
        self.create(&name, template);
        self.database(&name)
    }
}

/// Whether the tests use PostgreSQL.
pub fn is_on_server() -> bool {
    SERVER.is_some()
}

/// A new empty registry: in memory, or in a database of its own.
pub fn new_registry() -> Registry {
    match &*SERVER {
        None => Registry::in_memory().unwrap(),
        Some((server, template)) => {
            let url = server.copy_database(template);
            Registry::open(Path::new(&url), Access::Write).unwrap()
        }
    }
}

/// A new empty registry that has a path or an address: in a directory, or in a database of its own.
pub fn new_registry_in(directory: &Path) -> (PathBuf, Registry) {
    match &*SERVER {
        None => {
            let path = directory.join("accession.db");
            let registry = Registry::create(&path).unwrap();
            (path, registry)
        }
        Some((server, template)) => {
            let url = PathBuf::from(server.copy_database(template));
            let registry = Registry::open(&url, Access::Write).unwrap();
            (url, registry)
        }
    }
}
