//! The names of the members of a search result that state its size, or that it is incomplete.

/// The meaning of a member of a search result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagingKey {
    /// The number of granules that the search found.
    Total,
    /// The number of granules that the search found, or of those in the response.
    Count,
    /// The number of granules in the response.
    Returned,
    /// The number of pages of the search result.
    PageCount,
    /// The next page, or that one exists, unless the value is empty, null, zero or false.
    NextPage,
    /// The number of the last page, or whether this page is the last one. False means that more follow.
    LastPage,
    /// The search can be continued. The last page may state this, too.
    Cursor,
    /// The number of granules on the previous pages.
    Start,
    /// The search was cut short, unless the value is empty, null, zero or false.
    Partial,
    /// The search was not cut short, unless the value is false.
    Complete,
    /// The errors of the search. If the value is empty, there were none.
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

/// The names of members, in the same spelling.
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
    /// The meaning of a member by its name, in the same spelling. `None` means that it does not concern the
    /// pages.
    pub(super) fn of(bare: &str) -> Option<Self> {
        let known = NAMES.into_iter().find(|(_, names)| names.contains(&bare));
        known.map(|(key, _)| key)
    }
}

/// Whether an object with this name, in the same spelling, is about the pages.
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

/// Removes the characters of a key that differ between spellings.
pub(super) fn bare(key: &str) -> String {
    let kept = key.chars().filter(|it| !matches!(it, '_' | '-' | '.' | ':' | '@'));
    kept.collect::<String>().to_ascii_lowercase()
}
