//! `dataset export`: the history of a dataset, as a manifest.

use std::io::{self, BufWriter, Seek};
use std::path::PathBuf;

use accession::mirror::manifest;
use accession::{DatasetName, Moment};

use crate::args::moment;
use crate::error::{Exit, Result};
use crate::session::Session;
use crate::temporary_file;

/// Print the whole history of a dataset as a manifest
///
/// A manifest is JSON Lines: the log of the dataset, its cited subsets and its metadata. A dataset can be rebuilt
/// from it and verified. The same history gives the same bytes. The file of --output appears only when it is
/// complete. It may replace a manifest of the same dataset, but no other file.
///
/// With --until, the history ends at that time, without the later changes. The metadata is the present metadata,
/// without withdrawal and former names.
///
/// Examples:
///   accession dataset export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession dataset export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ExportArgs {
    /// The dataset
    dataset: DatasetName,

    /// The file to write [default: standard output]
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,

    /// Leave out the changes after this time; a date means its end
    #[arg(long, value_name = "T", value_parser = moment)]
    until: Option<Moment>,
}

impl ExportArgs {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        let ExportArgs { dataset, output, until } = self;
        match output.filter(|path| path.as_os_str() != "-") {
            Some(path) => manifest::export(&registry, &dataset, until, &path)?,
            // It is written to a temporary file first, because the command must not wait for a terminal or a
            // pipe while the registry is read.
            None => {
                let mut spool = BufWriter::new(temporary_file::create()?);
                manifest::write(&registry, &dataset, until, &mut spool)?;
                let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
                spool.rewind()?;
                io::copy(&mut spool, session.document())?;
            }
        }
        Ok(Exit::Done)
    }
}
