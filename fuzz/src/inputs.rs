//! Mistakes that a reader must not make: lines that are not ids, incomplete search results, and times in names.

use std::io::Cursor;

use accession::listing::InputFormat;
use accession::{ErrorKind, Listing, ListingOptions};

use super::dates_in_names::times_in;
use super::text;

/// Lines for which a list is rejected, at any position.
const NONSENSE: [&str; 6] = [
    "-rw-r--r-- 1 foo foo 1234 Jan 12 03:04 A.nc",
    "2024-01-02 03:04:05 1234 sub/A.nc",
    "1234 2024-01-02 03:04:05.000000000 sub/A.nc",
    "find: './lost+found': Permission denied",
    "https://x.example.org/A.nc?X-Amz-Signature=00",
    "sub:",
];

/// The number of granules in a list, or the kind of its error.
fn listed(file: &[u8], options: &ListingOptions) -> Result<u64, ErrorKind> {
    let listing = Listing::from_reader(Cursor::new(file.to_vec()), "list.txt", options);
    listing.map(|listing| listing.count()).map_err(|error| error.kind())
}

/// If a list is accepted, it is rejected after a line that is not an id is added before or after its lines. A
/// list of letters, digits and `_`, with a digit in each line, is accepted. Without digits, `name` would be a
/// header, and `null` not an id.
pub fn shapes(bytes: &[u8]) {
    let options = ListingOptions::new().format(InputFormat::Lines);
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'\n');
    let lines = || bytes.split(|byte| *byte == b'\n');
    let has_long_line = lines().any(|line| line.len() > 1_000);
    let has_digits = lines().all(|line| line.is_empty() || line.iter().any(u8::is_ascii_digit));
    let is_accepted = listed(bytes, &options).is_ok();
    if !has_long_line && has_digits && bytes.iter().all(is_plain) {
        assert!(is_accepted, "a plain list is refused");
    }
    let is_text = !bytes.starts_with(&[0x1f, 0x8b]) && !bytes.starts_with(b"\xef\xbb\xbf");
    if !is_accepted || !is_text {
        return;
    }
    for nonsense in NONSENSE {
        let line = nonsense.as_bytes();
        let after = [bytes, b"\n", line, b"\n"].concat();
        assert_eq!(listed(&after, &options), Err(ErrorKind::NotAList), "after: {nonsense}");
        let before = [line, b"\n", bytes].concat();
        assert_eq!(listed(&before, &options), Err(ErrorKind::NotAList), "before: {nonsense}");
    }
}

/// If a response is accepted, it is rejected once it announces one more granule or a next page.
pub fn totals(bytes: &[u8]) {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(bytes) else { return };
    let Some(elements) = value.get("features").and_then(|list| list.as_array()) else { return };
    // An item with a list of this name is still an item.
    if value.get("type").is_some_and(|kind| kind == "Feature") {
        return;
    }
    let options = ListingOptions::new().format(InputFormat::Stac);
    if listed(bytes, &options).is_err() {
        return;
    }
    let one_more = elements.len() + 1;
    let rest = text(bytes).trim_start().strip_prefix('{').unwrap_or_default();
    for member in [
        format!(r#""numberMatched":{one_more}"#),
        format!(r#""context":{{"matched":{one_more}}}"#),
        format!(r#""hits":{{"total":{{"value":{one_more}}}}}"#),
        format!(r#""@odata.count":"{one_more}""#),
        r#""next":"x""#.to_owned(),
        r#""links":[{"rel":"self"},{"rel":"next"}]"#.to_owned(),
        r#""_links":{"next":{"href":"x"}}"#.to_owned(),
    ] {
        let page = format!("{{{member},{rest}");
        // At this offset, these bytes mean a tar archive.
        if page.as_bytes().get(257..262) == Some(b"ustar") {
            continue;
        }
        assert_eq!(listed(page.as_bytes(), &options), Err(ErrorKind::Incomplete), "{page}");
    }
}

/// The date of each time in a name is in the name. A file extension changes nothing. Digits after a date that
/// are not a time are an error.
pub fn times_in_names(bytes: &[u8]) {
    let name = text(bytes);
    let found = times_in(name);
    assert_eq!(times_in(&format!("{name}.txt")).ok(), found.clone().ok());
    assert!(times_in(&format!("{name} 20240102_0001")).is_err());
    for time in found.unwrap_or_default() {
        // With an offset, the date can be a day earlier or later.
        let day_micros = 24 * 60 * 60 * 1_000_000;
        let is_written = [-day_micros, 0, day_micros].into_iter().any(|micros| {
            let other = accession::Timestamp::from_micros(time.as_micros() + micros);
            let date = other.map_or(String::new(), |other| other.day().to_string());
            !date.is_empty() && (name.contains(&date) || name.contains(&date.replace('-', "")))
        });
        assert!(is_written, "{time}");
    }
}
