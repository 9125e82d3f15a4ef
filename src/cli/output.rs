//! Rows and objects as text.

use std::fmt;
use std::io::{self, Write};

use accession::{Applied, Criteria, Instance, Pattern, Work};

/// Text that somebody else wrote, on one line and with nothing in it that a terminal would obey.
pub fn one_line(text: &str) -> impl fmt::Display + '_ {
    struct OneLine<'a>(&'a str);
    impl fmt::Display for OneLine<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            // Backslashes and quotes are left alone: only what cannot be seen is escaped. What is
            // between them goes whole: a sign that belongs to the letter before it is seen there.
            for part in self.0.split_inclusive(['\\', '"', '\'']) {
                let plain = part.trim_end_matches(['\\', '"', '\'']);
                write!(f, "{}{}", plain.escape_debug(), &part[plain.len()..])?;
            }
            Ok(())
        }
    }
    OneLine(text)
}

/// Whether a character is one that a terminal obeys, or that turns the text around it: the control
/// characters, and those of bidirectional text (Unicode 16, UAX 9 § 2) and of line ends.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// So many of a thing: `1 granule`, `2 granules`.
pub fn count(number: impl Into<u64>, thing: &str) -> String {
    match number.into() {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// `since … until …` of an instance.
pub fn in_force(instance: &Instance) -> String {
    match instance.until {
        Some(until) => format!("{} until {until}", instance.timestamp),
        None => format!("{} until now", instance.timestamp),
    }
}

/// What selects a part of a dataset, on one line.
pub fn selected_by(criteria: &Criteria) -> String {
    match criteria {
        Criteria::Named => "a part, named one by one".to_owned(),
        Criteria::Patterns(patterns) => {
            let patterns: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
            format!("a part, selected by {}", one_line(&patterns.join(" ")))
        }
    }
}

/// An instance, a line a field.
pub fn write_instance(out: &mut impl Write, instance: &Instance) -> io::Result<()> {
    writeln!(out, "identifier  {}", instance.identifier)?;
    writeln!(out, "dataset     {}", instance.dataset)?;
    writeln!(out, "in force    {}", in_force(instance))?;
    writeln!(out, "granules    {}", instance.granules)?;
    writeln!(out, "change      +{} -{}", instance.ingested, instance.deleted)?;
    writeln!(out, "recorded    {}", instance.recorded)?;
    if let Some(note) = &instance.note {
        writeln!(out, "note        {}", one_line(note))?;
    }
    Ok(())
}

/// What a change cost.
pub fn write_work(out: &mut impl Write, work: &Work) -> io::Result<()> {
    writeln!(
        out,
        "hashed {}, read {}, set {}",
        count(work.steps, "step"),
        count(work.rows, "row"),
        count(work.checkpoints, "checkpoint")
    )
}

/// What a change did.
pub fn write_applied(out: &mut impl Write, applied: &Applied, dry_run: bool) -> io::Result<()> {
    let Some(instance) = &applied.instance else {
        return writeln!(out, "nothing left to do: nothing was changed");
    };
    writeln!(
        out,
        "{} at {}: +{} -{}, holds {}",
        instance.dataset,
        instance.timestamp,
        instance.ingested,
        instance.deleted,
        instance.granules
    )?;
    writeln!(out, "identifier {}", instance.identifier)?;
    write_work(out, &applied.work)?;
    if dry_run {
        writeln!(out, "a dry run: nothing was changed")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_nothing_in_a_note() {
        assert_eq!(one_line("a\u{1b}[2J\nb\u{202e}").to_string(), "a\\u{1b}[2J\\nb\\u{202e}");
        assert_eq!(one_line("C:\\dir \"größe\" 値").to_string(), "C:\\dir \"größe\" 値");
        assert_eq!(one_line("\\\"\n'\u{9b}").to_string(), "\\\"\\n'\\u{9b}");
    }

    #[test]
    fn signs_that_belong_to_a_letter_are_seen_with_it() {
        // They were escaped once, as if each began a text: no title in Hindi could be read.
        for text in ["नमस्ते", "e\u{301}", "ที่"] {
            assert_eq!(one_line(text).to_string(), text);
        }
    }
}
