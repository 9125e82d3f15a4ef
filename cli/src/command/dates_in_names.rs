//! The dates and times in the names of dated listings.

use std::path::Path;

use accession::{Day, Timestamp};

/// The times in the name of a file. The error is a date with digits after it that are not understood.
pub type NameTimes = Result<Vec<Timestamp>, String>;

/// The distinct times in the name of a file.
///
/// # Errors
///
/// A date is followed by digits that are neither a time nor another date. The error is the date with these
/// digits.
pub fn times_of(path: &Path) -> NameTimes {
    times_in(&path.file_name().unwrap_or_default().to_string_lossy())
}

/// The distinct times in a name. A date means its first instant.
///
/// # Errors
///
/// Those of [`times_of`].
pub fn times_in(name: &str) -> NameTimes {
    let mut times = Vec::new();
    let mut follows_digit = false;
    for (start, character) in name.char_indices() {
        if !follows_digit && let Some((day, rest)) = date_at(&name[start..]) {
            match time_after(rest) {
                TimeAfter::Nothing => times.push(day.start()),
                TimeAfter::Time(time) => {
                    let at = format!("{day}T{time}").parse().map_err(|_| shown(&name[start..]))?;
                    times.push(at);
                }
                TimeAfter::NotUnderstood => return Err(shown(&name[start..])),
            }
        }
        follows_digit = character.is_ascii_digit();
    }
    times.sort();
    times.dedup();
    Ok(times)
}

/// A date and the text after it, up to the first character that cannot be part of a time.
fn shown(text: &str) -> String {
    let is_part = |it: char| {
        it.is_ascii_digit() || matches!(it, 'T' | 't' | 'Z' | ':' | '-' | '_' | '.' | '+')
    };
    let end = text.find(|it| !is_part(it)).unwrap_or(text.len());
    // The `T` of `.txt` does not belong to a time.
    text[..end].trim_end_matches(|it: char| !it.is_ascii_digit() && it != 'Z').to_owned()
}

/// The date at the beginning of a text, with or without hyphens, and the rest of the text.
fn date_at(text: &str) -> Option<(Day, &str)> {
    let (year, rest) = digits(text, 4)?;
    let separator = if rest.starts_with('-') { "-" } else { "" };
    let (month, rest) = digits(rest.strip_prefix(separator)?, 2)?;
    let (day, rest) = digits(rest.strip_prefix(separator)?, 2)?;
    let date: Day = format!("{year}-{month}-{day}").parse().ok()?;
    // A longer number is not a date, unless a time of six digits follows the date.
    let more = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_compact = separator.is_empty() && more == 6 && compact_time(rest).is_some();
    (more == 0 || is_compact).then_some((date, rest))
}

/// The text after a date.
enum TimeAfter {
    /// No time: no digits, or another date.
    Nothing,
    /// A time, as RFC 3339 writes it, with its offset.
    Time(String),
    /// Digits that are neither a time nor a date.
    NotUnderstood,
}

fn time_after(text: &str) -> TimeAfter {
    let is_digit = |text: &str| text.starts_with(|it: char| it.is_ascii_digit());
    if is_digit(text) {
        return compact_time(text).map_or(TimeAfter::NotUnderstood, TimeAfter::Time);
    }
    let marked = text.strip_prefix(['T', 't']);
    let (time, is_marked) = match marked {
        Some(time) => (time, true),
        None => (text.strip_prefix(['-', '_', '.', ' ']).unwrap_or(text), false),
    };
    if !is_digit(time) {
        return TimeAfter::Nothing;
    }
    match time_at(time, is_marked) {
        Some(time) => TimeAfter::Time(time),
        None if !is_marked && date_at(time).is_some() => TimeAfter::Nothing,
        None => TimeAfter::NotUnderstood,
    }
}

/// The time at the beginning of a text, in six digits.
fn compact_time(text: &str) -> Option<String> {
    let (time, rest) = digits(text, 6)?;
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    let offset = offset_at(rest, false)?;
    is_time(hour, minute, second).then(|| format!("{hour}:{minute}:{second}{offset}"))
}

/// The time of day at the beginning of a text. If it is marked by a `T` before it, the seconds are optional.
fn time_at(text: &str, is_marked: bool) -> Option<String> {
    let (hour, rest) = digits(text, 2)?;
    if is_marked && rest.starts_with(['Z', 'z']) {
        return is_time(hour, "00", "00").then(|| format!("{hour}:00:00Z"));
    }
    let is_separated = rest.starts_with([':', '-', '.', '_']);
    let next = |rest| separated(rest, is_separated);
    let (minute, rest) = next(rest)?;
    let (second, rest) = match next(rest) {
        Some((second, rest)) => (second, rest),
        None if is_marked || rest.starts_with(['Z', 'z']) => ("00", rest),
        None => return None,
    };
    let (fraction, rest) = fraction_at(rest);
    let offset = offset_at(rest, is_marked)?;
    is_time(hour, minute, second).then(|| format!("{hour}:{minute}:{second}{fraction}{offset}"))
}

/// Two digits, and the rest of the text. If `is_separated`, they follow a character that replaces the colon in
/// names of files.
fn separated(text: &str, is_separated: bool) -> Option<(&str, &str)> {
    let text = match is_separated {
        true => text.strip_prefix([':', '-', '.', '_'])?,
        false => text,
    };
    let (two, rest) = digits(text, 2)?;
    // A number of three or more digits is not part of a time.
    let is_longer = is_separated && rest.starts_with(|it: char| it.is_ascii_digit());
    (!is_longer).then_some((two, rest))
}

/// A fraction of a second as in RFC 3339, and the rest of the text.
fn fraction_at(text: &str) -> (String, &str) {
    let Some(digits) = text.strip_prefix(['.', ',', '-']) else { return (String::new(), text) };
    let end = digits.find(|it: char| !it.is_ascii_digit()).unwrap_or(digits.len());
    let (fraction, rest) = digits.split_at(end);
    let is_hyphen = text.starts_with('-');
    let is_fraction =
        (1..=9).contains(&end) && (!is_hyphen || end == 3 && rest.starts_with(['Z', 'z']));
    match is_fraction {
        // The resolution is microseconds.
        true => (format!(".{}", &fraction[..end.min(6)]), rest),
        false => (String::new(), text),
    }
}

/// The offset at the beginning of a text: UTC if there is none. `None` means that the time is not understood,
/// because digits, a half of the day or a time zone follow it.
fn offset_at(text: &str, is_marked: bool) -> Option<String> {
    let is_digit = |text: &str| text.starts_with(|it: char| it.is_ascii_digit());
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return (!is_digit(rest)).then(|| "Z".to_owned());
    }
    if let Some(rest) = text.strip_prefix(['+', '-'])
        && is_marked
        && let Some((hours, rest)) = digits(rest, 2)
        && let Some((minutes, rest)) = digits(rest.strip_prefix(':').unwrap_or(rest), 2)
        && !is_digit(rest)
    {
        return Some(format!("{}{hours}:{minutes}", &text[..1]));
    }
    if is_half_day_or_zone(text) {
        return None;
    }
    let after = text.strip_prefix(['-', '_', '.', ',', '+']).unwrap_or(text);
    match is_digit(text) || is_digit(after) && date_at(after).is_none() {
        true => None,
        false => Some("Z".to_owned()),
    }
}

/// Whether a text begins with a half of the day or a time zone other than UTC, which would change the time
/// before it.
fn is_half_day_or_zone(text: &str) -> bool {
    const ZONES: [&str; 22] = [
        "AEDT", "AEST", "AKST", "AM", "BST", "CDT", "CEST", "CET", "CST", "EDT", "EEST", "EET",
        "EST", "HST", "IST", "JST", "MDT", "MSK", "MST", "PDT", "PM", "PST",
    ];
    let word = text.strip_prefix(['-', '_', '.', ' ']).unwrap_or(text);
    let end = word.find(|it: char| !it.is_alphanumeric()).unwrap_or(word.len());
    ZONES.iter().any(|zone| word[..end].eq_ignore_ascii_case(zone))
}

fn is_time(hour: &str, minute: &str, second: &str) -> bool {
    let is_below = |text: &str, limit: u8| text.parse::<u8>().is_ok_and(|number| number < limit);
    is_below(hour, 24) && is_below(minute, 60) && is_below(second, 60)
}

/// This many digits, and the rest of the text.
fn digits(text: &str, number: usize) -> Option<(&str, &str)> {
    let (digits, rest) = text.split_at_checked(number)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some((digits, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_time_is_the_same_in_every_spelling(seconds in 0_i64..4_000_000_000) {
            let at = Timestamp::from_micros(seconds * 1_000_000).unwrap();
            let text = at.to_string();
            let (date, time) = (&text[..10], &text[11..19]);
            let (compact_date, compact_time) = (date.replace('-', ""), time.replace(':', ""));
            let hyphens = time.replace(':', "-");
            for name in [
                format!("{date}T{time}Z"),
                format!("list_{date}T{time}.000Z.txt"),
                format!("list-{date}T{hyphens}.txt"),
                format!("list_{date}_{hyphens}.csv.gz"),
                format!("{date} {hyphens}.txt"),
                format!("l{compact_date}T{compact_time}Z.json"),
                format!("{compact_date}-{compact_time}.txt"),
                format!("{compact_date}_{compact_time}"),
                format!("{compact_date}{compact_time}.txt"),
                format!("{date}T{time}+00:00.txt"),
            ] {
                prop_assert_eq!(times_in(&name), Ok(vec![at]), "{}", name);
            }
        }

        #[test]
        fn any_name_has_times_or_a_reason(name in ".{0,40}", digits in "[0-9T:_.+Z-]{0,20}") {
            for name in [name.clone(), format!("{name}2024-01-02{digits}")] {
                if let Err(shown) = times_in(&name) {
                    prop_assert!(name.contains(&shown), "{shown}");
                }
            }
        }
    }

    #[test]
    fn the_name_of_a_listing_has_its_date() {
        for (name, times) in [
            ("2016-04-05.txt", "2016-04-05T00:00:00Z"),
            ("list-20160405.csv.gz", "2016-04-05T00:00:00Z"),
            ("20160405", "2016-04-05T00:00:00Z"),
            ("2016-04-05T02:00:00Z", "2016-04-05T02:00:00Z"),
            ("n_2016-04-05T02-00-07Z.txt", "2016-04-05T02:00:07Z"),
            ("2016-04-05T01-30Z", "2016-04-05T01:30:00Z"),
            ("20160405T020000Z.json", "2016-04-05T02:00:00Z"),
            // Without an offset, the time is UTC.
            ("list_20240102T230000.txt", "2024-01-02T23:00:00Z"),
            ("ps_20240102-230000.txt", "2024-01-02T23:00:00Z"),
            ("report_2024-01-02_23-10-23.csv", "2024-01-02T23:10:23Z"),
            ("20240102230005.csv", "2024-01-02T23:00:05Z"),
            ("2024-01-02T2310.txt", "2024-01-02T23:10:00Z"),
            ("2024-01-02T23Z.txt", "2024-01-02T23:00:00Z"),
            // Fractions of a second, and offsets.
            ("inventoryReport-2024-01-02T23:10:23.000Z.txt", "2024-01-02T23:10:23Z"),
            ("r-2024-01-02T23-10-23.123456789Z.txt", "2024-01-02T23:10:23.123456Z"),
            ("r-2024-01-02T23-10-23-250Z.txt", "2024-01-02T23:10:23.250000Z"),
            ("r-20240102T231023,5.txt", "2024-01-02T23:10:23.500000Z"),
            ("r-20240102T231023+0100.txt", "2024-01-02T22:10:23Z"),
            ("r-2024-01-02T23:10:23-05:00.txt", "2024-01-03T04:10:23Z"),
            ("20240102_230000_UTC.txt", "2024-01-02T23:00:00Z"),
            ("20240102_230000_pmel.txt", "2024-01-02T23:00:00Z"),
            ("2016-04-05_20160405.txt", "2016-04-05T00:00:00Z"),
            ("20160405-20160406.txt", "2016-04-05T00:00:00Z 2016-04-06T00:00:00Z"),
            // Longer numbers, other separators, and days that do not exist.
            ("120160405.txt", ""),
            ("201604050.txt", ""),
            ("2016_04_05.txt", ""),
            ("2016-0405.txt", ""),
            ("2016-02-30.txt", ""),
            ("é20160405é", "2016-04-05T00:00:00Z"),
            ("20160405Tuesday.txt", "2016-04-05T00:00:00Z"),
            ("README", ""),
        ] {
            let found = times_in(name).unwrap();
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found.join(" "), times, "{name}");
        }
    }

    #[test]
    fn digits_after_a_date_that_are_no_time_are_not_ignored() {
        for (name, shown) in [
            ("20160405T250000Z.json", "20160405T250000Z"),
            ("list_20240102_0001.txt", "20240102_0001"),
            ("2024-01-02.7.txt", "2024-01-02.7"),
            ("2024-01-02T2310235.txt", "2024-01-02T2310235"),
            ("20240102-23.txt", "20240102-23"),
            ("2024-01-02T23-10-23-05.txt", "2024-01-02T23-10-23-05"),
            ("20240102_230000_CET.txt", "20240102_230000"),
            ("2024-01-02T110005PM.txt", "2024-01-02T110005"),
            ("2024-01-02 11.00.05 pm.txt", "2024-01-02"),
        ] {
            assert_eq!(times_in(name), Err(shown.to_owned()), "{name}");
        }
    }
}
