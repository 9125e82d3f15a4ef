use std::path::PathBuf;
use std::time::{Duration, Instant};

use accession::fixity::{Compute, Computed, Problem, RecordedFile};
use accession::model::{Algorithm, FilePath, FileRecord};
use accession::registry::{FileListing, FileOptions};
use accession::{Access, DatasetName, Registry, Selection};

use super::files::{Found, Summary, TreeArgs, of_set};
use crate::cli::args::named_path;
use crate::cli::error::{Commit, Error, Exit, Result};
use crate::cli::program::Interrupt;
use crate::cli::session::Session;

/// Compute and record the checksums of files that have none
///
/// Each granule that the dataset holds is a file of that name below the directory, unless its files
/// are recorded. A file that cannot be read, is not as it is recorded, or is written while it is read
/// gets no checksum; a row is printed for it, and the exit status is 1. What was computed is recorded
/// once a minute, so a command that was stopped can be run again.
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

    /// A note that is stored with the records
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// How often what was computed is recorded.
const SAVED_EVERY: Duration = Duration::from_secs(60);

/// How often it is looked whether that is due.
const TICK: Duration = Duration::from_millis(200);

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
        let selection = Selection::Dataset { name: self.dataset.clone(), at: None };
        // A dataset that accepts no records is refused before its files are read.
        self.record(session, &registry, &FileListing::new())?;
        let set = registry.snapshot()?.select(&selection)?.set;
        let has_none = |file: &RecordedFile| {
            file.checksums.iter().all(|checksum| *checksum.algorithm() != self.algorithm)
        };
        let unhashed = || -> Result<_> {
            let files = of_set(&registry, &set)?;
            Ok(files.filter(|file| file.as_ref().map_or(true, has_none)))
        };
        let options = self.tree.begin(&root, unhashed, None)?;
        let progress = options.monitor.clone();
        let mut summary = Summary { complete: true, ..Summary::default() };
        let mut list = session.list();
        let (mut listing, mut saved) = (FileListing::new(), Instant::now());
        let interrupt = Interrupt::watch()?;
        // Where most files have a checksum, the next one that has none may be far.
        let unhashed = unhashed()?.take_while(|_| !interrupt.is_requested());
        let mut files = Compute::start(&root, unhashed, self.algorithm.clone(), options)?;
        while !interrupt.is_requested() {
            if saved.elapsed() >= SAVED_EVERY {
                self.record(session, &registry, &std::mem::take(&mut listing))?;
                saved = Instant::now();
            }
            if !files.wait(TICK) {
                continue;
            }
            let Some(computed) = files.next() else { break };
            let Computed { file, content } = computed?;
            summary.files += 1;
            let content = content.and_then(|content| match FilePath::new(file.path.as_str()) {
                Ok(path) => Ok((path, content)),
                Err(cause) => Err(Problem::Unreadable { reason: cause.to_string() }),
            });
            match content {
                Ok((path, content)) => {
                    summary.bytes += content.size().unwrap_or(0);
                    listing.add(&FileRecord::new(file.granule_id, path, content), None)?;
                }
                Err(problem) => {
                    summary.findings += 1;
                    list.add(session, &Found::of(file, &problem))?;
                }
            }
        }
        drop(files);
        self.record(session, &registry, &listing)?;
        if let Some(progress) = progress {
            progress.end();
        }
        list.finish(session)?;
        summary.complete = !interrupt.is_requested();
        summary.print(session, "computed")?;
        if interrupt.is_requested() {
            return Err(Error::interrupted("stopped: what was computed so far is recorded"));
        }
        Ok(if summary.findings == 0 { Exit::Done } else { Exit::Differs })
    }

    /// Records what was computed.
    fn record(
        &self,
        session: &mut Session,
        registry: &Registry,
        listing: &FileListing,
    ) -> Result<()> {
        // A granule that was deleted meanwhile needs no record.
        let options =
            FileOptions { note: self.note.clone(), skip_missing: true, ..FileOptions::default() };
        let stamp = session.stamp(None)?;
        let (counts, _) = registry.add_files(&self.dataset, listing, &options, &stamp)?;
        if counts.has_any() {
            session.note_commit(Commit::Files);
        }
        Ok(())
    }
}
