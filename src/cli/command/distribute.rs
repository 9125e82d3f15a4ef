use std::io::Write;

use accession::Access;
use anyhow::Result;
use serde::Serialize;

use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::count;
use crate::cli::session::Session;

/// Spread the registry over the machines of a Citus cluster
///
/// The registry is on a PostgreSQL server, in a database with the extension citus, and is new or
/// filled. Each dataset is on one machine; small tables are copied to all. It is done in one
/// transaction, as the owner of the tables; others wait meanwhile. Afterwards every command works
/// as before. What is distributed already is not changed.
///
/// Example:
///   accession distribute --registry postgres://archive@coordinator.example.org/archive
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {}

#[derive(Serialize)]
struct DistributedJson {
    tables: u64,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let tables = session.open(Access::Write)?.distribute()?;
        if tables > 0 {
            session.note_commit(Commit::Distribution);
        }
        if session.is_json() {
            session.json(&DistributedJson { tables })?;
        } else if !session.is_quiet() {
            match tables {
                0 => writeln!(session.out(), "the registry was distributed before")?,
                tables => writeln!(session.out(), "distributed {}", count(tables, "table"))?,
            }
        }
        Ok(Exit::Done)
    }
}
