//! The work of a change, counted in steps, rows and checkpoints instead of time.

use accession::Registry;
use accession::chain::Chain;
use accession::verify::WorkCounts;

use harness::history::{name, step};
use harness::store::new_registry;

const GRANULES: usize = 100_000;

fn granule_id(n: usize) -> String {
    format!("granule.{n:07}")
}

/// A dataset that holds the even numbers below twice [`GRANULES`].
fn even_numbers() -> Registry {
    let registry = new_registry();
    let granule_ids: Vec<String> = (0..GRANULES).map(|n| granule_id(2 * n)).collect();
    let effort = step(&registry, "even", 0, granule_ids.iter().map(String::as_str), []).effort;
    let checkpoints = granule_ids.iter().filter(|id| Chain::is_checkpoint(id)).count() as u64;
    // Granules are hashed as they are stored.
    assert_eq!(
        effort,
        WorkCounts { steps: GRANULES as u64, rows: 0, checkpoints, ..WorkCounts::default() }
    );
    assert!((70..130).contains(&checkpoints), "one in 1,024: {checkpoints}");
    registry
}

/// The work of a change that ingests or deletes one granule in the dataset of even numbers. It reads each row
/// after the last checkpoint before the granule. It hashes the row for the instance in force and, from the
/// granule on, once more for the new instance.
fn rewound(n: usize, is_held_then: bool) -> WorkCounts {
    let checkpoint = (0..n).rev().find(|&m| is_even(m) && Chain::is_checkpoint(&granule_id(m)));
    let rest = checkpoint.map_or(0, |checkpoint| checkpoint + 1);
    let read: Vec<usize> = (rest..4 * GRANULES).filter(|&m| is_even(m) || m == n).collect();
    let twice = read.iter().filter(|&&m| m > n).count();
    let checkpoints = read.iter().filter(|&&m| m != n || is_held_then);
    let checkpoints = checkpoints.filter(|&&m| Chain::is_checkpoint(&granule_id(m))).count() as u64;
    WorkCounts {
        steps: (read.len() + twice) as u64,
        rows: read.len() as u64,
        checkpoints,
        ..WorkCounts::default()
    }
}

fn is_even(n: usize) -> bool {
    n.is_multiple_of(2) && n < 2 * GRANULES
}

#[test]
fn appending_n_ids_at_the_end_hashes_n_and_the_rows_after_the_last_checkpoint() {
    let registry = even_numbers();
    let mut held: Vec<String> = (0..GRANULES).map(|n| granule_id(2 * n)).collect();
    for (day, n) in [1, 288, 5_000].into_iter().enumerate() {
        let from = 2 * GRANULES + 10_000 * day;
        let ids: Vec<String> = (from..from + n).map(granule_id).collect();
        let checkpoints = ids.iter().filter(|id| Chain::is_checkpoint(id)).count() as u64;
        let rows = held.iter().rev().take_while(|id| !Chain::is_checkpoint(id)).count() as u64;
        let added = ids.iter().map(String::as_str);
        let effort = step(&registry, "even", 1 + day as i64, added, []).effort;
        assert_eq!(
            effort,
            WorkCounts { steps: rows + n as u64, rows, checkpoints, ..WorkCounts::default() }
        );
        held.extend(ids);
    }
}

#[test]
fn an_id_in_the_middle_hashes_only_the_granules_after_the_checkpoint_before_it() {
    let registry = even_numbers();
    for (day, n) in [199_999, 150_001, 77_777, 3].into_iter().enumerate() {
        let id = granule_id(n);
        let effort = step(&registry, "even", 1 + 2 * day as i64, [id.as_str()], []).effort;
        let is_appended = n > 2 * (GRANULES - 1);
        if !is_appended {
            assert_eq!(effort, rewound(n, true), "granule {n} is ingested");
        }
        let effort = step(&registry, "even", 2 + 2 * day as i64, [], [id.as_str()]).effort;
        assert_eq!(effort, rewound(n, false), "granule {n} is deleted");
    }
    assert!(registry.verify(&name("even")).unwrap().ok);
}

#[test]
fn deleting_everything_reads_and_hashes_what_was_held_once() {
    let registry = even_numbers();
    let ids: Vec<String> = (0..GRANULES).map(|n| granule_id(2 * n)).collect();
    let applied = step(&registry, "even", 1, [], ids.iter().map(String::as_str));
    let all = GRANULES as u64;
    assert_eq!(
        applied.effort,
        WorkCounts { steps: all, rows: all, checkpoints: 0, ..WorkCounts::default() }
    );
    assert_eq!(applied.instances[0].identifier, accession::Identifier::EMPTY);
}
