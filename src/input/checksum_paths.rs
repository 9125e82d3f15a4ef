//! Shapes of texts in checksum lists that stand where a path should be, but are not paths.

use super::finding::{Finding, FindingKind};
use super::line_columns::{has_name_and_number, has_number_and_name};
use super::line_text::{is_quoted, is_signed_address};
use super::occurrences::Occurrences;
use crate::error::ErrorKind;
use crate::model::SourceLocation;

/// A shape of the text after a checksum.
struct PathShape {
    kind: FindingKind,
    /// Whether one line with this shape is enough. Otherwise more than half of the lines must have it.
    is_any: bool,
    test: fn(&Path) -> bool,
}

/// The text after a checksum.
struct Path<'line> {
    text: &'line str,
    /// Whether exactly two characters precede it, as GNU coreutils write them. Any further blanks then belong
    /// to the path.
    is_exact: bool,
}

const SHA256SUM: &str =
    "write a checksum, two blanks and the path in each line, as `sha256sum` does, and nothing else";

/// Defines a shape of paths.
const fn shape(
    name: &'static str,
    is_any: bool,
    test: fn(&Path) -> bool,
    what: &'static str,
    hint: &'static str,
) -> PathShape {
    let refused_as = ErrorKind::NotAList;
    let kind = FindingKind { name, refused_as, heading: "Checksum lists", what, hint };
    PathShape { kind, is_any, test }
}

/// The shapes, the most specific first.
static SHAPES: [PathShape; 7] = [
    shape(
        "second-checksum",
        true,
        |path| has_checksum(path.text),
        "has a second checksum in its path: the end of a line is missing",
        "write one checksum and one path in each line, as `sha256sum` does",
    ),
    shape(
        "signed-path",
        true,
        |path| is_signed_address(path.text),
        "has an address with a signature that expires as its path",
        "list the address without its query",
    ),
    shape(
        "path-with-mark",
        true,
        |path| {
            !path.is_exact && path.text.starts_with(['-', '*']) && path.text[1..].starts_with(' ')
        },
        "has a mark before its path, as `git lfs ls-files` prints it",
        SHA256SUM,
    ),
    shape(
        "path-with-result",
        false,
        |path| path.text.ends_with(": OK") || path.text.ends_with(": FAILED"),
        "has the result of a check after its path",
        SHA256SUM,
    ),
    shape(
        "quoted-path",
        false,
        |path| is_quoted(path.text),
        "has a quoted path, as most lines of the file have",
        "remove the quotes",
    ),
    shape(
        "path-and-number",
        false,
        |path| has_name_and_number(path.text),
        "has a number after its path, as most lines of the file have",
        SHA256SUM,
    ),
    shape(
        "number-and-path",
        false,
        |path| !path.is_exact && has_number_and_name(path.text),
        "has a number before its path, as most lines of the file have",
        SHA256SUM,
    ),
];

/// Counts the lines whose path has each shape, and remembers the first of each.
#[derive(Default)]
pub(super) struct PathShapes {
    lines: u64,
    seen: [Occurrences; SHAPES.len()],
}

impl PathShapes {
    /// Tests the path of the next line, which is `line`.
    pub(super) fn observe(&mut self, path: &[u8], line: &[u8], location: &SourceLocation) {
        self.lines += 1;
        // Most paths have none of the characters that a shape needs.
        let needs = |byte: &u8| matches!(byte, b' ' | b'?' | b'@' | b'"' | b'\'');
        if !path.iter().any(needs) {
            return;
        }
        let Ok(text) = std::str::from_utf8(path) else { return };
        let before = line.strip_suffix(path).unwrap_or_default();
        let is_exact = before.ends_with(b"  ") || before.ends_with(b" *") || before.is_empty();
        let path = Path { text, is_exact };
        for (shape, seen) in SHAPES.iter().zip(&mut self.seen) {
            if (shape.test)(&path) {
                seen.add(&String::from_utf8_lossy(line), location);
            }
        }
    }

    /// The shape of the paths. `None` means that they look like paths.
    pub(super) fn finding(&self) -> Option<Finding> {
        let found = SHAPES.iter().zip(&self.seen).find(|(shape, seen)| {
            let lines = seen.lines();
            lines > 0 && (shape.is_any || lines * 2 > self.lines)
        });
        found.and_then(|(shape, seen)| seen.finding(&shape.kind))
    }
}

/// Whether a text contains a checksum and a separator, as GNU coreutils write them before a path.
fn has_checksum(text: &str) -> bool {
    let bytes = text.as_bytes();
    let separators = bytes.windows(2).enumerate().filter(|(_, two)| matches!(*two, b"  " | b" *"));
    separators.into_iter().any(|(end, _)| {
        let digits = bytes[..end].iter().rev().take_while(|byte| byte.is_ascii_hexdigit());
        digits.count() >= 32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MD5: &str = "900150983cd24fb0d6963f7d28e17f72";

    fn shape_of(separator: &str, paths: &[&str]) -> Option<&'static str> {
        let mut shapes = PathShapes::default();
        for (number, path) in (1..).zip(paths) {
            let location = SourceLocation::Line { source: "x.md5".into(), line: number };
            let line = format!("{MD5}{separator}{path}");
            shapes.observe(path.as_bytes(), line.as_bytes(), &location);
        }
        shapes.finding().map(|finding| finding.kind.name)
    }

    #[test]
    fn what_is_beside_the_path_is_found() {
        let second = format!("A.nc{MD5}  B.nc");
        for (separator, paths, shape) in [
            (" ", vec!["- A.nc", "B.nc", "C.nc"], "path-with-mark"),
            ("  ", vec!["\"A.nc\"", "\"B 1.nc\""], "quoted-path"),
            ("  ", vec![&second], "second-checksum"),
            ("  ", vec!["A.nc: OK", "B.nc: OK"], "path-with-result"),
            (" ", vec!["A.nc 3", "B.nc 99"], "path-and-number"),
            ("  ", vec!["A.nc  2024-01-02", "B.nc  2024-01-02"], "path-and-number"),
            (" ", vec!["3 A.nc", "99 B.nc"], "number-and-path"),
            ("  ", vec!["A.nc", "https://x/A.nc?X-Amz-Signature=00"], "signed-path"),
        ] {
            assert_eq!(shape_of(separator, &paths), Some(shape), "{paths:?}");
        }
    }

    #[test]
    fn names_with_blanks_numbers_and_quotes_are_paths() {
        for paths in [
            vec!["01 Overture.flac", "02 Aria.flac"],
            vec!["- notes.txt", "* star.txt"],
            vec!["Chapter 1", "Chapter 2"],
            vec!["\"A\".nc", "it's.nc"],
            vec!["A B.nc", "C  D.nc"],
            vec!["d41d8cd98f00b204e9800998ecf8427e copy.nc"],
            vec!["A.nc: OK", "B.nc", "C.nc"],
        ] {
            assert_eq!(shape_of("  ", &paths), None, "{paths:?}");
        }
    }
}
