use std::path::PathBuf;

use accession::fixity::{FilesOfSet, SetCompute};
use accession::model::Algorithm;
use accession::{Access, DatasetName, ErrorKind};

use super::files::{TreeArgs, print_summary};
use crate::cli::applied::ClockArgs;
use crate::cli::args::named_path;
use crate::cli::error::{Commit, Error, Exit, Result};
use crate::cli::program::Interrupt;
use crate::cli::session::Session;

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
pub struct Args {
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

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let root = self.tree.open(&self.root)?;
        let registry = session.open(Access::Write)?;
        let stamp = session.stamp(self.clock.time())?;
        SetCompute::check(&registry, &self.dataset, self.note.as_deref(), &stamp)?;
        let files = FilesOfSet::without(&registry, &self.dataset, &self.algorithm)?;
        let interrupt = Interrupt::watch()?;
        let options = self.tree.begin(&files, None, &interrupt)?;
        let progress = options.monitor.clone();
        let dataset = (&registry, &self.dataset);
        let mut files =
            SetCompute::start(dataset, &root, &self.algorithm, self.note, options, &stamp)?;
        let mut list = session.list();
        let mut stopped = Ok(());
        for finding in files.by_ref() {
            match finding {
                Ok(finding) => list.add(session, &finding)?,
                Err(error) => stopped = Err(error),
            }
        }
        let summary = files.finish();
        if files.has_recorded() {
            session.note_commit(Commit::Part);
        }
        let summary = summary?;
        if let Some(progress) = progress {
            progress.end();
        }
        list.finish(session)?;
        print_summary(session, &summary, "computed")?;
        match stopped {
            Err(error) if error.kind() == ErrorKind::Interrupted => {
                Err(Error::interrupted("stopped: what was computed so far is recorded"))
            }
            stopped => {
                stopped?;
                Ok(if summary.findings == 0 { Exit::Done } else { Exit::Differs })
            }
        }
    }
}
