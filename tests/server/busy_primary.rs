//! A server whose registry is changed while a mirror reads it: between any two requests of one pull.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use accession::mirror::PullPolicy;
use accession::{Identifier, Instance, Registry, Stamp};
use proptest::prelude::*;

use crate::mirror_world::{RESET, World, held, texts};
use crate::oracle::naive;
use crate::values::{change, name, now, second};

/// A primary, and each set that it had.
struct Writer {
    us: Registry,
    sets: Vec<BTreeSet<String>>,
}

/// Ids of which some are followed by a checkpoint, so that a set of them has several blocks.
fn pool() -> Vec<String> {
    let ends = |n: &usize| accession::chain::is_checkpoint(&format!("{n}"));
    let ends = (0..).filter(ends).take(6).map(|n| format!("{n}"));
    let mut pool: Vec<String> = (0..18).map(|n| format!("{}", n * 437)).collect();
    pool.extend(ends);
    pool.sort();
    pool.dedup();
    pool
}

impl Writer {
    /// Deletes those of these ids that are held, and ingests the others.
    fn toggle(&mut self, ids: &BTreeSet<String>) {
        let mut set = self.sets.last().cloned().unwrap_or_default();
        let (gone, new): (BTreeSet<String>, BTreeSet<String>) =
            ids.iter().cloned().partition(|id| set.contains(id));
        let step = change(new.iter().map(String::as_str), gone.iter().map(String::as_str));
        set.extend(new);
        set.retain(|id| !gone.contains(id));
        let stamp = Stamp::at(second(self.sets.len() as i64), now());
        self.us.change(&name("US"), &step, &stamp).unwrap();
        self.sets.push(set);
    }
}

fn latest(registry: &Registry) -> Instance {
    registry.snapshot().unwrap().dataset(&name("MIRROR")).unwrap().latest.unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Each round: what is toggled after the response to which request of the pull, and what the
    /// mirror toggles by itself before, so that it must be reset.
    #[test]
    fn a_mirror_holds_a_set_that_the_primary_had_since_the_pull_began(
        rounds in prop::collection::vec(
            (
                prop::collection::vec(
                    (0..7_usize, prop::collection::btree_set(0..24_usize, 1..5)),
                    0..5,
                ),
                prop::option::of(prop::collection::btree_set(0..24_usize, 1..3)),
            ),
            1..6,
        ),
    ) {
        let pool = pool();
        let pick = |indices: &BTreeSet<usize>| -> BTreeSet<String> {
            indices.iter().map(|index| pool[index % pool.len()].clone()).collect()
        };
        let world = World::new();
        let writer = Arc::new(Mutex::new(Writer { us: world.us.clone(), sets: Vec::new() }));
        // One that stays, so that neither is ever empty.
        writer.lock().unwrap().toggle(&["~".to_owned()].into());
        writer.lock().unwrap().toggle(&pool.iter().cloned().collect());
        prop_assert!(world.pull(0, PullPolicy::Follow).is_identical());
        for (round, (during, own)) in rounds.iter().enumerate() {
            let at = 1_000 + 10 * round as i64;
            if let Some(own) = own {
                let here = held(&world.mirror, "MIRROR");
                let own: Vec<String> = pick(own).into_iter().collect();
                let (gone, new): (Vec<&str>, Vec<&str>) =
                    texts(&own).partition(|id| here.contains(*id));
                world.diverge(at, new, gone);
            }
            let since = writer.lock().unwrap().sets.len() - 1;
            let (shared, mut request) = (Arc::clone(&writer), 0);
            let during: Vec<(usize, BTreeSet<String>)> =
                during.iter().map(|(request, ids)| (*request, pick(ids))).collect();
            world.proxy.misbehave(move |_| {
                let mut writer = shared.lock().unwrap();
                let due = during.iter().filter(|(number, _)| *number == request);
                due.for_each(|(_, ids)| writer.toggle(ids));
                request += 1;
            });
            prop_assert!(world.pull(at + 1, RESET).is_identical());
            world.proxy.misbehave(|_| {});
            let (holds, identifier) = (held(&world.mirror, "MIRROR"), latest(&world.mirror).identifier);
            let writer = writer.lock().unwrap();
            prop_assert!(writer.sets[since..].contains(&holds), "{holds:?}");
            let expected: Identifier = naive(holds.iter().map(String::as_str));
            prop_assert_eq!(identifier, expected);
            prop_assert!(world.mirror.verify(&name("MIRROR")).unwrap().ok);
        }
        prop_assert!(world.pull(9_000, RESET).is_identical());
        let last = writer.lock().unwrap().sets.last().cloned();
        prop_assert_eq!(Some(held(&world.mirror, "MIRROR")), last);
    }
}

#[test]
fn a_change_after_any_request_of_a_pull_is_left_for_the_next_one() {
    let world = World::new();
    let mut writer = Writer { us: world.us.clone(), sets: Vec::new() };
    writer.toggle(&pool().into_iter().collect());
    assert!(world.pull(0, PullPolicy::Follow).is_identical());
    let writer = Arc::new(Mutex::new(writer));
    let mut requests = 1;
    for number in 0.. {
        if number == requests {
            break;
        }
        // The mirror went its own way, so that the head, the blocks and the ids of some are needed.
        let here = held(&world.mirror, "MIRROR");
        let gone = [here.first().unwrap().as_str(), here.last().unwrap().as_str()];
        world.diverge(100 + 10 * number, ["0.own"], gone);
        let announced = writer.lock().unwrap().sets.last().cloned().unwrap();
        let (shared, mut count) = (Arc::clone(&writer), 0);
        world.proxy.misbehave(move |_| {
            if count == number {
                shared.lock().unwrap().toggle(&[format!("5.{number}")].into());
            }
            count += 1;
        });
        world.proxy.served();
        assert!(world.pull(101 + 10 * number, RESET).is_identical());
        requests = world.proxy.served().len() as i64;
        assert!(requests >= 3, "the head, the blocks and some ids: {requests}");
        world.proxy.misbehave(|_| {});
        assert_eq!(held(&world.mirror, "MIRROR"), announced, "after request {number}");
        let now_held = writer.lock().unwrap().sets.last().cloned().unwrap();
        assert_eq!(now_held.len(), announced.len() + 1, "the primary has changed");
        assert!(world.pull(102 + 10 * number, PullPolicy::Follow).is_identical());
        assert_eq!(held(&world.mirror, "MIRROR"), now_held);
    }
    assert!(world.mirror.verify(&name("MIRROR")).unwrap().ok);
}
