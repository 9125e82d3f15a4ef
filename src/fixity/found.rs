//! Files whose checksums another program computed.

use serde::{Deserialize, Serialize};

use super::check::{CheckSummary, FileFinding, FileProblem, RecordedFile};
use super::files_of_set::FilesOfSet;
use super::unexpected::plain;
use crate::disk::scratch::{record_of, value_of};
use crate::disk::{Merge, SortedEntries, Sorter};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Checksum, ListingEntry, Set};
use crate::registry::{HeldContents, Registry, Watcher};

/// What another program found, and what is recorded, both by path. They are added in any order, and sorted
/// in a temporary file.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The values are one [`FoundFile`] each.
    found: Sorter,
    /// The values are one [`RecordedFile`] each.
    recorded: Sorter,
}

/// What was found at a path: a size, and at most one checksum of each algorithm.
#[derive(Default, Serialize, Deserialize)]
struct FoundFile {
    size: Option<u64>,
    checksums: Vec<Checksum>,
}

impl FoundFiles {
    /// Creates empty lists.
    pub fn new() -> Self {
        FoundFiles::default()
    }

    /// Adds what was found of the files of a granule, each at the part of its path that `path_of` returns.
    pub fn add(&mut self, entry: &ListingEntry, path_of: impl Fn(&str) -> &str) -> Result<()> {
        for file in entry.content.iter().flat_map(|content| content.files()) {
            let found = FoundFile { size: file.size(), checksums: file.checksums().to_vec() };
            let path = plain(path_of(file.path(&entry.granule_id)));
            self.found.add(&[path.as_bytes()], &[&record_of(&found)?])?;
        }
        Ok(())
    }

    /// Whether nothing was found of any file.
    pub fn is_empty(&self) -> bool {
        self.found.count() == 0
    }

    /// Adds what is recorded of a file.
    fn expect(&mut self, file: &RecordedFile) -> Result<()> {
        self.recorded.add(&[plain(&file.path).as_bytes()], &[&record_of(file)?])
    }

    /// Compares what was found with what is recorded of the files of a set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Input`]: nothing was found at any path of a file of the set, so that the list is one of
    /// other paths.
    pub fn compare_with(mut self, registry: &Registry, set: Set) -> Result<ComparedFiles> {
        for file in FilesOfSet::new(registry, set).read()? {
            self.expect(&file?)?;
        }
        if self.recorded.count() > 0 && !self.has_path_of_both()? {
            let message = "no listed path is that of a file of the set";
            return Err(Error::new(ErrorKind::Input, message));
        }
        Ok(ComparedFiles { watcher: registry.watcher().clone(), ..self.compare()? })
    }

    /// Returns the index of the contents from which the fewest found files differ. Compares the files with
    /// each of the contents.
    ///
    /// # Errors
    ///
    /// A set cannot be read.
    pub fn nearest(&mut self, registry: &Registry, contents: &[HeldContents]) -> Result<usize> {
        let mut nearest = (u64::MAX, contents.len().saturating_sub(1));
        for (index, contents) in contents.iter().enumerate().rev() {
            for file in FilesOfSet::new(registry, contents.set.clone()).read()? {
                self.expect(&file?)?;
            }
            let mut compared = self.compare()?;
            compared.by_ref().try_for_each(|finding| finding.map(drop))?;
            let findings = compared.summary.findings;
            self.recorded = Sorter::default();
            if findings < nearest.0 {
                nearest = (findings, index);
            }
            if findings == 0 {
                break;
            }
        }
        Ok(nearest.1)
    }

    /// Whether something was found at a path at which something is recorded.
    fn has_path_of_both(&self) -> Result<bool> {
        let (mut recorded, mut found) = (Merge::of(&self.recorded)?, Merge::of(&self.found)?);
        let path = |path: &[u8], _: &[u8]| Ok(Box::<[u8]>::from(path));
        let mut next_found = found.next(path).transpose()?;
        while let Some(path_of_file) = recorded.next(path).transpose()? {
            while next_found.as_ref().is_some_and(|found| *found < path_of_file) {
                next_found = found.next(path).transpose()?;
            }
            if next_found.as_ref() == Some(&path_of_file) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Compares them.
    pub fn compare(&self) -> Result<ComparedFiles> {
        let mut compared = ComparedFiles {
            recorded: SortedEntries::of(&self.recorded)?,
            found: SortedEntries::of(&self.found)?,
            next_found: None,
            current: None,
            watcher: Watcher::new(),
            summary: CheckSummary { complete: true, ..CheckSummary::default() },
        };
        compared.next_found = compared.found.next().transpose()?;
        Ok(compared)
    }
}

/// A path, and the value at it.
type PathValue = (Box<[u8]>, Box<[u8]>);

/// The recorded files that are not as they were found, in the order of the paths. A file that was found and
/// is not recorded is left out.
pub struct ComparedFiles {
    recorded: SortedEntries,
    found: SortedEntries,
    next_found: Option<PathValue>,
    /// What was found at the path of the last file: several granules may have the same one.
    current: Option<(Box<[u8]>, FoundFile)>,
    watcher: Watcher,
    summary: CheckSummary,
}

crate::model::debug_fields!(ComparedFiles: summary);

impl ComparedFiles {
    /// How many files were compared so far, and how many of them are findings.
    pub fn summary(&self) -> CheckSummary {
        self.summary
    }

    fn step(&mut self) -> Result<Option<FileFinding>> {
        while let Some((path, value)) = self.recorded.next().transpose()? {
            let file: RecordedFile = value_of(&value)?;
            self.summary.files += 1;
            self.watcher.check()?;
            if self.current.as_ref().is_none_or(|(current, _)| *current != path) {
                self.current = self.found_at(&path)?.map(|found| (path, found));
            }
            let found = self.current.as_ref().map(|(_, found)| found);
            if let Some(problem) = problem(&file, found) {
                self.summary.findings += 1;
                return Ok(Some(FileFinding::of(file, problem)));
            }
        }
        Ok(None)
    }

    /// What was found at a path. `None` means that nothing was found.
    fn found_at(&mut self, path: &[u8]) -> Result<Option<FoundFile>> {
        let mut all = None;
        while let Some((found, value)) = self.next_found.take_if(|(found, _)| **found <= *path) {
            if *found == *path {
                let all: &mut FoundFile = all.get_or_insert_default();
                let FoundFile { size, checksums } = value_of(&value)?;
                all.size = size.or(all.size);
                all.checksums.extend(checksums);
            }
            self.next_found = self.found.next().transpose()?;
        }
        Ok(all)
    }
}

impl Iterator for ComparedFiles {
    type Item = Result<FileFinding>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

/// What is wrong with a file of which this was found (`None`: it was not found).
fn problem(file: &RecordedFile, found: Option<&FoundFile>) -> Option<FileProblem> {
    if file.size.is_none() && file.checksums.is_empty() {
        return Some(FileProblem::NO_RECORD);
    }
    let Some(found) = found else { return Some(FileProblem::MISSING) };
    let wrong = FileProblem::of_sizes(file.size, found.size);
    let wrong = wrong.or_else(|| FileProblem::of_checksums(&file.checksums, &found.checksums));
    let has = |algorithm| found.checksums.iter().any(|it| it.algorithm() == algorithm);
    wrong.or_else(|| match file.checksums.first() {
        Some(expected) if !file.checksums.iter().any(|it| has(it.algorithm())) => {
            Some(FileProblem::cannot_compute(expected))
        }
        None if found.size.is_none() => Some(FileProblem::NO_RECORD),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Algorithm, Content, FileRecord};

    fn sha256(digit: &str) -> Checksum {
        Checksum::parse(Algorithm::Sha256, &digit.repeat(64)).unwrap()
    }

    fn md5(digit: &str) -> Checksum {
        Checksum::parse(Algorithm::Md5, &digit.repeat(32)).unwrap()
    }

    fn recorded(path: &str, size: Option<u64>, checksums: &[Checksum]) -> RecordedFile {
        let mut file = RecordedFile::unrecorded(format!("granule of {path}").parse().unwrap());
        file.path = path.to_owned();
        (file.size, file.checksums) = (size, checksums.to_vec());
        file
    }

    /// What was found of a file whose path is the id of its granule.
    fn found(path: &str, size: Option<u64>, checksum: Option<Checksum>) -> ListingEntry {
        let granule_id = path.parse().unwrap();
        let file = FileRecord::new(&granule_id, None, size, checksum).unwrap();
        let content = Some(Content::of(&granule_id, vec![file]).unwrap());
        ListingEntry { content, ..ListingEntry::from(granule_id) }
    }

    #[test]
    fn a_list_of_another_program_is_compared_as_the_files_are() {
        let mut files = FoundFiles::new();
        // In any order, one algorithm a line, and files of which nothing is recorded.
        for (path, (size, checksum)) in [
            ("z", (None, Some(sha256("a")))),
            ("good", (Some(3), Some(sha256("a")))),
            ("unknown", (None, Some(sha256("a")))),
            ("both", (None, Some(md5("b")))),
            ("both", (None, Some(sha256("a")))),
            ("second", (None, Some(md5("b")))),
            ("second", (None, Some(sha256("f")))),
            ("size", (Some(4), Some(sha256("a")))),
            ("only-size", (Some(3), None)),
            ("other-algorithm", (Some(3), Some(md5("b")))),
            ("no-size", (None, Some(md5("b")))),
        ] {
            files.add(&found(path, size, checksum), |path| path).unwrap();
        }
        for file in [
            recorded("z", None, &[sha256("a")]),
            recorded("size", Some(3), &[sha256("a")]),
            recorded("second", None, &[md5("b"), sha256("a")]),
            recorded("both", None, &[md5("b"), sha256("a")]),
            recorded("missing", Some(3), &[]),
            recorded("nothing", None, &[]),
            recorded("only-size", Some(3), &[]),
            recorded("other-algorithm", Some(3), &[sha256("a")]),
            recorded("no-size", Some(3), &[]),
            recorded("good", Some(3), &[sha256("a")]),
        ] {
            files.expect(&file).unwrap();
        }
        let mut compared = files.compare().unwrap();
        let lines: Vec<String> = compared
            .by_ref()
            .map(|finding| {
                let finding = finding.unwrap();
                assert_eq!(finding.granule, Some(format!("granule of {}", finding.path)));
                format!("{} {}", finding.path, finding.status)
            })
            .collect();
        assert_eq!((compared.summary().files, compared.summary().findings), (10, 6));
        assert_eq!(
            lines,
            [
                "missing missing",
                "no-size no-record",
                "nothing no-record",
                "other-algorithm cannot-compute",
                "second checksum",
                "size size",
            ]
        );
    }

    #[test]
    fn two_granules_may_have_the_same_file() {
        let mut files = FoundFiles::new();
        files.add(&found("A", None, Some(md5("b"))), |path| path).unwrap();
        for id in ["one", "two"] {
            let mut file = recorded("A", None, &[md5("b")]);
            file.granule_id = id.parse().unwrap();
            files.expect(&file).unwrap();
        }
        let mut compared = files.compare().unwrap();
        assert!(compared.next().is_none());
        assert_eq!(compared.summary().files, 2);
    }
}
