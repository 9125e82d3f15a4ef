//! The page of a set, at which a reader of a paper arrives. The request names the set by its identifier, or by
//! the time at which a dataset held it.

use std::collections::BTreeSet;

use maud::{Markup, html};
use serde_json::{Value, json};

use super::citing::{self, Describes, Link};
use super::fate::{self, StillHeld};
use super::figures::{
    annotations, change, columns, counted, note, time, time_text, until, visible,
};
use super::granules::{Ends, granules};
use super::history;
use super::layout::{Detail, PageHead, Section, page};
use super::record;
use super::site::Site;
use super::verify::{CheckedSet, Fixity, means};
use accession::Result;
use accession::history::DigestPrefix;
use accession::history::{DigestPeriod, Period};
use accession::{Citation, CitationFormat};
use accession::{CitationFacts, Selection, Snapshot};
use accession::{DatasetName, Identifier, Instance, Moment, Set, Timestamp};

/// The greatest number of subsets with the same identifier on the page.
const SHOWN_SUBSETS: usize = 50;

/// The greatest number of periods on the page.
const SHOWN_PERIODS: u32 = 20;

/// The page of a set.
#[derive(Debug)]
pub struct SetPage {
    /// The set, with the record of the cited dataset, and the period in which the set was in force there.
    pub cited: CitationFacts,
    /// Its citation.
    pub citation: Citation,
    /// The subsets that were cited with this identifier, or the first of many.
    pub subsets: Vec<Set>,
    /// How the request named the set.
    requested_by: RequestedBy,
    /// The parts that only the page shows. `None` means that they were not read.
    shown: Option<Details>,
}

/// How a request names a set.
#[derive(Debug, Clone)]
enum RequestedBy {
    Identifier,
    /// By a dataset and a time, as it was typed.
    Time(Moment),
}

/// The parts that only the page of a set shows.
#[derive(Debug)]
struct Details {
    /// The first periods in which a dataset held it.
    periods: Vec<Period>,
    has_more_periods: bool,
    ends: Ends,
    /// The number of its granules that the cited dataset holds now. `None` means that the page does not say it.
    still_held: Option<StillHeld>,
    /// The results of checking the files of a dataset that held it. `None` means that none were recorded.
    fixity: Option<Fixity>,
}

impl SetPage {
    /// Reads the set with an identifier and, if given, with a digest: everything on its page, or only the parts
    /// that programs read. It is cited from the dataset that held it first.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](accession::ErrorKind::IdentifierUnknown): the identifier is unknown, or
    /// its set never had the digest.
    pub fn with_identifier(
        snapshot: &Snapshot,
        identifier: Identifier,
        digest: Option<&DigestPrefix>,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let periods = snapshot.intervals_after(identifier, None, SHOWN_PERIODS + 1)?;
        let dataset = snapshot.first_holder(identifier)?;
        let of_first = periods.iter().filter(|it| Some(it.set.dataset()) == dataset.as_ref());
        let cited = match (digest, of_first.max_by_key(|period| period.from())) {
            (Some(digest), _) => {
                snapshot.digest_of(identifier, digest)?;
                snapshot.cite(&Selection::Digest(digest.clone()))?
            }
            (None, Some(latest)) if periods.len() <= SHOWN_PERIODS as usize => {
                snapshot.cite_period(latest.clone())?
            }
            _ => snapshot.cite(&Selection::Identifier { identifier, dataset, at: None })?,
        };
        let subsets = snapshot.subsets_with(identifier, SHOWN_SUBSETS)?;
        let page = SetPage::of(snapshot, cited, RequestedBy::Identifier, periods, now, detail)?;
        Ok(SetPage { subsets, ..page })
    }

    /// Reads the set that a dataset held at a time: everything on its page, or only the parts that programs
    /// read.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::cite`].
    pub fn at(
        snapshot: &Snapshot,
        name: &DatasetName,
        at: Moment,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let cited = snapshot.cite(&Selection::Dataset { name: name.clone(), at: Some(at) })?;
        let periods = vec![cited.period.clone()];
        SetPage::of(snapshot, cited, RequestedBy::Time(at), periods, now, detail)
    }

    /// The page of a set that was in force in these periods, without subsets with its identifier.
    fn of(
        snapshot: &Snapshot,
        cited: CitationFacts,
        requested_by: RequestedBy,
        periods: Vec<Period>,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let at = match requested_by {
            RequestedBy::Identifier => None,
            RequestedBy::Time(at) => Some(at),
        };
        let citation = Citation::new(cited.clone(), at, now.day());
        let citation = citation.with_contents(snapshot.registry())?;
        let shown = match detail {
            Detail::Page => Some(Details::read(snapshot, &cited, periods)?),
            Detail::Record => None,
        };
        Ok(SetPage { cited, citation, subsets: Vec::new(), requested_by, shown })
    }

    /// Puts the address of the site that resolves identifiers into the citation.
    #[must_use]
    pub fn resolved(self, site: &Site) -> Self {
        SetPage { citation: self.citation.with_resolver(site.resolver()), ..self }
    }

    /// The set as JSON: an instance, with the digests of its period.
    pub fn json(&self) -> Value {
        let set = &self.cited.period.set;
        let instance = set.instance();
        let mut found = json!(instance);
        found["digests"] = json!(DigestPeriod::of(&self.cited.period.instances));
        found["withdrawn"] = json!(self.cited.dataset.withdrawn);
        if !self.cited.others.is_empty() {
            found["others"] = json!(self.cited.others);
        }
        found
    }

    /// The permanent path of the set.
    fn path(&self) -> String {
        let set = &self.cited.period.set;
        match &self.requested_by {
            RequestedBy::Identifier => Site::set(set.identifier()),
            RequestedBy::Time(_) => Site::instance(set.dataset(), set.instance().timestamp),
        }
    }

    /// The path of its list of granules.
    fn list(&self) -> String {
        Site::of_set(self.cited.period.set.identifier(), "granules")
    }

    /// The links of the page, for the HTML head and for the header of every format.
    pub fn links(&self, site: &Site) -> Vec<Link> {
        let (record, citation) = (&self.cited.dataset.dataset, Some(&self.citation));
        let (path, list) = (self.path(), self.list());
        let mut links = citing::links(site, record, Describes::Set, &path, Some(&list), citation);
        if let RequestedBy::Time(at) = self.requested_by
            && format!("/datasets/{}@{at}", record.name) != path
        {
            links.extend(site.canonical(&path).map(|it| Link::new("canonical", it)));
        }
        links
    }

    /// Whether search engines should leave the page out. A dataset has thousands of sets that nobody cited.
    pub fn is_unlisted(&self) -> bool {
        self.subsets.is_empty()
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let (record, set) = (&self.cited.dataset.dataset, &self.cited.period.set);
        let (title, identifier) = (record::title(record), set.identifier());
        let path = self.path();
        let head = PageHead {
            title: match self.requested_by {
                RequestedBy::Time(_) => format!("{title}, {}", time_text(set.instance().timestamp)),
                _ => format!("DI:{identifier}, {title}"),
            },
            description: Some(format!(
                "{} of {title}, with a citation, the list and a check of files.",
                counted(set.granule_count(), "granule"),
            )),
            links: self.links(site),
            meta: citing::meta(site, record, Some(&self.citation), &path),
            canonical: matches!(self.requested_by, RequestedBy::Identifier).then(|| path.clone()),
            printed: self.citation.permanent_address(),
            json_ld: Some(citing::described(
                site,
                record,
                self.citation.render(CitationFormat::JsonLd),
                &self.list(),
            )),
            section: Section::Datasets,
            is_unlisted: self.is_unlisted(),
            ..PageHead::default()
        };
        let main = self.shown.as_ref().map(|shown| self.main(site, shown));
        page(site, &head, &main.unwrap_or_default())
    }

    fn main(&self, site: &Site, shown: &Details) -> Markup {
        let (listed, set) = (&self.cited.dataset, &self.cited.period.set);
        let (record, identifier) = (&listed.dataset, set.identifier());
        // Not the exact timestamp, because downloaded citations should have the same date as the one on the
        // page.
        let cited_path = match self.requested_by {
            RequestedBy::Time(at) => format!("/datasets/{}@{at}", record.name),
            _ => self.path(),
        };
        let list = site.href(&self.list());
        let checked = CheckedSet {
            set,
            ends: &shown.ends,
            list: &list,
            fixity: shown.fixity.as_ref(),
            is_shared: shown.datasets().len() > 1,
        };
        html! {
            (record::withdrawal(site, listed.withdrawn.as_ref()))
            @for noted in self.cited.period.annotations().filter(|noted| noted.questionable) {
                (record::questionable(noted))
            }
            div.head {
                p.label { (self.arrival()) }
                h1 { (record::title(record)) }
                (self.held(site))
            }
            div.card {
                div.top {
                    @let address = self.citation.permanent_address();
                    @let label = if address.is_some() { "Its permanent address" } else { "Its identifier" };
                    @let is_other = matches!(self.requested_by, RequestedBy::Time(_));
                    @let other = is_other.then(|| site.href(&Site::set(identifier)));
                    (citing::set_address(label, address, identifier, other))
                    (fate::sentence(site, &self.cited, shown.still_held.as_ref()))
                    @for noted in self.cited.period.annotations().filter(|noted| !noted.questionable) {
                        p { (annotations(std::slice::from_ref(noted))) }
                    }
                    @if let RequestedBy::Time(_) = self.requested_by { (self.neighbours(site)) }
                    (checked.actions())
                }
                (means(site))
            }
            @if !self.cited.others.is_empty() {
                section {
                    h2 { "Also current on that day" }
                    p.text { "A citation with the date alone means the last set of the day. An earlier one is cited with its time." }
                    (history::table(site, &self.cited.others, None))
                }
            }
            div.cols.side {
                div {
                    (granules(site, set, record, &shown.ends, &list))
                    (checked.section(site))
                }
                aside { (citing::section(site, &self.citation, &cited_path)) }
            }
            @if shown.is_more_than_one_period() { (shown.when(site, identifier)) }
            @if !self.subsets.is_empty() { (self.subsets(site)) }
        }
    }

    /// The line above the title: how the reader came to this page.
    fn arrival(&self) -> Markup {
        html! {
            @match (&self.requested_by, self.cited.period.set.subset()) {
                (RequestedBy::Time(at), _) => { "The dataset as it was held at " span.when { (at) } },
                (_, Some(_)) => "You followed a citation to exactly these granules, a part of a dataset",
                (_, None) => "You followed a citation to exactly these granules",
            }
        }
    }

    /// The number of granules, who held them, and when.
    fn held(&self, site: &Site) -> Markup {
        let (record, set) = (&self.cited.dataset.dataset, &self.cited.period.set);
        let archive = record.archive.as_deref().or(record.publisher.as_deref());
        html! {
            p.by {
                span {
                    b { (counted(set.granule_count(), "granule")) }
                    @if set.subset().is_some() { ", selected from what was held" } @else { ", as held" }
                    @if let Some(archive) = archive { " by " (visible(archive)) }
                    " from " b { (time(self.cited.period.from())) }
                    @match self.cited.dataset.withdrawn.as_ref().filter(|_| self.cited.period.until().is_none()) {
                        Some(withdrawn) => { " until it was withdrawn on " b { (time(withdrawn.timestamp)) } },
                        None => { " until " b { (until(self.cited.period.until())) } },
                    }
                }
                span { a href=(site.href(&Site::dataset(&record.name))) { "The dataset today" } }
                @if let Some(doi) = &record.doi { span { a href=(doi.address()) { "doi:" (doi) } } }
            }
        }
    }

    /// The change that resulted in the set, and the previous and next sets.
    fn neighbours(&self, site: &Site) -> Markup {
        let instance = self.cited.period.set.instance();
        let (previous, next) = (self.cited.instance_before(), self.cited.instance_after());
        let page_of = |it: &Instance| site.href(&Site::instance(&it.dataset, it.timestamp));
        html! {
            p.soft {
                "The change: " (change(instance)) ". "
                @if let Some(text) = &instance.note { (note(text)) " " }
                @if let Some(previous) = previous {
                    @if previous.identifier != instance.identifier {
                        @let (from, to) = (previous.timestamp, instance.timestamp);
                        a href=(site.href(&Site::changes(&instance.dataset, from, to))) {
                            "Compare with the set before"
                        }
                        " · "
                    }
                    a rel="prev" href=(page_of(previous)) { "← Set before" }
                }
                @if let Some(next) = next {
                    " "
                    @if previous.is_some() { "· " }
                    a rel="next" href=(page_of(next)) { "Next set →" }
                }
            }
        }
    }

    /// The cited subsets.
    fn subsets(&self, site: &Site) -> Markup {
        let rows = self.subsets.iter().filter_map(|set| {
            let instance = set.instance();
            let cell = html! {
                th scope="row" {
                    a href=(site.href(&Site::dataset(&instance.dataset))) { (instance.dataset) }
                    (annotations(&instance.annotations))
                }
            };
            Some((cell, set.subset()?))
        });
        html! { section #subsets { h2 { "Where it was cited" } (history::subsets(site, "Dataset", rows)) } }
    }
}

impl Details {
    fn read(snapshot: &Snapshot, cited: &CitationFacts, mut periods: Vec<Period>) -> Result<Self> {
        let has_more_periods = periods.len() > SHOWN_PERIODS as usize;
        periods.truncate(SHOWN_PERIODS as usize);
        let mut datasets = vec![cited.period.set.dataset()];
        datasets.extend(periods.iter().map(|period| period.set.dataset()));
        datasets.dedup();
        let fixity = datasets.into_iter().find_map(|it| Fixity::read(snapshot, it).transpose());
        Ok(Details {
            ends: Ends::read(snapshot, &cited.period.set)?,
            still_held: StillHeld::read(snapshot, cited)?,
            fixity: fixity.transpose()?,
            has_more_periods,
            periods,
        })
    }

    /// The datasets that held the whole set.
    fn datasets(&self) -> BTreeSet<&DatasetName> {
        self.periods.iter().map(|period| period.set.dataset()).collect()
    }

    /// Whether the set has more periods than the one at the top of its page, or more digests.
    fn is_more_than_one_period(&self) -> bool {
        self.periods.len() > 1 || self.periods.iter().any(|period| period.digests().len() > 1)
    }

    /// The datasets and periods in which the set was in force.
    fn when(&self, site: &Site, identifier: Identifier) -> Markup {
        html! {
            section #when {
                h2 { "Where and when it was held" }
                table.rows.data {
                    thead { tr { (columns(&["Dataset", "From", "Until", "Citation"])) } }
                    tbody { @for period in &self.periods { (period_row(site, period)) } }
                }
                @if self.has_more_periods {
                    p.chips {
                        a href={ (site.href(&Site::set(identifier))) "?format=jsonl" } {
                            "All periods, as JSON Lines"
                        }
                    }
                }
            }
        }
    }
}

fn period_row(site: &Site, period: &Period) -> Markup {
    let (dataset, digests) = (period.set.dataset(), period.digests());
    let own = site.href(&Site::instance(dataset, period.set.instance().timestamp));
    html! {
        tr {
            th scope="row" {
                a href=(site.href(&Site::dataset(dataset))) { (dataset) }
                @for instance in &period.instances { (annotations(&instance.annotations)) }
            }
            td.when {
                a href=(own) { (time(period.from())) }
                // The names stayed the same, but the recorded checksums changed.
                @if digests.len() > 1 {
                    @for DigestPeriod { digest, from, until: end, .. } in digests {
                        @let shown = digest.to_string();
                        span.small.soft {
                            br; a.di href=(site.href(&format!("/{digest}"))) { (shown[..19]) "…" }
                            " " (time(from)) br; "until " (until(end))
                        }
                    }
                }
            }
            td.when {
                i.u { "until " }
                (until(period.until()))
            }
            td.n { a href={ (own) "#cite" } { "Cite it from " (dataset) } }
        }
    }
}
