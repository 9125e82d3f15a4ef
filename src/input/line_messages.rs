//! Recognises lines that are messages of programs or lines of logs.

use super::line_columns::{is_date, is_size, is_time, words, words_after_first};

/// The names of programs that print lists. Their messages begin with the name.
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

/// Error messages of operating systems, in lower case.
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
    if is_markup(line) {
        return true;
    }
    if is_word_of_program(line) || is_prompt(line) {
        return true;
    }
    let Some((first, rest)) = line.split_once(' ') else { return false };
    if line.contains("%|") || line.ends_with("it/s]") {
        return true;
    }
    if ["total", "insgesamt", "合計"].contains(&first) && is_size(rest.trim())
        || first == "Found" && rest.ends_with(" items")
    {
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
        // The whole line: a program may print only this, without the name of a file.
        let text = line.trim().trim_end_matches(['.', '!']);
        return FAILURES.iter().any(|failure| text.eq_ignore_ascii_case(failure));
    }
    let text = line.trim_end_matches(['.', ')', '!']).to_ascii_lowercase();
    FAILURES.iter().any(|failure| text.ends_with(failure))
}

/// Whether a line is a tag of a page or a document, or begins with the priority of a system message.
fn is_markup(line: &str) -> bool {
    let Some(rest) = line.strip_prefix('<') else { return false };
    let is_tag = rest.starts_with(|it: char| it.is_ascii_alphabetic() || "/!?".contains(it))
        && rest.ends_with('>')
        && !rest.contains('@');
    let end = rest.find('>').unwrap_or(0);
    is_tag || end > 0 && rest[..end].bytes().all(|it| it.is_ascii_digit()) && line.contains(' ')
}

/// Whether a first line belongs to the header of an HTTP response.
pub(super) fn is_http(line: &str) -> bool {
    const NAMES: [&str; 6] =
        ["cmr-hits:", "content-length:", "content-type:", "date:", "etag:", "server:"];
    let line = line.to_ascii_lowercase();
    line.starts_with("http/") && line.contains(' ') || NAMES.iter().any(|it| line.starts_with(it))
}

/// Whether a line is a single word that a program prints instead of a list, or after it.
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
            | "[EOF]"
            | "Done."
            | "```"
            | "[truncated]"
            | "--More--"
            | "..."
            | "…"
            | "^C"
    )
}

/// Whether a line begins with the prompt of a shell: `$ ls`, `foo@host:~$ ls`.
fn is_prompt(line: &str) -> bool {
    const PROMPTS: [&str; 9] =
        ["[1] ", "Out[", "$ ", "+ ", "++ ", ">>> ", "In [", "ftp> ", "sftp> "];
    // The name of an environment may precede the prompt.
    let rest = line.split_once(") ").filter(|_| line.starts_with('(')).map_or(line, |it| it.1);
    let first = rest.split(' ').next().unwrap_or_default();
    let is_shell = first.ends_with(['$', '#']) && first.contains('@') && first.contains(':');
    is_shell
        || first == "$"
        || (first == "PS" && rest.contains('>'))
        || PROMPTS.iter().any(|it| line.starts_with(it) && line.len() > it.len())
}

/// Whether a line states a number of files: `2 files`, `1 directory, 2 files`, `(2 rows)`.
fn is_count(first: &str, rest: &str) -> bool {
    const UNITS: [&str; 14] = [
        "blocks",
        "directories",
        "directory",
        "entries",
        "file",
        "files",
        "granule",
        "granules",
        "items",
        "objects",
        "record",
        "results",
        "row",
        "rows",
    ];
    let rest = rest.to_ascii_lowercase().replace("(s)", "s");
    let number = first.trim_start_matches('(');
    let unit = rest.split([' ', ',', ')', '.']).next().unwrap_or_default();
    is_size(number) && number != "-" && UNITS.contains(&unit) && {
        let after = rest[unit.len()..].trim_start_matches([',', ')', ':']);
        after.is_empty() || after.starts_with(' ')
    }
}

/// Whether a line begins like an error message of a program.
fn is_complaint(line: &str) -> bool {
    const BEGINNINGS: [&str; 26] = [
        "*** ",
        "...",
        "==> ",
        "building file list",
        "can't ",
        "cannot ",
        "could not ",
        "empty set (",
        "error \"",
        "failed to ",
        "granules found",
        "index of /",
        "last login: ",
        "loading module",
        "no such ",
        "nothing ",
        "parent directory",
        "permission denied ",
        "receiving incremental",
        "redirecting to ",
        "sending incremental",
        "submitted batch job",
        "total objects: ",
        "total size",
        "unable to ",
        "version https://git-lfs",
    ];
    const ABSENCES: [&str; 7] =
        ["found", "results", "matches", "available", "files", "objects", "granules"];
    const LABELS: [&str; 6] = ["error", "exception", "failed", "fatal", "usage", "warning"];
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

/// Whether a line is a command, or describes an action of one: `wget ADDRESS`, `upload: A to B`, `A -> B`.
pub(super) fn is_command(line: &str) -> bool {
    const COMMANDS: [&str; 22] = [
        "aria2c", "aws", "cat", "chmod", "cp", "curl", "echo", "export", "get", "gsutil", "ln",
        "ls", "mget", "mv", "put", "rclone", "rm", "rsync", "scp", "sudo", "touch", "wget",
    ];
    const DONE: [&str; 23] = [
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
        "(dryrun)",
        "*deleting",
        "Processing",
        "Transferring",
        "Would",
        "added",
    ];
    let is_compared = || {
        line.starts_with("Only in ") && line.contains(": ")
            || line.starts_with("Files ") && line.ends_with(" differ")
    };
    // `rsync --itemize-changes` prints this: `>f+++++++++`.
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
        || line.contains(" => ")
        || line.starts_with("@@ -")
        || is_compared()
}

/// The levels of log messages.
const LEVELS: [&str; 9] =
    ["DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL", "FATAL", "INFO:"];

/// Whether a line is one of a log: a date, a time, and a level.
pub(super) fn is_log(line: &str) -> bool {
    // `wget` writes such lines, and so do loggers of name=value pairs.
    let is_dated =
        line.strip_prefix("--").is_some_and(|it| is_date(it.split(' ').next().unwrap_or_default()));
    let is_labelled = || {
        let (label, rest) = line.split_once(':').unwrap_or_default();
        LEVELS.contains(&label) && !rest.starts_with(' ') && rest.contains(':')
    };
    if is_dated || line.contains(" msg=") || is_coded(line) || is_labelled() {
        return true;
    }
    let mut words = words(line).skip_while(|word| is_date(word) || is_time(word));
    let has_date = words_after_first(line).next().is_some() && words_of_time(line) > 0;
    words.next().is_some_and(|word| {
        let bare = word.trim_matches(['[', ']', ':']);
        LEVELS.contains(&bare) && (has_date || word.ends_with(':') || word.starts_with('['))
    })
}

/// Whether a line begins with a letter, the month and the day, as some logs do: `I0102 03:04:05.678 …`.
fn is_coded(line: &str) -> bool {
    let mut words = words(line);
    let first = words.next().unwrap_or_default();
    let has_code = first.len() == 5
        && first.starts_with(['I', 'W', 'E', 'F'])
        && first[1..].bytes().all(|it| it.is_ascii_digit());
    has_code && words.next().is_some_and(|word| word.contains(':') && is_time(word))
}

fn words_of_time(line: &str) -> usize {
    words(line).take_while(|word| is_date(word) || is_time(word)).count()
}
