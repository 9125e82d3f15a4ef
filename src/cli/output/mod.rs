//! Everything that is printed: text tables, JSON, escapes, messages and progress.
//!
//! Data goes to stdout and everything else to stderr. An untrusted string is escaped
//! by [`one_line`], by [`json`], or, on its way to a terminal, by [`Output`].

mod change;
mod closed;
mod escape;
pub mod json;
mod message;
mod progress;
mod stdout;
mod table;
mod terminal;
mod wording;

pub use change::{
    AppliedJson, Created, Outcome, work_done, write_applied, write_dry_run, write_instance,
};
pub use escape::one_line;
pub use json::write_list as write_json_list;
pub use message::{Label, write_message};
pub use progress::{PROGRESS_ROWS, Progress};
pub use stdout::{Failure, Output};
pub use table::{Column, Table};
pub use wording::{count, in_force, selected_by};
