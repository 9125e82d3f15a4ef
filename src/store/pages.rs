//! Rows in canonical order, a page in memory at a time.

use super::Result;
use crate::model::GranuleId;

/// Rows of a page.
pub(super) const PAGE_ROWS: u32 = 4_096;

/// What gives the page behind an id; the empty text stands before every id.
type Load<'read, T> = Box<dyn Fn(&str) -> Result<Vec<T>> + 'read>;

/// Rows in canonical order.
///
/// Each page is a query of its own, from behind the last id on: two such streams can be read side
/// by side, and a slow reader holds no statement open.
pub struct Pages<'read, T> {
    load: Load<'read, T>,
    id_of: fn(&T) -> &GranuleId,
    page: std::vec::IntoIter<T>,
    behind: Option<GranuleId>,
    ended: bool,
}

impl<'read, T> Pages<'read, T> {
    /// The rows that `load` gives: at most [`PAGE_ROWS`] behind an id, and fewer only at the end.
    pub(super) fn of(
        load: impl Fn(&str) -> Result<Vec<T>> + 'read,
        id_of: fn(&T) -> &GranuleId,
    ) -> Self {
        Pages {
            load: Box::new(load),
            id_of,
            page: Vec::new().into_iter(),
            behind: None,
            ended: false,
        }
    }
}

impl<T> Iterator for Pages<'_, T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Result<T>> {
        if let Some(row) = self.page.next() {
            return Some(Ok(row));
        }
        if self.ended {
            return None;
        }
        match (self.load)(self.behind.as_ref().map_or("", GranuleId::as_str)) {
            Ok(page) => {
                self.ended = page.len() < PAGE_ROWS as usize;
                self.behind = page.last().map(|row| (self.id_of)(row).clone());
                self.page = page.into_iter();
                self.page.next().map(Ok)
            }
            Err(error) => {
                self.ended = true;
                Some(Err(error))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_row_comes_once_and_no_page_is_asked_for_in_vain() {
        let page = PAGE_ROWS as usize;
        for (count, pages) in [(0, 1), (1, 1), (page - 1, 1), (page, 2), (page + 1, 2), (9_000, 3)]
        {
            let ids: Vec<GranuleId> =
                (0..count).map(|n| format!("granule.{n:06}").parse().unwrap()).collect();
            let asked = Cell::new(0);
            let load = |behind: &str| {
                asked.set(asked.get() + 1);
                let first = ids.partition_point(|id| id.as_str() <= behind);
                Ok(ids[first..].iter().take(page).cloned().collect())
            };
            let mut rows = Pages::of(load, |id| id);
            let read: Vec<GranuleId> = rows.by_ref().map(Result::unwrap).collect();
            assert_eq!(read, ids);
            assert!(rows.next().is_none());
            drop(rows);
            assert_eq!(asked.get(), pages, "{count} rows");
        }
    }

    #[test]
    fn nothing_comes_behind_an_error() {
        let mut rows = Pages::of(|_| Err(super::super::Error::Busy), |id: &GranuleId| id);
        assert!(rows.next().is_some_and(|row| row.is_err()));
        assert!(rows.next().is_none());
    }
}
