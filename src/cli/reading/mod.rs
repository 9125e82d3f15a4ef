//! Reads the files that a command names.

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
pub use listing::{each_entry_of_file, each_entry_of_files, each_entry_of_pages};
pub use payment_ids::old_payment_ids;
pub use search_pages::{MissingPages, PagesMissing};
pub use spaces::EdgeSpaces;
