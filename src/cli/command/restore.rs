use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::{Lacks, Registry, Restored, quoted, rehearse_restore, restore};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::args::named_path;
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{Progress, count};
use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// Replace the registry with a verified copy
///
/// Every identifier in the copy is recomputed first. The present registry, if there is one, is
/// renamed together with its -wal and -shm files, and not deleted; it may be damaged. The datasets
/// and identifiers that it has and the copy lacks are listed. The copy is not changed. A command
/// that had the old registry open fails at its next change. If the restore fails, the registry is
/// where it was.
///
/// Example:
///   accession restore /backup/accession-2026-01-31.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The copy, such as one that `accession backup` made
    #[arg(value_parser = named_path())]
    file: PathBuf,

    /// Verify the copy and show what it lacks, without replacing anything
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct RestoredJson<'a> {
    bytes: u64,
    datasets: u64,
    identifiers: u64,
    kept: Option<String>,
    lacks: Option<&'a Lacks>,
    dry_run: bool,
}

/// How many of the identifiers that the copy lacks are listed.
const MAX_LISTED: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let target = session.registry_path();
        Registry::check_is_file(&self.file, "the replacement of a registry by a copy")?;
        // If the copy does not exist, the user must not be advised to create a registry.
        std::fs::metadata(&self.file)
            .with_context(|| format!("cannot read {}", shown(&self.file)))?;
        let progress = Arc::new(Progress::new());
        let restored = if self.dry_run {
            rehearse_restore(&self.file, &target, Some(progress))?
        } else {
            let restored = restore(&self.file, &target, session.now()?, Some(progress))?;
            session.note_commit(Commit::Restored);
            restored
        };
        let Restored { moved, bytes, datasets, identifiers, lacks } = restored;
        let lacks = lacks.map_err(|error| warn_of_unreadable(session, error.into())).ok();
        if session.is_json() {
            let kept = moved.map(|moved| moved.to_string_lossy().into_owned());
            let (lacks, dry_run) = (lacks.as_ref(), self.dry_run);
            session.json(&RestoredJson { bytes, datasets, identifiers, kept, lacks, dry_run })?;
        } else if !session.is_quiet() {
            if let Some(moved) = moved {
                writeln!(session.out(), "moved {} to {}", shown(&target), shown(&moved))?;
            }
            if !self.dry_run {
                writeln!(
                    session.out(),
                    "{}: restored from {}: {}, {}, all verified; {bytes} bytes",
                    shown(&target),
                    shown(&self.file),
                    count(datasets, "dataset"),
                    count(identifiers, "identifier"),
                )?;
            }
            if let Some(lacks) = &lacks {
                write_lacks(session.out(), lacks)?;
            }
            if self.dry_run {
                writeln!(session.out(), "dry run: nothing was changed")?;
            }
        }
        Ok(Exit::Done)
    }
}

fn warn_of_unreadable(session: &Session, error: anyhow::Error) {
    session.warn(
        WarningKind::CopyNotCompared,
        &format!("what is there cannot be read, so it is not known what the copy lacks: {error:#}"),
    );
}

/// Writes what the copy lacks: the datasets, and the first identifiers.
fn write_lacks(out: &mut impl Write, lacks: &Lacks) -> io::Result<()> {
    let Lacks { datasets, identifiers } = lacks;
    if datasets.is_empty() && identifiers.is_empty() {
        return writeln!(out, "the copy lacks no dataset and no identifier that was there");
    }
    writeln!(
        out,
        "the copy lacks {} and {} that were there:",
        count(datasets.len() as u64, "dataset"),
        count(identifiers.len() as u64, "identifier")
    )?;
    datasets.iter().try_for_each(|dataset| writeln!(out, "dataset     {dataset}"))?;
    let listed = identifiers.iter().take(MAX_LISTED);
    listed.clone().try_for_each(|identifier| writeln!(out, "identifier  {identifier}"))?;
    match identifiers.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more; --json lists all"),
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}
