//! The connection is cut after each of many byte counts, in either direction, by a proxy between the
//! program and the server.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use accession::{Access, Registry};

use crate::scene::{Scene, ingest, name, periods_of, rounds, stamp};

/// Which bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    FromServer,
}

/// A proxy that passes everything on until its budget of bytes is spent: then it cuts that
/// connection, and passes on all others.
struct Proxy {
    directory: tempfile::TempDir,
    budget: Arc<AtomicI64>,
}

impl Proxy {
    fn before(server: PathBuf, direction: Direction) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let budget = Arc::new(AtomicI64::new(i64::MAX));
        let shared = Arc::clone(&budget);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = UnixStream::connect(&server) else { continue };
                let (to, from) = match direction {
                    Direction::ToServer => (Some(Arc::clone(&shared)), None),
                    Direction::FromServer => (None, Some(Arc::clone(&shared))),
                };
                pass(client.try_clone().unwrap(), server.try_clone().unwrap(), to);
                pass(server, client, from);
            }
        });
        Proxy { directory, budget }
    }

    fn url(&self, database: &str) -> PathBuf {
        let host = self.directory.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{host}/{database}").into()
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, budget: Option<Arc<AtomicI64>>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 4_096];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let mut length = read;
            if let Some(budget) = &budget {
                let left = budget.fetch_sub(read as i64, Ordering::SeqCst);
                if left < read as i64 && left > i64::MIN / 2 {
                    length = left.max(0) as usize;
                }
            }
            let passed = to.write_all(&buffer[..length]);
            if length < read {
                // Only this connection: the next has no budget.
                if let Some(budget) = &budget {
                    budget.store(i64::MAX, Ordering::SeqCst);
                }
                break;
            }
            if passed.is_err() {
                break;
            }
        }
        let _ = from.shutdown(std::net::Shutdown::Both);
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}

#[test]
fn a_change_is_made_once_or_refused_wherever_the_connection_is_cut() {
    let Some(scene) = Scene::private() else { return };
    let database = scene.url.rsplit('/').next().unwrap().to_owned();
    let socket =
        scene.url.split('@').nth(1).unwrap().split('/').next().unwrap().replace("%2F", "/");
    let socket = Path::new(&socket).join(".s.PGSQL.5432");
    let direct = scene.open();
    direct.change(&name("D"), &ingest("first"), &stamp()).unwrap();
    let mut report = String::new();
    for direction in [Direction::ToServer, Direction::FromServer] {
        let proxy = Proxy::before(socket.clone(), direction);
        let url = proxy.url(&database);
        let (mut made, mut refused, mut cuts) = (0, 0, 0);
        let step = i64::from(rounds(61, 7));
        let mut bytes = 0;
        // Until the whole change fits into the budget.
        loop {
            let granule_id = format!("{direction:?}.{bytes}");
            proxy.budget.store(bytes, Ordering::SeqCst);
            let result = Registry::open(&url, Access::Write)
                .and_then(|registry| registry.change(&name("D"), &ingest(&granule_id), &stamp()));
            let was_cut = proxy.budget.load(Ordering::SeqCst) > i64::MAX / 2;
            // A change queues for the lock, and so the cut one is over.
            direct.change(&name("D"), &ingest(&format!("{granule_id}.next")), &stamp()).unwrap();
            let periods = periods_of(&direct, &granule_id);
            match result {
                Ok(_) => {
                    assert_eq!(periods, 1, "{granule_id}");
                    made += 1;
                }
                Err(error) => {
                    assert!(was_cut, "{granule_id}: {error:?}");
                    assert_ne!(error.kind().as_str(), "outcome-unknown", "{granule_id}: {error:?}");
                    assert_eq!(periods, 0, "{granule_id}: {error:?}");
                    refused += 1;
                }
            }
            cuts += u32::from(was_cut);
            if !was_cut {
                break;
            }
            bytes += step;
        }
        assert!(cuts > 20, "{direction:?}: {cuts}");
        report.push_str(&format!("{direction:?}: {cuts} cuts, {made} made, {refused} refused; "));
    }
    let verified = direct.verify_all(&[]).unwrap().finish().unwrap();
    assert_eq!(verified.findings, 0);
    println!("{report}");
}
