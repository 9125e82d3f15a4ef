//! Makes untrusted strings safe to print.

use std::fmt;

/// Displays a string on one line, with escapes in place of what a terminal would interpret.
pub fn one_line(text: &str) -> impl fmt::Display + '_ {
    OneLine(text)
}

struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `escape_debug` also escapes backslashes and quotes, which are harmless here, so the
        // string is split at them. The pieces are not cut further: a combining mark is printed
        // as it is only if it follows its letter.
        for piece in self.0.split_inclusive(['\\', '"', '\'']) {
            let unquoted = piece.trim_end_matches(['\\', '"', '\'']);
            write!(f, "{}{}", unquoted.escape_debug(), &piece[unquoted.len()..])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_interprets_nothing_in_a_note() {
        assert_eq!(one_line("a\u{1b}[2J\nb\u{202e}").to_string(), "a\\u{1b}[2J\\nb\\u{202e}");
        assert_eq!(one_line("C:\\dir \"größe\" 値").to_string(), "C:\\dir \"größe\" 値");
        assert_eq!(one_line("\\\"\n'\u{9b}").to_string(), "\\\"\\n'\\u{9b}");
    }

    #[test]
    fn combining_marks_are_printed_with_their_letter() {
        // They used to be escaped as if each began a string: titles in Hindi were unreadable.
        for text in ["नमस्ते", "e\u{301}", "ที่"] {
            assert_eq!(one_line(text).to_string(), text);
        }
    }
}
