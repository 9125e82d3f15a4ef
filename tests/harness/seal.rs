//! Checksums for rows that a test has altered, so that what is found is not the checksum.

use rusqlite::Connection;

/// Gives every row of `instance` the checksum of what it holds now.
pub fn seal_instances(connection: &Connection) {
    let mut statement = connection
        .prepare(
            "SELECT dataset_id, timestamp, identifier, granules, ingested, deleted, recorded,
                 recorded_by, note
             FROM instance",
        )
        .unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut sealed = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let number = |column| row.get::<_, i64>(column).unwrap();
        let mut bytes = [number(0).to_le_bytes(), number(1).to_le_bytes()].concat();
        bytes.extend(row.get::<_, Vec<u8>>(2).unwrap());
        (3..7).for_each(|column| bytes.extend(number(column).to_le_bytes()));
        for column in 7..9 {
            let text: Option<String> = row.get(column).unwrap();
            bytes.extend(text.as_ref().map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            bytes.extend(text.unwrap_or_default().into_bytes());
        }
        sealed.push((number(0), number(1), crc32fast::hash(&bytes).to_be_bytes()));
    }
    for (dataset, timestamp, check) in sealed {
        let sql = "UPDATE instance SET row_check = ?3 WHERE dataset_id = ?1 AND timestamp = ?2";
        connection.execute(sql, (dataset, timestamp, check)).unwrap();
    }
}
