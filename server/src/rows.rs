//! Pages of lists: HTML, JSON and JSON Lines.

use axum::response::Response;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::request::Format;
use super::response::{CachePolicy, in_format, with_links};
use crate::pages::Link;
use accession::Instance;
use accession::Result;

/// Responds with a page of a list in a format, with the address of the next page. `html` renders HTML, `object`
/// is the JSON value, and in JSON Lines each row is a line.
pub fn list<T: Serialize, O: Serialize>(
    format: Format,
    rows: &[T],
    next: Option<&str>,
    html: impl FnOnce() -> String,
    object: impl FnOnce() -> O,
) -> Response {
    let content = match format {
        Format::Html => html(),
        Format::JsonLines => rows.iter().map(line).collect(),
        _ => line(&object()),
    };
    let next = next.map(|next| Link::new("next", next));
    with_links(in_format(format, content, CachePolicy::Shared), next)
}

/// Like [`list`]. The JSON value contains the rows under a name, and the address of the next page.
pub fn named_list<T: Serialize>(
    format: Format,
    name: &str,
    rows: &[T],
    next: Option<&str>,
    html: impl FnOnce() -> String,
) -> Response {
    list(format, rows, next, html, || Named { name, rows, next })
}

/// The rows of a list under their name, and the address of the next page.
struct Named<'a, T> {
    name: &'a str,
    rows: &'a [T],
    next: Option<&'a str>,
}

impl<T: Serialize> Serialize for Named<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(2))?;
        object.serialize_entry(self.name, self.rows)?;
        object.serialize_entry("next", &self.next)?;
        object.end()
    }
}

/// A JSON value as a line. All values consist of strings, numbers and lists of them, whose serialization cannot
/// fail.
pub fn line<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The size at which a page ends, in bytes. Its last row may exceed it, because notes and ids may be long. A
/// client that stops reading keeps one page in memory.
pub const PAGE_BYTES: usize = 256 * 1_024;

/// The number of rows in the first read. It is small, so that long rows are noticed.
const FIRST_ROWS: u32 = 16;

/// The greatest number of rows in one read.
const MOST_ROWS: u32 = 256;

/// Reads the rows of a page: at most `limit`, and only until they reach [`PAGE_BYTES`]. `read` returns at most
/// the given number of rows after the given row. Also returns whether there are more rows.
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
        // One row more than the page needs shows whether there are more.
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

/// The size of an instance as a row, in bytes.
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
            // A page has at least one row, however long it is.
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
}
