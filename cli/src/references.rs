//! Reads files with citations, records of datasets, and policies.

use std::convert::Infallible;
use std::str::FromStr;

use accession::SourceLocation;
use accession::citation::Reference;
use accession::citation::record;
use accession::dataset::DatasetMetadata;
use accession::listing::unzipped;
use accession::proof::Policy;
use accession::text::{quoted, read_small, read_small_text};

use super::error::{Context, Error, Result};
use super::input_file::{InputFile, open, parsed, read_text};

/// Citations to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CitationText {
    /// Standard input, which is named `-`.
    StandardInput,
    /// The citations themselves.
    Text(String),
}

impl FromStr for CitationText {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "-" => CitationText::StandardInput,
            text => CitationText::Text(text.to_owned()),
        })
    }
}

/// The maximum length of citations and lists of references.
const MAX_TEXT_BYTES: u64 = 64 * 1_024 * 1_024;

/// Reads the references in a file: BibTeX, RIS, CSL-JSON, or text.
///
/// # Errors
///
/// The file cannot be read or is too long, or has no reference although its extension is that of a list of
/// references.
pub fn read_references(file: &InputFile) -> Result<Vec<Reference>> {
    let text = read_citations(file)?;
    let references = Reference::find_all(&text);
    let extension = file.path().and_then(|path| path.extension()).and_then(|it| it.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let is_of_records = ["bib", "ris", "json"].contains(&extension.as_str());
    let is_list = text.trim().is_empty() || references.iter().any(|reference| reference.is_record);
    if is_of_records && !is_list {
        let message = format!("there is no reference in this .{extension} file");
        let location = SourceLocation::Line { source: file.name().into(), line: 1 };
        return Err(Error::input(message, location));
    }
    Ok(references)
}

/// Reads a file with the record of a dataset. Returns its text, which is valid for [`record::read`].
pub fn read_record(file: &InputFile) -> Result<String> {
    /// The maximum length of the file, far longer than any record.
    const MAX_BYTES: u64 = 16 * 1_024 * 1_024;
    let (reader, name) = open(file)?;
    let text = read_small_text(reader, MAX_BYTES);
    let text = text.with_context(|| format!("cannot read {}", quoted(&name)))?;
    let nothing = "D".parse().expect("D is a name");
    record::read(&text, &mut DatasetMetadata::named(nothing)).map_err(|error| {
        Error::usage(format!("{name}: {}", accession::Error::chain_of(&error))).with_hint(
            "the file must be CSL-JSON or DataCite JSON, as doi.org and DataCite provide it",
        )
    })?;
    Ok(text)
}

/// Reads a file to its end, as text.
///
/// # Errors
///
/// The file cannot be read or is too long.
pub fn read_citations(file: &InputFile) -> Result<String> {
    let (reader, name) = open(file)?;
    let bytes = unzipped(reader).and_then(|(text, _)| read_small(text, MAX_TEXT_BYTES));
    Ok(decoded(&bytes.with_context(|| format!("cannot read {}", quoted(&name)))?))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which some editors write. Replaces invalid bytes, so that
/// the identifiers around them stay readable.
fn decoded(bytes: &[u8]) -> String {
    let utf_16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The maximum length of a policy.
const MAX_POLICY_BYTES: u64 = 256 * 1_024;

/// Reads a policy. Returns its text and the policy.
pub fn read_policy(file: &InputFile) -> Result<(String, Policy)> {
    let text = read_text(file, MAX_POLICY_BYTES)?;
    let policy = parsed(&text, file)?;
    Ok((text, policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf_16_is_decoded_after_its_byte_order_mark() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{ é }".encode_utf16().flat_map(unit).collect();
            assert_eq!(decoded(&bytes), "\u{feff}{ é }".trim_start_matches('\u{feff}'));
            assert_eq!(decoded(&[&bytes[..], b"x"].concat()), "{ é }");
        }
        assert_eq!(decoded("{ é }\u{0}".as_bytes()), "{ é }\u{0}");
        assert_eq!(decoded(b"\xff\xfd"), "\u{fffd}\u{fffd}");
    }
}
