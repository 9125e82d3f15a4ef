//! The server that the environment names.

use super::server::Server;

/// The URL of a server on which databases may be created, without a database.
pub const VARIABLE: &str = "ACCESSION_TEST_POSTGRES";

impl Server {
    /// The server of the environment, or one that is started with these settings. `None` means that
    /// there is neither, and the caller has nothing to test.
    pub fn find(settings: &[&str]) -> Option<Self> {
        if let Ok(url) = std::env::var(VARIABLE) {
            return Some(Server::at(url));
        }
        Server::start(settings)
    }

    /// A server that others have started.
    pub(super) fn at(url: String) -> Self {
        Server { url, own: None }
    }
}
