//! The names of the members of a search result that state its size, or that it has more pages.

/// Keys with the number of granules that a search found, in lower case without `_`, `-`, `.`, `:` and `@`.
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

/// Keys that refer to a next page, unless their value is empty, null, zero or false, written likewise.
pub(super) const NEXT_PAGES: [&str; 23] = [
    "exceededtransferlimit",
    "hasmore",
    "hasnext",
    "hasnextpage",
    "incompleteresults",
    "istruncated",
    "moreresults",
    "next",
    "nextcontinuationtoken",
    "nextcursor",
    "nexthref",
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
    "continuationtoken",
];

/// Keys with the number of pages, written likewise.
pub(super) const PAGE_COUNTS: [&str; 6] =
    ["lastpage", "numberofpages", "numpages", "pagecount", "pages", "totalpages"];

/// Keys of a search that continues, written likewise, which the last page may have, too.
pub(super) const CURSORS: [&str; 4] = ["cursor", "cursormark", "scroll", "scrollid"];

/// A key without the characters that differ between spellings.
pub(super) fn bare(key: &str) -> String {
    let kept = key.chars().filter(|it| !matches!(it, '_' | '-' | '.' | ':' | '@'));
    kept.collect::<String>().to_ascii_lowercase()
}
