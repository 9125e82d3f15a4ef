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
const FAILURES: [&str; 20] = [
    "access denied",
    "connection refused",
    "connection reset by peer",
    "connection timed out",
    "device or resource busy",
    "file name too long",
    "host is down",
    "input/output error",
    "is a directory",
    "no space left on device",
    "no such file or directory",
    "not a directory",
    "operation not permitted",
    "operation timed out",
    "permission denied",
    "remote i/o error",
    "stale file handle",
    "structure needs cleaning",
    "too many levels of symbolic links",
    "transport endpoint is not connected",
];

pub(super) fn is_message(line: &str) -> bool {
    let Some((first, rest)) = line.split_once(' ') else { return false };
    if first == "total" && is_size(rest.trim()) || first == "Found" && rest.ends_with(" items") {
        return true;
    }
    if line.starts_with("Traceback (most recent") || line.starts_with("An error occurred (") {
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
