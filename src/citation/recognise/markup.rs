//! Removes the markup of pasted text: tags, emphasis, commands of TeX, invisible characters and
//! typographic variants.

use super::dois::continuation_of_doi;
use super::work;

/// Removes tags, emphasis and commands of TeX, joins DOIs that are broken over two lines, and
/// normalises the characters as [`normalised`] does.
pub(super) fn without_markup(text: &str) -> String {
    let mut output = WithoutMarkup::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = &rest[output.take(first, rest)..];
    }
    output.text
}

/// Replaces typographic variants, such as the many hyphens, by ASCII characters, and removes
/// invisible characters.
pub(super) fn normalised(text: &str) -> String {
    let mut normalised = String::with_capacity(text.len());
    text.chars().for_each(|character| push_normalised(&mut normalised, character));
    normalised
}

fn push_normalised(text: &mut String, character: char) {
    match character {
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
        '\u{2010}'..='\u{2015}' | '\u{2212}' => text.push('-'),
        // East Asian punctuation, which is written without spaces.
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
struct WithoutMarkup {
    text: String,
    /// For each open brace, whether it is markup.
    braces: Vec<bool>,
}

impl WithoutMarkup {
    /// Takes the first character of `rest`, or a longer piece of markup. Returns how many bytes it
    /// took.
    fn take(&mut self, first: char, rest: &str) -> usize {
        let after = &rest[first.len_utf8()..];
        work::count(1);
        let special = match first {
            '<' => self.tag(after),
            '&' => self.entity(after),
            '\\' => self.command(after),
            '{' | '}' => self.brace(first, after),
            '*' | '`' => self.instead(" ", 0),
            ':' => self.spaced_mark(),
            '\r' if after.starts_with('\n') => self.instead("", 0),
            '\n' => self.broken_doi(after),
            _ => None,
        };
        if special.is_none() {
            push_normalised(&mut self.text, first);
        }
        first.len_utf8() + special.unwrap_or(0)
    }

    /// Replaces a character and the `more` bytes after it by `text`.
    #[expect(clippy::unnecessary_wraps, reason = "the cases of `take` return an option")]
    fn instead(&mut self, text: &str, more: usize) -> Option<usize> {
        self.text.push_str(text);
        Some(more)
    }

    /// A tag of HTML; an address in angle brackets is not a tag.
    fn tag(&mut self, after: &str) -> Option<usize> {
        /// Longer texts in angle brackets are not tags.
        const MAX_BYTES: usize = 300;
        if !after.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') {
            return None;
        }
        let end = after.find(['>', '<']).filter(|end| *end < MAX_BYTES)?;
        let tag = after[..end].to_ascii_lowercase();
        if !after[end..].starts_with('>') || tag.contains("://") {
            return None;
        }
        let instead = match tag.split([' ', '/']).next().unwrap_or_default() {
            "wbr" => "",
            "td" | "th" => "|",
            _ => " ",
        };
        self.instead(instead, end + 1)
    }

    /// A character of HTML that is given by its name or number.
    fn entity(&mut self, after: &str) -> Option<usize> {
        /// Longer names are not names of characters.
        const MAX_BYTES: usize = 8;
        let end = after.bytes().take(MAX_BYTES).position(|byte| byte == b';')?;
        let name = &after[..end];
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
        push_normalised(&mut self.text, character);
        Some(end + 1)
    }

    /// A command of TeX, a character that TeX or Markdown escape with a backslash, or `\u003c` of JSON.
    fn command(&mut self, after: &str) -> Option<usize> {
        if let Some(character) = json_escape(after) {
            push_normalised(&mut self.text, character);
            return Some(1 + JSON_DIGITS);
        }
        let name = after.bytes().take_while(u8::is_ascii_alphabetic).count();
        match after.chars().next()? {
            _ if name > 0 && after[name..].starts_with('{') => {
                self.braces.push(true);
                self.instead(" ", name + 1)
            }
            brace @ ('{' | '}') => {
                match brace {
                    '{' => self.braces.push(false),
                    _ => drop(self.braces.pop()),
                }
                self.text.push(brace);
                Some(1)
            }
            '\\' => self.instead("\n", 1),
            character if character.is_ascii_punctuation() => {
                self.text.push(character);
                Some(1)
            }
            _ => None,
        }
    }

    /// A brace. It is markup if it follows a command of TeX, or if it contains a single word.
    fn brace(&mut self, brace: char, after: &str) -> Option<usize> {
        /// Longer words are not looked for.
        const MAX_BYTES: usize = 64;
        if brace == '}' {
            return if self.braces.pop()? { self.instead(" ", 0) } else { None };
        }
        let end = after.bytes().take(MAX_BYTES).position(|byte| b"{},; \t\n".contains(&byte));
        let is_word = end.is_some_and(|end| end > 0 && after[end..].starts_with('}'));
        if !is_word {
            self.braces.push(false);
            return None;
        }
        // The braces are replaced by nothing, since they may be within a word.
        let word = &after[..end.unwrap_or_default()];
        self.text.push_str(&without_markup(word));
        Some(word.len() + 1)
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

    /// The end of a line within a DOI, which continues on the next line.
    fn broken_doi(&mut self, after: &str) -> Option<usize> {
        let skipped = continuation_of_doi(&self.text, after)?;
        self.text.truncate(self.text.trim_end_matches(' ').len());
        Some(skipped)
    }
}

/// The hexadecimal digits of an escaped character in JSON.
const JSON_DIGITS: usize = 4;

/// The character of `u003c`, after a backslash.
fn json_escape(text: &str) -> Option<char> {
    let digits = text.strip_prefix('u')?.get(..JSON_DIGITS)?;
    let is_hexadecimal = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_hexadecimal)?;
    char::from_u32(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_removed() {
        let cases = [
            ("2001{-}01{-}05", "2001-01-05"),
            ("\\emph{as held at} \\textbf{2001}", " as held at   2001 "),
            ("\\{ x, y\\}", "{ x, y}"),
            ("{{DI}:7, {2001-01-05}}", "{DI:7, 2001-01-05}"),
            (
                "as held at&nbsp;2001 &lt;x&gt; &#160;&#x41; &x; AT&T",
                "as held at 2001 <x> \u{a0}A &x; AT&T",
            ),
            ("a<wbr>b<wbr/>c<td>d</td><br>e<https://x.org>", "abc|d  e<https://x.org>"),
            ("c\\_d\\/e", "c_d/e"),
            ("DI : 7, AUDI : x", "DI: 7, AUDI : x"),
            ("doi.org/10.9999/\n  > x 10.1/\ny a/\nb", "doi.org/10.9999/x 10.1/y a/\nb"),
            ("b\u{ad}13b a\u{2011}b\u{2028}", "b13b a-b\n"),
            ("a \\u003cb \\u00e9 \\ug", "a <b é \\ug"),
            ("}", "}"),
            ("\\", "\\"),
        ];
        for (text, expected) in cases {
            assert_eq!(without_markup(text), expected, "{text}");
        }
        assert_eq!(normalised("{a*b\u{2013}c\u{ad}}"), "{a*b-c}");
    }
}
