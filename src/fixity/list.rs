//! Lists of the checksums of a set's files, in formats that other programs read.

use std::io::{self, Write};

use crate::error::{Error, ErrorDetail};
use crate::model::{Algorithm, Checksum, FileRecord, GranuleId, Set, Warning, WarningKind, plural};
use crate::registry::{Granule, Registry};

/// The format of a line in a list of checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListStyle {
    /// The format of `sha256sum`: the checksum, two blanks, and the path. A path with a backslash, LF or CR is
    /// escaped as in GNU coreutils, and its line begins with a backslash.
    Checksums,
    /// The format of a BagIt manifest: the path is below `data/`, and `%`, LF and CR in it are percent-encoded
    /// (RFC 8493 § 2.1.3).
    BagIt,
}

impl ListStyle {
    /// Writes a line.
    ///
    /// # Examples
    ///
    /// ```
    /// use accession::fixity::ListStyle;
    /// use accession::file::{Algorithm, Checksum};
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

/// The number of listed checksums of an algorithm, and of files and granules without one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedChecksums {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The number of files with a checksum.
    pub listed: u64,
    /// The number of files without one.
    pub files: u64,
    /// The number of granules without recorded files.
    pub granules: u64,
}

impl ListedChecksums {
    /// A warning about files and granules that were left out. `None` means that nothing was.
    pub fn warning(&self) -> Option<Warning> {
        let parts = [(self.granules, "granule"), (self.files, "file")];
        let parts = parts.iter().filter(|(number, _)| *number > 0);
        let parts: Vec<String> = parts.map(|(number, what)| plural(*number, what)).collect();
        let what = format!("left out {} without {}", parts.join(" and "), self.algorithm);
        (!parts.is_empty()).then(|| Warning::new(WarningKind::NoChecksum, what))
    }
}

impl Registry {
    /// Calls `each` for every file of a set that has a checksum of an algorithm. `None` means sha-256 if any
    /// file has one, else the strongest algorithm of the set.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::NoChecksums`](crate::error::ErrorDetail::NoChecksums): no file has one; those of reading
    /// the list, and of `each`.
    pub fn each_checksum<E: From<Error>>(
        &self,
        set: &Set,
        algorithm: Option<Algorithm>,
        mut each: impl FnMut(&GranuleId, &FileRecord, &Checksum) -> Result<(), E>,
    ) -> Result<ListedChecksums, E> {
        let algorithm = match algorithm {
            Some(algorithm) => algorithm,
            None => {
                let usual = self.files(set).totals()?.usual_algorithm().cloned();
                usual.ok_or_else(|| no_checksums(set, "checksum"))?
            }
        };
        let mut listed = ListedChecksums { algorithm, listed: 0, files: 0, granules: 0 };
        for granule in self.files(set) {
            let Granule { granule_id, content } = granule?;
            listed.granules += u64::from(content.is_empty());
            for file in content.files() {
                let mut checksums = file.checksums().iter();
                match checksums.find(|checksum| *checksum.algorithm() == listed.algorithm) {
                    Some(checksum) => {
                        listed.listed += 1;
                        each(&granule_id, &file, checksum)?;
                    }
                    None => listed.files += 1,
                }
            }
        }
        match listed.listed {
            0 => Err(no_checksums(set, listed.algorithm.as_str()).into()),
            _ => Ok(listed),
        }
    }
}

/// The error for a set without checksums, or without checksums of an algorithm.
fn no_checksums(set: &Set, what: &str) -> Error {
    let (dataset, identifier) = (set.dataset(), set.identifier());
    let message = format!("no file of {identifier} in {dataset} has a {what}");
    Error::new(ErrorDetail::NoChecksums, message)
}
