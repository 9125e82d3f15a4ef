//! The page of a dataset.

use maud::{Markup, PreEscaped, html};

use super::citing::{self, Describes, Link};
use super::figures::{ago, annotations, counted, date, day_text, facts, grouped, time};
use super::granules::Ends;
use super::history;
use super::layout::{Detail, PageHead, Section, page, trail};
use super::plot::{Series, plot};
use super::record;
use super::site::Site;
use super::verify::{CheckedSet, Fixity, means};
use accession::Citation;
use accession::dataset::DatasetRecord;
use accession::history::{Annotation, Subset};
use accession::status::{Mirrored, StatusThresholds};
use accession::{DatasetFilter, Selection, Snapshot};
use accession::{DatasetName, Instance, Moment, Set, Timestamp};
use accession::{ErrorKind, Result};

/// The number of latest changes on the page.
const RECENT_CHANGES: u32 = 6;

/// The number of most recently cited subsets on the page.
const RECENT_SUBSETS: u32 = 6;

/// The greatest number of annotations that are listed below the plot.
const LISTED_ANNOTATIONS: u32 = 5;

/// The page of a dataset.
#[derive(Debug)]
pub struct DatasetPage {
    /// The dataset.
    pub listed: DatasetRecord,
    /// Its latest changes, newest first.
    pub recent: Vec<Instance>,
    /// Its history, for the plot.
    pub series: Series,
    /// The annotations of its changes with the times of the changes, oldest change first.
    pub annotated: Vec<(Timestamp, Annotation)>,
    /// The most recently cited subsets.
    pub subsets: Vec<Subset>,
    /// The number of subsets of the dataset.
    pub subset_count: u64,
    /// The first and the last granules of the latest set.
    ends: Ends,
    /// The citation of its latest set. `None` means that there is no change yet.
    pub citation: Option<Citation>,
    /// The results of checking its files. `None` means that none were recorded.
    fixity: Option<Fixity>,
    /// Its primary, and whether the copy matches it. `None` means that the dataset is not a mirror.
    copy: Option<Mirrored>,
    /// The present time.
    pub now: Timestamp,
}

impl DatasetPage {
    /// Reads a dataset: everything on its page, or only the parts that programs read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn read(
        snapshot: &Snapshot,
        name: &DatasetName,
        now: Timestamp,
        detail: Detail,
    ) -> Result<Self> {
        let listed = snapshot.dataset(name)?;
        let at = Some(Moment::Day(now.day()));
        let citation = match &listed.latest {
            // A change in the future is not in force today.
            Some(_) => match snapshot.cite(&Selection::Dataset { name: name.clone(), at }) {
                Ok(cited) => {
                    let citation = Citation::new(cited, at, now.day());
                    Some(citation.with_contents(snapshot.registry())?)
                }
                Err(error) if error.kind() == ErrorKind::NoHistory => None,
                Err(error) => return Err(error),
            },
            None => None,
        };
        let mut page = DatasetPage {
            listed,
            recent: Vec::new(),
            series: Series::default(),
            annotated: Vec::new(),
            subsets: Vec::new(),
            subset_count: 0,
            ends: Ends::default(),
            citation,
            fixity: None,
            copy: None,
            now,
        };
        if detail == Detail::Page {
            page.recent = snapshot.instances_before(name, None, RECENT_CHANGES)?;
            page.series = Series::read(snapshot, name)?;
            page.annotated = snapshot.annotated(name, LISTED_ANNOTATIONS)?;
            page.subsets = snapshot.last_subsets(name, RECENT_SUBSETS)?;
            page.subset_count = snapshot.count_subsets(name)?;
            page.fixity = Fixity::read(snapshot, name)?;
            let only = DatasetFilter::Only(vec![name.clone()]);
            let status = snapshot.registry().status(&only, StatusThresholds::default())?;
            let mirrors = status.into_iter().flat_map(|status| status.mirrors);
            page.copy = mirrors.max_by_key(|mirrored| (mirrored.default, mirrored.read));
            if let Some(latest) = &page.listed.latest {
                page.ends = Ends::read(snapshot, &Set::Instance(latest.clone()))?;
            }
        }
        Ok(page)
    }

    /// Puts the address of the site that resolves identifiers into the citation.
    #[must_use]
    pub fn resolved(self, site: &Site) -> Self {
        let citation = self.citation.map(|citation| citation.with_resolver(site.resolver()));
        DatasetPage { citation, ..self }
    }

    /// The links of the page, for the HTML head and for the header of every format.
    pub fn links(&self, site: &Site) -> Vec<Link> {
        let dataset = &self.listed.dataset;
        let latest = self.listed.latest.as_ref();
        let list = latest.map(|latest| Site::of_set(latest.identifier, "granules"));
        let (path, citation) = (Site::dataset(&dataset.name), self.citation.as_ref());
        citing::links(site, dataset, Describes::Dataset, &path, list.as_deref(), citation)
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let dataset = &self.listed.dataset;
        let latest = self.listed.latest.as_ref();
        let json_ld = self.citation.as_ref().zip(latest).map(|(citation, latest)| {
            let list = Site::of_set(latest.identifier, "granules");
            citing::described(site, dataset, citation.write_dataset(), &list)
        });
        let path = Site::dataset(&dataset.name);
        let head = PageHead {
            title: record::title(dataset),
            description: dataset.description.as_deref().map(str::to_owned),
            feed: Some(Site::feed(&dataset.name)),
            links: self.links(site),
            meta: citing::meta(site, dataset, self.citation.as_ref(), &path),
            canonical: Some(path),
            json_ld,
            section: Section::Datasets,
            ..PageHead::default()
        };
        page(site, &head, &self.main(site))
    }

    fn main(&self, site: &Site) -> Markup {
        let dataset = &self.listed.dataset;
        let (subsets, count) = (&self.subsets, self.subset_count);
        let identifier = |subset: &Subset| {
            let place = site.place_of(subset.identifier, &subset.dataset, subset.timestamp);
            html! { td.di { a href=(site.href(&place)) { "DI:" (subset.identifier) } } }
        };
        let latest = self.listed.latest.as_ref().map(|latest| Set::Instance(latest.clone()));
        let list = latest.as_ref().map(|set| match site.is_complete() {
            true => site.href(&Site::of_set(set.identifier(), "granules")),
            false => site.href(&Site::list_file(set.digest())),
        });
        let checked = latest.as_ref().zip(list.as_deref()).map(|(set, list)| CheckedSet {
            set,
            ends: &self.ends,
            list,
            fixity: self.fixity.as_ref(),
            is_shared: false,
        });
        html! {
            (trail(site, &[], dataset.name.as_str()))
            (record::withdrawal(site, self.listed.withdrawn.as_ref()))
            (record::corrections(site, &self.listed.corrections))
            div.head {
                h1 { (record::title(dataset)) }
                (record::byline(dataset))
            }
            @match &checked {
                Some(checked) => { (self.latest(site, checked)) (self.plot(site)) },
                None => { p.empty { "Nothing was ever added: there is no set to cite yet." } },
            }
            div.cols.side {
                div {
                    (record::description(dataset))
                    @if let Some(citation) = &self.citation {
                        (citing::section(site, citation, &Site::dataset(&dataset.name)))
                        @if site.is_complete() { (self.as_of(site)) }
                    }
                }
                aside aria-label="Record" {
                    (self.facts(site))
                }
            }
            @if checked.is_some() {
                section #changes {
                    h2 { "Last changes" }
                    (history::table(site, &self.recent, None))
                    (self.whole_history(site))
                }
            }
            @if !subsets.is_empty() {
                section #subsets {
                    h2 { "Subsets that were cited" }
                    (history::subsets(site, "Identifier", subsets.iter().map(|subset| (identifier(subset), subset))))
                    @if count > subsets.len() as u64 {
                        p.small.soft { "The last " (subsets.len()) " of " (grouped(count)) "." }
                    }
                }
            }
            @if let Some(checked) = &checked { (checked.section(site)) }
        }
    }

    /// The latest set, with its identifier.
    fn latest(&self, site: &Site, checked: &CheckedSet<'_>) -> Markup {
        let latest = checked.set.instance();
        let since = |at: Timestamp| html! { @if site.is_complete() { ", " (ago(at, self.now)) } };
        let period = self.citation.as_ref().map(Citation::period);
        let period = period.filter(|it| it.set.identifier() == latest.identifier);
        let from = period.map_or(latest.timestamp, |period| period.from());
        html! {
            div.card {
                div.top {
                    @let label = match self.listed.withdrawn {
                        Some(_) => "The last set",
                        None => "The set that is held now",
                    };
                    @let place = site.place_of(latest.identifier, &latest.dataset, latest.timestamp);
                    // The citation is that of today: the latest change may be in the future.
                    @let cited = self.citation.as_ref().and_then(Citation::permanent_address);
                    @let address = cited.filter(|it| it.ends_with(&format!("/DI:{}", latest.identifier)));
                    (citing::set_address(label, address, latest.identifier, Some(site.href(&place))))
                    p.count {
                        b { (grouped(latest.granules)) }
                        @if latest.granules == 1 { " granule" } @else { " granules" }
                    }
                    p {
                        @match &self.listed.withdrawn {
                            None => { "Held since " (time(from)) (since(from)) "." },
                            Some(withdrawal) => {
                                "Held from " (time(from)) " until it was withdrawn on "
                                (time(withdrawal.timestamp)) "."
                            },
                        }
                        @if let Some(confirmed) = self.listed.confirmation_of_latest() {
                            " Last confirmed " (time(confirmed.recorded)) (since(confirmed.recorded)) "."
                        }
                        " " (annotations(&latest.annotations))
                    }
                    @if let Some(copy) = self.copy.as_ref().filter(|_| site.is_complete()) { (mirror(copy)) }
                    (checked.actions())
                }
                (means(site))
            }
        }
    }

    /// The plot. It ends today or, in published files, which nobody updates, at the latest change or
    /// confirmation.
    fn plot(&self, site: &Site) -> Markup {
        let confirmed = self.listed.confirmed.as_ref().map(|confirmed| confirmed.recorded);
        let ends = self.series.last().max(confirmed).unwrap_or(self.now);
        let until = if site.is_complete() { self.now.day().end() } else { ends };
        html! {
            figure {
                h2.vh { "Granules held over time" }
                (PreEscaped(plot(&self.series.spans, until).unwrap_or_default()))
                @if !site.is_complete() {
                    figcaption {
                        "Until the last change or confirmation, on " (day_text(until.day())) "."
                    }
                }
            }
            @if !self.annotated.is_empty() {
                ul.noted {
                    @for (at, annotation) in &self.annotated {
                        @let path = Site::instance(&self.listed.dataset.name, *at);
                        li {
                            @if site.is_complete() { a href=(site.href(&path)) { (date(*at)) } }
                            @else { (date(*at)) }
                            " " (annotations(std::slice::from_ref(annotation)))
                        }
                    }
                }
            }
        }
    }

    /// The metadata and other facts about the dataset.
    fn facts(&self, site: &Site) -> Markup {
        let DatasetRecord { dataset, former_names, .. } = &self.listed;
        let link = |path: &str, label: &str| Some(html! { a href=(site.href(path)) { (label) } });
        let (first, added) = (self.series.first(), self.series.ever_added());
        let head = format!("/datasets/{}/head.json", dataset.name);
        let json = Site::in_format(&Site::dataset(&dataset.name), "json");
        facts(record::facts(dataset, former_names).into_iter().chain([
            ("First held", first.map(date)),
            ("Ever added", first.map(|_| html! { (counted(added, "granule")) })),
            ("Follow it", link(&Site::feed(&dataset.name), "Atom feed")),
            ("Mirror it", link(&head, "Published log").filter(|_| first.is_some())),
            ("Programs", link(&json, "JSON").filter(|_| site.is_complete())),
        ]))
    }

    /// The form that leads to the set of a given day.
    fn as_of(&self, site: &Site) -> Markup {
        let first = self.series.first().map(|first| first.day().to_string());
        html! {
            form action=(site.href(&Site::dataset(&self.listed.dataset.name))) {
                label for="at" { "Used it on another day? Cite the set of that day" }
                div.field {
                    input #at type="date" name="at" required min=[first] max=(self.now.day());
                    " " button { "Show that set" }
                }
            }
        }
    }

    fn whole_history(&self, site: &Site) -> Markup {
        let (name, changes) = (&self.listed.dataset.name, self.series.changes());
        let is_complete = site.is_complete();
        let path = site.href(&if is_complete { Site::history(name) } else { Site::months(name) });
        html! {
            p.chips {
                a href=(path) {
                    @if changes == 1 { "The only change" } @else { "All " (grouped(changes)) " changes" }
                    @if is_complete && changes > 1 { ", and compare any two" }
                }
                @if is_complete { " " a href={ (path) "?format=jsonl" } { "JSON Lines" } }
            }
        }
    }
}

/// Describes whether a mirror matches its primary. The path of a primary in a file is not shown.
fn mirror(copy: &Mirrored) -> Markup {
    let address = Some(&copy.source).filter(|source| source.starts_with("http"));
    html! {
        p.soft {
            "A mirror of "
            @match address {
                Some(address) => a href=(address) { (address) },
                None => "another archive’s dataset",
            }
            ", which was last read on " (time(copy.read)) ": " (copy.facts.to_string()) "."
            @if let Some(failed) = copy.failed { " It could not be followed on " (time(failed)) "." }
        }
    }
}
