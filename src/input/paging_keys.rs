//! The names of the members of a search result that state its size, or that it is not all of it.

/// What a member of a search result states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagingKey {
    /// How many granules the search found.
    Total,
    /// How many granules the search found, or the response has.
    Count,
    /// How many granules the response has.
    Returned,
    /// How many pages the search has.
    PageCount,
    /// Which page is next, or that one is, unless the value is empty, null, zero or false.
    NextPage,
    /// That the page is the last one, unless the value is false.
    LastPage,
    /// That the search continues, as the last page may state, too.
    Cursor,
    /// How many granules are on the pages before.
    Start,
    /// That the search was cut short, unless the value is empty, null, zero or false.
    Partial,
    /// That the search was not cut short, unless the value is false.
    Complete,
    /// What failed in the search, unless it is empty.
    Errors,
}

/// Names of totals, in lower case without `_`, `-`, `.`, `:` and `@`.
pub(super) const TOTALS: [&str; 20] = [
    "found",
    "hitcount",
    "hits",
    "nbhits",
    "nhits",
    "matched",
    "numbermatched",
    "numberofrecordsmatched",
    "numfound",
    "odatacount",
    "opensearchtotalresults",
    "recordstotal",
    "resulttotal",
    "total",
    "totalcount",
    "totalelements",
    "totalhits",
    "totalitems",
    "totalrecords",
    "totalresults",
];

/// The names of members, written likewise.
const NAMES: [(PagingKey, &[&str]); 11] = [
    (PagingKey::Total, &TOTALS),
    (PagingKey::Count, &["count", "numresults", "recordcount", "resultcount"]),
    (PagingKey::Returned, &["keycount", "numberreturned", "numreturned", "returned"]),
    (PagingKey::PageCount, &["numberofpages", "numpages", "pagecount", "pages", "totalpages"]),
    (
        PagingKey::NextPage,
        &[
            "continuationtoken",
            "exceededtransferlimit",
            "hasmore",
            "hasnext",
            "hasnextpage",
            "istruncated",
            "moreresults",
            "next",
            "nextcontinuationtoken",
            "nextcursor",
            "nexthref",
            "nextkeymarker",
            "nextlink",
            "nextmarker",
            "nextpage",
            "nextpagetoken",
            "nextpageurl",
            "nexttoken",
            "nexturl",
            "odatanextlink",
            "resumptiontoken",
            "searchafter",
            "truncated",
        ],
    ),
    (PagingKey::LastPage, &["endofrecords", "islast", "islastpage", "last", "lastpage"]),
    (PagingKey::Cursor, &["cursor", "cursormark", "scroll", "scrollid"]),
    (PagingKey::Start, &["start"]),
    (
        PagingKey::Partial,
        &["incompleteresults", "ispartial", "partial", "partialresults", "timedout"],
    ),
    (PagingKey::Complete, &["complete", "iscomplete"]),
    (PagingKey::Errors, &["error", "errors"]),
];

impl PagingKey {
    /// What a member states, whose name is written likewise. `None` means nothing of the pages.
    pub(super) fn of(bare: &str) -> Option<Self> {
        let known = NAMES.into_iter().find(|(_, names)| names.contains(&bare));
        known.map(|(key, _)| key)
    }
}

/// Whether a member, whose name is written likewise, is an object about the pages.
pub(super) fn is_about_pages(bare: &str) -> bool {
    const NAMES: [&str; 11] = [
        "context",
        "hits",
        "meta",
        "metadata",
        "page",
        "pageinfo",
        "pages",
        "pagination",
        "paging",
        "result",
        "search",
    ];
    NAMES.contains(&bare)
}

/// A key without the characters that differ between spellings.
pub(super) fn bare(key: &str) -> String {
    let kept = key.chars().filter(|it| !matches!(it, '_' | '-' | '.' | ':' | '@'));
    kept.collect::<String>().to_ascii_lowercase()
}
