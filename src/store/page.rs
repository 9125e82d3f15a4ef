//! Pages of rows: the check of their order, and rows of the table `granule` packed into a few buffers.

use super::rows::Period;
use super::statement::damaged;
use super::{Error, Result};
use crate::model::{GranuleId, Holding, IdPage, IdPageBuilder, LogChange, Timestamp};

/// Checks that the rows of a page are in order: the first row is after `start` (`None` means no limit), and
/// each row is after the previous one.
///
/// Rows in a damaged index may be out of order. A caller that continues after the last key could then read the
/// same rows for ever.
///
/// # Errors
///
/// [`ErrorKind::Damaged`], with the name of the table.
pub(super) fn check_order<Position: PartialOrd>(
    table: &'static str,
    after: Option<Position>,
    positions: impl IntoIterator<Item = Position>,
) -> Result<()> {
    let mut last = after;
    for position in positions {
        if last.is_some_and(|last| last >= position) {
            return Err(out_of_order(table));
        }
        last = Some(position);
    }
    Ok(())
}

/// The error for a page whose rows are not in order.
pub(super) fn out_of_order(table: &'static str) -> Error {
    Error::damaged(format_args!("rows of the table {table} are not in order"))
}

/// The number of rows of a list that are read at once. Each row may have a note of the greatest length.
const PAGE_ROWS: u32 = 256;

const _: () = assert!(PAGE_ROWS as usize * LogChange::MAX_NOTE_BYTES <= 16 << 20);

/// Reads the rows of a list in pages. Each page begins after the position of the last row of the previous page.
/// A page that is not full is the last one.
pub(crate) fn paged<Row, Position>(
    start: Position,
    mut read: impl FnMut(&Position, u32) -> Result<Vec<Row>>,
    position: impl Fn(&Row) -> Position,
) -> impl Iterator<Item = Result<Row>> {
    let (mut after, mut page) = (Some(start), Vec::new().into_iter());
    std::iter::from_fn(move || {
        if page.len() == 0 {
            let rows = match read(&after.take()?, PAGE_ROWS) {
                Ok(rows) => rows,
                Err(error) => return Some(Err(error)),
            };
            after = rows.last().filter(|_| rows.len() == PAGE_ROWS as usize).map(&position);
            page = rows.into_iter();
        }
        page.next().map(Ok)
    })
}

/// The columns of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// `granule_id`.
    Ids,
    /// `granule_id`, `ingested`, `deleted`.
    Periods,
    /// The columns of `Periods`, and `producer_granule`.
    Produced,
}

/// Rows of the table `granule`, with unchecked values.
#[derive(Debug, Default)]
pub(super) struct Page {
    ids: IdPageBuilder,
    ingested: Vec<i64>,
    deleted: Vec<Option<i64>>,
    /// An empty string means that the producer's id is the same as the id.
    producers: IdPageBuilder,
}

impl Page {
    pub fn push_id(&mut self, granule_id: &[u8]) {
        self.ids.push(granule_id);
    }

    pub fn push_period(&mut self, ingested: i64, deleted: Option<i64>) {
        self.ingested.push(ingested);
        self.deleted.push(deleted);
    }

    pub fn push_producer(&mut self, producer_granule: &[u8]) {
        self.producers.push(producer_granule);
    }

    /// The rows of a page of holding periods.
    pub fn rows(&self) -> impl Iterator<Item = Period<'_>> {
        let periods = self.ingested.iter().zip(&self.deleted).enumerate();
        periods.map(|(index, (&ingested, &deleted))| Period {
            granule_id: self.ids.get(index).unwrap_or_default(),
            ingested,
            deleted,
            producer_granule: self.producers.get(index).filter(|producer| !producer.is_empty()),
        })
    }

    /// The granules of a page of holding periods.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: a value is not valid.
    pub fn granules(&self) -> Result<Vec<Holding>> {
        self.rows().map(granule).collect()
    }

    /// The ids of a page that begins after `after`. They are in canonical order, and may repeat.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: the ids are not in order, or one is not valid.
    pub fn into_ids(self, after: &str) -> Result<IdPage> {
        let mut last = None;
        for id in (0..).map_while(|index| self.ids.get(index)) {
            if last.map_or(id <= after.as_bytes(), |last| id < last) {
                return Err(out_of_order("granule"));
            }
            last = Some(id);
        }
        self.ids.finish().map_err(damaged)
    }
}

fn granule(row: Period<'_>) -> Result<Holding> {
    let granule_id =
        |bytes| GranuleId::new(std::str::from_utf8(bytes).map_err(damaged)?).map_err(damaged);
    let instant = |micros| {
        Timestamp::from_micros(micros)
            .ok_or_else(|| damaged(format_args!("{micros} is not an instant")))
    };
    Ok(Holding {
        granule_id: granule_id(row.granule_id)?,
        ingested: instant(row.ingested)?,
        deleted: row.deleted.map(instant).transpose()?,
        producer_granule: row.producer_granule.map(granule_id).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_page_is_returned_only_if_its_rows_are_in_order() {
        let check = |after: u8, rows: &[u8]| check_order("granule", Some(after), rows.to_vec());
        check(0, &[]).unwrap();
        check(0, &[1, 2]).unwrap();
        for (after, rows) in [(1, [1, 2]), (0, [2, 1]), (0, [1, 1]), (9, [1, 2])] {
            let error = check(after, &rows).unwrap_err();
            assert!(error.kind() == ErrorKind::Damaged, "{error}");
        }
    }
}
