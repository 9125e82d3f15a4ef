//! What every transaction begins with, and what became of one whose COMMIT was interrupted, because the
//! connection or a machine of a cluster was lost.
//!
//! Each statement that begins one is a message of its own, and all of them are sent in one round trip:
//! Citus sends the text of a message with settings on to the machines that the transaction asks, so
//! such a text must contain nothing else.
//!
//! After an interrupted COMMIT the old backend may still be committing, so the outcome is asked for
//! when its transaction is over, and under the lock that the change held: each change puts its token
//! into the row that it locks.

use std::time::{Duration, Instant};

use super::address::Endpoint;
use super::connection::{Connection, value};
use crate::store::Result;

/// How long to wait before the server is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// The tokens that a row keeps.
const TOKENS: i64 = 16;

/// A change whose outcome is not known.
pub(super) struct SentChange<'change> {
    pub token: &'change str,
    pub transaction_id: &'change str,
    /// The datasets that it locked, each with the revision that it gave it.
    pub locked: &'change [(i64, i64)],
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOutcome {
    /// It was, and everybody sees it.
    Committed,
    NotCommitted,
    /// The server could not be asked within the time, or so much was changed since that it cannot
    /// tell.
    Unknown,
}

/// Asks what became of a change, for as long as `wait`: the server may be starting again. On a
/// cluster it is asked for at least two of the intervals in which Citus finishes what a machine has
/// prepared and not committed.
pub(super) fn outcome(
    address: &Endpoint,
    change: &SentChange<'_>,
    mut wait: Duration,
) -> CommitOutcome {
    let began = Instant::now();
    loop {
        if let Ok(Some(outcome)) = ask(address, change, &mut wait) {
            return outcome;
        }
        if began.elapsed() >= wait {
            return CommitOutcome::Unknown;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Asks once. `None` means that the transaction of the change is not over.
fn ask(
    address: &Endpoint,
    change: &SentChange<'_>,
    wait: &mut Duration,
) -> Result<Option<CommitOutcome>> {
    // Without a lock timeout of its own, this would wait as long as the other transaction runs.
    const LOCK_WAIT: Duration = Duration::from_secs(1);
    const RECOVERY: &str = "
        SELECT setting::bigint
        FROM pg_settings
        WHERE name = 'citus.recover_2pc_interval'";
    const STATUS: &str = "
        SELECT coalesce(pg_xact_status(CAST($1 AS xid8)) = 'in progress', false)";
    const LOCKED: &str = "
        SELECT CAST($2 AS uuid) = ANY (tokens), revision
        FROM accession.writer
        WHERE dataset_id = $1
        FOR UPDATE";
    let connection = Connection::open(address)?;
    connection.begin(&reading([]))?;
    if let Some(row) = connection.query_opt(RECOVERY, &[])? {
        let milliseconds: i64 = value(&row, 0)?;
        let twice = Duration::from_millis(milliseconds.try_into().unwrap_or(0)) * 2;
        *wait = twice.max(*wait);
    }
    // A promoted standby may not have reached this transaction id: it then reports an error.
    if let Ok(Some(row)) = connection.query_opt(STATUS, &[change.transaction_id.into()])
        && value(&row, 0)?
    {
        return Ok(None);
    }
    connection.roll_back("ROLLBACK")?;
    connection.begin(&writing(LOCK_WAIT, "on", []))?;
    for (position, (dataset_id, revision)) in change.locked.iter().enumerate() {
        let parameters = [(*dataset_id).into(), change.token.into()];
        let Some(row) = connection.query_opt(LOCKED, &parameters)? else {
            // It would have added the dataset. If it did, another row was locked before, and says so.
            return Ok((position == 0).then_some(CommitOutcome::NotCommitted));
        };
        let (is_there, found): (bool, i64) = (value(&row, 0)?, value(&row, 1)?);
        if !is_there {
            // The first row decides; the others may be on machines that are still to follow.
            return Ok(match position {
                _ if found >= revision + TOKENS => Some(CommitOutcome::Unknown),
                0 => Some(CommitOutcome::NotCommitted),
                _ => None,
            });
        }
    }
    connection.roll_back("ROLLBACK")?;
    Ok(Some(CommitOutcome::Committed))
}

/// The settings of every transaction, before it does anything.
///
/// The first one makes the others reach every machine of a Citus cluster; any other server takes it
/// for the setting of an extension that it does not have. Names are resolved in the catalogue only,
/// and the tables are named in full: else whoever may create a function in another schema of the path
/// could have the owner of the tables run it. The last ones leave every statement of the store one
/// plan that is right at any size: by an index. Statistics would have to be gathered first, and an
/// import into a new table has none.
const SETTINGS: [&str; 7] = [
    "SET LOCAL citus.propagate_set_commands = 'local'",
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_bitmapscan = off",
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_mergejoin = off",
    "SET LOCAL jit = off",
];

/// Begins a transaction that sees one state of the database, followed by other statements.
pub(super) fn reading<const N: usize>(then: [&str; N]) -> Vec<String> {
    begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &then)
}

/// Begins a transaction that writes. Each statement sees what was committed before it: once a dataset
/// is locked, it sees the change of whoever held the lock before.
///
/// It waits for a lock as long as `busy_wait`, and its commit is durable: an administrator may have
/// chosen more than `on`, but not less.
///
/// A statement that asks several machines of a Citus cluster uses one connection to each: after one that used
/// several, Citus refuses to change a table that every machine has, such as that of the datasets, and its error
/// names this setting.
pub(super) fn writing<const N: usize>(
    busy_wait: Duration,
    synchronous_commit: &str,
    then: [&str; N],
) -> Vec<String> {
    // 0 would mean no limit.
    let milliseconds = busy_wait.as_millis().clamp(1, i32::MAX as u128);
    let durable = if synchronous_commit == "remote_apply" { synchronous_commit } else { "on" };
    let limits = [
        "SET LOCAL citus.multi_shard_modify_mode = 'sequential'".to_owned(),
        format!("SET LOCAL lock_timeout = {milliseconds}"),
        format!("SET LOCAL synchronous_commit = {durable}"),
    ];
    let limits = limits.each_ref().map(String::as_str);
    begin("BEGIN ISOLATION LEVEL READ COMMITTED", &[&limits[..], &then].concat())
}

fn begin(begin: &str, then: &[&str]) -> Vec<String> {
    let statements = [&[begin], SETTINGS.as_slice(), then].concat();
    statements.into_iter().map(str::to_owned).collect()
}
