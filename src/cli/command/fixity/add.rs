use accession::model::Extent;
use accession::{Change, ChangeOptions, DatasetName};

use crate::cli::applied::{ChangeArgs, apply};
use crate::cli::args::{ContentArgs, FileColumns, FormatArgs};
use crate::cli::error::{Error, Exit, Result};
use crate::cli::paths::PathArgs;
use crate::cli::reading::{Entries, InputFile, MissingPages};
use crate::cli::session::Session;

/// State the sizes and checksums of files of granules that are held
///
/// They count from the time of the change on. What is known of other files of these granules stays. What
/// contradicts what is known (another size, or another checksum of the same algorithm) is refused, unless
/// --max-replace accepts it.
///
/// Examples:
///   sha256sum -- * | accession fixity add US.FOOL2.002 --from -
///   accession fixity add US.FOOL2.002 --from granules.umm_json --skip-missing
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The dataset
    dataset: DatasetName,

    /// A file with sizes and checksums; - is stdin (can be repeated)
    #[arg(long, value_name = "FILE", required = true)]
    from: Vec<InputFile>,

    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,

    #[command(flatten)]
    columns: FileColumns,

    #[command(flatten)]
    change: ChangeArgs,

    #[command(flatten)]
    contradicting: ContentArgs,

    /// Skip the files of granules that are not held
    #[arg(long)]
    skip_missing: bool,
}

/// Why nothing changed.
const KNOWN: &str = "all that the input states is known";

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let options = self.columns.reading(self.format.options());
        let mut change = Change::stating(Extent::Named);
        change.options = ChangeOptions {
            skip_missing: self.skip_missing,
            max_replace: self.contradicting.max_replace,
            ..self.change.options()
        };
        let entries =
            Entries::new(session, &[], &self.from, options, &self.paths, MissingPages::Warn);
        for entry in entries {
            let entry = entry?;
            if entry.content.as_ref().is_some_and(|content| !content.is_empty()) {
                change.describe(entry)?;
            }
        }
        if change.count() == 0 {
            return Err(Error::usage("the input states no size and no checksum of a file")
                .with_hint(
                    "for a table, name the columns with --checksum-column and --size-column",
                ));
        }
        let application = self.change.application(&self.dataset, false);
        apply(session, &application, Some(KNOWN), |registry, stamp| {
            registry.change(&self.dataset, &change, stamp)
        })
    }
}
