//! The granules that a command reads.

use accession::{Entry, GranuleId, SourceLocation, quoted};
use anyhow::Result;

use super::format::FormatArgs;
use crate::cli::reading::{EdgeSpaces, InputFile, MissingPages, each_entry_of_pages};
use crate::cli::session::Session;
use crate::cli::usage::UsageError;

/// Granule ids as arguments and in files.
#[derive(clap::Args)]
pub struct GranuleArgs {
    /// The ids of the granules
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// A file of ids; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE")]
    from: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,
}

impl GranuleArgs {
    /// Passes every entry to `take`, those from arguments first.
    ///
    /// # Errors
    ///
    /// No granule or file is named; an argument is not a granule id; a file cannot be read; or an
    /// error of `take`.
    pub fn each_entry(
        &self,
        session: &Session,
        take: impl FnMut(Entry) -> Result<()>,
    ) -> Result<()> {
        self.each_entry_of_pages(MissingPages::Warn, session, take)
    }

    /// The same as [`GranuleArgs::each_entry`], for files that may have to be all pages of a search
    /// result.
    pub fn each_entry_of_pages(
        &self,
        missing: MissingPages,
        session: &Session,
        mut take: impl FnMut(Entry) -> Result<()>,
    ) -> Result<()> {
        if self.ids.is_empty() && self.from.is_empty() {
            return Err(UsageError::new("no granules are named")
                .with_hint("name granules as arguments, or a file with --from")
                .into());
        }
        let mut spaces = EdgeSpaces::default();
        for (number, text) in (1..).zip(&self.ids) {
            let location = SourceLocation::Argument { number };
            let granule_id = GranuleId::new(text.as_str()).map_err(|cause| {
                UsageError::new(format!("{location}: {} is refused: {cause}", quoted(text)))
            })?;
            spaces.add(&granule_id, Some(&location));
            take(Entry { granule_id, producer_granule: None, location: Some(location) })?;
        }
        spaces.warn_if_any(session);
        each_entry_of_pages(&self.from, &self.format.options(), missing, session, take)
    }
}
