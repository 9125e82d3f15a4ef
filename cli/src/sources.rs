//! The sets that a command reads: from the registry, or from listings in files, directories and standard input.

use accession::text::quoted;
use accession::{
    ChangeOptions, Clock, DatasetName, ErrorKind, IfMissing, Limits, Listing, ListingBuilder,
    ListingOptions, Registry, Resolution, Selection, Set, SetSpec, Snapshot, Source,
};
use serde_json::Value;

use crate::by_length::{by_length, in_a_line};
use crate::error::{Error, Result};
use crate::input_file::InputFile;
use crate::paths::PathArgs;
use crate::reading::{Entries, MissingPages};
use crate::session::Session;

/// The source that a [`SetSpec`] means.
pub enum Named<'a> {
    /// A set of the registry.
    Set(Resolution<'a>),
    /// A listing.
    Listing(InputFile),
}

/// A snapshot of the registry. `None` means that the registry does not exist.
pub fn snapshot(session: &Session) -> Result<Option<Snapshot>> {
    // Checking first whether it exists would cost one more connection to a server.
    match session.open() {
        Ok(registry) => Ok(Some(registry.snapshot()?)),
        Err(error) if error.kind() == ErrorKind::RegistryMissing => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl<'a> Named<'a> {
    /// Finds the source, and prints warnings about it. `snapshot` is `None` if there is no registry.
    ///
    /// # Errors
    ///
    /// Those of [`SetSpec::source`]. Also: the registry does not exist, and no file has the name.
    pub fn find(session: &Session, snapshot: Option<&'a Snapshot>, spec: &SetSpec) -> Result<Self> {
        match spec.source(snapshot) {
            Ok(Source::Registry(resolution)) => {
                session.warn_all(resolution.warnings().to_vec());
                Ok(Named::Set(resolution))
            }
            Ok(Source::Path(path)) => Ok(Named::Listing(InputFile::Path(path))),
            Ok(Source::StandardInput) => Ok(Named::Listing(InputFile::StandardInput)),
            // The missing registry is the better reason.
            Err(_) if snapshot.is_none() => Err(match session.open() {
                Err(missing) if spec.is_dataset() => {
                    let message = format!("{missing}, and no file {}", quoted(spec.as_str()));
                    Error::new(ErrorKind::RegistryMissing, message)
                        .with_hint("name a file that exists, or the registry with --registry")
                }
                Err(missing) if spec.as_str().starts_with("http") => Error::from(missing)
                    .with_hint("--site ADDRESS reads the set from a published website"),
                Err(missing) => missing.into(),
                Ok(_) => Error::usage(format!("{spec} was created meanwhile: try again")),
            }),
            Err(error) => Err(error.into()),
        }
    }
}

/// Rejects an option for reading listings if no listing is read.
///
/// # Errors
///
/// Such an option was given.
pub fn refuse_unread(given: Option<&'static str>) -> Result<()> {
    given.map_or(Ok(()), |option| {
        let message = format!("{option} says how a listing is read, and no listing is named");
        Err(Error::usage(message).with_hint(format!("omit {option}")))
    })
}

/// A listing that was read.
pub struct ListedSource {
    /// The name of its source.
    pub source: String,
    /// Its granules.
    pub listing: Listing,
    /// The algorithms that were guessed from the length of its checksums, each with the number of files, as
    /// JSON.
    pub by_length: Vec<Value>,
}

/// Reads a listing. Prints the algorithms that were guessed from the length of checksums on stderr, unless
/// `--json` or `--quiet` is given: stdout may become part of a paper.
pub fn listed(
    session: &Session,
    file: InputFile,
    (options, paths): (ListingOptions, &PathArgs),
) -> Result<ListedSource> {
    let (name, mut builder) = (file.name(), ListingBuilder::new());
    let files = [file];
    let entries = Entries::new(session, &[], &files, options, paths, MissingPages::Refuse);
    let findings = entries.read(|entry| Ok(builder.add(entry)?))?.accepted()?;
    let by_length = by_length(&findings);
    if !session.is_json() && !session.is_quiet() {
        by_length.iter().for_each(|guessed| session.note(&in_a_line(guessed)));
    }
    Ok(ListedSource { source: name, listing: builder.finish(), by_length })
}

/// Makes a listing the set of a temporary registry, so that it can be read like any other set.
pub fn as_set(session: &Session, listing: &Listing) -> Result<(Registry, Set)> {
    let registry = Registry::temporary(Clock::fixed(session.now()?))?;
    let name: DatasetName = "listing".parse()?;
    let options = ChangeOptions::new().if_missing(IfMissing::Create).limits(Limits::NONE);
    registry.sync(&name, listing, &options)?;
    let set = registry.snapshot()?.select(&Selection::from(name))?.set;
    Ok((registry, set))
}
