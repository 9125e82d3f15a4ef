//! The files of a log's segments.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

use super::error::{Error, Result};
use crate::disk::AtomicFile;
use crate::mirror::log::{Line, Segment};

/// Appends lines to the last segment of a log, and begins further ones.
pub(super) struct SegmentFiles {
    directory: PathBuf,
    /// The zero-based number of the segment that grows, and its file.
    current: Option<(usize, BufWriter<File>)>,
    next: usize,
    /// How many bytes were written.
    pub written: u64,
}

impl SegmentFiles {
    /// Continues after these segments, whose files must be there. What follows their announced
    /// length is removed: it was written by a run that was killed.
    pub fn resume(directory: &Path, segments: &[Segment]) -> Result<Self> {
        let mut files = SegmentFiles {
            directory: directory.to_owned(),
            current: None,
            next: segments.len(),
            written: 0,
        };
        for (index, segment) in segments.iter().enumerate() {
            let path = files.path(index);
            let found = match path.metadata() {
                Ok(metadata) => metadata.len(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                Err(error) => return Err(Error::file("read", &path, error)),
            };
            if found < segment.bytes || (segment.is_sealed() && found > segment.bytes) {
                let what = format!("it has {found} bytes, its head announces {}", segment.bytes);
                return Err(Error::Damaged { path, what });
            }
            if segment.is_sealed() {
                files.compress(index)?;
                continue;
            }
            let open = || -> io::Result<File> {
                let mut file = File::options().write(true).open(&path)?;
                file.set_len(segment.bytes)?;
                file.seek(SeekFrom::End(0))?;
                Ok(file)
            };
            let file = open().map_err(|source| Error::file("write", &path, source))?;
            files.current = Some((index, BufWriter::new(file)));
        }
        Ok(files)
    }

    fn path(&self, index: usize) -> PathBuf {
        self.directory.join(Segment::file_name(index))
    }

    fn zipped_path(&self, index: usize) -> PathBuf {
        self.directory.join(format!("{}.gz", Segment::file_name(index)))
    }

    /// Appends a line.
    pub fn add(&mut self, line: &Line) -> Result<()> {
        let (index, mut file) = match self.current.take() {
            Some(current) => current,
            None => {
                let path = self.path(self.next);
                // An existing file was left by a run that was killed: no head refers to it.
                let failed = |source| Error::file("create", &path, source);
                let file = File::create(&path).map_err(failed)?;
                match fs::remove_file(self.zipped_path(self.next)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(error));
                    }
                    _ => {}
                }
                self.next += 1;
                (self.next - 1, BufWriter::new(file))
            }
        };
        let path = self.path(index);
        let failed = |source| Error::file("write", &path, source);
        file.write_all(line.text.as_bytes()).map_err(failed)?;
        self.written += line.text.len() as u64;
        if line.ends_segment {
            file.flush().and_then(|()| file.get_ref().sync_all()).map_err(failed)?;
            self.compress(index)?;
        } else {
            self.current = Some((index, file));
        }
        Ok(())
    }

    /// Makes what was written durable.
    pub fn finish(mut self) -> Result<u64> {
        if let Some((index, mut file)) = self.current.take() {
            let path = self.path(index);
            file.flush()
                .and_then(|()| file.get_ref().sync_all())
                .map_err(|source| Error::file("write", &path, source))?;
        }
        Ok(self.written)
    }

    /// Writes the compressed form of a complete segment beside it, unless it is there.
    fn compress(&self, index: usize) -> Result<()> {
        let path = self.path(index);
        let target = self.zipped_path(index);
        if target.exists() {
            return Ok(());
        }
        let mut plain = File::open(&path).map_err(|source| Error::file("read", &path, source))?;
        let mut file = AtomicFile::beside(&target)?;
        // Without a time and a name, the same segment gives the same bytes.
        let mut zipped = GzBuilder::new().write(file.as_file_mut(), Compression::best());
        io::copy(&mut plain, &mut zipped)
            .and_then(|_| zipped.finish().map(drop))
            .map_err(|source| Error::file("write", &target, source))?;
        Ok(file.replace()?)
    }
}
