//! Checks that the rows of a page are in order.

use crate::store::{Error, Result};

/// Returns a page if its first row is after the position at which the page begins, and each row is
/// after the previous one.
///
/// Rows in a damaged index may be out of order. A caller that continues after the last key could
/// then read the same rows for ever.
///
/// # Errors
///
/// [`ErrorKind::Damaged`], with the name of the table.
pub(in crate::store) fn ascending<Row>(
    table: &'static str,
    rows: Vec<Row>,
    leads_on: impl FnOnce(&Row) -> bool,
    precedes: impl Fn(&Row, &Row) -> bool,
) -> Result<Vec<Row>> {
    if rows.first().is_none_or(leads_on) && rows.is_sorted_by(precedes) {
        Ok(rows)
    } else {
        Err(out_of_order(table))
    }
}

/// The error for a page whose rows are not in order.
pub(in crate::store) fn out_of_order(table: &'static str) -> Error {
    Error::damaged(format!("rows of the table {table} are not in order"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_page_is_returned_only_if_its_rows_are_in_order() {
        let page = |after: u8, rows: &[u8]| {
            let rows = rows.to_vec();
            ascending("granule", rows, |first| *first > after, |one, next| one < next)
        };
        assert!(page(0, &[]).unwrap().is_empty());
        assert_eq!(page(0, &[1, 2]).unwrap(), [1, 2]);
        for (after, rows) in [(1, [1, 2]), (0, [2, 1]), (0, [1, 1]), (9, [1, 2])] {
            let error = page(after, &rows).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
        }
    }
}
