//! Whether a change was committed when the connection was lost during its commit.
//!
//! The old backend may still be committing, so the question is asked when its transaction is over,
//! and under the lock that the change held: each change puts its token into the row that it locks.

use std::time::{Duration, Instant};

use super::address::Address;
use super::connection::Connection;
use super::parameter::{bigint, text};
use crate::store::Result;

/// How long to wait before the server is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// The tokens that a row keeps.
const TOKENS: i64 = 16;

/// A change whose outcome is not known.
pub(super) struct Change<'change> {
    pub token: &'change str,
    pub transaction_id: &'change str,
    /// A dataset that it locked, and the revision that it gave it.
    pub dataset_id: i64,
    pub revision: i64,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Committed,
    NotCommitted,
    /// The server could not be asked within the time, or so much was changed since that it cannot
    /// tell.
    Unknown,
}

/// Asks what became of a change, for as long as `wait`: the server may be starting again.
pub(super) fn outcome(address: &Address, change: &Change<'_>, wait: Duration) -> Outcome {
    let began = Instant::now();
    loop {
        if let Ok(Some(outcome)) = ask(address, change) {
            return outcome;
        }
        if began.elapsed() >= wait {
            return Outcome::Unknown;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Asks once. `None` means that the transaction of the change is not over.
fn ask(address: &Address, change: &Change<'_>) -> Result<Option<Outcome>> {
    // Without a lock timeout of its own, this would wait as long as the other transaction runs.
    const BEGIN: &str = "BEGIN; SET LOCAL lock_timeout = 1000";
    const STATUS: &str = "
        SELECT coalesce(pg_xact_status(CAST($1 AS xid8)) = 'in progress', false)";
    const LOCKED: &str = "
        SELECT CAST($2 AS uuid) = ANY (tokens), revision
        FROM accession.writer
        WHERE dataset_id = $1
        FOR UPDATE";
    let connection = Connection::open(address)?;
    // A promoted standby may not have reached this transaction id: it then reports an error.
    if let Ok(Some(row)) = connection.query_opt(STATUS, &[text(change.transaction_id)])
        && row.try_get(0)?
    {
        return Ok(None);
    }
    connection.begin(BEGIN)?;
    let parameters = [bigint(change.dataset_id), text(change.token)];
    let outcome = match connection.query_opt(LOCKED, &parameters)? {
        // The change would have added the dataset.
        None => Outcome::NotCommitted,
        Some(row) => {
            let (is_there, revision): (bool, i64) = (row.try_get(0)?, row.try_get(1)?);
            match is_there {
                true => Outcome::Committed,
                false if revision >= change.revision + TOKENS => Outcome::Unknown,
                false => Outcome::NotCommitted,
            }
        }
    };
    connection.roll_back("ROLLBACK")?;
    Ok(Some(outcome))
}
