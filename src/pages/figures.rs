//! Numbers and times as the pages show them.

use maud::{Markup, html};

use crate::model::{Annotation, Identifier, Timestamp, is_interpreted};

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

/// A time: the date alone at midnight, else with the time of day in UTC.
pub fn time(at: Timestamp) -> Markup {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    let time = time.trim_end_matches('Z');
    html! {
        time datetime=(text) title=(text) {
            (date)
            @if time != "00:00:00" { " " span.time { (time) } }
        }
    }
}

/// A time as plain text, for titles and descriptions.
pub fn time_text(at: Timestamp) -> String {
    let text = at.to_string();
    match text.strip_suffix("T00:00:00Z") {
        Some(date) => date.to_owned(),
        None => text,
    }
}

/// What a change added and deleted: `+288 −2`.
pub fn change(ingested: u64, deleted: u64) -> Markup {
    html! {
        @if ingested > 0 { span.plus { "+" (grouped(ingested)) } }
        @if ingested > 0 && deleted > 0 { " " }
        @if deleted > 0 { span.minus { "−" (grouped(deleted)) } }
    }
}

/// Text of the registry on one line, with escapes in place of control characters and of characters
/// that would change the direction of what follows (Unicode 16, UAX 9 § 2).
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

/// A note as [`visible`] shows it, cut if it is very long: the JSON of the same list has all of it.
pub fn note(text: &str) -> String {
    match text.char_indices().nth(NOTE_CHARACTERS) {
        Some((end, _)) => format!("{} …", visible(&text[..end])),
        None => visible(text),
    }
}

/// The identifier of a set, with its prefix.
pub fn identifier(identifier: Identifier) -> Markup {
    html! { code.id { "DI:" (identifier) } }
}

/// What was noted about a set after the change, questionable sets marked.
pub(super) fn annotations(annotations: &[Annotation]) -> Markup {
    html! {
        @for annotation in annotations {
            span.note.annotation {
                @if annotation.questionable { strong.bad { "Questionable:" } " " }
                (note(&annotation.note)) " (noted " (time(annotation.recorded)) ")"
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
    fn a_time_shows_its_time_of_day_unless_that_is_midnight() {
        let shown = |text: &str| time(text.parse().unwrap()).into_string();
        assert!(shown("2001-01-05T00:00:00Z").ends_with(">2001-01-05</time>"));
        assert!(shown("2001-01-05T12:30:00.250Z").contains("12:30:00.250</span>"));
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
        assert!(!plain.contains("Questionable") && plain.contains("2025-03-29"), "{plain}");
        assert_eq!(annotations(&[]).into_string(), "");
    }
}
