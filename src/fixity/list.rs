//! Lists of checksums as other programs read them.

use std::io::{self, Write};

use crate::model::Checksum;

/// The form of a line in a list of checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStyle {
    /// That of `sha256sum`: the checksum, two blanks, and the path. A path with a backslash, LF or CR is
    /// escaped as GNU coreutils do, and its line begins with a backslash.
    Checksums,
    /// That of a manifest of BagIt: the path is below `data/`, and `%`, LF and CR in it are percent-encoded
    /// (RFC 8493 § 2.1.3).
    BagIt,
}

impl ListStyle {
    /// Writes a line.
    ///
    /// # Errors
    ///
    /// Those of the output.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::fixity::ListStyle;
    /// use accession::model::{Algorithm, Checksum};
    ///
    /// let checksum = Checksum::parse(Algorithm::Crc32, "3bb935c6")?;
    /// let mut list = Vec::new();
    /// ListStyle::Checksums.write_line(&mut list, &checksum, "a\\b\n")?;
    /// ListStyle::BagIt.write_line(&mut list, &checksum, "100%\n")?;
    /// let expected = "\\3bb935c6  a\\\\b\\n\n3bb935c6  data/100%25%0A\n";
    /// assert_eq!(String::from_utf8(list)?, expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_line(
        self,
        out: &mut impl Write,
        checksum: &Checksum,
        path: &str,
    ) -> io::Result<()> {
        match self {
            ListStyle::Checksums if path.contains(['\\', '\n', '\r']) => {
                let path = path.replace('\\', r"\\").replace('\n', r"\n").replace('\r', r"\r");
                writeln!(out, "\\{checksum}  {path}")
            }
            ListStyle::Checksums => writeln!(out, "{checksum}  {path}"),
            ListStyle::BagIt => {
                let path = path.replace('%', "%25").replace('\n', "%0A").replace('\r', "%0D");
                writeln!(out, "{checksum}  data/{path}")
            }
        }
    }
}
