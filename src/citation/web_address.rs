//! Web addresses in citations.

use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use super::single_line::single_line;
use crate::model::Dataset;

/// The web address in a record; `None` if there is none that a reader can follow.
pub(super) fn url_of(record: &Dataset) -> Option<String> {
    record.url.as_ref().map(|url| encoded(url.as_str()))
}

/// Percent-encodes what neither a URI (RFC 3986 § 2) nor a verbatim field of TeX may contain. Letters
/// of other scripts stay readable.
pub(super) fn encoded(address: &str) -> String {
    const NOT_IN_A_URI: &AsciiSet = &CONTROLS
        .add(b' ')
        .add(b'"')
        .add(b'<')
        .add(b'>')
        .add(b'\\')
        .add(b'^')
        .add(b'`')
        .add(b'{')
        .add(b'|')
        .add(b'}');
    let encode = |character: char| match u8::try_from(character) {
        Ok(byte) if byte.is_ascii() => percent_encode(&[byte], NOT_IN_A_URI).to_string(),
        _ => character.to_string(),
    };
    single_line(address).chars().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_contains_nothing_that_ends_a_field() {
        assert_eq!(
            encoded(" https://x.org/a b{c}\\?q=é&p=%20#f "),
            "https://x.org/a%20b%7Bc%7D%5C?q=é&p=%20#f"
        );
    }
}
