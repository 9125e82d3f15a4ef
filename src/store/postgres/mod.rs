//! The registry in a PostgreSQL database.
//!
//! An address is read in `address`; `driver` connects to it. A `connection` sends statements
//! with their values. `transaction` has what every transaction begins with, and asks what became of a
//! change when the connection was lost. `schema` creates and migrates the tables, and spreads them over
//! several machines. An open registry, and a new one, is in `session`; `bulk` has the statements about many
//! rows.
//!
//! # Locking
//!
//! The changes of a dataset queue, and those of different datasets do not: a transaction that looks
//! at a dataset first increments the revision in its row of `writer`, and so holds the lock on that
//! row until it ends. It runs READ COMMITTED, so what it reads afterwards is what the writer before
//! it has committed. (Under REPEATABLE READ it would get the lock and still not see that.) Adding a
//! dataset and leasing payment ids lock row 0. A writer waits for a lock as long as the busy wait
//! of the registry allows, and then fails with [`ErrorKind::Busy`]. Readers see one state, REPEATABLE
//! READ, and wait for nobody.
//!
//! # Round trips
//!
//! A statement whose result nobody needs is sent together with the next one, so that the rows of a
//! change and its COMMIT take one round trip. If one of them fails, the server refuses those after
//! it, and COMMIT rolls back: the first error is returned.
//!
//! # Durability
//!
//! `synchronous_commit` is at least `on`: a change that was acknowledged is on the disk of the
//! server, and of its synchronous standbys. If the connection is lost during the commit, the server
//! is asked under the lock of the dataset whether the change is there; only if it cannot be asked
//! is the outcome unknown, and the error says so.
//!
//! # Compatibility
//!
//! PostgreSQL 13 or newer, with a database in UTF8 and any collation. Nothing of a session is relied
//! on beyond a transaction, so a pooler may give each transaction another one. The row of
//! `registry` states the schema; an older one is migrated by the first writer, and any other one is
//! refused. The character NUL, which PostgreSQL does not store, is refused.
//!
//! # Distribution
//!
//! Every statement names the dataset, except those whose comment says why they ask every machine.

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
