use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use accession::mirror::manifest;
use accession::{Access, DatasetName, Error, quoted};
use anyhow::{Context, Result, anyhow};
use tempfile::NamedTempFile;

use crate::cli::Exit;
use crate::cli::report::Usage;
use crate::cli::session::{Session, shown};
use crate::cli::source::folder_of;

/// Print a dataset's whole history as a manifest: all that is needed to rebuild and verify it
///
/// JSON Lines, the same bytes for the same history. A file appears at --output whole or not at all,
/// and takes the place of another manifest, but of nothing else.
///
/// Examples:
///   accession export US.FOOL2.002 --output FOOL2.manifest.jsonl
///   accession export US.FOOL2.002 | gzip > FOOL2.manifest.jsonl.gz
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// The file; default: stdout
    #[arg(long, value_name = "F")]
    output: Option<PathBuf>,
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut registry = session.open(Access::Read)?;
        match self.output {
            None => shown(manifest::write(&mut registry, &self.dataset, session.out()))?,
            Some(path) => {
                let cannot = || format!("cannot write {}", quoted(&path.to_string_lossy()));
                let mut fill = |file: &File| -> Result<()> {
                    let mut out = BufWriter::new(file);
                    // A reader that closed this pipe lacks something, unlike that of our stdout.
                    let unwritten = |source: io::Error| anyhow!("{}: {source}", cannot());
                    match manifest::write(&mut registry, &self.dataset, &mut out) {
                        Err(Error::Output { source }) => Err(unwritten(source)),
                        result => result.map_err(Into::into),
                    }?;
                    out.flush().map_err(unwritten)
                };
                match target(&path)? {
                    Target::File(path) => {
                        let draft = draft(&path).with_context(cannot)?;
                        fill(draft.as_file())?;
                        draft.as_file().sync_all().with_context(cannot)?;
                        let persisted = draft.persist(&path);
                        persisted.map_err(|persist| persist.error).with_context(cannot)?;
                    }
                    Target::Stream(file) => fill(&file)?,
                }
            }
        }
        Ok(Exit::Done)
    }
}

/// What stands at the place of the output.
enum Target {
    /// Nothing, or a manifest that the new one takes the place of.
    File(PathBuf),
    /// A pipe or a device.
    Stream(File),
}

/// Looks at the place of the output. Nothing but a manifest may be overwritten: the registry lies
/// beside it, and a slip of the hand must not cost it.
fn target(path: &Path) -> Result<Target> {
    let name = path.to_string_lossy();
    let shown = quoted(&name);
    let cannot = || format!("cannot write {shown}");
    // Of what a link leads to; a pipe has no other name than the link.
    match path.metadata() {
        Ok(kind) if kind.is_file() || kind.is_dir() => {}
        Ok(_) => {
            return Ok(Target::Stream(
                File::options().write(true).open(path).with_context(cannot)?,
            ));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            let usage = Usage::new(format!("{shown} is a link that leads nowhere"));
            return Err(usage.with_hint("name the file itself").into());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Target::File(path.into()));
        }
        Err(error) => return Err(error).with_context(cannot),
    }
    let path = path.canonicalize().with_context(cannot)?;
    let mut beginning = Vec::new();
    let key = manifest::BEGINNING.as_bytes();
    let file = File::open(&path).with_context(cannot)?;
    file.take(key.len() as u64).read_to_end(&mut beginning).with_context(cannot)?;
    if !beginning.is_empty() && beginning != key {
        let what = format!("{shown} is there already, and is no manifest: it is left as it is");
        return Err(Usage::new(what).with_hint("name another file, or move that away").into());
    }
    Ok(Target::File(path))
}

/// A file that takes the place of `path` once it is whole.
fn draft(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // As any new file: the umask has its say, not the 0600 of a temporary one.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let draft = builder.tempfile_in(folder_of(path));
    // Without the name of the draft, which nobody gave.
    draft.map_err(|error| io::Error::from(error.kind()))
}
