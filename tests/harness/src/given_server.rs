//! The server that the tests of one run share: the one that the environment names, or one of their own.

use std::sync::{Arc, Mutex, Weak};

use crate::server::Server;

/// The URL of a server on which databases may be created, without a database.
pub const VARIABLE: &str = "ACCESSION_TEST_POSTGRES";

/// It is stopped when the last test that uses it has ended.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server of the environment, or one that is started with these settings; without settings, the
    /// one that others use, too. `None` means that there is none, and the caller has nothing to test.
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

    /// A server that others have started.
    pub(crate) fn at(url: String) -> Self {
        Server { url, own: None, _shared: None }
    }
}
