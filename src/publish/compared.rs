//! A published file that is compared with what it should contain.

use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use flate2::read::MultiGzDecoder;

use super::error::{Error, Result};
use crate::disk::Directory;

/// The expected content is given piece by piece. The first difference is kept.
pub(super) struct Compared {
    name: String,
    path: PathBuf,
    file: Box<dyn BufRead>,
    line: u64,
    found: Option<Unlike>,
}

/// The difference of a file.
pub(super) struct Unlike {
    /// The name of the file in its directory.
    pub name: String,
    /// The first line that differs, from 1. `None` means that it concerns the whole file.
    pub line: Option<u64>,
    /// What is wrong.
    pub text: &'static str,
}

impl Compared {
    /// Opens a file.
    pub fn open(directory: &Directory, name: &str) -> Result<Self> {
        let (name, path) = (name.to_owned(), directory.path_of(name));
        let (file, found): (Box<dyn BufRead>, _) = match directory.read(&name)? {
            Some(file) if name.ends_with(".gz") => {
                (Box::new(BufReader::new(MultiGzDecoder::new(BufReader::new(file)))), None)
            }
            Some(file) => (Box::new(BufReader::new(file)), None),
            None => {
                let text = "it is missing";
                (Box::new(io::empty()), Some(Unlike { name: name.clone(), line: None, text }))
            }
        };
        Ok(Compared { name, path, file, line: 1, found })
    }

    /// Compares the next part of the file.
    pub fn expect(&mut self, expected: &[u8]) -> Result<()> {
        if self.found.is_some() {
            return Ok(());
        }
        let mut found = Vec::new();
        let read = self.file.by_ref().take(expected.len() as u64).read_to_end(&mut found);
        if !self.is_readable(read)? || found == expected {
            self.line += lines(expected);
            return Ok(());
        }
        let same = found.iter().zip(expected).take_while(|(one, other)| one == other).count();
        self.line += lines(&expected[..same]);
        self.differs(match found.len() == same {
            true => "it is cut",
            false => "it is not as this registry publishes it",
        });
        Ok(())
    }

    /// Compares the end of the file: nothing may follow. `text` says what is wrong otherwise.
    pub fn end(mut self, text: &'static str) -> Result<Option<Unlike>> {
        if self.found.is_none() {
            let read = self.file.fill_buf().map(<[u8]>::len);
            let rest = *read.as_ref().unwrap_or(&0);
            if self.is_readable(read)? && rest > 0 {
                self.differs(text);
            }
        }
        Ok(self.found)
    }

    /// Whether it could be read: a compressed file that is damaged is a difference.
    fn is_readable(&mut self, read: io::Result<usize>) -> Result<bool> {
        use io::ErrorKind::{InvalidData, InvalidInput, UnexpectedEof};
        match read {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), InvalidData | InvalidInput | UnexpectedEof) => {
                self.differs("it cannot be decompressed");
                Ok(false)
            }
            Err(source) => Err(Error::file("read", &self.path, source)),
        }
    }

    fn differs(&mut self, text: &'static str) {
        // The lines of a compressed file are not what its reader sees.
        let line = (!self.name.ends_with(".gz")).then_some(self.line);
        self.found = Some(Unlike { name: self.name.clone(), line, text });
    }
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}
