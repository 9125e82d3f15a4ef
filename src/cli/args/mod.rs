//! Arguments that several commands take. Each type turns what was typed into what is meant.

mod change;
mod format;
mod granules;
mod primary;
mod set;
mod standard_input;
mod time;

pub use change::ChangeArgs;
pub use format::FormatArgs;
pub use granules::GranuleArgs;
pub use primary::PrimaryArgs;
pub use set::{TypedSet, dataset_at};
pub use standard_input::standard_input_uses;
pub use time::refuse_future;
