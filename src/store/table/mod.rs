//! The statements that read and write the tables, for both stores, with one file for each subject.
//!
//! Each statement names `dataset_id`, so that Citus sends it to one machine. The exceptions are statements
//! about all datasets; their comments give the reason.

mod content;
mod corrected;
mod dataset;
mod fixity;
mod granule;
mod instance;
mod mirror;
mod outline;
mod payment;
mod raw;
mod statement;
mod subset;

pub(crate) use content::ContentRows;
