//! What every transaction begins with.
//!
//! Each statement is a message of its own, and all of them are sent in one round trip: Citus sends
//! the text of a message with settings on to the machines that the transaction asks, so such a text
//! must contain nothing else.

use std::time::Duration;

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
pub(super) fn writing<const N: usize>(
    busy_wait: Duration,
    synchronous_commit: &str,
    then: [&str; N],
) -> Vec<String> {
    // 0 would mean no limit.
    let milliseconds = busy_wait.as_millis().clamp(1, i32::MAX as u128);
    let durable = if synchronous_commit == "remote_apply" { synchronous_commit } else { "on" };
    let limits = [
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
