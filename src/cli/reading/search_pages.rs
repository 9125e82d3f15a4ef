//! Search results that consist of several pages.

use accession::input::Hits;

use crate::cli::session::Session;
use crate::cli::warning::WarningKind;

/// What to do with a search result of which pages are missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingPages {
    /// Refuse it, since one page is easily mistaken for the whole dataset.
    Refuse,
    /// Accept it, with a warning.
    Warn,
}

impl MissingPages {
    /// The meaning of `--partial`.
    pub fn when(partial: bool) -> Self {
        if partial { MissingPages::Warn } else { MissingPages::Refuse }
    }
}

/// Pages of a search result are missing.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct PagesMissing {
    what: String,
}

/// The number of granules that a search found, and how many of them its pages contain.
#[derive(Default)]
pub struct SearchPages {
    found: u64,
    contained: u64,
    /// How many pages refer to a next one.
    next_pages: u64,
    pages: u64,
}

impl SearchPages {
    /// Adds a page. `None` means a file that is not a search result, or does not state how many
    /// granules the search found.
    pub fn add(&mut self, page: Option<Hits>, has_next_page: bool) {
        if let Some(page) = page {
            self.found = self.found.max(page.hits);
            self.contained += page.items;
        }
        self.pages += 1;
        self.next_pages += u64::from(has_next_page);
    }

    /// Refuses the search result, or warns, if some of its pages are missing.
    ///
    /// # Errors
    ///
    /// [`PagesMissing`].
    pub fn check(&self, missing: MissingPages, session: &Session) -> Result<(), PagesMissing> {
        let SearchPages { found, contained, next_pages, pages } = *self;
        let what = if found > contained {
            format!(
                "the search found {found} granules, but the files contain only {contained} of them: other pages are missing"
            )
        } else if found == 0 && next_pages > 0 && next_pages == pages {
            "the search result names a next page, which is missing".to_owned()
        } else {
            return Ok(());
        };
        match missing {
            MissingPages::Refuse => Err(PagesMissing { what }),
            MissingPages::Warn => {
                session.warn(WarningKind::PagesMissing, &what);
                Ok(())
            }
        }
    }
}
