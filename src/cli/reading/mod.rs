//! Reading the files that a command names.

mod events;
mod file;
mod input_file;
mod listing;
mod payment_ids;
mod rereadable;
mod search_pages;
mod spaces;

pub use events::import_events;
pub use file::{directory_of, open};
pub use input_file::{CitationText, InputFile};
pub use listing::{entries_of_file, entries_of_files};
pub use payment_ids::old_payment_ids;
pub use rereadable::Rereadable;
pub use spaces::warn_of_edge_spaces;
