use accession::fixity::{ListStyle, each_checksum, listed_set};
use accession::model::Algorithm;
use accession::{Access, DatasetName, ErrorKind, Selection, Set, Snapshot};
use clap::ValueEnum;
use serde::Serialize;

use crate::cli::args::{KnownAtArgs, SetArgs};
use crate::cli::dataset_warnings::warn_of_dataset;
use crate::cli::error::{Error, Exit, Result};
use crate::cli::session::Session;

/// List the checksums of the files of a set, as sha256sum --check reads them
///
/// By granule, then path. A file without a checksum of the algorithm is left out, with a warning
/// that counts them.
///
/// Examples:
///   accession fixity list US.FOOL2.002 | (cd /data && sha256sum --check --quiet)
///   accession fixity list DI:763122197bfb3ffbf0da14adbfb1b13b --format bagit > manifest-sha256.txt
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ListChecksums {
    #[command(flatten)]
    set: SetArgs,

    /// The dataset whose records are listed, if several hold the identifier
    #[arg(long, value_name = "DATASET")]
    dataset: Option<DatasetName>,

    #[command(flatten)]
    known_at: KnownAtArgs,

    /// The algorithm [default: sha-256 if a file has one, else the strongest that is there]
    #[arg(long, value_name = "ALGORITHM")]
    algorithm: Option<Algorithm>,

    /// The form of a line: that of sha256sum, a manifest of BagIt, or JSON
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "checksums")]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Checksums,
    Bagit,
    Json,
}

/// A file with its checksum, as JSON.
#[derive(Serialize)]
struct FileRow<'a> {
    granule: &'a str,
    path: &'a str,
    algorithm: &'a str,
    size: Option<u64>,
    checksum: String,
}

impl ListChecksums {
    /// The set, in the snapshot in which its files are listed.
    fn select(&self, session: &mut Session) -> Result<(Snapshot, Set)> {
        let snapshot = session.open(Access::Read)?.snapshot()?;
        let typed = self.set.clone().into_selection(session.now()?, &snapshot)?;
        let selection = match (typed, self.dataset.clone()) {
            (Selection::Identifier { identifier, dataset: None, at }, dataset) => {
                Selection::Identifier { identifier, dataset, at }
            }
            (typed, None) => typed,
            (_, Some(_)) => {
                return Err(Error::usage(
                    "--dataset is for an identifier that several datasets hold",
                ));
            }
        };
        let snapshot = self.known_at.apply(snapshot, session)?;
        let set = listed_set(&snapshot, &selection).map_err(|error| match error.kind() {
            ErrorKind::Ambiguous => Error::from(error).with_hint("name one of them with --dataset"),
            _ => error.into(),
        })?;
        warn_of_dataset(session, &snapshot, set.dataset())?;
        Ok((snapshot, set))
    }

    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let (snapshot, set) = self.select(session)?;
        let format = if session.is_json() { Format::Json } else { self.format };
        let algorithm = self.algorithm;
        let listed = each_checksum::<Error>(snapshot, &set, algorithm, |id, file, checksum| {
            let style = match format {
                Format::Checksums => ListStyle::Checksums,
                Format::Bagit => ListStyle::BagIt,
                Format::Json => {
                    return Ok(session.json(&FileRow {
                        granule: id.as_str(),
                        path: file.path(id),
                        algorithm: checksum.algorithm().as_str(),
                        size: file.size(),
                        checksum: checksum.to_string(),
                    })?);
                }
            };
            Ok(style.write_line(session.out(), checksum, file.path(id))?)
        })?;
        session.warn_all(listed.warning());
        Ok(Exit::Done)
    }
}
