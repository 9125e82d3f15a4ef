//! The primaries at addresses.

use std::path::PathBuf;
use std::time::Duration;

use accession::model::SourceOptions;

use crate::error::Failure;
use crate::opened::name_of;

/// The keyword arguments of calls that read addresses.
pub struct Options {
    pub timeout: Option<u64>,
    pub max_bytes: Option<u64>,
    pub max_age: Option<Duration>,
    pub ca_file: Option<PathBuf>,
    pub insecure: bool,
}

impl Options {
    /// The options as they are kept with a mirror.
    ///
    /// # Errors
    ///
    /// The name of the primary's dataset, or the path, cannot be read.
    pub fn source(self, primary_dataset: Option<&str>) -> Result<SourceOptions, Failure> {
        let ca_file = self.ca_file.map(std::path::absolute).transpose()?;
        Ok(SourceOptions {
            primary_dataset: primary_dataset.map(name_of).transpose()?,
            timeout_seconds: self.timeout,
            max_bytes: self.max_bytes,
            max_age_seconds: self.max_age.map(|age| age.as_secs()),
            ca_file: ca_file.map(|path| path.to_string_lossy().into_owned()),
            insecure: self.insecure,
        })
    }
}
