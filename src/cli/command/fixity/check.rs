use accession::Access;
use accession::fixity::{Check, Depth, DirectoryFiles};

use super::files::{Files, FilesOfSet, Found, Summary, TreeArgs};
use crate::cli::args::TypedSet;
use crate::cli::error::{Exit, Result};
use crate::cli::session::Session;

/// Check files against their recorded sizes and checksums
///
/// Each file is read once, for all its checksums; a row is printed for each that is not as recorded:
/// missing, size, checksum, unreadable (also what is not a regular file, and a link that leads out of
/// the directory), changing (it was written while it was read), no-record (nothing is recorded to
/// check it by), or cannot-compute (only checksums of unknown algorithms are). Nothing is recorded.
/// The exit status is 1 if a row is printed.
///
/// Examples:
///   accession fixity check US.FOOL2.002 --root /data/fool2
///   accession fixity check US.FOOL2.002@2001-01-05 --root /data/fool2 --size-only --unexpected
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    set: TypedSet,

    #[command(flatten)]
    tree: TreeArgs,

    /// Compare the sizes only, without opening a file
    #[arg(long)]
    size_only: bool,

    /// Also list files of the directory that no granule of the set has, as unexpected
    #[arg(long)]
    unexpected: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let root = self.tree.open()?;
        // Before the records are read, so that a file that is registered meanwhile is not unexpected.
        let mut directory = self.unexpected.then(|| DirectoryFiles::list(&root)).transpose()?;
        let registry = session.open(Access::Read)?;
        let snapshot = registry.snapshot()?;
        let selection = self.set.into_selection(session.now()?, &snapshot)?;
        let files = FilesOfSet::new(&registry, snapshot.select(&selection)?.set);
        drop(snapshot);
        let options = self.tree.begin(&root, &files)?;
        let depth = if self.size_only { Depth::Size } else { Depth::Content };
        let progress = options.monitor.clone();
        let mut summary = Summary { complete: true, ..Summary::default() };
        let mut list = session.list();
        for checked in Check::start(&root, files.read()?, depth, options)? {
            let checked = checked?;
            summary.files += 1;
            summary.bytes += checked.bytes;
            if let Some(directory) = &mut directory {
                directory.expect(&checked.file.path)?;
            }
            if let Some(problem) = checked.problem {
                summary.findings += 1;
                list.add(session, &Found::of(checked.file, &problem))?;
            }
        }
        if let Some(progress) = progress {
            progress.end();
        }
        for unexpected in
            directory.map(DirectoryFiles::unexpected).transpose()?.into_iter().flatten()
        {
            let (path, problem) = unexpected?;
            summary.findings += 1;
            list.add(session, &Found::at(path, &problem))?;
        }
        list.finish(session)?;
        summary.print(session, "checked")?;
        Ok(if summary.findings == 0 { Exit::Done } else { Exit::Differs })
    }
}
