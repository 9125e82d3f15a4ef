//! Numbers and times in the format of the pages.

use maud::{Markup, html};

use accession::history::Annotation;

use accession::{Day, Identifier, Instance, Timestamp};

/// A number with a comma between groups of three digits: `61,832`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 granule`, `61,832 granules`.
pub fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", grouped(number))
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The short name of a month, which is counted from 1.
pub fn month_name(month: u32) -> &'static str {
    MONTHS.get(month as usize - 1).copied().unwrap_or_default()
}

/// A day in words: `21 Oct 2026`.
pub fn day_text(day: Day) -> String {
    let (year, month) = (day.year(), day.month());
    let day = day.day_of_month();
    format!("{day} {} {year}", month_name(month))
}

/// The time of day to the minute. `None` means midnight, the time of changes that were recorded with only a
/// date.
fn minute(at: Timestamp) -> Option<String> {
    (at != at.day().start()).then(|| at.to_string()[11..16].to_owned())
}

/// A time as plain text: `21 Oct 2026, 18:06 UTC`, or only the date at midnight.
pub fn time_text(at: Timestamp) -> String {
    match minute(at) {
        Some(minute) => format!("{}, {minute} UTC", day_text(at.day())),
        None => day_text(at.day()),
    }
}

/// A time as [`time_text`] writes it, with the exact instant for programs and as a tooltip.
pub fn time(at: Timestamp) -> Markup {
    marked_up(at, &time_text(at))
}

/// A time in a table whose header says UTC.
pub fn time_in_table(at: Timestamp) -> Markup {
    marked_up(at, time_text(at).trim_end_matches(" UTC"))
}

/// The end of a period. `None` means that the period has not ended.
pub fn until(end: Option<Timestamp>) -> Markup {
    end.map_or_else(|| html! { b.plus { "now" } }, time)
}

/// The day of a time.
pub fn date(at: Timestamp) -> Markup {
    marked_up(at, &day_text(at.day()))
}

fn marked_up(at: Timestamp, shown: &str) -> Markup {
    let exact = at.to_string();
    // HTML allows three decimals.
    let datetime = match exact.split_once('.') {
        Some((seconds, _)) => format!("{}Z", &exact[..seconds.len() + 4]),
        None => exact.clone(),
    };
    let title = minute(at).is_some().then_some(&exact);
    html! { time datetime=(datetime) title=[title] { (shown) } }
}

/// The age of a time, in UTC days: `today`, `3 days ago`, `7 months ago`.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let days = now.as_micros().div_euclid(DAY) - at.as_micros().div_euclid(DAY);
    match days {
        ..0 => "in the future".to_owned(),
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..61 => format!("{days} days ago"),
        61..730 => format!("{} months ago", (days * 100 + 1_522) / 3_044),
        _ => format!("{} years ago", days / 365),
    }
}

/// A day in microseconds.
pub const DAY: i64 = 86_400_000_000;

/// The number of granules whose files a change replaced or described: `3 replaced, 10 described`. `None` means
/// that there are none.
pub fn of_files(instance: &Instance) -> Option<String> {
    let counts = [(instance.replaced, "replaced"), (instance.described, "described")];
    let some = counts.into_iter().filter(|(number, _)| *number > 0);
    let named: Vec<String> =
        some.map(|(number, what)| format!("{} {what}", grouped(number))).collect();
    (!named.is_empty()).then(|| named.join(", "))
}

/// The numbers of granules that a change added, deleted, and changed the files of: `+288 −2 3 replaced`.
pub fn change(instance: &Instance) -> Markup {
    html! {
        (added_deleted(instance.ingested, instance.deleted))
        @if let Some(files) = of_files(instance) { " " (files) }
    }
}

/// The numbers of added and deleted granules as plain text: `+288 −2`.
pub fn signed(added: u64, deleted: u64) -> String {
    match (added, deleted) {
        (0, 0) => "0".to_owned(),
        (added, 0) => format!("+{}", grouped(added)),
        (0, deleted) => format!("−{}", grouped(deleted)),
        (added, deleted) => format!("+{} −{}", grouped(added), grouped(deleted)),
    }
}

/// The numbers of added and deleted granules: `+288 −2`.
pub fn added_deleted(added: u64, deleted: u64) -> Markup {
    html! {
        @if added > 0 { span.plus { "+" (grouped(added)) } }
        @if added > 0 && deleted > 0 { " " }
        @if deleted > 0 { span.minus { "−" (grouped(deleted)) } }
    }
}

/// Whether a browser interprets a character instead of showing it: a control character, a line or paragraph
/// separator, or a character that changes the direction of the following text (Unicode 16, UAX 9 § 2).
fn is_interpreted(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Text of the registry on one line. Characters that a browser would interpret are escaped.
pub fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => visible.push(' '),
            character if is_interpreted(character) => visible.extend(character.escape_unicode()),
            character => visible.push(character),
        }
    }
    visible
}

/// The greatest number of characters of a note that a page shows.
const NOTE_CHARACTERS: usize = 1_000;

/// A note as [`visible`] shows it, cut if it is very long. The JSON of the same list contains the whole note.
pub fn note(text: &str) -> String {
    match text.char_indices().nth(NOTE_CHARACTERS) {
        Some((end, _)) => format!("{} …", visible(&text[..end])),
        None => visible(text),
    }
}

/// The column headers of a table. The name of a column of numbers begins with `#`.
pub fn columns(names: &[&str]) -> Markup {
    html! {
        @for name in names {
            @match name.strip_prefix('#') {
                Some(name) => th.n scope="col" { (name) },
                None => th scope="col" { (name) },
            }
        }
    }
}

/// Facts with their names. `None` means that a fact is unknown.
pub type Facts = Vec<(&'static str, Option<Markup>)>;

/// A list of the known facts.
pub fn facts(facts: impl IntoIterator<Item = (&'static str, Option<Markup>)>) -> Markup {
    let known = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?)));
    html! { dl.facts { @for (name, fact) in known { dt { (name) } dd { (fact) } } } }
}

/// Joins elements with commas.
pub fn joined(parts: impl IntoIterator<Item = Markup>) -> Markup {
    html! {
        @for (index, part) in parts.into_iter().enumerate() {
            @if index > 0 { ", " }
            (part)
        }
    }
}

/// The identifier of a set, with its prefix.
pub fn identifier(identifier: Identifier) -> Markup {
    html! { code.di { "DI:" (identifier) } }
}

/// A button that copies the text of an element. It is hidden until the script of the pages runs.
pub fn copy_button(of: &str, what: &str) -> Markup {
    html! { button type="button" data-copy=(of) hidden aria-label={ "Copy " (what) } { "Copy" } }
}

/// A command line that can be copied.
pub fn command(id: &str, words: &Markup) -> Markup {
    html! {
        div.cmd { pre tabindex="0" { code id=(id) { (words) } } (copy_button(id, "the command")) }
    }
}

/// The annotations of a set after its change. Questionable sets are marked.
pub(super) fn annotations(annotations: &[Annotation]) -> Markup {
    html! {
        @for annotation in annotations {
            span.annotation {
                @if annotation.questionable { strong.warn { "Questionable:" } " " }
                (note(&annotation.note)) " (noted " (date(annotation.recorded)) ")"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (61_832, "61,832"), (1_234_567, "1,234,567")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(counted(1, "granule"), "1 granule");
        assert_eq!(counted(0, "granule"), "0 granules");
    }

    #[test]
    fn a_time_shows_the_minute_unless_it_is_midnight() {
        let shown = |text: &str| time(text.parse().unwrap()).into_string();
        assert_eq!(
            shown("2001-01-05T00:00:00Z"),
            "<time datetime=\"2001-01-05T00:00:00Z\">5 Jan 2001</time>"
        );
        assert_eq!(
            shown("2001-01-05T12:30:00.250125Z"),
            "<time datetime=\"2001-01-05T12:30:00.250Z\" title=\"2001-01-05T12:30:00.250125Z\">\
             5 Jan 2001, 12:30 UTC</time>"
        );
    }

    #[test]
    fn days_are_counted_in_utc() {
        let now: Timestamp = "2026-10-24T00:30:00Z".parse().unwrap();
        for (at, text) in [
            ("2026-10-24T23:00:00Z", "today"),
            ("2026-10-23T23:59:59Z", "yesterday"),
            ("2026-10-21T00:00:00Z", "3 days ago"),
            ("2026-08-25T00:00:00Z", "60 days ago"),
            ("2026-03-24T00:00:00Z", "7 months ago"),
            ("2024-10-24T00:00:00Z", "2 years ago"),
            ("2026-10-25T00:00:00Z", "in the future"),
        ] {
            assert_eq!(ago(at.parse().unwrap(), now), text, "{at}");
        }
    }

    #[test]
    fn a_questionable_annotation_is_marked_and_what_it_says_is_escaped() {
        let annotation = |questionable| Annotation {
            note: "<b>incomplete</b>".to_owned(),
            questionable,
            recorded: "2025-03-29T00:00:00Z".parse().unwrap(),
            recorded_by: None,
        };
        let marked = annotations(&[annotation(true)]).into_string();
        assert!(marked.contains("Questionable:"), "{marked}");
        assert!(marked.contains("&lt;b&gt;incomplete&lt;/b&gt;"), "{marked}");
        let plain = annotations(&[annotation(false)]).into_string();
        assert!(!plain.contains("Questionable") && plain.contains("29 Mar 2025"), "{plain}");
        assert_eq!(annotations(&[]).into_string(), "");
    }
}
