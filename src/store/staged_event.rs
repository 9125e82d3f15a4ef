//! The events of an import, on their way from somebody's file into the registry.
//!
//! They lie in a temporary table, which SQLite keeps in a file of its own and sorts there: so the
//! memory of an import does not grow with it, and no lock is held while a file is read.

use rusqlite::Row;

use super::column::{Id, Micros};
use super::{Result, Store, Write};
use crate::model::{Event, EventKind, GranuleId, Timestamp};

/// An event in the temporary table.
#[derive(Debug, Clone)]
pub struct Staged {
    /// The granule.
    pub granule_id: GranuleId,
    /// When it came or went.
    pub at: Timestamp,
    /// Which of the two.
    pub kind: EventKind,
    /// The id its producer gave it.
    pub producer_granule: Option<GranuleId>,
    /// The number of its source, as it was staged, and its line there.
    pub location: Option<(u32, u64)>,
}

/// In which order events were staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// In that in which they are wanted: by id, then by time, deletions first.
    AsStaged,
    /// In any.
    Unknown,
}

impl Store {
    /// Makes an empty place for events.
    pub fn begin_staging(&mut self) -> Result<()> {
        const DROP: &str = "DROP TABLE IF EXISTS temp.staged_event";
        const CREATE: &str = "
            CREATE TEMP TABLE staged_event (
                granule_id       TEXT    NOT NULL,
                at               INTEGER NOT NULL,
                is_ingest        INTEGER NOT NULL,
                producer_granule TEXT,
                source           INTEGER,
                line             INTEGER
            ) STRICT";
        self.give_up_staging()?;
        self.connection.execute_batch("BEGIN")?;
        self.connection.execute(DROP, [])?;
        self.connection.execute(CREATE, [])?;
        Ok(())
    }

    /// Adds events, each with where it was read: the number of its source, and the line.
    pub fn stage(&mut self, events: &[(Event, Option<(u32, u64)>)]) -> Result<()> {
        const INSERT: &str = "
            INSERT INTO staged_event (granule_id, at, is_ingest, producer_granule, source, line)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let mut insert = self.connection.prepare_cached(INSERT)?;
        for (event, location) in events {
            insert.execute((
                event.granule_id.as_str(),
                Micros(event.at),
                event.kind == EventKind::Ingested,
                event.producer_granule.as_ref().map(GranuleId::as_str),
                location.map(|(source, _)| source),
                location.map(|(_, line)| line.cast_signed()),
            ))?;
        }
        Ok(())
    }

    /// Ends a transaction that an import left open when it was given up: nobody else leaves one.
    pub(super) fn give_up_staging(&self) -> Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        Ok(())
    }

    /// No more events come.
    pub fn end_staging(&mut self) -> Result<()> {
        Ok(self.connection.execute_batch("COMMIT")?)
    }
}

impl Write<'_> {
    /// Shows every event, by id, then by time; of one time, deletions first.
    pub fn each_staged<E: From<super::Error>>(
        &self,
        order: Order,
        mut show: impl FnMut(Staged) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        const AS_THEY_CAME: &str = "
            SELECT granule_id, at, is_ingest, producer_granule, source, line
            FROM staged_event
            ORDER BY rowid";
        const SORTED: &str = "
            SELECT granule_id, at, is_ingest, producer_granule, source, line
            FROM staged_event
            ORDER BY granule_id, at, is_ingest";
        let sql = match order {
            Order::AsStaged => AS_THEY_CAME,
            Order::Unknown => SORTED,
        };
        let mut statement = self.transaction.prepare_cached(sql).map_err(super::Error::from)?;
        let mut rows = statement.query([]).map_err(super::Error::from)?;
        while let Some(row) = rows.next().map_err(super::Error::from)? {
            show(staged_from(row).map_err(super::Error::from)?)?;
        }
        Ok(())
    }
}

fn staged_from(row: &Row<'_>) -> rusqlite::Result<Staged> {
    let is_ingest: bool = row.get(2)?;
    let source: Option<u32> = row.get(4)?;
    let line: Option<i64> = row.get(5)?;
    Ok(Staged {
        granule_id: row.get::<_, Id>(0)?.0,
        at: row.get::<_, Micros>(1)?.0,
        kind: if is_ingest { EventKind::Ingested } else { EventKind::Deleted },
        producer_granule: row.get::<_, Option<Id>>(3)?.map(|producer| producer.0),
        location: source.zip(line.map(i64::cast_unsigned)),
    })
}
