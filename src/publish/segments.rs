//! The files of a log's segments.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::{Compression, GzBuilder};

use super::error::{Error, Result};
use crate::disk::Directory;
use crate::mirror::log::{Segment, Segments};

/// The name of the compressed form of a segment.
pub(super) fn zipped_name(index: usize) -> String {
    format!("{}.gz", Segment::file_name(index))
}

/// Checks that the segments have at least the lengths that their head announces, and complete ones
/// exactly these.
pub(super) fn check_lengths(log: &Directory, announced: &Segments) -> Result<()> {
    for (index, segment) in announced.0.iter().enumerate() {
        let name = Segment::file_name(index);
        let found = match log.read(&name)? {
            Some(file) => length(log, &name, &file)?,
            None => 0,
        };
        if found < segment.bytes || (segment.is_sealed() && found > segment.bytes) {
            let what = format!("it has {found} bytes, its head announces {}", segment.bytes);
            return Err(Error::Damaged { path: log.path_of(&name), line: None, what });
        }
    }
    Ok(())
}

/// Appends what is new, and makes it durable. What follows the announced length was written by a run that was
/// killed, and is removed. Returns how many bytes were appended.
pub(super) fn append(
    log: &Directory,
    announced: &Segments,
    new: &Segments,
    lines: &mut impl Read,
) -> Result<u64> {
    let mut appended = 0;
    let mut has_new_files = false;
    for (index, segment) in new.0.iter().enumerate() {
        let name = Segment::file_name(index);
        let failed = |source| Error::file("write", &log.path_of(&name), source);
        let mut file = match announced.0.get(index) {
            Some(before) if before.is_sealed() => continue,
            Some(before) => {
                let gone = || failed(io::ErrorKind::NotFound.into());
                let mut file = log.write(&name)?.ok_or_else(gone)?;
                let is_whole = length(log, &name, &file)? == before.bytes;
                if is_whole && before.bytes == segment.bytes {
                    continue;
                }
                file.set_len(before.bytes).map_err(failed)?;
                file.seek(SeekFrom::End(0)).map_err(failed)?;
                file
            }
            None => {
                has_new_files = true;
                // Those that exist were left by a run that was killed: no head announces them.
                log.remove(&zipped_name(index))?;
                log.create(&name)?
            }
        };
        let bytes = segment.bytes - announced.0.get(index).map_or(0, |before| before.bytes);
        let copied = io::copy(&mut lines.take(bytes), &mut file).map_err(failed)?;
        if copied != bytes {
            return Err(failed(io::ErrorKind::UnexpectedEof.into()));
        }
        file.sync_data().map_err(failed)?;
        appended += bytes;
    }
    if has_new_files {
        log.sync()?;
    }
    Ok(appended)
}

/// Writes the compressed form of each complete segment beside it, unless it is there.
pub(super) fn compress(log: &Directory, segments: &Segments) -> Result<()> {
    for (index, _) in segments.0.iter().enumerate().filter(|(_, segment)| segment.is_sealed()) {
        let (name, zipped) = (Segment::file_name(index), zipped_name(index));
        if log.read(&zipped)?.is_some() {
            continue;
        }
        let Some(mut plain) = log.read(&name)? else { continue };
        log.replace(&zipped, |file| {
            // Without a time and a name, the same segment gives the same bytes.
            let mut zip = GzBuilder::new().write(&mut *file, Compression::best());
            io::copy(&mut plain, &mut zip)?;
            zip.finish()?;
            file.sync_data()
        })?;
    }
    Ok(())
}

fn length(log: &Directory, name: &str, file: &File) -> Result<u64> {
    let found = file.metadata();
    Ok(found.map_err(|source| Error::file("read", &log.path_of(name), source))?.len())
}
