//! Reads the listings of granules that a command names.

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use accession::ListingOptions;
use accession::listing::{DirectoryListing, FileRead, Findings, Records};
use accession::text::quoted;
use accession::{
    DatasetName, ErrorDetail, ErrorKind, GranuleId, ListingBuilder, ListingEntry, Location,
    SourceLocation,
};
use accession::{Warning, WarningKind};

use super::error::{Error, Result};
use super::input_file::{InputFile, open};
use super::listing_guard::ListingGuard;
use super::output::{Progress, plural};
use super::paths::PathArgs;
use super::same_id::{add_path, refuse_same_id};
use super::session::Session;

/// The granules of arguments, followed by those of listings, in their order. A listing is a file, or a
/// directory whose files are granules. Granules that a file marks as deleted or replaced are skipped. The
/// warnings of each listing are printed after it.
pub struct Entries<'a> {
    session: &'a Session,
    ids: std::iter::Enumerate<std::slice::Iter<'a, String>>,
    files: std::slice::Iter<'a, InputFile>,
    options: ListingOptions,
    paths: &'a PathArgs,
    missing: MissingPages<'a>,
    open: Option<OpenListing>,
    findings: Findings,
    /// The paths from which ids were made, by the hash of the id.
    listed_paths: Option<ListingBuilder>,
    /// The registry. Its own files are rejected if the listed granules become part of a dataset.
    refused: Option<Location>,
    /// Collects the warnings instead of printing them.
    warnings: Option<&'a RefCell<Vec<Warning>>>,
    /// The number of files and directories. The findings name only the first of them.
    listings: u64,
    /// The number of entries that were read.
    read: u64,
}

/// The number of entries after which reading checks whether it was cancelled.
const CHECKED_ROWS: u64 = 4_096;

/// The listing that is open.
enum OpenListing {
    File {
        file: InputFile,
        records: Box<Records>,
        progress: Progress,
    },
    Directory {
        file: InputFile,
        files: Box<DirectoryListing>,
        progress: Progress,
        ids: u64,
        /// The first and the last path in canonical order. File systems return the entries of a directory in
        /// different orders.
        ends: Option<(String, String)>,
    },
}

impl<'a> Entries<'a> {
    /// The granules with these ids, and those of the files.
    pub fn new(
        session: &'a Session,
        ids: &'a [String],
        files: &'a [InputFile],
        options: ListingOptions,
        paths: &'a PathArgs,
        missing: MissingPages<'a>,
    ) -> Self {
        let findings = Findings::new(options.stated_total());
        let listings = files.len() as u64;
        let (ids, files) = (ids.iter().enumerate(), files.iter());
        let (open, refused, warnings) = (None, None, None);
        let listed_paths = paths.changes_ids().then(ListingBuilder::new);
        Entries {
            session,
            ids,
            files,
            options,
            paths,
            missing,
            open,
            findings,
            listed_paths,
            refused,
            warnings,
            listings,
            read: 0,
        }
    }

    /// The granules of one listing, whose format is detected.
    pub fn of_file(session: &'a Session, file: &'a InputFile, paths: &'a PathArgs) -> Self {
        let files = std::slice::from_ref(file);
        let options = ListingOptions::new().without_files(true);
        Entries::new(session, &[], files, options, paths, MissingPages::Warn)
    }

    /// The same granules, for deletion.
    pub fn of_deletion(mut self) -> Self {
        self.options = self.options.of_deletion(true);
        self
    }

    /// The same granules, without a check of the total that the caller stated.
    pub fn without_total(mut self) -> Self {
        self.findings = Findings::new(None);
        self
    }

    /// The same granules, to be recorded in a dataset.
    pub fn recorded(mut self) -> Self {
        // The location is made once, because there may be millions of ids.
        self.refused = Some(self.session.location());
        self
    }

    /// The same granules. Their warnings are collected instead of printed.
    pub fn keeping(mut self, warnings: &'a RefCell<Vec<Warning>>) -> Self {
        self.warnings = Some(warnings);
        self
    }

    fn entry(&mut self) -> Result<Option<ListingEntry>> {
        self.read += 1;
        if self.read.is_multiple_of(CHECKED_ROWS) {
            self.session.check_cancelled()?;
        }
        if let Some((index, text)) = self.ids.next() {
            let location = SourceLocation::Argument { number: index as u64 + 1 };
            let granule_id = GranuleId::new(text.as_str()).map_err(|cause| {
                Error::usage(format!("{location}: {} is refused: {cause}", quoted(text)))
            })?;
            let granule_id = self.id_of(&granule_id, Some(&location))?;
            let location = Some(location);
            return Ok(Some(ListingEntry { location, ..ListingEntry::from(granule_id) }));
        }
        loop {
            match &mut self.open {
                Some(OpenListing::File { file, records, progress }) => {
                    let record = records.next_listed();
                    let record = record.map_err(|error| with_hint_of_data(error, file))?;
                    if let Some(mut record) = record {
                        progress.advance_row();
                        let is_path = records.format().lists_paths();
                        let granule_id = self.id_of(&record.granule_id, Some(&record.location))?;
                        if let Some(listed_paths) = &mut self.listed_paths
                            && is_path
                        {
                            add_path(listed_paths, &granule_id, &record)?;
                        }
                        record.granule_id = granule_id;
                        return Ok(Some(record.into_entry()?));
                    }
                }
                Some(OpenListing::Directory { files, progress, ids, ends, .. }) => {
                    if let Some(file) = files.next().transpose()? {
                        progress.advance_row();
                        *ids += 1;
                        let path = file.path.as_str();
                        let (first, last) =
                            ends.get_or_insert_with(|| (path.to_owned(), path.to_owned()));
                        if path < first.as_str() {
                            path.clone_into(first);
                        } else if path > last.as_str() {
                            path.clone_into(last);
                        }
                        let granule_id = self.id_of(&file.path, None)?;
                        return Ok(Some(file.into_entry(granule_id)?));
                    }
                }
                None => {}
            }
            self.end_listing();
            let Some(file) = self.files.next() else { return Ok(None) };
            self.open = Some(match file.path().filter(|path| path.is_dir()) {
                Some(directory) => self.open_directory(file, directory)?,
                None => self.open_file(file)?,
            });
        }
    }

    fn open_file(&self, file: &InputFile) -> Result<OpenListing> {
        let (reader, name) = open(file)?;
        let progress = Progress::new();
        progress.begin("reading", "granules", None);
        let directory = file.path().and_then(Path::parent).map(Path::to_owned);
        let options = self.options.clone().directory(directory).checksums(None);
        let records = Records::open(reader, &name, &options)?;
        Ok(OpenListing::File { file: file.clone(), records: Box::new(records), progress })
    }

    fn open_directory(&self, file: &InputFile, directory: &Path) -> Result<OpenListing> {
        let progress = Progress::new();
        progress.begin("reading", "granules", None);
        // If the files are hashed, the progress of their bytes is shown instead.
        let options = self.options.clone().registry(self.session.location());
        let files = DirectoryListing::open(directory, &options, &self.session.watcher());
        let files = files.map_err(|error| match error.kind() {
            ErrorKind::NotMounted => Error::from(error).with_hint("mount its file system"),
            _ => error.into(),
        })?;
        if files.is_hashing() {
            progress.end();
        }
        let (file, files) = (file.clone(), Box::new(files));
        Ok(OpenListing::Directory { file, files, progress, ids: 0, ends: None })
    }

    /// The id in a listed id or path. `location` is `None` for a path in a directory.
    fn id_of(&self, listed: &GranuleId, location: Option<&SourceLocation>) -> Result<GranuleId> {
        // Only lists are checked here: a directory listing already omits the files of the registry.
        if let Some(location) = location
            && let Some(registry) = &self.refused
            && registry.owns(Path::new(listed.as_str()))
        {
            let message = format!("{} is a file of the registry itself", quoted(listed.as_str()));
            return Err(Error::input(message, location.clone()).with_hint(
                "nothing was changed; leave it out of the list, or keep the registry in another directory",
            ));
        }
        match self.paths.id_of(listed.as_str()) {
            id if id == listed.as_str() => Ok(listed.clone()),
            id if gets_edge_blank(listed.as_str(), id) => {
                Err(Findings::edge_blank(listed.as_str(), id, location.cloned()).into())
            }
            id => GranuleId::new(id).map_err(|cause| {
                let listed_text = listed.as_str();
                let listed = quoted(listed_text);
                let message = format!("{listed} does not contain an id: {cause}");
                let error = match location {
                    Some(location) => Error::input(message, location.clone()),
                    None => Error::new(ErrorKind::Input, message),
                };
                error.with_hint(match id.is_empty() {
                    true if listed_text.ends_with('/') => {
                        "what ends in / is a directory: leave it out of the list, as `grep -v '/$'` does"
                    }
                    _ => "leave the line out of the list, or make the id of another part of it",
                })
            }),
        }
    }

    fn end_listing(&mut self) {
        let (warnings, progress) = match self.open.take() {
            Some(OpenListing::File { file, records, progress }) => {
                records.add_to(&mut self.findings, &file.name());
                (records.warnings(), progress)
            }
            Some(OpenListing::Directory { file, files, progress, ids, ends }) => {
                let (name, format) = (file.name(), "directory".to_owned());
                self.findings.add_read(FileRead { name, format, ids, ends });
                (files.warnings(), progress)
            }
            None => return,
        };
        progress.end();
        self.warn(warnings);
    }

    fn warn(&self, warnings: Vec<Warning>) {
        match self.warnings {
            Some(kept) => kept.borrow_mut().extend(warnings),
            None => self.session.warn_all(warnings),
        }
    }

    /// Reads all granules, and returns the findings of the listings.
    ///
    /// # Errors
    ///
    /// A listing cannot be read, or `add` fails.
    pub fn read(
        mut self,
        mut add: impl FnMut(ListingEntry) -> Result<()>,
    ) -> Result<ReadListings<'a>> {
        while let Some(entry) = self.entry()? {
            add(entry)?;
        }
        let name = match self.findings.read() {
            [one] => one.name.clone(),
            _ => plural(self.listings, "listing"),
        };
        self.warn(self.findings.warnings(&name));
        if let Some(listed_paths) = self.listed_paths.take() {
            refuse_same_id(&listed_paths.finish())?;
        }
        let refusal = match self.missing {
            MissingPages::Refuse | MissingPages::Guard(_) => self.findings.refusal(),
            MissingPages::Warn | MissingPages::WarnAndGuard(_) => {
                if let Some(what) = self.findings.missing() {
                    self.session.warn(WarningKind::Incomplete, &what);
                }
                self.findings.not_a_list()
            }
        };
        Ok(ReadListings::new(self.findings, refusal, self.missing))
    }
}

/// The dataset in which listings are recorded, which decides whether they are accepted.
pub struct Recording<'a> {
    /// The session.
    pub session: &'a Session,
    /// The dataset that the listings change.
    pub dataset: &'a DatasetName,
}

/// Listings that were read to their end.
#[must_use = "what they look like can be a reason to refuse them"]
pub struct ReadListings<'a> {
    findings: Findings,
    refusal: Option<accession::Error>,
    guard: Option<&'a ListingGuard>,
}

impl<'a> ReadListings<'a> {
    /// Listings with these findings. `refusal` refuses them or, if there is a guard for missing pages, their
    /// change.
    pub fn new(
        findings: Findings,
        refusal: Option<accession::Error>,
        missing: MissingPages<'a>,
    ) -> Self {
        ReadListings { findings, refusal, guard: missing.guard() }
    }

    /// The findings of the listings, if they are accepted. If the listings have a guard, it refuses their
    /// change instead.
    ///
    /// # Errors
    ///
    /// They do not look like lists of granules, or are incomplete.
    pub fn accepted(mut self) -> Result<Findings> {
        let refusal = self.refusal.take();
        self.check(refusal)?;
        Ok(self.findings)
    }

    /// The findings of listings that become part of a dataset, if they are accepted. `refuse_directories`
    /// rejects a listed id that is a directory of another.
    ///
    /// # Errors
    ///
    /// Those of [`ReadListings::accepted`]. Also: a list of paths has a directory; or checksums do not name
    /// their algorithm, and the dataset has no checksums of the algorithm that is guessed from their length.
    pub fn accepted_for(
        mut self,
        Recording { session, dataset }: Recording<'_>,
        refuse_directories: impl FnOnce() -> accession::Result<()>,
    ) -> Result<Findings> {
        let refusal = self.refusal.take();
        self.check(refusal)?;
        if self.findings.has_nested_paths()
            && let Err(error) = refuse_directories()
        {
            match error.kind() {
                ErrorKind::NotAList => self.check(Some(error))?,
                _ => return Err(error.into()),
            }
        }
        for (algorithm, files) in self.findings.guessed_algorithms() {
            let registry = session.open_existing()?;
            let known = match &registry {
                Some(registry) => registry.snapshot()?.has_algorithm(dataset, algorithm)?,
                None => false,
            };
            if !known {
                let command = session.again(&[("--algorithm", algorithm.as_str())]);
                self.check(Some(Findings::guessed(algorithm, files, dataset, &command)))?;
            }
        }
        Ok(self.findings)
    }

    fn check(&self, refusal: Option<accession::Error>) -> Result<()> {
        match (refusal, self.guard) {
            (None, _) => Ok(()),
            (Some(refusal), Some(guard)) => {
                guard.refuse(refusal);
                Ok(())
            }
            (Some(refusal), None) => Err(refusal.into()),
        }
    }
}

/// The number of bytes at the beginning of a file that show whether it is text.
const SHOWN_BYTES: u64 = 8 * 1_024;

/// Adds a hint to the error if a file contains data instead of ids. The hint says what to name instead.
fn with_hint_of_data(error: accession::Error, file: &InputFile) -> Error {
    let is_binary = |path: &Path| {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(SHOWN_BYTES).read_to_end(&mut bytes));
        read.is_ok() && bytes.contains(&0)
    };
    match file.path().filter(|path| path.is_file()) {
        Some(path) if error.detail() == Some(ErrorDetail::NotAGranuleId) && is_binary(path) => {
            Error::from(error)
                .with_hint("a listing is text; to list files of data, name their directory")
        }
        _ => error.into(),
    }
}

/// Warns that a list has repeated granules.
pub fn warn_of_repeated(session: &Session, repeated: u64) {
    if repeated > 0 {
        let skipped = plural(repeated, "granule");
        session.warn(WarningKind::Skipped, &format!("skipped {skipped}: {repeated} repeated"));
    }
}

/// Whether an id begins with a blank and its path does not, or ends with a blank and its path does not.
fn gets_edge_blank(path: &str, id: &str) -> bool {
    let begins = |text: &str| text.starts_with(char::is_whitespace);
    let ends = |text: &str| text.ends_with(char::is_whitespace);
    begins(id) && !begins(path) || ends(id) && !ends(path)
}

/// What to do with a search result if some of its pages are missing.
#[derive(Debug, Clone, Copy)]
pub enum MissingPages<'a> {
    /// Refuse it, because one page is easily mistaken for the whole dataset.
    Refuse,
    /// Refuse the change, unless its result is expected.
    Guard(&'a ListingGuard),
    /// Accept it, with a warning.
    Warn,
    /// The same, but refuse the change if a listing does not look like a list, unless the result is expected.
    WarnAndGuard(&'a ListingGuard),
}

impl<'a> MissingPages<'a> {
    /// The guard that refuses the change of the listings.
    fn guard(self) -> Option<&'a ListingGuard> {
        match self {
            MissingPages::Guard(guard) | MissingPages::WarnAndGuard(guard) => Some(guard),
            MissingPages::Refuse | MissingPages::Warn => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_at_an_end_of_an_id_is_new_if_the_path_has_none_there() {
        for (path, id, gets_one) in [
            ("sub/ A.nc", " A.nc", true),
            ("A .nc", "A ", true),
            ("x\u{a0}A", "\u{a0}A", true),
            ("sub/A ", "A ", false),
            (" A.nc", " A", false),
            ("sub/A B.nc", "A B.nc", false),
        ] {
            assert_eq!(gets_edge_blank(path, id), gets_one, "{path}");
        }
    }
}
