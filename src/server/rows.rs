//! Rows as JSON Lines and CSV, and where the next page of them is.

use axum::body::Body;
use axum::http::Response;
use serde::Serialize;

use super::answer::{Keep, whole, with_links};
use super::format::Format;
use crate::model::Instance;
use crate::pages::Link;
use crate::registry::Result;

/// Rows, each on a line.
pub fn json_lines<T: Serialize>(rows: &[T]) -> String {
    let mut lines = String::new();
    for row in rows {
        // The rows are made of strings, numbers and lists of them, which can always be written.
        lines.push_str(&serde_json::to_string(row).unwrap_or_default());
        lines.push('\n');
    }
    lines
}

/// A JSON value as a line.
pub fn json<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// A response of rows, with the address of the next page. A list that is complete is kept only while
/// it is current, since it can grow.
pub fn page(format: Format, content: String, next: Option<&str>) -> Response<Body> {
    let links: Vec<Link> = next.map(|next| Link::new("next", next)).into_iter().collect();
    with_links(whole(format, content, Keep::WhileCurrent), &links)
}

/// Rows as a table with a header.
///
/// A cell that a spreadsheet would run as a formula gets an apostrophe before it: notes and names come
/// from strangers.
pub fn csv<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = header.map(str::to_owned);
    for row in std::iter::once(header).chain(rows) {
        let row = row.map(|cell| match cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
            true => format!("'{cell}"),
            false => cell,
        });
        // Writing to memory cannot fail.
        let _ = writer.write_record(&row);
    }
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// The columns of instances.
pub const INSTANCE_COLUMNS: [&str; 9] = [
    "dataset",
    "timestamp",
    "until",
    "identifier",
    "granules",
    "ingested",
    "deleted",
    "recorded",
    "note",
];

/// An instance as a row of a table.
pub fn instance_cells(instance: &Instance) -> [String; 9] {
    [
        instance.dataset.to_string(),
        instance.timestamp.to_string(),
        instance.until.map(|until| until.to_string()).unwrap_or_default(),
        instance.identifier.to_string(),
        instance.granules.to_string(),
        instance.ingested.to_string(),
        instance.deleted.to_string(),
        instance.recorded.to_string(),
        instance.note.clone().unwrap_or_default(),
    ]
}

/// The greatest size of the rows of a page, of which its last row may be the rest: rows have notes and
/// ids of any length.
pub const PAGE_BYTES: usize = 1_024 * 1_024;

/// How many rows are read at first, so that long ones are noticed.
const FIRST_ROWS: u32 = 16;

/// How many rows are read at once at most.
const MOST_ROWS: u32 = 256;

/// Reads the rows of a page: at most `limit` of them, and no more than it takes to reach
/// [`PAGE_BYTES`]. `read` returns at most a number of rows after one of them. Whether there are further
/// rows is returned too.
///
/// # Errors
///
/// Those of `read`.
pub fn read_page<Row>(
    limit: u32,
    bytes: impl Fn(&Row) -> usize,
    mut read: impl FnMut(Option<&Row>, u32) -> Result<Vec<Row>>,
) -> Result<(Vec<Row>, bool)> {
    let (mut rows, mut room, mut at_once) = (Vec::new(), PAGE_BYTES, FIRST_ROWS);
    loop {
        // One more than the page has says whether there are more.
        let wanted = at_once.min(limit + 1 - rows.len() as u32);
        let found = read(rows.last(), wanted)?;
        let is_last = found.len() < wanted as usize;
        for row in found {
            if rows.len() == limit as usize || (room == 0 && !rows.is_empty()) {
                return Ok((rows, true));
            }
            room = room.saturating_sub(bytes(&row));
            rows.push(row);
        }
        if is_last {
            return Ok((rows, false));
        }
        at_once = (at_once * 2).min(MOST_ROWS);
    }
}

/// The size of an instance as a row.
pub fn instance_bytes(instance: &Instance) -> usize {
    256 + instance.note.as_ref().map_or(0, String::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_by_rows_or_by_bytes() {
        for (all, limit, row_bytes, expected, has_more) in [
            (0_u32, 5, 1, 0_u32, false),
            (5, 5, 1, 5, false),
            (6, 5, 1, 5, true),
            (10_000, 1_000, 1, 1_000, true),
            (1_000, 10_000, 1, 1_000, false),
            (10_000, 10_000, PAGE_BYTES / 100, 101, true),
            // A page has a row, however long.
            (3, 1_000, 2 * PAGE_BYTES, 1, true),
            (1, 1_000, 2 * PAGE_BYTES, 1, false),
        ] {
            let mut most = 0;
            let read = |last: Option<&u32>, count: u32| {
                most = most.max(count);
                let next = last.map_or(0, |last| last + 1);
                Ok((next..all.min(next + count)).collect())
            };
            let (rows, more) = read_page(limit, |_| row_bytes, read).unwrap();
            assert!(rows.iter().copied().eq(0..expected), "{all} rows, {limit}: {rows:?}");
            assert_eq!(more, has_more, "{all} rows of {row_bytes} bytes, at most {limit}");
            assert!(most <= MOST_ROWS);
        }
    }

    #[test]
    fn a_cell_is_never_a_formula() {
        let text = csv(["a", "b"], [["=1+1".to_owned(), "x,\"y\"\nz".to_owned()]]);
        assert_eq!(text, "a,b\n'=1+1,\"x,\"\"y\"\"\nz\"\n");
    }
}
