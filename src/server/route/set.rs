//! `/DI:…`: a set of granules, wherever it was held.

use std::sync::Arc;

use axum::extract::State as Extracted;
use serde_json::json;

use super::landing::{About, FIRST_IDS, LAST_IDS, first_and_last, formats, respond};
use crate::citation::Citation;
use crate::error::Result;
use crate::model::{
    DatasetName, DigestPrefix, Identifier, Instance, Moment, Pattern, Set, Timestamp,
};
use crate::pages::{Describes, Fixity, Link, PartPage, Place, SetPage, Since, Site, Spark, links};
use crate::registry::{Resolved, Selection, Snapshot};
use crate::server::answer::{Answer, Keep, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::rows::{instance_bytes, list, read_page};
use crate::server::state::State;

/// How many of the subsets that were cited with an identifier its page shows.
const SHOWN_SUBSETS: usize = 50;

/// How many intervals the page shows.
const SHOWN_INTERVALS: u32 = 20;

/// The greatest number of granules of two sets that are compared for the page.
const COMPARED_GRANULES: u64 = 20_000;

/// How many differences the page shows.
const SHOWN_DIFFERENCES: usize = 8;

/// The identifier that a segment of a path has.
///
/// # Errors
///
/// The segment has no identifier, or the text after `DI:` is not one.
pub fn identifier_in(segment: &str) -> Result<Identifier, Problem> {
    let Some((prefix, _)) = segment.split_once(':') else {
        // The digits alone, as some journals print them, lead to the set.
        let is_hex = segment.len() == 32 && segment.bytes().all(|byte| byte.is_ascii_hexdigit());
        return segment.parse().ok().filter(|_| is_hex).ok_or_else(Problem::not_found);
    };
    if !prefix.eq_ignore_ascii_case("DI") {
        return Err(Problem::not_found());
    }
    segment.parse().map_err(|_| {
        Problem::unknown(
            "identifier-unknown",
            "This is not an identifier, which has 32 hexadecimal digits after DI:.",
        )
    })
}

/// Leads to the path of a set as it is written here, unless the request has that path.
pub fn at_path(state: &State, asked: &Asked, path: &str) -> Result<(), Stop> {
    match asked.path() == path {
        true => Ok(()),
        false => Err(Stop::permanent(state.site.href(&asked.with_query(path)))),
    }
}

/// Shows a set.
pub async fn set(Extracted(state): Extracted<Arc<State>>, asked: Asked) -> Result<Answer, Stop> {
    let segment = asked.segment(0)?;
    if DigestPrefix::is_meant(&segment) {
        return of_digest(&state, &asked, &segment).await;
    }
    let identifier = identifier_in(&segment)?;
    at_path(&state, &asked, &Site::set(identifier))?;
    let format = asked.format(&formats(&[Format::JsonLines]))?;
    match format {
        Format::Json | Format::JsonLines => intervals(&state, &asked, identifier, format).await,
        Format::Html if asked.parameter("select").is_some_and(|text| !text.is_empty()) => {
            part(&state, &asked, identifier).await
        }
        format => page(&state, identifier, format).await,
    }
}

/// Leads to the latest instance with a digest, or to the subset that has it.
async fn of_digest(state: &Arc<State>, asked: &Asked, text: &str) -> Result<Answer, Stop> {
    let digest: DigestPrefix = text.parse().map_err(|_| {
        let detail = "This is not a digest, which has 64 hexadecimal digits after sha256:.";
        Problem::unknown("identifier-unknown", detail)
    })?;
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = snapshot.select(&Selection::Digest(digest.clone()))?.set;
        Ok(match set.subset() {
            Some(_) => Site::set(set.identifier()),
            None => Site::instance(set.dataset(), set.instance().timestamp),
        })
    });
    let target = asked.with_query(&read.await?);
    Err(Stop::see_other(state.site.href(&target)))
}

/// The page of what a pattern selects from a set or, if that was cited, the way to its own page.
async fn part(state: &Arc<State>, asked: &Asked, whole: Identifier) -> Result<Answer, Stop> {
    let pattern: Option<Pattern> = asked.parsed("select")?;
    let pattern = pattern.ok_or_else(Problem::not_found)?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = snapshot.select(&Selection::Identifier { identifier: whole, dataset: None })?.set;
        let part = snapshot.part(&set, &pattern, FIRST_IDS)?;
        if !snapshot.subsets_with(part.identifier, 1)?.is_empty() {
            return Ok(Err(part.identifier));
        }
        let instance = set.instance();
        Ok(Ok(PartPage {
            whole,
            record: snapshot.dataset(set.dataset())?.dataset,
            set: format!("{}@{}", instance.dataset, instance.timestamp),
            pattern: pattern.clone(),
            part,
        }))
    });
    let page = read.await?;
    let page = page.map_err(|cited| Stop::see_other(state.site.href(&Site::set(cited))))?;
    Ok(Answer::whole(Format::Html, page.html(&state.site), Keep::WhileCurrent).unlisted())
}

/// The intervals as rows.
async fn intervals(
    state: &Arc<State>,
    asked: &Asked,
    identifier: Identifier,
    format: Format,
) -> Result<Answer, Stop> {
    let limit = asked.limit(1_000, 10_000)?;
    let after = asked.position()?;
    let is_first = after.is_none();
    let ((intervals, has_more), subsets, record) = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let after = after.as_ref().map(|(name, timestamp)| (name, *timestamp));
            let (intervals, has_more) = read_page(limit, instance_bytes, |last, count| {
                let last = last.map(|last| (&last.dataset, last.timestamp));
                snapshot.intervals_after(identifier, last.or(after), count)
            })?;
            let subsets = match has_more {
                true => Vec::new(),
                false => snapshot.subsets_with(identifier, limit as usize - intervals.len())?,
            };
            if intervals.is_empty() && subsets.is_empty() && is_first {
                let unknown = crate::Error::identifier_unknown(identifier, None);
                return Err(unknown);
            }
            let dataset = intervals.first().map(|first| &first.dataset);
            let dataset = dataset.or_else(|| subsets.first().map(Set::dataset));
            let record = dataset.map(|name| snapshot.dataset(name)).transpose()?;
            Ok(((intervals, has_more), subsets, record))
        })
        .await?;
    let next = intervals.last().filter(|_| has_more).map(|last| {
        let after = format!("{}@{}", last.dataset, last.timestamp);
        asked.next_page(&state.site, &after, limit.into(), format)
    });
    let sets = intervals.into_iter().map(Set::Instance).chain(subsets);
    let resolved: Vec<Resolved> = sets.map(|set| Resolved { set }).collect();
    let answer = list(format, &resolved, next.as_deref(), || {
        let granules = resolved.first().map(|first| first.set.granules());
        json!({
            "identifier": identifier,
            "granules": granules,
            "intervals": resolved,
            "next": next,
        })
    });
    let own_links = record.map_or_else(Vec::new, |record| {
        let (path, of) = (Site::set(identifier), Describes::Set(identifier));
        links(&state.site, &record.dataset, &path, of)
    });
    Ok(answer.with_links(own_links))
}

/// The page, and the formats of its citation.
async fn page(state: &Arc<State>, identifier: Identifier, format: Format) -> Result<Answer, Stop> {
    let now = state.now();
    let page = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let mut intervals = snapshot.intervals_after(identifier, None, SHOWN_INTERVALS + 1)?;
            let has_more_places = intervals.len() > SHOWN_INTERVALS as usize;
            intervals.truncate(SHOWN_INTERVALS as usize);
            // The dataset that still holds the set, else the one that held it last.
            let holding = intervals.iter().find(|instance| instance.until.is_none());
            let dataset = holding.map(|instance| instance.dataset.clone());
            let cited = snapshot.cite(&Selection::Identifier { identifier, dataset })?;
            let ends = first_and_last(&snapshot, &cited.set, FIRST_IDS, LAST_IDS)?;
            let listed = snapshot.dataset(cited.set.dataset())?;
            let is_in_force = holding.is_some() || cited.set.instance().until.is_none();
            let since = match (is_in_force, cited.set.subset(), listed.latest) {
                (false, None, Some(latest)) => Some(since(&snapshot, &cited.set, latest)?),
                _ => None,
            };
            let fixity = fixity(&snapshot, cited.set.dataset(), &intervals)?;
            let places = intervals.into_iter().map(|instance| place(&snapshot, instance, now));
            Ok(SetPage {
                identifier,
                granules: cited.set.granules(),
                record: listed.dataset,
                withdrawn: listed.withdrawn,
                places: places.collect::<Result<_>>()?,
                has_more_places,
                subsets: snapshot.subsets_with(identifier, SHOWN_SUBSETS)?,
                ends,
                since,
                citation: Citation::new(cited, None, now.day()),
                fixity,
            })
        })
        .await?;
    let about = About {
        record: &page.record,
        path: &Site::set(identifier),
        describes: Describes::Set(identifier),
        citation: Some(&page.citation),
    };
    let html = |links: &[Link]| page.html(&state.site, links);
    // The formats for programs are those of the intervals.
    let answer = respond(&state.site, &about, Vec::new(), format, html, String::new)?;
    // A set that nobody cited is one of thousands of a dataset.
    Ok(if page.subsets.is_empty() { answer.unlisted() } else { answer })
}

/// What is known of the files of a set: by the dataset whose citation is shown, else by another one that
/// held it.
fn fixity(
    snapshot: &Snapshot,
    cited: &DatasetName,
    intervals: &[Instance],
) -> Result<Option<Fixity>> {
    let mut datasets = vec![cited];
    datasets.extend(intervals.iter().map(|instance| &instance.dataset));
    datasets.dedup();
    let found = datasets.into_iter().find_map(|name| Fixity::read(snapshot, name).transpose());
    found.transpose()
}

/// A period in which a set was in force, with what its dataset held from its first change until today.
fn place(snapshot: &Snapshot, instance: Instance, now: Timestamp) -> Result<Place> {
    let first = snapshot.first_instance(&instance.dataset)?.map(|first| first.timestamp);
    let (from, until) = (first.unwrap_or(instance.timestamp), now.day().end());
    let spark = Spark::read(snapshot, &instance.dataset, from, until)?;
    let replacing = |at| -> Result<Identifier> {
        let at = Some(Moment::Instant(at));
        let selection = Selection::Dataset { name: instance.dataset.clone(), at };
        Ok(snapshot.select(&selection)?.set.identifier())
    };
    let next = instance.until.map(replacing).transpose()?;
    Ok(Place { spark, next, instance })
}

/// What changed since a set was in force.
fn since(snapshot: &Snapshot, set: &Set, latest: Instance) -> Result<Since> {
    if set.granules() + latest.granules > COMPARED_GRANULES {
        return Ok(Since { latest, counts: None, differences: Vec::new() });
    }
    let selection = |instance: &Instance| Selection::Identifier {
        identifier: instance.identifier,
        dataset: Some(instance.dataset.clone()),
    };
    let mut compared = snapshot.compare(&selection(set.instance()), &selection(&latest))?;
    let differences = compared.by_ref().take(SHOWN_DIFFERENCES).collect::<Result<_>>()?;
    let counts = compared.finish()?;
    Ok(Since { latest, counts: Some(counts), differences })
}
