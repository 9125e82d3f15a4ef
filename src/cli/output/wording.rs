//! Phrases that several commands print.

use accession::{Criteria, Instance, Pattern};

use super::escape::one_line;

/// A number with its noun: `1 granule`, `2 granules`.
pub fn count(number: impl Into<u64>, noun: &str) -> String {
    match number.into() {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// When an instance was in force: `FROM until UNTIL`.
pub fn in_force(instance: &Instance) -> String {
    match instance.until {
        Some(until) => format!("{} until {until}", instance.timestamp),
        None => format!("{} until now", instance.timestamp),
    }
}

/// How the granules of a subset were selected, on one line.
pub fn selected_by(criteria: &Criteria) -> String {
    match criteria {
        Criteria::Named => "named one by one".to_owned(),
        Criteria::Patterns(patterns) => {
            let patterns: Vec<&str> = patterns.iter().map(Pattern::as_str).collect();
            format!("selected by {}", one_line(&patterns.join(" ")))
        }
    }
}
