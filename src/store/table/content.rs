//! The table `content`: the records of the files of granules, each with its start time.

use crate::model::{Content, EncodedFiles, GranuleId, Timestamp, quoted};
use crate::store::checked_row::{Reader, Row, RowPart};
use crate::store::page::{check_order, out_of_order};
use crate::store::rows::{DatasetKey, StoredContent};
use crate::store::session::View;
use crate::store::statement::{CONTENT, Sql, StoredTable, Value, damaged};
use crate::store::{Error, Result};

impl Row for StoredContent {
    fn table() -> &'static StoredTable {
        &CONTENT
    }
}

impl RowPart for StoredContent {
    const COLUMNS: usize = 3;

    fn decode(reader: &mut Reader<'_>) -> Result<Self> {
        let (granule_id, since, files): (GranuleId, _, Vec<u8>) =
            (reader.next()?, reader.next()?, reader.next()?);
        let content = Content::decode(granule_id.as_str(), &files);
        let content = content.ok_or_else(|| unreadable(granule_id.as_str()))?;
        Ok(StoredContent { granule_id, since, content })
    }

    fn encode<'a>(&'a self, values: &mut Vec<Value<'a>>) {
        let StoredContent { granule_id, since, content } = self;
        values.extend([granule_id.into(), (*since).into(), content.encoded().as_bytes().into()]);
    }
}

/// The error for files with a wrong encoding or order, which this program did not write.
fn unreadable(granule_id: &str) -> Error {
    let granule_id = quoted(granule_id);
    damaged(format_args!("the files of {granule_id} cannot be read, or are not in order"))
}

/// A row, as it is read in a pass over many granules. Its id has not been checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContentRow<'page> {
    pub granule_id: &'page str,
    /// In microseconds.
    pub since: i64,
    pub files: EncodedFiles<'page>,
}

/// Rows of the table, packed into a few buffers.
#[derive(Default)]
struct ContentPage {
    ids: String,
    files: Vec<u8>,
    /// The start time of each row, and the offsets at which its id and its files end.
    rows: Vec<(i64, usize, usize)>,
}

/// Reads rows of many granules, by id and then by time, a page at a time.
pub(crate) struct ContentRows<'read> {
    read: &'read View,
    dataset: DatasetKey,
    sql: &'static Sql,
    /// The last parameter of the query, if it has one.
    at: Option<Timestamp>,
    /// The row after which the next page begins.
    after: (String, i64),
    page: ContentPage,
    /// The index of the next row in the page.
    next: usize,
    /// The number of rows of the next page. 0 means that there is no further page.
    limit: u32,
}

/// The number of rows of the first page. A row may be as long as [`Content::MAX_BYTES`].
const FIRST_ROWS: u32 = 256;

/// The approximate size of the other pages, in bytes.
const PAGE_BYTES: usize = 4 * 1_024 * 1_024;

impl ContentPage {
    fn row(&self, index: usize) -> Option<ContentRow<'_>> {
        let (since, id_end, files_end) = *self.rows.get(index)?;
        let before = index.checked_sub(1).map_or((0, 0, 0), |before| self.rows[before]);
        let (granule_id, files) = (&self.ids[before.1..id_end], &self.files[before.2..files_end]);
        Some(ContentRow { granule_id, since, files: EncodedFiles::of_checked(files) })
    }

    fn push(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let columns = (reader.value()?, reader.value()?, reader.value()?);
        let (Value::Text(granule_id), Value::Int(since), Value::Bytes(files)) = columns else {
            return Err(damaged("a row of the table content has a value of another type"));
        };
        if EncodedFiles::check(&granule_id, &files).is_none() {
            return Err(unreadable(&granule_id));
        }
        self.ids.push_str(&granule_id);
        self.files.extend_from_slice(&files);
        self.rows.push((since, self.ids.len(), self.files.len()));
        Ok(())
    }
}

impl ContentRows<'_> {
    /// The next row. It stays the next one until [`ContentRows::advance`].
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): a row is damaged, or the rows are not in order.
    pub fn peek(&mut self) -> Result<Option<ContentRow<'_>>> {
        if self.next == self.page.rows.len() && self.limit > 0 {
            self.read_page()?;
        }
        Ok(self.page.row(self.next))
    }

    /// Skips the next row.
    pub fn advance(&mut self) {
        self.next += 1;
    }

    fn read_page(&mut self) -> Result<()> {
        let limit = self.limit;
        // After an error, no further page is read.
        self.limit = 0;
        let mut page = std::mem::take(&mut self.page);
        page.ids.clear();
        page.files.clear();
        page.rows.clear();
        let (id, since) = &self.after;
        let mut values = vec![self.dataset.into(), id.as_str().into(), (*since).into()];
        values.push(limit.into());
        values.extend(self.at.map(Value::from));
        let push = |reader: &mut Reader<'_>| page.push(reader);
        self.read.each_read(self.sql, &values, &CONTENT, push, |(), _| Ok(()))?;
        let mut last = (id.as_str(), *since);
        for row in (0..).map_while(|index| page.row(index)) {
            let next = (row.granule_id, row.since);
            if next <= last {
                return Err(out_of_order("content"));
            }
            last = next;
        }
        if page.rows.len() == limit as usize {
            let row_bytes = (page.ids.len() + page.files.len()) / page.rows.len();
            let rows = u32::try_from(PAGE_BYTES / row_bytes.max(1)).unwrap_or(u32::MAX);
            self.limit = rows.clamp(1, self.read.page_rows());
        }
        self.after = (last.0.to_owned(), last.1);
        (self.page, self.next) = (page, 0);
        Ok(())
    }
}

impl View {
    /// The records in force at an instant, for granules that are held then. Ids and results are in canonical
    /// order. Granules without a record are left out.
    pub fn content_among(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
    ) -> Result<Vec<StoredContent>> {
        self.content_of(dataset, at, granule_ids, false)
    }

    /// The latest records of some granules, even if these are no longer held.
    pub fn last_content_among(
        &self,
        dataset: DatasetKey,
        granule_ids: &[&str],
    ) -> Result<Vec<StoredContent>> {
        self.content_of(dataset, Timestamp::MAX, granule_ids, true)
    }

    fn content_of(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
        is_of_former: bool,
    ) -> Result<Vec<StoredContent>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {content}
                WHERE dataset_id = ?1 AND granule_id >= ?2 AND granule_id <= ?3)",
        );
        // In a registry file, the rows are already in the order of the list. Sorting them would make SQLite
        // keep all of them in memory during a change.
        static AMONG: Sql = Sql::by_store(
            "SELECT {content.*}
            FROM rarray(?2) AS wanted
            CROSS JOIN content
              ON content.dataset_id = ?1
              AND content.granule_id = wanted.value
              AND content.since = (
                SELECT max(other.since)
                FROM content AS other
                WHERE other.dataset_id = ?1 AND other.granule_id = wanted.value
                  AND other.since <= ?3)
            WHERE ?4 = 1 OR content.since >= (
                SELECT max(granule.ingested)
                FROM granule
                WHERE granule.dataset_id = ?1 AND granule.granule_id = wanted.value
                  AND granule.ingested <= ?3)",
            r#"SELECT {content.*}
            FROM unnest(CAST(?2 AS text ARRAY)) AS wanted (granule_id)
            CROSS JOIN LATERAL (
                SELECT {content.*}
                FROM {content}
                WHERE content.dataset_id = ?1
                  AND content.granule_id = wanted.granule_id COLLATE "C"
                  AND content.since <= ?3
                ORDER BY content.since DESC
                LIMIT 1) AS content
            WHERE ?4 = 1 OR content.since >= (
                SELECT max(granule.ingested)
                FROM {granule}
                WHERE granule.dataset_id = ?1
                  AND granule.granule_id = wanted.granule_id COLLATE "C"
                  AND granule.ingested <= ?3)
            ORDER BY content.granule_id"#,
        );
        let (Some(&first), Some(&last)) = (granule_ids.first(), granule_ids.last()) else {
            return Ok(Vec::new());
        };
        // Most datasets have no records: one look-up replaces one for each id.
        if !self.exists(&BETWEEN, &[dataset.into(), first.into(), last.into()])? {
            return Ok(Vec::new());
        }
        let former = i64::from(is_of_former);
        let values = [dataset.into(), Value::Texts(granule_ids), at.into(), former.into()];
        let stored: Vec<StoredContent> = self.select(&AMONG, &values)?;
        check_order("content", None, stored.iter().map(|stored| &stored.granule_id))?;
        Ok(stored)
    }

    /// All records of the granules after an id (`""` means from the first), by id and then by time.
    pub fn content_after(&self, dataset: DatasetKey, after: &str) -> ContentRows<'_> {
        static PAGE: Sql = Sql::new(
            "SELECT {content.*}
            FROM {content}
            WHERE dataset_id = ?1 AND (granule_id, since) > (?2, ?3)
            ORDER BY granule_id, since
            LIMIT ?4",
        );
        self.content_rows(dataset, &PAGE, after, None)
    }

    fn content_rows(
        &self,
        dataset: DatasetKey,
        sql: &'static Sql,
        after: &str,
        at: Option<Timestamp>,
    ) -> ContentRows<'_> {
        let (after, page) = ((after.to_owned(), i64::MAX), ContentPage::default());
        ContentRows { read: self, dataset, sql, at, after, page, next: 0, limit: FIRST_ROWS }
    }

    /// The records, up to an instant, of the granules that are held then, since each was ingested. They are in
    /// order of id and then time, so the last record of a granule is in force at that instant. Costs a pass
    /// over the granules.
    pub fn content_until(&self, dataset: DatasetKey, at: Timestamp) -> Result<ContentRows<'_>> {
        // In a registry file, the rows are already in the order of both keys. Sorting them would make SQLite
        // keep all recorded files of a granule in memory during a change.
        static PAGE: Sql = Sql::by_store(
            "SELECT {content.*}
            FROM granule
            CROSS JOIN content
              ON content.dataset_id = ?1
              AND content.granule_id = granule.granule_id
              AND content.since >= granule.ingested AND content.since <= ?5
            WHERE granule.dataset_id = ?1 AND granule.granule_id >= ?2
              AND (content.granule_id > ?2 OR content.since > ?3)
              AND granule.ingested <= ?5 AND (granule.deleted IS NULL OR granule.deleted > ?5)
            LIMIT ?4",
            "SELECT {content.*}
            FROM {granule}
            JOIN {content}
              ON content.dataset_id = ?1
              AND content.granule_id = granule.granule_id
              AND content.since >= granule.ingested AND content.since <= ?5
            WHERE granule.dataset_id = ?1 AND granule.granule_id >= ?2
              AND (content.granule_id > ?2 OR content.since > ?3)
              AND granule.ingested <= ?5 AND (granule.deleted IS NULL OR granule.deleted > ?5)
            ORDER BY granule.granule_id, granule.ingested, content.since
            LIMIT ?4",
        );
        let mut rows = self.content_rows(dataset, &PAGE, "", Some(at));
        // Most datasets have no records.
        if self.first::<StoredContent>(dataset, 1)?.is_empty() {
            rows.limit = 0;
        }
        Ok(rows)
    }
}
