//! The listings that a command reads: files, directories and standard input as arguments.

use std::io;
use std::path::Path;

use accession::file::Algorithm;
use accession::text::quoted;
use accession::{DatasetName, ErrorKind, Listing, ListingOptions};

use super::granules::{FileArgs, FormatArgs};
use crate::error::{Context, Error, Result};
use crate::input_file::InputFile;
use crate::output::for_shell;
use crate::paths::PathArgs;
use crate::reading::{Entries, MissingPages};
use crate::session::Session;

/// Listings as arguments.
#[derive(clap::Args)]
pub struct ListingArgs {
    /// A file, a directory, or - for standard input. Several are parts of one listing
    #[arg(value_name = "LISTING")]
    pub listings: Vec<InputFile>,
}

/// Granule ids as options, which take the place of a listing of a few granules.
#[derive(clap::Args)]
pub struct IdArgs {
    /// A granule id (repeatable)
    #[arg(long = "id", value_name = "ID")]
    pub ids: Vec<String>,
}

/// How listings are read.
#[derive(clap::Args)]
pub struct ReadingArgs {
    #[command(flatten)]
    format: FormatArgs,

    #[command(flatten)]
    paths: PathArgs,
}

/// The checksums of a directory's files.
#[derive(Default, clap::Args)]
pub struct ChecksumArgs {
    /// Compute checksums (SHA-256) of a directory's files
    #[arg(long, conflicts_with = "no_files")]
    checksums: bool,
}

/// A command that reads listings, for hints.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The command, with the dataset: `sync US`.
    pub command: &'a str,
    /// The command that accepts granule ids, such as `ingest US`. `None` means that no command does.
    pub by_id: Option<&'a str>,
}

impl ReadingArgs {
    /// The granules of ids, followed by those of listings. `files` says how sizes and checksums are read;
    /// `None` means that they are not read.
    pub fn entries<'a>(
        &'a self,
        session: &'a Session,
        ids: &'a [String],
        listings: &'a [InputFile],
        files: Option<(&FileArgs, &ChecksumArgs)>,
        missing: MissingPages<'a>,
    ) -> Result<Entries<'a>> {
        let mut options = self.format.options();
        if let Some((files, checksums)) = files {
            options = checksums.reading(files.reading(options), listings)?;
        }
        Ok(Entries::new(session, ids, listings, options, &self.paths, missing))
    }

    /// Rejects a listing if most values in its id column repeat ([`FormatArgs::refuse_repeating`]).
    ///
    /// # Errors
    ///
    /// There is such a column, or the listing cannot be read.
    pub fn refuse_repeating(&self, listing: &Listing) -> Result<()> {
        self.format.refuse_repeating(&self.paths, listing)
    }
}

impl ChecksumArgs {
    /// Adds the options for reading listings.
    ///
    /// # Errors
    ///
    /// Checksums are requested, but no listing is a directory.
    fn reading(&self, options: ListingOptions, listings: &[InputFile]) -> Result<ListingOptions> {
        if !self.checksums {
            return Ok(options);
        }
        if !listings.iter().any(InputFile::is_directory) {
            return Err(Error::usage(
                "--checksums reads the files of a directory, and none is named",
            )
            .with_hint("`sha256sum` prints a listing with checksums"));
        }
        Ok(options.checksums(Algorithm::Sha256))
    }
}

/// Rejects listings that do not exist, before any is read. The argument may be an id, a pattern or a dataset.
///
/// # Errors
///
/// A listing does not exist.
pub fn refuse_missing(
    listings: &[InputFile],
    session: &Session,
    reading: Reading<'_>,
) -> Result<()> {
    for path in listings.iter().filter_map(InputFile::path) {
        if let Err(cause) = path.metadata() {
            return Err(missing(path, cause, session, reading));
        }
    }
    Ok(())
}

fn missing(path: &Path, cause: io::Error, session: &Session, reading: Reading<'_>) -> Error {
    let text = path.to_string_lossy();
    let shown = quoted(&text);
    let (program, Reading { command, by_id }) = (session.program(), reading);
    if path.is_symlink() || cause.kind() != io::ErrorKind::NotFound {
        return cannot_read(path, cause);
    }
    if text.contains(['*', '?', '[']) {
        return Error::usage(format!("{shown} is a pattern that matched no file"))
            .with_hint("name the directory instead, whose files are listed with those below it");
    }
    if is_dataset(&text, session) {
        return Error::usage(format!("{shown} is a dataset, not a listing"))
            .with_hint(format!("`{program} granules {text} | {program} {command} -`"));
    }
    if let Some(by_id) = by_id.filter(|_| looks_like_id(&text)) {
        return Error::usage(format!("there is no file or directory {shown}"))
            .with_hint(format!("`{program} {by_id} --id {}` if it is an id", for_shell(&text)));
    }
    cannot_read(path, cause)
}

fn cannot_read(path: &Path, cause: io::Error) -> Error {
    let read = Err::<(), _>(cause);
    let read = read.with_context(|| format!("cannot read {}", quoted(&path.to_string_lossy())));
    read.err().unwrap_or_else(|| Error::new(ErrorKind::Io, "it cannot be read"))
}

fn is_dataset(text: &str, session: &Session) -> bool {
    let Ok(name) = text.parse::<DatasetName>() else { return false };
    // The command has failed already, so an error here only loses the suggestion.
    let registry = session.open_existing().ok().flatten();
    let snapshot = registry.and_then(|registry| registry.snapshot().ok());
    snapshot.is_some_and(|snapshot| snapshot.dataset(&name).is_ok())
}

/// Whether a word may be a granule id: it is not a path, and has no extension of a file with ids.
fn looks_like_id(text: &str) -> bool {
    const OF_LISTINGS: [&str; 12] = [
        "txt", "csv", "tsv", "json", "jsonl", "ndjson", "gz", "lst", "list", "md5", "sha256", "pdr",
    ];
    let extension = Path::new(text).extension().and_then(|it| it.to_str()).unwrap_or_default();
    !text.contains('/') && !OF_LISTINGS.contains(&extension.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_and_the_name_of_a_listing_do_not_look_like_ids() {
        for text in ["A", "FOOL2.v2.10.533b2a95", "a.nc", "2001-01-02"] {
            assert!(looks_like_id(text), "{text}");
        }
        for text in ["./a", "data/", "ids.txt", "inventory.CSV", "ids.txt.gz"] {
            assert!(!looks_like_id(text), "{text}");
        }
    }
}
