//! Values that cannot be wrong: each is checked where it is made, and stays what it is.
//!
//! Nothing here knows a file, a clock or a database.

mod checkpoint;
mod creator;
mod dataset;
mod doi;
mod entry;
mod event;
mod granule;
mod granule_id;
mod identifier;
mod instance;
mod pattern;
mod quoted;
mod set;
mod source_location;
mod subset;
mod timestamp;
mod web_address;

pub use checkpoint::Checkpoint;
pub use creator::{Creator, CreatorError, Orcid, OrcidError};
pub use dataset::{Dataset, DatasetName, DatasetNameError, Year, YearError};
pub use doi::{Doi, DoiError};
pub use entry::Entry;
pub use event::{Event, EventKind};
pub use granule::Granule;
pub use granule_id::{GranuleId, GranuleIdError};
pub use identifier::{Identifier, IdentifierError};
pub use instance::Instance;
pub use pattern::{Pattern, PatternError};
pub use quoted::quoted;
pub use set::Set;
pub use source_location::SourceLocation;
pub use subset::{Criteria, Subset};
pub use timestamp::{Day, Moment, Timestamp, TimestampError};
pub use web_address::{WebAddress, WebAddressError};
