//! Texts to check: what is pasted, and lists of references.

use std::io::Read;

use accession::citation::references::{Reference, references};
use accession::model::quoted;
use accession::{ErrorKind, SourceLocation};

use super::error::{Context, Error, Result};
use super::reading::{InputFile, open};

/// A limit for a text, longer than any list of references.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

/// Reads the references of a file: BibTeX, RIS, CSL-JSON, or text.
///
/// # Errors
///
/// The file cannot be read or is too long, or contains no reference of the kind that the extension of its
/// name says.
pub fn read(file: &InputFile) -> Result<Vec<Reference>> {
    let text = read_text(file)?;
    let references = references(&text);
    let extension = file.path().and_then(|path| path.extension()).and_then(|it| it.to_str());
    let extension = extension.unwrap_or_default().to_ascii_lowercase();
    let is_of_records = ["bib", "ris", "json"].contains(&extension.as_str());
    let is_list = text.trim().is_empty() || references.iter().any(|reference| reference.is_record);
    if is_of_records && !is_list {
        let message = format!("there is no reference in this .{extension} file");
        let location = SourceLocation::Line { source: file.name().into(), line: 1 };
        return Err(accession::Error::new(ErrorKind::Input, message).at(location).into());
    }
    Ok(references)
}

/// Reads a file to its end, as text.
///
/// # Errors
///
/// The file cannot be read or is too long.
pub fn read_text(file: &InputFile) -> Result<String> {
    let (reader, name) = open(file)?;
    let mut bytes = Vec::new();
    reader
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| format!("cannot read {}", quoted(&name)))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Error::usage(format!("{name} is longer than {MAX_BYTES} bytes")));
    }
    Ok(decoded(&bytes))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which some editors write. Invalid bytes are
/// replaced: they do not make the identifiers around them unreadable.
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
