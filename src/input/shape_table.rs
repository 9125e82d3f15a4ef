//! The table of shapes: kinds of lines that are not ids.
//!
//! Each shape is data: a name, the number of lines that must match, a test of a line, and a hint.

use super::finding::FindingKind;
use super::line_columns::{
    has_address_and_size, has_checksum, has_date_and_size, has_mark_and_name, has_name_and_number,
    has_name_date_and_size, has_number_and_name, has_permissions, has_size_and_date,
    has_time_and_name, is_drawn, is_ruler,
};
use super::line_messages::{is_command, is_http, is_log, is_message};
use super::line_text::{
    has_several_ids, has_value, is_comment, is_escaped, is_header, is_json, is_line_of_ids,
    is_no_value, is_pattern, is_phrase, is_quoted, is_remark, is_script, is_sentence,
    is_signed_address,
};
use crate::error::ErrorKind;

/// The lines of a file that must have a shape before the file is considered to be of that shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quorum {
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
pub(super) struct Shape {
    pub(super) kind: FindingKind,
    pub(super) quorum: Quorum,
    pub(super) test: fn(&str) -> bool,
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

/// The shapes, the most specific first. The first one with enough lines describes the file.
pub(super) static SHAPES: [Shape; 35] = [
    shape(
        "script",
        "Scripts",
        Quorum::First,
        is_script,
        "is the first line of a script, not an id",
        SCRIPT,
    ),
    shape(
        "http",
        "Error messages",
        Quorum::First,
        is_http,
        "is the header of a response, not an id",
        "save the body alone, as `curl --fail -o FILE ADDRESS` does",
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
        "`--no-header --column 1` reads a table of one column; `ls -N` and `jq -r` print names without quotes",
    ),
    shape(
        "escaped",
        "Quoted lines",
        Quorum::Any,
        is_escaped,
        "is quoted, not an id",
        "`ls -N` and `git -c core.quotePath=false ls-files` print names as they are",
    ),
    shape(
        "pattern",
        "Scripts",
        Quorum::Any,
        is_pattern,
        "is a pattern of names, which a shell did not replace, or a variable",
        "`find DIR -type f -name PATTERN` prints the names",
    ),
    shape(
        "bullets",
        "Columns",
        Quorum::Every,
        |line| ["- ", "* ", "> ", "• ", "\\item "].iter().any(|it| line.starts_with(it)),
        "begins with a bullet, as every line of the file does",
        "remove the bullets, as `sed 's/^[^ ]* //'` does",
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
        "write one id a line, as `tr -s ',; ' '\\n'` does",
    ),
    shape(
        "one-line",
        "Several ids in a line",
        Quorum::Only,
        is_line_of_ids,
        "is the only line, and has several ids",
        "write one id a line, as `tr -s ',; ' '\\n'` does",
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
    shape(
        "sentence",
        "Text and data",
        Quorum::Only,
        is_phrase,
        "is the only line, and is text, not an id",
        OF_DATA,
    ),
];
