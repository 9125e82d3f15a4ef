//! A primary that was restored from an older backup: its mirrors reject it every night, until an operator acts.

use harness::pulls::PullPolicy;
use harness::values::clock;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use accession::mirror::MirrorStatus;
use accession::{Registry, Timestamp};

use crate::mirror_world::{World, held};
use crate::running::program::program;
use harness::values::{name, step};

/// A mirror of A, B and C. Its primary is then restored from a backup with A and B.
fn restored() -> World {
    let world = World::new();
    step(&world.us, "US", 0, ["A", "B"], []);
    let backup = world.directory.path().join("backup.db");
    world.us.back_up(&backup).unwrap();
    step(&world.us, "US", 1, ["C"], []);
    assert!(world.pull(0, PullPolicy::Follow).is_identical());
    accession::Registry::restore(
        &backup,
        &world.directory.path().join("accession.db"),
        clock(),
        &accession::Watcher::new(),
    )
    .unwrap();
    world
}

/// The time at which the mirror was last identical.
fn last_identical(world: &World) -> Option<Timestamp> {
    let sources = world.mirror.snapshot().unwrap().mirror_sources(&name("MIRROR")).unwrap();
    sources[0].identical
}

#[test]
fn what_was_refused_is_refused_again_every_night_until_it_is_reset() {
    let world = restored();
    let (identical, mine) = (last_identical(&world), held(&world.mirror, "MIRROR"));
    let night = |at, status| {
        let pulled = world.pull(at, PullPolicy::Follow);
        assert_eq!((pulled.before.status, pulled.is_identical()), (status, false), "{at}");
        assert_eq!(world.compare(), status, "{at}");
        assert_eq!(held(&world.mirror, "MIRROR"), mine);
        assert_eq!(last_identical(&world), identical, "it was not identical since");
    };
    (1..4).for_each(|at| night(at, MirrorStatus::Stale));
    // The primary continues with different changes.
    let us = Registry::open(world.directory.path().join("accession.db"), clock()).unwrap();
    step(&us, "US", 9, ["X", "Y", "Z"], []);
    (4..7).for_each(|at| night(at, MirrorStatus::Rewritten));

    assert!(world.pull(10, PullPolicy::Reset).is_identical());
    assert_eq!(held(&world.mirror, "MIRROR"), held(&us, "US"));
    assert_eq!(world.compare(), MirrorStatus::Identical);
    // From here, only the head is read.
    for (at, compares) in [(11, false), (12, true), (13, false)] {
        world.proxy.served();
        match compares {
            true => assert_eq!(world.compare(), MirrorStatus::Identical),
            false => assert!(world.pull(at, PullPolicy::Follow).is_identical()),
        }
        let served = world.proxy.served();
        assert_eq!((served.len(), served[0].1 < 2_000), (1, true), "{at}: {served:?}");
    }
    // The mirror now holds a different set.
    step(&world.mirror, "MIRROR", 20, ["own"], []);
    assert_eq!(world.pull(21, PullPolicy::Follow).before.status, MirrorStatus::Ahead);
}

#[test]
fn what_stays_so_until_a_person_acts_is_reported_at_once() {
    let world = World::new();
    step(&world.us, "US", 0, ["A"], []);
    let problem = br#"{"kind":"published-otherwise","detail":"The history contradicts change 2."}"#;
    let head = "409 Conflict\r\ncontent-type: application/problem+json";
    world.proxy.misbehave(move |reply| reply.replace(head, problem));
    for at in 1..3 {
        world.proxy.served();
        let error = world.try_pull(&world.primary(), at, PullPolicy::Follow).unwrap_err();
        assert_eq!(error.kind().as_str(), "primary-conflict", "{error}");
        assert!(error.to_string().contains("The history contradicts change 2."), "{error}");
        assert_eq!(world.proxy.served().len(), 1, "it is not tried again");
    }
}

#[test]
fn a_request_that_is_repeated_is_reported_with_verbose() {
    let world = World::new();
    step(&world.us, "US", 0, ["A"], []);
    let url = format!("http://{}/datasets/US/", world.proxy.address);
    let registry = world.directory.path().join("mirror.db");
    let pull = |options: &[&str]| {
        let mut is_first = true;
        world.proxy.misbehave(move |reply| {
            if std::mem::take(&mut is_first) {
                reply.replace("503 Service Unavailable", b"");
            }
        });
        let mut command = Command::new(program());
        command.arg("--registry").arg(&registry).args(["mirror", "pull", "M", &url, "--create"]);
        let output = command.args(options).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let text = pull(&["--verbose"]);
    let line = text.lines().next().unwrap();
    assert!(line.contains("head.json: the server responded with 503"), "{text}");
    assert!(line.ends_with("attempt 1 of 5 failed, trying again in 0.5 s"), "{text}");
    let json = pull(&["--verbose", "--json"]);
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(row["retry"]["kind"], "response", "{json}");
    assert_eq!((&row["retry"]["attempt"], &row["retry"]["seconds"]), (&1.into(), &0.5.into()));
    assert_eq!(pull(&[]), "", "not in a cron mail");
}

#[test]
fn a_server_says_for_how_long_a_mirror_waits() {
    let world = World::new();
    step(&world.us, "US", 0, ["A"], []);
    // A temporary condition is still waited for.
    let mut left = 2;
    world.proxy.misbehave(move |reply| {
        if left > 0 {
            left -= 1;
            reply.replace("503 Service Unavailable\r\nretry-after: 0", b"");
        }
    });
    let delays = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&delays);
    let primary = world.primary().before_retry(move |retry| {
        seen.lock().unwrap().push(retry.delay);
        retry.delay
    });
    assert!(world.try_pull(&primary, 0, PullPolicy::Follow).unwrap().is_identical());
    assert_eq!(*delays.lock().unwrap(), [Duration::ZERO; 2]);
}
