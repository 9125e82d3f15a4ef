//! Checksums for rows that a test has altered, so that a check finds the change and not a wrong row checksum.

use rusqlite::Connection;
use rusqlite::types::Value;

/// Sets the checksum of every row to that of its present values.
pub fn seal_rows(connection: &Connection) {
    const TABLES: &str = "
        SELECT tables.name
        FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table' AND columns.name = 'row_check' AND columns.type = 'INTEGER'";
    let mut statement = connection.prepare(TABLES).unwrap();
    let tables = statement.query_map([], |row| row.get(0)).unwrap();
    let tables: Vec<String> = tables.map(Result::unwrap).collect();
    let begin = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; BEGIN";
    connection.execute_batch(begin).unwrap();
    tables.iter().for_each(|table| seal_table(connection, table));
    connection.execute_batch("COMMIT").unwrap();
}

fn seal_table(connection: &Connection, table: &str) {
    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let last = columns.len() - 1;
    let mut rows = statement.query([]).unwrap();
    let mut sealed: Vec<Vec<Value>> = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let mut values: Vec<Value> = (0..last).map(|at| row.get(at).unwrap()).collect();
        values.push(row_check(&values).into());
        sealed.push(values);
    }
    let is_row: Vec<String> =
        (1..).zip(&columns[..last]).map(|(n, column)| format!("{column} IS ?{n}")).collect();
    let set =
        format!("UPDATE {table} SET row_check = ?{} WHERE {}", columns.len(), is_row.join(" AND "));
    let mut update = connection.prepare(&set).unwrap();
    for values in sealed {
        update.execute(rusqlite::params_from_iter(values)).unwrap();
    }
}

/// The CRC-32 of values. Each has its type before it and, unless it is a number, its length.
pub fn row_check(values: &[Value]) -> i64 {
    let of = |kind: u8, number: i64, bytes: &[u8]| {
        [&[kind], number.to_le_bytes().as_slice(), bytes].concat()
    };
    let bytes: Vec<Vec<u8>> = values
        .iter()
        .map(|value| match value {
            Value::Integer(number) => of(1, *number, &[]),
            Value::Text(text) => of(2, text.len() as i64, text.as_bytes()),
            Value::Blob(blob) => of(3, blob.len() as i64, blob),
            Value::Null | Value::Real(_) => vec![0],
        })
        .collect();
    crc32fast::hash(&bytes.concat()).into()
}
