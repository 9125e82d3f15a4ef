//! Lines on stderr: errors, hints and warnings, coloured as clap's are.

use std::io::Write;

use clap::builder::styling::{AnsiColor, Style, Styles};

use super::escape::one_line;

/// What a line on stderr begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Error,
    Hint,
    Warning,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Label::Error => "error:",
            Label::Hint => "hint:",
            Label::Warning => "warning:",
        }
    }

    fn style(self) -> Style {
        let styles = Styles::styled();
        match self {
            Label::Error => *styles.get_error(),
            Label::Hint => *styles.get_valid(),
            Label::Warning => AnsiColor::Yellow.on_default().bold(),
        }
    }
}

/// Writes a line to stderr, in colour on a terminal unless `NO_COLOR` is set.
pub fn write_message(label: Label, message: &str) {
    let style = label.style();
    let word = label.word();
    // If stderr cannot be written, there is nowhere left to report it.
    let _ = writeln!(anstream::stderr(), "{style}{word}{style:#} {}", one_line(message));
}
