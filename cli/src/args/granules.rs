//! The granules that a command reads, and the format of the files that list them.

use std::iter;
use std::path::PathBuf;
use std::str::FromStr;

use accession::ListingOptions;
use accession::ParseError;
use accession::file::Algorithm;
use accession::listing::{InputFormat, RowFilter};
use accession::text::quoted;
use accession::{ErrorKind, Listing};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::error::{Error, Result};
use crate::paths::PathArgs;

/// The heading of options for unusual listings. Only `--help` shows them.
const READING: &str = "Reading listings";

/// The names of all formats, for completions.
fn names() -> impl Iterator<Item = &'static str> {
    iter::once("auto").chain(InputFormat::ALL.map(|(name, _)| name))
}

/// The format of the files that a command reads.
#[derive(Default, clap::Args)]
pub struct FormatArgs {
    /// The format of files [default: detected from the content]
    ///
    /// lines, csv (also separated by tabs), ndjson, umm-json, cmr-json, stac, esgf, rclone, s3-inventory, pdr
    /// or checksums; to delete granules also cmr-deleted; for import also changes and manifest. Each may be
    /// compressed with gzip.
    // A group has no option of a struct that flattens others, unless the option names it.
    #[arg(
        long,
        group = "FormatArgs",
        value_name = "FORMAT",
        help_heading = READING,
        hide_short_help = true,
        hide_default_value = true,
        default_value = "auto",
        value_parser = PossibleValuesParser::new(names()).try_map(|name| name.parse::<TypedFormat>()),
        hide_possible_values = true
    )]
    format: TypedFormat,

    /// The table column or JSON field with the ids
    ///
    /// The default is the first of granule_id, granuleId, granule_ur, granuleUr, "Granule UR" and id that
    /// exists. For ndjson, /a/b is a JSON pointer. For responses of CMR, producer is the producer's id. Without a
    /// header, it is the number of the column, from 1.
    #[arg(long, value_name = "NAME", group = "FormatArgs")]
    column: Option<String>,

    #[command(flatten)]
    rows: RowArgs,
}

/// Which rows of a listing are read.
#[derive(Default, clap::Args)]
pub struct RowArgs {
    /// Read only these rows (repeatable)
    ///
    /// Several values of one column are alternatives, and COLUMN=* takes all. Of STAC and CMR, the column is
    /// collection.
    #[arg(long, value_name = "COL=VALUE")]
    only: Vec<RowFilter>,

    /// Skip lines that begin with this
    #[arg(long, value_name = "PREFIX", help_heading = READING, hide_short_help = true)]
    comment: Option<String>,

    /// Skip so many lines at the beginning
    #[arg(
        long,
        value_name = "N",
        help_heading = READING,
        hide_short_help = true,
        hide_default_value = true,
        default_value_t = 0
    )]
    skip_lines: u64,

    /// The first row of the table is data; columns are named by their numbers, as --column 2
    #[arg(long, help_heading = READING, hide_short_help = true)]
    no_header: bool,

    /// How many granules there are, as the catalogue states it elsewhere; another number is refused
    #[arg(long, value_name = "N", help_heading = READING, hide_short_help = true)]
    total: Option<u64>,
}

impl RowArgs {
    /// The first of these options that was given.
    fn given(&self) -> Option<&'static str> {
        let RowArgs { only, comment, skip_lines, no_header, total } = self;
        let given = [
            (!only.is_empty(), "--only"),
            (comment.is_some(), "--comment"),
            (*skip_lines > 0, "--skip-lines"),
            (*no_header, "--no-header"),
            (total.is_some(), "--total"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given).map(|(_, option)| option)
    }

    /// Adds these options to the library's options.
    fn reading(&self, options: ListingOptions) -> ListingOptions {
        options
            .only(self.only.clone())
            .comment(self.comment.clone())
            .skip_lines(self.skip_lines)
            .no_header(self.no_header)
            .total(self.total)
    }
}

/// A format. `None` means `auto`.
#[derive(Debug, Clone, Copy, Default)]
struct TypedFormat(Option<InputFormat>);

impl FromStr for TypedFormat {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "auto" {
            Ok(TypedFormat(None))
        } else {
            text.parse().map(|format| TypedFormat(Some(format)))
        }
    }
}

impl FormatArgs {
    fn given(&self) -> Option<&'static str> {
        let given = self.format.0.is_some().then_some("--format");
        given.or(self.column.is_some().then_some("--column")).or(self.rows.given())
    }

    /// The options of the library. They omit the metadata of files.
    pub fn options(&self) -> ListingOptions {
        let column = self.column.clone();
        let options = ListingOptions::new().format(self.format.0).column(column);
        self.rows.reading(options).without_files(true)
    }

    /// Rejects a listing if a column is named and most of its values repeat: such a column has no ids. If a row
    /// is a file with a checksum, several rows may have the id of their granule.
    ///
    /// # Errors
    ///
    /// There is such a column, or the listing cannot be read.
    pub fn refuse_repeating(&self, paths: &PathArgs, listing: &Listing) -> Result<()> {
        let Some(column) = self.column.as_ref().filter(|_| !paths.changes_ids()) else {
            return Ok(());
        };
        let listed = listing.identify()?;
        let is_of_files = listing.states_files();
        if is_of_files || listed.repeated <= listed.granules {
            return Ok(());
        }
        let (rows, repeated) = (listing.count(), listed.repeated);
        let message = format!(
            "{repeated} of the {rows} values in the column {} repeat others",
            quoted(column)
        );
        Err(Error::new(ErrorKind::Input, message)
            .with_hint("nothing was changed; name the column with the ids with --column"))
    }
}

/// How lists of granules, and what they state of files, are read.
#[derive(clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    files: FileArgs,
}

impl ListArgs {
    /// The options for reading lists, and the part of a listed path that is the id.
    pub fn reading(&self) -> (ListingOptions, &PathArgs) {
        (self.files.reading(self.format.options()), &self.paths)
    }

    /// The first option that was given and only applies to listings.
    pub fn given(&self) -> Option<&'static str> {
        let given = self.format.given().or(self.paths.given());
        given.or(self.files.inventory.given()).or(self.files.columns.given())
    }

    /// Whether the sizes and checksums of files are ignored.
    pub fn names_only(&self) -> bool {
        self.files.no_files
    }
}

/// How a list whose format is detected is read.
#[derive(clap::Args)]
pub struct DetectedListArgs {
    /// The column or field of a listing that has the ids [default: the usual one]
    #[arg(long, value_name = "NAME")]
    column: Option<String>,

    #[command(flatten)]
    rows: RowArgs,

    #[command(flatten)]
    pub paths: PathArgs,
}

impl DetectedListArgs {
    /// The options of the library.
    pub fn options(&self) -> ListingOptions {
        self.rows.reading(ListingOptions::new().column(self.column.clone()))
    }

    /// The first option that was given, without those of paths.
    pub fn given(&self) -> Option<&'static str> {
        self.column.is_some().then_some("--column").or(self.rows.given())
    }
}

/// The sizes and checksums of files that the input states.
#[derive(Default, clap::Args)]
pub struct FileArgs {
    /// Ignore the sizes and checksums of files in the listing
    // A group has no option of a struct that flattens others, unless the option names it.
    #[arg(
        long,
        help_heading = READING,
        hide_short_help = true,
        group = "FileArgs",
        conflicts_with_all = ["algorithm", "size_column", "checksum_column", "path_column", "split", "etag"]
    )]
    no_files: bool,

    #[command(flatten)]
    inventory: InventoryArgs,

    #[command(flatten)]
    columns: FileColumns,
}

/// Where the data files of an inventory are.
#[derive(Default, clap::Args)]
pub struct InventoryArgs {
    /// The directory with the data files of an S3 inventory, by their whole keys [default: that of the
    /// manifest]
    #[arg(long, value_name = "DIR", help_heading = READING, hide_short_help = true)]
    pub root: Option<PathBuf>,
}

impl InventoryArgs {
    fn given(&self) -> Option<&'static str> {
        self.root.is_some().then_some("--root")
    }
}

/// Where a table has sizes and checksums, and by which algorithm they were computed.
#[derive(Default, clap::Args)]
pub struct FileColumns {
    /// Checksum algorithm [default: from the input, else by length]
    #[arg(long, value_name = "ALGORITHM", help_heading = READING, hide_short_help = true)]
    algorithm: Option<Algorithm>,

    /// The column of a table with the size of a file in bytes
    #[arg(long, value_name = "NAME", help_heading = READING, hide_short_help = true)]
    size_column: Option<String>,

    /// The column of a table with the checksum of a file
    #[arg(long, value_name = "NAME", help_heading = READING, hide_short_help = true)]
    checksum_column: Option<String>,

    /// The column of a table with the path of the file [default: the id is the path]
    #[arg(long, value_name = "NAME", help_heading = READING, hide_short_help = true)]
    path_column: Option<String>,

    /// The character that separates several files in a cell of a table, as ;
    #[arg(long, value_name = "CHAR", help_heading = READING, hide_short_help = true)]
    split: Option<char>,

    /// Record the ETags of S3 objects: those that are MD5 checksums as md5, the others as s3-etag, so that a
    /// replaced object is noticed
    #[arg(long, help_heading = READING, hide_short_help = true)]
    etag: bool,
}

impl FileArgs {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = self.no_files.then_some("--no-files");
        given.or(self.inventory.given()).or(self.columns.given())
    }

    /// Adds the options for reading files. Metadata that cannot be read is skipped, unless an option names its
    /// columns.
    pub fn reading(&self, options: ListingOptions) -> ListingOptions {
        let without_files = self.no_files;
        let skips_odd_files = self.columns.given().is_none();
        let root = self.inventory.root.clone();
        self.columns
            .reading(options)
            .without_files(without_files)
            .skip_odd_files(skips_odd_files)
            .root(root)
    }
}

impl FileColumns {
    /// The first option that was given.
    fn given(&self) -> Option<&'static str> {
        let given = self.algorithm.is_some().then_some("--algorithm");
        let given = given.or(self.size_column.is_some().then_some("--size-column"));
        let given = given.or(self.checksum_column.is_some().then_some("--checksum-column"));
        let given = given.or(self.path_column.is_some().then_some("--path-column"));
        let given = given.or(self.split.is_some().then_some("--split"));
        given.or(self.etag.then_some("--etag"))
    }

    /// Adds the options for reading the columns.
    pub fn reading(&self, options: ListingOptions) -> ListingOptions {
        let FileColumns { algorithm, size_column, checksum_column, path_column, split, etag } =
            self;
        options
            .without_files(false)
            .algorithm(algorithm.clone())
            .size_column(size_column.clone())
            .checksum_column(checksum_column.clone())
            .path_column(path_column.clone())
            .split(*split)
            .with_etags(*etag)
    }
}
