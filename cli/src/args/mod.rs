//! Arguments of several commands. Each type converts typed text to its meaning.

mod age;
mod change;
mod datasets;
mod granules;
mod listings;
mod primary;
mod set;
mod time;

pub use crate::paths::named_path;
pub use age::age;
pub use change::{ChangeArgs, ClockArgs, DryRunArgs, ExpectArgs, if_missing};
pub use datasets::named_or_all;
pub use granules::{DetectedListArgs, FileArgs, FileColumns, FormatArgs, InventoryArgs, ListArgs};
pub use listings::{ChecksumArgs, IdArgs, ListingArgs, Reading, ReadingArgs, refuse_missing};
pub use primary::{HttpArgs, PrimaryArgs, timeout};
pub use set::{KnownAtArgs, Refusal, SiteArgs, edit, edit_as, public_url, resolver};
pub use time::moment;
