//! A row that is lost from the file is detected. `flipped_rows` tests the reads and writes that verify a set.

use crate::stored::{Stored, granule_id};
use harness::history::{change, name, second};
use harness::values::AtTime;

const GRANULES: usize = 6_000;

/// All rows of granules, instances and checkpoints.
fn rows(stored: &Stored) -> Vec<String> {
    const ROWS: &str = "
        SELECT json_array(granule_id, ingested, deleted) FROM granule
        UNION ALL SELECT json_array(timestamp, hex(identifier), granules) FROM instance
        UNION ALL SELECT json_array(granule_id, hex(chain), granules) FROM checkpoint";
    let connection = stored.connection();
    let mut statement = connection.prepare(ROWS).unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

#[test]
fn a_change_that_adds_a_granule_and_leaves_the_identifier_is_refused_as_damage() {
    let stored = Stored::with(GRANULES);
    // A forged row: its granule is deleted at the very time at which the change ingests it again.
    let forged = "UPDATE granule SET deleted = ?1 WHERE granule_id = ?2";
    let values = (second(5).as_micros(), granule_id(100));
    assert_eq!(stored.connection().execute(forged, values).unwrap(), 1);
    let before = rows(&stored);
    let change = change([granule_id(100).as_str()], []);
    let error = stored.registry.change(&name("dataset"), &change.at(second(5))).unwrap_err();
    assert_eq!(error.kind().as_str(), "damaged", "{error}");
    let stated = "ingests 1, deletes 0 and replaces 0 granules, but leads from";
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert!(format!("{error} {source:?}").contains(stated), "{error} {source:?}");
    assert_eq!(rows(&stored), before);
}

#[test]
fn a_row_that_is_lost_after_a_checkpoint_is_detected_by_a_change_that_resumes_there() {
    let stored = Stored::with(GRANULES);
    let checkpoint = (0..GRANULES / 2)
        .map(|n| granule_id(2 * n))
        .find(|granule_id| accession::chain::Chain::is_checkpoint(granule_id))
        .unwrap();
    let mut after = (0..GRANULES).map(|n| granule_id(2 * n)).filter(|it| *it > checkpoint);
    let (deleted, lost) = (after.next().unwrap(), after.next().unwrap());
    let remove = "DELETE FROM granule WHERE granule_id = ?1";
    stored.connection().execute(remove, [lost]).unwrap();
    let before = rows(&stored);
    let change = change([], [deleted.as_str()]);
    let refused = stored.registry.change(&name("dataset"), &change.at(second(1))).unwrap_err();
    assert_eq!(refused.kind().as_str(), "damaged", "{refused}");
    assert_eq!(rows(&stored), before);
}
