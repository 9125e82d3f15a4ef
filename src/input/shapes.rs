//! What the lines of a file look like if they are not ids: the table of shapes.
//!
//! Each shape is data: a name, the lines that it needs, a test of a line, and a hint. A line is tested only if one
//! of its bytes allows a shape, so a plain list costs three searches for bytes a line.

use memchr::{memchr, memchr3};

use super::findings::{Finding, FindingKind};
use super::line_columns::{
    has_address_and_size, has_date_and_size, has_name_date_and_size, has_number_and_name,
    has_permissions, has_size_and_date, words,
};
use super::line_messages::{is_log, is_message};
use super::occurrences::Occurrences;
use crate::error::ErrorKind;
use crate::model::SourceLocation;

/// The lines of a file that must have a shape, so that the file is taken for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quorum {
    /// The first line.
    First,
    /// Any line.
    Any,
    /// More than half of the lines.
    Most,
    /// Every line.
    Every,
    /// The only line.
    Only,
}

/// A shape of lines that are not ids.
struct Shape {
    kind: FindingKind,
    quorum: Quorum,
    test: fn(&str) -> bool,
}

/// Defines a shape of a file that is not a list.
const fn shape(
    name: &'static str,
    heading: &'static str,
    quorum: Quorum,
    test: fn(&str) -> bool,
    what: &'static str,
    hint: &'static str,
) -> Shape {
    let kind = FindingKind { name, refused_as: ErrorKind::NotAList, heading, what, hint };
    Shape { kind, quorum, test }
}

const FIND: &str = "`find DIR -type f` prints one path a line, and nothing else";
const PLAIN_KEYS: &str = "print names only, as `rclone lsf -R --files-only REMOTE:PATH`, `aws s3api list-objects-v2 --bucket NAME` (its JSON is read) and `find DIR -type f` do";

/// The shapes, the most telling first: the first that has its lines names what the file is.
static SHAPES: [Shape; 20] = [
    shape(
        "script",
        "Scripts",
        Quorum::First,
        is_script,
        "is the first line of a script, not an id",
        "run the script, or read the catalogue that made it: `accession sync DATASET response.json` reads the search result of ESGF",
    ),
    shape(
        "permissions",
        "Columns",
        Quorum::Any,
        has_permissions,
        "has permissions, a size and a date before the name",
        FIND,
    ),
    shape(
        "date-and-size",
        "Columns",
        Quorum::Any,
        has_date_and_size,
        "has a date, a size and a name, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "size-and-date",
        "Columns",
        Quorum::Any,
        has_size_and_date,
        "has a size, a date and a name, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "name-and-date",
        "Columns",
        Quorum::Any,
        has_name_date_and_size,
        "has a name, a date and a size, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "address-and-size",
        "Lists of files to fetch",
        Quorum::Any,
        has_address_and_size,
        "has an address, a length and a path, as BagIt's fetch.txt has",
        "name the manifest of the bag instead, such as manifest-sha256.txt",
    ),
    shape(
        "log",
        "Error messages",
        Quorum::Any,
        is_log,
        "is a message of a program, not an id",
        "correct the cause, and list again; `2>errors.txt` keeps messages out of the list",
    ),
    shape(
        "message",
        "Error messages",
        Quorum::Any,
        is_message,
        "is a message of a program, not an id",
        "correct the cause, and list again; `2>errors.txt` keeps messages out of the list",
    ),
    shape(
        "directory-heading",
        "Error messages",
        Quorum::Any,
        |line| line.ends_with(':'),
        "ends with a colon, as the names of directories in `ls -R` do",
        FIND,
    ),
    shape(
        "ruler",
        "Columns",
        Quorum::Any,
        is_ruler,
        "is a line of a drawn table, not an id",
        "print the table as CSV, or names only",
    ),
    shape(
        "bars",
        "Columns",
        Quorum::Most,
        |line| line.contains(" | ") || line.contains(" │ "),
        "is a row of a drawn table, not an id",
        "print the table as CSV, or names only",
    ),
    shape(
        "checksum-and-name",
        "Checksum lists",
        Quorum::Most,
        has_checksum,
        "has a checksum and a name, but is not a line of a checksum list",
        "write a checksum, two blanks and the path in each line, as `sha256sum` does",
    ),
    shape(
        "signed-address",
        "Signed addresses",
        Quorum::Any,
        is_signed_address,
        "is an address with a signature that expires",
        "list the address without its query, as `cut -d '?' -f 1` does",
    ),
    shape(
        "json",
        "One JSON document",
        Quorum::First,
        is_json,
        "is a JSON document, not an id",
        "write one id a line: `jq -r '.[]' FILE` prints the strings of an array",
    ),
    shape(
        "comment",
        "Comments",
        Quorum::First,
        is_comment,
        "is a comment, not an id",
        "--comment PREFIX skips the lines that begin with PREFIX",
    ),
    shape(
        "quoted",
        "Quoted lines",
        Quorum::Every,
        is_quoted,
        "is quoted, as every line of the file is",
        "if it is a table of one column, name the column with --column; otherwise remove the quotes",
    ),
    shape(
        "bullets",
        "Columns",
        Quorum::Every,
        |line| line.starts_with("- ") || line.starts_with("* "),
        "begins with a bullet, as every line of the file does",
        "remove the bullets, as `sed 's/^[-*] //'` does",
    ),
    shape(
        "number-and-name",
        "Columns",
        Quorum::Most,
        has_number_and_name,
        "has a number and a name, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "several-ids",
        "Several ids in a line",
        Quorum::Most,
        has_several_ids,
        "has several ids",
        "write one id a line, as `tr -s ', ' '\\n'` does",
    ),
    shape(
        "one-line",
        "Several ids in a line",
        Quorum::Only,
        is_line_of_ids,
        "is the only line, and has several ids",
        "write one id a line, as `tr -s ', ' '\\n'` does",
    ),
];

/// Counts the lines of each shape, and keeps the first of each.
#[derive(Default)]
pub(super) struct ShapeCounts {
    lines: u64,
    seen: [Occurrences; SHAPES.len()],
}

impl ShapeCounts {
    /// Tests the next line, which is not empty.
    pub(super) fn observe(&mut self, line: &str, location: &SourceLocation) {
        self.lines += 1;
        let bytes = line.as_bytes();
        if can_have_shape(bytes) {
            self.test(line, location);
        }
    }

    /// The line is rare in a plain list.
    #[inline(never)]
    fn test(&mut self, line: &str, location: &SourceLocation) {
        for (shape, seen) in SHAPES.iter().zip(&mut self.seen) {
            if (shape.quorum != Quorum::First || self.lines == 1) && (shape.test)(line) {
                seen.add(line, location);
            }
        }
    }

    /// What the file looks like. `None` means a list of ids.
    pub(super) fn finding(&self) -> Option<Finding> {
        let found = SHAPES.iter().zip(&self.seen).find(|(shape, seen)| {
            let (count, lines) = (seen.lines(), self.lines);
            match shape.quorum {
                Quorum::First | Quorum::Any => count > 0,
                Quorum::Most => count * 2 > lines,
                Quorum::Every => count > 0 && count == lines,
                Quorum::Only => count == 1 && lines == 1,
            }
        });
        found.and_then(|(shape, seen)| seen.finding(&shape.kind))
    }
}

/// The kinds of all shapes.
#[cfg(test)]
pub(super) fn kinds() -> impl Iterator<Item = &'static FindingKind> {
    SHAPES.iter().map(|shape| &shape.kind)
}

/// Whether a line has a byte that a shape needs. Most ids have none.
fn can_have_shape(line: &[u8]) -> bool {
    let is_marked = |byte: &u8| {
        matches!(
            byte,
            b'#' | b';'
                | b'%'
                | b'/'
                | b'"'
                | b'\''
                | b'`'
                | b'{'
                | b'['
                | b'@'
                | b'-'
                | b'='
                | b'+'
                | b'|'
                | b'*'
                | 0x80..
        )
    };
    line.first().is_some_and(is_marked)
        || line.last().is_some_and(|last| matches!(last, b':' | b';'))
        || memchr3(b' ', b',', b'?', line).is_some()
        || memchr(b';', line).is_some()
}

fn is_script(line: &str) -> bool {
    line.starts_with("#!") || line.to_ascii_lowercase().starts_with("@echo")
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(['#', ';', '%']) || line.starts_with("//") || line.starts_with("/*")
}

fn is_json(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
}

fn is_quoted(line: &str) -> bool {
    let line = line.trim_end_matches(',');
    let is_between =
        |open, close| line.len() > 1 && line.starts_with(open) && line.ends_with(close);
    [('"', '"'), ('\'', '\''), ('`', '`'), ('‘', '’'), ('“', '”'), ('«', '»')]
        .into_iter()
        .any(|(open, close)| is_between(open, close))
}

fn is_ruler(line: &str) -> bool {
    let is_drawn =
        |it: char| matches!(it, '-' | '=' | '+' | '|' | '_' | ' ' | '─' | '┼' | '├' | '┤' | '═');
    line.matches(['-', '=', '─', '═']).count() >= 3 && line.chars().all(is_drawn)
}

fn has_checksum(line: &str) -> bool {
    let is_checksum = |word: &str| {
        let word = word.trim_end_matches([':', ',', ';']);
        let word = word.rsplit([':', '=']).next().unwrap_or_default();
        word.len() >= 32 && word.bytes().all(|it| it.is_ascii_hexdigit())
    };
    words(line).any(is_checksum) && words(line).nth(1).is_some()
}

/// Parameters of addresses that expire, in lower case.
const SIGNATURES: [&str; 21] = [
    "sig",
    "signature",
    "x-amz-signature",
    "x-amz-security-token",
    "awsaccesskeyid",
    "x-goog-signature",
    "googleaccessid",
    "x-oss-signature",
    "ossaccesskeyid",
    "x-obs-signature",
    "q-signature",
    "temp_url_sig",
    "key-pair-id",
    "hdnts",
    "hdnea",
    "token",
    "access_token",
    "auth_token",
    "sas_token",
    "jwt",
    "x-amz-credential",
];

fn is_signed_address(line: &str) -> bool {
    let Some((address, query)) = line.split_once('?') else { return false };
    let is_signature = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        parameter.contains('=') && SIGNATURES.contains(&name.as_str())
    };
    address.contains("://") && query.split(['&', ';']).any(is_signature)
}

/// Whether a word can be an id by its look: it has a digit, and one of the characters that separate parts of
/// names.
fn looks_like_id(word: &str) -> bool {
    word.len() >= 3
        && word.bytes().any(|it| it.is_ascii_digit())
        && word.bytes().any(|it| matches!(it, b'.' | b'_' | b'-' | b'/'))
}

/// Whether a line has several ids, wherever it is.
fn has_several_ids(line: &str) -> bool {
    let list = line.trim_end_matches([',', ';', ' ']);
    let by_commas = || list.split([',', ';']).map(str::trim).all(looks_like_id);
    let is_spaced = || words(line).nth(2).is_some() || line.trim().contains("  ");
    list.contains([',', ';']) && by_commas() || is_spaced() && words(line).all(looks_like_id)
}

/// Whether the only line of a file has several ids: of one line, less is sufficient.
fn is_line_of_ids(line: &str) -> bool {
    if has_several_ids(line) {
        return true;
    }
    let list = line.trim_end_matches([',', ';', ' ']);
    let is_word = |part: &str| !part.is_empty() && !part.contains(' ');
    if list.contains([',', ';']) && list.split([',', ';']).map(str::trim).all(is_word) {
        return true;
    }
    let ending = |word: &str| word.rsplit_once('.').map(|(_, end)| end.to_owned());
    let mut endings = words(line).map(ending);
    let first = endings.next().flatten();
    let is_extension = first.as_ref().is_some_and(|it| {
        (1..=5).contains(&it.len()) && it.bytes().any(|it| it.is_ascii_alphabetic())
    });
    let mut others = endings.peekable();
    is_extension && others.peek().is_some() && others.all(|other| other == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_has_the_heading_and_the_code_of_every_shape() {
        let reference = include_str!("../../docs/reference/inputs.md");
        for FindingKind { name, heading, .. } in kinds() {
            assert!(reference.contains(&format!("\n## {heading}\n")), "{heading}");
            assert!(reference.contains(&format!("`{name}`")), "{name}");
        }
    }
}
