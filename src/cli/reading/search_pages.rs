//! Search results that come in pages.

use accession::input::{self, Hits, Records};

use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// How many granules a search found, and how many of them its pages contain.
#[derive(Default)]
pub struct SearchPages {
    found: u64,
    contained: u64,
    /// The name of the last file, and whether it names a next page.
    last: Option<(String, bool)>,
}

impl SearchPages {
    /// Adds a page; `None` for a file that is not a search result.
    pub fn add(&mut self, page: Option<Hits>) {
        if let Some(page) = page {
            self.found = self.found.max(page.hits);
            self.contained += page.items;
        }
    }

    /// Adds a file that was read to its end.
    pub fn add_file(&mut self, name: &str, records: &Records) {
        self.add(records.hits());
        self.last = Some((name.to_owned(), records.has_next_page()));
    }

    /// Refuses a full listing of which some pages are missing.
    pub fn refuse_if_incomplete(&self) -> Result<(), input::Error> {
        match &self.last {
            Some((name, _)) if self.found > self.contained => {
                Err(input::Error::pages_missing(name, Some(self.found), self.contained))
            }
            Some((name, true)) => Err(input::Error::pages_missing(name, None, self.contained)),
            _ => Ok(()),
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
