//! The files of a directory as granules: their paths, sizes and checksums.

use std::fs::{self, DirEntry, ReadDir};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::ListingOptions;
use crate::disk::{SortedEntries, Sorter, reserved};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::fixity::{
    CheckedFile, FileReader, MountCheck, Purpose, ReadOptions, RecordedFile, Root,
};
use crate::model::{
    Algorithm, Checksum, Content, FileContent, FilePath, FileRecord, GranuleId, ListingEntry,
    Warning, WarningKind, plural, quoted,
};
use crate::registry::{OpenWork, Watcher, Work};
use crate::store::Location;

/// The files of a directory, read one after the other.
///
/// The rules are those of [`Listing::read`](crate::Listing::read). The iterator ends after an error. Memory
/// does not depend on the number of files.
pub struct DirectoryListing {
    name: String,
    files: Files,
    has_failed: bool,
}

crate::model::debug_fields!(DirectoryListing: name);

/// A file of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryFile {
    /// The path below the directory, with `/` between the names. It is the granule's id, unless the caller
    /// derives another id from it.
    pub path: GranuleId,
    /// The size in bytes. `None` if it was not requested.
    pub size: Option<u64>,
    /// The checksum. `None` if none was requested.
    pub checksum: Option<Checksum>,
}

/// The numbers of directory entries that were skipped.
#[derive(Debug, Clone, Copy, Default)]
struct SkippedEntries {
    /// Files and directories whose names begin with `.`.
    hidden: u64,
    /// Symbolic links to directories.
    directory_links: u64,
    /// Entries that are neither files nor directories, such as pipes.
    special: u64,
}

enum Files {
    /// Files that are listed, but not opened.
    Named(Walk),
    /// Files that are being hashed. The directory was read before.
    Hashed { reader: FileReader<FoundFiles>, skipped: SkippedEntries, _work: OpenWork },
}

impl DirectoryListing {
    /// Opens a directory. If checksums are requested ([`ListingOptions::checksums`]), the whole directory is
    /// read now. The files are read later, in parallel, and the watcher observes that.
    ///
    /// # Errors
    ///
    /// - [`ErrorKind::NotMounted`]: the directory does not exist, or is empty, so its file system may not be
    ///   mounted.
    /// - [`ErrorDetail::NotOfFormat`]: an option applies only to files.
    /// - Errors of reading the directory, which the iterator also returns: [`ErrorKind::Io`] if an entry cannot
    ///   be read or changes meanwhile, [`ErrorDetail::NotAGranuleId`] if a path cannot be an id.
    pub fn open(directory: &Path, options: &ListingOptions, watcher: &Watcher) -> Result<Self> {
        options.check_directory()?;
        let name = directory.to_string_lossy().into_owned();
        let root = Root::open(directory, MountCheck::Unknown).map_err(|error| {
            let is_empty = error.kind() == ErrorKind::NotMounted && directory.is_dir();
            let message = format!("the directory {} is empty", quoted(&name));
            if is_empty { Error::new(error.kind(), message).in_path(directory) } else { error }
        })?;
        let with_sizes = !options.without_files;
        let registry = options.registry.as_ref().and_then(Location::real_file);
        let walk = Walk::begin(directory, with_sizes, registry)?;
        let files = match options.checksums.as_ref().filter(|_| with_sizes) {
            None => Files::Named(walk),
            Some(algorithm) => Files::hash(walk, root.following_links(), algorithm, watcher)?,
        };
        Ok(DirectoryListing { name, files, has_failed: false })
    }

    /// Whether the files are read to compute checksums. The watcher observes this.
    pub fn is_hashing(&self) -> bool {
        matches!(self.files, Files::Hashed { .. })
    }

    /// The numbers of entries skipped so far.
    fn skipped(&self) -> SkippedEntries {
        match &self.files {
            Files::Named(walk) => walk.skipped,
            Files::Hashed { skipped, .. } => *skipped,
        }
    }

    /// A warning that counts the entries skipped so far, if there are any.
    pub fn warnings(&self) -> Vec<Warning> {
        let SkippedEntries { hidden, directory_links, special } = self.skipped();
        let counted = |number, thing| (number > 0).then(|| plural(number, thing));
        let skipped: Vec<String> = [
            counted(hidden, "hidden name"),
            match directory_links {
                1 => Some("1 link to a directory".to_owned()),
                links => (links > 0).then(|| format!("{links} links to directories")),
            },
            counted(special, "special file"),
        ]
        .into_iter()
        .flatten()
        .collect();
        if skipped.is_empty() {
            return Vec::new();
        }
        let message = format!("{}: skipped {}", self.name, skipped.join(", "));
        vec![Warning::new(WarningKind::Skipped, message)]
    }

    fn step(&mut self) -> Result<Option<DirectoryFile>> {
        match &mut self.files {
            Files::Named(walk) => Ok(walk.step()?.map(|FoundFile { path, size }| DirectoryFile {
                path,
                size,
                checksum: None,
            })),
            Files::Hashed { reader, .. } => {
                let Some(checked) = reader.next().transpose()? else { return Ok(None) };
                hashed(&self.name, checked).map(Some)
            }
        }
    }
}

impl Iterator for DirectoryListing {
    type Item = Result<DirectoryFile>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let file = self.step().transpose();
        self.has_failed = matches!(file, Some(Err(_)));
        file
    }
}

impl DirectoryFile {
    /// Converts the file to the entry of a list for this granule.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::FileMetadata`]: the path cannot be that of a file of a granule.
    pub fn into_entry(self, granule_id: GranuleId) -> Result<ListingEntry> {
        let DirectoryFile { path, size, checksum } = self;
        let path = FilePath::new(path.as_str())
            .map_err(|cause| Error::refused(ErrorDetail::FileMetadata, path.as_str(), cause))?;
        let record = FileRecord::new(&granule_id, Some(path), size, checksum);
        let content = Content::merged(&granule_id, record.into_iter().collect())?;
        let content = Some(content).filter(|content| !content.is_empty());
        Ok(ListingEntry { content, ..ListingEntry::from(granule_id) })
    }
}

impl Files {
    /// Finds all files of a directory, and starts to hash them.
    fn hash(mut walk: Walk, root: Root, algorithm: &Algorithm, watcher: &Watcher) -> Result<Self> {
        let (mut found, mut bytes) = (Sorter::default(), 0);
        while let Some(FoundFile { path, size }) = walk.step()? {
            watcher.check()?;
            let size = size.unwrap_or(0);
            bytes += size;
            found.add(&[path.as_str().as_bytes()], &[&size.to_le_bytes()])?;
        }
        let work = watcher.begin(Work::ReadBytes, Some(bytes).filter(|bytes| *bytes > 0));
        let files = FoundFiles(SortedEntries::of(&found)?);
        let (purpose, options) = (Purpose::Compute(algorithm.clone()), ReadOptions::new(None));
        let reader = FileReader::start(&Arc::new(root), files, purpose, options, watcher)?;
        Ok(Files::Hashed { reader, skipped: walk.skipped, _work: work })
    }
}

/// Converts a hashed file.
fn hashed(directory: &str, checked: CheckedFile) -> Result<DirectoryFile> {
    let CheckedFile { file, content, .. } = checked;
    let path = Path::new(directory).join(&file.path);
    let shown = quoted(&path.to_string_lossy()).to_string();
    let content = content.map_err(|problem| {
        let message = match problem.found.filter(|_| problem.status == "unreadable") {
            Some(reason) => format!("cannot read {shown}: {reason}"),
            None => format!("{shown} was changed while the directory was read"),
        };
        Error::new(ErrorKind::Io, message).in_path(&path)
    })?;
    let FileContent { size, checksum } = content.unwrap_or_default();
    Ok(DirectoryFile { path: file.granule_id, size, checksum })
}

/// A file that was found in a directory.
struct FoundFile {
    path: GranuleId,
    size: Option<u64>,
}

/// The files that were found in a directory, sorted by path. The values are their sizes.
struct FoundFiles(SortedEntries);

impl Iterator for FoundFiles {
    type Item = Result<RecordedFile>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.0.next()?.and_then(|(path, size)| {
            let granule_id = GranuleId::from_bytes(&path)?;
            let size = size.as_ref().try_into().ok().map(u64::from_le_bytes);
            Ok(RecordedFile { size, ..RecordedFile::unrecorded(granule_id) })
        });
        Some(found)
    }
}

/// A recursive walk through a directory.
struct Walk {
    root: PathBuf,
    with_sizes: bool,
    /// The real path of the registry, whose files are skipped.
    registry: Option<PathBuf>,
    /// The directories that are being read, one for each level. Each has the prefix of the paths in it.
    levels: Vec<(String, ReadDir)>,
    skipped: SkippedEntries,
}

/// The result of looking at a directory entry.
enum Entry {
    File(FoundFile),
    /// A directory, with the prefix of the paths in it.
    Directory(String),
    Skipped,
}

impl Walk {
    fn begin(root: &Path, with_sizes: bool, registry: Option<PathBuf>) -> Result<Self> {
        let (levels, skipped) = (vec![(String::new(), open(root)?)], SkippedEntries::default());
        Ok(Walk { root: root.to_owned(), with_sizes, registry, levels, skipped })
    }

    /// Returns the next file. `None` means that there are no more.
    fn step(&mut self) -> Result<Option<FoundFile>> {
        while let Some((prefix, entries)) = self.levels.last_mut() {
            let Some(entry) = entries.next() else {
                self.levels.pop();
                continue;
            };
            let prefix = prefix.clone();
            let entry = entry.map_err(|source| unreadable(&self.root.join(&prefix), source))?;
            match self.look_at(&prefix, &entry)? {
                Entry::File(file) => return Ok(Some(file)),
                Entry::Directory(prefix) => self.levels.push((prefix, open(&entry.path())?)),
                Entry::Skipped => {}
            }
        }
        Ok(None)
    }

    /// Looks at an entry of the directory whose paths begin with `prefix`.
    fn look_at(&mut self, prefix: &str, entry: &DirEntry) -> Result<Entry> {
        let (name, path) = (entry.file_name(), entry.path());
        if name.as_encoded_bytes().starts_with(b".") {
            self.skipped.hidden += 1;
            return Ok(Entry::Skipped);
        }
        let cannot = |source| Error::cannot("read", &path, source);
        let refused = |why: &str| {
            let shown = quoted(&path.to_string_lossy()).to_string();
            Error::new(ErrorDetail::NotAGranuleId, format!("{shown} is refused: {why}"))
                .in_path(&path)
        };
        let is_link = entry.file_type().map_err(cannot)?.is_symlink();
        let metadata = fs::metadata(&path).map_err(|source| {
            if is_link && source.kind() == std::io::ErrorKind::NotFound {
                let shown = quoted(&path.to_string_lossy()).to_string();
                let message = format!("{shown} is a link to a file that does not exist");
                return Error::new(ErrorDetail::DanglingLink, message).in_path(&path);
            }
            cannot(source)
        })?;
        if is_link && metadata.is_dir() {
            self.skipped.directory_links += 1;
            return Ok(Entry::Skipped);
        }
        if !metadata.is_dir() && !metadata.is_file() {
            self.skipped.special += 1;
            return Ok(Entry::Skipped);
        }
        if metadata.is_file() && self.is_of_registry(&path, is_link) {
            return Ok(Entry::Skipped);
        }
        let name = name.to_str().ok_or_else(|| refused("the name is not UTF-8"))?;
        if metadata.is_dir() {
            return Ok(Entry::Directory(format!("{prefix}{name}/")));
        }
        let path = GranuleId::new(format!("{prefix}{name}"));
        let path = path.map_err(|cause| refused(&cause.to_string()))?;
        Ok(Entry::File(FoundFile { path, size: self.with_sizes.then_some(metadata.len()) }))
    }

    /// Whether a path leads to a file of the registry. Only links and files with such a name are resolved.
    fn is_of_registry(&self, path: &Path, is_link: bool) -> bool {
        let Some(registry) = &self.registry else { return false };
        (is_link || reserved::has_name_of(registry, path))
            && path.canonicalize().is_ok_and(|real| {
                real.parent() == registry.parent() && reserved::has_name_of(registry, &real)
            })
    }
}

fn open(directory: &Path) -> Result<ReadDir> {
    fs::read_dir(directory).map_err(|source| unreadable(directory, source))
}

fn unreadable(directory: &Path, source: std::io::Error) -> Error {
    Error::cannot("read the directory", directory, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_vanishes_after_it_was_listed_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("gone");
        fs::write(&path, "1").unwrap();
        let entry = open(directory.path()).unwrap().next().unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        let mut walk = Walk::begin(directory.path(), true, None).unwrap();
        let error = walk.look_at("", &entry).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(error.path(), Some(path.as_path()));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_without_a_target_is_an_error_of_its_own() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("link");
        std::os::unix::fs::symlink("gone", &path).unwrap();
        let entry = open(directory.path()).unwrap().next().unwrap().unwrap();
        let mut walk = Walk::begin(directory.path(), true, None).unwrap();
        let error = walk.look_at("", &entry).map(drop).unwrap_err();
        assert_eq!(
            (error.kind(), error.detail()),
            (ErrorKind::Io, Some(ErrorDetail::DanglingLink))
        );
        assert_eq!(error.path(), Some(path.as_path()));
    }
}
