//! Arguments that several commands take. Each type converts what was typed into what it means.

mod files;
mod granules;
mod primary;
mod set;
mod value;

pub use accession::citation::typed::{
    GivenIdentifier, TypedDataset, TypedIdentifier, TypedSet, dataset_at, refuse_future,
};
pub use files::{FileArgs, FileColumns};
pub use granules::{FormatArgs, GranuleArgs};
pub use primary::{HttpArgs, PrimaryArgs, Source, age, duration, oldest, source_name};
pub use set::{KnownAtArgs, SetArgs};
pub use value::{Deletions, PublicUrl, ValueOrRemoval, edit_of, named_path, value_or_removal};
