use std::error::Error as _;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use accession::disk::{AtomicFile, reserved, scratch};
use accession::mirror::manifest;
use accession::model::quoted;
use accession::{Access, DatasetName, ErrorKind, Moment, Registry};

use crate::cli::error::{Context, Error, Exit, Result};
use crate::cli::session::Session;

/// Print the whole history of a dataset as a manifest, from which it can be rebuilt and verified
///
/// A manifest is JSON Lines: the log of the dataset, its cited subsets and its record. The same
/// history gives the same bytes. The file that --output names
/// appears only when it is complete. It may replace a manifest of the same dataset, but no other file.
///
/// With --until, the history ends there, as if the later changes had not been made; a dataset that
/// is imported from it takes the place of one whose later changes are wrong. The record is the
/// present one, without withdrawal and former names.
///
/// Examples:
///   accession export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession export US.FOOL2.002 --until 2026-01-31 --output FOOL2.january.jsonl
///   accession export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The file to write; - means stdout [default: -]
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,

    /// The time of the last change: RFC 3339, or a date, which means the end of that day [default:
    /// all changes]
    #[arg(long, value_name = "T")]
    until: Option<Moment>,
}

/// What is exported.
struct Wanted {
    registry: Registry,
    dataset: DatasetName,
    until: Option<Moment>,
}

impl Wanted {
    fn write(&self, out: &mut impl Write) -> accession::error::Result<()> {
        let Wanted { registry, dataset, until } = self;
        match until {
            Some(until) => manifest::write_until(registry, dataset, until.last_instant(), out),
            None => manifest::write(registry, dataset, out),
        }
    }
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open(Access::Read)?;
        let wanted = Wanted { registry, dataset: self.dataset, until: self.until };
        match self.output.filter(|path| path.as_os_str() != "-") {
            None => print(&wanted, session)?,
            Some(path) => export_to(&wanted, &path)?,
        }
        Ok(Exit::Done)
    }
}

/// Prints the manifest. It is written to a temporary file first: while the registry is read, the
/// command must not wait for a terminal or a pipe.
fn print(wanted: &Wanted, session: &mut Session) -> Result<()> {
    let mut spool = BufWriter::new(scratch::file()?);
    wanted.write(&mut spool)?;
    let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
    spool.rewind()?;
    io::copy(&mut spool, session.out())?;
    Ok(())
}

/// Writes the manifest to the file at `path`, which appears when it is complete, or to a pipe.
fn export_to(wanted: &Wanted, path: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", quoted(&path.to_string_lossy()));
    // The cause becomes part of the message: a broken pipe is an error here, while a reader of
    // stdout may end when it has read enough.
    let cannot_because = |source: io::Error| Error::io(format!("{}: {source}", cannot()));
    let write_to = |file: &File| -> Result<()> {
        let mut out = BufWriter::new(file);
        match wanted.write(&mut out) {
            Err(error) if error.kind() == ErrorKind::Output => {
                let cause = error.source().map_or_else(String::new, ToString::to_string);
                return Err(Error::io(format!("{}: {cause}", cannot())));
            }
            result => result?,
        }
        out.flush().map_err(cannot_because)
    };
    let target = target(path)?;
    if let Target::File(path) = &target {
        refuse_other_manifest(&wanted.registry, &wanted.dataset, path)?;
    }
    match target {
        Target::Stream(file) => write_to(&file),
        Target::File(path) => {
            let temporary = AtomicFile::beside(&path).with_context(cannot)?;
            write_to(temporary.as_file())?;
            Ok(temporary.replace().with_context(cannot)?)
        }
    }
}

/// Refuses to replace the manifest of another dataset.
fn refuse_other_manifest(registry: &Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let Some(other) = dataset_of_manifest(path) else { return Ok(()) };
    let listed = registry.snapshot()?.dataset(dataset)?;
    if other == listed.dataset.name || listed.former_names.contains(&other) {
        return Ok(());
    }
    let shown = quoted(&path.to_string_lossy()).to_string();
    Err(Error::usage(format!("{shown} is the manifest of {other}: it was not overwritten"))
        .with_hint("name another file, or move this one away"))
}

/// The dataset of the manifest in a file. `None` means that the file does not exist, or is not a
/// readable manifest.
fn dataset_of_manifest(path: &Path) -> Option<DatasetName> {
    manifest::dataset_of(&mut File::open(path).ok()?).ok()?
}

/// What exists at the path of the output.
enum Target {
    /// Nothing yet, or a manifest that is replaced.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Decides how the output is written. Only a manifest may be overwritten: a typing error must not
/// destroy the registry, which is often in the same directory.
fn target(path: &Path) -> Result<Target> {
    reserved::check(path)?;
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = || format!("cannot write {shown}");
    // `metadata` follows links. A pipe is opened by the path as it was given.
    match path.metadata() {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => {
            let file = File::options().write(true).open(path).with_context(cannot)?;
            return Ok(Target::Stream(file));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let message = format!("{shown} is a link to a file that does not exist");
            return Err(Error::usage(message).with_hint("name the file itself"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target::File(path.into()));
        }
        Err(error) => return Err(error).with_context(cannot),
    }
    let path = path.canonicalize().with_context(cannot)?;
    let mut beginning = Vec::new();
    let manifest_beginning = manifest::BEGINNING.as_bytes();
    let file = File::open(&path).with_context(cannot)?;
    let beginning_bytes = manifest_beginning.len() as u64;
    file.take(beginning_bytes).read_to_end(&mut beginning).with_context(cannot)?;
    if !beginning.is_empty() && beginning != manifest_beginning {
        let message = format!("{shown} exists and is not a manifest: it was not overwritten");
        return Err(Error::usage(message).with_hint("name another file, or move this one away"));
    }
    Ok(Target::File(path))
}
