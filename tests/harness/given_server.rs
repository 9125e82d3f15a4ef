//! The server that the environment names.

use std::sync::atomic::AtomicU32;

use super::server::Server;

/// The URL of a server on which databases may be created, without a database.
pub const VARIABLE: &str = "ACCESSION_TEST_POSTGRES";

impl Server {
    /// The server of the environment, or one that is started with these settings. `None` means that
    /// there is neither: this is reported, and the caller has nothing to test.
    pub fn find(settings: &[&str]) -> Option<Self> {
        if let Ok(url) = std::env::var(VARIABLE) {
            return Some(Server::at(url));
        }
        let server = Server::start(settings);
        if server.is_none() {
            eprintln!("NOT CHECKED: PostgreSQL, because initdb is not installed");
        }
        server
    }

    /// A server that others have started.
    pub(super) fn at(url: String) -> Self {
        Server { url, own: None, databases: AtomicU32::new(0) }
    }
}
