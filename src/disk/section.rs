//! Reading several parts of one file side by side.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

/// A section of a file with a read position of its own, so that several can be read in parallel.
pub(crate) struct Section {
    pub file: Arc<File>,
    pub rest: Range<u64>,
}

impl Read for Section {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = read_at(&self.file, &mut buffer[..wanted], self.rest.start)?;
        if read == 0 && wanted > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest.start += read as u64;
        Ok(read)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
