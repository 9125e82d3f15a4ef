use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::{Restored, quoted, restore};
use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::args::named_path;
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{Progress, count};
use crate::cli::session::Session;

/// Replace the registry with a verified copy
///
/// Every identifier in the copy is recomputed first. The present registry, if there is one, is
/// renamed together with its -wal and -shm files, and not deleted. The copy is not changed. A
/// command that had the old registry open fails at its next change.
///
/// Example:
///   accession restore /backup/accession-2026-01-31.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The copy, such as one that `accession backup` made
    #[arg(value_parser = named_path())]
    file: PathBuf,
}

#[derive(Serialize)]
struct RestoredJson {
    bytes: u64,
    datasets: u64,
    identifiers: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let target = session.registry_path();
        // If the copy does not exist, the user must not be advised to create a registry.
        std::fs::metadata(&self.file)
            .with_context(|| format!("cannot read {}", shown(&self.file)))?;
        let progress = Arc::new(Progress::new());
        let restored = restore(&self.file, &target, session.now()?, Some(progress))?;
        session.note_commit(Commit::Restored);
        if session.is_json() {
            let Restored { bytes, datasets, identifiers, .. } = restored;
            session.json(&RestoredJson { bytes, datasets, identifiers })?;
        } else if !session.is_quiet() {
            if let Some(moved) = &restored.moved {
                writeln!(session.out(), "moved {} to {}", shown(&target), shown(moved))?;
            }
            writeln!(
                session.out(),
                "{}: restored from {}: {}, {}, all verified; {} bytes",
                shown(&target),
                shown(&self.file),
                count(restored.datasets, "dataset"),
                count(restored.identifiers, "identifier"),
                restored.bytes
            )?;
        }
        Ok(Exit::Done)
    }
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}
