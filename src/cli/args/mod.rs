//! Arguments that several commands take. Each type converts what was typed into what it means.

mod change;
mod clock;
mod dataset;
mod format;
mod granules;
mod http;
mod identifier;
mod known_at;
mod named_path;
mod primary;
mod public_url;
mod removal;
mod set;
mod standard_input;
mod time;

pub use change::ChangeArgs;
pub use clock::ClockArgs;
pub use dataset::{refuse_older_name, stored_name};
pub use format::FormatArgs;
pub use granules::GranuleArgs;
pub use http::HttpArgs;
pub use identifier::TypedIdentifier;
pub use known_at::KnownAtArgs;
pub use named_path::named_path;
pub use primary::PrimaryArgs;
pub use public_url::PublicUrl;
pub use removal::{ValueOrRemoval, edit_of, value_or_removal};
pub use set::{SetArgs, TypedSet, dataset_at};
pub use standard_input::standard_input_uses;
pub use time::refuse_future;
