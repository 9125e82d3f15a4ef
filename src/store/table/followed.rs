//! The tables `followed_log` and `followed_statement`: what other archives have stated, as a mirror has
//! verified it.

use std::ops::Range;

use crate::store::Result;
use crate::store::page::paged;
use crate::store::row::row;
use crate::store::rows::{FollowedLog, FollowedStatement, REGISTRY};
use crate::store::session::{Transaction, View};
use crate::store::statement::Sql;

row!(FollowedLog in FOLLOWED_LOG { origin, policy, note, fork, settled });
row!(FollowedStatement in FOLLOWED_STATEMENT { origin, number, text });

impl View {
    /// All logs that are followed, in order of their names.
    pub fn followed_logs(&self) -> Result<Vec<FollowedLog>> {
        self.after(None, &[], u32::MAX)
    }

    /// The log with this name. `None` means that it is not followed.
    pub fn followed_log(&self, origin: &str) -> Result<Option<FollowedLog>> {
        static BY_ORIGIN: Sql = Sql::new(
            "SELECT {followed_log.*}
            FROM {followed_log}
            WHERE origin = ?1",
        );
        Ok(self.select(&BY_ORIGIN, &[origin.into()])?.pop())
    }

    /// The statements of a log with these numbers, in order.
    pub fn followed_statements(
        &self,
        origin: &str,
        numbers: Range<u64>,
    ) -> impl Iterator<Item = Result<FollowedStatement>> {
        static PAGE: Sql = Sql::new(
            "SELECT {followed_statement.*}
            FROM {followed_statement}
            WHERE origin = ?1 AND number >= ?2 AND number < ?3
            ORDER BY number
            LIMIT ?4",
        );
        paged(
            numbers.start,
            move |next: &u64, limit| {
                let values = [origin.into(), (*next).into(), numbers.end.into(), limit.into()];
                self.select(&PAGE, &values)
            },
            |last: &FollowedStatement| last.number + 1,
        )
    }
}

impl Transaction {
    /// Stores a log that is followed, in the place of what was stored of it.
    pub fn put_followed_log(&self, log: &FollowedLog) -> Result<()> {
        self.put(REGISTRY, log)
    }

    /// Adds statements of logs that are followed.
    pub fn insert_followed_statements(&self, statements: &[FollowedStatement]) -> Result<()> {
        self.insert(REGISTRY, statements)
    }

    /// Forgets all statements of a log.
    pub fn forget_followed_statements(&self, origin: &str) -> Result<()> {
        static FORGET: Sql = Sql::new(
            "DELETE FROM {followed_statement}
            WHERE origin = ?1",
        );
        self.run(REGISTRY, &FORGET, &[origin.into()])
    }
}
