//! Counts the shapes of lines while a file is read, to find out what it is if its lines are not ids.
//!
//! A line is tested only if it contains a byte that a shape needs. A plain list therefore costs four searches
//! for bytes a line.

use memchr::memchr3;

use super::finding::{Finding, argument};
use super::line_messages::is_word_of_program;
use super::line_text::{comment_prefix, has_password, is_header, is_no_value, unquoted};
use super::occurrences::Occurrences;
use super::shape_table::{Quorum, SHAPES, Shape};
use crate::model::SourceLocation;

/// Counts the lines of each shape, and remembers the first of each.
pub(super) struct ShapeCounts {
    /// Whether cells of a table are observed. Their column says that they are ids, so only texts that cannot be
    /// ids count as shapes.
    is_of_cells: bool,
    lines: u64,
    seen: [Occurrences; SHAPES.len()],
}

/// The shapes that a cell can have.
const OF_CELLS: [&str; 5] = ["message", "log", "ruler", "signed-address", "no-value"];

impl Default for ShapeCounts {
    fn default() -> Self {
        let seen = std::array::from_fn(|_| Occurrences::default());
        ShapeCounts { is_of_cells: false, lines: 0, seen }
    }
}

impl ShapeCounts {
    /// Creates a counter for the cells of a table.
    pub(super) fn of_cells() -> Self {
        ShapeCounts { is_of_cells: true, ..ShapeCounts::default() }
    }

    /// Tests the next line, which is not empty.
    pub(super) fn observe(&mut self, line: &str, location: &SourceLocation) {
        self.lines += 1;
        let bytes = line.as_bytes();
        if self.lines == 1 || can_have_shape(bytes) || is_alone(line) {
            self.test(line, location);
        }
    }

    /// Not inlined, because few lines of a plain list get here.
    #[inline(never)]
    fn test(&mut self, line: &str, location: &SourceLocation) {
        for (shape, seen) in SHAPES.iter().zip(&mut self.seen) {
            let is_asked = match shape.quorum {
                _ if self.is_of_cells => OF_CELLS.contains(&shape.kind.name),
                Quorum::First => self.lines == 1,
                _ => true,
            };
            if is_asked && (shape.test)(line) {
                seen.add(line, location);
            }
        }
    }

    /// The shape of the file. `None` means that it looks like a list of ids.
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

/// The hint for an example of a shape: an option to paste.
fn hint_of(shape: &str, example: &str) -> Option<String> {
    match shape {
        "comment" => {
            let prefix = comment_prefix(example);
            let option = argument(prefix)?;
            // The argument parser would read this value as an option.
            let separator = if option.starts_with('-') { '=' } else { ' ' };
            Some(format!("--comment{separator}{option} skips the lines that begin with {prefix}"))
        }
        "header" => {
            let name = argument(example).filter(|_| !example.contains(['|', ',', ';', ' ']))?;
            Some(format!(
                "if it is the header of a table, --column {name} names the column; otherwise `--skip-lines 1` skips it"
            ))
        }
        "quoted" if is_header(unquoted(example)) => {
            let name = argument(unquoted(example))?;
            Some(format!("if it is a table of one column, --column {name} names the column"))
        }
        "signed-address" if has_password(example) => {
            Some("list the address without the name and the password before @".to_owned())
        }
        _ => None,
    }
}

/// The kinds of all shapes.
#[cfg(test)]
pub(super) fn kinds() -> impl Iterator<Item = &'static super::finding::FindingKind> {
    SHAPES.iter().map(|shape| &shape.kind)
}

/// Whether a line contains a byte that a shape needs. Most ids contain none.
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
        || memchr3(b'*', b'$', b'\'', line).is_some()
}

/// Whether a line is a word that is never an id, although it contains no such byte.
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
            // Short names could be words in messages of programs, as in `ls a.nc`.
            mut lines in prop::collection::vec("[A-Z]{6}[A-Za-z0-9_]{0,14}( [a-z]{1,8})?\\.nc", 0..30),
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
            // The first line may also be read as a comment.
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
            ("PS C:\\foo> dir", "message"),
            ("foo@host:~$ ls", "message"),
            ("No data found", "message"),
            ("sending incremental file list", "message"),
            ("sent 123 bytes  received 35 bytes  316.00 bytes/sec", "message"),
            ("<html>", "message"),
            ("<34>1 2024-01-02T03:04:05.003Z host su - ID47 - A.nc", "message"),
            ("[EOF]", "message"),
            ("Done.", "message"),
            ("100%|##########| 2/2 [00:00<00:00, 12.3it/s]", "message"),
            ("download failed: s3://b/A.nc to ./A.nc An error occurred (404)", "message"),
            ("Submitted batch job 1234", "message"),
            ("WARNING:foo:skipping A.nc", "log"),
            ("2 File(s) copied", "message"),
            ("(base) foo@host:~$ ls", "message"),
            ("+ find . -name x", "message"),
            ("==> a.txt <==", "message"),
            ("--2024-01-02 03:04:05--  https://x.example.org/A.nc", "log"),
            ("I0102 03:04:05.678901 1234 foo.cc:12] A.nc", "log"),
            ("level=info msg=\"A.nc\"", "log"),
            ("#REF!", "no-value"),
            ("########", "no-value"),
            ("-", "no-value"),
            ("\"\\303\\204.nc\"", "escaped"),
            ("'A 1.nc'", "escaped"),
            ("data/2024/*.nc", "pattern"),
            ("${DIR}/A.nc", "pattern"),
        ] {
            for lines in [list(&["A.nc", word, "B.nc"]), list(&["A.nc", "B.nc", word])] {
                assert_eq!(shape_of(&lines), Some(shape), "{word}");
            }
        }
        // Names that contain such a word.
        let names = [
            "nullA",
            "None.nc",
            "NA",
            "nano",
            "Killed.txt",
            "sentinel 1 bytes",
            "no.nc",
            "A$",
            "PS 1.nc",
        ];
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
    fn only_text_in_place_of_a_list_is_the_only_line() {
        for text in ["Not Found", "rate limit exceeded", "no rows selected", "Service Unavailable."]
        {
            assert!(shape_of(&[text.to_owned()]).is_some(), "{text}");
        }
        for name in ["my file.nc", "Sample 12", "A", "MOD 021KM"] {
            assert_eq!(shape_of(&[name.to_owned()]), None, "{name}");
        }
    }

    #[test]
    fn a_mark_before_each_name_is_found() {
        for (lines, shape) in [
            ([" M A.nc", "?? B.nc"], "mark-and-name"),
            (["x A.nc", "x d/B.nc"], "mark-and-name"),
            (["2024-01-02 A.nc", "2024-01-03 B.nc"], "time-and-name"),
            (["1) A.nc", "2) B.nc"], "number-and-name"),
            (["A.nc (12 KB)", "B.nc (13 KB)"], "name-and-number"),
            (["  inflating: A.nc", "  inflating: B.nc"], "commands"),
            (["Only in a: A.nc", "Files a/B.nc and b/B.nc differ"], "commands"),
            (["{id: \"A\"}", "{id: \"B\"}"], "json"),
            (["HTTP/1.1 200 OK", "A.nc"], "http"),
            (["CMR-Hits: 2", "A.nc"], "http"),
            (["--", "-- PostgreSQL database dump"], "comment"),
            (["(OFL) A.nc", "(DUL) B.nc"], "mark-and-name"),
            (["[OK] A.nc", "[FAIL] B.nc"], "mark-and-name"),
            (["✓ A.nc", "✗ B.nc"], "mark-and-name"),
            (["A.nc OK", "B.nc FAILED"], "name-and-number"),
            (["A.nc|3", "B.nc|99"], "name-and-number"),
            (["A.nc, B.nc, C.nc,", "D.nc, E.nc"], "several-ids"),
            (["b'A.nc'", "b'B.nc'"], "quoted"),
            (["PosixPath('A.nc')", "PosixPath('B.nc')"], "quoted"),
            (["path=A.nc size=3", "path=B.nc size=4"], "values"),
            (["> A.nc", "> B.nc"], "bullets"),
            (["A.nc => x/A.nc", "B.nc => x/B.nc"], "commands"),
        ] {
            assert_eq!(shape_of(&lines.map(str::to_owned)), Some(shape), "{lines:?}");
        }
        for names in [
            ["A Study.pdf", "2024-01-02 Field notes.pdf"],
            ["{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "{3F2504E0-4F89-11D3-9A0C-0305E82C3302}"],
            ["[B].nc", "(C).nc"],
            ["(1) A.nc", "(2) B.nc"],
            ["[2024] A.nc", "[2025] B.nc"],
            ["CMIP6.x.v1|esgf.example.org", "CMIP6.y.v1|esgf.example.org"],
            ["a=1/b=2/A.nc", "a=1/b=3/A.nc"],
            ["urn:nasa:pds:foo::1.0", "urn:nasa:pds:bar::1.0"],
        ] {
            assert_eq!(shape_of(&names.map(str::to_owned)), None, "{names:?}");
        }
    }

    #[test]
    fn the_reference_has_the_heading_and_the_code_of_every_shape() {
        let reference = include_str!("../../docs/reference/inputs.md");
        for super::super::finding::FindingKind { name, heading, .. } in kinds() {
            assert!(reference.contains(&format!("\n## {heading}\n")), "{heading}");
            assert!(reference.contains(&format!("`{name}`")), "{name}");
        }
    }
}
