use std::io::{self, Write};

use accession::{DatasetName, Import, Imported};
use anyhow::Result;

use crate::cli::args::{FormatArgs, refuse_older_name, stored_name};
use crate::cli::commit::Commit;
use crate::cli::exit::Exit;
use crate::cli::output::{AppliedJson, Created, Outcome, count, write_work};
use crate::cli::reading::{InputFile, import_events};
use crate::cli::session::{Create, Session, Written};

/// Build a history from a file that tells when granules were ingested and deleted
///
/// The file is a table with a column ingested and perhaps one named deleted, a change log (time,
/// TAB, + or -, TAB, id), or a manifest. There is one change for each distinct time, all in one
/// transaction. Each must be later than the last change of the dataset. Events that are already in
/// the history are skipped, so that a file that has grown can be imported again.
///
/// Examples:
///   accession import US.FOOL2.002 granules.csv --create
///   accession import US.FOOL2.002 changes.tsv.gz --format changes --create
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    #[arg(value_parser = stored_name)]
    dataset: DatasetName,

    /// The file; - is stdin
    file: InputFile,

    #[command(flatten)]
    format: FormatArgs,

    /// Create the dataset and the registry if they do not exist
    #[arg(long)]
    create: bool,

    /// Show what would be done, without changing anything
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut import = Import::new();
        if self.create {
            refuse_older_name(&self.dataset)?;
            import.create_dataset();
        }
        if self.dry_run {
            import.dry_run();
        }
        import_events(&self.file, &self.format.options(), session, &mut import)?;
        let create = Create::when(self.create, self.dry_run);
        let is_new_registry = session.new_registry(create).is_some();
        let imported = session.write(create, |registry, session| {
            let imported = registry.import(&self.dataset, &import, &session.stamp(None)?)?;
            let changed = !self.dry_run && !imported.instances.is_empty();
            Ok(Written { result: imported, committed: changed.then_some(Commit::History) })
        })?;
        let changed = !imported.instances.is_empty();
        let created =
            Created { registry: is_new_registry && changed, dataset: imported.created_dataset };
        if session.is_json() {
            let (dataset, in_force) = (&self.dataset, imported.in_force.as_ref());
            let (dry_run, skipped) = (self.dry_run, imported.skipped);
            let outcome = Outcome { dataset, in_force, changed, dry_run, skipped, created };
            session.json(&AppliedJson::from(outcome))?;
            for instance in &imported.instances {
                session.json(instance)?;
            }
        } else {
            session.write_created(&self.dataset, created, self.dry_run)?;
            write_imported(session.out(), &self.dataset, &imported, self.dry_run)?;
        }
        Ok(Exit::Done)
    }
}

fn write_imported(
    out: &mut impl Write,
    dataset: &DatasetName,
    imported: &Imported,
    dry_run: bool,
) -> io::Result<()> {
    let instances = &imported.instances;
    let skipped = imported.skipped.held;
    let (Some(first), Some(last)) = (instances.first(), instances.last()) else {
        return match skipped {
            0 => writeln!(out, "no changes: the file contains no events"),
            1 => writeln!(out, "no changes: the only event is already in the history"),
            _ => writeln!(out, "no changes: all {skipped} events are already in the history"),
        };
    };
    if skipped > 0 {
        writeln!(out, "skipped {} already in the history", count(skipped, "event"))?;
    }
    let ingested: u64 = instances.iter().map(|instance| instance.ingested).sum();
    let deleted: u64 = instances.iter().map(|instance| instance.deleted).sum();
    let changes = count(instances.len() as u64, "change");
    writeln!(
        out,
        "{dataset}: {changes} from {} to {}: +{ingested} -{deleted}, holds {}",
        first.timestamp, last.timestamp, last.granules
    )?;
    writeln!(out, "identifier {}", last.identifier)?;
    write_work(out, &imported.work)?;
    if dry_run {
        writeln!(out, "dry run: nothing was changed")?;
    }
    Ok(())
}
