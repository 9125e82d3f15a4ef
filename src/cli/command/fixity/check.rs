use std::path::{Path, PathBuf};

use accession::Access;
use accession::fixity::{Check, Depth, DirectoryFiles, FoundFiles, Problem, RecordedFile};

use super::files::{Files, FilesOfSet, Found, Summary, TreeArgs};
use crate::cli::args::{FileColumns, FormatArgs, TypedSet, named_path};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::{List, Session};

/// Check files against their recorded sizes and checksums
///
/// Each file is read once, for all its checksums; a row is printed for each that is not as recorded:
/// missing, size, checksum, unreadable (also what is not a regular file, and a link that leads out of
/// the directory), changing (it was written while it was read), no-record (nothing is recorded to
/// check it by), or cannot-compute (only checksums of unknown algorithms are). With --found, the
/// checksums that another program computed are compared instead, and no file is read. Nothing is
/// recorded. The exit status is 1 if a row is printed.
///
/// Examples:
///   accession fixity check US.FOOL2.002 --root /data/fool2
///   accession fixity check US.FOOL2.002@2001-01-05 --root /data/fool2 --size-only --unexpected
///   rclone hashsum sha256 bucket:fool2 | accession fixity check US.FOOL2.002 --found -
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address
    set: TypedSet,

    /// The directory that has the files; their paths are relative to it
    #[arg(long, value_name = "DIR", value_parser = named_path(), required_unless_present = "found")]
    root: Option<PathBuf>,

    #[command(flatten)]
    tree: TreeArgs,

    /// Compare the sizes only, without opening a file
    #[arg(long)]
    size_only: bool,

    /// Also list files of the directory that no granule of the set has, as unexpected
    #[arg(long)]
    unexpected: bool,

    /// Compare with a list of checksums that another program computed; - is stdin (can be repeated)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["root", "jobs", "mounted", "size_only", "unexpected"]
    )]
    found: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    columns: FileColumns,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut findings = Findings::new(session);
        match &self.root {
            Some(root) => self.check_directory(root, session, &mut findings)?,
            None => self.check_list(session, &mut findings)?,
        }
        findings.finish(session)
    }

    fn check_directory(
        &self,
        root: &Path,
        session: &mut Session,
        findings: &mut Findings,
    ) -> Result<()> {
        let root = self.tree.open(root)?;
        // Before the records are read, so that a file that is registered meanwhile is not unexpected.
        let mut directory = self.unexpected.then(|| DirectoryFiles::list(&root)).transpose()?;
        let files = self.files(session)?;
        let options = self.tree.begin(&root, &files)?;
        let depth = if self.size_only { Depth::Size } else { Depth::Content };
        let progress = options.monitor.clone();
        for checked in Check::start(&root, files.read()?, depth, options)? {
            let checked = checked?;
            if let Some(directory) = &mut directory {
                directory.expect(&checked.file.path)?;
            }
            findings.summary.bytes += checked.bytes;
            findings.add(session, checked.file, checked.problem)?;
        }
        if let Some(progress) = progress {
            progress.end();
        }
        for unexpected in
            directory.map(DirectoryFiles::unexpected).transpose()?.into_iter().flatten()
        {
            let (path, problem) = unexpected?;
            findings.print(session, &Found::at(path, &problem))?;
        }
        Ok(())
    }

    fn check_list(&self, session: &mut Session, findings: &mut Findings) -> Result<()> {
        let (mut found, mut stated) = (FoundFiles::new(), 0_u64);
        let options = self.columns.reading(self.format.options());
        // The ids are of no interest: what is compared are the paths.
        let paths = PathArgs::default();
        let mut entries =
            Entries::new(session, &[], &self.found, options, &paths, MissingPages::Warn);
        while let Some(entry) = entries.next() {
            for record in entries.take_files(&entry?) {
                found.add(record.path(), &record.content)?;
                stated += 1;
            }
        }
        drop(entries);
        if stated == 0 {
            return Err(Error::usage("the list states no size and no checksum of a file")
                .with_hint(
                    "for a table, name the columns with --checksum-column and --size-column",
                ));
        }
        for file in self.files(session)?.read()? {
            found.expect(&file?)?;
        }
        for compared in found.compare()? {
            let (file, problem) = compared?;
            findings.add(session, file, problem)?;
        }
        Ok(())
    }

    fn files(&self, session: &Session) -> Result<FilesOfSet> {
        let registry = session.open(Access::Read)?;
        let snapshot = registry.snapshot()?;
        let selection = self.set.clone().into_selection(session.now()?, &snapshot)?;
        Ok(FilesOfSet::new(&registry, snapshot.select(&selection)?.set))
    }
}

/// What was found so far, which is printed at once.
struct Findings {
    list: List<Found>,
    summary: Summary,
}

impl Findings {
    fn new(session: &Session) -> Self {
        let summary = Summary { complete: true, ..Summary::default() };
        Findings { list: session.list(), summary }
    }

    /// Counts a file that was checked, and prints what is wrong with it.
    fn add(
        &mut self,
        session: &mut Session,
        file: RecordedFile,
        problem: Option<Problem>,
    ) -> Result<()> {
        self.summary.files += 1;
        problem.map_or(Ok(()), |problem| self.print(session, &Found::of(file, &problem)))
    }

    fn print(&mut self, session: &mut Session, found: &Found) -> Result<()> {
        self.summary.findings += 1;
        Ok(self.list.add(session, found)?)
    }

    fn finish(self, session: &mut Session) -> Result<Exit> {
        self.list.finish(session)?;
        self.summary.print(session, "checked")?;
        Ok(if self.summary.findings == 0 { Exit::Done } else { Exit::Differs })
    }
}
