//! Rows of a table that are not granules: a second header, and a row of totals.

use csv::ByteRecord;

use super::finding::{Finding, FindingKind};
use super::occurrences::Occurrences;
use crate::error::ErrorKind;
use crate::model::SourceLocation;

/// Finds rows that are not granules.
#[derive(Default)]
pub(super) struct OddRows {
    /// The first row, which later rows may repeat. `None` means that it is data.
    header: Option<ByteRecord>,
    /// The index of the column with the ids.
    column: usize,
    headers: Occurrences,
    /// The latest row, if it is named like a total.
    total: Option<(SourceLocation, String)>,
}

/// A row contains the names of columns in another order, or those of other columns.
static SECOND_HEADER: FindingKind = FindingKind {
    name: "second-header",
    refused_as: ErrorKind::NotAList,
    heading: "Tables",
    what: "is the name of a column, so the rows after it can have other columns",
    hint: "`csplit FILE LINE` makes two files of it",
};

/// The last row contains the sum of the others.
static TOTAL_ROW: FindingKind = FindingKind {
    name: "total-row",
    refused_as: ErrorKind::NotAList,
    heading: "Tables",
    what: "is the last row of the table, and counts the others",
    hint: "leave the row out, as `sed '$d' FILE` does",
};

/// Names of rows with a sum.
const TOTALS: [&str; 4] = ["total", "grand total", "sum", "summary"];

impl OddRows {
    /// Creates a finder for a table with this header, and the ids in this column.
    pub(super) fn new(header: Option<ByteRecord>, column: usize) -> Self {
        OddRows { header, column, ..OddRows::default() }
    }

    /// Whether a row repeats the header, in any case.
    pub(super) fn is_header(&self, row: &ByteRecord) -> bool {
        let Some(header) = &self.header else { return false };
        let is_same = |(cell, name): (&[u8], &[u8])| cell.eq_ignore_ascii_case(name);
        // Most ids differ from the name of their column.
        header.get(self.column).zip(row.get(self.column)).is_some_and(is_same)
            && header.len() == row.len()
            && header.iter().zip(row).all(is_same)
    }

    /// Checks a row that is read as a granule.
    pub(super) fn observe(&mut self, row: &ByteRecord, location: impl Fn() -> SourceLocation) {
        let id = row.get(self.column).unwrap_or_default();
        let text = || String::from_utf8_lossy(id).into_owned();
        let is = |name: &[u8], cell: &[u8]| name.eq_ignore_ascii_case(cell);
        if let Some(header) = &self.header
            && let Some(index) = header.iter().position(|name| is(name, id))
        {
            let is_of_names = || row.iter().all(|cell| header.iter().any(|name| is(name, cell)));
            if index == self.column || is_of_names() {
                self.headers.add(&text(), &location());
            }
        }
        let is_total = TOTALS.iter().any(|name| is(name.as_bytes(), id));
        self.total = is_total.then(|| (location(), text()));
    }

    /// The suspicious rows. Call it after the last row; `rows` is the number of rows.
    pub(super) fn findings(&self, rows: u64) -> Vec<Finding> {
        let mut total = Occurrences::default();
        if let Some((location, text)) = self.total.as_ref().filter(|_| rows > 1) {
            total.add(text, location);
        }
        let header = self.headers.finding(&SECOND_HEADER).map(|finding| {
            let hint = match &finding.location {
                SourceLocation::Line { line, .. } => {
                    Some(format!("`csplit FILE {line}` makes two files of it"))
                }
                _ => None,
            };
            finding.with_hint(hint)
        });
        let findings = [header, total.finding(&TOTAL_ROW)];
        findings.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(rows: &[[&str; 2]]) -> Vec<String> {
        let header = ByteRecord::from(vec!["id", "size"]);
        let mut odd = OddRows::new(Some(header), 0);
        let mut read = 0;
        for (line, row) in (2..).zip(rows) {
            let row = ByteRecord::from(row.to_vec());
            if !odd.is_header(&row) {
                read += 1;
                odd.observe(&row, || SourceLocation::Line { source: "x.csv".into(), line });
            }
        }
        odd.findings(read).iter().map(|finding| finding.kind.name.to_owned()).collect()
    }

    #[test]
    fn a_second_header_is_skipped_if_it_is_the_same_and_else_found() {
        assert_eq!(findings(&[["A", "3"], ["ID", "Size"], ["B", "4"]]), [""; 0]);
        for other in [["size", "id"], ["id", "md5"], ["ID", ""]] {
            assert_eq!(findings(&[["A", "3"], other, ["B", "4"]]), ["second-header"], "{other:?}");
        }
        assert_eq!(findings(&[["A", "3"], ["size", "4"]]), [""; 0], "an id may be named like that");
    }

    #[test]
    fn a_total_is_found_as_the_last_row_only() {
        assert_eq!(findings(&[["A", "3"], ["Total", "3"]]), ["total-row"]);
        assert_eq!(findings(&[["Total", "3"], ["B", "4"]]), [""; 0]);
        assert_eq!(findings(&[["Total", "3"]]), [""; 0]);
    }
}
