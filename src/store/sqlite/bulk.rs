//! Statements about many rows.

use rusqlite::{CachedStatement, params};

use super::session::{FileSession, bind};
use crate::model::{GranuleId, Timestamp};
use crate::store::Result;
use crate::store::page::{Packing, Page};
use crate::store::rows::DatasetKey;
use crate::store::statement::{Insert, Sql, Value};

/// The number of rows that one statement adds.
const INSERTED_AT_ONCE: usize = 64;

impl FileSession {
    /// Adds rows.
    ///
    /// A statement adds many rows: it finds the place of the next row from that of the last one,
    /// while a statement for each row begins at the root of the tree.
    pub(super) fn insert_rows(&self, insert: &Insert, values: &[Value<'_>]) -> Result<()> {
        let mut chunks = values.chunks_exact(insert.columns * INSERTED_AT_ONCE);
        if chunks.len() > 0 {
            let mut statement = self.insert_statement(insert, INSERTED_AT_ONCE)?;
            chunks.try_for_each(|chunk| execute(&mut statement, chunk))?;
        }
        let mut rest = values[values.len() - values.len() % (insert.columns * INSERTED_AT_ONCE)..]
            .chunks(insert.columns);
        if rest.len() > 0 {
            let mut statement = self.insert_statement(insert, 1)?;
            rest.try_for_each(|row| execute(&mut statement, row))?;
        }
        Ok(())
    }

    /// A statement that adds so many rows. A value that is only for a server is bound, and not used.
    fn insert_statement(&self, insert: &Insert, rows: usize) -> Result<CachedStatement<'_>> {
        let columns = insert.columns;
        let first = insert.columns_for_server_only();
        let row = |row: usize| {
            let values = (first..columns).map(|column| format!("?{}", row * columns + column + 1));
            format!("({})", values.collect::<Vec<_>>().join(", "))
        };
        let rows = (0..rows).map(row).collect::<Vec<_>>().join(", ");
        let sql = format!("{} VALUES {rows}", insert.into.for_file());
        Ok(self.connection().prepare_cached(&sql)?)
    }

    pub(super) fn read_page(
        &self,
        sql: &Sql,
        values: &[Value<'_>],
        packing: Packing,
    ) -> Result<Page> {
        let mut statement = self.connection().prepare_cached(sql.for_file())?;
        bind(&mut statement, values)?;
        let mut page = Page::default();
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            page.push_id(row.get_ref(0)?.as_bytes().map_err(rusqlite::Error::from)?);
            if packing != Packing::Ids {
                page.push_period(row.get(1)?, row.get(2)?);
            }
            if packing == Packing::Produced {
                let producer = row.get_ref(3)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
                page.push_producer(producer.unwrap_or_default());
            }
        }
        Ok(page)
    }

    pub(super) fn end_each_period(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>> {
        const END: &str = "
            UPDATE granule
            SET deleted = ?3
            WHERE dataset_id = ?1 AND granule_id = ?2 AND deleted IS NULL";
        let mut end = self.connection().prepare_cached(END)?;
        for (granule_id, deleted) in ends {
            let rows = end.execute(params![dataset.0, granule_id.as_str(), deleted.as_micros()])?;
            if rows != 1 {
                return Ok(Some(((*granule_id).clone(), rows)));
            }
        }
        Ok(None)
    }
}

fn execute(statement: &mut CachedStatement<'_>, values: &[Value<'_>]) -> Result<()> {
    bind(statement, values)?;
    statement.raw_execute()?;
    Ok(())
}
