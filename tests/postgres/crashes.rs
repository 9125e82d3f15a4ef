//! The client or the server is killed while changes are made: nothing that was acknowledged is
//! lost, nothing is there twice, and nothing is half there.

use std::time::{Duration, Instant};

use accession::Registry;

use crate::scene::{Scene, dice, ingest, name, periods_of, rounds, stamp};

fn assert_consistent(registry: &Registry) {
    let mut verifications = registry.verify_all(&[]).unwrap();
    for verification in verifications.by_ref() {
        assert_eq!(verification.unwrap().mismatches, []);
    }
    assert_eq!(verifications.verified().findings, 0);
}

#[test]
fn a_client_that_is_killed_has_made_its_change_or_not() {
    let Some(scene) = Scene::new() else { return };
    let registry = scene.open();
    registry.change(&name("D"), &ingest("first"), &stamp()).unwrap();
    let rounds = rounds(50, 150);
    // As long as an undisturbed change takes here, and a little longer.
    let began = Instant::now();
    assert!(scene.command(&["ingest", "D", "--quiet", "undisturbed"]).status().unwrap().success());
    let longest = began.elapsed().as_micros() as u64 * 5 / 4;
    let (mut there, mut acknowledged) = (0, 0);
    for round in 0..rounds {
        let granule_id = format!("G{round}");
        let mut child = scene.command(&["ingest", "D", "--quiet", &granule_id]).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(dice(round, longest)));
        child.kill().unwrap();
        let is_acknowledged = child.wait().unwrap().success();
        acknowledged += u32::from(is_acknowledged);
        // This change waits for the lock, so it starts only after the killed one has ended.
        registry.change(&name("D"), &ingest(&format!("H{round}")), &stamp()).unwrap();
        let periods = periods_of(&registry, &granule_id);
        assert!(periods <= 1, "{granule_id}");
        assert!(periods == 1 || !is_acknowledged, "{granule_id} was acknowledged");
        there += periods;
    }
    assert_consistent(&registry);
    assert!(there > 0 && there < rounds as usize, "{there} of {rounds} kills were late");
    println!("{rounds} kills of the client: {there} changes made, {acknowledged} acknowledged");
}

#[test]
fn a_server_that_is_killed_keeps_what_it_acknowledged_and_nothing_twice() {
    let Some(scene) = Scene::private() else { return };
    scene.open().change(&name("D"), &ingest("first"), &stamp()).unwrap();
    let rounds = rounds(50, 110);
    let mut results = [0; 3];
    for round in 0..rounds {
        let granule_id = format!("G{round}");
        let registry = scene.open();
        let result = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut result = Ok(());
                // Several changes, so that the server dies in one of them.
                for number in 0..40 {
                    let granule_id = format!("{granule_id}.{number}");
                    result = registry
                        .change(&name("D"), &ingest(&granule_id), &stamp())
                        .map(|_| ())
                        .map_err(|error| (number, error));
                    if result.is_err() {
                        break;
                    }
                }
                result
            });
            std::thread::sleep(Duration::from_micros(dice(round, 40_000)));
            scene.server.crash();
            writer.join().unwrap()
        });
        let registry = scene.open();
        let made = |number: usize| periods_of(&registry, &format!("{granule_id}.{number}"));
        let acknowledged = match &result {
            Ok(()) => 40,
            Err((number, _)) => *number,
        };
        for number in 0..acknowledged {
            assert_eq!(made(number), 1, "{granule_id}.{number} was acknowledged");
        }
        match result {
            Ok(()) => results[0] += 1,
            Err((number, error)) if error.kind().as_str() == "outcome-unknown" => {
                assert!(made(number) <= 1);
                results[2] += 1;
            }
            // Any other error says that nothing was changed.
            Err((number, error)) => {
                assert_eq!(made(number), 0, "{granule_id}.{number}: {error:?}");
                results[1] += 1;
            }
        }
        for number in acknowledged + 1..40 {
            assert_eq!(made(number), 0);
        }
    }
    assert_consistent(&scene.open());
    let [made, refused, unknown] = results;
    println!("{rounds} kills of the server: {made} all made, {refused} refused, {unknown} unknown");
}
