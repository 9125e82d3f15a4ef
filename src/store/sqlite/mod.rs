//! The registry as an SQLite file.
//!
//! These files open, create, copy and replace it, and each uses only those before it: `files`,
//! `connection`, `schema`, `migrate`, then `create` and `backup`, `identity`, `open`, and
//! `restore`. An open registry is in `pool`, `session`, and `table`, which has one file for each
//! table.

mod backup;
mod connection;
mod create;
mod error;
mod files;
mod identity;
mod limits;
mod migrate;
mod open;
mod pool;
mod restore;
mod schema;
mod session;
mod table;

pub(crate) use connection::limit_memory;
pub use connection::{Access, BUSY_WAIT};
pub(crate) use files::{MAGIC_BYTES, is_database};
pub(crate) use session::{NewFile, Snapshot, Store, Transaction, Watch};
pub use table::Withdrawn;
pub(crate) use table::{
    Begin, DatasetKey, NewPeriod, Period, StoredEvent, StoredPeriod, StoredVersion, SubsetKey,
    WorkerRow,
};

use crate::store::Error;

type Result<T> = std::result::Result<T, Error>;
