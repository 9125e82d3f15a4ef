//! The registry as one SQLite file.

mod backup;
mod migrate;
mod open;
mod pool;
mod schema;
mod session;
mod table;

pub use open::Access;
pub(crate) use open::{NewFile, limit_memory};
pub(crate) use session::{Snapshot, Store, Transaction, Watch};
pub(crate) use table::{
    Begin, DatasetKey, NewPeriod, Period, StoredEvent, StoredPeriod, SubsetKey, WorkerRow,
};
