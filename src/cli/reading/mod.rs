//! Reading the files that a command names.

mod events;
mod file;
mod input_file;
mod listing;
mod payment_ids;
mod search_pages;
mod spaces;

pub use events::import_events;
pub use file::open;
pub use input_file::{CitationText, InputFile};
pub use listing::{each_entry_of_file, each_entry_of_files, each_entry_of_full_listing};
pub use payment_ids::old_payment_ids;
pub use spaces::EdgeSpaces;
