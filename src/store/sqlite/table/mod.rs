//! One file a table: the statements that read and write it.

mod checkpoint;
mod column;
mod dataset;
mod event;
mod granule;
mod instance;
mod integrity;
mod payment;
mod period;
mod subset;

pub(crate) use dataset::DatasetKey;
pub(crate) use event::StoredEvent;
pub(crate) use payment::WorkerRow;
pub(crate) use period::{Begin, NewPeriod, Period, StoredPeriod};
pub(crate) use subset::SubsetKey;
