//! Lines that are messages of programs, or of their logs.

use super::line_columns::{is_date, is_size, is_time, words, words_after_first};

/// The names of programs that list, before their messages.
const PROGRAMS: [&str; 30] = [
    "aws",
    "azcopy",
    "bash",
    "cat",
    "cp",
    "curl",
    "du",
    "fatal",
    "find",
    "fd",
    "gsutil",
    "gcloud",
    "grep",
    "gzip",
    "hadoop",
    "hdfs",
    "lfs",
    "ls",
    "md5sum",
    "rclone",
    "rsync",
    "s3cmd",
    "s5cmd",
    "sh",
    "sha256sum",
    "ssh",
    "stat",
    "tar",
    "tree",
    "wget",
];

/// What systems say of an error, in lower case.
const FAILURES: [&str; 25] = [
    "access denied",
    "broken pipe",
    "connection refused",
    "connection reset by peer",
    "connection timed out",
    "core dumped",
    "file not found",
    "device or resource busy",
    "file name too long",
    "host is down",
    "input/output error",
    "is a directory",
    "no space left on device",
    "no such device",
    "no such file or directory",
    "not a directory",
    "operation not permitted",
    "operation timed out",
    "permission denied",
    "quota exceeded",
    "remote i/o error",
    "stale file handle",
    "structure needs cleaning",
    "too many levels of symbolic links",
    "transport endpoint is not connected",
];

pub(super) fn is_message(line: &str) -> bool {
    if line.starts_with('<') && line.ends_with('>') && line.contains("</") {
        return true;
    }
    if is_word_of_program(line) || is_prompt(line) {
        return true;
    }
    let Some((first, rest)) = line.split_once(' ') else { return false };
    if first == "total" && is_size(rest.trim()) || first == "Found" && rest.ends_with(" items") {
        return true;
    }
    if line.starts_with("Traceback (most recent") || line.starts_with("An error occurred (") {
        return true;
    }
    if is_count(first, rest) || is_complaint(line) {
        return true;
    }
    if let Some(name) = first.strip_suffix(':') {
        let program = name.rsplit('/').next().unwrap_or_default();
        let is_label = ["error", "warning", "warn", "fatal error", "total", "usage"]
            .iter()
            .any(|label| name.eq_ignore_ascii_case(label));
        if PROGRAMS.contains(&program) || is_label {
            return true;
        }
    }
    if !line.contains(": ") && !line.contains('(') {
        // All that a program printed: no name of a file comes before it.
        let text = line.trim().trim_end_matches(['.', '!']);
        return FAILURES.iter().any(|failure| text.eq_ignore_ascii_case(failure));
    }
    let text = line.trim_end_matches(['.', ')', '!']).to_ascii_lowercase();
    FAILURES.iter().any(|failure| text.ends_with(failure))
}

/// Whether a line is one word that a program prints in place of a list, or at its end.
pub(super) fn is_word_of_program(line: &str) -> bool {
    matches!(
        line,
        "Aborted"
            | "AccessDenied"
            | "Forbidden"
            | "Killed"
            | "NoSuchBucket"
            | "NoSuchKey"
            | "Terminated"
            | "Unauthorized"
            | "Segmentation fault"
            | "[truncated]"
            | "--More--"
            | "..."
            | "…"
            | "^C"
    )
}

/// Whether a line is what a shell asks with, and perhaps a command: `$ ls`, `foo@host:~$ ls`.
fn is_prompt(line: &str) -> bool {
    let first = line.split(' ').next().unwrap_or_default();
    first == "$" || first.ends_with(['$', '#']) && first.contains('@') && first.contains(':')
}

/// Whether a line says how many files there are: `2 files`, `1 directory, 2 files`, `(2 rows)`.
fn is_count(first: &str, rest: &str) -> bool {
    const UNITS: [&str; 10] = [
        "directories",
        "directory",
        "entries",
        "file",
        "files",
        "items",
        "objects",
        "results",
        "row",
        "rows",
    ];
    let number = first.trim_start_matches('(');
    let unit = rest.split([' ', ',', ')', '.']).next().unwrap_or_default();
    is_size(number) && number != "-" && UNITS.contains(&unit) && {
        let after = rest[unit.len()..].trim_start_matches([',', ')', ':']);
        after.is_empty() || after.starts_with(' ')
    }
}

/// Whether a line begins as a program says that something is wrong.
fn is_complaint(line: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        "...",
        "building file list",
        "cannot ",
        "can't ",
        "could not ",
        "failed to ",
        "last login: ",
        "loading module",
        "no such ",
        "nothing ",
        "permission denied ",
        "receiving incremental",
        "sending incremental",
        "total size is ",
        "unable to ",
    ];
    const ABSENCES: [&str; 7] =
        ["found", "results", "matches", "available", "files", "objects", "granules"];
    const LABELS: [&str; 5] = ["error", "exception", "fatal", "usage", "warning"];
    let line = line.to_ascii_lowercase();
    let label = line.split_once(": ").map_or("", |(label, _)| label);
    let text = line.trim_end_matches(['.', '!']);
    let is_absence =
        || text.starts_with("no ") && ABSENCES.iter().any(|ending| text.ends_with(ending));
    let is_transfer = || line.starts_with("sent ") && line.contains(" bytes ");
    BEGINNINGS.iter().any(|beginning| line.starts_with(beginning))
        || is_absence()
        || is_transfer()
        || LABELS.iter().any(|word| label.ends_with(word)) && !label.contains('/')
}

/// Whether a line is a command, or what a command prints of what it does: `wget ADDRESS`, `upload: A to B`,
/// `A -> B`.
pub(super) fn is_command(line: &str) -> bool {
    const COMMANDS: [&str; 18] = [
        "aria2c", "aws", "cp", "curl", "echo", "get", "gsutil", "ln", "mget", "mv", "put",
        "rclone", "rm", "rsync", "scp", "sudo", "touch", "wget",
    ];
    const DONE: [&str; 17] = [
        "Copying",
        "Deleting",
        "Downloading",
        "Moving",
        "Removing",
        "Skipping",
        "Uploading",
        "adding:",
        "copy:",
        "creating:",
        "delete:",
        "download:",
        "extracting:",
        "inflating:",
        "move:",
        "removed",
        "upload:",
    ];
    let is_compared = || {
        line.starts_with("Only in ") && line.contains(": ")
            || line.starts_with("Files ") && line.ends_with(" differ")
    };
    // What `rsync --itemize-changes` prints: `>f+++++++++`.
    let is_itemized = |word: &str| {
        word.len() == 11
            && word.starts_with(['<', '>', 'c', 'h', '.', '*'])
            && word[1..].starts_with(['f', 'd', 'L', 'D', 'S'])
            && word.bytes().skip(2).all(|it| b"+.cstpoguax?".contains(&it))
    };
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let is_first = COMMANDS.contains(&first) || DONE.contains(&first) || is_itemized(first);
    is_first && words.next().is_some()
        || line.contains(" -> ")
        || line.starts_with("@@ -")
        || is_compared()
}

/// A line of a log: a date, a time, and how serious it is.
pub(super) fn is_log(line: &str) -> bool {
    const LEVELS: [&str; 9] =
        ["DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "INFO:"];
    let mut words = words(line).skip_while(|word| is_date(word) || is_time(word));
    let has_date = words_after_first(line).next().is_some() && words_of_time(line) > 0;
    words.next().is_some_and(|word| {
        let bare = word.trim_matches(['[', ']', ':']);
        LEVELS.contains(&bare) && (has_date || word.ends_with(':') || word.starts_with('['))
    })
}

fn words_of_time(line: &str) -> usize {
    words(line).take_while(|word| is_date(word) || is_time(word)).count()
}
