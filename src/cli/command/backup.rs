use std::io::Write;
use std::path::PathBuf;

use accession::{Access, quoted};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Copy the registry to a file, while others use it, and verify the copy
///
/// The copy is the registry as it was at one moment; it appears whole, and only once every
/// identifier in it was recomputed. It is a registry like any other: to restore it, move away what
/// is left of the lost one, with its -wal, -shm and -journal, and put the copy in its place.
///
/// Example:
///   accession backup /backup/accession-$(date +%F).db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The file, which must not be there yet
    file: PathBuf,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let backed_up = session.open(Access::Read)?.back_up(&self.file)?;
        if session.is_json() {
            session.json(&backed_up)?;
        } else {
            writeln!(
                session.out(),
                "{}: {}, {}, all verified; {} bytes",
                quoted(&self.file.to_string_lossy()),
                count(backed_up.datasets, "dataset"),
                count(backed_up.identifiers, "identifier"),
                backed_up.bytes
            )?;
        }
        Ok(Exit::Done)
    }
}
