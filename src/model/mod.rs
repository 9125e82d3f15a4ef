//! The values of the domain. Each is checked when it is made and does not change afterwards, so code that has
//! one does not check it again.
//!
//! Nothing here reads a file, a clock or a database.

mod checksum;
mod content;
mod creator;
mod dataset_filter;
mod dataset_name;
mod expected;
mod granule_id;
mod history;
mod identifier;
mod known_file;
mod licence;
mod limit;
mod message;
mod mirror_source;
mod pattern;
mod record;
mod scan;
mod set;
mod text;
mod time;
mod warning;
mod web_address;

pub use checksum::{Algorithm, Checksum, FileContent, FilePath, OtherAlgorithm};
pub use content::Content;
pub(crate) use content::WrittenFile;
pub(crate) use content::{ContentChange, ContentConflict, ContentMatch, ContentUpdate, Coverage};
pub use creator::{Creator, Orcid};
pub use dataset_filter::DatasetFilter;
pub use dataset_name::DatasetName;
pub use expected::Expected;
pub(crate) use granule_id::{CURRENT_DIRECTORY, IdPageBuilder, too_long as id_too_long};
pub use granule_id::{GranuleId, GranuleQuery, IdPage};
pub use history::{
    Annotation, ChangeCounts, Checkpoint, Confirmation, Event, EventKind, FoundPeriod,
    FoundPosition, Holding, Instance, ListingEntry, LogChange, RefusedListing, Withdrawal,
};
pub use identifier::{Digest, DigestPrefix, Identifier, IdentifierPrefix, LineCheck};
pub(crate) use identifier::{meant, not_a_digest};
pub(crate) use known_file::EncodedFiles;
pub use known_file::FileRecord;
pub use licence::Licence;
pub use limit::{Limit, Limits};
pub use message::{ParseError, SourceLocation, is_escaped, plural, quoted};
pub(crate) use message::{
    check_characters, check_fields, is_interpreted, strip_prefix_of_any_case,
};
pub use mirror_source::{FailedAttempt, LastPull, PrimaryOptions};
pub use pattern::Pattern;
pub(crate) use record::{AtMost, limited};
pub use record::{
    Correction, DatasetMetadata, DatasetRecord, Doi, Keyword, MetadataVersion, Temporal, Year,
};
pub use scan::ScanPeriod;
pub use set::{Set, Subset, SubsetCriteria};
pub(crate) use text::{debug, debug_fields, shown_as_json, shown_as_str};
pub(crate) use time::WrittenTime;
pub use time::{Day, Moment, Timestamp};
pub use warning::{Warning, WarningKind};
pub use web_address::{GranuleUrl, WebAddress};
