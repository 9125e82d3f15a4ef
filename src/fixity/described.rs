//! The files of a directory, described as a set describes its files, so that the two can be compared.

use std::iter::Peekable;
use std::sync::Arc;

use super::check::{CheckedFile, Purpose, RecordedFile};
use super::files_of_set::FileTree;
use super::reader::FileReader;
use super::root::Root;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Content, FileContent, FilePath, FileRecord, ListingEntry, Set, quoted};
use crate::registry::{FileList, Granule, Listing, ListingBuilder, Registry, Work};

impl Registry {
    /// Adds checksums to the listing of a directory, for a comparison with a set: of each file of which the set has a
    /// checksum, the strongest of these that this program computes. A file whose size differs from that of the set is
    /// not read, because it differs anyway.
    ///
    /// Reads files in parallel, as [`Registry::check_fixity`] does. The memory does not depend on their number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: a file cannot be read, or was written while it was read; [`ErrorKind::NotMounted`]; those
    /// of [`Registry::files`]; [`ErrorKind::Interrupted`].
    pub fn describe_listing(
        &self,
        listing: &Listing,
        tree: &FileTree,
        set: &Set,
    ) -> Result<Listing> {
        // The paths are those of the directory itself.
        let root = Arc::new(Root::open(&tree.root, tree.mounted)?.following_links());
        let watcher = self.watcher();
        let total = match watcher.shows_totals() {
            true => Some(bytes_of(listing)?).filter(|bytes| *bytes > 0),
            false => None,
        };
        // Ends when it is dropped.
        let _work = watcher.begin(Work::ReadBytes, total);
        let mut held = self.files(set).peekable();
        let files = listing.files()?.map(move |listed| described_by(&mut held, listed?));
        let files = files.flat_map(|files| match files {
            Ok(files) => files.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        let mut builder = ListingBuilder::new();
        for read in FileReader::start(&root, files, Purpose::Describe, tree.reading, watcher)? {
            builder.add(entry_of(read?)?)?;
        }
        Ok(builder.finish())
    }
}

/// The sum of the sizes of the listed files.
fn bytes_of(listing: &Listing) -> Result<u64> {
    let mut bytes = 0;
    for granule in listing.files()? {
        bytes += granule?.content.files().iter().filter_map(|file| file.size()).sum::<u64>();
    }
    Ok(bytes)
}

/// The files of a listed granule, each with what the set has of it. `held` are the granules of the set, in the
/// same order.
fn described_by(held: &mut Peekable<FileList>, listed: Granule) -> Result<Vec<RecordedFile>> {
    let Granule { granule_id, content } = listed;
    let is_at_or_before =
        |next: &Result<Granule>| next.as_ref().map_or(true, |next| next.granule_id <= granule_id);
    let mut of_set = Vec::new();
    while let Some(granule) = held.next_if(is_at_or_before) {
        let granule = granule?;
        if granule.granule_id == granule_id {
            of_set = granule.content.files();
        }
    }
    let files = content.files();
    let are_lone = files.len() == 1 && of_set.len() == 1;
    let described = files.iter().map(|file| {
        let path = file.path(&granule_id);
        let same = of_set.iter().find(|it| are_lone || it.path(&granule_id) == path);
        RecordedFile {
            granule_id: granule_id.clone(),
            path: path.to_owned(),
            size: same.and_then(|same| same.size()),
            checksums: same.map(|same| same.checksums().to_vec()).unwrap_or_default(),
        }
    });
    Ok(described.collect())
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
    let file = FileRecord::new(&granule_id, Some(FilePath::new(path)?), size, checksum);
    // One file cannot contradict itself.
    let content = Content::of(&granule_id, file.into_iter().collect()).ok();
    Ok(ListingEntry { content, ..ListingEntry::from(granule_id) })
}
