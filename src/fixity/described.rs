//! The files of a directory, described as a set describes its files, so that the two can be compared.

use super::check::{CheckedFile, Purpose, RecordedFile};
use super::files_of_set::FileTree;
use super::reader::FileReader;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Content, FileContent, FileRecord, ListingEntry, Set, quoted};
use crate::registry::{Granule, Listing, ListingBuilder, Registry, Work};

/// Adds checksums to the listing of a directory, for a comparison with a set: of each file of which the set has a
/// checksum, the strongest of these that this program computes. A file whose size differs from that of the set is
/// not read, because it differs anyway.
///
/// Reads files in parallel, as [`check`](super::check()) does. The memory does not depend on their number.
///
/// # Errors
///
/// [`ErrorKind::Io`]: a file cannot be read, or was written while it was read; [`ErrorKind::NotMounted`]; those
/// of [`Registry::files`]; [`ErrorKind::Interrupted`].
pub fn described(
    registry: &Registry,
    set: &Set,
    tree: &FileTree,
    listing: &Listing,
) -> Result<Listing> {
    let root = tree.open()?;
    let watcher = registry.watcher();
    let total = match watcher.shows_totals() {
        true => Some(bytes_of(listing)?).filter(|bytes| *bytes > 0),
        false => None,
    };
    // Ends when it is dropped.
    let _work = watcher.begin(Work::ReadBytes, total);
    let mut held = registry.files(set).peekable();
    let files = listing.files()?.map(move |listed| {
        let Granule { granule_id, .. } = listed?;
        let mut file = RecordedFile::unrecorded(granule_id);
        while let Some(granule) = held.next_if(|next| !is_after(next, &file)) {
            let granule = granule?;
            if granule.granule_id == file.granule_id {
                describe(&mut file, &granule.content);
            }
        }
        Ok(file)
    });
    let mut builder = ListingBuilder::new();
    for read in FileReader::start(&root, files, Purpose::Describe, tree.reading, watcher)? {
        builder.add(entry_of(read?)?)?;
    }
    Ok(builder.finish())
}

/// The sum of the sizes of the listed files.
fn bytes_of(listing: &Listing) -> Result<u64> {
    let mut bytes = 0;
    for granule in listing.files()? {
        bytes += granule?.content.files().iter().filter_map(|file| file.size()).sum::<u64>();
    }
    Ok(bytes)
}

/// Whether a granule of the set comes after a file. An error comes before every file.
fn is_after(granule: &Result<Granule>, file: &RecordedFile) -> bool {
    granule.as_ref().is_ok_and(|granule| granule.granule_id > file.granule_id)
}

/// Notes what the set has of a file: of the only file of its granule, or of the one at its path.
fn describe(file: &mut RecordedFile, content: &Content) {
    let files = content.files();
    let is_lone = files.len() == 1;
    let same = files.into_iter().find(|it| is_lone || it.path(&file.granule_id) == file.path);
    if let Some(same) = same {
        file.size = same.size();
        file.checksums = same.checksums().to_vec();
    }
}

fn entry_of(read: CheckedFile) -> Result<ListingEntry> {
    let RecordedFile { granule_id, path, .. } = read.file;
    let FileContent { size, checksum } = match read.content {
        Ok(content) => content.unwrap_or_default(),
        Err(problem) => {
            let why = problem.found.unwrap_or_else(|| problem.status.to_owned());
            let message = format!("cannot read {}: {why}", quoted(&path));
            return Err(Error::new(ErrorKind::Io, message));
        }
    };
    let file = FileRecord::new(&granule_id, None, size, checksum);
    // One file cannot contradict itself.
    let content = Content::of(&granule_id, file.into_iter().collect()).ok();
    Ok(ListingEntry { content, ..ListingEntry::from(granule_id) })
}
