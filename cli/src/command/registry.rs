//! `registry`: backs up, restores, copies and distributes the whole registry.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use accession::WarningKind;
use accession::backup::{MissingFromBackup, RestoreReport};
use accession::text::quoted;
use accession::verify::VerificationTotals;
use accession::{Clock, Location, Registry, Watcher};
use serde::Serialize;
use serde_json::{Value, json};

use crate::args::named_path;
use crate::error::{Context, Error, Exit, Result};
use crate::output::{Column, Output, Progress, counted, in_words, plural, write_fields};
use crate::session::Session;

commands! {
    /// Back up, restore and copy the registry
    enum Command {
        Backup(Backup),
        Restore(Restore),
        Copy(Copy),
        Distribute(Distribute),
    }
}

/// Copy the registry, and verify the copy
///
/// The copy has the registry as of one moment; other programs can use the registry meanwhile. The copy appears
/// only when it is complete and every identifier in it was recomputed. A backup is an ordinary registry:
/// `accession registry restore` replaces a lost or damaged registry with a backup in a file.
///
/// In a directory, the backup is named after the registry and the time, such as accession-20260131T030000Z.db.
///
/// Examples:
///   accession registry backup /backup/
///   accession registry backup /backup/before-the-move.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Backup {
    /// A new file, an existing directory, or an empty database
    ///
    /// A database is an address on a PostgreSQL server: postgres://USER@HOST/DATABASE.
    #[arg(value_name = "FILE|ADDRESS", value_parser = named_path())]
    target: PathBuf,
}

/// The fields that are shown of a copy.
const COPIED: &[Column] = &[
    Column::text("path"),
    Column::number("datasets"),
    Column::number("identifiers verified").of("identifiers"),
    Column::number("bytes"),
];

/// The path of a copy, and its contents.
#[derive(Serialize)]
struct CopyAt {
    /// The size of the file, if it is a backup in a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    datasets: u64,
    identifiers: u64,
    path: String,
}

impl CopyAt {
    /// A copy whose whole contents were verified.
    fn of(verified: &VerificationTotals, bytes: Option<u64>, path: String) -> Self {
        let VerificationTotals { datasets, identifiers, .. } = *verified;
        CopyAt { bytes, datasets, identifiers, path }
    }
}

impl Backup {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let target = Location::from(&self.target);
        if !target.is_file() {
            // A backup is complete: it includes the state of the workers that issue payment ids.
            return copy(&session.open()?, &target, true, session);
        }
        let is_directory = self.target.is_dir();
        if !is_directory && self.target.as_os_str().as_encoded_bytes().ends_with(b"/") {
            let message = format!("there is no directory {}", shown(&self.target));
            return Err(Error::usage(message).with_hint("create it first: mkdir -p"));
        }
        let registry = session.open()?;
        let (path, backup) = match is_directory {
            true => registry.back_up_into(&self.target)?,
            false => (self.target.clone(), registry.back_up(&self.target)?),
        };
        session.note_commit();
        let metadata = std::fs::metadata(&path);
        let metadata = metadata.with_context(|| format!("cannot read {}", shown(&path)))?;
        let (bytes, path) = (Some(metadata.len()), path.to_string_lossy().into_owned());
        let done = CopyAt::of(&backup, bytes, path);
        session.present_done(&done, |out, done| write_fields(out, COPIED, done))
    }
}

/// Replace the registry with a backup
///
/// Every identifier in the backup is recomputed first. The present registry may be damaged. It is not deleted, but
/// renamed, with its -wal and -shm files. The datasets and identifiers that it has and the backup lacks are
/// listed. The backup is not changed. A program that has the old registry open fails at its next change. If the
/// restore fails, the registry stays where it was.
///
/// Example:
///   accession registry restore /backup/accession-20260131T030000Z.db
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Restore {
    /// The backup, as `accession registry backup` made it
    #[arg(value_parser = named_path())]
    file: PathBuf,
}

#[derive(Serialize)]
struct RestoredJson<'a> {
    registry: String,
    from: String,
    bytes: u64,
    datasets: u64,
    identifiers: u64,
    kept: Option<String>,
    lacks: Option<&'a MissingFromBackup>,
}

/// The maximum number of listed identifiers and digests that the copy lacks.
const MAX_LISTED: usize = 20;

impl Restore {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let target = session.registry_path();
        Location::from(&self.file).file("the replacement of a registry by a copy")?;
        // If the copy does not exist, the error must not suggest to create a registry.
        let found = std::fs::metadata(&self.file)
            .with_context(|| format!("cannot read {}", shown(&self.file)))?;
        if found.is_dir() {
            let message = format!("{} is a directory, not a backup", shown(&self.file));
            return Err(Error::usage(message)
                .with_hint("name one of the files in it; backups are named after their time"));
        }
        let watcher = Watcher::new().observed_by(Arc::new(Progress::new()));
        let restored = Registry::restore(&self.file, &target, Clock::system(), &watcher)?;
        session.note_commit();
        let RestoreReport { moved, bytes, datasets, identifiers, lacks, .. } = restored;
        let lacks = lacks.map_err(|error| warn_of_unreadable(session, error.into())).ok();
        let kept = moved.as_ref().map(|moved| moved.to_string_lossy().into_owned());
        if let Some(lacks) = lacks.as_ref().filter(|lacks| !lacks.is_empty() && session.is_quiet())
        {
            let MissingFromBackup { datasets, identifiers, digests, .. } = lacks;
            let counts = [datasets.len(), identifiers.len(), digests.len()];
            let what = format!("the copy lacks {} of the replaced registry", what_lacks(counts));
            session.warn(WarningKind::CopyLacks, &what);
        }
        let [registry, from] =
            [&target, &self.file].map(|path| path.to_string_lossy().into_owned());
        let lacks = lacks.as_ref();
        let done = RestoredJson { registry, from, bytes, datasets, identifiers, kept, lacks };
        session.present_done(&done, write_restored)
    }
}

/// Writes the result of a restore, and what the copy lacks in comparison with the replaced registry.
fn write_restored(out: &mut Output, done: &Value) -> io::Result<()> {
    let [registry, from, kept] =
        ["registry", "from", "kept"].map(|path| quoted(&in_words(&done[path])).to_string());
    let is_new = done["kept"].is_null();
    if !is_new {
        writeln!(out, "moved {registry} to {kept}")?;
    }
    let [datasets, identifiers] = [("datasets", "dataset"), ("identifiers", "identifier")]
        .map(|(member, noun)| counted(&done[member], noun));
    let bytes = &done["bytes"];
    writeln!(
        out,
        "{registry}: restored from {from}: {datasets}, {identifiers}, all verified; {bytes} bytes"
    )?;
    if is_new {
        return writeln!(out, "nothing was there to compare the copy with");
    }
    if done["lacks"].is_null() {
        return Ok(());
    }
    write_lacks(out, &done["lacks"])?;
    writeln!(out, "not compared: annotations, metadata, and what is made again")
}

fn warn_of_unreadable(session: &Session, error: Error) {
    session.warn(
        WarningKind::CopyNotCompared,
        &format!("what is there cannot be read, so it is not known what the copy lacks: {error}"),
    );
}

/// Writes the datasets that the copy lacks, and the first of the identifiers and digests that it lacks.
fn write_lacks(out: &mut Output, lacks: &Value) -> io::Result<()> {
    let of = |member: &str| lacks[member].as_array().into_iter().flatten().map(in_words).collect();
    let [datasets, identifiers, digests]: [Vec<String>; 3] =
        ["datasets", "identifiers", "digests"].map(of);
    let counts = [datasets.len(), identifiers.len(), digests.len()];
    if counts == [0; 3] {
        return writeln!(out, "the copy has every dataset, identifier and digest that was there");
    }
    writeln!(out, "the copy lacks {} of the replaced registry", what_lacks(counts))?;
    datasets.iter().try_for_each(|dataset| writeln!(out, "dataset     {dataset}"))?;
    let of = identifiers.iter().map(|it| format!("identifier  {it}"));
    let mut listed = of.chain(digests.iter().map(|it| format!("digest      {it}")));
    listed.by_ref().take(MAX_LISTED).try_for_each(|line| writeln!(out, "{line}"))?;
    match listed.count() {
        0 => Ok(()),
        more => writeln!(out, "and {more} more; --json lists all"),
    }
}

/// The numbers of datasets, identifiers and digests that a copy lacks.
fn what_lacks(counts: [usize; 3]) -> String {
    let named = counts.into_iter().zip(["dataset", "identifier", "digest"]);
    let named = named.filter(|(number, _)| *number > 0);
    named.map(|(number, what)| plural(number as u64, what)).collect::<Vec<String>>().join(", ")
}

fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy()).to_string()
}

/// Copy a registry to another file or server
///
/// SOURCE and TARGET are a file or an address on a PostgreSQL server; --registry is ignored. The copy has the
/// datasets with every version of their metadata, their histories with times and notes, their granules, and the
/// cited subsets. It appears only when every identifier in it was recomputed. If the command is interrupted,
/// nothing of the copy remains on a server.
///
/// Two registries that issue payment ids with the same workers would issue the same ids. So the state of the
/// workers is left out; --payment-ids copies it to a registry that replaces the source.
///
/// Examples:
///   accession registry copy accession.db postgres://archive@db.example.org/archive
///   accession registry copy postgres://archive@db.example.org/archive accession.db --payment-ids
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Copy {
    /// The registry to copy
    #[arg(value_parser = named_path())]
    source: PathBuf,

    /// The target, which must not exist
    #[arg(value_parser = named_path())]
    target: PathBuf,

    /// Copy which payment ids were issued; the source must issue no more
    #[arg(long, hide_short_help = true)]
    payment_ids: bool,
}

impl Copy {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let source = Registry::open(&self.source, Clock::system())?;
        let source = source.observed_by(Arc::new(Progress::new()));
        copy(&source, &Location::from(&self.target), self.payment_ids, session)
    }
}

/// Copies a registry row by row, and prints what was copied.
fn copy(
    source: &Registry,
    target: &Location,
    with_payment_ids: bool,
    session: &mut Session,
) -> Result<Exit> {
    let copied = match with_payment_ids {
        true => source.copy_with_payment_ids_to(target.clone())?,
        false => source.copy_to(target.clone())?,
    };
    session.note_commit();
    let path = target.full_name().to_string_lossy().into_owned();
    let done = CopyAt::of(&copied, None, path);
    session.present_done(&done, |out, done| write_fields(out, COPIED, done))
}

/// Distribute the registry over a Citus cluster
///
/// The registry is on a PostgreSQL server, in a database with the extension citus. It may have datasets. Each
/// dataset is stored on one machine, and small tables on all machines. The command runs one transaction, as the
/// owner of the tables; other programs wait for it. Afterwards every command works as before. Tables that are
/// already distributed are not changed.
///
/// Example:
///   accession registry distribute --registry postgres://archive@coordinator.example.org/archive
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Distribute {}

impl Distribute {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let tables = session.open()?.distribute()?;
        if tables > 0 {
            session.note_commit();
        }
        session.present_done(&json!({ "tables": tables }), |out, done| match &done["tables"] {
            none if none == 0 => writeln!(out, "the registry was distributed before"),
            tables => writeln!(out, "distributed {}", counted(tables, "table")),
        })
    }
}
