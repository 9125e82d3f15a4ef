//! The pages of search results, and which of them are missing.

use serde_json::Value;

use super::error::shown;
use super::finding::FindingKind;
use crate::error::ErrorKind;
use crate::model::SourceLocation;

/// The size of a search result, as a file states it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// The number of granules that the search found.
    pub hits: Option<u64>,
    /// The number of granules before those of the file. `None` means that it is not stated.
    pub start: Option<u64>,
    /// The number of pages of the search result. `None` means that it is not stated.
    pub pages: Option<u64>,
    /// The number of granules in the file, as it states it. `None` means that it is not stated.
    pub returned: Option<u64>,
    /// Whether the file refers to a next page.
    pub has_next_page: bool,
    /// Whether the file states that the search was cut short.
    pub is_partial: bool,
    /// The first total that is not a whole number, and its key, as part of a message.
    pub unread: Option<String>,
}

impl Totals {
    /// Records a total that is not a whole number, unless it is empty, `true` or `false`.
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
    /// The sum of the granules found by those searches whose first page was read.
    begun: u64,
    contained: u64,
    /// The number of files that state neither a total nor a next page.
    silent: u64,
    /// How many of these have exactly as many elements as a usual page. `silent_elements` is the size of the
    /// last one.
    full: u64,
    silent_elements: u64,
    /// The greatest number of pages of a search result.
    stated: u64,
    /// The number of pages that refer to a next page.
    next_pages: u64,
    pages: u64,
    /// Whether a search was cut short.
    is_partial: bool,
    /// For the first page with fewer granules than it states: the stated and the actual number.
    cut: Option<(u64, u64)>,
    /// The first total that is not a whole number, and its key, as part of a message.
    unread: Option<String>,
    /// The location of the first file.
    pub location: Option<SourceLocation>,
}

/// The default page sizes of catalogues.
const PAGE_SIZES: [u64; 7] = [10, 20, 50, 100, 1_000, 2_000, 10_000];

/// Pages of a search result are missing.
pub(super) static INCOMPLETE: FindingKind = FindingKind {
    name: "incomplete",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "is not the whole search result",
    hint: "name the files of all pages in one command",
};

/// A response states that it is incomplete, or contains fewer granules than it states.
static PARTIAL: FindingKind = FindingKind {
    name: "partial-response",
    refused_as: ErrorKind::Incomplete,
    heading: "Incomplete search results",
    what: "is not whole",
    hint: "send the request again, until the response is whole",
};

/// A response has as many granules as a usual page, and states no total, or a total that is not a whole number.
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

    /// Describes the missing part. `None` means that nothing is known to be missing.
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
        // The last page of a search has no next page. If all pages name one, the last page is missing.
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
        // The last page is rarely full.
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
