//! How often something was seen, and where first.

use super::finding::{Example, Finding, FindingKind};
use crate::model::SourceLocation;

/// How often something was seen, and where first.
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

    /// Where it was seen first, and what.
    pub(super) fn first(&self) -> Option<&(SourceLocation, String)> {
        self.first.as_ref()
    }

    /// The finding of this kind. `None` means that it was not seen.
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
