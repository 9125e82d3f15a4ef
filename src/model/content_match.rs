//! What is known of a granule in one place beside what is known of it in another: the files of both are
//! matched, and compared where they have an algorithm in common.

use super::content::place;
use super::{Checksum, Content, Contradiction, GranuleId, KnownFile};

/// How what is known of a granule compares with what is known of it elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentMatch {
    /// On one side nothing is known.
    Unknown,
    /// Every file that both have has the same bytes.
    Equal,
    /// A file has no algorithm in common on both sides.
    NotComparable,
    /// A file has other bytes.
    Other(Contradiction),
}

impl Content {
    /// Compares what is known here with what is known elsewhere, where paths may be others: files are matched
    /// by path, a lone file with a lone file, and then by their last segments where these are unique.
    pub fn compare(&self, granule_id: &GranuleId, other: &Content) -> ContentMatch {
        if self.is_empty() || other.is_empty() {
            return ContentMatch::Unknown;
        }
        if self == other {
            return ContentMatch::Equal;
        }
        let mut are_comparable = true;
        let mut pairs = 0;
        let (files, others) = (self.files(), other.files());
        for file in &files {
            let Some(same) = counterpart(granule_id, file, &files, &others) else { continue };
            pairs += 1;
            if let Some((known, stated)) = file.differing(same) {
                let (path, stated) = (file.own_path().cloned(), Some(stated));
                return ContentMatch::Other(Contradiction { path, known, stated });
            }
            let mut algorithms = file.checksums().iter().map(Checksum::algorithm);
            let is_sized = file.size().is_some() && same.size().is_some();
            let has_none = file.checksums().is_empty() || same.checksums().is_empty();
            are_comparable &=
                algorithms.any(|it| same.checksum_of(it).is_some()) || is_sized && has_none;
        }
        match pairs > 0 && are_comparable {
            true => ContentMatch::Equal,
            false => ContentMatch::NotComparable,
        }
    }
}

/// The file elsewhere that is the same as one of these.
fn counterpart<'a>(
    granule_id: &GranuleId,
    file: &KnownFile,
    files: &[KnownFile],
    others: &'a [KnownFile],
) -> Option<&'a KnownFile> {
    if let Ok(place) = place(others, granule_id, file.path(granule_id)) {
        return others.get(place);
    }
    if let ([_], [lone]) = (files, others) {
        return Some(lone);
    }
    let segment = |file: &KnownFile| {
        let path = file.path(granule_id);
        path.rsplit('/').next().unwrap_or(path).to_owned()
    };
    let wanted = segment(file);
    if files.iter().filter(|it| segment(it) == wanted).count() > 1 {
        return None;
    }
    let mut found = others.iter().filter(|it| segment(it) == wanted);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}
