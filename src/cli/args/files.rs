//! What is read of the sizes and checksums of files, and whether it may contradict what is recorded.

use accession::input::Options;
use accession::model::Algorithm;

use crate::cli::error::{Error, Result};

/// The sizes and checksums of files that the input states.
#[derive(Default, clap::Args)]
pub struct FileArgs {
    /// Ignore the sizes and checksums of files that the input states
    #[arg(long, conflicts_with_all = ["accept_content", "algorithm", "size_column", "checksum_column", "path_column"])]
    pub no_files: bool,

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
    /// The options of reading the input. What cannot be read is skipped, unless it was asked for.
    pub fn reading(&self, options: Options) -> Options {
        let without_files = self.no_files;
        let skips_odd_files = !self.columns.is_any();
        Options { without_files, skips_odd_files, ..self.columns.reading(options) }
    }

    /// Refuses the options where no file is read.
    ///
    /// # Errors
    ///
    /// A column or an algorithm is named.
    pub fn refuse_without_input(&self) -> Result<()> {
        if self.columns.is_any() {
            return Err(Error::usage(
                "columns and algorithms are those of a file, and none is named",
            )
            .with_hint("name the file with --from"));
        }
        Ok(())
    }
}

impl FileColumns {
    fn is_any(&self) -> bool {
        let columns = [&self.size_column, &self.checksum_column, &self.path_column];
        self.algorithm.is_some() || columns.iter().any(|column| column.is_some())
    }

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
