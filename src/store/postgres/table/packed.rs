//! Pages of the table `granule` that are read as one row each: the ids as lines, and the instants one
//! after the other, as bytes.
//!
//! A row for each granule takes the client four times the processor time, and both together a third
//! longer.

use tokio_postgres::Row;

use super::column::value;
use crate::store::postgres::parameter::Parameter;
use crate::store::postgres::session::Snapshot;
use crate::store::rows::DatasetKey;
use crate::store::{Error, Result};

/// The query that packs the rows of another, which must have the columns `granule_id`, `ingested` and
/// `deleted` and, for the second form, `producer_granule`.
macro_rules! select_packed {
    ($page:literal) => {
        select_packed!(@ "", $page)
    };
    (with producers, $page:literal) => {
        select_packed!(@ ", string_agg(coalesce(producer_granule, ''), E'\\n')", $page)
    };
    (@ $producers:literal, $page:literal) => {
        concat!(
            "SELECT string_agg(granule_id, E'\\n'), string_agg(int8send(ingested), ''), ",
            "string_agg(int8send(coalesce(deleted, -9223372036854775808)), '')",
            $producers,
            " FROM (",
            $page,
            ") AS page"
        )
    };
}

pub(super) use select_packed;

/// Rows of a page, in a pass over a whole dataset.
pub(super) const PAGE_ROWS: i64 = 16_384;

/// A page of rows.
pub(super) struct PackedPage {
    row: Option<Row>,
}

/// A row of a page, with values that have not been checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackedRow<'page> {
    pub granule_id: &'page str,
    pub ingested: i64,
    pub deleted: Option<i64>,
    /// `None` if the query did not ask for it, too.
    pub producer_granule: Option<&'page str>,
}

impl PackedPage {
    /// Reads a page with a query of [`select_packed`].
    pub fn read(
        snapshot: &Snapshot,
        dataset: DatasetKey,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Self> {
        Ok(PackedPage { row: snapshot.reading_at(Some(dataset))?.query_opt(sql, parameters)? })
    }

    /// The rows, in the order in which they were packed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: an id contains a line feed.
    pub fn rows(&self) -> Result<impl Iterator<Item = PackedRow<'_>>> {
        let ids: Option<&str> = self.column(0)?;
        let ingested: &[u8] = self.column(1)?.unwrap_or_default();
        let deleted: &[u8] = self.column(2)?.unwrap_or_default();
        let has_producers = self.row.as_ref().is_some_and(|row| row.len() > 3);
        let producers: Option<&str> = if has_producers { self.column(3)? } else { None };
        let (ingested, deleted) = (instants(ingested), instants(deleted));
        let feeds = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        let rows = ids.map_or(0, |ids| feeds(ids) + 1);
        let has_all = [ingested.len(), deleted.len()].iter().all(|instants| *instants == rows)
            && producers.is_none_or(|producers| feeds(producers) + 1 == rows);
        if !has_all {
            let what = "an id in the table granule contains a line feed".to_owned();
            return Err(Error::damaged(what));
        }
        let ids = ids.into_iter().flat_map(|ids| ids.split('\n'));
        let mut producers = producers.map(|producers| producers.split('\n'));
        Ok(ids.zip(ingested).zip(deleted).map(move |((granule_id, ingested), deleted)| PackedRow {
            granule_id,
            ingested,
            deleted: Some(deleted).filter(|deleted| *deleted != i64::MIN),
            producer_granule: producers
                .as_mut()
                .and_then(Iterator::next)
                .filter(|producer| !producer.is_empty()),
        }))
    }

    fn column<'page, T: tokio_postgres::types::FromSql<'page>>(
        &'page self,
        index: usize,
    ) -> Result<Option<T>> {
        self.row.as_ref().map_or(Ok(None), |row| value(row, index))
    }
}

fn instants(bytes: &[u8]) -> impl ExactSizeIterator<Item = i64> {
    let (instants, _) = bytes.as_chunks::<8>();
    instants.iter().map(|bytes| i64::from_be_bytes(*bytes))
}
