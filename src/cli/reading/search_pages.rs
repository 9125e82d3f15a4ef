//! Search results that come in pages.

use accession::input::Hits;

use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// How many granules a search found, and how many of them its pages contain.
#[derive(Default)]
pub struct SearchPages {
    found: u64,
    contained: u64,
}

impl SearchPages {
    /// Adds a page; `None` for a file that is not a search result.
    pub fn add(&mut self, page: Option<Hits>) {
        if let Some(page) = page {
            self.found = self.found.max(page.hits);
            self.contained += page.items;
        }
    }

    /// Warns if some pages are missing: one page is easily mistaken for the whole dataset.
    pub fn warn_if_incomplete(&self, session: &Session) {
        if self.found > self.contained {
            session.warn(
                WarningKind::PagesMissing,
                &format!(
                    "the search found {} granules, but the files contain only {} of them: other pages are missing",
                    self.found, self.contained
                ),
            );
        }
    }
}
