//! The values of the domain. Each is checked when it is made and does not change afterwards, so
//! code that has one need not check it again.
//!
//! Nothing here reads a file, a clock or a database.

mod checkpoint;
mod creator;
mod dataset;
mod dataset_name;
mod doi;
mod entry;
mod event;
mod granule;
mod granule_id;
mod id_page;
mod identifier;
mod instance;
mod licence;
mod likely_person;
mod log_change;
mod orcid;
mod pattern;
mod quoted;
mod set;
mod source_location;
mod subset;
mod timestamp;
mod timestamp_error;
mod web_address;
mod withdrawal;
mod year;

pub use checkpoint::Checkpoint;
pub use creator::{Creator, CreatorError};
pub use dataset::Dataset;
pub use dataset_name::{DatasetName, DatasetNameError};
pub use doi::{Doi, DoiError};
pub use entry::Entry;
pub use event::{Event, EventKind};
pub use granule::Granule;
pub use granule_id::{GranuleId, GranuleIdError};
pub use id_page::IdPage;
pub(crate) use id_page::IdPageBuilder;
pub use identifier::{Identifier, IdentifierError};
pub use instance::Instance;
pub use licence::{Licence, LicenceError};
pub use log_change::LogChange;
pub use orcid::{Orcid, OrcidError};
pub use pattern::{Pattern, PatternError};
pub use quoted::{is_interpreted, quoted};
pub use set::Set;
pub use source_location::SourceLocation;
pub use subset::{Criteria, Subset};
pub use timestamp::{Day, Moment, Timestamp};
pub use timestamp_error::TimestampError;
pub use web_address::{WebAddress, WebAddressError};
pub use withdrawal::Withdrawal;
pub use year::{Year, YearError};
