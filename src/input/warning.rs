//! Warnings about a file that does not look like a list of ids although every line is a valid id, and about
//! skipped sizes and checksums.

use memchr::memchr2;

use super::finding::{Finding, FindingKind};
use super::occurrences::Occurrences;
use super::shapes::ShapeCounts;
use crate::error::ErrorKind;
use crate::model::{GranuleId, SourceLocation, Warning, WarningKind, quoted};

/// The message about a likely mistake. `location` and `example` are those of the first occurrence: an id, or
/// the reason why a file was skipped. `lines` is the number of lines, or of files.
fn message(kind: WarningKind, location: &SourceLocation, example: &str, lines: u64) -> String {
    if kind == WarningKind::FilesSkipped {
        let more = match lines {
            0 | 1 => String::new(),
            lines => format!(", and of {} more", lines - 1),
        };
        return format!("{location}: the metadata of a file was skipped{more}: {example}");
    }
    if kind == WarningKind::TimesTakenAsUtc {
        let more = match lines {
            0 | 1 => String::new(),
            2 => ", and so is that of 1 more line".to_owned(),
            lines => format!(", and so are those of {} more lines", lines - 1),
        };
        return format!("{location}: the time has no offset, and is read as UTC{more}");
    }
    let what = match kind {
        WarningKind::EdgeBlank => "ends with a blank, which is part of the id",
        WarningKind::CommentLines => "begins with #, which does not start a comment",
        _ => "looks like a row of several columns, but is read as one id",
    };
    let more = match lines {
        0 | 1 => String::new(),
        2 => ", and so does 1 more line".to_owned(),
        lines => format!(", and so do {} more lines", lines - 1),
    };
    format!("{location}: {} {what}{more}", quoted(example))
}

/// A warning of this kind about occurrences. `None` means that there were none.
pub(super) fn warning_of(seen: &Occurrences, kind: WarningKind) -> Option<Warning> {
    let (location, example) = seen.first()?;
    Some(Warning::new(kind, message(kind, location, example, seen.lines())))
}

/// An id begins or ends with a blank, as padded columns do.
static EDGE_BLANKS: FindingKind = FindingKind {
    name: "edge-blanks",
    refused_as: ErrorKind::NotAList,
    heading: "Ids with blanks",
    what: "begins or ends with a blank, which would be part of the id",
    hint: "`sed 's/^ *//; s/ *$//' FILE` removes the blanks of a list",
};

/// Observes the ids of a list. It remembers one example of each kind of mistake.
pub(super) struct WarningCollector {
    /// Whether a line that is not an id may have been read as one.
    is_of_lines: bool,
    ids: u64,
    /// The ids that begin with white space or a zero-width character, or end with one other than a blank.
    edges: Occurrences,
    /// The ids that end with a blank.
    blanks: Occurrences,
    comments: Occurrences,
    separators: Occurrences,
    times_as_utc: Occurrences,
    /// The shapes of the lines, if the file is a list of ids.
    shapes: Option<Box<ShapeCounts>>,
}

impl WarningCollector {
    pub(super) fn new(is_of_lines: bool) -> Self {
        let [edges, blanks, comments, separators, times_as_utc] = Default::default();
        let (ids, shapes) = (0, None);
        WarningCollector {
            is_of_lines,
            ids,
            edges,
            blanks,
            comments,
            separators,
            times_as_utc,
            shapes,
        }
    }

    /// Returns a collector that also tests the shapes of lines.
    pub(super) fn with_shapes(self) -> Self {
        WarningCollector { shapes: Some(Box::default()), ..self }
    }

    /// Returns a collector that also tests the shapes of table cells.
    pub(super) fn with_shapes_of_cells(self) -> Self {
        WarningCollector { shapes: Some(Box::new(ShapeCounts::of_cells())), ..self }
    }

    /// The shape of the lines. `None` means that they look like ids.
    pub(super) fn shape(&self) -> Option<Finding> {
        self.shapes.as_ref().and_then(|shapes| shapes.finding())
    }

    /// A finding if there are such `edges`, or if most ids end with a blank. A few real names end with a blank.
    pub(super) fn edge_blanks(&self) -> Option<Finding> {
        let are_most = self.blanks.lines() > 1 && self.blanks.lines() * 2 > self.ids;
        let most = self.blanks.finding(&EDGE_BLANKS).filter(|_| are_most);
        self.edges.finding(&EDGE_BLANKS).or(most)
    }

    /// Observes a line with a time that has no offset.
    pub(super) fn observe_time_as_utc(&mut self, location: &SourceLocation) {
        self.times_as_utc.add("", location);
    }

    /// Observes the next id.
    pub(super) fn observe(&mut self, granule_id: &GranuleId, location: &SourceLocation) {
        let text = granule_id.as_str();
        if granule_id.has_odd_edge() {
            self.edges.add(text, location);
        } else if granule_id.ends_with_blank() {
            self.blanks.add(text, location);
        }
        self.ids += 1;
        if let Some(shapes) = &mut self.shapes {
            shapes.observe(text, location);
        }
        if !self.is_of_lines {
            return;
        }
        if text.starts_with('#') {
            self.comments.add(text, location);
        } else if has_separator(text) {
            self.separators.add(text, location);
        }
    }

    /// The warnings about all ids so far.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        // If the lines have a shape, that is the better explanation.
        let has_shape = self.shape().is_some();
        let is_table = self.separators.lines() * 2 > self.ids && !has_shape;
        let separators = warning_of(&self.separators, WarningKind::Separators);
        [
            warning_of(&self.comments, WarningKind::CommentLines).filter(|_| !has_shape),
            separators.filter(|_| is_table),
            warning_of(&self.blanks, WarningKind::EdgeBlank)
                .filter(|_| self.edge_blanks().is_none()),
            warning_of(&self.times_as_utc, WarningKind::TimesTakenAsUtc),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Whether an id contains a separator of columns. No id contains a TAB, which is a control
/// character.
fn has_separator(text: &str) -> bool {
    memchr2(b'|', b' ', text.as_bytes()).is_some()
        && (text.contains('|') || text.trim().contains("  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(ids: &[&str]) -> Vec<String> {
        let mut collector = WarningCollector::new(true);
        for (line, text) in (1..).zip(ids) {
            let location = SourceLocation::Line { source: "ids.txt".into(), line };
            collector.observe(&text.parse().unwrap(), &location);
        }
        let named = |warning: Warning| format!("{}: {warning}", warning.kind.name());
        collector.warnings().into_iter().map(named).collect()
    }

    #[test]
    fn each_likely_mistake_is_counted_and_the_first_is_shown() {
        let cases: [(&[&str], &str); 6] = [
            (
                &["A", "# of March", "B", "#C", "#D"],
                "comment-lines: ids.txt:2: \"# of March\" begins with #, which does not start a comment, and so do 2 more lines",
            ),
            (
                &["#1", "#2"],
                "comment-lines: ids.txt:1: \"#1\" begins with #, which does not start a comment, and so does 1 more line",
            ),
            (
                &["A|1", "B|2", "C"],
                "separators: ids.txt:1: \"A|1\" looks like a row of several columns, but is read as one id, and so does 1 more line",
            ),
            (&["A#1", "B #"], ""),
            (&["A|1", "B"], ""),
            (&["A", "filename", "granule.1"], ""),
        ];
        for (ids, warning) in cases {
            assert_eq!(warnings(ids).join("\n"), warning);
        }
    }
    #[test]
    fn most_ids_that_begin_or_end_with_a_blank_are_padded_and_few_are_names() {
        let few = warnings(&["A", "B", "HAQ_TROPOMI_NO2_CONUS_A_L3.2.4 "]).join("\n");
        assert!(few.starts_with("edge-blank: ids.txt:3: "), "{few}");
        let mut collector = WarningCollector::new(true);
        for (line, text) in (1..).zip(["A B", "  A", "B\u{a0}", "C"]) {
            let location = SourceLocation::Line { source: "ids.txt".into(), line };
            collector.observe(&text.parse().unwrap(), &location);
        }
        assert_eq!(collector.warnings().len(), 0);
        let found = collector.edge_blanks().unwrap().to_string();
        let expected =
            "\"  A\" begins or ends with a blank, which would be part of the id (2 such lines)";
        assert_eq!(found, expected);
    }
}
