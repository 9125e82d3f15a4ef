//! Lines with columns: permissions, dates, times and sizes beside a name.

pub(super) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(' ').filter(|word| !word.is_empty())
}

/// Whether a word is a permission string of `ls -l`: `-rw-r--r--`, optionally with a mark for an access list.
fn is_permissions(word: &str) -> bool {
    let word = match word.len() {
        11 => word.strip_suffix(['.', '+', '@']).unwrap_or_default(),
        _ => word,
    };
    let mut letters = word.bytes();
    word.len() == 10
        && letters.next().is_some_and(|it| b"-.dlbcpsDCMn".contains(&it))
        && letters.all(|it| b"-rwxsStTlL".contains(&it))
}

/// Whether a word is a date, optionally followed by a time: `2024-01-02`, `2024/01/02`, `02.01.2024`,
/// `2024-01-02T03:04:05Z`, `2-Jan-2024`.
pub(super) fn is_date(word: &str) -> bool {
    let word = word.strip_prefix('[').unwrap_or(word);
    let mut parts = word.splitn(3, ['-', '/', '.']);
    let (Some(first), Some(second), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        digits.contains(&text.len()) && text.bytes().all(|it| it.is_ascii_digit())
    };
    let end = rest.bytes().position(|it| !it.is_ascii_digit()).unwrap_or(rest.len());
    let (third, rest) = rest.split_at(end);
    let is_month = is_number(second, 1..=2) || is_month_name(second);
    let is_year_first = is_number(first, 4..=4) && is_number(third, 1..=2);
    let is_year_last =
        is_number(first, 1..=2) && (is_number(third, 4..=4) || is_number(third, 2..=2));
    let is_time = match rest.strip_prefix(['T', '.', '_']) {
        Some(time) => time.starts_with(|it: char| it.is_ascii_digit()),
        None => rest.trim_end_matches([']', ',']).is_empty(),
    };
    is_month && (is_year_first || is_year_last) && is_time
}

fn is_month_name(word: &str) -> bool {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    MONTHS.contains(&word.to_ascii_lowercase().as_str())
}

/// Whether a word is a time of the day or a part of one: `03:04`, `03:04:05.678`, `AM`, `UTC`, `+0000`.
pub(super) fn is_time(word: &str) -> bool {
    let word = word.trim_end_matches([']', ',']);
    let is_clock = word.contains(':')
        && word.starts_with(|it: char| it.is_ascii_digit())
        && word.bytes().all(|it| it.is_ascii_digit() || b":.,ZAPMapm+-".contains(&it));
    let is_offset = word.len() == 5
        && word.starts_with(['+', '-'])
        && word[1..].bytes().all(|it| it.is_ascii_digit());
    is_clock || is_offset || ["AM", "PM", "am", "pm", "UTC", "GMT", "CET", "CEST"].contains(&word)
}

/// Whether a word is a size: `1234`, `1,234`, `1.2K`, `12KiB`, `-`, `DIR`.
pub(super) fn is_size(word: &str) -> bool {
    let end = word
        .bytes()
        .position(|it| !(it.is_ascii_digit() || matches!(it, b'.' | b',')))
        .unwrap_or(word.len());
    let (number, unit) = word.split_at(end);
    if number.is_empty() {
        return ["-", "DIR", "<DIR>", "PRE"].contains(&word);
    }
    let unit = unit.trim_end_matches(['B', 'b']).trim_end_matches('i');
    matches!(unit, "" | "K" | "k" | "M" | "m" | "G" | "g" | "T" | "t" | "P" | "E")
        && number.starts_with(|it: char| it.is_ascii_digit())
}

/// Whether a word is the unit of a size, as in `1.2 KiB`.
fn is_unit(word: &str) -> bool {
    ["B", "bytes", "KB", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"].contains(&word)
}

pub(super) fn is_number(word: &str) -> bool {
    word.starts_with(|it: char| it.is_ascii_digit())
        && word.bytes().all(|it| it.is_ascii_digit() || matches!(it, b',' | b'.'))
}

pub(super) fn has_permissions(line: &str) -> bool {
    let mut words = words(line);
    // `find -ls` and `ls -lis` print an inode and blocks first.
    let found = words.by_ref().take(3).find(|word| is_permissions(word) || !is_size(word));
    found.is_some_and(is_permissions) && words.next().is_some()
        || line.len() > 4
            && line.as_bytes()[4] == b' '
            && line.bytes().take(4).all(|it| b"-drwx".contains(&it))
            && words_after_first(line).next().is_some_and(is_date)
}

pub(super) fn words_after_first(line: &str) -> impl Iterator<Item = &str> {
    words(line).skip(1)
}

pub(super) fn has_date_and_size(line: &str) -> bool {
    let mut words = words(line).peekable();
    match words.next() {
        // `aws s3 ls` prints this for a prefix.
        Some("PRE") => return line.starts_with("  ") && words.next().is_some(),
        Some(first) if is_date(first) => {}
        _ => return false,
    }
    while words.next_if(|word| is_time(word)).is_some() {}
    words.next().is_some_and(is_size) && words.next().is_some()
}

pub(super) fn has_size_and_date(line: &str) -> bool {
    let mut words = words(line);
    let has_size = words.next().is_some_and(is_size);
    let mut next = words.next();
    if next.is_some_and(is_unit) {
        next = words.next();
    }
    has_size && next.is_some_and(is_date) && words.next().is_some()
}

/// Matches the index of a web server, and other lists with the name first. A date alone may be part of a name.
pub(super) fn has_name_date_and_size(line: &str) -> bool {
    let words: Vec<&str> = words(line).collect();
    let is_clock = |word: &str| word.contains(':') && is_time(word);
    match words.as_slice() {
        [_, .., date, time, size] => is_date(date) && is_clock(time) && is_size(size),
        _ => false,
    }
}

pub(super) fn has_address_and_size(line: &str) -> bool {
    let mut words = words(line);
    let is_length = |word: &str| word == "-" || word.bytes().all(|it| it.is_ascii_digit());
    words.next().is_some_and(|first| first.contains("://"))
        && words.next().is_some_and(is_length)
        && words.next().is_some()
}

pub(super) fn has_number_and_name(line: &str) -> bool {
    let mut words = words(line);
    // A numbered list may use `1)`.
    let is_first = |word: &str| is_number(word.trim_end_matches([')', ':']));
    words.next().is_some_and(is_first) && words.next().is_some()
}

/// Whether a word is a mark of success or failure.
fn is_tick(word: &str) -> bool {
    ["✓", "✔", "✗", "✘", "✅", "❌"].contains(&word)
}

/// Whether a line has a state before the name of a file, as `git status --short` and `svn status` print it, or
/// `x` or `a`, as `tar` prints it.
pub(super) fn has_mark_and_name(line: &str) -> bool {
    let mut words = words(line);
    let is_mark = |word: &str| {
        let bare = word.trim_matches(['(', ')', '[', ']']);
        let is_state = ["OK", "FAIL", "FAILED"].contains(&bare);
        let is_bracketed = bare.len() + 2 == word.len()
            && (1..=6).contains(&bare.len())
            && bare.bytes().all(|it| it.is_ascii_uppercase());
        let is_short = (1..=2).contains(&word.len())
            && word.bytes().all(|it| b"MADRCTUXIax?!+~=*-^<>".contains(&it));
        is_state || is_bracketed || is_short || is_tick(word)
    };
    let has_mark = words.next().is_some_and(is_mark);
    let is_name = |word: &str| is_file_name(word) && !word.starts_with('(');
    has_mark && words.next().is_some_and(is_name) && words.next().is_none()
}

pub(super) fn is_ruler(line: &str) -> bool {
    let is_drawn = |it: char| {
        matches!(it, '-' | '=' | '*' | '+' | '|' | '_' | ' ' | '─' | '┼' | '├' | '┤' | '═')
    };
    line.matches(['-', '=', '*', '─', '═']).count() >= 3 && line.chars().all(is_drawn)
}

/// Whether a line is drawn as a branch of a tree.
pub(super) fn is_drawn(line: &str) -> bool {
    line.trim_start_matches([' ', '\u{a0}', '│', '|']).starts_with(['├', '└'])
        || ["|-- ", "`-- ", "+---", "\\---"].iter().any(|branch| line.starts_with(branch))
}

/// Whether a word names a file: it has a directory or an extension.
pub(super) fn is_file_name(word: &str) -> bool {
    let (stem, extension) = word.rsplit_once('.').unwrap_or((word, ""));
    let is_extension = (1..=6).contains(&extension.len())
        && extension.bytes().all(|it| it.is_ascii_alphanumeric())
        && extension.bytes().any(|it| it.is_ascii_alphabetic());
    word.contains('/') || is_extension && !stem.is_empty()
}

/// Whether a line begins with the name of a file, followed only by numbers, sizes, times or a state.
pub(super) fn has_name_and_number(line: &str) -> bool {
    let mut words = line.split([' ', '|', '^']).filter(|word| !word.is_empty());
    let has_name = words.next().is_some_and(is_file_name);
    let mut rest = words.peekable();
    let is_state = |word: &str| ["OK", "FAIL", "FAILED"].contains(&word) || is_tick(word);
    has_name
        && rest.peek().is_some()
        && rest.all(|word| {
            let word = word.trim_matches(['(', '[', ')', ']']);
            is_size(word) || is_unit(word) || is_state(word) || is_date(word) || is_time(word)
        })
}

/// Whether a line is a date and a time of the day with a name after them, or a date and the name of a file.
pub(super) fn has_time_and_name(line: &str) -> bool {
    let mut words = words(line).peekable();
    let Some(first) = words.next().filter(|word| is_date(word)) else { return false };
    let mut has_time = first.contains(':');
    while let Some(word) = words.next_if(|word| is_time(word)) {
        has_time |= word.contains(':');
    }
    let name = words.next();
    name.is_some() && has_time || name.is_some_and(is_file_name) && words.next().is_none()
}

/// Whether a word of a line is a checksum, and the line has another word.
pub(super) fn has_checksum(line: &str) -> bool {
    let is_checksum = |word: &str| {
        let word = word.trim_end_matches([':', ',', ';']);
        // Web pages write an algorithm, and the checksum in base 64.
        if let Some((algorithm, rest)) = word.split_once('-')
            && ["md5", "sha1", "sha256", "sha384", "sha512"].contains(&algorithm)
        {
            return rest.len() >= 22;
        }
        let word = word.rsplit([':', '=']).next().unwrap_or_default();
        word.len() >= 32 && word.bytes().all(|it| it.is_ascii_hexdigit())
    };
    words(line).any(is_checksum) && words(line).nth(1).is_some()
}
