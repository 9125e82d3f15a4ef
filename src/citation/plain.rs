//! What people paste, without what is there only for its looks: tags, emphasis, commands of TeX,
//! characters that are not seen; with one kind of hyphen.

use super::parts::near_end;

/// A text without tags, emphasis and commands of TeX, and as [`seen`].
pub(super) fn plain(text: &str) -> String {
    let mut plain = Plain::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[plain.take(first, rest)..];
    }
    plain.text
}

/// A text with one kind of hyphen, and without characters that are not seen.
pub(super) fn seen(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    text.chars().for_each(|character| push_seen(&mut seen, character));
    seen
}

fn push_seen(text: &mut String, character: char) {
    match character {
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
        '\u{2010}'..='\u{2015}' | '\u{2212}' => text.push('-'),
        // A ligature, which is no hexadecimal digit.
        '\u{fb00}' => text.push_str("ff"),
        // The marks of footnotes.
        '\u{b9}' | '\u{b2}' | '\u{b3}' | '\u{2070}'..='\u{2079}' | '†' | '‡' => text.push(' '),
        // The marks of East Asian writing, which need no space beside them.
        '（' | '「' | '『' | '【' => text.push_str(" ("),
        '）' | '」' | '』' | '】' => text.push_str(") "),
        '，' | '、' => text.push_str(", "),
        '；' => text.push_str("; "),
        '：' => text.push(':'),
        '。' => text.push_str(". "),
        '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => text.push('\n'),
        _ => text.push(character),
    }
}

#[derive(Default)]
struct Plain {
    text: String,
    /// Of each brace that is open: whether only TeX needs it.
    braces: Vec<bool>,
}

impl Plain {
    /// Takes what `rest` begins with, its first character or more; says how many bytes.
    fn take(&mut self, first: char, rest: &str) -> usize {
        let behind = &rest[first.len_utf8()..];
        let special = match first {
            '<' => self.tag(behind),
            '&' => self.entity(behind),
            '\\' => self.command(behind),
            '{' | '}' => self.brace(first, behind),
            '*' | '`' => self.instead(" ", 0),
            // The space that TeX does not break; but "/~home".
            '~' if !self.text.ends_with('/') => self.instead(" ", 0),
            // TeX's longer hyphens, in a date.
            '-' if self.is_between_digits(behind) => self.instead("", 0),
            '=' => self.soft_line_break(behind),
            ':' => self.spaced_mark(),
            '\n' => self.broken_doi(behind),
            _ => None,
        };
        if special.is_none() {
            push_seen(&mut self.text, first);
        }
        first.len_utf8() + special.unwrap_or(0)
    }

    /// Puts this in the place of a character, and of so many bytes behind it.
    #[expect(clippy::unnecessary_wraps, reason = "what each case gives")]
    fn instead(&mut self, text: &str, behind: usize) -> Option<usize> {
        self.text.push_str(text);
        Some(behind)
    }

    /// A tag; but an address in angle brackets is none.
    fn tag(&mut self, behind: &str) -> Option<usize> {
        /// Longer ones are none.
        const MAX_BYTES: usize = 300;
        if !behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
            return None;
        }
        let end = behind.find(['>', '<']).filter(|end| *end < MAX_BYTES)?;
        let tag = behind[..end].to_ascii_lowercase();
        if !behind[end..].starts_with('>') || tag.contains("://") {
            return None;
        }
        let instead = match tag.split([' ', '/']).next().unwrap_or_default() {
            "wbr" => "",
            "td" | "th" => "|",
            _ => " ",
        };
        self.instead(instead, end + 1)
    }

    /// A character by its name or number.
    fn entity(&mut self, behind: &str) -> Option<usize> {
        /// Longer ones are none.
        const MAX_BYTES: usize = 8;
        let end = behind.bytes().take(MAX_BYTES).position(|byte| byte == b';')?;
        let name = &behind[..end];
        let character = match name {
            "nbsp" | "ensp" | "emsp" | "thinsp" => ' ',
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            "ndash" | "mdash" | "minus" => '-',
            "shy" => '\u{ad}',
            "ldquo" | "rdquo" => '”',
            _ => {
                let number = name.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(code)?
            }
        };
        push_seen(&mut self.text, character);
        Some(end + 1)
    }

    /// A command of TeX, or a character behind a backslash, there or in Markdown.
    fn command(&mut self, behind: &str) -> Option<usize> {
        let name = behind.bytes().take_while(u8::is_ascii_alphabetic).count();
        match behind.chars().next()? {
            _ if &behind[..name] == "allowbreak" => {
                let end = behind[name..].strip_prefix("{}").map_or(name, |_| name + 2);
                let spaces = behind[end..].bytes().take_while(|byte| *byte == b' ').count();
                self.instead("", end + spaces)
            }
            _ if name > 0 && behind[name..].starts_with('{') => {
                self.braces.push(true);
                self.instead(" ", name + 1)
            }
            '-' => self.instead("", 1),
            brace @ ('{' | '}') => {
                match brace {
                    '{' => self.braces.push(false),
                    _ => drop(self.braces.pop()),
                }
                self.text.push(brace);
                Some(1)
            }
            ',' | ';' | ':' | '!' | ' ' => self.instead(" ", 1),
            '\\' => self.instead("\n", 1),
            character if character.is_ascii_punctuation() => {
                self.text.push(character);
                Some(1)
            }
            _ => None,
        }
    }

    /// A brace: of TeX, if it was opened behind a command, or if there is one word in it.
    fn brace(&mut self, brace: char, behind: &str) -> Option<usize> {
        /// Longer words are none.
        const MAX_BYTES: usize = 64;
        if brace == '}' {
            return if self.braces.pop()? { self.instead(" ", 0) } else { None };
        }
        let end = behind.bytes().take(MAX_BYTES).position(|byte| b"{},; \t\n".contains(&byte));
        let is_word = end.is_some_and(|end| end > 0 && behind[end..].starts_with('}'));
        if !is_word {
            self.braces.push(false);
            return None;
        }
        // Nothing instead of either: it may stand within a word.
        let word = &behind[..end.unwrap_or_default()];
        self.text.push_str(&plain(word));
        Some(word.len() + 1)
    }

    fn is_between_digits(&self, behind: &str) -> bool {
        /// No hyphen of TeX's is longer.
        const MAX_HYPHENS: usize = 3;
        let hyphens = behind.bytes().take(MAX_HYPHENS).take_while(|byte| *byte == b'-').count();
        hyphens > 0
            && behind[hyphens..].starts_with(|c: char| c.is_ascii_digit())
            && self.text.ends_with(|c: char| c.is_ascii_digit())
    }

    /// The end of a line in a mail, where the line goes on (RFC 2045 § 6.7).
    fn soft_line_break(&mut self, behind: &str) -> Option<usize> {
        let line = behind.strip_prefix("\r\n").or_else(|| behind.strip_prefix('\n'))?;
        self.text.ends_with(char::is_alphanumeric).then_some(behind.len() - line.len())
    }

    /// `DI : …`.
    fn spaced_mark(&mut self) -> Option<usize> {
        let before = self.text.strip_suffix(" ")?;
        let mark = before.get(before.len().checked_sub(2)?..)?;
        let is_word = !before[..before.len() - 2].ends_with(char::is_alphanumeric);
        if !mark.eq_ignore_ascii_case("DI") || !is_word {
            return None;
        }
        self.text.pop();
        None
    }

    /// `https://doi.org/10.9999/` at the end of a line, and the rest of it on the next.
    fn broken_doi(&mut self, behind: &str) -> Option<usize> {
        if !self.text.ends_with('/') {
            return None;
        }
        /// Longer prefixes are none.
        const MAX_BYTES: usize = 100;
        let near = near_end(&self.text, self.text.len().saturating_sub(MAX_BYTES));
        let word = self.text[near..].rsplit(char::is_whitespace).next().unwrap_or_default();
        let prefix = word.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let prefix = prefix.rsplit(':').next().unwrap_or_default();
        let is_doi = prefix.strip_prefix("10.").is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        });
        is_doi.then(|| behind.len() - behind.trim_start_matches([' ', '\t', '>']).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_for_its_looks_is_gone() {
        let cases = [
            ("as~held~at~2001-01-05", "as held at 2001-01-05"),
            ("https://example.org/~home", "https://example.org/~home"),
            ("as held at\\,2001--01--05", "as held at 2001-01-05"),
            ("2001{-}01{-}05 -- 2002", "2001-01-05 -- 2002"),
            ("\\emph{as held at} \\textbf{2001}", " as held at   2001 "),
            ("\\{~x,~y\\}", "{ x, y}"),
            ("{{DI}:7, {2001-01-05}}", "{DI:7, 2001-01-05}"),
            (
                "as held at&nbsp;2001 &lt;x&gt; &#160;&#x41; &x; AT&T",
                "as held at 2001 <x> \u{a0}A &x; AT&T",
            ),
            ("a<wbr>b<wbr/>c<td>d</td><br>e<https://x.org>", "abc|d  e<https://x.org>"),
            ("a\\-b\\allowbreak c\\_d\\/e", "abc_d/e"),
            ("ab=\ncd x =\ny", "abcd x =\ny"),
            ("DI : 7, AUDI : x", "DI: 7, AUDI : x"),
            ("doi.org/10.9999/\n  > x 10.1/\ny a/\nb", "doi.org/10.9999/x 10.1/y a/\nb"),
            ("b\u{fb00}\u{ad}13b¹ a\u{2011}b\u{2028}", "bff13b  a-b\n"),
            ("}", "}"),
            ("\\", "\\"),
        ];
        for (text, expected) in cases {
            assert_eq!(plain(text), expected, "{text}");
        }
        assert_eq!(seen("{a~b\u{2013}c\u{ad}}"), "{a~b-c}");
    }
}
