//! The outline of a history: the data of its plot, and the number of granules of a set that are still held.

use crate::model::{Instance, Timestamp};
use crate::store::Result;
use crate::store::rows::{DatasetKey, Span};
use crate::store::session::View;
use crate::store::statement::Sql;

impl View {
    /// The changes of a dataset after a change and not after `up_to`, in order of time. Changes in the same
    /// span of `width` microseconds, counted from 1970, are summed up. One statement, which passes over the
    /// history.
    pub fn spans(
        &self,
        dataset: DatasetKey,
        after: &Instance,
        up_to: Timestamp,
        width: i64,
    ) -> Result<Vec<Span>> {
        // To group the rows, SQLite would sort them, which takes twice as long as reading them in the order of
        // the primary key. A server groups them itself, since it would send each row as text. There, the sum of
        // a bigint is a numeric.
        static SPANS: Sql = Sql::by_store(
            "SELECT timestamp, timestamp, granules, granules, ingested, deleted, 1,
                (timestamp - ?4) / ?5
            FROM {instance}
            WHERE dataset_id = ?1 AND timestamp > ?2 AND timestamp <= ?3
            ORDER BY timestamp",
            "SELECT min(timestamp), max(timestamp), min(granules), max(granules),
                CAST(sum(ingested) AS bigint), CAST(sum(deleted) AS bigint), count(*),
                (min(timestamp) - ?4) / ?5
            FROM {instance}
            WHERE dataset_id = ?1 AND timestamp > ?2 AND timestamp <= ?3
            GROUP BY (timestamp - ?4) / ?5
            ORDER BY 1",
        );
        // SQL division rounds towards 0. Times are counted from the beginning of a span before all of them, so
        // it rounds down.
        let begin = after.timestamp.as_micros().div_euclid(width) * width;
        let values =
            [dataset.into(), after.timestamp.into(), up_to.into(), begin.into(), width.into()];
        let (mut spans, mut number): (Vec<Span>, Option<i64>) = (Vec::new(), None);
        self.session()?.rows(&SPANS, &values, &mut |row| {
            let next = Span {
                first: row.get(0)?,
                last: row.get(1)?,
                least: row.get(2)?,
                most: row.get(3)?,
                held: 0,
                added: row.get(4)?,
                deleted: row.get(5)?,
                changes: row.get(6)?,
            };
            let before = number.replace(row.get(7)?);
            match spans.last_mut().filter(|_| before == number) {
                Some(last) => {
                    last.last = next.last;
                    last.least = last.least.min(next.least);
                    last.most = last.most.max(next.most);
                    last.added = last.added.saturating_add(next.added);
                    last.deleted = last.deleted.saturating_add(next.deleted);
                    last.changes += next.changes;
                }
                None => spans.push(next),
            }
            Ok(())
        })?;
        let mut held = after.granules;
        for span in &mut spans {
            held = held.saturating_add(span.added).saturating_sub(span.deleted);
            span.held = held;
        }
        Ok(spans)
    }

    /// The number of granules held at a time that are held now: without a break, or again.
    pub fn still_held(&self, dataset: DatasetKey, at: Timestamp) -> Result<u64> {
        static STILL: Sql = Sql::new(
            "SELECT count(*)
            FROM {granule} AS earlier
            WHERE earlier.dataset_id = ?1 AND earlier.ingested <= ?2
              AND (earlier.deleted IS NULL
                OR (earlier.deleted > ?2
                  AND EXISTS (
                    SELECT 1
                    FROM {granule} AS present
                    WHERE present.dataset_id = ?1
                      AND present.granule_id = earlier.granule_id
                      AND present.deleted IS NULL)))",
        );
        self.count(&STILL, &[dataset.into(), at.into()])
    }
}
