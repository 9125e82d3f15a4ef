//! The error of every operation of the library.
//!
//! The code that raises an error words its message. A caller decides by the [`ErrorKind`], never by the
//! message. What to do about an error depends on the program. Each front end has its own hints, and chooses one
//! by the kind, the [`ErrorDetail`] and the location. Only an input that does not look like a list of granules
//! has a hint from the library ([`Error::hint`]): how to list the same files with other programs.

mod detail;
mod kind;

use std::error::Error as StdError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::detail::Class;
pub use self::detail::ErrorDetail;
pub use self::kind::ErrorKind;
use crate::model::{
    ContentConflict, DatasetName, Expected, GranuleId, ParseError, SourceLocation, quoted,
};

/// The result of an operation of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of an operation of the library.
///
/// Its message says where it occurred and what is wrong. `source()` returns its cause, which is not part of the
/// message, so a chain of errors states each fact once.
///
/// # Examples
///
/// ```
/// use accession::{Clock, ErrorKind, Registry};
///
/// let registry = Registry::temporary(Clock::system())?;
/// let error = registry.snapshot()?.dataset(&"US.FOOL2.002".parse()?).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::DatasetUnknown);
/// assert_eq!(error.to_string(), "the registry has no dataset US.FOOL2.002");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Error(Box<Repr>);

#[derive(Debug, Clone)]
struct Repr {
    class: Class,
    message: String,
    location: Option<SourceLocation>,
    granule: Option<GranuleId>,
    path: Option<PathBuf>,
    line: Option<u64>,
    unknown: Option<String>,
    candidates: Vec<String>,
    hint: Option<String>,
    expect: Option<Expected>,
    refused_before: Option<DatasetName>,
    /// The number of granules that a limit refused.
    refused_count: u64,
    #[cfg(feature = "postgres")]
    server_code: Option<String>,
    is_of_store: bool,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl Error {
    /// Creates an error with a message: lower case, no full stop, without its cause.
    pub(crate) fn new(class: impl Into<Class>, message: impl Into<String>) -> Self {
        Error(Box::new(Repr {
            class: class.into(),
            message: message.into(),
            location: None,
            granule: None,
            path: None,
            line: None,
            unknown: None,
            candidates: Vec::new(),
            hint: None,
            expect: None,
            refused_before: None,
            refused_count: 0,
            #[cfg(feature = "postgres")]
            server_code: None,
            is_of_store: false,
            source: None,
        }))
    }

    /// Adds the source location of the rejected value. The message begins with it.
    #[must_use]
    pub(crate) fn at(mut self, location: impl Into<Option<SourceLocation>>) -> Self {
        self.0.location = location.into();
        self
    }

    /// Adds the granule that the error concerns.
    #[must_use]
    pub(crate) fn of(mut self, granule_id: GranuleId) -> Self {
        self.0.granule = Some(granule_id);
        self
    }

    /// Adds the path of the file or registry that the error concerns. The message of an error of a registry
    /// begins with it.
    #[must_use]
    pub(crate) fn in_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.0.path = Some(path.into());
        self
    }

    /// Adds the line of the file that the error concerns, from 1.
    #[must_use]
    pub(crate) fn in_line(mut self, line: impl Into<Option<u64>>) -> Self {
        self.0.line = line.into();
        self
    }

    /// Adds the dataset or identifier, as it was written, that the registry does not have.
    #[must_use]
    pub(crate) fn about(mut self, unknown: impl ToString) -> Self {
        self.0.unknown = Some(unknown.to_string());
        self
    }

    /// Adds possible replacements for an ambiguous name. Each is an argument that means one set.
    #[must_use]
    pub(crate) fn among(mut self, candidates: impl IntoIterator<Item = impl ToString>) -> Self {
        self.0.candidates = candidates.into_iter().map(|it| it.to_string()).collect();
        self
    }

    /// Adds a hint that depends on the input, and not on the program that reads it.
    #[must_use]
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds the set that the refused change would lead to.
    #[must_use]
    pub(crate) fn expecting(mut self, expect: Expected) -> Self {
        self.0.expect = Some(expect);
        self
    }

    /// Adds that the previous listing of the same dataset was refused, too.
    #[must_use]
    pub(crate) fn repeated(mut self, dataset: &DatasetName) -> Self {
        self.0.refused_before = Some(dataset.clone());
        self
    }

    /// Adds the number of granules that a limit refused: all that would be deleted, added or replaced.
    #[must_use]
    pub(crate) fn counting(mut self, granules: u64) -> Self {
        self.0.refused_count = granules;
        self
    }

    /// Adds the SQLSTATE that a server reported.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub(crate) fn reported_as(mut self, code: &str) -> Self {
        self.0.server_code = Some(code.to_owned());
        self
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }

    /// Adds the end of the message.
    #[must_use]
    pub(crate) fn continued(mut self, end: &str) -> Self {
        self.0.message.push_str(end);
        self
    }

    /// Marks the error as one of a stored registry. Its message begins with the path of the registry, once
    /// [`Error::in_registry`] has added it.
    #[must_use]
    pub(crate) fn of_store(mut self) -> Self {
        (self.0.is_of_store, self.0.path) = (true, None);
        self
    }

    /// Adds the path of the registry to an error of the store that does not have it yet.
    #[must_use]
    pub(crate) fn in_registry(self, path: &Path) -> Self {
        match self.0.is_of_store && self.0.path.is_none() {
            true => self.in_path(path),
            false => self,
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.class.kind
    }

    /// What exactly is wrong. `None` means that the kind says enough.
    pub fn detail(&self) -> Option<ErrorDetail> {
        self.0.class.detail
    }

    /// The message, without the location and without the cause.
    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }

    /// The source location of the rejected value. `None` means that the error is not about a value that was
    /// read.
    pub fn location(&self) -> Option<&SourceLocation> {
        self.0.location.as_ref()
    }

    /// The granule that the error concerns.
    pub fn granule(&self) -> Option<&GranuleId> {
        self.0.granule.as_ref()
    }

    /// The path of the file or of the registry that the error concerns.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line of the file that the error concerns, from 1. `None` means that it concerns the whole file.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The dataset or identifier that is unknown. `None` means that the error is about something else.
    pub fn unknown(&self) -> Option<&str> {
        self.0.unknown.as_deref()
    }

    /// The possible replacements for a name that means several sets ([`ErrorKind::Ambiguous`]): arguments that
    /// are read as a [`SetSpec`](crate::SetSpec). Empty if there are none.
    pub fn candidates(&self) -> &[String] {
        &self.0.candidates
    }

    /// What to do about an input that does not look like a list. `None` means that the front end has a better
    /// hint.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The set that the dataset would hold after a change that a guard refused. To make the change, repeat it
    /// with this set as the expected one ([`ChangeOptions::expect`](crate::ChangeOptions::expect)). `None` if
    /// no guard refused it.
    pub fn expect(&self) -> Option<Expected> {
        self.0.expect
    }

    /// Whether a guard refused a change that may be right, or a listing that does not look like a complete
    /// list. All other errors are not refusals.
    pub fn is_refusal(&self) -> bool {
        let of_guards = [
            ErrorKind::ClockAhead,
            ErrorKind::NotAList,
            ErrorKind::Incomplete,
            ErrorKind::SimilarName,
        ];
        self.0.expect.is_some() || of_guards.contains(&self.kind())
    }

    /// The dataset of a refused listing, if its previous listing was refused, too. Also the number of granules
    /// that a limit refused; 0 if another guard refused the listing.
    pub fn refused_before(&self) -> Option<(&DatasetName, u64)> {
        self.0.refused_before.as_ref().map(|dataset| (dataset, self.0.refused_count))
    }

    /// The SQLSTATE that a server reported. `None` means that the kind says enough.
    #[cfg(feature = "postgres")]
    pub(crate) fn server_code(&self) -> Option<&str> {
        self.0.server_code.as_deref()
    }

    /// Whether the stored registry caused the error, and not the request.
    pub fn is_from_store(&self) -> bool {
        self.0.is_of_store
    }

    /// Whether a listing was rejected because of its content. The dataset then lacks it until a listing is
    /// accepted. A wrong time is an error of the caller.
    pub fn rejects_listing(&self) -> bool {
        let of_listings = [
            ErrorDetail::FileMetadata,
            ErrorDetail::ForbiddenCharacter,
            ErrorDetail::CurrentDirectory,
        ];
        match self.kind() {
            ErrorKind::Empty
            | ErrorKind::NotAList
            | ErrorKind::Incomplete
            | ErrorKind::TooManyDeletions
            | ErrorKind::TooManyAdditions
            | ErrorKind::Unlike
            | ErrorKind::ContentContradicts => true,
            _ => self.detail().is_some_and(|detail| of_listings.contains(&detail)),
        }
    }

    /// Whether nothing can be recorded: the registry is not writable, or its disk is full or failing.
    pub(crate) fn prevents_recording(&self) -> bool {
        matches!(self.kind(), ErrorKind::Denied | ErrorKind::Full)
            || self.detail() == Some(ErrorDetail::Disk)
    }

    /// Whether the content of a registry or the disk below it is damaged, so that another part of the registry
    /// may still be readable.
    pub(crate) fn concerns_content(&self) -> bool {
        let is_of_kind = matches!(
            self.kind(),
            ErrorKind::Damaged | ErrorKind::NotARegistry | ErrorKind::TooLong | ErrorKind::Database
        );
        is_of_kind || self.detail() == Some(ErrorDetail::Disk)
    }

    /// The message and the messages of all causes, separated by colons.
    pub fn with_causes(&self) -> String {
        Error::chain_of(self)
    }

    /// The message of any error and the messages of its causes, separated by colons. Each error adds only its
    /// own message.
    pub fn chain_of(error: &(dyn StdError + 'static)) -> String {
        followed_by(own_message(error), error.source())
    }

    /// The same as [`Error::with_causes`], but without the path of the registry, for readers who know it or may
    /// not see it.
    pub fn reason(&self) -> String {
        let message = &self.0.message;
        let text = match &self.0.location {
            Some(location) => format!("{location}: {message}"),
            None => message.clone(),
        };
        followed_by(text, self.source())
    }
}

fn followed_by(mut text: String, mut cause: Option<&(dyn StdError + 'static)>) -> String {
    while let Some(error) = cause {
        text = format!("{text}: {}", own_message(error));
        cause = error.source();
    }
    text
}

/// The message of one error. Removes the number of a system error, which helps nobody.
fn own_message(error: &(dyn StdError + 'static)) -> String {
    let text = error.to_string();
    match text.strip_suffix(')').and_then(|text| text.rsplit_once(" (os error ")) {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repr { message, location, path, is_of_store, .. } = &*self.0;
        if let (true, Some(path)) = (is_of_store, path) {
            write!(f, "registry {}: ", quoted(&path.to_string_lossy()))?;
        }
        if let Some(location) = location {
            write!(f, "{location}: ")?;
        }
        f.write_str(message)
    }
}

/// A typed or passed value is not valid for its type.
impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        Error::new(ErrorKind::Usage, error.to_string())
    }
}

impl From<ContentConflict> for Error {
    fn from(conflict: ContentConflict) -> Self {
        let class: Class = if conflict.is_within_list() {
            ErrorDetail::FileMetadata.into()
        } else {
            ErrorKind::ContentContradicts.into()
        };
        Error::new(class, conflict.to_string()).of(conflict.granule_id().clone())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io;

    use super::*;

    fn full() -> Error {
        Error::new(ErrorKind::Io, "cannot write \"a\"")
            .because(io::Error::other("no space left on device"))
    }

    #[test]
    fn a_message_begins_with_the_place_and_does_not_repeat_the_cause() {
        let location = SourceLocation::Line { source: "ids.txt".into(), line: 12 };
        let error = Error::new(ErrorKind::NotHeld, "\"A\" is not held")
            .at(location.clone())
            .of("A".parse().unwrap());
        assert_eq!(error.to_string(), "ids.txt:12: \"A\" is not held");
        assert_eq!(error.location(), Some(&location));
        assert_eq!(error.granule().unwrap().as_str(), "A");
        assert_eq!(full().to_string(), "cannot write \"a\"");
        assert_eq!(full().with_causes(), "cannot write \"a\": no space left on device");
        let repeated = io::Error::other(format!("cannot: {}", io::Error::from_raw_os_error(2)));
        assert!(repeated.to_string().ends_with(" (os error 2)"), "{repeated}");
        assert!(!Error::chain_of(&repeated).contains("os error"), "{repeated}");
    }

    #[test]
    fn an_error_of_the_store_begins_with_its_registry_once_that_is_known() {
        let missing =
            || Error::new(ErrorKind::RegistryMissing, "there is no registry here").of_store();
        assert_eq!(missing().to_string(), "there is no registry here");
        let named = missing().in_registry(Path::new("/a.db"));
        assert_eq!(named.to_string(), "registry \"/a.db\": there is no registry here");
        let once = named.in_registry(Path::new("/b.db"));
        assert_eq!(once.path(), Some(Path::new("/a.db")));
        let other = full().in_registry(Path::new("/a.db"));
        assert_eq!(other.to_string(), "cannot write \"a\"");
    }

    #[test]
    fn the_reference_has_the_name_of_every_kind() {
        let reference = include_str!("../../docs/reference/json.md");
        for kind in ErrorKind::ALL {
            assert!(reference.contains(&format!("\n| `{kind}` | ")), "{kind}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }
}
