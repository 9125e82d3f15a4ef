//! The bytes of a file: out of gzip, without a byte order mark, and the beginning looked at.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;

use super::{Error, Fault, Format, Options};

/// How much is looked at to tell the format, and more if the first line is longer.
const BEGINNING_BYTES: u64 = 64 * 1_024;

/// The longest first line that is looked at.
const MAX_FIRST_LINE_BYTES: u64 = 1_024 * 1_024;

const BUFFER_BYTES: usize = 64 * 1_024;

/// A file whose beginning was looked at.
pub(super) struct Source {
    beginning: Vec<u8>,
    rest: Box<dyn BufRead>,
    is_gzip: bool,
}

impl Source {
    pub fn open(file: impl Read + 'static, name: &Arc<str>) -> Result<Self, Error> {
        Source::look_at(file).map_err(|cause| Error::new(name, 1, Fault::Unreadable { cause }))
    }

    /// As [`Source::open`]; refuses what has the name of a compressed file, and is none.
    pub fn open_by_name(file: impl Read + 'static, name: &Arc<str>) -> Result<Self, Error> {
        let source = Source::open(file, name)?;
        if name.ends_with(".gz") && !source.is_gzip {
            return Err(Error::new(name, 1, Fault::NotGzip));
        }
        Ok(source)
    }

    fn look_at(file: impl Read + 'static) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut magic = Vec::new();
        (&mut file).take(2).read_to_end(&mut magic)?;
        let is_gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(file);
        let mut rest: Box<dyn BufRead> = if is_gzip {
            // A file may be several, one behind the other (RFC 1952 § 2.2).
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        let mut beginning = Vec::new();
        (&mut rest).take(MAX_FIRST_LINE_BYTES).read_until(b'\n', &mut beginning)?;
        let more = BEGINNING_BYTES.saturating_sub(beginning.len() as u64);
        (&mut rest).take(more).read_to_end(&mut beginning)?;
        if beginning.starts_with(b"\xef\xbb\xbf") {
            beginning.drain(..3);
        }
        Ok(Source { beginning, rest, is_gzip })
    }

    /// The format that was asked for, or that the beginning shows.
    pub fn format(&self, name: &Arc<str>, options: &Options) -> Result<Format, Error> {
        match options.format {
            Some(format) => Ok(format),
            None => Format::detect(&self.beginning, options.column.as_deref())
                .map_err(|fault| Error::new(name, 1, fault)),
        }
    }

    /// The whole file.
    pub fn into_reader(self) -> Box<dyn BufRead> {
        Box::new(Cursor::new(self.beginning).chain(self.rest))
    }
}
