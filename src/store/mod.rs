//! The registry in its database: all SQL, and nothing but SQL.
//!
//! The interface consists of the types of [`crate::model`], batches of rows, and keyset pages in canonical
//! order. It contains no SQL, no type of a database driver, and no function that is called once for each
//! granule. It has three types; both stores implement the trait behind the last two:
//!
//! - [`Store`] is the registry; it returns the other two.
//! - [`View`] is one consistent state of it. It is short-lived: the caller must not wait for a terminal or a
//!   socket while a view is open, since SQLite cannot reclaim its write-ahead log before it is closed.
//! - [`Transaction`] is one change: nothing of it exists before [`Transaction::commit`], all of it afterwards.
//!   It sees its own writes.

mod checked_row;
mod error;
#[cfg(test)]
mod faulty;
mod handle;
mod integrity;
mod location;
mod page;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
mod session;
mod sqlite;
mod statement;
mod table;

use crate::error::{Error, ErrorKind, Result};

#[cfg(test)]
pub(crate) use faulty::Fault;
pub(crate) use handle::Store;
pub use location::Location;
pub(crate) use page::paged;
pub use rows::Span;
pub(crate) use rows::{
    BUSY_WAIT, DatasetKey, FindingCounts, NamedDataset, NewPeriod, Period, REGISTRY, SourceKey,
    StoredAnnotation, StoredContent, StoredDataset, StoredInstance, StoredStatement, SubsetKey,
    TreeHead, Watch, WorkerRow,
};
pub use rows::{OpenFinding, RootState, StoredSource, Withdrawn};
pub(crate) use session::{Transaction, View};
pub(crate) use sqlite::{MAGIC_BYTES, NewFile, is_database, limit_memory};
pub(crate) use table::ContentRows;
