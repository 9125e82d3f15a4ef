//! Counts occurrences, and remembers the first.

use super::finding::{Example, Finding, FindingKind};
use crate::model::SourceLocation;

/// The number of occurrences, and the first one.
#[derive(Default)]
pub(super) struct Occurrences {
    lines: u64,
    first: Option<(SourceLocation, String)>,
}

impl Occurrences {
    pub(super) fn add(&mut self, example: &str, location: &SourceLocation) {
        self.lines += 1;
        if self.first.is_none() {
            self.first = Some((location.clone(), example.to_owned()));
        }
    }

    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The location and text of the first occurrence.
    pub(super) fn first(&self) -> Option<&(SourceLocation, String)> {
        self.first.as_ref()
    }

    /// Makes a finding of this kind. `None` means that there was no occurrence.
    pub(super) fn finding(&self, kind: &'static FindingKind) -> Option<Finding> {
        let (location, example) = self.first.clone()?;
        Some(Finding {
            kind,
            location,
            example: Example::Text(example),
            lines: self.lines,
            hint: None,
        })
    }
}
