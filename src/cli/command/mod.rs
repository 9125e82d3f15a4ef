//! The commands, one file each. The doc comment of a command's arguments is its help.

pub mod backup;
pub mod change;
pub mod check;
pub mod cite;
pub mod compare;
pub mod completions;
pub mod dataset;
pub mod delete;
pub mod export;
pub mod find;
pub mod granule_id;
pub mod granules;
pub mod history;
pub mod identify;
pub mod import;
pub mod ingest;
pub mod lookup;
pub mod man;
pub mod mirror;
pub mod payment_id;
pub mod resolve;
pub mod restore;
pub mod revert;
pub mod subsets;
pub mod sync;
pub mod verify;
