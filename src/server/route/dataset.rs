//! `/datasets/NAME/`: a dataset.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};

use super::negotiated;
use crate::model::DatasetName;
use crate::pages::{DatasetPage, Describes, Extent, Series, Site, links, within_header};
use crate::registry::{Error, Result, Selection, Snapshot};
use crate::server::answer::{Keep, redirect, whole, with_links};
use crate::server::asked::{Asked, dataset_name, moment};
use crate::server::format::Format;
use crate::server::memento;
use crate::server::problem::Problem;
use crate::server::rows;
use crate::server::source::Reading;
use crate::server::state::State;

/// Shows a dataset.
pub async fn dataset(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let name = dataset_name(&asked.segment(1)?)?;
    if let Some(at) = asked.parameter("at").filter(|at| !at.is_empty()) {
        let path = format!("/datasets/{name}@{}", moment(&at)?);
        return Ok(redirect(StatusCode::SEE_OTHER, &state.site.href(&path)));
    }
    if let Some(datetime) = asked.header(memento::ACCEPT_DATETIME) {
        return lead_to_memento(&state, &asked, &name, datetime).await;
    }
    let format = asked.format(&negotiated::formats(&[]))?;
    let (shared, now) = (Arc::clone(&state), state.now());
    let read = read_present(&state, &asked, &name, move |reading, snapshot, name| {
        // Only the page for people has the plot.
        let series = match format {
            Format::Html => shared.series(reading, snapshot, name)?,
            _ => Arc::new(Series::new()),
        };
        DatasetPage::read(snapshot, name, series, now)
    });
    let page = match read.await? {
        Present::Here(page) => page,
        Present::Moved(response) => return Ok(response),
    };
    let path = Site::dataset(&name);
    let record = &page.listed.dataset;
    let describes = Describes::Dataset(page.listed.latest.as_ref().map(|it| it.identifier));
    let mut own_links = links(&state.site, record, &path, describes, Extent::Header);
    own_links.extend(memento::links(&state.site, &name));
    let own_links = within_header(own_links);
    let response = match format {
        Format::Html => whole(format, page.html(&state.site, &own_links), Keep::WhileCurrent),
        Format::Linkset => negotiated::linkset(&state.site, record, &path, describes),
        Format::Citation(_) => {
            let citation = page.citation.as_ref();
            let citation = citation.and_then(|citation| negotiated::citation(citation, format));
            let nothing = format!("{name} has no history yet, and so nothing to cite.");
            citation.ok_or_else(|| Problem::unknown("no-history", nothing))?
        }
        _ => whole(format, rows::json(&page.listed), Keep::WhileCurrent),
    };
    let mut response = with_links(response, &own_links);
    memento::vary(&mut response);
    Ok(response)
}

/// Leads to what was held at the time that `Accept-Datetime` names.
async fn lead_to_memento(
    state: &Arc<State>,
    asked: &Asked,
    name: &DatasetName,
    datetime: &str,
) -> Result<Response<Body>, Problem> {
    let at = memento::asked_for(datetime)?;
    let wanted = name.clone();
    let read = state.source.read(asked.client(), move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let selection = Selection::Dataset { name: wanted.clone(), at: Some(at) };
        let selected = match snapshot.select(&selection) {
            Ok(set) => Some(set.instance().clone()),
            Err(Error::BeforeHistory { .. }) => None,
            Err(error) => return Err(error),
        };
        let first = snapshot.first_instance(&wanted)?.map(|first| first.timestamp);
        let last = snapshot.dataset(&wanted)?.latest.map(|last| last.timestamp);
        Ok((selected, first.zip(last)))
    });
    let mut own_links = memento::links(&state.site, name);
    let (selected, ends) =
        read.await.map_err(|problem| Problem { links: own_links.clone(), ..problem })?;
    if let Some((first, last)) = ends {
        own_links.extend(memento::ends(&state.site, name, first, last));
    }
    match selected {
        Some(instance) => Ok(with_links(memento::lead(&state.site, &instance), &own_links)),
        None => {
            let detail = format!("{at} is before the first change of {name}.");
            let problem = Problem::unknown("before-history", detail);
            Err(Problem { links: own_links, ..problem })
        }
    }
}

/// What was read of a dataset, or where it is.
pub enum Present<T> {
    /// What was read.
    Here(T),
    /// The name is a former one: the same page under the present one.
    Moved(Response<Body>),
}

/// Reads something of a dataset, but only by its present name.
pub async fn read_present<T: Send + 'static>(
    state: &Arc<State>,
    asked: &Asked,
    name: &DatasetName,
    work: impl Fn(&Reading, &Snapshot, &DatasetName) -> Result<T> + Send + 'static,
) -> Result<Present<T>, Problem> {
    let wanted = name.clone();
    let read = state.source.read(asked.client(), move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let present = snapshot.present_name(&wanted)?;
        match present == wanted {
            true => work(reading, &snapshot, &wanted).map(Ok),
            false => Ok(Err(present)),
        }
    });
    let present = match read.await? {
        Ok(read) => return Ok(Present::Here(read)),
        Err(present) => present,
    };
    let rest = asked.path().strip_prefix("/datasets/");
    let rest = rest.and_then(|rest| rest.strip_prefix(name.as_str())).unwrap_or("/");
    let query = match asked.query() {
        "" => String::new(),
        query => format!("?{query}"),
    };
    let path = state.site.href(&format!("/datasets/{present}{rest}{query}"));
    Ok(Present::Moved(redirect(StatusCode::MOVED_PERMANENTLY, &path)))
}
