//! Tests count the work, not the time: the steps, rows and checkpoints of a change.

use accession::chain::is_checkpoint;
use accession::{Registry, Stamp, Work};

use crate::harness::history::{change, name, now, second};
use crate::harness::store::new_registry;

const GRANULES: usize = 100_000;

fn granule_id(n: usize) -> String {
    format!("granule.{n:07}")
}

/// A dataset that holds the even numbers below twice [`GRANULES`].
fn even_numbers() -> Registry {
    let registry = new_registry();
    let granule_ids: Vec<String> = (0..GRANULES).map(|n| granule_id(2 * n)).collect();
    let all = change(granule_ids.iter().map(String::as_str), []);
    let stamp = Stamp::at(second(0), now());
    let work = registry.change(&name("even"), &all, &stamp).unwrap().work;
    let checkpoints = granule_ids.iter().filter(|id| is_checkpoint(id)).count() as u64;
    // They are hashed as they are stored.
    assert_eq!(work, Work { steps: GRANULES as u64, rows: 0, checkpoints });
    assert!((70..130).contains(&checkpoints), "one in 1,024: {checkpoints}");
    registry
}

/// How many held granules are after the last checkpoint before `n`, of those for which `is_held` is
/// true; and how many of them are followed by a checkpoint.
fn after_checkpoint_before(n: usize, is_held: impl Fn(usize) -> bool) -> (u64, u64) {
    let checkpoint = (0..n).rev().find(|&m| is_held(m) && is_checkpoint(&granule_id(m)));
    let rest = checkpoint.map_or(0, |checkpoint| checkpoint + 1);
    let held: Vec<usize> = (rest..4 * GRANULES).filter(|&m| is_held(m)).collect();
    let checkpoints = held.iter().filter(|&&m| is_checkpoint(&granule_id(m))).count();
    (held.len() as u64, checkpoints as u64)
}

fn is_even(n: usize) -> bool {
    n.is_multiple_of(2) && n < 2 * GRANULES
}

#[test]
fn appending_n_ids_at_the_end_hashes_exactly_n() {
    let registry = even_numbers();
    for (day, n) in [1, 288, 5_000].into_iter().enumerate() {
        let from = 2 * GRANULES + 10_000 * day;
        let ids: Vec<String> = (from..from + n).map(granule_id).collect();
        let checkpoints = ids.iter().filter(|id| is_checkpoint(id)).count() as u64;
        let stamp = Stamp::at(second(1 + day as i64), now());
        let append = change(ids.iter().map(String::as_str), []);
        let work = registry.change(&name("even"), &append, &stamp).unwrap().work;
        assert_eq!(work, Work { steps: n as u64, rows: 0, checkpoints });
    }
}

#[test]
fn an_id_in_the_middle_hashes_only_the_granules_after_the_checkpoint_before_it() {
    let registry = even_numbers();
    for (day, n) in [199_999, 150_001, 77_777, 3].into_iter().enumerate() {
        let held = |m: usize| is_even(m) || m == n;
        let (steps, checkpoints) = after_checkpoint_before(n, held);
        let stamp = Stamp::at(second(1 + 2 * day as i64), now());
        let insert = change([granule_id(n).as_str()], []);
        let work = registry.change(&name("even"), &insert, &stamp).unwrap().work;
        let appended = n > 2 * (GRANULES - 1);
        let steps = if appended { 1 } else { steps };
        if !appended {
            assert_eq!(work, Work { steps, rows: steps, checkpoints }, "granule {n} is ingested");
        }

        let (steps, checkpoints) = after_checkpoint_before(n, is_even);
        let stamp = Stamp::at(second(2 + 2 * day as i64), now());
        let delete = change([], [granule_id(n).as_str()]);
        let work = registry.change(&name("even"), &delete, &stamp).unwrap().work;
        assert_eq!(work, Work { steps, rows: steps, checkpoints }, "granule {n} is deleted");
    }
    assert!(registry.verify(&name("even")).unwrap().ok);
}

#[test]
fn deleting_everything_reads_and_hashes_nothing() {
    let registry = even_numbers();
    let ids: Vec<String> = (0..GRANULES).map(|n| granule_id(2 * n)).collect();
    let stamp = Stamp::at(second(1), now());
    let applied = registry
        .change(&name("even"), &change([], ids.iter().map(String::as_str)), &stamp)
        .unwrap();
    assert_eq!(applied.work, Work::default());
    assert_eq!(applied.instance.unwrap().identifier, accession::Identifier::EMPTY);
}
