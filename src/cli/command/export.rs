use std::io::Write;
use std::path::{Path, PathBuf};

use accession::mirror::manifest;
use accession::{Access, DatasetName, quoted};
use anyhow::{Context, Result};

use crate::cli::Exit;
use crate::cli::session::{Session, shown};

/// Print a dataset's whole history as a manifest: all that is needed to rebuild and verify it
///
/// JSON Lines, the same bytes for the same history. A file appears at --output whole or not at all.
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
                let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new("."));
                let mut builder = tempfile::Builder::new();
                // As any new file: the umask has its say, not the 0600 of a temporary one.
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    builder.permissions(std::fs::Permissions::from_mode(0o666));
                }
                let file = builder.tempfile_in(folder).with_context(cannot)?;
                let mut out = std::io::BufWriter::new(file);
                shown(manifest::write(&mut registry, &self.dataset, &mut out))?;
                out.flush().with_context(cannot)?;
                let file = out.into_inner().with_context(cannot)?;
                file.as_file().sync_all().with_context(cannot)?;
                file.persist(&path).with_context(cannot)?;
            }
        }
        Ok(Exit::Done)
    }
}
