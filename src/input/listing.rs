//! Lists of granules: a file in any format, or the files of a directory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::Record;
use super::content::StatedFile;
use super::directory::DirectoryListing;
use super::findings::Findings;
use super::format::ListingOptions;
use super::records::Records;
use crate::error::Error;
use crate::model::ListingEntry;
use crate::registry::{Listing, ListingBuilder, Watcher};

impl Listing {
    /// Reads a list: a file in any [format](super::InputFormat), or the files of a directory.
    ///
    /// Each file of a directory is a granule with its size. If requested, its checksum is computed
    /// ([`ListingOptions::checksums`]), several files at a time. Its id is its path below the directory, with
    /// `/` between the names. Subdirectories are read, too.
    ///
    /// Symbolic links to files are followed. Links to directories, entries that are neither files nor
    /// directories, and names that begin with `.` are skipped ([`Listing::warnings`]). The files of the
    /// registry are skipped if the options name it ([`ListingOptions::registry`]).
    ///
    /// # Errors
    ///
    /// - Those of [`Listing::from_reader`].
    /// - [`ErrorKind::Io`](crate::ErrorKind::Io): the file, the directory or an entry of it cannot be read.
    /// - [`ErrorKind::NotMounted`](crate::ErrorKind::NotMounted): the directory is empty, so its file system
    ///   may not be mounted.
    /// - [`ErrorDetail::NotAGranuleId`](crate::error::ErrorDetail::NotAGranuleId): a path below the directory
    ///   is not UTF-8, or cannot be an id.
    /// - [`ErrorDetail::NotOfFormat`](crate::error::ErrorDetail::NotOfFormat): an option applies only to files,
    ///   and this is a directory.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::Listing;
    /// use accession::ListingOptions;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let data = directory.path();
    /// std::fs::create_dir(data.join("2001"))?;
    /// std::fs::write(data.join("2001/A.hdf"), "1234")?;
    /// std::fs::write(data.join(".listing"), "")?;
    /// let listing = Listing::read(data, &ListingOptions::new())?;
    /// assert_eq!(listing.count(), 1);
    /// assert!(listing.warnings()[0].message.ends_with("skipped 1 hidden name"));
    /// # let granule = listing.files()?.next().unwrap()?;
    /// # assert_eq!(granule.granule_id.as_str(), "2001/A.hdf");
    /// # assert_eq!(granule.content.files()[0].size(), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(path: impl AsRef<Path>, options: &ListingOptions) -> Result<Listing, Error> {
        let path = path.as_ref();
        let cannot = |source| Error::cannot("read", path, source);
        if path.metadata().map_err(cannot)?.is_dir() {
            return Listing::of_directory(DirectoryListing::open(path, options, &Watcher::new())?);
        }
        let file = File::open(path).map_err(cannot)?;
        let name = path.to_string_lossy();
        let mut options = options.clone();
        if options.directory.is_none() {
            options.directory = path.parent().map(Path::to_owned);
        }
        Listing::from_reader(file, &name, &options)
    }

    /// Reads all files of a directory.
    fn of_directory(mut files: DirectoryListing) -> Result<Listing, Error> {
        let mut builder = ListingBuilder::new();
        for file in files.by_ref() {
            let file = file?;
            let granule_id = file.path.clone();
            builder.add(file.into_entry(granule_id)?)?;
        }
        Ok(builder.finish_reading(files.warnings()))
    }

    /// Reads a list in any [format](super::InputFormat) from a stream, such as standard input. Messages call it
    /// `name`. Granules that the list marks as deleted or replaced are skipped ([`Listing::warnings`]).
    ///
    /// # Errors
    ///
    /// - Those of [`Records::open`].
    /// - [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written.
    /// - [`ErrorKind::NotAList`](crate::ErrorKind::NotAList): the file does not look like a list.
    /// - [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete): the file is an incomplete search result.
    pub fn from_reader(
        reader: impl Read + Send + 'static,
        name: &str,
        options: &ListingOptions,
    ) -> Result<Listing, Error> {
        let mut records = Records::open(reader, name, options)?;
        let mut builder = ListingBuilder::new();
        while let Some(record) = records.next_listed()? {
            builder.add(record.into_entry()?)?;
        }
        let mut findings = Findings::new(options.stated_total());
        records.add_to(&mut findings, name);
        if let Some(refusal) = findings.refusal() {
            return Err(refusal);
        }
        let mut warnings = records.warnings();
        warnings.extend(findings.warnings(name));
        Ok(builder.finish_reading(warnings))
    }
}

impl Record {
    /// Converts the granule to an entry of a list, with the sizes and checksums of its files.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::FileMetadata`](crate::error::ErrorDetail::FileMetadata): two entries for one file
    /// contradict each other.
    pub fn into_entry(self) -> Result<ListingEntry, Error> {
        let Record { granule_id, producer_granule, location, files, .. } = self;
        let content = StatedFile::content(files, &granule_id, &location)?;
        Ok(ListingEntry { granule_id, producer_granule, content, location: Some(location) })
    }
}
