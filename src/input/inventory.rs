//! An S3 Inventory: the CSV files that a bucket's `manifest.json` names.
//!
//! The manifest lists the columns (`fileSchema`: `Bucket, Key, VersionId, IsLatest, IsDeleteMarker, Size,
//! LastModifiedDate, ETag, …`, as configured) and the data files. For each data file it states the key in the
//! bucket that receives the inventory, the size and the MD5 checksum.
//!
//! The data files have no header and may be compressed with gzip. The keys in them are form-encoded: `+` is a
//! space. Together they are the inventory, so a missing or different data file is an error. Each is read twice,
//! first for its checksum, so that memory does not grow with it. Writing to one meanwhile is an error, too.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use md5::{Digest, Md5};
use percent_encoding::percent_decode;
use serde::Deserialize;

use super::content::{ETAG, S3_ETAG, WrittenFile, scalar};
use super::csv_rows::CsvRows;
use super::error::granule_id;
use super::file::OpenedFile;
use super::findings::{FileFindings, Skipped};
use super::format::ListingOptions;
use super::lines::FOLDER_MARKER;
use super::{MAX_ROW_BYTES, Reader, Row, Rows};
use crate::disk::open_regular;
use crate::error::{Error, ErrorDetail};
use crate::model::{FilePath, Timestamp, quoted};

/// The objects of a bucket.
pub(super) struct Inventory {
    /// The name of the manifest.
    name: Arc<str>,
    columns: Columns,
    without_files: bool,
    with_etags: bool,
    /// The time when it was made.
    created: Option<Timestamp>,
    folders: u64,
    markers: u64,
    /// The directory in which data files have their full key as path.
    root: Option<PathBuf>,
    /// The directories that are searched if `root` is not set: that of the manifest, and its parent.
    directories: [PathBuf; 2],
    files: std::vec::IntoIter<DataFile>,
    /// The data file that is being read.
    rows: Option<Checked>,
}

/// A data file whose size and checksum agreed with the manifest.
struct Checked {
    rows: CsvRows,
    file: File,
    /// Its size and modification time when it was checked.
    state: (u64, SystemTime),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    file_format: String,
    file_schema: String,
    /// Milliseconds since 1970, as a string or a number.
    #[serde(default, deserialize_with = "scalar")]
    creation_timestamp: Option<String>,
    files: Vec<DataFile>,
}

#[derive(Deserialize)]
struct DataFile {
    key: String,
    size: u64,
    #[serde(rename = "MD5checksum")]
    md5: String,
}

/// The indexes of the columns that are read.
struct Columns {
    count: usize,
    key: usize,
    size: Option<usize>,
    is_latest: Option<usize>,
    is_delete_marker: Option<usize>,
    etag: Option<usize>,
    encryption: Option<usize>,
}

impl Inventory {
    pub(super) fn open(
        file: Reader,
        name: Arc<str>,
        options: &ListingOptions,
    ) -> Result<Self, Error> {
        let fail = |error: Error| error.at_line(&name, 1);
        let mut text = Vec::new();
        file.take(MAX_ROW_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(|cause| fail(Error::unreadable(&cause)))?;
        if text.len() as u64 > MAX_ROW_BYTES {
            let message = "the manifest of an S3 inventory has at most 16 MiB: this one is longer";
            return Err(fail(Error::input(message.to_owned())));
        }
        let manifest: Manifest = serde_json::from_slice(&text).map_err(|cause| {
            fail(Error::input(format!("this is not the manifest of an S3 inventory: {cause}")))
        })?;
        if manifest.file_format != "CSV" {
            let message = format!("the inventory is {}, not CSV", quoted(&manifest.file_format));
            return Err(fail(Error::new(ErrorDetail::BinaryTable, message)));
        }
        let columns = Columns::of(&manifest.file_schema).map_err(fail)?;
        if let Some(column) = options.column.as_deref().filter(|column| *column != "Key") {
            return Err(fail(Error::no_column(column, &["Key".to_owned()])));
        }
        let directory = options.directory.clone().unwrap_or_default();
        let parent = match directory.file_name() {
            Some(_) => directory.parent().unwrap_or(Path::new("")).to_owned(),
            None => directory.join(".."),
        };
        Ok(Inventory {
            columns,
            created: manifest.creation_timestamp.as_deref().and_then(time_of_millis),
            with_etags: options.with_etags,
            folders: 0,
            markers: 0,
            without_files: options.without_files,
            root: options.root.clone(),
            directories: [directory, parent],
            files: manifest.files.into_iter(),
            rows: None,
            name,
        })
    }

    /// Opens a data file. Its size and checksum must agree with the manifest.
    fn data_file(&self, stated: &DataFile) -> Result<Checked, Error> {
        let key = quoted(&stated.key);
        let path = self.path_of(&stated.key).ok_or_else(|| {
            let message = format!("the data file {key} of the inventory is missing");
            Error::new(ErrorDetail::DataFile, message)
        })?;
        let name = path.to_string_lossy();
        let read = |path: &Path| -> io::Result<_> {
            let mut file = open_regular(path)?;
            let state = state_of(&file)?;
            let (size, md5) = size_and_md5(&mut file)?;
            file.rewind()?;
            Ok((file.try_clone()?, file, state, size, md5))
        };
        let (read, file, state, size, md5) = read(&path)
            .map_err(|cause| Error::unreadable(&cause).at_line(&name.as_ref().into(), 1))?;
        if size != stated.size || !md5.eq_ignore_ascii_case(&stated.md5) {
            let DataFile { size: stated_size, md5: stated_md5, .. } = stated;
            let message = format!(
                "the data file {key} of the inventory has {size} bytes and the MD5 checksum {md5}, but \
                 the manifest states {stated_size} and {}",
                quoted(stated_md5)
            );
            return Err(Error::new(ErrorDetail::DataFile, message));
        }
        let read = OpenedFile::open(read, &name)?;
        let name = read.name().clone();
        Ok(Checked { rows: CsvRows::new(read.into_reader(), name, b','), file, state })
    }

    /// The path of a data file: its key below `root`, if that is set. Otherwise, the longest ending of its key
    /// that exists in one of the directories. `None` means that it does not exist.
    fn path_of(&self, key: &str) -> Option<PathBuf> {
        // A valid file path cannot lead out of the directory.
        let key = FilePath::new(key).ok()?;
        let mut ending = key.as_str();
        if let Some(root) = &self.root {
            return Some(root.join(ending)).filter(|path| path.is_file());
        }
        loop {
            let mut paths = self.directories.iter().map(|directory| directory.join(ending));
            if let Some(path) = paths.find(|path| path.is_file()) {
                return Some(path);
            }
            (_, ending) = ending.split_once('/')?;
        }
    }

    /// The object of the current row of a data file. If the object only represents a directory, returns the
    /// reason for skipping it.
    fn object(&self, rows: &CsvRows) -> Result<Result<Row, Skipped>, Error> {
        let Columns { count, key, size, is_latest, is_delete_marker, etag, encryption } =
            self.columns;
        if rows.row.len() != count {
            let message = format!("the row has {} cells, and fileSchema {count}", rows.row.len());
            return Err(Error::new(ErrorDetail::CellCount, message));
        }
        let cell = |column: Option<usize>| column.map_or(&b""[..], |column| &rows.row[column]);
        // Most keys need no decoding. These are not copied.
        let spaced = match cell(Some(key)) {
            key if key.contains(&b'+') => {
                let space_for_plus = |byte: &u8| if *byte == b'+' { b' ' } else { *byte };
                Cow::Owned(key.iter().map(space_for_plus).collect::<Vec<u8>>())
            }
            key => Cow::Borrowed(key),
        };
        let decoded: Cow<'_, [u8]> = percent_decode(&spaced).into();
        // The console of S3 creates such an object for each new folder, and Hadoop creates one with another
        // name.
        if matches!(cell(size), b"" | b"0") {
            if decoded.ends_with(b"/") {
                return Ok(Err(Skipped::Directory));
            }
            if decoded.ends_with(FOLDER_MARKER) {
                return Ok(Err(Skipped::FolderMarker));
            }
        }
        let mut row = Row::new(granule_id(&decoded)?, rows.location());
        let is_true = |column| cell(column).eq_ignore_ascii_case(b"true");
        row.record.is_deleted =
            is_true(is_delete_marker) || cell(is_latest).eq_ignore_ascii_case(b"false");
        if self.without_files {
            return Ok(Ok(row));
        }
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let path = Some(row.record.granule_id.to_string());
        let size = Some(text(cell(size)));
        row.files.push(WrittenFile { path: path.clone(), size, ..WrittenFile::default() });
        if etag.is_some() {
            // With keys of KMS or of a customer, an ETag looks like an MD5 checksum, but is not one.
            let encryption = text(cell(encryption)).to_ascii_uppercase();
            let is_keyed = encryption.contains("KMS") || encryption.contains("SSE-C");
            let algorithm = Some(if is_keyed { S3_ETAG } else { ETAG }.to_owned());
            let checksum = Some(text(cell(etag)).trim_matches('"').to_owned());
            row.files.push(WrittenFile { path, algorithm, checksum, ..WrittenFile::default() });
        }
        Ok(Ok(row))
    }
}

/// Converts milliseconds after 1970 to a time. `None` means that the text is not such a time.
fn time_of_millis(text: &str) -> Option<Timestamp> {
    let millis: u64 = text.trim().parse().ok()?;
    let moment = chrono::DateTime::from_timestamp_millis(i64::try_from(millis).ok()?)?;
    moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true).parse().ok()
}

impl Rows for Inventory {
    fn next_row(&mut self) -> Result<Option<Row>, Error> {
        loop {
            if let Some(checked) = &mut self.rows {
                if checked.rows.advance()? {
                    let rows = &self.rows.as_ref().expect("it was advanced").rows;
                    match self.object(rows).map_err(|error| error.at(rows.location()))? {
                        Ok(row) => return Ok(Some(row)),
                        Err(Skipped::FolderMarker) => self.markers += 1,
                        Err(_) => self.folders += 1,
                    }
                    continue;
                }
                if state_of(&checked.file).ok() != Some(checked.state) {
                    let message = "the data file was written to while it was read";
                    let location = checked.rows.location();
                    return Err(Error::new(ErrorDetail::DataFile, message).at(location));
                }
            }
            let Some(file) = self.files.next() else { return Ok(None) };
            self.rows = Some(self.data_file(&file).map_err(|error| error.at_line(&self.name, 1))?);
        }
    }

    fn findings(&self) -> FileFindings {
        let counts = [(Skipped::Directory, self.folders), (Skipped::FolderMarker, self.markers)];
        let skipped = counts.into_iter().filter(|(_, count)| *count > 0).collect();
        let lacks_checksums = !self.with_etags;
        FileFindings { skipped, lacks_checksums, ..FileFindings::default() }
    }

    fn created(&self) -> Option<Timestamp> {
        self.created
    }
}

impl Columns {
    fn of(schema: &str) -> Result<Self, Error> {
        let names: Vec<String> = schema.split(',').map(|name| name.trim().to_owned()).collect();
        let index = |name: &str| names.iter().position(|known| known == name);
        Ok(Columns {
            count: names.len(),
            key: index("Key").ok_or_else(|| Error::no_column("Key", &names))?,
            size: index("Size"),
            is_latest: index("IsLatest"),
            is_delete_marker: index("IsDeleteMarker"),
            etag: index("ETag"),
            encryption: index("EncryptionStatus"),
        })
    }
}

/// The size and modification time of a file.
fn state_of(file: &File) -> io::Result<(u64, SystemTime)> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.modified()?))
}

fn size_and_md5(file: &mut File) -> io::Result<(u64, String)> {
    let (mut size, mut md5) = (0, Md5::new());
    let mut buffer = vec![0; 64 * 1_024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((size, hex::encode(md5.finalize()))),
            bytes => {
                size += bytes as u64;
                md5.update(&buffer[..bytes]);
            }
        }
    }
}
