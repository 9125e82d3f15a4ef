//! `/datasets/NAME/` and `/datasets/NAME@TIME`: a dataset, now and as it was held at a time.
//! `/doi/10.…` leads to it.

use std::sync::Arc;

use axum::extract::State as Extracted;
use serde::Serialize;

use super::landing::{About, FIRST_IDS, LAST_IDS, first_and_last, formats, read_present, respond};
use crate::citation::Citation;
use crate::error::Result;
use crate::model::{DatasetName, Doi, Instance, Set};
use crate::pages::{DatasetPage, Describes, Ends, Feed, InstancePage, Link, Series, Site};
use crate::registry::Selection;
use crate::server::answer::{ATOM, Answer, Content, Keep, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, dataset_name, moment};
use crate::server::rows::json;
use crate::server::state::State;

/// Shows a dataset.
pub async fn dataset(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    if let Some(at) = asked.parameter("at").filter(|at| !at.is_empty()) {
        let path = format!("/datasets/{name}@{}", moment(&at)?);
        return Err(Stop::see_other(state.site.href(&path)));
    }
    let format = asked.format(&formats(&[]))?;
    let now = state.now();
    let read = read_present(&state, &asked, &name, move |snapshot, name| {
        // Only the page for people has the plot.
        let series = match format {
            Format::Html => Series::read(snapshot, name)?,
            _ => Series::default(),
        };
        let mut page = DatasetPage::read(snapshot, name, series, now)?;
        if let (Format::Html, Some(latest)) = (format, &page.listed.latest) {
            page.ends = first_and_last(snapshot, &Set::Instance(latest.clone()), 1, 1)?;
        }
        Ok(page)
    });
    let page = read.await?;
    let about = About {
        record: &page.listed.dataset,
        path: &Site::dataset(&name),
        describes: Describes::Dataset(page.listed.latest.as_ref().map(|it| it.identifier)),
        citation: page.citation.as_ref(),
    };
    respond(
        &state.site,
        &about,
        Vec::new(),
        format,
        |links| page.html(&state.site, links),
        || json(&page.listed),
    )
}

/// The latest changes of a dataset as a feed.
pub async fn feed(Extracted(state): Extracted<Arc<State>>, asked: Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    let feed = read_present(&state, &asked, &name, Feed::of_dataset).await?;
    let content = Content::Bytes(feed.atom(&state.site).into());
    Ok(Answer::of_type(ATOM, content, Keep::WhileCurrent))
}

/// An instance, with the others of the same day: `lookup` of the command line.
#[derive(Serialize)]
struct Found<'a> {
    #[serde(flatten)]
    instance: &'a Instance,
    #[serde(skip_serializing_if = "<[Instance]>::is_empty")]
    others: &'a [Instance],
}

/// Shows an instance, or leads from `/datasets/NAME` to the page of the dataset.
pub async fn instance(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Answer, Stop> {
    let segment = asked.segment(1)?;
    let Some((name, time)) = segment.split_once('@') else {
        let name = dataset_name(&segment)?;
        let target = state.site.href(&asked.with_query(&Site::dataset(&name)));
        return Err(Stop::permanent(target));
    };
    let (name, at) = (dataset_name(name)?, moment(time)?);
    let format = asked.format(&formats(&[]))?;
    let now = state.now();
    if at.first_instant() > now {
        let detail = format!("{at} is in the future: what will be held then is not known.");
        return Err(Problem::unknown("usage", detail).into());
    }
    let read = read_present(&state, &asked, &name, move |snapshot, name| {
        let listed = snapshot.dataset(name)?;
        let selection = Selection::Dataset { name: name.clone(), at: Some(at) };
        let cited = snapshot.cite(&selection)?;
        let ends = match format {
            Format::Html => first_and_last(snapshot, &cited.set, FIRST_IDS, LAST_IDS)?,
            _ => Ends::default(),
        };
        let citation = Citation::new(cited.clone(), Some(at), now.day());
        Ok(InstancePage { listed, cited, citation, at, ends })
    });
    let page = read.await.map_err(|stop| first_instance(&state.site, stop, &name))?;
    let instance = page.cited.set.instance();
    let canonical = Site::instance(&name, instance.timestamp);
    let own_canonical = match format!("/datasets/{name}@{at}") == canonical {
        true => None,
        false => state.site.canonical(&canonical).map(|it| Link::new("canonical", it)),
    };
    let about = About {
        record: &page.listed.dataset,
        path: &canonical,
        describes: Describes::Set(instance.identifier),
        citation: Some(&page.citation),
    };
    let answer = respond(
        &state.site,
        &about,
        own_canonical.into_iter().collect(),
        format,
        |links| page.html(&state.site, links),
        || json(&Found { instance, others: &page.cited.others }),
    )?;
    Ok(answer.unlisted())
}

/// A time before the history gets a link to the dataset, whose page says when its history begins.
fn first_instance(site: &Site, stop: Stop, name: &DatasetName) -> Stop {
    match stop {
        Stop::Problem(problem) if problem.kind == "before-history" => {
            let links = vec![Link::new("up", site.address_or_href(&Site::dataset(name)))];
            Stop::Problem(Problem { links, ..problem })
        }
        stop => stop,
    }
}

/// Leads to the dataset with a DOI: of several, to the first by name.
pub async fn doi(Extracted(state): Extracted<Arc<State>>, asked: Asked) -> Result<Answer, Stop> {
    let text = asked.after("/doi/")?;
    let doi: Doi = text.parse().map_err(|error| Problem::usage(format!("{error}.")))?;
    let wanted = doi.clone();
    let names = state
        .source
        .read(move |reading| reading.registry.snapshot()?.datasets_with_doi(&wanted))
        .await?;
    let Some(name) = names.first() else {
        let detail = format!("No dataset here has the DOI {doi}.");
        return Err(Problem::unknown("doi-unknown", detail).into());
    };
    let target = state.site.href(&asked.with_query(&Site::dataset(name)));
    Err(Stop::see_other(target))
}
