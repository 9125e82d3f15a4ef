use std::io::{self, BufWriter, Seek};
use std::path::PathBuf;

use accession::disk::scratch;
use accession::mirror::{export, write_up_to};
use accession::{Access, DatasetName, Moment};

use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Print the whole history of a dataset as a manifest, from which it can be rebuilt and verified
///
/// A manifest is JSON Lines: the log of the dataset, its cited subsets and its metadata. The same
/// history gives the same bytes. The file that --output names
/// appears only when it is complete. It may replace a manifest of the same dataset, but no other file.
///
/// With --until, the history ends there, as if the later changes had not been made; a dataset that
/// is imported from it takes the place of one whose later changes are wrong. The metadata is the
/// present one, without withdrawal and former names.
///
/// Examples:
///   accession export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession export US.FOOL2.002 --until 2026-01-31 --output FOOL2.january.jsonl
///   accession export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The file to write; - means stdout [default: -]
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,

    /// The time of the last change: RFC 3339, or a date, which means the end of that day [default:
    /// all changes]
    #[arg(long, value_name = "T")]
    until: Option<Moment>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let Args { dataset, output, until } = self;
        match output.filter(|path| path.as_os_str() != "-") {
            Some(path) => export(&registry, &dataset, until, &path)?,
            // It is written to a temporary file first: while the registry is read, the command must not
            // wait for a terminal or a pipe.
            None => {
                let mut spool = BufWriter::new(scratch::file()?);
                write_up_to(&registry, &dataset, until, &mut spool)?;
                let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
                spool.rewind()?;
                io::copy(&mut spool, session.out())?;
            }
        }
        Ok(Exit::Done)
    }
}
