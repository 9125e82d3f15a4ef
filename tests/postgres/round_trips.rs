//! How often a command waits for the server.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;

use accession::{Stamp, Timestamp, mirror};

use crate::scene::{Scene, command, ingest, name, stamp};

/// Counts how often the client sends something after the server has answered.
#[derive(Default)]
struct Turns {
    has_answered: bool,
    number: usize,
}

/// A proxy before the server.
struct Proxy {
    directory: tempfile::TempDir,
    turns: Arc<Mutex<Turns>>,
}

impl Proxy {
    fn before(server: PathBuf) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(directory.path().join(".s.PGSQL.5432")).unwrap();
        let turns: Arc<Mutex<Turns>> = Arc::default();
        let shared = Arc::clone(&turns);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let server = UnixStream::connect(&server).unwrap();
                let copies = (client.try_clone().unwrap(), server.try_clone().unwrap());
                let (asked, answered) = (Arc::clone(&shared), Arc::clone(&shared));
                std::thread::spawn(move || {
                    pass(client, server, || {
                        let mut turns = asked.lock().unwrap();
                        turns.number += usize::from(std::mem::take(&mut turns.has_answered));
                    });
                });
                std::thread::spawn(move || {
                    pass(copies.1, copies.0, || answered.lock().unwrap().has_answered = true);
                });
            }
        });
        Proxy { directory, turns }
    }

    /// The round trips of a command, without that of the farewell.
    fn of(&self, database: &str, arguments: &[&str]) -> usize {
        *self.turns.lock().unwrap() = Turns::default();
        let host = self.directory.path().to_str().unwrap().replace('/', "%2F");
        let url = format!("postgres://postgres@{host}/{database}");
        let output = command(&url, arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        self.turns.lock().unwrap().number - 1
    }
}

fn pass(mut from: UnixStream, mut to: UnixStream, mut each: impl FnMut()) {
    let mut buffer = [0; 65_536];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        each();
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// Where the time was recorded last is a pass on every machine of a cluster. A clock that is ahead is
/// found by it, so it is asked for when the times of the dataset itself do not say that the clock is right.
#[test]
fn a_night_asks_at_most_once_what_was_recorded_last() {
    let Some(scene) = Scene::private() else { return };
    let registry = scene.open();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let now = Timestamp::from_micros(i64::try_from(now).unwrap()).unwrap();
    registry.change(&name("NEW"), &ingest("A"), &Stamp::now(now)).unwrap();
    let years_ago = Timestamp::from_micros(now.as_micros() - 3 * 366 * 86_400_000_000).unwrap();
    let stamp = Stamp { is_clock_confirmed: true, ..Stamp::now(years_ago) };
    registry.change(&name("OLD"), &ingest("A"), &stamp).unwrap();
    registry.change(&name("MIRROR"), &ingest("A"), &stamp).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let [same, later] = ["same", "later"].map(|file| {
        let path = directory.path().join(file);
        mirror::manifest::write(&registry, &name("OLD"), None, &mut File::create(&path).unwrap())
            .unwrap();
        if file == "same" {
            registry.change(&name("OLD"), &ingest("B"), &stamp).unwrap();
        }
        path.to_str().unwrap().to_owned()
    });
    let nights: [(&[&str], usize); 7] = [
        (&["sync", "NEW", "A"], 0),
        (&["sync", "NEW", "A", "B"], 0),
        (&["sync", "OLD", "A", "B"], 1),
        (&["mirror", "pull", "MIRROR", &same], 1),
        (&["mirror", "pull", "MIRROR", &later], 1),
        // Nothing is new, and only what is remembered of the primary is written.
        (&["mirror", "pull", "MIRROR", &later], 0),
        (&["sync", "OLD", "A", "B", "C"], 1),
    ];
    for (night, asked) in nights {
        let run = || {
            let output = scene.command(night).output().unwrap();
            assert!(output.status.success(), "{night:?}: {output:?}");
        };
        let statements = scene.server.statements_of(run);
        let is_asked = |sql: &&String| sql.contains("max(newest)");
        assert_eq!(statements.iter().filter(is_asked).count(), asked, "{night:?}: {statements:#?}");
    }
}

#[test]
fn opening_asks_once_and_a_change_and_a_look_up_take_few_round_trips() {
    let Some(scene) = Scene::private() else { return };
    scene.open().change(&name("D"), &ingest("A"), &stamp()).unwrap();
    let database = scene.url.rsplit('/').next().unwrap();
    let socket =
        scene.url.split('@').nth(1).unwrap().split('/').next().unwrap().replace("%2F", "/");
    let proxy = Proxy::before(Path::new(&socket).join(".s.PGSQL.5432"));
    let trips = [
        &["lookup", "D"][..],
        &["lookup", "D", "--at", "2026-01-05"],
        &["ingest", "D", "B"],
        &["dataset", "list"],
    ]
    .map(|arguments| proxy.of(database, arguments));
    // Of these, one is of connecting, and one may be of a message that arrives in two parts. What is queued
    // together is sent together.
    let most = [10, 10, 8, 7];
    assert!(trips.iter().zip(most).all(|(trips, most)| *trips <= most), "{trips:?}");
    let statements =
        scene.server.statements_of(|| drop(scene.command(&["lookup", "D"]).output().unwrap()));
    let is_question = |sql: &&String| sql.starts_with("SELECT");
    assert_eq!(statements.iter().filter(is_question).count(), 8, "{statements:#?}");
}
