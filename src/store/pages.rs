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
