//! Sizes and checksums of files, as input formats write them.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use super::error::shown;
use super::format::ListingOptions;
use super::json::whole_number;
use super::occurrences::Occurrences;
use super::warning::warning_of;
use crate::error::{Error, ErrorDetail};
use crate::model::{
    Algorithm, Checksum, Content, FilePath, FileRecord, GranuleId, SourceLocation, Warning,
    WarningKind, quoted,
};

/// The path, size and checksum of a file of a granule, read from an input file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatedFile {
    /// The path, as it is listed, without a leading `./`.
    pub path: FilePath,
    /// The size in bytes. `None` means that it is missing.
    pub size: Option<u64>,
    /// The checksum. `None` means that it is missing.
    pub checksum: Option<Checksum>,
}

impl StatedFile {
    /// Merges the files of a granule. `None` means that they have neither sizes nor checksums.
    ///
    /// # Errors
    ///
    /// [`ErrorDetail::FileMetadata`](crate::error::ErrorDetail::FileMetadata): two entries for one file
    /// contradict each other.
    pub(super) fn content(
        files: Vec<StatedFile>,
        granule_id: &GranuleId,
        location: &SourceLocation,
    ) -> Result<Option<Content>, Error> {
        let known = |StatedFile { path, size, checksum }: StatedFile| {
            FileRecord::new(granule_id, Some(path), size, checksum)
        };
        let stated = Content::merged(granule_id, files.into_iter().filter_map(known).collect());
        let stated = stated.map_err(|conflict| Error::from(conflict).at(location.clone()))?;
        Ok((!stated.is_empty()).then_some(stated))
    }
}

/// The path, size and checksum of a file of a granule, as they are written.
#[derive(Debug, Default)]
pub(super) struct WrittenFile {
    /// The path. `None` means that the entry is ignored.
    pub path: Option<String>,
    /// The size in bytes.
    pub size: Option<String>,
    /// The name of the checksum's algorithm, or `multihash`.
    pub algorithm: Option<String>,
    /// The checksum.
    pub checksum: Option<String>,
    /// Whether the checksum is a JSON number.
    pub has_numeric_checksum: bool,
    /// The location of the entry. `None` means the location of the granule.
    pub location: Option<SourceLocation>,
}

/// The name for the algorithm of an S3 ETag, which is MD5 if it has 32 hexadecimal digits.
pub(super) const ETAG: &str = "etag";

/// The algorithm of ETags that are not the MD5 checksum of their object, because it was uploaded in parts, or
/// is encrypted with keys of KMS or of a customer.
pub(super) const S3_ETAG: &str = "s3-etag";

/// Whether an ETag has the form of an MD5 checksum.
pub(super) fn is_md5(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|it| it.is_ascii_hexdigit())
}

impl WrittenFile {
    /// Parses the entry. `None` means that it has neither a size nor a checksum.
    fn read(&self, default: Option<&Algorithm>) -> Result<Option<StatedFile>, Error> {
        let filled = |text| Option::<&String>::filter(text, |text| !text.trim().is_empty());
        let Some(path) = &self.path else { return Ok(None) };
        let size = filled(self.size.as_ref()).map(|text| size(text)).transpose()?;
        let algorithm_name = filled(self.algorithm.as_ref()).map(String::as_str);
        if self.has_numeric_checksum && filled(self.checksum.as_ref()).is_some() {
            let named = algorithm_name.map(algorithm).transpose()?;
            // Hexadecimal digits that were read as a number lose leading zeros, or become an exponent.
            if named.as_ref().or(default) != Some(&Algorithm::Cksum) {
                let path = shown(path);
                let message = format!(
                    "the checksum of {path} is a number, not a string: only that of cksum can be one"
                );
                return Err(Error::new(ErrorDetail::FileMetadata, message));
            }
        }
        let checksum = match (algorithm_name, filled(self.checksum.as_ref())) {
            (_, None) => None,
            (Some("multihash"), Some(text)) => Some(multihash(text)?),
            (Some(ETAG), Some(text)) => {
                let name = if is_md5(text) { "md5" } else { S3_ETAG };
                Some(checksum(Some(&algorithm(name)?), text)?)
            }
            (Some(name), Some(text)) => Some(checksum(Some(&algorithm(name)?), text)?),
            (None, Some(text)) => Some(checksum(default, text)?),
        };
        let is_stated = size.is_some() || checksum.is_some();
        is_stated.then(|| Ok(StatedFile { path: file_path(path)?, size, checksum })).transpose()
    }
}

/// Reads the sizes and checksums of files as the options require, and counts what it skips.
#[derive(Default)]
pub(super) struct FileReading {
    /// Whether sizes and checksums are ignored.
    is_off: bool,
    /// Whether unreadable entries are skipped and counted, instead of rejected.
    skips: bool,
    /// The algorithm of checksums whose entry does not name it.
    algorithm: Option<Algorithm>,
    /// Whether ETags are read.
    with_etags: bool,
    /// The number of ETags that were read and are not the MD5 checksum of their object.
    other_etags: u64,
    skipped: Occurrences,
    /// The algorithms that were guessed from the lengths of checksums, each with the number of files.
    guessed: BTreeMap<Algorithm, u64>,
}

impl FileReading {
    pub(super) fn new(options: &ListingOptions) -> Self {
        let ListingOptions { without_files, skip_odd_files, algorithm, with_etags, .. } = options;
        let (is_off, skips, algorithm) = (*without_files, *skip_odd_files, algorithm.clone());
        FileReading { is_off, skips, algorithm, with_etags: *with_etags, ..FileReading::default() }
    }

    /// Parses the files of a granule. If unreadable entries are skipped, so are all entries of a path for which
    /// two entries have different sizes, or different checksums of one algorithm.
    ///
    /// # Errors
    ///
    /// An entry cannot be read, and such entries are not skipped.
    pub(super) fn of_granule(
        &mut self,
        written: &[WrittenFile],
        granule: &SourceLocation,
    ) -> Result<Vec<StatedFile>, Error> {
        let mut files = Vec::new();
        if self.is_off {
            return Ok(files);
        }
        for file in written {
            let location = file.location.as_ref().unwrap_or(granule);
            let is_etag = matches!(file.algorithm.as_deref(), Some(ETAG | S3_ETAG));
            if is_etag && !self.with_etags {
                continue;
            }
            match file.read(self.algorithm.as_ref()) {
                Ok(read) => {
                    let is_guessed = self.algorithm.is_none() && file.algorithm.is_none();
                    let checksum = read.as_ref().and_then(|read| read.checksum.as_ref());
                    let is_other = |it: &&Checksum| it.algorithm().as_str() == S3_ETAG;
                    self.other_etags += u64::from(checksum.filter(is_other).is_some());
                    if let Some(checksum) = checksum.filter(|_| is_guessed) {
                        *self.guessed.entry(checksum.algorithm().clone()).or_default() += 1;
                    }
                    files.extend(read);
                }
                Err(error) if self.skips => self.skipped.add(&error.to_string(), location),
                Err(error) => return Err(error.at(location.clone())),
            }
        }
        if !self.skips || files.len() < 2 {
            return Ok(files);
        }
        let odd = contradicted(&files);
        let (odd, rest): (Vec<StatedFile>, Vec<StatedFile>) =
            files.into_iter().partition(|file| odd.contains(&file.path));
        for StatedFile { path, .. } in odd {
            let what = format!("{} is listed twice, with different bytes", quoted(path.as_str()));
            self.skipped.add(&what, granule);
        }
        Ok(rest)
    }

    /// The algorithms that were guessed from the lengths of checksums, each with the number of files.
    pub(super) fn guessed(&self) -> &BTreeMap<Algorithm, u64> {
        &self.guessed
    }

    /// The number of ETags that were read and are not the MD5 checksum of their object.
    pub(super) fn other_etags(&self) -> u64 {
        self.other_etags
    }

    /// The warning about the skipped entries.
    pub(super) fn warning(&self) -> Option<Warning> {
        warning_of(&self.skipped, WarningKind::FilesSkipped)
    }
}

/// The paths with two sizes, or with two checksums of one algorithm. Costs one look-up for each file.
fn contradicted(files: &[StatedFile]) -> HashSet<FilePath> {
    let mut sizes: HashMap<&FilePath, u64> = HashMap::new();
    let mut checksums: HashMap<(&FilePath, &Algorithm), &Checksum> = HashMap::new();
    let mut odd = HashSet::new();
    for StatedFile { path, size, checksum } in files {
        let size = *size;
        let is_other_size = size.is_some_and(|size| *sizes.entry(path).or_insert(size) != size);
        let is_other_checksum = checksum.as_ref().is_some_and(|checksum| {
            *checksums.entry((path, checksum.algorithm())).or_insert(checksum) != checksum
        });
        if is_other_size || is_other_checksum {
            odd.insert(path.clone());
        }
    }
    odd
}

/// The greatest size that a registry stores.
const MAX_SIZE: u64 = i64::MAX as u64;

/// Multihash codes (<https://github.com/multiformats/multicodec>) of algorithms that are computed here, and of
/// others.
const MULTIHASHES: [(u64, &str); 14] = [
    (0x11, "sha-1"),
    (0x12, "sha-256"),
    (0x13, "sha-512"),
    (0x14, "sha3-512"),
    (0x15, "sha3-384"),
    (0x16, "sha3-256"),
    (0x17, "sha3-224"),
    (0x1e, "blake3"),
    (0x20, "sha-384"),
    (0xd5, "md5"),
    (0x0132, "crc32"),
    (0xb220, "blake2b-256"),
    (0xb240, "blake2b-512"),
    (0xb260, "blake2s-256"),
];

/// Reads a path, without a leading `./`.
fn file_path(text: &str) -> Result<FilePath, Error> {
    let text = text.trim_start_matches("./");
    FilePath::new(text).map_err(|cause| Error::refused(ErrorDetail::FileMetadata, text, cause))
}

/// Reads a size in bytes.
fn size(text: &str) -> Result<u64, Error> {
    let size = text.trim().parse().ok().filter(|size| *size <= MAX_SIZE);
    size.ok_or_else(|| {
        Error::new(ErrorDetail::FileMetadata, format!("{} is not a size in bytes", shown(text)))
    })
}

/// Parses a checksum. If no algorithm is named, the number of digits determines it.
pub(super) fn checksum(algorithm: Option<&Algorithm>, text: &str) -> Result<Checksum, Error> {
    let text = text.trim();
    if let Some(algorithm) = algorithm {
        return Checksum::parse(algorithm.clone(), text)
            .map_err(|cause| Error::refused(ErrorDetail::FileMetadata, text, cause));
    }
    let sha_224 = || (text.len() == 56).then(|| "sha224".parse().ok()).flatten();
    let of_length = Algorithm::of_digits(text.len()).or_else(sha_224);
    of_length.and_then(|algorithm| Checksum::parse(algorithm, text).ok()).ok_or_else(|| {
        let message = format!("the algorithm of the checksum {} is not known", shown(text));
        Error::new(ErrorDetail::NoAlgorithm, message)
    })
}

/// The algorithm of this name.
pub(super) fn algorithm(name: &str) -> Result<Algorithm, Error> {
    name.parse().map_err(|cause| Error::refused(ErrorDetail::FileMetadata, name, cause))
}

/// A JSON string or number, or a list of them, as Solr writes it.
#[derive(Debug, Default)]
pub(super) struct Scalar {
    /// The text. Several are joined by a comma and a space, which neither a size nor a checksum contains.
    /// `None` means a value of another type.
    pub text: Option<String>,
    /// Whether a value is a number.
    pub is_number: bool,
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        let values = match Value::deserialize(value)? {
            Value::Array(values) => values,
            value => vec![value],
        };
        let texts: Vec<String> = values.iter().filter_map(text_of).collect();
        let text = (!texts.is_empty()).then(|| texts.join(", "));
        Ok(Scalar { text, is_number: values.iter().any(Value::is_number) })
    }
}

fn text_of(value: &Value) -> Option<String> {
    let of_number = |number: &Number| {
        whole_number(number).map_or_else(|| number.to_string(), |whole| whole.to_string())
    };
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(of_number(number)),
        _ => None,
    }
}

/// Reads a number, a string, or a list of one of them, as Solr writes it. `None` means a value of another type.
pub(super) fn scalar<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(value)? {
        Value::Array(values) if values.len() == 1 => values.first().and_then(text_of),
        value => text_of(&value),
    })
}

/// A file in a granule record of Cumulus.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CumulusFile {
    key: Option<String>,
    file_name: Option<String>,
    #[serde(default)]
    size: Scalar,
    checksum_type: Option<String>,
    #[serde(default)]
    checksum: Scalar,
}

/// The files of a granule record of Cumulus. Files of any other structure are ignored, because any object may
/// have a field of this name.
pub(super) fn of_cumulus(object: &Value) -> Vec<WrittenFile> {
    let files = object.get("files").and_then(Value::as_array).into_iter().flatten();
    let files = files.filter_map(|file| CumulusFile::deserialize(file).ok());
    files
        .map(|CumulusFile { key, file_name, size, checksum_type: algorithm, checksum }| {
            WrittenFile {
                path: key.or(file_name),
                size: size.text,
                algorithm,
                checksum: checksum.text,
                has_numeric_checksum: checksum.is_number,
                location: None,
            }
        })
        .collect()
}

/// Parses a multihash in hexadecimal digits: a code and a length, each a varint (seven bits a byte, least
/// significant first), and the digest.
fn multihash(text: &str) -> Result<Checksum, Error> {
    let invalid =
        || Error::new(ErrorDetail::FileMetadata, format!("{} is not a multihash", shown(text)));
    let bytes = hex::decode(text).map_err(|_| invalid())?;
    let (code, rest) = varint(&bytes).ok_or_else(invalid)?;
    let (length, digest) = varint(rest).ok_or_else(invalid)?;
    if digest.len() as u64 != length {
        return Err(invalid());
    }
    let known = MULTIHASHES.into_iter().find(|(known, _)| *known == code);
    let name = known.map_or_else(|| format!("multihash-{code:x}"), |(_, name)| name.to_owned());
    checksum(Some(&algorithm(&name)?), &hex::encode(digest))
}

fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let end = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)?;
    let (number, rest) = bytes.split_at(end + 1);
    let number = number.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f));
    Some((number, rest))
}
