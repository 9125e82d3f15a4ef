//! Input files of other systems: streams of granules or of their events, each with its source location.
//!
//! # Formats
//!
//! | [`InputFormat`] | description | ids | dates, for an import |
//! |---|---|---|---|
//! | `lines` | one id per line | | |
//! | `csv` | a table with a header; cells are separated by commas or, if the header has a TAB, by TABs, and quoted as in RFC 4180; a column `producer_granule_id` has the ids of the producer | the requested column, or the first of `granule_id`, `granuleId`, `granule_ur`, `granuleUr`, `Granule UR`, `id`, in that spelling or else in any case | `ingested` or `createdAt`, and `deleted` |
//! | `ndjson` | one JSON object per line, without repeated keys | the requested field or JSON pointer, or as above, in that spelling | as above |
//! | `umm-json` | CMR's `granules.umm_json` | `umm.GranuleUR`, or `producer` | `ProviderDates` of type Insert, else `meta.revision-date`; deleted at the latter if `meta.deleted` |
//! | `cmr-json` | CMR's `granules.json` | `title`, or `producer` | `updated` |
//! | `stac` | a STAC ItemCollection | `id` | `properties.created`, `datetime` or `updated` |
//! | `esgf` | a Solr result of an ESGF index | `instance_id`, else `id` up to `\|` | |
//! | `rclone` | the output of `rclone lsjson -R` | `Path`, except of directories | |
//! | `s3-inventory` | the `manifest.json` of an S3 Inventory, with its data files | `Key`, decoded (`+` is a space) | |
//! | `pdr` | a product delivery record | the `FILE_ID` of the data of each FILE_GROUP, or every `FILE_ID` | |
//! | `checksums` | a list of checksums, as `sha256sum`, `md5sum` and `rclone hashsum` print it, in the style of BSD, or a manifest of BagIt | the path, without a leading `./` | |
//! | `cmr-deleted` | CMR's `deleted-granules.json` | `granule-ur`; for a deletion only ([`ListingOptions::of_deletion`]) | |
//! | `changes` | an event file: time TAB `+` or `-` TAB id | | its own; for an import only |
//! | `manifest` | the whole history of a dataset ([`crate::mirror::manifest`]) | | its own; for an import and for mirrors only |
//!
//! Sizes and checksums of files are read with the granules ([`Record::files`]): from `umm-json`
//! (`ArchiveAndDistributionInformation`), `stac` (`file:size`, and `file:checksum`, of assets), `pdr`
//! (`FILE_SPEC`), `esgf` (`size`, `checksum`), `rclone` (`Size`, `Hashes`), `s3-inventory` (`Size` and, if
//! requested, `ETag`), `ndjson` (`files` of Cumulus' granule records), `checksums`, and the requested columns
//! of `csv`.
//!
//! Each file may be compressed with gzip. A UTF-8 byte order mark and line ends (LF, CRLF, a bare CR at the end
//! of the file) are removed, and empty lines are skipped. Nothing else is trimmed. `#` starts a comment only in
//! lists of checksums (docs/reference/inputs.md). The format is recognised from the content, not from the name
//! of the file ([`InputFormat::detect`]).
//!
//! Valid but odd ids (blanks at an end, a header) are accepted unchanged, and reported by
//! [`Records::warnings`]. [`Findings`] contains everything else that a reader found, such as skipped comments,
//! content that does not look like a list, or the number of granules that a search found.
//!
//! # Memory
//!
//! One line, row or element is in memory at a time. A line of ids is read up to the greatest length of an id,
//! and everything else up to [`MAX_ROW_BYTES`], so that an unclosed quote does not fill memory.

mod catalogues;
mod checksum_paths;
mod checksums;
mod columns;
mod content;
mod csv_rows;
mod detect;
mod directory;
mod error;
mod file;
mod finding;
mod findings;
mod format;
mod inventory;
mod json;
mod json_document;
mod json_items;
mod line_columns;
mod line_messages;
mod line_text;
mod lines;
mod listing;
mod object_lines;
mod occurrences;
mod odd_rows;
mod old_payment_ids;
mod pages;
mod paging_keys;
mod pdr;
mod records;
#[cfg(test)]
mod refusals;
mod replicas;
mod response;
mod selection;
mod shape_table;
mod shapes;
mod table;
#[cfg(test)]
mod tests;
mod values;
mod warning;
mod watched;

pub(crate) use content::StatedFile;
pub use directory::{DirectoryFile, DirectoryListing};
pub use error::MAX_ROW_BYTES;
pub use file::{OpenedFile, unzipped};
use findings::FileFindings;
pub use findings::{FileRead, Findings};
pub use format::{InputFormat, ListingOptions, RowFilter};
pub use records::{Events, Records};

use std::io::BufRead;

use crate::error::Error;
use crate::model::{GranuleId, Moment, SourceLocation, Timestamp, WrittenTime};
use content::WrittenFile;

/// The bytes of a file, decompressed and without a byte order mark.
type Reader = Box<dyn BufRead + Send>;

/// A granule in an input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The id.
    pub granule_id: GranuleId,
    /// The producer's id, from a table with a column for it. `None` means that the file has none.
    pub producer_granule: Option<GranuleId>,
    /// The source location.
    pub location: SourceLocation,
    /// The time of ingest. `None` if dates were not requested, or if the line of an event file is a deletion.
    pub ingested: Option<Moment>,
    /// The time of deletion. `None` if dates were not requested, or if the granule was not deleted.
    pub deleted: Option<Moment>,
    /// Whether the file marks the granule as deleted, retracted, or replaced by another version.
    pub is_deleted: bool,
    /// The sizes and checksums of the granule's files.
    pub(crate) files: Vec<StatedFile>,
}

/// A granule from the reader of a format, with its files as they are written.
struct Row {
    /// The granule, without files.
    record: Record,
    files: Vec<WrittenFile>,
    /// Whether one of its times has no offset, and was read as UTC.
    is_taken_as_utc: bool,
}

impl Row {
    fn new(granule_id: GranuleId, location: SourceLocation) -> Self {
        let (ingested, deleted, is_deleted) = (None, None, false);
        let files = Vec::new();
        let record = Record {
            granule_id,
            producer_granule: None,
            location,
            ingested,
            deleted,
            is_deleted,
            files,
        };
        Row { record, files: Vec::new(), is_taken_as_utc: false }
    }

    /// Sets when the granule was ingested.
    fn ingested(&mut self, at: WrittenTime) {
        self.record.ingested = Some(at.moment);
        self.is_taken_as_utc |= at.is_taken_as_utc;
    }

    /// Sets when the granule was deleted.
    fn deleted(&mut self, at: WrittenTime) {
        self.record.deleted = Some(at.moment);
        self.is_taken_as_utc |= at.is_taken_as_utc;
    }
}

/// The granules of a file, in its order.
trait Rows {
    /// Reads the next granule. After an error, nothing may be read.
    fn next_row(&mut self) -> Result<Option<Row>, Error>;

    /// The findings besides the granules. Call it after the last granule.
    fn findings(&self) -> FileFindings {
        FileFindings::default()
    }

    /// The time when the listing was made, if the file states it.
    fn created(&self) -> Option<Timestamp> {
        None
    }
}
