//! The statements that read and write the tables, with one file for each table.
//!
//! Each statement names `dataset_id`, so that Citus sends it to one machine, except those that ask
//! about all datasets; the comment at each of these says why it does.

mod checkpoint;
mod column;
mod dataset;
mod granule;
mod instance;
mod integrity;
mod mirror;
mod packed;
mod payment;
mod period;
mod produced;
mod record;
mod subset;
