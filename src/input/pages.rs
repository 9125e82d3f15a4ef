//! The pages of search results, and whether some are missing.

use serde_json::Value;

use super::error::shown;
use super::finding::FindingKind;
use crate::error::ErrorKind;
use crate::model::SourceLocation;

/// What a file states of how much a search found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// How many granules the search found.
    pub hits: Option<u64>,
    /// How many granules are before those of the file. `None` means that it is not stated.
    pub start: Option<u64>,
    /// How many pages the search has. `None` means that it is not stated.
    pub pages: Option<u64>,
    /// How many granules the file has. `None` means that it is not stated.
    pub returned: Option<u64>,
    /// Whether the file refers to a next page.
    pub has_next_page: bool,
    /// Whether the file states that the search was cut short.
    pub is_partial: bool,
    /// The first total that is not a whole number, with its key, in words.
    pub unread: Option<String>,
}

impl Totals {
    /// Notes a total that is not a whole number, unless it states nothing: it is empty, or says yes or no.
    pub fn add_unread(&mut self, key: &str, value: &Value) {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.trim().to_owned(),
            _ => return,
        };
        if text.is_empty() || text.parse::<bool>().is_ok() {
            return;
        }
        let of_key = || format!("{} of {}", shown(&text), shown(key));
        self.unread.get_or_insert_with(of_key);
    }
}

/// The pages of search results.
#[derive(Debug, Default)]
pub(super) struct Pages {
    /// The greatest number of granules that a search found.
    found: u64,
    /// How many granules the searches found together of which the first page was read.
    begun: u64,
    contained: u64,
    /// The files that state no number, and their elements.
    silent: u64,
    /// How many of them have as many elements as a page, and the number of the last of them.
    full: u64,
    silent_elements: u64,
    /// The greatest number of pages that a search has.
    stated: u64,
    /// How many pages refer to a next one.
    next_pages: u64,
    pages: u64,
    /// Whether a search was cut short.
    is_partial: bool,
    /// Of the first page with fewer granules than it states: how many it states, and has.
    cut: Option<(u64, u64)>,
    /// The first total that is not a whole number, with its key, in words.
    unread: Option<String>,
    /// The first file.
    pub location: Option<SourceLocation>,
}

/// The sizes of pages that catalogues return unless another is requested.
const PAGE_SIZES: [u64; 7] = [10, 20, 50, 100, 1_000, 2_000, 10_000];

/// Pages of a search result are missing, or can be.
pub(super) static INCOMPLETE: FindingKind = FindingKind {
    name: "incomplete",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "is not the whole search result",
    hint: "name the files of all pages in one command",
};

/// A response says that it is not whole, or has fewer granules than it says.
static PARTIAL: FindingKind = FindingKind {
    name: "partial-response",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "is not whole",
    hint: "send the request again, until the response is whole",
};

/// A response has as many granules as a page and states no total, or states one that is no number.
static POSSIBLE_PAGE: FindingKind = FindingKind {
    name: "possible-page",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "may be one page of a search result",
    hint: "--total N states how many granules the search found; CMR sends the number in the header CMR-Hits",
};

impl Pages {
    /// Adds a page, which messages call `name`.
    pub(super) fn add(&mut self, name: &str, totals: Totals, elements: u64) {
        let Totals { hits, start, pages, returned, has_next_page, is_partial, unread } = totals;
        self.is_partial |= is_partial;
        self.unread = self.unread.take().or(unread);
        let cut = returned.filter(|returned| *returned > elements);
        self.cut = self.cut.or(cut.map(|returned| (returned, elements)));
        if self.location.is_none() {
            self.location = Some(SourceLocation::Line { source: name.into(), line: 1 });
        }
        match hits {
            Some(hits) => {
                self.found = self.found.max(hits);
                self.begun += if start == Some(0) { hits } else { 0 };
                self.contained += elements;
            }
            None if !has_next_page => {
                self.silent += 1;
                if PAGE_SIZES.contains(&elements) {
                    self.full += 1;
                    self.silent_elements = elements;
                }
            }
            None => {}
        }
        self.stated = self.stated.max(pages.unwrap_or(0));
        self.pages += 1;
        self.next_pages += u64::from(has_next_page);
    }

    /// What is missing, in words. `None` means that nothing is known to be missing.
    pub(super) fn missing(&self) -> Option<(&'static FindingKind, String)> {
        let Pages {
            found,
            begun,
            contained,
            silent,
            full,
            silent_elements,
            stated,
            next_pages,
            pages,
            is_partial,
            cut,
            ..
        } = *self;
        if is_partial {
            let sentence =
                "the response states that the search was cut short, or that a part of it failed";
            return Some((&PARTIAL, sentence.to_owned()));
        }
        if let Some((returned, elements)) = cut {
            let sentence =
                format!("the response states that it has {returned} granules, and has {elements}");
            return Some((&PARTIAL, sentence));
        }
        let found = found.max(begun);
        if found > contained {
            return Some((
                &INCOMPLETE,
                format!(
                    "the search found {found} granules, but the files contain only {contained} of them: other pages are missing"
                ),
            ));
        }
        if stated > pages {
            let sentence =
                format!("the search result has {stated} pages, and the files are {pages} of them");
            return Some((&INCOMPLETE, sentence));
        }
        // The last page of a search has no next one, so one page less than all refers to a next one.
        if next_pages > 0 && next_pages == pages {
            let sentence = "the search result names a next page, which is missing".to_owned();
            return Some((&INCOMPLETE, sentence));
        }
        if let Some(unread) = &self.unread {
            let sentence = format!(
                "the response states how many granules the search found, and {unread} is not a whole number"
            );
            return Some((&POSSIBLE_PAGE, sentence));
        }
        // The last page is mostly not full.
        if full > 0 && full == silent && silent == pages {
            return Some((
                &POSSIBLE_PAGE,
                format!(
                    "the response has exactly {silent_elements} granules, which is the size of a page, and does not state how many the search found"
                ),
            ));
        }
        None
    }
}
