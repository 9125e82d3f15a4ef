//! The statements that read and write the tables, with one file for each table.

mod checkpoint;
mod column;
mod dataset;
mod granule;
mod instance;
mod integrity;
mod mirror;
mod payment;
mod period;
mod produced;
mod record;
mod subset;
