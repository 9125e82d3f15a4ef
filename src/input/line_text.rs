//! Recognises lines that are scripts, comments, text, values or addresses, and lines with several ids.

use super::line_columns::{is_file_name, words};

/// Whether a line is the first line of a script.
pub(super) fn is_script(line: &str) -> bool {
    line.starts_with("#!") || line.to_ascii_lowercase().starts_with("@echo")
}

/// Whether a first line is a comment.
pub(super) fn is_comment(line: &str) -> bool {
    const WORDS: [&str; 5] = ["!", "--", "---", "::", "REM"];
    let line = line.trim_start();
    let first = line.split(' ').next().unwrap_or_default();
    line.starts_with(['#', ';', '%'])
        || line.starts_with("//")
        || line.starts_with("/*")
        || line.starts_with("-----")
        || line == "--"
        || WORDS.iter().any(|word| first.eq_ignore_ascii_case(word)) && first.len() < line.len()
}

/// First lines that are a header rather than an id, in lower case without `_`, `-` and blanks.
const HEADERS: [&str; 30] = [
    "accession",
    "dateiname",
    "entryid",
    "file",
    "fileid",
    "filename",
    "filepath",
    "files",
    "fullname",
    "granule",
    "granuleid",
    "granulename",
    "granules",
    "granuleur",
    "id",
    "identifier",
    "ids",
    "key",
    "name",
    "object",
    "objectkey",
    "path",
    "producergranuleid",
    "product",
    "productid",
    "run",
    "runaccession",
    "title",
    "uri",
    "url",
];

/// Whether a first line names a column.
pub(super) fn is_header(line: &str) -> bool {
    // Also matches the name of a section: `[files]`.
    let first = line.trim_matches(['[', ']']).split(['|', ',', ';']).next().unwrap_or_default();
    if first.len() > 32 {
        return false;
    }
    let bare: String = first.trim().chars().filter(|it| !matches!(it, '_' | '-' | ' ')).collect();
    HEADERS.contains(&bare.to_ascii_lowercase().as_str())
}

/// Whether a line is a text that programs write instead of a missing value.
pub(super) fn is_no_value(line: &str) -> bool {
    let is_broken_cell = line.starts_with('#') && line.len() > 2 && {
        let rest = line.trim_matches('#');
        rest.is_empty()
            || ["REF!", "VALUE!", "NAME?", "NULL!", "DIV/0!", "NUM!", "N/A"].contains(&rest)
    };
    is_broken_cell
        || matches!(
            line,
            "null"
                | "NULL"
                | "<null>"
                | "(null)"
                | "None"
                | "<none>"
                | "nil"
                | "NaN"
                | "nan"
                | "undefined"
                | "N/A"
                | "n/a"
                | "-"
                | "?"
                | "[]"
                | "{}"
                | "\"\""
                | "\\N"
                | "[object Object]"
        )
}

/// The characters at the beginning of a comment.
pub(super) fn comment_prefix(line: &str) -> &str {
    let first = line.split(' ').next().unwrap_or_default();
    let start = line.len() - line.trim_start().len();
    let marks = |it: char| !"#;%/!*-:".contains(it);
    let end = line[start..].find(marks).map_or(line.len(), |marks| start + marks);
    if end == start { first } else { &line[..end] }
}

/// The text within the quotes of a line.
pub(super) fn unquoted(line: &str) -> &str {
    line.trim_matches([' ', '[', ']', '(', ')', ',', ';', '"', '\'', '`'])
}

/// Whether any line is a comment. An id can begin with `#` or `--`, but not if a blank follows.
pub(super) fn is_remark(line: &str) -> bool {
    line.starts_with("# ") || line.starts_with("-- ")
}

/// Whether a line is a JSON document, or looks like an invalid JSON object.
pub(super) fn is_json(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('{') && line.contains([':', '"'])
        || line.starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
}

/// Whether a line is quoted, optionally as an element of an array.
pub(super) fn is_quoted(line: &str) -> bool {
    // Programming languages print texts like this: `b'A.nc'`, `PosixPath('A.nc')`.
    let word = line.trim_start_matches(|it: char| it.is_ascii_alphabetic());
    let line = if word.starts_with(['\'', '"', '(']) { word } else { line };
    let line = line.trim_matches([' ', '[', ']', '(', ')', ',', ';']);
    let is_between =
        |open, close| line.len() > 1 && line.starts_with(open) && line.ends_with(close);
    [('"', '"'), ('\'', '\''), ('`', '`'), ('‘', '’'), ('“', '”'), ('«', '»')]
        .into_iter()
        .any(|(open, close)| is_between(open, close))
}

/// Whether a line is quoted. Other lines may not be: `ls` and `git` quote only some names.
pub(super) fn is_escaped(line: &str) -> bool {
    let is_between = |quote| line.len() > 2 && line.starts_with(quote) && line.ends_with(quote);
    is_between('"') || is_between('\'')
}

/// Whether a line contains a wildcard or a variable that a shell would replace.
pub(super) fn is_pattern(line: &str) -> bool {
    is_file_name(line) && (line.contains('*') || line.contains("${"))
}

/// Whether a line is a name and a value: `GROUP = FOO`, `name: foo`.
pub(super) fn has_value(line: &str) -> bool {
    let mut words = words(line);
    let has_label = words.next().is_some_and(|first| {
        first.len() > 1 && first.ends_with([':', '=']) && !first.contains("://")
    });
    let has_value = has_label && words.next().is_some();
    // Such as `path=A.nc size=3`.
    let are_pairs = line.contains(' ')
        && line.split(' ').all(|word| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
            })
        });
    line.contains(" = ") || has_value || are_pairs
}

/// Whether a line is a sentence: it has at least four words, and none of them names a file or has a digit.
pub(super) fn is_sentence(line: &str) -> bool {
    words(line).nth(3).is_some()
        && words(line).all(|word| {
            let word = word.trim_end_matches(['.', ',', ':', ';', '!', '?']);
            !is_file_name(word) && !word.bytes().any(|it| it.is_ascii_digit())
        })
}

/// Whether a line is a phrase, such as a message of a server or a program: several words without digits, none
/// of which names a file.
pub(super) fn is_phrase(line: &str) -> bool {
    let text = line.trim_end_matches(['.', '!']);
    words(text).nth(1).is_some()
        && words(text).all(|word| {
            let bare = word.trim_end_matches([',', ':', ';']);
            !is_file_name(bare) && bare.bytes().all(|it| it.is_ascii_alphabetic() || it == b'\'')
        })
}

/// Parameters of signed addresses, in lower case.
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

/// Whether a line is an address with a secret: a signature, a token or a password.
pub(super) fn is_signed_address(line: &str) -> bool {
    if has_password(line) {
        return true;
    }
    let Some((address, query)) = line.split_once('?') else { return false };
    let is_signature = |parameter: &str| {
        let name = parameter.split('=').next().unwrap_or_default().to_ascii_lowercase();
        let is_known = SIGNATURES.contains(&name.as_str());
        let is_secret = name.ends_with("token") || name.ends_with("signature");
        parameter.contains('=') && (is_known || is_secret)
    };
    address.contains("://") && query.split(['&', ';']).any(is_signature)
}

/// Whether a line is an address with a name and a password.
pub(super) fn has_password(line: &str) -> bool {
    let authority = line.split_once("://").map_or("", |(_, rest)| rest).split('/').next();
    authority.and_then(|it| it.split_once('@')).is_some_and(|(user, _)| user.contains(':'))
}

/// Whether a word looks like an id: it has a digit, and one of the characters that separate the parts of names.
fn looks_like_id(word: &str) -> bool {
    word.len() >= 3
        && word.bytes().any(|it| it.is_ascii_digit())
        && word.bytes().any(|it| matches!(it, b'.' | b'_' | b'-' | b'/'))
}

/// Whether any line contains several ids.
pub(super) fn has_several_ids(line: &str) -> bool {
    let list = line.trim_end_matches([',', ';', ' ']);
    let by_commas = || list.split([',', ';']).map(str::trim).all(looks_like_id);
    let is_spaced = || words(line).nth(2).is_some() || line.trim().contains("  ");
    list.contains([',', ';']) && by_commas()
        || is_spaced() && words(line).all(looks_like_id)
        || have_one_extension(line)
}

/// Whether a line has two words or more, all of which end with the same extension.
fn have_one_extension(line: &str) -> bool {
    let bare = |word: &str| word.trim_matches(['[', ']', ',', ';']).to_owned();
    let ending = |word: &str| bare(word).rsplit_once('.').map(|(_, end)| end.to_owned());
    let mut endings = words(line).map(ending);
    let first = endings.next().flatten();
    let is_extension = first.as_ref().is_some_and(|it| {
        (1..=5).contains(&it.len()) && it.bytes().any(|it| it.is_ascii_alphabetic())
    });
    let mut others = endings.peekable();
    is_extension && others.peek().is_some() && others.all(|other| other == first)
}

/// Whether the only line of a file contains several ids. If there is only one line, weaker signs suffice.
pub(super) fn is_line_of_ids(line: &str) -> bool {
    if has_several_ids(line) {
        return true;
    }
    let list = line.trim_end_matches([',', ';', ' ']);
    let is_word = |part: &str| !part.is_empty() && !part.contains(' ');
    if list.contains([',', ';']) && list.split([',', ';']).map(str::trim).all(is_word) {
        return true;
    }
    let has_letter_and_digit = |word: &str| {
        word.starts_with(|it: char| it.is_ascii_alphabetic())
            && word.bytes().any(|it| it.is_ascii_digit())
    };
    words(line).nth(2).is_some() && words(line).all(has_letter_and_digit)
}
