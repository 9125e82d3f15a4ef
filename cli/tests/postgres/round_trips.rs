//! How often a command waits for the server.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::Mutex;

use accession::{Clock, Timestamp, mirror};

use crate::proxy::Proxy;
use crate::scene::{Scene, command, ingest, name};

/// Counts how often the client sends something after a response of the server.
#[derive(Default)]
struct Turns {
    has_answered: bool,
    number: usize,
}

/// To look up the latest recorded time, every machine of a cluster is queried. The time is needed to detect a
/// clock that is ahead. It is looked up only if the times of the dataset itself do not show that the clock is
/// right.
#[test]
fn a_night_asks_at_most_once_what_was_recorded_last() {
    let Some(scene) = Scene::private() else { return };
    let registry = scene.open();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_micros();
    let now = Timestamp::from_micros(i64::try_from(now).unwrap()).unwrap();
    let registry = registry.with_clock(Clock::fixed(now));
    registry.change(&name("NEW"), &ingest("A")).unwrap();
    let years_ago = Timestamp::from_micros(now.as_micros() - 3 * 366 * 86_400_000_000).unwrap();
    registry
        .with_clock(Clock::fixed(years_ago).confirmed())
        .change(&name("OLD"), &ingest("A"))
        .unwrap();
    registry
        .with_clock(Clock::fixed(years_ago).confirmed())
        .change(&name("MIRROR"), &ingest("A"))
        .unwrap();
    let directory = harness::directory();
    let [same, later] = ["same", "later"].map(|file| {
        let path = directory.path().join(file);
        mirror::manifest::write(&registry, &name("OLD"), None, &mut File::create(&path).unwrap())
            .unwrap();
        if file == "same" {
            registry
                .with_clock(Clock::fixed(years_ago).confirmed())
                .change(&name("OLD"), &ingest("B"))
                .unwrap();
        }
        path.to_str().unwrap().to_owned()
    });
    let [one, two, three] = ["A\n", "A\nB\n", "A\nB\nC\n"].map(|ids| {
        let path = directory.path().join(format!("{}.txt", ids.len()));
        std::fs::write(&path, ids).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let nights: [(&[&str], usize); 7] = [
        (&["sync", "NEW", &one], 0),
        (&["sync", "NEW", &two], 0),
        (&["sync", "OLD", &two], 1),
        (&["mirror", "pull", "MIRROR", &same], 1),
        (&["mirror", "pull", "MIRROR", &later], 1),
        // Nothing is new, so only the state of the primary is written.
        (&["mirror", "pull", "MIRROR", &later], 0),
        (&["sync", "OLD", &three], 1),
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
    scene.open().change(&name("D"), &ingest("A")).unwrap();
    let turns: Arc<Mutex<Turns>> = Arc::default();
    let (asked, answered) = (Arc::clone(&turns), Arc::clone(&turns));
    let proxy = Proxy::before(
        &scene,
        move |bytes, to| {
            let mut turns = asked.lock().unwrap();
            turns.number += usize::from(std::mem::take(&mut turns.has_answered));
            drop(turns);
            to.write_all(bytes)
        },
        move |bytes, to| {
            answered.lock().unwrap().has_answered = true;
            to.write_all(bytes)
        },
    );
    // The round trips of a command, without that of closing the connection.
    let of = |arguments: &[&str]| {
        *turns.lock().unwrap() = Turns::default();
        let output = command(&proxy.url(), arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        turns.lock().unwrap().number - 1
    };
    let trips = [
        &["show", "D"][..],
        &["show", "D@2026-01-05"],
        &["ingest", "D", "--id", "B"],
        &["dataset", "list"],
    ]
    .map(of);
    // One of these is for connecting, and one may be for a message that arrives in two parts. Queued messages
    // are sent together.
    let most = [13, 12, 10, 7];
    assert!(trips.iter().zip(most).all(|(trips, most)| *trips <= most), "{trips:?}");
    let statements =
        scene.server.statements_of(|| drop(scene.command(&["show", "D"]).output().unwrap()));
    let is_question = |sql: &&String| sql.starts_with("SELECT");
    // The description of a dataset includes its subsets, and whether a listing was rejected.
    assert_eq!(statements.iter().filter(is_question).count(), 11, "{statements:#?}");
}
