//! The granules that a command reads, and the format of the files that list them.

use std::iter;
use std::str::FromStr;

use accession::input::{InputFormat, Options, UnknownInputFormat};
use accession::{Entry, GranuleId, SourceLocation, quoted};
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};

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

/// The names of all formats, which completions offer.
fn names() -> impl Iterator<Item = &'static str> {
    iter::once("auto").chain(InputFormat::ALL.map(|(name, _)| name))
}

/// The format of the files that a command reads.
#[derive(Default, clap::Args)]
pub struct FormatArgs {
    /// The format of the file: auto (detected from its content), lines, csv (also
    /// tab-separated), ndjson, umm-json, cmr-json, stac or pdr; for import also changes and
    /// manifest. Each may be compressed with gzip
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "auto",
        value_parser = PossibleValuesParser::new(names()).try_map(|name| name.parse::<TypedFormat>()),
        hide_possible_values = true
    )]
    format: TypedFormat,

    /// The column or field that holds the ids [default: the first of granule_id, granuleId,
    /// granule_ur, granuleUr, "Granule UR" and id that exists]. For ndjson, /a/b is a JSON pointer; for
    /// responses of CMR, producer is the producer's id
    #[arg(long, value_name = "NAME")]
    column: Option<String>,
}

/// A format. `None` means `auto`.
#[derive(Debug, Clone, Copy, Default)]
struct TypedFormat(Option<InputFormat>);

impl FromStr for TypedFormat {
    type Err = UnknownInputFormat;

    fn from_str(text: &str) -> Result<Self, UnknownInputFormat> {
        if text == "auto" {
            Ok(TypedFormat(None))
        } else {
            text.parse().map(|format| TypedFormat(Some(format)))
        }
    }
}

impl FormatArgs {
    /// The options of the library.
    pub fn options(&self) -> Options {
        let column = self.column.clone();
        Options { format: self.format.0, column, ..Options::default() }
    }
}
