//! A server whose registry is changed while a mirror reads it: between any two requests of one pull.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use accession::mirror::PullPolicy;
use accession::{Registry, Stamp};

use crate::mirror_world::{RESET, World, held};
use crate::values::{change, name, now, second};

/// A primary, and each set that it had.
struct Writer {
    us: Registry,
    sets: Vec<BTreeSet<String>>,
}

/// Ids of which some are followed by a checkpoint.
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
        // The mirror went its own way, so that the head and the log are needed.
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
        assert!(requests >= 2, "the head and the log: {requests}");
        world.proxy.misbehave(|_| {});
        assert_eq!(held(&world.mirror, "MIRROR"), announced, "after request {number}");
        let now_held = writer.lock().unwrap().sets.last().cloned().unwrap();
        assert_eq!(now_held.len(), announced.len() + 1, "the primary has changed");
        assert!(world.pull(102 + 10 * number, PullPolicy::Follow).is_identical());
        assert_eq!(held(&world.mirror, "MIRROR"), now_held);
    }
    assert!(world.mirror.verify(&name("MIRROR")).unwrap().ok);
}
