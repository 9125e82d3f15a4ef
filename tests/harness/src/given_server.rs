//! The server that all tests of a run share: the one in the environment, or one that the run starts.

use std::sync::{Arc, Mutex, Weak};

use crate::server::Server;

/// The environment variable with the URL, without a database, of a server on which databases may be created.
pub const VARIABLE: &str = "ACCESSION_TEST_POSTGRES";

/// The shared server. It is stopped when the last test that uses it has ended.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server in the environment, or one that is started with these settings. Without settings, the tests
    /// share the started server. `None` means that there is none, and the caller has nothing to test.
    pub fn find(settings: &[&str]) -> Option<Self> {
        if let Ok(url) = std::env::var(VARIABLE) {
            return Some(Server::at(url));
        }
        if !settings.is_empty() {
            return Server::start(settings);
        }
        let mut shared = SHARED.lock().unwrap();
        let server = match shared.upgrade() {
            Some(server) => server,
            None => Arc::new(Server::start(settings)?),
        };
        *shared = Arc::downgrade(&server);
        Some(Server { url: server.url.clone(), own: None, _shared: Some(server) })
    }

    /// A server that is already running.
    pub(crate) fn at(url: String) -> Self {
        Server { url, own: None, _shared: None }
    }
}
