//! The formats of input files, the options of reading one, and the usual names of columns and spellings
//! of times.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Class, Detail, Error, ErrorKind};
use crate::model::{Algorithm, Day, Moment, NO_OFFSET, ParseError, Timestamp};

/// The format of an input file. The table in [`crate::input`] describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    /// One id per line.
    Lines,
    /// A table with a header.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// CMR's `granules.umm_json`.
    UmmJson,
    /// CMR's `granules.json`.
    CmrJson,
    /// A STAC ItemCollection.
    Stac,
    /// The result of an ESGF index.
    Esgf,
    /// What `rclone lsjson -R` prints.
    Rclone,
    /// The manifest of an S3 Inventory.
    S3Inventory,
    /// A product delivery record.
    Pdr,
    /// A list of checksums.
    Checksums,
    /// CMR's `deleted-granules.json`.
    CmrDeleted,
    /// An event file.
    Changes,
    /// A manifest ([`crate::mirror::manifest`]).
    Manifest,
}

impl InputFormat {
    /// Every format with its name.
    pub const ALL: [(&'static str, InputFormat); 14] = [
        ("lines", InputFormat::Lines),
        ("csv", InputFormat::Csv),
        ("ndjson", InputFormat::Ndjson),
        ("umm-json", InputFormat::UmmJson),
        ("cmr-json", InputFormat::CmrJson),
        ("stac", InputFormat::Stac),
        ("esgf", InputFormat::Esgf),
        ("rclone", InputFormat::Rclone),
        ("s3-inventory", InputFormat::S3Inventory),
        ("pdr", InputFormat::Pdr),
        ("checksums", InputFormat::Checksums),
        ("cmr-deleted", InputFormat::CmrDeleted),
        ("changes", InputFormat::Changes),
        ("manifest", InputFormat::Manifest),
    ];
}

impl FromStr for InputFormat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let known = InputFormat::ALL.into_iter().find(|(name, _)| *name == text);
        known.map(|(_, format)| format).ok_or_else(|| {
            let names = InputFormat::ALL.map(|(name, _)| name).join(", ");
            ParseError::new(format!("the formats are auto, {names}"))
        })
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = InputFormat::ALL.into_iter().find(|(_, format)| format == self);
        f.write_str(known.map_or("", |(name, _)| name))
    }
}

/// How a file is to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingOptions {
    /// The format. `None` means that it is detected from the content ([`InputFormat::detect`]).
    pub format: Option<InputFormat>,
    /// The column or field with the ids. `None` means the usual one of the format.
    pub column: Option<String>,
    /// Whether the dates of ingest and deletion are read. If so, a file without them is refused.
    pub with_dates: bool,
    /// The column or field that has the time of ingest. `None` means the usual one.
    pub ingested_column: Option<String>,
    /// The column or field that has the time of deletion. `None` means the usual one, if it exists.
    pub deleted_column: Option<String>,
    /// Events that a file dates without a time are left out on this day and later, and counted
    /// ([`super::Events::left_out`]): such a day can still get more of them. `None` means that
    /// all are read.
    pub unfinished_day: Option<Day>,
    /// Whether sizes and checksums of files are ignored.
    pub without_files: bool,
    /// Whether sizes, checksums and paths of files that cannot be read are skipped and counted
    /// ([`super::Records::warnings`]), instead of refused.
    pub skips_odd_files: bool,
    /// The algorithm of checksums that do not name it. `None` means that the number of digits says
    /// it. A format without checksums is refused then.
    pub algorithm: Option<Algorithm>,
    /// The column of a table with the size of a file in bytes. `None` means none. If this one or one of
    /// the next two is named, a file that is not a table is refused.
    pub size_column: Option<String>,
    /// The column of a table with the checksum of a file. `None` means none.
    pub checksum_column: Option<String>,
    /// The column of a table with the path of the file. `None` means that it equals the id.
    pub path_column: Option<String>,
    /// The directory of the file, beside which the data files of an S3 Inventory are. `None` means the
    /// current one.
    pub directory: Option<PathBuf>,
    /// The directory in which the data files of an S3 Inventory have their whole keys. `None` means that
    /// they are looked for beside the manifest. Any other format is refused then.
    pub root: Option<PathBuf>,
    /// Whether an ETag that may be an MD5 checksum is one. If so, any format but an S3 Inventory is
    /// refused.
    pub etag_is_md5: bool,
    /// Whether the granules are to be deleted. A list of deleted granules is refused otherwise.
    pub of_deletion: bool,
}

impl ListingOptions {
    /// Rejects options that have no effect on a log (a manifest, a published directory or an address), which
    /// is always read whole.
    ///
    /// # Errors
    ///
    /// [`Detail::NotOfFormat`]: an option names a column or another format, leaves files out, or reads
    /// them in a way that logs do not support.
    pub fn check_log(&self) -> Result<(), Error> {
        let columns = [&self.column, &self.ingested_column, &self.deleted_column];
        if columns.iter().any(|column| column.is_some()) {
            return Err(Error::not_a_table());
        }
        let format = self.format.filter(|format| *format != InputFormat::Manifest);
        if let Some(format) = format {
            let message = format!("this is a published log, and not of the format {format}");
            return Err(Error::new(Detail::NotOfFormat, message));
        }
        if self.without_files {
            let message = "a log is read whole: its sizes and checksums cannot be left out";
            return Err(Error::new(Detail::NotOfFormat, message));
        }
        self.check_files(InputFormat::Manifest)
    }

    /// Refuses the options of files in a format that they cannot apply to.
    pub(super) fn check_files(&self, format: InputFormat) -> Result<(), Error> {
        let columns = [&self.size_column, &self.checksum_column, &self.path_column];
        let names_columns = columns.iter().any(|column| column.is_some());
        let is_inventory = self.etag_is_md5 || self.root.is_some();
        match format {
            InputFormat::S3Inventory if !names_columns && self.algorithm.is_none() => Ok(()),
            _ if is_inventory => {
                let message =
                    "the file is not an S3 inventory, so it has no data files and no ETags";
                Err(Error::new(Detail::NotOfFormat, message))
            }
            InputFormat::Csv => Ok(()),
            _ if names_columns => Err(Error::not_a_table()),
            InputFormat::Lines
            | InputFormat::CmrJson
            | InputFormat::CmrDeleted
            | InputFormat::S3Inventory
            | InputFormat::Changes
            | InputFormat::Manifest
                if self.algorithm.is_some() =>
            {
                Err({
                    let message = "the file has no checksums, so it needs no algorithm";
                    Error::new(Detail::NotOfFormat, message)
                })
            }
            _ => Ok(()),
        }
    }
}

/// The usual names of the column with the ids. The first of these that a file has is used.
pub(super) const USUAL_COLUMNS: [&str; 6] =
    ["granule_id", "granuleId", "granule_ur", "granuleUr", "Granule UR", "id"];

/// The columns with the time of ingest: that of this program, and that of Cumulus' granule
/// inventory.
pub(super) const INGESTED_COLUMNS: [&str; 2] = ["ingested", "createdAt"];

/// The column with the time of deletion. An empty cell means that the granule is still held.
pub(super) const DELETED_COLUMN: &str = "deleted";

/// Reads a day, or a time of RFC 3339 or of another spelling with an offset.
pub(super) fn parse_time(text: &str) -> Result<Moment, Error> {
    text.parse::<Moment>()
        .or_else(|_| Timestamp::from_other_spelling(text).map(Moment::Instant))
        .map_err(|cause| {
            let class: Class =
                if cause == NO_OFFSET { Detail::NoOffset.into() } else { ErrorKind::Input.into() };
            Error::refused(class, text, cause)
        })
}
