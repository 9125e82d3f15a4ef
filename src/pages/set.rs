//! The page of a set, where a reader arrives from a paper.

use std::collections::BTreeSet;

use maud::{Markup, html};

use super::citing::{self, Describes, Link};
use super::figures::{annotations, copy_button, counted, date, grouped, time, visible};
use super::fixity::Fixity;
use super::history::criteria;
use super::identifier::{means, verifying};
use super::layout::{Detail, Head, page};
use super::part::{Ends, FIRST_IDS, LAST_IDS, form_unless_all_are_shown, granules};
use super::plot::Spark;
use super::record;
use super::site::Site;
use crate::citation::Citation;
use crate::error::Result;
use crate::model::{
    Dataset, DatasetName, Identifier, Instance, Moment, Set, Timestamp, Withdrawal,
};
use crate::registry::{Counts, Difference, DigestPeriod, Resolved, Selection, Snapshot};

/// How many of the subsets that were cited with an identifier its page shows.
const SHOWN_SUBSETS: usize = 50;

/// How many intervals the page shows.
const SHOWN_INTERVALS: u32 = 20;

/// The greatest number of granules of two sets that are compared for the page.
const COMPARED_GRANULES: u64 = 20_000;

/// How many differences the page shows.
const SHOWN_DIFFERENCES: usize = 8;

/// The page of a set.
#[derive(Debug)]
pub struct SetPage {
    /// Its identifier.
    pub identifier: Identifier,
    /// How many granules it has.
    pub granules: u64,
    /// The record of the dataset whose citation is shown.
    pub record: Dataset,
    /// The withdrawal of that dataset. `None` means that it was not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// Where and when it was current: the first such periods.
    pub places: Vec<Place>,
    /// Whether there are further periods.
    pub has_more_places: bool,
    /// The subsets that were cited with this identifier, or the first of many.
    pub subsets: Vec<Set>,
    /// Its first and last granules.
    pub ends: Ends,
    /// What changed since, in the dataset whose citation is shown. `None` means that the set is current.
    pub since: Option<Since>,
    /// Its citation.
    pub citation: Citation,
    /// What is known of the files of a dataset that held it. `None` means nothing.
    pub fixity: Option<Fixity>,
}

/// A period in which a set was current.
#[derive(Debug)]
pub struct Place {
    /// The period.
    pub period: Resolved,
    /// The granules that its dataset held over time.
    pub spark: Spark,
    /// The set that replaced it. `None` means that none did.
    pub next: Option<Identifier>,
}

/// What changed in a dataset since a set was current.
#[derive(Debug)]
pub struct Since {
    /// The latest instance.
    pub latest: Instance,
    /// How many granules both sets have, and only the earlier (left) or the later (right) one.
    /// `None` means that the sets are too large to be compared for this page.
    pub counts: Option<Counts>,
    /// Some of the differences.
    pub differences: Vec<Difference>,
}

impl SetPage {
    /// Reads a set: all that its page shows, or what programs read of it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`](crate::ErrorKind::IdentifierUnknown).
    pub fn read(
        snapshot: &Snapshot,
        identifier: Identifier,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let mut intervals = snapshot.intervals_after(identifier, None, SHOWN_INTERVALS + 1)?;
        let has_more_places = intervals.len() > SHOWN_INTERVALS as usize;
        intervals.truncate(SHOWN_INTERVALS as usize);
        // The dataset that still holds the set, else the one that held it last.
        let holding = intervals.iter().find(|period| period.until().is_none());
        let dataset = holding.map(|period| period.set.dataset().clone());
        let cited = snapshot.cite(&Selection::Identifier { identifier, dataset, at: None })?;
        let listed = snapshot.dataset(cited.set.dataset())?;
        let mut page = SetPage {
            identifier,
            granules: cited.set.granules(),
            record: listed.dataset,
            withdrawn: listed.withdrawn,
            places: Vec::new(),
            has_more_places,
            subsets: snapshot.subsets_with(identifier, SHOWN_SUBSETS)?,
            ends: Ends::default(),
            since: None,
            fixity: None,
            citation: Citation::new(cited.clone(), None, now.day()),
        };
        if detail == Detail::Page {
            let is_in_force = holding.is_some() || cited.next.is_none();
            if let (false, None, Some(latest)) = (is_in_force, cited.set.subset(), listed.latest) {
                page.since = Some(Since::read(snapshot, &cited.set, latest)?);
            }
            page.ends = Ends::read(snapshot, &cited.set, FIRST_IDS, LAST_IDS)?;
            page.fixity = fixity(snapshot, cited.set.dataset(), &intervals)?;
            let places = intervals.into_iter().map(|it| Place::read(snapshot, it, now));
            page.places = places.collect::<Result<_>>()?;
        }
        Ok(page)
    }

    /// The links of the page, in its head and in the header of every format.
    pub fn links(&self, site: &Site) -> Vec<Link> {
        let path = Site::set(self.identifier);
        citing::links(site, &self.record, &path, Describes::Set(self.identifier))
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let path = Site::set(self.identifier);
        let head = Head {
            title: format!("DI:{}", self.identifier),
            description: Some(format!(
                "{} of {}, with a citation, the list and a check of files.",
                counted(self.granules, "granule"),
                record::title(&self.record)
            )),
            links: self.links(site),
            meta: citing::meta(site, &self.record, Some(self.identifier), &path),
            canonical: Some(path),
            json_ld: Some(citing::described(site, &self.record, &self.citation, self.identifier)),
            // What nobody cited is not for search engines.
            is_unlisted: self.subsets.is_empty(),
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    /// The datasets that held the whole set.
    fn datasets(&self) -> BTreeSet<&DatasetName> {
        self.places.iter().map(|place| place.period.set.dataset()).collect()
    }

    /// What the set is, in a few words.
    fn headline(&self) -> String {
        let granules = counted(self.granules, "granule");
        match self.datasets().len() as u64 {
            0 => format!("{granules}, a cited part of a dataset"),
            datasets if self.has_more_places => {
                format!("{granules}, held by {} or more", counted(datasets, "dataset"))
            }
            datasets => format!("{granules}, held by {}", counted(datasets, "dataset")),
        }
    }

    fn main(&self, site: &Site) -> Markup {
        let record = &self.record;
        html! {
            div.head {
                p.label { "A set of granules, which papers cite by its identifier" }
                h1 { (self.headline()) }
                p.by {
                    span { a href=(site.href(&Site::dataset(&record.name))) { (record::title(record)) } }
                    @if let Some(publisher) = &record.publisher { span { (visible(publisher)) } }
                    @if let Some(doi) = &record.doi { span { a href=(doi.address()) { "doi:" (doi) } } }
                }
            }
            (record::withdrawal(site, self.withdrawn.as_ref()))
            div.card {
                div.top {
                    p.big {
                        span.label { "The identifier of exactly these granules" }
                        span.di #di { "DI:" (self.identifier) }
                        " " (copy_button("di", "the identifier"))
                    }
                    (self.state(site))
                    p.actions {
                        a.button.main href=(site.href(&Site::granules(self.identifier))) { "List the granules" }
                        " " a.button href="#verify" { "Check your files" }
                        @if self.since.is_some() { " " a.button href="#since" { "What changed since" } }
                        " " a.button href="#cite" { "Cite" }
                    }
                }
                (means(site))
            }
            @if !self.places.is_empty() { (self.periods(site)) }
            @if !self.subsets.is_empty() { (self.parts(site)) }
            div.cols.side {
                div {
                    (granules(site, self.identifier, self.granules, record, &self.ends))
                    @if !self.places.is_empty() {
                        (form_unless_all_are_shown(site, self.identifier, self.granules, &self.ends))
                    }
                    (verifying(self.identifier))
                    @if let Some(fixity) = &self.fixity {
                        (fixity.section(site, self.identifier, self.datasets().len() > 1))
                    }
                }
                aside {
                    (citing::section(site, &self.citation, &Site::set(self.identifier)))
                    @if let Some(since) = &self.since { (self.changed(site, since)) }
                }
            }
        }
    }

    /// Whether each dataset still holds exactly this set, or when it was replaced.
    fn state(&self, site: &Site) -> Markup {
        let mut seen = BTreeSet::new();
        let mut latest: Vec<&Place> = self.places.iter().rev().collect();
        latest.retain(|place| seen.insert(place.period.set.dataset()));
        latest.reverse();
        html! {
            @if latest.is_empty() {
                p {
                    span.state.plus { "A cited subset: " }
                    "granules of a dataset that were cited on their own. It always means these granules."
                }
            }
            @for Place { period, next, .. } in latest {
                @let dataset = period.set.dataset();
                @match period.until() {
                    None => p { span.state.plus { "Still current at " (dataset) "." } },
                    Some(until) => p {
                        span.state.warn { "No longer current at " (dataset) ", " }
                        "replaced on " a href=(site.href(&Site::instance(dataset, until))) { (date(until)) }
                        @if let Some(next) = next { " by " a.di href=(site.href(&Site::set(*next))) { "DI:" (next) } }
                        "."
                    },
                }
            }
        }
    }

    /// Where and when the set was current.
    fn periods(&self, site: &Site) -> Markup {
        html! {
            section #when {
                h2 { "Where and when it was current" }
                table.rows.data {
                    thead {
                        tr {
                            th scope="col" { "Dataset" }
                            th scope="col" { "From" }
                            th scope="col" { "Until" }
                            th scope="col" { "Held; this set is shaded" }
                            th scope="col" { span.vh { "Cite" } }
                        }
                    }
                    tbody { @for place in &self.places { (self.period(site, place)) } }
                }
                @if self.has_more_places {
                    p.chips {
                        a href={ (site.href(&Site::set(self.identifier))) "?format=jsonl" } {
                            "All periods, as JSON Lines"
                        }
                    }
                }
            }
        }
    }

    fn period(&self, site: &Site, place: &Place) -> Markup {
        let Place { period, spark, .. } = place;
        let (dataset, from, until) = (period.set.dataset(), period.from(), period.until());
        let own = site.href(&Site::instance(dataset, period.set.instance().timestamp));
        let digests = period.digests();
        html! {
            tr {
                th scope="row" { a href=(site.href(&Site::dataset(dataset))) { (dataset) }
                    @for instance in &period.instances { (annotations(&instance.annotations)) }
                }
                td.when {
                    a href=(own) { (time(from)) }
                    // Names stayed, and what was known of the files did not.
                    @if digests.len() > 1 {
                        @for DigestPeriod { digest, from, .. } in digests {
                            @let shown = digest.to_string();
                            span.small.soft { br; a.di href=(site.href(&format!("/{digest}"))) { (shown[..19]) "…" } " " (time(from)) }
                        }
                    }
                }
                td.when {
                    i.u { "until " }
                    @match until { Some(until) => (time(until)), None => b.plus { "now" } }
                }
                td.sk { (spark.svg(None, Some((from, until)))) }
                td.n {
                    @if *dataset == self.record.name { a href="#cite" { "Cite it from " (dataset) } }
                    @else { a href={ (own) "#cite" } { "Cite it from " (dataset) } }
                }
            }
        }
    }

    /// The subsets that were cited.
    fn parts(&self, site: &Site) -> Markup {
        html! {
            section #subsets {
                h2 { "Where it was cited" }
                table.rows {
                    thead {
                        tr {
                            th scope="col" { "Dataset" }
                            th scope="col" { "Of the set of" }
                            th scope="col" { "Selected by" }
                            th scope="col" { "Cited" }
                        }
                    }
                    tbody {
                        @for set in &self.subsets {
                            @let instance = set.instance();
                            tr {
                                th scope="row" {
                                    a href=(site.href(&Site::dataset(&instance.dataset))) { (instance.dataset) }
                                    (annotations(&instance.annotations))
                                }
                                td.when {
                                    i.u { "of " }
                                    a href=(site.href(&Site::instance(&instance.dataset, instance.timestamp))) {
                                        (time(instance.timestamp))
                                    }
                                }
                                @if let Some(subset) = set.subset() {
                                    td.fill { (criteria(&subset.criteria)) }
                                    td.when { i.u { "cited " } (date(subset.cited)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn changed(&self, site: &Site, since: &Since) -> Markup {
        let latest = &since.latest;
        let comparison = site.href(&Site::comparison(self.identifier, latest.identifier));
        html! {
            section #since {
                h2 { "What changed since" }
                p {
                    (self.record.name) " now holds " (counted(latest.granules, "granule")) ", since "
                    (time(latest.timestamp)) "."
                    @if since.counts.is_some() { " Against this set:" }
                }
                @if let Some(counts) = &since.counts {
                    (tally(counts, ["deleted since", "still held", "added since"]))
                    ul.diff { @for (index, difference) in since.differences.iter().enumerate() { (difference_row(index, difference)) } }
                }
                p.chips { a href=(comparison) { "Compare the two sets" } }
            }
        }
    }
}

/// What is known of the files of a set: by the dataset whose citation is shown, else by another one that
/// held it.
fn fixity(
    snapshot: &Snapshot,
    cited: &DatasetName,
    intervals: &[Resolved],
) -> Result<Option<Fixity>> {
    let mut datasets = vec![cited];
    datasets.extend(intervals.iter().map(|period| period.set.dataset()));
    datasets.dedup();
    let found = datasets.into_iter().find_map(|name| Fixity::read(snapshot, name).transpose());
    found.transpose()
}

impl Place {
    /// A period in which a set was in force, with what its dataset held from its first change until today.
    fn read(snapshot: &Snapshot, period: Resolved, now: Timestamp) -> Result<Self> {
        let dataset = period.set.dataset();
        let first = snapshot.first_instance(dataset)?.map(|first| first.timestamp);
        let (from, until) = (first.unwrap_or(period.from()), now.day().end());
        let spark = Spark::read(snapshot, dataset, from, until)?;
        let replacing = |at| -> Result<Identifier> {
            let at = Some(Moment::Instant(at));
            let selection = Selection::Dataset { name: dataset.clone(), at };
            Ok(snapshot.select(&selection)?.set.identifier())
        };
        let next = period.until().map(replacing).transpose()?;
        Ok(Place { spark, next, period })
    }
}

impl Since {
    /// What changed since a set was in force.
    fn read(snapshot: &Snapshot, set: &Set, latest: Instance) -> Result<Self> {
        if set.granules() + latest.granules > COMPARED_GRANULES {
            return Ok(Since { latest, counts: None, differences: Vec::new() });
        }
        let selection = |instance: &Instance| Selection::Identifier {
            identifier: instance.identifier,
            dataset: Some(instance.dataset.clone()),
            at: None,
        };
        let mut compared = snapshot.compare(&selection(set.instance()), &selection(&latest))?;
        let differences = compared.by_ref().take(SHOWN_DIFFERENCES).collect::<Result<_>>()?;
        let counts = compared.finish()?;
        Ok(Since { latest, counts: Some(counts), differences })
    }
}

/// How many granules only one of two sets has, and both, as numbers and as a bar.
pub(super) fn tally(counts: &Counts, [left, both, right]: [&str; 3]) -> Markup {
    let Counts { matched, only_left, only_right } = *counts;
    let all = (matched + only_left + only_right).max(1) as f64 / 100.0;
    let (first, second) = (only_left as f64 / all, matched as f64 / all);
    html! {
        dl.tally {
            div { dt { (left) } dd.minus { (grouped(only_left)) } }
            div { dt { (both) } dd { (grouped(matched)) } }
            div { dt { (right) } dd.plus { (grouped(only_right)) } }
        }
        svg.bar aria-hidden="true" {
            rect.deleted width={ (format!("{first:.1}")) "%" } height="100%" {}
            rect.both x={ (format!("{first:.1}")) "%" } width={ (format!("{second:.1}")) "%" } height="100%" {}
            rect.added x={ (format!("{:.1}", first + second)) "%" }
                width={ (format!("{:.1}", (100.0 - first - second).max(0.0))) "%" } height="100%" {}
        }
    }
}

/// A granule that only one of two sets has.
pub(super) fn difference_row(index: usize, difference: &Difference) -> Markup {
    html! {
        @match difference {
            Difference::OnlyRight(granule_id) => li.plus id={ "d" (index) } { "+ " (visible(granule_id.as_str())) },
            Difference::OnlyLeft(granule_id) => li.minus id={ "d" (index) } { "− " (visible(granule_id.as_str())) },
        }
    }
}
