//! Statements that read or write many rows.

use std::collections::BTreeMap;

use tokio_postgres::Row;

use super::connection::value;
use super::session::ServerSession;
use crate::model::{GranuleId, Timestamp};
use crate::store::Result;
use crate::store::integrity::note_failure;
use crate::store::page::{Packing, Page};
use crate::store::rows::DatasetKey;
use crate::store::statement::{Existing, Sql, StoredTable, Value, damaged, insertion};

/// The number of rows from which COPY, which takes three round trips, costs less than INSERT.
const COPIED_ROWS: usize = 1_000;

impl ServerSession {
    pub(super) fn insert_rows(
        &self,
        table: &StoredTable,
        existing: Existing,
        values: &[Value<'_>],
    ) -> Result<()> {
        let (into, then) = insertion(table, existing, "accession.");
        let columns = table.all_columns().count();
        if existing == Existing::Replaced || values.len() < COPIED_ROWS * columns {
            return self.connection().insert(&into, &then, columns, values);
        }
        let sql = format!("COPY {} FROM STDIN BINARY", into.trim_start_matches("INSERT INTO "));
        let types: Vec<_> = values.iter().take(columns).map(Value::sql_type).collect();
        self.connection().copy_in(&sql, &types, columns, values)
    }

    /// Reads a page as one row: the ids as lines, and the instants as concatenated bytes.
    ///
    /// One row for each granule costs the client four times the processor time, and client and server together
    /// a third more.
    pub(super) fn read_page(
        &self,
        sql: &Sql,
        values: &[Value<'_>],
        packing: Packing,
    ) -> Result<Page> {
        const IDS: &str = r"string_agg(granule_id, E'\n')";
        const INSTANTS: &str = "string_agg(int8send(ingested), ''), \
            string_agg(int8send(coalesce(deleted, -9223372036854775808)), '')";
        const PRODUCERS: &str = r"string_agg(coalesce(producer_granule, ''), E'\n')";
        let page = sql.for_server();
        let sql = match packing {
            Packing::Ids => format!("SELECT {IDS} FROM ({page}) AS page"),
            Packing::Periods => format!("SELECT {IDS}, {INSTANTS} FROM ({page}) AS page"),
            Packing::Produced => {
                format!("SELECT {IDS}, {INSTANTS}, {PRODUCERS} FROM ({page}) AS page")
            }
        };
        match self.query_opt(&sql, values)? {
            Some(row) => unpacked(&row, packing),
            None => Ok(Page::default()),
        }
    }

    pub(super) fn end_all_periods(
        &self,
        dataset: DatasetKey,
        ends: &[(&GranuleId, Timestamp)],
    ) -> Result<Option<(GranuleId, usize)>> {
        // Not an UPDATE joined with unnest: without statistics of the table, a server can choose a plan that
        // reads the whole dataset for each id.
        const END: &str = r#"
            INSERT INTO accession.granule AS held (dataset_id, granule_id, ingested, deleted)
            SELECT $1, period.granule_id, period.ingested, period.deleted
            FROM (
                SELECT ended.granule_id, open.ingested, ended.deleted
                FROM unnest($2::text[], $3::bigint[]) AS ended (granule_id, deleted)
                CROSS JOIN LATERAL (
                    SELECT ingested
                    FROM accession.granule
                    WHERE dataset_id = $1 AND granule_id = ended.granule_id COLLATE "C"
                      AND deleted IS NULL
                    OFFSET 0) AS open) AS period
            ON CONFLICT (dataset_id, granule_id, ingested)
            DO UPDATE SET deleted = EXCLUDED.deleted
            RETURNING held.granule_id"#;
        let granule_ids: Vec<&str> =
            ends.iter().map(|(granule_id, _)| granule_id.as_str()).collect();
        let deleted: Vec<i64> = ends.iter().map(|(_, deleted)| deleted.as_micros()).collect();
        let values = [dataset.into(), Value::Texts(&granule_ids), Value::Ints(&deleted)];
        let rows = self.connection().query(END, &values)?;
        let mut ended = BTreeMap::new();
        for row in &rows {
            *ended.entry(value::<&str>(row, 0)?).or_insert(0) += 1;
        }
        let rows_of = |granule_id: &str| ended.get(granule_id).copied().unwrap_or(0);
        let counted = ends.iter().map(|(it, _)| ((*it).clone(), rows_of(it.as_str())));
        Ok(counted.into_iter().find(|(_, rows)| *rows != 1))
    }

    /// Counts the rows of granules whose producer's id differs from its checksum: those of these datasets, or
    /// all if none is given. Costs a pass over these rows.
    ///
    /// The server's own tools check the files below the tables: `initdb --data-checksums` and `pg_amcheck`.
    pub(super) fn check_producers(&self, datasets: &[DatasetKey]) -> Result<Vec<String>> {
        const OF_ALL: &str = "
            SELECT count(*)
            FROM accession.granule
            WHERE checksum IS DISTINCT FROM CASE WHEN producer_granule IS NOT NULL
                THEN left(md5(quote_nullable(granule_id) || quote_nullable(producer_granule)), 8) END";
        let of_one = format!("{OF_ALL} AND dataset_id = $1");
        let (mut rows, mut findings) = (0, Vec::new());
        let mut add = |sql: &str, values: &[Value<'_>]| {
            let row = self.query_opt(sql, values)?;
            rows += row.map_or(Ok(0), |row| value::<i64>(&row, 0))?;
            Ok(())
        };
        let counted = match datasets {
            // This query on the whole registry asks every machine.
            [] => add(OF_ALL, &[]),
            keys => keys.iter().try_for_each(|key| add(&of_one, &[(*key).into()])),
        };
        note_failure(counted, "granule", &mut findings)?;
        if rows > 0 {
            findings.push(format!("{rows} rows of granule differ from their checksums"));
        }
        Ok(findings)
    }
}

/// Unpacks the rows of a page from one row.
///
/// # Errors
///
/// [`ErrorKind::Damaged`](crate::store::ErrorKind::Damaged): an id contains a line feed.
fn unpacked(row: &Row, packing: Packing) -> Result<Page> {
    let mut page = Page::default();
    let Some(ids) = value::<Option<&str>>(row, 0)? else { return Ok(page) };
    let mut rows = 0;
    for granule_id in ids.split('\n') {
        page.push_id(granule_id.as_bytes());
        rows += 1;
    }
    if packing == Packing::Ids {
        return Ok(page);
    }
    let (ingested, deleted) = (instants(row, 1)?, instants(row, 2)?);
    let mut has_all = ingested.len() == rows && deleted.len() == rows;
    for (ingested, deleted) in ingested.zip(deleted) {
        page.push_period(ingested, Some(deleted).filter(|deleted| *deleted != i64::MIN));
    }
    if packing == Packing::Produced {
        let producers: &str = value(row, 3)?;
        let mut number = 0;
        for producer_granule in producers.split('\n') {
            page.push_producer(producer_granule.as_bytes());
            number += 1;
        }
        has_all &= number == rows;
    }
    match has_all {
        true => Ok(page),
        false => Err(damaged("an id in the table granule contains a line feed")),
    }
}

fn instants(row: &Row, column: usize) -> Result<impl ExactSizeIterator<Item = i64>> {
    let (instants, _) = value::<&[u8]>(row, column)?.as_chunks::<8>();
    Ok(instants.iter().map(|bytes| i64::from_be_bytes(*bytes)))
}
