use std::io::Write;

use accession::model::WarningKind;
use accession::registry::{FileCounts, FileListing, FileOptions};
use accession::{DatasetName, Entry};
use serde::Serialize;

use crate::cli::applied::{ClockArgs, files_line};
use crate::cli::args::{FileColumns, FormatArgs};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::count;
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::{Create, Session, Written};

/// Record the sizes and checksums of files of granules that are held
///
/// What is known already is counted. What contradicts it (another size, or another checksum of the
/// same algorithm) is refused, and nothing is recorded, unless --accept-content is given.
///
/// Examples:
///   sha256sum -- * | accession fixity add US.FOOL2.002 --from -
///   accession fixity add US.FOOL2.002 --from granules.umm_json --skip-missing
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
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

    /// Skip the files of granules that are not held
    #[arg(long)]
    skip_missing: bool,

    /// Record what contradicts that which is recorded, and replaces it; both are kept
    #[arg(long, requires = "note")]
    accept_content: bool,

    /// A note to store with the records
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    /// Show what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    clock: ClockArgs,
}

/// What was recorded, as JSON.
#[derive(Serialize)]
struct Added<'a> {
    dataset: &'a DatasetName,
    files: FileCounts,
    missing: u64,
    dry_run: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.columns.reading(self.format.options());
        let mut files = FileListing::new();
        let entries =
            Entries::new(session, &[], &self.from, options, &self.paths, MissingPages::Warn);
        for entry in entries {
            let Entry { granule_id, content, location, .. } = entry?;
            files.add_content(&granule_id, content.unwrap_or_default(), location.as_ref())?;
        }
        if files.count() == 0 {
            return Err(Error::usage("the input states no size and no checksum of a file")
                .with_hint(
                    "for a table, name the columns with --checksum-column and --size-column",
                ));
        }
        let options = FileOptions {
            accept_content: self.accept_content,
            note: self.note.clone(),
            skip_missing: self.skip_missing,
            dry_run: self.dry_run,
        };
        let (counts, missing) = session.write(Create::Never, |registry, session| {
            let stamp = session.stamp(self.clock.time())?;
            let (counts, missing) = registry.add_files(&self.dataset, &files, &options, &stamp)?;
            let committed = counts.has_any() && !self.dry_run;
            Ok(Written { result: (counts, missing), committed })
        })?;
        if missing > 0 {
            let skipped = count(missing, "file");
            let what = format!("skipped {skipped} of granules that are not held");
            session.warn(WarningKind::Skipped, &what);
        }
        let added = Added { dataset: &self.dataset, files: counts, missing, dry_run: self.dry_run };
        session.confirm(&added, |out| writeln!(out, "{}", files_line(counts, self.dry_run)))
    }
}
