//! The statements that read and write the tables, with one file for each table.

mod checkpoint;
mod column;
mod dataset;
mod event;
mod granule;
mod instance;
mod integrity;
mod order;
mod payment;
mod period;
mod record;
mod subset;

pub(crate) use dataset::DatasetKey;
pub use dataset::Withdrawn;
pub(crate) use event::StoredEvent;
pub(crate) use payment::WorkerRow;
pub(crate) use period::{Begin, NewPeriod, Period, StoredPeriod};
pub(crate) use record::StoredVersion;
pub(crate) use subset::SubsetKey;
