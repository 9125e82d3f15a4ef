//! A server that warns at a commit, as Citus does if a machine has not confirmed its part. A proxy between the
//! program and the server inserts the warning.

use harness::values::clock;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use accession::Registry;

use crate::proxy::Proxy;
use crate::scene::{Scene, ingest, name, periods_of};

/// A NoticeResponse of PostgreSQL's protocol.
fn warning() -> Vec<u8> {
    let fields = b"SWARNING\0VWARNING\0C01000\0Ma machine did not confirm its part\0\0";
    let length = u32::try_from(fields.len() + 4).unwrap().to_be_bytes();
    [b"N".as_slice(), &length, fields].concat()
}

/// The result of a change through a proxy. The proxy inserts a warning before the response to a COMMIT, and
/// then accepts further connections or rejects them.
fn change_with_a_warning(scene: &Scene, granule_id: &str, takes_more: bool) -> Result<(), String> {
    let (commits, is_over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let (answers, was_warned) = (Arc::clone(&commits), Arc::clone(&is_over));
    let proxy = Proxy::before(
        scene,
        move |bytes, to| {
            // The first message of a connection has no tag, but begins with its length and this version.
            let is_new = bytes.get(4..8) == Some(&[0, 3, 0, 0]);
            if is_new && is_over.load(Ordering::SeqCst) && !takes_more {
                return Err(ErrorKind::ConnectionRefused.into());
            }
            if bytes.windows(7).any(|word| word == b"COMMIT\0") {
                commits.store(true, Ordering::SeqCst);
            }
            to.write_all(bytes)
        },
        move |bytes, to| {
            if answers.swap(false, Ordering::SeqCst) {
                was_warned.store(true, Ordering::SeqCst);
                to.write_all(&warning())?;
            }
            to.write_all(bytes)
        },
    );
    let wait = Duration::from_millis(300);
    let registry = Registry::open(Path::new(&proxy.url()), clock()).unwrap().with_busy_wait(wait);
    let changed = registry.change(&name("D"), &ingest(granule_id));
    changed.map(drop).map_err(|error| error.kind().as_str().to_owned())
}

#[test]
fn a_commit_with_a_warning_is_asked_about_and_never_called_refused() {
    let Some(scene) = Scene::private() else { return };
    let direct = scene.open();
    direct.change(&name("D"), &ingest("first")).unwrap();
    assert_eq!(change_with_a_warning(&scene, "confirmed", true), Ok(()));
    // The program cannot check whether the change is visible, but the server has confirmed the commit.
    let unseen = change_with_a_warning(&scene, "unseen", false);
    assert_eq!(unseen, Err("not-visible".to_owned()));
    for granule_id in ["confirmed", "unseen"] {
        assert_eq!(periods_of(&direct, granule_id), 1, "{granule_id}");
    }
}
