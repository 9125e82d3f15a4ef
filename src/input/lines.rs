//! One id a line.

use std::io::BufRead;
use std::sync::Arc;

use super::numbered_lines::NumberedLines;
use super::{Error, Fault, Read, Record};
use crate::model::{GranuleId, GranuleIdError};

/// A line is read no further than this: an id of the greatest length, CR, LF, and a byte to spare.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The ids of a file that has one a line.
pub(super) struct Lines<R>(NumberedLines<R>);

impl<R: BufRead> Lines<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        Lines(NumberedLines::new(file, name, MAX_LINE_BYTES))
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        let Lines(lines) = self;
        while lines.advance()? {
            let text = lines.text();
            if text.is_empty() {
                continue;
            }
            let granule_id = GranuleId::from_bytes(text).map_err(|cause| {
                // Only the beginning of a line that is too long was read.
                let cause = match cause {
                    _ if text.len() as u64 == MAX_LINE_BYTES => {
                        GranuleIdError::TooLong { bytes: None }
                    }
                    cause => cause,
                };
                let text = String::from_utf8_lossy(text).into_owned();
                lines.fail(Fault::GranuleId { text, cause })
            })?;
            return Ok(Some(Record::new(granule_id, lines.location())));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Format, Options, open};

    fn read(bytes: &'static [u8]) -> Result<Vec<String>, String> {
        let options = Options { format: Some(Format::Lines), ..Options::default() };
        let records = open(bytes, "ids.txt", &options).map_err(|error| error.to_string())?;
        records
            .map(|record| record.map(|record| format!("{} {}", record.location, record.granule_id)))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())
    }

    #[test]
    fn line_ends_and_a_byte_order_mark_are_taken_off_and_nothing_else() {
        let expected = ["ids.txt:1 A", "ids.txt:2  B ", "ids.txt:4 #C"].map(str::to_owned);
        for bytes in [
            b"A\n B \n\n#C\n".as_slice(),
            b"A\n B \n\n#C",
            b"A\r\n B \r\n\r\n#C\r\n",
            b"A\r\n B \r\n\r\n#C\r",
            b"\xef\xbb\xbfA\n B \n\r\n#C\r",
        ] {
            assert_eq!(read(bytes).unwrap(), expected);
        }
        assert_eq!(read(b"").unwrap(), Vec::<String>::new());
        assert_eq!(read(b"\n\r\n\n").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn refused_lines_are_named() {
        let refused = [
            (
                b"A\nB\tC\n".as_slice(),
                "ids.txt:2: \"B\\tC\" is refused: a granule id has no control characters, this one holds U+0009",
            ),
            (
                b"A\rB\n",
                "ids.txt:1: \"A\\rB\" is refused: a granule id has no control characters, this one holds U+000D",
            ),
            (
                b"A\n\nB\xff\n",
                "ids.txt:3: \"B\u{fffd}\" is refused: a granule id is UTF-8, this one is not from its byte 2 on",
            ),
            (
                b"A\r\r\n",
                "ids.txt:1: \"A\\r\" is refused: a granule id has no control characters, this one holds U+000D",
            ),
        ];
        for (bytes, message) in refused {
            assert_eq!(read(bytes), Err(message.to_owned()));
        }
    }

    #[test]
    fn a_line_of_10_mb_is_refused_and_not_read() {
        let bytes: &'static [u8] = Box::leak(vec![b'a'; 10_000_000].into_boxed_slice());
        let error = read(bytes).unwrap_err();
        assert!(
            error.ends_with("is refused: a granule id has at most 1,024 bytes, this one has more"),
            "{error}"
        );
        let longest: &'static [u8] = Box::leak(vec![b'a'; 1_024].into_boxed_slice());
        assert_eq!(read(longest).unwrap().len(), 1);
        let too_long: &'static [u8] = Box::leak(vec![b'a'; 1_025].into_boxed_slice());
        assert!(read(too_long).unwrap_err().ends_with("this one has 1025"));
    }
}
