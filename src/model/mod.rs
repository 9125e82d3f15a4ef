//! Values that cannot be wrong: each is checked where it is made, and stays what it is.
//!
//! Nothing here knows a file, a clock or a database.

mod checkpoint;
mod dataset;
mod event;
mod granule;
mod granule_id;
mod identifier;
mod instance;
mod place;
mod quoted;
mod timestamp;

pub use checkpoint::Checkpoint;
pub use dataset::{Dataset, DatasetName, DatasetNameError, Doi, DoiError, Year, YearError};
pub use event::{Event, EventKind};
pub use granule::Granule;
pub use granule_id::{GranuleId, GranuleIdError};
pub use identifier::{Identifier, IdentifierError};
pub use instance::Instance;
pub use place::Place;
pub use quoted::quoted;
pub use timestamp::{Day, Moment, Timestamp, TimestampError};
