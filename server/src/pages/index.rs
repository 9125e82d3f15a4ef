//! The page with the list of datasets.

use maud::{Markup, html};

use super::figures::{ago, columns, counted, date, grouped, visible};
use super::layout::{PageHead, Section, page, resolver};
use super::record::title;
use super::site::Site;
use accession::Timestamp;
use accession::dataset::DatasetRecord;

/// The list of all datasets, or of the results of a search.
#[derive(Debug)]
pub struct IndexPage {
    /// The datasets on this page.
    pub rows: Vec<DatasetRecord>,
    /// The words of the search. Empty means that all datasets are listed.
    pub query: String,
    /// Whether withdrawn datasets are listed too.
    pub shows_withdrawn: bool,
    /// Whether this is the first page.
    pub is_first: bool,
    /// The number of datasets, and of the granules that they hold. `None` means that they are unknown.
    pub totals: Option<(u64, u64)>,
    /// The present time.
    pub now: Timestamp,
}

impl IndexPage {
    /// The page. `next` is the address of the next page.
    pub fn html(&self, site: &Site, next: Option<&str>) -> String {
        let head = PageHead {
            title: if self.query.is_empty() {
                "Datasets".into()
            } else {
                format!("Search: {}", visible(&self.query))
            },
            description: Some(format!(
                "The datasets of {}, each with its citable sets of granules.",
                site.name
            )),
            canonical: Some("/".to_owned()),
            feed: Some(Site::FEED.to_owned()),
            section: Section::Datasets,
            is_unlisted: !self.query.is_empty(),
            ..PageHead::default()
        };
        page(site, &head, &self.main(site, next))
    }

    fn main(&self, site: &Site, next: Option<&str>) -> Markup {
        html! {
            div.head {
                h1 { "Datasets" }
                p.lead {
                    "Each dataset lists the granules it held at any time: the units, usually files, that an \
                     archive keeps."
                    @if site.is_complete() {
                        " An identifier from a paper, DI: and 32 hexadecimal digits, leads to exactly the granules \
                         that were used."
                    }
                }
            }
            @if site.is_complete() { (self.search(site)) } @else { (resolver()) }
            (self.summary(site))
            @if !self.rows.is_empty() { (self.table(site)) }
            @if let Some(next) = next { p.chips { a rel="next" href=(next) { "More datasets" } } }
            p.small.soft {
                @if !self.rows.is_empty() {
                    "Confirmed: when a listing of the archive last agreed with what is recorded. "
                }
                @if site.is_complete() && !self.shows_withdrawn && self.query.is_empty() {
                    a href=(site.href("/?withdrawn=listed")) { "Show withdrawn datasets too" } " · "
                }
                a href=(site.href(Site::FEED)) { "Atom feed" }
            }
        }
    }

    fn search(&self, site: &Site) -> Markup {
        html! {
            form.text role="search" aria-label="Datasets" action=(site.href("/")) {
                label for="q" { "A dataset, a DOI, an identifier from a paper, or the name of a granule" }
                div.field {
                    input #q type="search" name="q" value=(self.query) autocomplete="off" spellcheck="false";
                    " " button.main { "Search" }
                }
            }
        }
    }

    /// The number of datasets, or the words of the search.
    fn summary(&self, site: &Site) -> Markup {
        html! {
            div.summary {
                @if !self.query.is_empty() {
                    p role="status" {
                        @if self.rows.is_empty() {
                            "No dataset’s name, title or DOI contains “" (visible(&self.query)) "”, and no granule \
                             that was held has this name. "
                        } @else {
                            "Datasets whose name, title or DOI contains “" (visible(&self.query)) "”. "
                        }
                        a href=(site.href("/")) { "All datasets" }
                    }
                } @else if self.rows.is_empty() && self.is_first {
                    p.empty { "There is no dataset here yet." }
                } @else if let Some((datasets, granules)) = self.totals {
                    p { (counted(datasets, "dataset")) ", " (counted(granules, "granule")) }
                }
            }
        }
    }

    fn table(&self, site: &Site) -> Markup {
        html! {
            table.rows.data {
                thead { tr { (columns(&["Dataset", "#Granules", "Changed", "Confirmed"])) } }
                tbody { @for row in &self.rows { (self.row(site, row)) } }
            }
        }
    }

    fn row(&self, site: &Site, listed: &DatasetRecord) -> Markup {
        let record = &listed.dataset;
        let has_title = title(record) != record.name.as_str();
        html! {
            tr {
                th scope="row" {
                    a href=(site.href(&Site::dataset(&record.name))) { (title(record)) }
                    span.meta {
                        @if has_title { code { (record.name) } }
                        @if let Some(publisher) = &record.publisher {
                            @if has_title { " · " }
                            (visible(publisher))
                        }
                        @if listed.withdrawn.is_some() { " " b.warn { "withdrawn" } }
                    }
                }
                @match &listed.latest {
                    Some(latest) => {
                        td.n { b { (grouped(latest.granules)) } i.u { @if latest.granules == 1 { " granule" } @else { " granules" } } }
                        td.when { i.u { "changed " } (self.when(site, latest.timestamp)) }
                        td.when.soft {
                            @if let Some(confirmed) = listed.confirmation_of_latest() {
                                i.u { "confirmed " } (self.when(site, confirmed.recorded))
                            }
                        }
                    },
                    None => {
                        td.n.soft { "none yet" }
                        td.when {} td.when {}
                    },
                }
            }
        }
    }

    /// A time. If the page is written for each request, it is shown as the time since then.
    fn when(&self, site: &Site, at: Timestamp) -> Markup {
        if !site.is_complete() {
            return date(at);
        }
        html! { time datetime=(at.day()) title=(at) { (ago(at, self.now)) } }
    }
}
