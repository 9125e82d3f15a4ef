use std::io::Write;
use std::path::PathBuf;

use accession::{Access, quoted};
use anyhow::Result;

use crate::cli::args::named_path;
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Copy the registry to a file, while others use it, and verify the copy
///
/// The copy contains the registry as of one moment. The file appears only when it is complete and
/// every identifier in it has been recomputed. A backup is an ordinary registry; `accession
/// restore` replaces a lost or damaged registry with it.
///
/// Example:
///   accession backup /backup/accession-$(date +%F).db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The file to create; it must not exist
    #[arg(value_parser = named_path())]
    file: PathBuf,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let backup = session.open(Access::Read)?.back_up(&self.file)?;
        session.note_commit(Commit::Backup);
        if session.is_json() {
            session.json(&backup)?;
        } else if !session.is_quiet() {
            writeln!(
                session.out(),
                "{}: {}, {}, all verified; {} bytes",
                quoted(&self.file.to_string_lossy()),
                count(backup.datasets, "dataset"),
                count(backup.identifiers, "identifier"),
                backup.bytes
            )?;
        }
        Ok(Exit::Done)
    }
}
