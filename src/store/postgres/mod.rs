//! The registry in a PostgreSQL database.
//!
//! `address` parses an address, and `driver` connects to it. `connection` sends statements with their values.
//! `transaction` contains the statements that begin every transaction, and finds the outcome of a change whose
//! connection was lost. `schema` creates and migrates the tables, and distributes them over several machines.
//! `session` contains an open registry, or a new one; `bulk` contains the statements about many rows.
//!
//! # Locking
//!
//! Changes of one dataset queue; changes of different datasets do not. When a transaction first reads a
//! dataset, it increments the revision in the dataset's row of `writer`, and so holds the lock on that row
//! until it ends. It runs READ COMMITTED, so it then reads what the previous writer committed. (Under
//! REPEATABLE READ it would get the lock and still not see that.) Adding a dataset and leasing payment ids lock
//! row 0. A writer waits for a lock at most for the busy wait of the registry, and then fails with
//! [`ErrorKind::Busy`]. Readers see one state, REPEATABLE READ, and never wait for a lock.
//!
//! # Round trips
//!
//! A statement whose result is not needed is sent together with the next one, so the rows of a change and its
//! COMMIT take one round trip. If a statement fails, the server rejects the later ones, and COMMIT rolls back.
//! The first error is returned.
//!
//! # Durability
//!
//! `synchronous_commit` is at least `on`: a change that was acknowledged is on the disk of the server, and of
//! its synchronous standbys. If the connection is lost during the commit, a new connection locks the dataset
//! and asks whether the change was committed. Only if that is impossible is the outcome unknown, and the error
//! says so.
//!
//! # Compatibility
//!
//! PostgreSQL 13 or newer, with a database in UTF8 and any collation. No state of a session is used beyond a
//! transaction, so a pooler may give each transaction another session. The row of `registry` states the schema.
//! The first writer migrates an older schema; any other schema is rejected. The character NUL, which PostgreSQL
//! does not store, is rejected.
//!
//! # Distribution
//!
//! Every statement names the dataset, except the statements whose comment says why they ask every machine.

mod address;
mod bulk;
mod connection;
mod driver;
mod error;
mod schema;
mod session;
mod transaction;

pub(in crate::store) use address::shown;
pub(in crate::store) use session::ServerStore;
