//! The views of a registry file, for reading it with the sqlite3 shell.

use accession::{Registry, Timestamp};
use harness::values::clock;
use rusqlite::Connection;

#[test]
fn the_views_show_instants_as_the_program_writes_them() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    drop(Registry::create(&path, clock()).unwrap());
    let connection = Connection::open(path).unwrap();
    connection
        .execute("INSERT INTO dataset (id, name, record, row_check) VALUES (1, 'D', '{}', 0)", [])
        .unwrap();
    let instants = [
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "2001-01-02T00:00:00Z",
        "2001-01-02T00:00:00.500000Z",
        "2001-01-02T00:00:00.000001Z",
        "9999-12-31T23:59:59.999999Z",
    ];
    for (n, text) in instants.iter().enumerate() {
        let timestamp: Timestamp = text.parse().unwrap();
        let insert = "INSERT INTO granule (dataset_id, granule_id, ingested) VALUES (1, ?1, ?2)";
        connection.execute(insert, (n.to_string(), timestamp.as_micros())).unwrap();
    }
    let mut statement =
        connection.prepare("SELECT Ingested FROM Granules ORDER BY LocalgranuleID").unwrap();
    let rows = statement.query_map([], |row| row.get(0)).unwrap();
    let shown: Vec<String> = rows.map(Result::unwrap).collect();
    assert_eq!(shown, instants);
    let written = instants.map(|text| text.parse::<Timestamp>().unwrap().to_string());
    assert_eq!(written, instants);
}
