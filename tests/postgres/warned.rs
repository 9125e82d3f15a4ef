//! A server that warns at a commit, as Citus does if a machine has not confirmed its part, by a proxy
//! between the program and the server.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use accession::{Access, OpenOptions};

use crate::scene::{Scene, ingest, name, periods_of, stamp};

/// Puts a warning before the answer to a COMMIT, and then takes further connections or refuses them.
fn warn_at_commits(socket: &Path, listener: UnixListener, takes_more: bool) {
    let is_over = Arc::<AtomicBool>::default();
    for client in listener.incoming() {
        let Ok(client) = client else { return };
        if is_over.load(Ordering::SeqCst) && !takes_more {
            continue;
        }
        let server = UnixStream::connect(socket).unwrap();
        let commits = Arc::<AtomicBool>::default();
        for is_answer in [false, true] {
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            if is_answer {
                std::mem::swap(&mut from, &mut to);
            }
            let (commits, is_over) = (Arc::clone(&commits), Arc::clone(&is_over));
            std::thread::spawn(move || {
                let mut buffer = [0; 65_536];
                while let Ok(read @ 1..) = from.read(&mut buffer) {
                    let bytes = &buffer[..read];
                    if is_answer && commits.swap(false, Ordering::SeqCst) {
                        is_over.store(true, Ordering::SeqCst);
                        to.write_all(&warning()).unwrap();
                    }
                    if !is_answer && bytes.windows(7).any(|word| word == b"COMMIT\0") {
                        commits.store(true, Ordering::SeqCst);
                    }
                    if to.write_all(bytes).is_err() {
                        break;
                    }
                }
                let _ = to.shutdown(std::net::Shutdown::Both);
            });
        }
    }
}

/// A NoticeResponse of PostgreSQL's protocol.
fn warning() -> Vec<u8> {
    let fields = b"SWARNING\0VWARNING\0C01000\0Ma machine did not confirm its part\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    [b"N".as_slice(), &length, fields].concat()
}

/// What a change through the proxy returns.
fn change_with_a_warning(scene: &Scene, granule_id: &str, takes_more: bool) -> Result<(), String> {
    let (server, database) = scene.url.split_once('@').unwrap().1.split_once('/').unwrap();
    let socket = Path::new(&server.replace("%2F", "/")).join(".s.PGSQL.5432");
    let directory = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
    std::thread::spawn(move || warn_at_commits(&socket, listener, takes_more));
    let host = directory.path().to_str().unwrap().replace('/', "%2F");
    let url = format!("postgres://postgres@{host}/{database}");
    let options =
        OpenOptions { busy_wait: Duration::from_millis(300), ..OpenOptions::new(Access::Write) };
    let registry = options.open(Path::new(&url)).unwrap();
    let changed = registry.change(&name("D"), &ingest(granule_id), &stamp());
    changed.map(drop).map_err(|error| error.kind().as_str().to_owned())
}

#[test]
fn a_commit_with_a_warning_is_asked_about_and_never_called_refused() {
    let Some(scene) = Scene::private() else { return };
    let direct = scene.open();
    direct.change(&name("D"), &ingest("first"), &stamp()).unwrap();
    assert_eq!(change_with_a_warning(&scene, "confirmed", true), Ok(()));
    // Nobody can be asked whether it is visible, but the server has answered that it is made.
    let unseen = change_with_a_warning(&scene, "unseen", false);
    assert_eq!(unseen, Err("not-visible".to_owned()));
    for granule_id in ["confirmed", "unseen"] {
        assert_eq!(periods_of(&direct, granule_id), 1, "{granule_id}");
    }
}
