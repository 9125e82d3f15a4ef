//! The connection is cut after each of many numbers of bytes, in either direction.

use harness::values::clock;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use accession::{DatasetFilter, Registry};

use crate::proxy::Proxy;
use crate::scene::{Scene, ingest, name, periods_of, rounds};

/// The direction in which bytes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    FromServer,
}

/// Forwards all data until the budget of bytes is spent. Then it cuts that connection, and forwards the data of
/// all others.
fn spend(budget: &AtomicI64, bytes: &[u8], to: &mut UnixStream) -> std::io::Result<()> {
    let sent = bytes.len() as i64;
    let left = budget.fetch_sub(sent, Ordering::SeqCst);
    if left >= sent {
        return to.write_all(bytes);
    }
    to.write_all(&bytes[..left.max(0) as usize])?;
    budget.store(i64::MAX, Ordering::SeqCst);
    Err(std::io::ErrorKind::ConnectionReset.into())
}

fn proxy(scene: &Scene, direction: Direction, budget: &Arc<AtomicI64>) -> Proxy {
    let budget = Arc::clone(budget);
    let spend = move |bytes: &[u8], to: &mut UnixStream| spend(&budget, bytes, to);
    let pass = |bytes: &[u8], to: &mut UnixStream| to.write_all(bytes);
    match direction {
        Direction::ToServer => Proxy::before(scene, spend, pass),
        Direction::FromServer => Proxy::before(scene, pass, spend),
    }
}

#[test]
fn a_change_is_made_once_or_refused_wherever_the_connection_is_cut() {
    let Some(scene) = Scene::private() else { return };
    let direct = scene.open();
    direct.change(&name("D"), &ingest("first")).unwrap();
    let mut report = String::new();
    for direction in [Direction::ToServer, Direction::FromServer] {
        let budget = Arc::new(AtomicI64::new(i64::MAX));
        let proxy = proxy(&scene, direction, &budget);
        let url = PathBuf::from(proxy.url());
        let (mut made, mut refused, mut cuts) = (0, 0, 0);
        let step = i64::from(rounds(61, 7));
        let mut bytes = 0;
        // Repeats until the whole change fits into the budget.
        loop {
            let granule_id = format!("{direction:?}.{bytes}");
            budget.store(bytes, Ordering::SeqCst);
            let result = Registry::open(&url, clock())
                .and_then(|registry| registry.change(&name("D"), &ingest(&granule_id)));
            let was_cut = budget.load(Ordering::SeqCst) > i64::MAX / 2;
            // This change waits for the lock, so it starts only after the cut one has ended.
            direct.change(&name("D"), &ingest(&format!("{granule_id}.next"))).unwrap();
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
    let verified = direct.verify_all(&DatasetFilter::All).unwrap().finish().unwrap();
    assert_eq!(verified.findings, 0);
    println!("{report}");
}
