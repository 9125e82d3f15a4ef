//! A proxy between the program and a server, which sees the data of both sides.

use std::io::{Read, Result};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::scene::Scene;

/// The proxy, as a server in its own directory.
pub struct Proxy {
    directory: tempfile::TempDir,
    database: String,
    /// Each thread that forwards data has a clone.
    passing: Arc<()>,
}

impl Proxy {
    /// Creates a proxy in front of the server of a scene. Data from the client is passed to `to_server`, and
    /// data from the server to `to_client`. Both must forward it, and an error ends that connection. If a
    /// client is gone, the server gets the data that it had sent, and then the end.
    pub fn before<ToServer, ToClient>(
        scene: &Scene,
        to_server: ToServer,
        to_client: ToClient,
    ) -> Self
    where
        ToServer: Fn(&[u8], &mut UnixStream) -> Result<()> + Send + Sync + 'static,
        ToClient: Fn(&[u8], &mut UnixStream) -> Result<()> + Send + Sync + 'static,
    {
        let (server, database) = scene.url.split_once('@').unwrap().1.rsplit_once('/').unwrap();
        let server = Path::new(&server.replace("%2F", "/")).join(".s.PGSQL.5432");
        let directory = harness::directory();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let (to_server, to_client) = (Arc::new(to_server), Arc::new(to_client));
        let passing = Arc::new(());
        let in_use = Arc::downgrade(&passing);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = UnixStream::connect(&server) else { continue };
                let Some(passing) = in_use.upgrade() else { return };
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                pass(from, to, Arc::clone(&to_server), Arc::clone(&passing));
                pass(server, client, Arc::clone(&to_client), passing);
            }
        });
        Proxy { directory, database: database.to_owned(), passing }
    }

    /// Waits until no connection forwards data. The clients must have disconnected before; data from the
    /// server may still be in transit.
    pub fn wait_until_idle(&self) {
        while Arc::strong_count(&self.passing) > 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The address of the registry of the scene, through the proxy.
    pub fn url(&self) -> String {
        let host = self.directory.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{host}/{}", self.database)
    }
}

fn pass<Each>(mut from: UnixStream, mut to: UnixStream, each: Arc<Each>, passing: Arc<()>)
where
    Each: Fn(&[u8], &mut UnixStream) -> Result<()> + Send + Sync + 'static,
{
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        let mut ended = Shutdown::Write;
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            if each(&buffer[..read], &mut to).is_err() {
                ended = Shutdown::Both;
                let _ = from.shutdown(ended);
                break;
            }
        }
        let _ = to.shutdown(ended);
        drop(passing);
    });
}
