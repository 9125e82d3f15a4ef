//! The path and the checksums of a file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::message::ParseError;

/// The path of a file, relative to the root directory of a dataset's files.
///
/// # Syntax
///
/// Non-empty UTF-8 of at most [`FilePath::MAX_BYTES`] bytes without control characters. It does not begin with
/// `/` or `./`, and no segment of it is `..`. Everything else is stored unchanged.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Box<str>);

impl FilePath {
    /// The greatest length of a path, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 1_024;

    /// Checks `text` and makes it a path.
    ///
    /// # Errors
    ///
    /// - `""`: empty
    /// - `"/data/A.nc"`: not relative
    /// - `"../A.nc"`: leads out of the root directory
    pub fn new(text: impl Into<Box<str>>) -> Result<Self, ParseError> {
        let text = text.into();
        FilePath::check(&text).map(|()| FilePath(text))
    }

    /// Checks `text` without making it a path.
    pub(super) fn check(text: &str) -> Result<(), ParseError> {
        let bytes = text.len();
        if text.is_empty() {
            Err(ParseError::new("the path of a file cannot be empty"))
        } else if bytes > FilePath::MAX_BYTES {
            let most = "the path of a file has at most 1,024 bytes";
            Err(ParseError::new(format!("{most}, but this one has {bytes}")))
        } else if let Some(refused) = text.chars().find(|it| it.is_control()) {
            let code = u32::from(refused);
            let message = format!("the path of a file does not contain U+{code:04X}");
            Err(ParseError::new(message))
        } else if text.starts_with("./") {
            Err(ParseError::new("the path of a file does not begin with \"./\""))
        } else if text.starts_with('/') || text.split('/').any(|segment| segment == "..") {
            let message = "the path of a file is relative to a root directory, and has no \"..\"";
            Err(ParseError::new(message))
        } else {
            Ok(())
        }
    }

    /// Returns the path as a string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FilePath {
    type Err = ParseError;

    /// # Errors
    ///
    /// Those of [`FilePath::new`].
    fn from_str(text: &str) -> Result<Self, ParseError> {
        FilePath::new(text)
    }
}

/// The size and one checksum of a file, computed or read together. `None` means that it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct FileContent {
    /// Its size in bytes.
    pub size: Option<u64>,
    /// A checksum.
    pub checksum: Option<Checksum>,
}

/// An algorithm that computes a checksum from the bytes of a file.
///
/// # Syntax
///
/// Written in lower case, as in the list below. Read in any case, with or without `-`, `_`, `/` and blanks: the
/// spellings of UMM-G (`SHA-256`), PDR and Cumulus (`CKSUM`, `md5`), STAC, BagIt (`sha256`) and coreutils
/// (`SHA256`). Other names are accepted, and stored in lower case, if they begin with a letter or a digit and
/// have at most [`OtherAlgorithm::MAX_CHARACTERS`] characters `a-z`, `0-9`, `.`, `_`, `/` and `-`. Only `size`
/// is rejected.
///
/// # Examples
///
/// ```
/// use accession::file::Algorithm;
///
/// assert_eq!("SHA256".parse(), Ok(Algorithm::Sha256));
/// assert_eq!("POSIX".parse::<Algorithm>()?.to_string(), "cksum");
/// assert_eq!("BLAKE2b".parse::<Algorithm>()?.to_string(), "blake2b");
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// MD5 (RFC 1321).
    Md5,
    /// SHA-1 (FIPS 180-4).
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// SHA-384 (FIPS 180-4).
    Sha384,
    /// SHA-512 (FIPS 180-4).
    Sha512,
    /// CRC-32 of IEEE 802.3, as gzip and zip use it.
    Crc32,
    /// The CRC of POSIX `cksum`, which includes the length of the file.
    Cksum,
    /// Adler-32 (RFC 1950).
    Adler32,
    /// An algorithm that this program cannot compute.
    Other(OtherAlgorithm),
}

/// The name of an algorithm that this program cannot compute, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OtherAlgorithm(Box<str>);

impl OtherAlgorithm {
    /// The greatest length of a name, in characters.
    pub const MAX_CHARACTERS: usize = 64;

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Algorithm {
    /// The algorithms that this program computes.
    pub const KNOWN: [Algorithm; 8] = [
        Algorithm::Md5,
        Algorithm::Sha1,
        Algorithm::Sha256,
        Algorithm::Sha384,
        Algorithm::Sha512,
        Algorithm::Crc32,
        Algorithm::Cksum,
        Algorithm::Adler32,
    ];

    /// Returns its name.
    pub fn as_str(&self) -> &str {
        match self {
            Algorithm::Md5 => "md5",
            Algorithm::Sha1 => "sha-1",
            Algorithm::Sha256 => "sha-256",
            Algorithm::Sha384 => "sha-384",
            Algorithm::Sha512 => "sha-512",
            Algorithm::Crc32 => "crc32",
            Algorithm::Cksum => "cksum",
            Algorithm::Adler32 => "adler32",
            Algorithm::Other(other) => other.as_str(),
        }
    }

    /// The number of bytes of a checksum. `None` means that it is not known.
    pub fn checksum_bytes(&self) -> Option<usize> {
        match self {
            Algorithm::Md5 => Some(16),
            Algorithm::Sha1 => Some(20),
            Algorithm::Sha256 => Some(32),
            Algorithm::Sha384 => Some(48),
            Algorithm::Sha512 => Some(64),
            Algorithm::Crc32 | Algorithm::Cksum | Algorithm::Adler32 => Some(4),
            Algorithm::Other(_) => None,
        }
    }

    /// The algorithm whose checksums have this number of hexadecimal digits. `None` means that no algorithm
    /// does, or several: eight digits can be a `crc32` or an `adler32`.
    pub(crate) fn of_digits(digits: usize) -> Option<Algorithm> {
        let is_it = |algorithm: &Algorithm| algorithm.checksum_bytes() == Some(digits / 2);
        (digits > 8 && digits.is_multiple_of(2))
            .then(|| Algorithm::KNOWN.into_iter().find(is_it))?
    }
}

impl FromStr for Algorithm {
    type Err = ParseError;

    /// # Errors
    ///
    /// - `""`: empty
    /// - `"a\tb"`: a control character
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let name = text.trim().to_lowercase();
        let bare: String = name.chars().filter(|it| !['-', '_', '/', ' '].contains(it)).collect();
        Ok(match bare.as_str() {
            "md5" => Algorithm::Md5,
            "sha1" => Algorithm::Sha1,
            "sha256" | "sha2256" => Algorithm::Sha256,
            "sha384" | "sha2384" => Algorithm::Sha384,
            "sha512" | "sha2512" => Algorithm::Sha512,
            "crc32" => Algorithm::Crc32,
            "cksum" | "posix" | "posixcksum" => Algorithm::Cksum,
            "adler32" => Algorithm::Adler32,
            _ if !is_name(&name) => {
                let message = "the name of an algorithm has 1 to 64 characters a-z, 0-9, \".\", \"_\", \
                     \"/\" and \"-\", begins with a letter or a digit, and is not \"size\"";
                return Err(ParseError::new(message));
            }
            _ => Algorithm::Other(OtherAlgorithm(name.into())),
        })
    }
}

/// Whether `name` is allowed for an algorithm. In a canonical list, a colon follows it.
fn is_name(name: &str) -> bool {
    let is_plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit();
    let is_part = |it: char| is_plain(it) || ['.', '_', '/', '-'].contains(&it);
    name != "size"
        && name.len() <= OtherAlgorithm::MAX_CHARACTERS
        && name.starts_with(is_plain)
        && name.chars().all(is_part)
}

/// The checksum of a file, with the algorithm that computes it.
///
/// # Syntax
///
/// Lower-case hexadecimal digits. A `cksum` is a decimal number. If this program cannot compute the algorithm,
/// the value is stored and written unchanged.
///
/// # Examples
///
/// ```
/// use accession::file::{Algorithm, Checksum};
///
/// let checksum = Checksum::parse(Algorithm::Crc32, "3BB935C6")?;
/// assert_eq!(checksum.to_string(), "3bb935c6");
/// assert_eq!(checksum, Checksum::from_bytes(Algorithm::Crc32, &[0x3b, 0xb9, 0x35, 0xc6])?);
/// # Ok::<(), accession::ParseError>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checksum {
    algorithm: Algorithm,
    /// The value, most significant byte first. For an unknown algorithm, its text.
    bytes: Box<[u8]>,
}

impl Checksum {
    /// The greatest length of a checksum of an unknown algorithm, in bytes.
    pub const MAX_BYTES: usize = 512;

    /// Parses a checksum. Hexadecimal digits may be in any case. A `crc32` or `adler32` may lack leading zeros.
    ///
    /// # Errors
    ///
    /// - `"3bb9"`, of `md5`: not 32 digits
    /// - `"4294967296"`, of `cksum`: not a number of 32 bits
    /// - `"a b"`, of an unknown algorithm: a blank
    pub fn parse(algorithm: Algorithm, text: &str) -> Result<Self, ParseError> {
        let invalid = || not_of(&algorithm);
        let bytes: Box<[u8]> = match &algorithm {
            Algorithm::Other(_) => text.as_bytes().into(),
            Algorithm::Cksum => {
                let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
                let number = text.parse::<u32>().ok().filter(|_| is_number).ok_or_else(invalid)?;
                number.to_be_bytes().into()
            }
            Algorithm::Crc32 | Algorithm::Adler32 if (1..8).contains(&text.len()) => {
                from_hex(&format!("{text:0>8}")).ok_or_else(invalid)?
            }
            _ => from_hex(text).ok_or_else(invalid)?,
        };
        match Checksum::is_valid(&algorithm, &bytes) {
            true => Ok(Checksum { algorithm, bytes }),
            false => Err(invalid()),
        }
    }

    /// The checksum with these bytes, the most significant first. For an unknown algorithm, the bytes are its
    /// text.
    ///
    /// # Errors
    ///
    /// - 3 bytes, of `crc32`: not 4
    /// - `b"\xff"`, of an unknown algorithm: not UTF-8
    pub fn from_bytes(algorithm: Algorithm, bytes: &[u8]) -> Result<Self, ParseError> {
        match Checksum::is_valid(&algorithm, bytes) {
            true => Ok(Checksum { algorithm, bytes: bytes.into() }),
            false => Err(not_of(&algorithm)),
        }
    }

    /// Whether a checksum of the algorithm can have these bytes.
    pub(super) fn is_valid(algorithm: &Algorithm, bytes: &[u8]) -> bool {
        match algorithm.checksum_bytes() {
            Some(length) => bytes.len() == length,
            None => {
                let is_printed = |text: &str| {
                    !text.contains(|it: char| it.is_whitespace() || it.is_control() || it == ':')
                };
                (1..=Checksum::MAX_BYTES).contains(&bytes.len())
                    && std::str::from_utf8(bytes).is_ok_and(is_printed)
            }
        }
    }

    /// Returns its rank in the order of strength.
    pub(crate) fn strength(&self) -> Strength<'_> {
        let characters = match (&self.algorithm, self.algorithm.checksum_bytes()) {
            // A decimal number of 32 bits has at most 10 digits.
            (Algorithm::Cksum, _) => 10,
            (_, Some(bytes)) => 2 * bytes,
            (_, None) => String::from_utf8_lossy(&self.bytes).chars().count(),
        };
        Strength::of(self.algorithm.as_str(), characters)
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> &Algorithm {
        &self.algorithm
    }

    /// Returns the bytes of the value, the most significant first. For an unknown algorithm, those of its text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The rank of a checksum in the order of strength. The strongest checksum of a file is the least.
///
/// The digest covers the strongest checksum of each file. Registries and logs sort checksums in this order.
///
/// 1. `sha-512`, `sha-384`, `sha-256`
/// 2. any other algorithm whose value has 56 characters or more, ascending by the bytes of the name
/// 3. `sha-1`
/// 4. `md5`
/// 5. other algorithms whose value has 17 to 55 characters, by name
/// 6. those whose value has 16 characters or fewer, by name
/// 7. `s3-etag`
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Strength<'a> {
    rank: u8,
    algorithm: &'a str,
}

impl<'a> Strength<'a> {
    /// The strength of a checksum of this algorithm, whose value has this number of characters.
    pub fn of(algorithm: &'a str, characters: usize) -> Self {
        let rank = match (algorithm, characters) {
            ("sha-512", _) => 0,
            ("sha-384", _) => 1,
            ("sha-256", _) => 2,
            ("sha-1", _) => 4,
            ("md5", _) => 5,
            ("s3-etag", _) => 8,
            (_, 56..) => 3,
            (_, 17..) => 6,
            _ => 7,
        };
        Strength { rank, algorithm }
    }

    /// Returns whether the checksum is at least as strong as `md5`.
    pub fn is_of_a_hash(self) -> bool {
        self.rank <= 5
    }
}

/// The value of each hexadecimal digit, and a greater one for other characters. A table look-up has no branch
/// that random digits could mispredict: with one, reading a listing with checksums takes a fifth longer.
const DIGITS: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// Decodes hexadecimal digits. `None` means that the text has other characters, or an odd length.
fn from_hex(text: &str) -> Option<Box<[u8]>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let mut seen = 0;
    let value = |digit: u8| DIGITS[usize::from(digit)];
    let byte = |&[high, low]: &[u8; 2]| {
        seen |= value(high) | value(low);
        value(high) << 4 | value(low)
    };
    let bytes = pairs.iter().map(byte).collect();
    (rest.is_empty() && seen < 16).then_some(bytes)
}

/// The error for a value that is not a checksum of the algorithm.
fn not_of(algorithm: &Algorithm) -> ParseError {
    ParseError::new(match (algorithm, algorithm.checksum_bytes()) {
        (Algorithm::Cksum, _) => {
            "a checksum of cksum is a decimal number below 4,294,967,296".to_owned()
        }
        (_, Some(bytes)) => {
            format!("a checksum of {algorithm} has {} hexadecimal digits", 2 * bytes)
        }
        (_, None) => {
            format!("a checksum of {algorithm} has 1 to 512 bytes, no blanks and no colon")
        }
    })
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.algorithm {
            Algorithm::Other(_) => f.pad(&String::from_utf8_lossy(&self.bytes)),
            Algorithm::Cksum => {
                let number = self.bytes.iter().fold(0_u32, |sum, byte| sum << 8 | u32::from(*byte));
                f.pad(&number.to_string())
            }
            _ => f.pad(&hex::encode(&self.bytes)),
        }
    }
}

impl fmt::Debug for Checksum {
    /// Writes the algorithm and the value, as in a log: `sha-256:ba78…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{self}", self.algorithm)
    }
}

impl FromStr for Checksum {
    type Err = ParseError;

    /// Parses the format that [`Debug`](fmt::Debug) writes.
    ///
    /// # Errors
    ///
    /// - `"ba78"`: no algorithm
    /// - those of [`Checksum::parse`]
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let parts = text.split_once(':');
        let (algorithm, value) =
            parts.ok_or_else(|| ParseError::new("a checksum has no algorithm"))?;
        Checksum::parse(algorithm.parse()?, value)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:?}"))
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_to_a_file_below_the_root() {
        for path in ["A", "a/b", "a b", "..A", "größe", "a//b", &"a".repeat(1_024)] {
            assert_eq!(FilePath::new(path).unwrap().as_str(), path);
        }
        for (path, error) in [
            ("", "cannot be empty"),
            ("/a", "has no \"..\""),
            ("..", "has no \"..\""),
            ("a/../../b", "has no \"..\""),
            ("a\0b", "does not contain U+0000"),
            ("a\nb", "does not contain U+000A"),
            ("./a", "does not begin with \"./\""),
            (&"a".repeat(1_025), "but this one has 1025"),
        ] {
            assert!(FilePath::new(path).unwrap_err().to_string().ends_with(error), "{path:?}");
        }
    }

    #[test]
    fn an_algorithm_is_read_in_the_spellings_of_other_programs() {
        for (spellings, name) in [
            ("MD5 md5 md-5", "md5"),
            ("SHA-1 SHA1 sha1", "sha-1"),
            ("SHA-256 SHA256 sha256 SHA2-256 sha-256", "sha-256"),
            ("SHA-384 sha384", "sha-384"),
            ("SHA-512 sha512 SHA_512", "sha-512"),
            ("CRC32 CRC-32 crc32", "crc32"),
            ("CKSUM POSIX cksum", "cksum"),
            ("Adler-32 ADLER32", "adler32"),
            ("SM3", "sm3"),
            ("Fletcher-32", "fletcher-32"),
        ] {
            for spelling in spellings.split(' ') {
                assert_eq!(spelling.parse::<Algorithm>().unwrap().as_str(), name, "{spelling}");
            }
        }
        for known in Algorithm::KNOWN {
            assert_eq!(known.as_str().parse(), Ok(known));
        }
        for refused in ["", " ", "-", "a\u{1b}b", "a:b", "size", "größe", &"a".repeat(65)] {
            let error = refused.parse::<Algorithm>().unwrap_err().to_string();
            assert!(error.starts_with("the name of an algorithm"), "{refused:?}");
        }
    }

    #[test]
    fn a_checksum_is_written_in_one_way() {
        let other: Algorithm = "SM3".parse().unwrap();
        for (algorithm, read, written) in [
            (
                Algorithm::Md5,
                "D41D8CD98F00B204E9800998ECF8427E",
                "d41d8cd98f00b204e9800998ecf8427e",
            ),
            (Algorithm::Crc32, "b935c6", "00b935c6"),
            (Algorithm::Adler32, "00000001", "00000001"),
            (Algorithm::Cksum, "4294967295", "4294967295"),
            (Algorithm::Cksum, "0000000007", "7"),
            (other, "Zm9v=", "Zm9v="),
        ] {
            let checksum = Checksum::parse(algorithm.clone(), read).unwrap();
            assert_eq!(checksum.to_string(), written);
            assert_eq!(Checksum::from_bytes(algorithm, checksum.as_bytes()), Ok(checksum));
        }
    }

    #[test]
    fn what_is_not_a_checksum_of_its_algorithm_is_refused() {
        let other: Algorithm = "sm3".parse().unwrap();
        for (algorithm, text) in [
            (Algorithm::Md5, ""),
            (Algorithm::Md5, "d41d8cd98f00b204e9800998ecf8427"),
            (Algorithm::Sha256, "d41d8cd98f00b204e9800998ecf8427e"),
            (Algorithm::Md5, "g41d8cd98f00b204e9800998ecf8427e"),
            (Algorithm::Crc32, ""),
            (Algorithm::Crc32, "0x12"),
            (Algorithm::Crc32, "123456789"),
            (Algorithm::Cksum, "+7"),
            (Algorithm::Cksum, "4294967296"),
            (other.clone(), ""),
            (other.clone(), "a b"),
            (other.clone(), "a:b"),
            (other, &"a".repeat(513)),
        ] {
            let error = Checksum::parse(algorithm.clone(), text);
            assert_eq!(error, Err(not_of(&algorithm)), "{text:?}");
        }
    }

    #[test]
    fn a_checksum_is_as_strong_as_its_algorithm_or_the_length_of_its_value() {
        let of = |algorithm: &str, characters: usize| {
            Checksum::parse(algorithm.parse().unwrap(), &"0".repeat(characters)).unwrap()
        };
        let strongest_first = [
            of("sha-512", 128),
            of("sha-384", 96),
            of("sha-256", 64),
            of("blake2b-512", 128),
            of("blake3", 64),
            of("tiger", 56),
            of("sha-1", 40),
            of("md5", 32),
            of("a", 17),
            of("tiger2", 55),
            of("adler32", 8),
            of("cksum", 10),
            of("crc32", 8),
            of("xxh64", 16),
            of("s3-etag", 64),
        ];
        let is_stronger = |a: &Checksum, b: &Checksum| a.strength() < b.strength();
        assert!(strongest_first.is_sorted_by(is_stronger), "{strongest_first:?}");
        let characters = of("a", 1).algorithm().clone();
        let characters = Checksum::parse(characters, &"ö".repeat(16)).unwrap();
        assert_eq!(characters.strength(), Strength::of("a", 16));
        let hashes = strongest_first.iter().take_while(|it| it.strength().is_of_a_hash());
        assert_eq!(hashes.count(), 8);
    }

    #[test]
    fn the_length_of_a_checksum_names_its_algorithm_unless_it_has_eight_digits() {
        for algorithm in &Algorithm::KNOWN[..5] {
            let digits = 2 * algorithm.checksum_bytes().unwrap();
            assert_eq!(Algorithm::of_digits(digits).as_ref(), Some(algorithm));
            assert_eq!(Algorithm::of_digits(digits + 1), None);
        }
        assert_eq!((Algorithm::of_digits(8), Algorithm::of_digits(0)), (None, None));
    }
}
