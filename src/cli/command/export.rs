use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use accession::mirror::manifest;
use accession::{Access, DatasetName, Error, Registry, quoted};
use anyhow::{Context, Result, anyhow};
use tempfile::NamedTempFile;

use crate::cli::exit::Exit;
use crate::cli::reading::directory_of;
use crate::cli::session::{Session, printed};
use crate::cli::usage::UsageError;

/// Print the whole history of a dataset as a manifest, from which it can be rebuilt and verified
///
/// A manifest is JSON Lines; the same history gives the same bytes. The file that --output names
/// appears only when it is complete. It may replace another manifest, but no other file.
///
/// Examples:
///   accession export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The file to write [default: stdout]
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut registry = session.open(Access::Read)?;
        match self.output {
            None => printed(manifest::write(&mut registry, &self.dataset, session.out()))?,
            Some(path) => export_to(&mut registry, &self.dataset, &path)?,
        }
        Ok(Exit::Done)
    }
}

/// Writes the manifest to what `path` names: a file that appears when it is complete, or a pipe.
fn export_to(registry: &mut Registry, dataset: &DatasetName, path: &Path) -> Result<()> {
    let cannot = || format!("cannot write {}", quoted(&path.to_string_lossy()));
    // The cause becomes part of the message: a broken pipe is an error here, while a reader of
    // stdout may leave when it has seen enough.
    let cannot_because = |source: io::Error| anyhow!("{}: {source}", cannot());
    let mut write_to = |file: &File| -> Result<()> {
        let mut out = BufWriter::new(file);
        match manifest::write(registry, dataset, &mut out) {
            Err(Error::Output { source }) => return Err(cannot_because(source)),
            result => result?,
        }
        out.flush().map_err(cannot_because)
    };
    match target(path)? {
        Target::Stream(file) => write_to(&file),
        Target::File(path) => {
            let temporary = temporary_file_beside(&path).with_context(cannot)?;
            write_to(temporary.as_file())?;
            temporary.as_file().sync_all().with_context(cannot)?;
            let renamed = temporary.persist(&path);
            renamed.map_err(|error| error.error).with_context(cannot)?;
            Ok(())
        }
    }
}

/// What the path of the output names.
enum Target {
    /// A file that does not exist yet, or a manifest that is replaced.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Decides how the output is written. Only a manifest may be overwritten: a typing error must not
/// cost the registry, which is often in the same directory.
fn target(path: &Path) -> Result<Target> {
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
            return Err(UsageError::new(message).with_hint("name the file itself").into());
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
        return Err(UsageError::new(message)
            .with_hint("name another file, or move this one away")
            .into());
    }
    Ok(Target::File(path))
}

/// Creates a temporary file that can be renamed to `path`.
fn temporary_file_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // The mode of any new file, which the umask restricts, and not the 0600 of a temporary one.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The error must not name the temporary file, which nobody asked for.
    builder.tempfile_in(directory_of(path)).map_err(|error| io::Error::from(error.kind()))
}
