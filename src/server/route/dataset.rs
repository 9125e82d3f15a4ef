//! `/datasets/NAME/` and `/datasets/NAME@TIME`: a dataset, now and as it was held at a time, and what the
//! page of a set has in common with theirs. `/doi/10.…` leads to a dataset.

use std::sync::Arc;

use hyper::StatusCode;

use crate::citation::Citation;
use crate::error::{ErrorKind, Result};
use crate::model::{Dataset, DatasetName, Doi};
use crate::pages::{DatasetPage, Feed, Link, SetPage, Site};
use crate::registry::Snapshot;
use crate::server::answer::{ATOM, Answer, AnswerContent, Keep, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, citations, dataset_name, moment};
use crate::server::rows::json;
use crate::server::state::ServerState;

/// Shows a dataset.
pub async fn dataset(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    if let Some(at) = asked.parameter("at").filter(|at| !at.is_empty()) {
        let path = format!("/datasets/{name}@{}", moment(&at)?);
        return Err(Stop::see_other(state.site.href(&path)));
    }
    let format = asked.format(&formats(&[]))?;
    let (now, detail) = (state.now(), format.detail());
    let read = read_present(state, asked, &name, move |snapshot, name| {
        DatasetPage::read(snapshot, name, now, detail)
    });
    let page = read.await?.resolved(&state.site);
    let (links, html) = (page.links(&state.site), || page.html(&state.site));
    let record = &page.listed.dataset;
    respond(format, record, page.citation.as_ref(), links, html, || json(&page.listed))
}

/// The latest changes of a dataset as a feed.
pub async fn feed(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let name = dataset_name(&asked.segment(1)?)?;
    let feed = read_present(state, asked, &name, Feed::of_dataset).await?;
    let content = AnswerContent::Bytes(feed.atom(&state.site).into());
    Ok(Answer::of_type(ATOM, content, Keep::WhileCurrent))
}

/// Shows an instance, or leads from `/datasets/NAME` to the page of the dataset.
pub async fn instance(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
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
    let detail = format.detail();
    let read = read_present(state, asked, &name, move |snapshot, name| {
        SetPage::at(snapshot, name, at, now, detail)
    });
    let page = read.await.map_err(|stop| first_instance(&state.site, stop, &name))?;
    respond_set(state, format, page)
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
pub async fn doi(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let text = asked.after("/doi/")?;
    if text.is_empty() {
        return Err(Problem::not_found().into());
    }
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

/// The formats of such a page, the page itself first.
pub fn formats(others: &[Format]) -> Vec<Format> {
    let mut formats = vec![Format::Html, Format::Json];
    formats.extend(others);
    formats.extend(citations());
    formats
}

/// A page in one of its formats, with its links in the header. A citation has the same bytes as the command
/// line prints, but CSL-JSON is one object, as resolvers of DOIs send it.
///
/// # Errors
///
/// A citation is asked for, and there is nothing to cite.
pub fn respond(
    format: Format,
    record: &Dataset,
    citation: Option<&Citation>,
    links: Vec<Link>,
    html: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<Answer, Stop> {
    let content = match format {
        Format::Html => html(),
        Format::Citation(named) => {
            let nothing = || format!("{} has no history yet, and so nothing to cite.", record.name);
            let citation = citation.ok_or_else(|| Problem::unknown("no-history", nothing()))?;
            citation.write_resolved(named)
        }
        _ => json(),
    };
    Ok(Answer::whole(format, content, Keep::WhileCurrent).with_links(links))
}

/// The page of a set in one of its formats.
pub fn respond_set(state: &ServerState, format: Format, page: SetPage) -> Result<Answer, Stop> {
    let page = page.resolved(&state.site);
    let (links, html) = (page.links(&state.site), || page.html(&state.site));
    let record = &page.cited.dataset.dataset;
    let json = || json(&page.json());
    let answer = respond(format, record, Some(&page.citation), links, html, json)?;
    Ok(if page.is_unlisted() { answer.unlisted() } else { answer })
}

/// Reads something of a dataset, but only by its present name. Under a former one, or in other letter case,
/// the response leads to the same page under the present name.
pub async fn read_present<T: Send + 'static>(
    state: &Arc<ServerState>,
    asked: &Asked,
    name: &DatasetName,
    work: impl Fn(&Snapshot, &DatasetName) -> Result<T> + Send + 'static,
) -> Result<T, Stop> {
    let wanted = name.clone();
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let present = match snapshot.present_name(&wanted) {
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => {
                snapshot.named_in_any_case(&wanted)?.ok_or(error)?
            }
            present => present?,
        };
        match present == wanted {
            true => work(&snapshot, &wanted).map(Ok),
            false => Ok(Err(present)),
        }
    });
    let present = match read.await? {
        Ok(read) => return Ok(read),
        Err(present) => present,
    };
    let rest = asked.path().strip_prefix("/datasets/");
    let rest = rest.and_then(|rest| rest.strip_prefix(name.as_str())).unwrap_or("/");
    let target = asked.with_query(&format!("/datasets/{present}{rest}"));
    Err(Stop::Elsewhere(StatusCode::MOVED_PERMANENTLY, state.site.href(&target)))
}
