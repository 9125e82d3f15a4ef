//! What is read of the sizes and checksums of files, and whether it may contradict what is recorded.

use accession::input::Options;
use accession::model::Algorithm;

/// The sizes and checksums of files that the input states.
#[derive(Default, clap::Args)]
pub struct FileArgs {
    /// Ignore the sizes and checksums of files that the input states
    #[arg(long, conflicts_with_all = ["accept_content", "algorithm", "size_column", "checksum_column", "path_column"])]
    no_files: bool,

    /// Record sizes and checksums that contradict those that are recorded, which they replace; both
    /// are kept. Say why with --note
    #[arg(long, requires = "note")]
    pub accept_content: bool,

    #[command(flatten)]
    columns: FileColumns,
}

/// Where a table has sizes and checksums, and by which algorithm they were computed.
#[derive(Default, clap::Args)]
pub struct FileColumns {
    /// The algorithm of the checksums, if the input does not name it [default: that which their
    /// length names]
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,

    /// The column of a table with the size of a file in bytes
    #[arg(long, value_name = "NAME")]
    size_column: Option<String>,

    /// The column of a table with the checksum of a file
    #[arg(long, value_name = "NAME")]
    checksum_column: Option<String>,

    /// The column of a table with the path of the file [default: the id is the path]
    #[arg(long, value_name = "NAME")]
    path_column: Option<String>,
}

impl FileArgs {
    /// The options of reading the input.
    pub fn reading(&self, options: Options) -> Options {
        match self.no_files {
            true => Options { without_files: true, ..options },
            false => self.columns.reading(options),
        }
    }
}

impl FileColumns {
    /// The options of reading the input.
    pub fn reading(&self, options: Options) -> Options {
        let FileColumns { algorithm, size_column, checksum_column, path_column } = self;
        Options {
            without_files: false,
            algorithm: algorithm.clone(),
            size_column: size_column.clone(),
            checksum_column: checksum_column.clone(),
            path_column: path_column.clone(),
            ..options
        }
    }
}
