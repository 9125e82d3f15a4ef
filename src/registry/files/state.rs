//! What is known of one file, from its records in the order of their numbers.

use std::ops::AddAssign;

use serde::Serialize;

use crate::model::{Checksum, FileContent, GranuleId};
use crate::store::StoredFileRecord;

/// What is known of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::registry) struct FileState {
    size: Option<u64>,
    /// The number of the record that the size is known from. 0 if it is not known.
    sized: u64,
    /// At most one of each algorithm.
    checksums: Vec<Checksum>,
    /// The numbers of the records that they are known from.
    numbers: Vec<u64>,
    /// The number of the first record that it is known from. 0 if nothing is known.
    since: u64,
}

impl AddAssign for FileCounts {
    fn add_assign(&mut self, other: FileCounts) {
        self.added += other.added;
        self.equal += other.equal;
        self.replaced += other.replaced;
    }
}

/// What a record says beside what is known of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::registry) enum Says {
    /// Nothing new.
    Equal,
    /// A size or a checksum that was not known.
    More,
    /// Another size, or another checksum of the same algorithm.
    Otherwise,
}

/// What was recorded about files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FileCounts {
    /// Records that say something new.
    pub added: u64,
    /// Records that say what was known; they are not stored again.
    pub equal: u64,
    /// Records that replace what was known of their files.
    pub replaced: u64,
}

impl FileCounts {
    /// Whether anything was recorded.
    pub fn has_any(&self) -> bool {
        self.added + self.replaced > 0
    }
}

impl FileState {
    /// The size in bytes. `None` means that it is not known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// The checksums, at most one of each algorithm.
    pub fn checksums(&self) -> &[Checksum] {
        &self.checksums
    }

    /// The number of the first record that it is known from.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// What a record says beside what is known.
    pub fn compare(&self, content: &FileContent) -> Says {
        let known = content.checksum().map(|checksum| {
            let same = |known: &&Checksum| known.algorithm() == checksum.algorithm();
            self.checksums.iter().find(same).map(|known| known == checksum)
        });
        let size = content.size().map(|size| self.size.map(|known| known == size));
        match [known, size] {
            [Some(Some(false)), _] | [_, Some(Some(false))] => Says::Otherwise,
            [Some(None), _] | [_, Some(None)] => Says::More,
            _ => Says::Equal,
        }
    }

    /// The number of the last record that is contradicted by this one. `None` means that none is.
    pub fn contradicted_by(&self, content: &FileContent) -> Option<u64> {
        let checksum = content.checksum().and_then(|checksum| {
            let same = |known: &Checksum| known.algorithm() == checksum.algorithm();
            let place = self.checksums.iter().position(same)?;
            (self.checksums.get(place) != Some(checksum))
                .then(|| self.numbers.get(place).copied())?
        });
        let is_other = content.size().is_some_and(|size| self.size.is_some_and(|it| it != size));
        checksum.max(is_other.then_some(self.sized))
    }

    /// Takes the next record. If it contradicts what is known, it replaces all of it.
    pub fn take(&mut self, number: u64, content: &FileContent) -> Says {
        let says = self.compare(content);
        if says == Says::Otherwise || self.since == 0 {
            *self = FileState { since: number, ..FileState::default() };
        }
        if self.size.is_none() && content.size().is_some() {
            (self.size, self.sized) = (content.size(), number);
        }
        if let Some(checksum) = content.checksum()
            && !self.checksums.contains(checksum)
        {
            self.checksums.push(checksum.clone());
            self.numbers.push(number);
        }
        says
    }
}

/// A file of a granule, and what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::registry) struct KnownFile {
    pub granule_id: GranuleId,
    /// Also where it equals the id.
    pub path: String,
    pub state: FileState,
}

/// What is known of files, from their records by granule, path and number.
pub(in crate::registry) fn known_files(
    records: impl IntoIterator<Item = StoredFileRecord>,
) -> Vec<KnownFile> {
    let mut files: Vec<KnownFile> = Vec::new();
    for StoredFileRecord { number, record } in records {
        let is_next =
            |file: &KnownFile| file.granule_id != record.granule_id || file.path != record.path();
        if files.last().is_none_or(is_next) {
            let (granule_id, path) = (record.granule_id.clone(), record.path().to_owned());
            files.push(KnownFile { granule_id, path, state: FileState::default() });
        }
        if let Some(file) = files.last_mut() {
            file.state.take(number, &record.content);
        }
    }
    // The path that equals the id is stored as an empty one, and so comes first.
    files.sort_by(|a, b| (&a.granule_id, &a.path).cmp(&(&b.granule_id, &b.path)));
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Algorithm;

    fn content(size: Option<u64>, checksum: Option<(Algorithm, u8)>) -> FileContent {
        let checksum = checksum.map(|(algorithm, byte)| {
            let bytes = vec![byte; algorithm.checksum_bytes().unwrap()];
            Checksum::from_bytes(algorithm, &bytes).unwrap()
        });
        FileContent::new(size, checksum).unwrap()
    }

    #[test]
    fn a_record_repeats_adds_or_replaces() {
        use Algorithm::{Md5, Sha256};
        let mut state = FileState::default();
        for (size, checksum, says) in [
            (None, Some((Md5, 1)), Says::More),
            (None, Some((Md5, 1)), Says::Equal),
            // A size that was unknown is added.
            (Some(7), Some((Md5, 1)), Says::More),
            (Some(7), None, Says::Equal),
            (None, Some((Sha256, 2)), Says::More),
            // A size counts for all algorithms.
            (Some(8), Some((Sha256, 2)), Says::Otherwise),
            // What was known of the other algorithm is no longer.
            (None, Some((Md5, 9)), Says::More),
            (None, Some((Md5, 1)), Says::Otherwise),
            (Some(8), None, Says::More),
            (Some(9), None, Says::Otherwise),
        ] {
            let number = state.since() + 1;
            assert_eq!(state.take(number, &content(size, checksum.clone())), says, "{checksum:?}");
        }
        assert_eq!((state.size(), state.checksums()), (Some(9), &[][..]));
    }
}
