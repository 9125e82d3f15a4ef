//! Rows as JSON Lines and CSV, and where the next page of them is.

use axum::body::Body;
use axum::http::Response;
use serde::Serialize;

use super::answer::{Keep, whole, with_links};
use super::format::Format;
use crate::model::{Instance, Set};
use crate::pages::Link;
use crate::registry::{Listed, Resolved};

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

/// Leaves out who recorded a change: that is kept in the registry only.
pub trait Anonymous {
    /// The same without it.
    #[must_use]
    fn anonymous(self) -> Self;
}

impl Anonymous for Instance {
    fn anonymous(self) -> Self {
        Instance { recorded_by: None, ..self }
    }
}

impl Anonymous for Set {
    fn anonymous(self) -> Self {
        match self {
            Set::Instance(instance) => Set::Instance(instance.anonymous()),
            Set::Subset { subset, instance } => {
                Set::Subset { subset, instance: instance.anonymous() }
            }
        }
    }
}

impl Anonymous for Resolved {
    fn anonymous(self) -> Self {
        Resolved { set: self.set.anonymous() }
    }
}

impl Anonymous for Listed {
    fn anonymous(self) -> Self {
        Listed { latest: self.latest.anonymous(), ..self }
    }
}

impl<T: Anonymous> Anonymous for Option<T> {
    fn anonymous(self) -> Self {
        self.map(T::anonymous)
    }
}

impl<T: Anonymous> Anonymous for Vec<T> {
    fn anonymous(self) -> Self {
        self.into_iter().map(T::anonymous).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_never_a_formula() {
        let text = csv(["a", "b"], [["=1+1".to_owned(), "x,\"y\"\nz".to_owned()]]);
        assert_eq!(text, "a,b\n'=1+1,\"x,\"\"y\"\"\nz\"\n");
    }
}
