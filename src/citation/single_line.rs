//! Strings of a record on a single line.

/// Joins a string into one line: control characters and runs of white space become one space, so
/// that a line end in a title cannot break a format. Directional controls, which reorder the rest
/// of a line and with it the identifier, are removed.
pub(super) fn single_line(text: &str) -> String {
    const DIRECTIONAL_CONTROLS: [char; 9] = [
        '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
        '\u{2068}', '\u{2069}',
    ];
    let text = text.replace(DIRECTIONAL_CONTROLS, "");
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// An optional string on one line; `None` if it is blank.
pub(super) fn nonblank_line(text: Option<&str>) -> Option<String> {
    text.map(single_line).filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_of_several_lines_becomes_one_line() {
        assert_eq!(
            single_line("  FOO\r\nER  - \u{1b}[2J\tLevel\u{2028}2 "),
            "FOO ER - [2J Level 2"
        );
        assert_eq!(single_line("a\u{202e}b\u{2066}c"), "abc");
    }

    #[test]
    fn a_blank_string_is_none() {
        assert_eq!(nonblank_line(Some(" \n\t")), None);
        assert_eq!(nonblank_line(Some(" US ")), Some("US".to_owned()));
    }
}
