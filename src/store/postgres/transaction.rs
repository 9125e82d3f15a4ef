//! The statements that begin every transaction, and the outcome of a transaction whose COMMIT was interrupted
//! because the connection or a machine of a cluster was lost.
//!
//! Each statement that begins a transaction is a message of its own, and all of them are sent in one round
//! trip. Citus sends the text of a message with settings on to the machines that the transaction uses, so such
//! a text must contain nothing else.
//!
//! After an interrupted COMMIT, the old backend may still be committing. So the outcome is read after its
//! transaction has ended, under the lock that the change held. Each change puts its token into the row that it
//! locks.

use std::time::{Duration, Instant};

use super::address::Endpoint;
use super::connection::{Connection, value};
use crate::store::Result;

/// The time between two attempts to ask the server.
const PAUSE: Duration = Duration::from_millis(50);

/// The number of tokens that a row stores.
const TOKENS: i64 = 16;

/// A change whose outcome is unknown.
pub(super) struct SentChange<'change> {
    pub token: &'change str,
    pub transaction_id: &'change str,
    /// The datasets that the change locked, each with its new revision.
    pub locked: &'change [(i64, i64)],
}

/// The outcome of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitOutcome {
    /// The change was committed, and is visible.
    Committed,
    NotCommitted,
    /// The server could not be asked in time, or later changes have removed the token.
    Unknown,
}

/// Asks for the outcome of a change, for at most `wait`: the server may be restarting. On a cluster, it asks
/// for at least two of the intervals in which Citus finishes prepared transactions.
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

/// Asks once. `None` means that the transaction of the change has not ended.
fn ask(
    address: &Endpoint,
    change: &SentChange<'_>,
    wait: &mut Duration,
) -> Result<Option<CommitOutcome>> {
    // Without a lock timeout, this would wait until the other transaction ends.
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
    // A promoted standby may not have reached this transaction id, and then reports an error.
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
            // The change would have added this dataset. If it had, it had locked another row first, which
            // decides.
            return Ok((position == 0).then_some(CommitOutcome::NotCommitted));
        };
        let (is_there, found): (bool, i64) = (value(&row, 0)?, value(&row, 1)?);
        if !is_there {
            // The first row decides. The other rows may be on machines that have not committed yet.
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

/// The settings of every transaction, sent before its other statements.
///
/// The first setting makes the others reach every machine of a Citus cluster. A server without Citus accepts it
/// as a setting of an unknown extension. Names are resolved in the catalogue only, and tables are named in
/// full. Otherwise anyone who may create a function in another schema of the path could have the owner of the
/// tables run it. The last settings leave each statement one plan that is right at any size: by an index.
/// Statistics would have to be gathered first, and a new table has none during an import.
const SETTINGS: [&str; 7] = [
    "SET LOCAL citus.propagate_set_commands = 'local'",
    "SET LOCAL search_path = pg_catalog, pg_temp",
    "SET LOCAL enable_seqscan = off",
    "SET LOCAL enable_bitmapscan = off",
    "SET LOCAL enable_hashjoin = off",
    "SET LOCAL enable_mergejoin = off",
    "SET LOCAL jit = off",
];

/// Begins a read-only transaction that sees one state of the database, followed by other statements.
pub(super) fn reading<const N: usize>(then: [&str; N]) -> Vec<String> {
    begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", &then)
}

/// Begins a transaction that writes. Each statement sees what was committed before it, so after locking a
/// dataset it sees the change of the previous holder of the lock.
///
/// It waits for a lock at most `busy_wait`. Its commit is durable: the setting of an administrator counts only
/// if it is stronger than `on`.
///
/// A statement that asks several machines of a Citus cluster uses one connection to each. After a statement
/// with several connections to a machine, Citus refuses to change a table that every machine has, such as
/// `dataset`; its error names this setting.
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
