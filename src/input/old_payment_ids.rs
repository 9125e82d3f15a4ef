//! Reads payment ids that were issued before the registry began to issue them.

use std::io::Read;

use super::error::shown;
use super::file::{NumberedLines, OpenedFile};
use crate::error::Error;
use crate::minting::payment::PaymentId;

/// The greatest length of a line in bytes. An id has nine; more are read to show an invalid line in the
/// message.
const MAX_LINE_BYTES: u64 = 256;

impl PaymentId {
    /// Reads the payment ids of a file with one id per line, in its order. The file may be compressed with
    /// gzip; messages call it `name`.
    ///
    /// A UTF-8 byte order mark and line ends are removed, and empty lines are skipped. Ids are read in any
    /// case, because those of the old scheme are compared in upper case. Any other line is an error, because a
    /// skipped id could be issued again.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is UTF-16, or has a name that ends in `.gz` and is not gzip; or a line is not a
    /// payment id.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::ids::payment::PaymentId;
    ///
    /// let ids = PaymentId::read_list(&b"2KNQ8300Z\r\n2knq83010\n"[..], "old.txt")?;
    /// assert_eq!([ids[0].to_string(), ids[1].to_string()], ["2KNQ8300Z", "2KNQ83010"]);
    ///
    /// let error = PaymentId::read_list(&b"2KNQ8300Z,paid\n"[..], "old.txt").map_err(|error| error.to_string());
    /// assert_eq!(error, Err("old.txt:1: \"2KNQ8300Z,paid\" is not a payment id".to_owned()));
    /// # Ok::<(), accession::Error>(())
    /// ```
    pub fn read_list(
        file: impl Read + Send + 'static,
        name: &str,
    ) -> Result<Vec<PaymentId>, Error> {
        let file = OpenedFile::open(file, name)?;
        let name = file.name().clone();
        let mut lines = NumberedLines::new(file.into_reader(), name, MAX_LINE_BYTES);
        let mut ids = Vec::new();
        while lines.advance()? {
            if lines.text().is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(lines.text()).into_owned();
            // A longer line is not an id, so its unread part does not matter.
            let id = text.to_ascii_uppercase().parse();
            let refused = |_| Error::input(format!("{} is not a payment id", shown(&text)));
            ids.push(id.map_err(|error| lines.fail(refused(error)))?);
        }
        Ok(ids)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: impl Into<Vec<u8>>) -> Result<Vec<String>, String> {
        let file = std::io::Cursor::new(bytes.into());
        let ids = PaymentId::read_list(file, "old.txt").map_err(|error| error.to_string())?;
        Ok(ids.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_byte_order_mark_and_line_ends_are_removed() {
        for text in ["\u{feff}2KNQ8300Z\r\n\r\n2KNQ83010\r\n", "\n\n2knq8300z\n2KNQ83010"] {
            assert_eq!(read(text).unwrap(), ["2KNQ8300Z", "2KNQ83010"], "{text:?}");
        }
        assert_eq!(read("").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_line_that_is_not_an_id_is_an_error_with_its_location() {
        for line in [
            "\"2KNQ8300Z\"",
            "2KNQ8300Z,2001",
            " 2KNQ8300Z",
            "2KNQ8300Z ",
            "2KNQ8300",
            "2KNQ8300ZZ",
            "2KNQ-300Z",
            "# old",
            "2KNQ83ſ0Z",
        ] {
            let error = read(format!("2KNQ8300Z\n{line}\n2KNQ83010\n")).unwrap_err();
            assert_eq!(error, format!("old.txt:2: {line:?} is not a payment id"));
        }
        let error = read(b"2KNQ8300\xff\n").unwrap_err();
        assert_eq!(error, "old.txt:1: \"2KNQ8300\u{fffd}\" is not a payment id");
    }

    #[test]
    fn a_line_of_10_mb_is_refused_in_a_short_message() {
        assert!(read(vec![b'0'; 10_000_000]).unwrap_err().len() < 400);
    }
}
