//! The list of datasets.

use std::str::FromStr;

use maud::{Markup, html};

use super::figures::{ago, counted, date, grouped, visible};
use super::layout::{Head, Section, page};
use super::plot::Spark;
use super::record::title;
use super::site::Site;
use crate::model::{DatasetName, Timestamp};
use crate::registry::Listed;

/// The list of datasets, or those that a search has found.
#[derive(Debug)]
pub struct IndexPage {
    /// The datasets on this page.
    pub rows: Vec<IndexRow>,
    /// The name after which the next page begins. `None` means that this is the last page.
    pub next: Option<DatasetName>,
    /// The words that are searched for. Empty means that all are listed.
    pub query: String,
    /// The order of the rows. `None` means that there is no other than by name: what a search has found,
    /// or too many to be sorted for a page.
    pub sort: Option<Sort>,
    /// Whether withdrawn datasets are listed too.
    pub shows_withdrawn: bool,
    /// Whether this is the first page.
    pub is_first: bool,
    /// The number of datasets and of the granules that they hold. `None` means that it is not known.
    pub totals: Option<(u64, u64)>,
    /// The present time.
    pub now: Timestamp,
}

/// A dataset in the list.
#[derive(Debug)]
pub struct IndexRow {
    /// The dataset.
    pub listed: Listed,
    /// The granules that it held in the last twelve months. `None` means that this is not known.
    pub spark: Option<Spark>,
}

/// The order of a list of datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// By the time of the last change, the latest first.
    #[default]
    Changed,
    /// By name.
    Name,
    /// By the number of granules held, the greatest first.
    Granules,
}

impl Sort {
    const ALL: [(Sort, &str); 3] =
        [(Sort::Changed, "last change"), (Sort::Name, "name"), (Sort::Granules, "granules")];

    /// The value of the parameter `sort`.
    pub fn as_str(self) -> &'static str {
        match self {
            Sort::Changed => "changed",
            Sort::Name => "name",
            Sort::Granules => "granules",
        }
    }

    /// Sorts datasets. Those that are equal are by name.
    pub fn sort(self, datasets: &mut [Listed]) {
        let latest = |listed: &Listed| {
            listed.latest.as_ref().map(|latest| match self {
                Sort::Changed => latest.timestamp.as_micros(),
                Sort::Granules => i64::try_from(latest.granules).unwrap_or(i64::MAX),
                Sort::Name => 0,
            })
        };
        datasets.sort_by(|one, other| {
            let by_name = one.dataset.name.cmp(&other.dataset.name);
            if self == Sort::Name { by_name } else { latest(other).cmp(&latest(one)).then(by_name) }
        });
    }
}

impl FromStr for Sort {
    type Err = &'static str;

    /// # Errors
    ///
    /// - `"size"`: not an order
    fn from_str(text: &str) -> Result<Self, &'static str> {
        let known = Sort::ALL.into_iter().map(|(sort, _)| sort).find(|sort| sort.as_str() == text);
        known.ok_or("it takes changed, name or granules")
    }
}

impl IndexPage {
    /// The path of this list in an order, from a dataset on.
    fn path(&self, sort: Option<Sort>, after: Option<&DatasetName>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.query.is_empty() {
            query.append_pair("q", &self.query);
        }
        if self.shows_withdrawn {
            query.append_pair("withdrawn", "listed");
        }
        if let Some(sort) = sort {
            query.append_pair("sort", sort.as_str());
        }
        if let Some(after) = after {
            query.append_pair("after", after.as_str());
        }
        format!("/?{}", query.finish())
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = Head {
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
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
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
            @if site.is_complete() { (self.search(site)) }
            (self.summary(site))
            @if !self.rows.is_empty() { (self.table(site)) }
            @if let Some(next) = &self.next {
                p.chips { a rel="next" href=(site.href(&self.path(self.sort, Some(next)))) { "More datasets" } }
            }
            p.small.soft {
                @if !self.rows.is_empty() {
                    "Lines: granules held in the "
                    @if site.is_complete() { "last twelve months" }
                    @else { "twelve months until the last change or confirmation" }
                    ", each on its own scale; the dot is the last change. Confirmed: when a listing of the archive \
                     last agreed with what is registered. "
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

    /// How many datasets there are, or what was searched for, and the other orders.
    fn summary(&self, site: &Site) -> Markup {
        html! {
            div.sorts {
                @if !self.query.is_empty() {
                    p role="status" {
                        @if self.rows.is_empty() {
                            "No dataset’s name, title or DOI contains “" (visible(&self.query)) "”. "
                            a href={ (site.href("/find")) "?" (self.as_granule()) } { "Look for a granule with this name" }
                            " · "
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
                @if let Some(sort) = self.sort.filter(|_| site.is_complete() && self.rows.len() > 1) {
                    p {
                        "Sorted by"
                        @for (other, label) in Sort::ALL {
                            " "
                            a aria-current=[(other == sort).then_some("true")]
                                href=(site.href(&self.path(Some(other), None))) { (label) }
                        }
                    }
                }
            }
        }
    }

    fn as_granule(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("granule", &self.query).finish()
    }

    fn table(&self, site: &Site) -> Markup {
        html! {
            table.rows.data {
                thead {
                    tr {
                        th scope="col" { "Dataset" }
                        th.n scope="col" { "Granules" }
                        th scope="col" { @if site.is_complete() { "Last " } "12 months" }
                        th scope="col" { "Changed" }
                        th scope="col" { "Confirmed" }
                    }
                }
                tbody { @for row in &self.rows { (self.row(site, row)) } }
            }
        }
    }

    fn row(&self, site: &Site, row: &IndexRow) -> Markup {
        let IndexRow { listed, spark } = row;
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
                        td.sk { @if let Some(spark) = spark { (spark.svg(Some(latest.timestamp), None)) } }
                        td.when { i.u { "changed " } (self.when(site, latest.timestamp)) }
                        td.when.soft {
                            @if let Some(confirmed) = &listed.confirmed {
                                i.u { "confirmed " } (self.when(site, confirmed.recorded))
                            }
                        }
                    },
                    None => {
                        td.n.soft {
                            @if listed.problem.is_some() { "not available now" } @else { "none yet" }
                        }
                        td.sk {} td.when {} td.when {}
                    },
                }
            }
        }
    }

    /// A time: how long ago, where the page is written for each request.
    fn when(&self, site: &Site, at: Timestamp) -> Markup {
        if !site.is_complete() {
            return date(at);
        }
        html! { time datetime=(at.day()) title=(at) { (ago(at, self.now)) } }
    }
}
