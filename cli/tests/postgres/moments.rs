//! The client or the server is killed at a certain moment of a commit: before the server has the message, when
//! it has it, and when it has responded.

use harness::values::clock;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use accession::{DatasetFilter, Registry};

use crate::proxy::Proxy;
use crate::scene::{Scene, command, ingest, name, periods_of, rounds};

/// The moment of the kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The server gets the rows, but never the COMMIT.
    Before,
    /// The server gets the COMMIT, and the kill follows at once.
    During,
    /// The server has responded, but the client never gets the response.
    After,
}

type Kill = Box<dyn FnOnce() + Send>;

/// The kill at the next COMMIT.
#[derive(Clone, Default)]
struct Armed(Arc<Mutex<Option<(Moment, Kill)>>>);

impl Armed {
    /// Prepares a kill. The receiver gets a message when it is over.
    fn arm(&self, moment: Moment, kill: impl FnOnce() + Send + 'static) -> Receiver<()> {
        let (over, is_over) = channel();
        let kill = move || {
            kill();
            over.send(()).unwrap();
        };
        *self.0.lock().unwrap() = Some((moment, Box::new(kill)));
        is_over
    }

    fn take(&self, moments: &[Moment]) -> Option<(Moment, Kill)> {
        self.0.lock().unwrap().take_if(|(moment, _)| moments.contains(moment))
    }
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Forwards data from the client: the rows of its change, and then its COMMIT in a separate message.
fn at_commit(armed: &Armed, bytes: &[u8], to: &mut UnixStream) -> std::io::Result<()> {
    // A simple query, with its length in bytes.
    const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";
    let commit = bytes.windows(COMMIT.len()).position(|window| window == COMMIT);
    if let Some(commit) = commit
        && let Some((moment, kill)) = armed.take(&[Moment::Before, Moment::During])
    {
        if moment == Moment::Before {
            to.write_all(&bytes[..commit])?;
            kill();
            return Err(std::io::ErrorKind::ConnectionReset.into());
        }
        to.write_all(bytes)?;
        kill();
        return Ok(());
    }
    to.write_all(bytes)
}

/// Forwards data from the server, which confirms the commit with a tag.
fn at_answer(armed: &Armed, bytes: &[u8], to: &mut UnixStream) -> std::io::Result<()> {
    if contains(bytes, b"COMMIT\0")
        && let Some((_, kill)) = armed.take(&[Moment::After])
    {
        kill();
        return Err(std::io::ErrorKind::ConnectionReset.into());
    }
    to.write_all(bytes)
}

/// A scene with a dataset, the kill, and a proxy in front of its server.
fn prepared() -> Option<(Scene, Armed, Proxy)> {
    let scene = Scene::private()?;
    scene.open().change(&name("D"), &ingest("first")).unwrap();
    let armed = Armed::default();
    let (to_server, to_client) = (armed.clone(), armed.clone());
    let proxy = Proxy::before(
        &scene,
        move |bytes, to| at_commit(&to_server, bytes, to),
        move |bytes, to| at_answer(&to_client, bytes, to),
    );
    Some((scene, armed, proxy))
}

const MOMENTS: [Moment; 3] = [Moment::Before, Moment::During, Moment::After];

#[test]
fn a_client_that_is_killed_at_its_commit_has_made_its_change_or_not() {
    let Some((scene, armed, proxy)) = prepared() else { return };
    let direct = scene.open();
    for moment in MOMENTS {
        let (rounds, mut made) = (rounds(4, 40), 0);
        for round in 0..rounds {
            let granule_id = format!("{moment:?}.{round}");
            let mut command =
                command(&proxy.url(), &["ingest", "D", "--quiet", "--id", &granule_id]);
            let child: Arc<Mutex<Option<std::process::Child>>> = Arc::default();
            let killed = Arc::clone(&child);
            // The proxy gets the COMMIT only after the child is stored here, so that it can be killed.
            let mut child = child.lock().unwrap();
            let is_over = armed.arm(moment, move || {
                killed.lock().unwrap().as_mut().unwrap().kill().unwrap();
            });
            *child = Some(command.spawn().unwrap());
            drop(child);
            is_over.recv().unwrap();
            // The server may have confirmed the commit of the killed client. That response must not be
            // mistaken for the response to the next client.
            proxy.wait_until_idle();
            // This change waits for the lock, so it starts only after the killed one has ended.
            direct.change(&name("D"), &ingest(&format!("{granule_id}.next"))).unwrap();
            let periods = periods_of(&direct, &granule_id);
            match moment {
                Moment::Before => assert_eq!(periods, 0, "{granule_id}"),
                Moment::During => assert!(periods <= 1, "{granule_id}"),
                Moment::After => assert_eq!(periods, 1, "{granule_id}"),
            }
            made += periods;
        }
        println!("{rounds} kills of the client, {moment:?} the commit: {made} changes made");
    }
    assert_eq!(direct.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}

#[test]
fn a_server_that_is_killed_at_a_commit_has_made_the_change_if_the_client_is_told_so() {
    let Some((scene, armed, proxy)) = prepared() else { return };
    let scene = Arc::new(scene);
    for moment in MOMENTS {
        let (rounds, mut results) = (rounds(4, 40), [0; 3]);
        for round in 0..rounds {
            let granule_id = format!("{moment:?}.{round}");
            let registry = Registry::open(Path::new(&proxy.url()), clock()).unwrap();
            let killed = Arc::clone(&scene);
            let is_over = armed.arm(moment, move || killed.server.crash());
            let result = registry.change(&name("D"), &ingest(&granule_id));
            is_over.recv().unwrap();
            drop(registry);
            proxy.wait_until_idle();
            let periods = periods_of(&scene.open(), &granule_id);
            match result {
                // Also if the COMMIT never arrived: if it is certain that a change was not made, it is
                // repeated.
                Ok(_) => {
                    assert_eq!(periods, 1, "{granule_id}");
                    results[0] += 1;
                }
                Err(error) if error.kind().as_str() == "outcome-unknown" => {
                    assert!(periods <= 1, "{granule_id}");
                    results[2] += 1;
                }
                Err(error) => {
                    assert_eq!(periods, 0, "{granule_id}: {error:?}");
                    assert_ne!(moment, Moment::After, "{granule_id}");
                    results[1] += 1;
                }
            }
        }
        let [made, refused, unknown] = results;
        println!(
            "{rounds} kills of the server, {moment:?} the commit: {made} made, {refused} refused, \
             {unknown} unknown"
        );
    }
    let registry = scene.open();
    assert_eq!(registry.verify_all(&DatasetFilter::All).unwrap().finish().unwrap().findings, 0);
}
