//! The table `content`: what is known of the files of granules, and since when.

use crate::model::{Content, GranuleId, Timestamp};
use crate::store::Result;
use crate::store::page::{ascending, paged};
use crate::store::row::row;
use crate::store::rows::{Begin, DatasetKey, Known, StoredContent};
use crate::store::session::Snapshot;
use crate::store::statement::{Scope, Sql, Value, damaged};

row!(StoredContent in CONTENT { granule_id, since, files });

impl StoredContent {
    /// The row of what is known of a granule from an instant on.
    pub fn new(granule_id: &GranuleId, since: Timestamp, content: &Content) -> Self {
        let mut files = Vec::new();
        content.encode(&mut files);
        StoredContent { granule_id: granule_id.clone(), since, files }
    }

    /// What is known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`](crate::ErrorKind::Damaged): the row does not say it.
    pub fn content(&self) -> Result<Content> {
        Content::decode(&self.files).ok_or_else(|| {
            damaged(format_args!("what is known of {} cannot be read", self.granule_id))
        })
    }
}

impl Snapshot {
    /// What is known at an instant of some granules, in canonical order, which is that of the ids.
    /// Granules of which nothing is known are left out.
    pub fn content_among(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
        granule_ids: &[&str],
        known: Known,
    ) -> Result<Vec<StoredContent>> {
        static BETWEEN: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {content}
                WHERE dataset_id = ?1 AND granule_id >= ?2 AND granule_id <= ?3)",
        );
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
                  AND granule.ingested <= ?3)
            ORDER BY content.granule_id",
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
        // Of most datasets nothing is known: one look-up replaces one for each id.
        if !self.exists(dataset, &BETWEEN, &[dataset.into(), first.into(), last.into()])? {
            return Ok(Vec::new());
        }
        let any = i64::from(known == Known::Last);
        let values = [dataset.into(), Value::Texts(granule_ids), at.into(), any.into()];
        ascending(
            "content",
            self.select::<StoredContent>(Scope::Dataset(dataset), &AMONG, &values)?,
            |_| true,
            |one, next| one.granule_id < next.granule_id,
        )
    }

    /// What was known of granules from one on, by id and then by time: all of it, or what is known at an
    /// instant and what became known after it.
    pub fn content_from(
        &self,
        dataset: DatasetKey,
        begin: Begin<'_>,
        at: Option<Timestamp>,
    ) -> impl Iterator<Item = Result<StoredContent>> + use<'_> {
        static PAGE: Sql = Sql::new(
            "SELECT {content.*}
            FROM {content}
            WHERE dataset_id = ?1 AND (granule_id, since) > (?2, ?3)
              AND since >= coalesce((
                SELECT max(other.since)
                FROM {content} AS other
                WHERE other.dataset_id = ?1 AND other.granule_id = content.granule_id
                  AND other.since <= ?4), ?4)
            ORDER BY granule_id, since
            LIMIT ?5",
        );
        let (id, since) = begin.start();
        let at = at.map_or(i64::MIN, Timestamp::as_micros);
        paged(
            (id.to_owned(), since),
            move |(id, since), limit| {
                let after = [dataset.into(), id.as_str().into(), (*since).into()];
                let values = [after.as_slice(), &[at.into(), limit.into()]].concat();
                ascending(
                    "content",
                    self.select::<StoredContent>(Scope::Dataset(dataset), &PAGE, &values)?,
                    |first| position(first) > (id.as_str(), *since),
                    |one, next| position(one) < position(next),
                )
            },
            |last| (last.granule_id.to_string(), last.since.as_micros()),
        )
    }

    /// Whether something is or was known of a granule of a dataset.
    pub fn has_content(&self, dataset: DatasetKey) -> Result<bool> {
        static HAS: Sql = Sql::new(
            "SELECT EXISTS (
                SELECT 1
                FROM {content}
                WHERE dataset_id = ?1)",
        );
        self.exists(dataset, &HAS, &[dataset.into()])
    }

    /// What is known at an instant of the granules that are held then, in canonical order. Granules of
    /// which nothing is known are left out. Costs a pass over the granules.
    pub fn content_at(
        &self,
        dataset: DatasetKey,
        at: Timestamp,
    ) -> impl Iterator<Item = Result<StoredContent>> + use<'_> {
        static PAGE: Sql = Sql::new(
            "SELECT {content.*}
            FROM {granule}
            JOIN {content}
              ON content.dataset_id = ?1
              AND content.granule_id = granule.granule_id
              AND content.since = (
                SELECT max(other.since)
                FROM {content} AS other
                WHERE other.dataset_id = ?1 AND other.granule_id = granule.granule_id
                  AND other.since >= granule.ingested AND other.since <= ?2)
            WHERE granule.dataset_id = ?1 AND granule.granule_id > ?3
              AND granule.ingested <= ?2 AND (granule.deleted IS NULL OR granule.deleted > ?2)
            ORDER BY granule.granule_id
            LIMIT ?4",
        );
        paged(
            String::new(),
            move |after, limit| {
                if after.is_empty() && !self.has_content(dataset)? {
                    return Ok(Vec::new());
                }
                let values = [dataset.into(), at.into(), after.as_str().into(), limit.into()];
                ascending(
                    "content",
                    self.select::<StoredContent>(Scope::Dataset(dataset), &PAGE, &values)?,
                    |first| first.granule_id.as_str() > after.as_str(),
                    |one, next| one.granule_id < next.granule_id,
                )
            },
            |last| last.granule_id.to_string(),
        )
    }

    /// What is known of the first granules of a dataset of which something is known, at most `limit` of them.
    pub fn first_content(&self, dataset: DatasetKey, limit: u32) -> Result<Vec<StoredContent>> {
        static FIRST: Sql = Sql::new(
            "SELECT {content.*}
            FROM {content}
            WHERE dataset_id = ?1
            ORDER BY granule_id, since
            LIMIT ?2",
        );
        self.select(Scope::Dataset(dataset), &FIRST, &[dataset.into(), limit.into()])
    }
}

fn position(stored: &StoredContent) -> (&str, i64) {
    (stored.granule_id.as_str(), stored.since.as_micros())
}
