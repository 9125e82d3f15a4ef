//! `proof create`: writes a proof of a statement.

use std::io::Write;
use std::path::PathBuf;

use accession::proof::ProvedSet;
use accession::{SetSpec, WarningKind};

use crate::error::{Exit, Result};
use crate::session::Session;

/// Write a proof of what the archive stated about a set
///
/// The proof has the statement, its path in the log, and the signed checkpoint: about 2 kB. An author deposits
/// it with the list of the set and the policy. Anyone can verify it with `accession proof verify`, without this
/// registry. An identifier means the latest set that has it. To prove a cited subset, pass its identifier.
///
/// Examples:
///   accession proof create US.FOOL2.002@2001-01-05 --output paper.tlog-proof
///   accession proof create DI:763122197bfb3ffbf0da14adbfb1b13b > paper.tlog-proof
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Create {
    /// The set: see `accession --help`
    set: SetSpec,

    /// The file to create [default: standard output]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Create {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let now = session.now()?;
        let snapshot = session.open()?.snapshot()?;
        let at = self.set.time();
        let resolution = snapshot.resolve(&self.set)?;
        session.warn_all(resolution.warnings().to_vec());
        let selection = resolution.selection().clone();
        let ProvedSet { proof, is_witnessed, .. } = snapshot.prove(&selection, at)?;
        session.warn_all(snapshot.cite(&selection)?.warnings(at, now));
        drop(snapshot);
        if !is_witnessed {
            let what =
                "not enough witnesses have seen this for the policy with which it was signed";
            session.warn(WarningKind::NotWitnessed, what);
        }
        match &self.output {
            None => write!(session.document(), "{proof}")?,
            Some(path) => {
                proof.create_file(path)?;
                session.note_commit();
            }
        }
        Ok(Exit::Done)
    }
}
