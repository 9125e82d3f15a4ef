//! `fixity add` and `fixity compute`, which state what is known of files.

use std::path::PathBuf;

use accession::fixity;
use accession::input::Options;
use accession::model::{Algorithm, Extent};
use accession::{Access, Change, ChangeOptions, DatasetName};

use super::files::{TreeArgs, nothing_stated, print_run};
use crate::cli::applied::apply;
use crate::cli::args::{ChangeArgs, ClockArgs};
use crate::cli::args::{ContentArgs, FileColumns, FormatArgs, InventoryArgs, named_path};
use crate::cli::error::{Exit, Result};
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::Session;

/// State the sizes and checksums of files of granules that are held
///
/// They count from the time of the change on. What is known of other files of these granules stays. What
/// contradicts what is known (another size, or another checksum of the same algorithm) is refused, unless
/// --max-replace accepts it.
///
/// Examples:
///   sha256sum -- * | accession fixity add US.FOOL2.002 --from -
///   accession fixity add US.FOOL2.002 --from granules.umm_json --skip-missing
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AddFiles {
    /// The dataset
    dataset: DatasetName,

    /// A file with sizes and checksums; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE", required = true)]
    from: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    columns: FileColumns,

    #[command(flatten)]
    inventory: InventoryArgs,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    contradicting: ContentArgs,

    /// Skip the files of granules that are not held
    #[arg(long)]
    skip_missing: bool,
}

/// Why nothing changed.
const KNOWN: &str = "all that the input states is known";

impl AddFiles {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.columns.reading(self.format.options());
        let options = Options { root: self.inventory.root, ..options };
        let mut change = Change::stating(Extent::Named);
        change.options = ChangeOptions {
            skip_missing: self.skip_missing,
            max_replace: self.contradicting.max_replace,
            ..self.change.options()
        };
        let entries =
            Entries::new(session, &[], &self.from, options, &self.paths, MissingPages::Warn);
        for entry in entries {
            let entry = entry?;
            if entry.content.as_ref().is_some_and(|content| !content.is_empty()) {
                change.describe(entry)?;
            }
        }
        if change.count() == 0 {
            return Err(nothing_stated());
        }
        let application = self.change.application(&self.dataset, false);
        apply(session, &application, Some(KNOWN), |registry, stamp| {
            registry.change(&self.dataset, &change, stamp)
        })
    }
}

/// Compute and state the checksums of files that have none
///
/// Each granule that the dataset holds is a file of that name below the directory, unless its files
/// are recorded. A file that cannot be read, is not as it is recorded, or is written while it is read
/// gets no checksum; a row is printed for it, and the exit status is 1. What was computed is stated once an
/// hour and at the end, each time as a change of now, so a command that was stopped can be run again.
///
/// Example:
///   accession fixity compute US.FOOL2.002 --root /data/fool2
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct ComputeChecksums {
    /// The dataset
    dataset: DatasetName,

    /// The directory that has the files; their paths are relative to it
    #[arg(long, value_name = "DIR", value_parser = named_path())]
    root: PathBuf,

    #[command(flatten)]
    tree: TreeArgs,

    /// The algorithm: md5, sha-1, sha-256, sha-384, sha-512, crc32, cksum or adler32
    #[arg(long, value_name = "ALGORITHM", default_value = "sha-256", value_parser = computed)]
    algorithm: Algorithm,

    /// A note that is stored with the changes
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    clock: ClockArgs,
}

fn computed(text: &str) -> Result<Algorithm, String> {
    match text.parse() {
        Ok(Algorithm::Other(_)) | Err(_) => {
            let known = Algorithm::KNOWN.each_ref().map(Algorithm::as_str).join(", ");
            Err(format!("not an algorithm that is computed here: {known}"))
        }
        Ok(algorithm) => Ok(algorithm),
    }
}

impl ComputeChecksums {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let tree = self.tree.read(&self.root, None)?;
        let (registry, stamp) = (session.open(Access::Write)?, session.stamp(self.clock.time())?);
        let (dataset, algorithm) = (&self.dataset, self.algorithm);
        let run = fixity::compute(&registry, dataset, tree, algorithm, self.note, &stamp)?;
        print_run(session, run, "computed")
    }
}
