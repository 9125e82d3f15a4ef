//! Files.

/// Stub.
pub mod scratch {
    use std::fs::File;
    use std::io;
    /// x
    pub fn file() -> Result<File, super::Error> {
        tempfile::tempfile().map_err(|source| unusable("create", source))
    }
    /// x
    pub fn unusable(verb: &'static str, source: io::Error) -> super::Error {
        super::Error::Scratch { verb, directory: std::env::temp_dir(), source }
    }
}

/// What can go wrong with a file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {verb} a temporary file in {} (TMPDIR)", directory.display())]
    /// A temporary file.
    #[allow(missing_docs)]
    Scratch { verb: &'static str, directory: std::path::PathBuf, source: std::io::Error },
}
