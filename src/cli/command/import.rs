use std::io::{self, Write};
use std::path::PathBuf;

use accession::{DatasetName, ImportOptions, Imported};
use anyhow::Result;

use crate::cli::Exit;
use crate::cli::output::{count, write_work};
use crate::cli::session::{Create, Session};
use crate::cli::source::{Reading, Rereadable, import_events};

/// Build a whole history from a file that says when granules came and went
///
/// One change for each distinct time, all in one transaction: into an empty dataset, or behind its
/// last change. Events that stand in the history already are passed over, so the same file, grown,
/// can be imported again.
///
/// Examples:
///   accession import US.FOOL2.002 granules.csv --create      granule_id,ingested,deleted
///   accession import US.FOOL2.002 changes.tsv.gz --create    time TAB + or - TAB id
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The file; - is stdin
    file: PathBuf,

    #[command(flatten)]
    reading: Reading,

    /// Make the dataset, and the registry, if it is not there
    #[arg(long)]
    create: bool,

    /// Show what would be done, and leave everything as it is
    #[arg(long)]
    dry_run: bool,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = ImportOptions { create: self.create, dry_run: self.dry_run };
        let now = session.now()?;
        let create = Create::when(self.create, self.dry_run);
        // Where another process makes the registry at the same time, the file is read once more.
        let file = match session.new_in(create) {
            Some(folder) => Rereadable::kept_in(folder, &self.file)?,
            None => Rereadable::File(self.file),
        };
        let imported = session.write(create, |registry| {
            let mut import = registry.begin_import()?;
            import_events(&file, &self.reading, session, &mut import)?;
            Ok(import.apply(&self.dataset, options, now)?)
        })?;
        if session.is_json() {
            for instance in &imported.instances {
                session.json(instance)?;
            }
        } else {
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
    if imported.passed_over > 0 {
        writeln!(
            out,
            "passed over {}, in the history already",
            count(imported.passed_over, "event")
        )?;
    }
    let (Some(first), Some(last)) = (instances.first(), instances.last()) else {
        return writeln!(out, "nothing left to do: nothing was changed");
    };
    let (ingested, deleted) = instances.iter().fold((0, 0), |(ingested, deleted), instance| {
        (ingested + instance.ingested, deleted + instance.deleted)
    });
    let changes = count(instances.len() as u64, "change");
    writeln!(
        out,
        "{dataset}: {changes} from {} to {}: +{ingested} -{deleted}, holds {}",
        first.timestamp, last.timestamp, last.granules
    )?;
    writeln!(out, "identifier {}", last.identifier)?;
    write_work(out, &imported.work)?;
    if dry_run {
        writeln!(out, "a dry run: nothing was changed")?;
    }
    Ok(())
}
