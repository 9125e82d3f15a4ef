//! The commands, a file a subject. The doc comment of a command's arguments is its help.

pub mod annotate;
pub mod change;
pub mod check;
pub mod cite;
pub mod compare;
pub mod dataset;
pub mod fixity;
pub mod granule_id;
pub mod granules;
pub mod history;
pub mod import;
pub mod mirror;
pub mod payment_id;
pub mod publish;
pub mod shell;
pub mod status;
pub mod store;
pub mod verify;
