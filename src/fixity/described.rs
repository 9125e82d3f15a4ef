//! Computes checksums of the files of a directory, so that it can be compared with sets and listings.

use std::iter::Peekable;
use std::sync::Arc;

use super::check::{CheckedFile, Purpose, RecordedFile};
use super::files_of_set::FileTree;
use super::reader::FileReader;
use super::root::Root;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Content, FileContent, FilePath, FileRecord, GranuleId, ListingEntry, quoted};
use crate::registry::{Granule, Listing, ListingBuilder, Watcher, Work};

impl Listing {
    /// Adds checksums to the listing of a directory, for a comparison with sets and other listings. `others`
    /// are their files, in canonical order: those of [`Registry::files`](crate::Registry::files) and
    /// [`Listing::files`].
    ///
    /// If the others have checksums of a file, the strongest one that this program can compute is added. If its
    /// size differs from that in all others, the file is not read, because it differs anyway.
    ///
    /// Reads files in parallel, like [`Registry::check_fixity`](crate::Registry::check_fixity). The memory does
    /// not depend on their number.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: a file cannot be read, or was written while it was read; [`ErrorKind::NotMounted`];
    /// those of `others`; [`ErrorKind::Interrupted`].
    pub fn described<F>(
        &self,
        tree: &FileTree,
        others: Vec<F>,
        watcher: &Watcher,
    ) -> Result<Listing>
    where
        F: Iterator<Item = Result<Granule>> + Send + 'static,
    {
        // The paths come from the directory itself.
        let root = Arc::new(Root::open(&tree.root, tree.mounted)?.following_links());
        let total = match watcher.shows_totals() {
            true => Some(bytes_of(self)?).filter(|bytes| *bytes > 0),
            false => None,
        };
        // The work ends when this is dropped.
        let _work = watcher.begin(Work::ReadBytes, total);
        let mut others: Vec<_> = others.into_iter().map(Iterator::peekable).collect();
        let files = self.files()?.map(move |listed| described_by(&mut others, listed?));
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

/// The files of a listed granule, each with its sizes and checksums in the others.
fn described_by<F>(others: &mut [Peekable<F>], listed: Granule) -> Result<Vec<RecordedFile>>
where
    F: Iterator<Item = Result<Granule>>,
{
    let Granule { granule_id, content } = listed;
    let known = others.iter_mut().map(|other| files_of(other, &granule_id));
    let known = known.collect::<Result<Vec<_>>>()?;
    let files = content.files();
    let described = files.iter().map(|file| {
        let path = file.path(&granule_id);
        let same = known.iter().filter_map(|known| {
            let are_lone = files.len() == 1 && known.len() == 1;
            known.iter().find(|it| are_lone || it.path(&granule_id) == path)
        });
        let same: Vec<&FileRecord> = same.collect();
        let size = same.first().and_then(|it| it.size());
        RecordedFile {
            granule_id: granule_id.clone(),
            path: path.to_owned(),
            // If the others have different sizes, the file is read for those with its own size.
            size: size.filter(|_| same.iter().all(|it| it.size() == size)),
            checksums: same.iter().flat_map(|it| it.checksums().to_vec()).collect(),
        }
    });
    Ok(described.collect())
}

/// The files of a granule, from granules in canonical order. Empty if the granule is not among them.
fn files_of<F>(granules: &mut Peekable<F>, granule_id: &GranuleId) -> Result<Vec<FileRecord>>
where
    F: Iterator<Item = Result<Granule>>,
{
    let is_at_or_before =
        |next: &Result<Granule>| next.as_ref().map_or(true, |next| next.granule_id <= *granule_id);
    let mut files = Vec::new();
    while let Some(granule) = granules.next_if(is_at_or_before) {
        let granule = granule?;
        if granule.granule_id == *granule_id {
            files = granule.content.files();
        }
    }
    Ok(files)
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
    // The record of a single file cannot conflict with itself.
    let content = Content::of(&granule_id, file.into_iter().collect()).ok();
    Ok(ListingEntry { content, ..ListingEntry::from(granule_id) })
}
