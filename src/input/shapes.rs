//! What the lines of a file look like if they are not ids: the table of shapes.
//!
//! Each shape is data: a name, the lines that it needs, a test of a line, and a hint. A line is tested only if one
//! of its bytes allows a shape, so a plain list costs three searches for bytes a line.

use memchr::memchr3;

use super::finding::{Finding, FindingKind, argument};
use super::line_columns::{
    has_address_and_size, has_checksum, has_date_and_size, has_mark_and_name, has_name_and_number,
    has_name_date_and_size, has_number_and_name, has_permissions, has_size_and_date,
    has_time_and_name, is_drawn, is_ruler,
};
use super::line_messages::{is_command, is_log, is_message, is_word_of_program};
use super::line_text::{
    comment_prefix, has_several_ids, has_value, is_comment, is_header, is_json, is_line_of_ids,
    is_no_value, is_quoted, is_remark, is_script, is_sentence, is_signed_address, unquoted,
};
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

const SCRIPT: &str = "run the script, or read the catalogue that made it: `accession sync DATASET response.json` reads the search result of ESGF";
const OF_DATA: &str = "a listing has one id a line; `--id ID` names one granule, and a directory in place of the listing its files";
const FIND: &str = "`find DIR -type f` prints one path a line, and nothing else";
const PLAIN_KEYS: &str = "print names only, as `rclone lsf -R --files-only REMOTE:PATH`, `aws s3api list-objects-v2 --bucket NAME` (its JSON is read) and `find DIR -type f` do";

/// The shapes, the most telling first: the first that has its lines names what the file is.
static SHAPES: [Shape; 31] = [
    shape(
        "script",
        "Scripts",
        Quorum::First,
        is_script,
        "is the first line of a script, not an id",
        SCRIPT,
    ),
    shape("commands", "Scripts", Quorum::Most, is_command, "is a command, not an id", SCRIPT),
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
        |line| line.contains(" | ") || line.contains(" │ ") || line.matches('|').count() > 1,
        "is a row of a drawn table, not an id",
        "print the table as CSV, or names only",
    ),
    shape("drawn", "Columns", Quorum::Any, is_drawn, "is drawn, as `tree` draws directories", FIND),
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
        "remark",
        "Comments",
        Quorum::Any,
        is_remark,
        "is a comment, not an id",
        "--comment '#' skips the lines that begin with #",
    ),
    shape(
        "header",
        "Comments",
        Quorum::First,
        is_header,
        "is the name of a column, not an id",
        "if it is the header of a table, name the column with --column; otherwise `--skip-lines 1` skips it",
    ),
    shape(
        "no-value",
        "Error messages",
        Quorum::Any,
        is_no_value,
        "stands for a missing value, not for an id",
        "leave the line out of the list, and find out why the id is missing",
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
        "time-and-name",
        "Columns",
        Quorum::Most,
        has_time_and_name,
        "has a time and a name, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "mark-and-name",
        "Columns",
        Quorum::Most,
        has_mark_and_name,
        "has a mark and a name, not an id",
        FIND,
    ),
    shape(
        "name-and-number",
        "Columns",
        Quorum::Most,
        has_name_and_number,
        "has a name and numbers, not an id",
        PLAIN_KEYS,
    ),
    shape(
        "values",
        "Text and data",
        Quorum::Most,
        has_value,
        "has a name and a value, not an id",
        OF_DATA,
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
    shape(
        "blanks",
        "Columns",
        Quorum::Most,
        |line| line.trim().contains("  "),
        "has columns between blanks, not an id",
        PLAIN_KEYS,
    ),
    shape("sentences", "Text and data", Quorum::Most, is_sentence, "is text, not an id", OF_DATA),
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
        if self.lines == 1 || can_have_shape(bytes) || is_alone(line) {
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
        found.and_then(|(Shape { kind, .. }, seen)| {
            let hint = seen.first().and_then(|(_, example)| hint_of(kind.name, example));
            Some(seen.finding(kind)?.with_hint(hint))
        })
    }
}

/// What to do about an example of a shape, as an option to paste.
fn hint_of(shape: &str, example: &str) -> Option<String> {
    match shape {
        "comment" => {
            let prefix = comment_prefix(example);
            let option = argument(prefix)?;
            Some(format!("--comment {option} skips the lines that begin with {prefix}"))
        }
        "header" => {
            let name = argument(example)?;
            Some(format!(
                "if it is the header of a table, --column {name} names the column; otherwise `--skip-lines 1` skips it"
            ))
        }
        "quoted" => {
            let name = argument(unquoted(example))?;
            Some(format!(
                "if it is a table of one column, --column {name} names it; otherwise remove the quotes"
            ))
        }
        _ => None,
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
                | b'('
                | b'^'
                | b'@'
                | b'-'
                | b'='
                | b'+'
                | b'|'
                | b'*'
                | b'<'
                | 0x80..
        )
    };
    line.first().is_some_and(is_marked)
        || line.last().is_some_and(|last| matches!(last, b':' | b';'))
        || memchr3(b' ', b',', b'?', line).is_some()
        || memchr3(b';', b'|', b'@', line).is_some()
}

/// Whether a line is a word that no id is, without any such byte.
fn is_alone(line: &str) -> bool {
    is_no_value(line) || is_word_of_program(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape_of(lines: &[String]) -> Option<&'static str> {
        let mut counts = ShapeCounts::default();
        for (line, text) in (1..).zip(lines) {
            counts.observe(text, &SourceLocation::Line { source: "list.txt".into(), line });
        }
        counts.finding().map(|finding| finding.kind.name)
    }

    proptest! {
        #[test]
        fn names_without_blanks_and_marks_have_no_shape(
            lines in prop::collection::vec("[A-Za-z0-9_][A-Za-z0-9._/-]{0,40}[0-9]", 1..30)
        ) {
            prop_assert_eq!(shape_of(&lines), None);
        }

        #[test]
        fn a_line_that_is_no_id_is_found_wherever_it_is(
            mut lines in prop::collection::vec("[A-Za-z0-9_]{1,20}( [a-z]{1,8})?\\.nc", 0..30),
            place in any::<prop::sample::Index>(),
            (wrong, shape) in prop::sample::select(vec![
                ("-rw-r--r-- 1 foo foo 1234 Jan 12 03:04 A.nc", "permissions"),
                ("2024-01-02 03:04:05 1234 sub/A.nc", "date-and-size"),
                ("1234 2024-01-02 03:04:05.000000000 sub/A.nc", "size-and-date"),
                ("A.nc 2024-01-02 03:04 1.2M", "name-and-date"),
                ("https://x.example.org/A.nc 3 data/A.nc", "address-and-size"),
                ("2024/01/02 03:04:05 ERROR : x: failed", "log"),
                ("find: './x': Permission denied", "message"),
                ("sub:", "directory-heading"),
                ("--- ---", "ruler"),
                ("├── A.nc", "drawn"),
                ("https://x.example.org/A.nc?sig=00", "signed-address"),
                ("# end", "remark"),
            ])
        ) {
            lines.insert(place.index(lines.len() + 1), wrong.to_owned());
            let found = shape_of(&lines);
            // A first line can be a comment, too.
            prop_assert!(found == Some(shape) || found == Some("comment"), "{found:?}");
        }
    }

    #[test]
    fn words_in_place_of_ids_are_found_wherever_they_are() {
        let list = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        for (word, shape) in [
            ("null", "no-value"),
            ("None", "no-value"),
            ("(null)", "no-value"),
            ("Killed", "message"),
            ("AccessDenied", "message"),
            ("...", "message"),
            ("... 34 more", "message"),
            ("--More--", "message"),
            ("^C", "message"),
            ("$ ls", "message"),
            ("foo@host:~$ ls", "message"),
            ("No data found", "message"),
            ("sending incremental file list", "message"),
            ("sent 123 bytes  received 35 bytes  316.00 bytes/sec", "message"),
        ] {
            for lines in [list(&["A.nc", word, "B.nc"]), list(&["A.nc", "B.nc", word])] {
                assert_eq!(shape_of(&lines), Some(shape), "{word}");
            }
        }
        // Names of which such a word is a part.
        let names =
            ["nullA", "None.nc", "NA", "nano", "Killed.txt", "sentinel 1 bytes", "no.nc", "A$"];
        assert_eq!(shape_of(&list(&names)), None);
    }

    #[test]
    fn a_first_line_that_names_a_column_is_found() {
        for header in ["filename", "granule", "GRANULE_ID", "Granule UR", "Id", "file,size", "Key"]
        {
            assert_eq!(shape_of(&[header.to_owned(), "A".to_owned()]), Some("header"), "{header}");
            assert_eq!(shape_of(&["A".to_owned(), header.to_owned()]), None, "{header}");
        }
    }

    #[test]
    fn a_mark_before_each_name_is_found() {
        for (lines, shape) in [
            ([" M A.nc", "?? B.nc"], "mark-and-name"),
            (["x A.nc", "x d/B.nc"], "mark-and-name"),
            (["2024-01-02 A.nc", "2024-01-03 B.nc"], "time-and-name"),
            (["1) A.nc", "2) B.nc"], "number-and-name"),
            (["[1] A.nc", "[2] B.nc"], "number-and-name"),
            (["A.nc (12 KB)", "B.nc (13 KB)"], "name-and-number"),
            (["  inflating: A.nc", "  inflating: B.nc"], "commands"),
            (["Only in a: A.nc", "Files a/B.nc and b/B.nc differ"], "commands"),
            (["{id: \"A\"}", "{id: \"B\"}"], "json"),
        ] {
            assert_eq!(shape_of(&lines.map(str::to_owned)), Some(shape), "{lines:?}");
        }
        for names in [
            ["A Study.pdf", "2024-01-02 Field notes.pdf"],
            ["{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "{3F2504E0-4F89-11D3-9A0C-0305E82C3302}"],
            ["[B].nc", "(C).nc"],
        ] {
            assert_eq!(shape_of(&names.map(str::to_owned)), None, "{names:?}");
        }
    }

    #[test]
    fn the_reference_has_the_heading_and_the_code_of_every_shape() {
        let reference = include_str!("../../docs/reference/inputs.md");
        for FindingKind { name, heading, .. } in kinds() {
            assert!(reference.contains(&format!("\n## {heading}\n")), "{heading}");
            assert!(reference.contains(&format!("`{name}`")), "{name}");
        }
    }
}
