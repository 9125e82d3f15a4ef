//! `/datasets/NAME@TIME`: a dataset as it was held at a time.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use serde::Serialize;

use super::dataset::{Present, read_present};
use super::negotiated;
use super::set::{FIRST_IDS, LAST_IDS, first_and_last};
use crate::citation::Citation;
use crate::model::Instance;
use crate::pages::{Describes, Extent, InstancePage, Link, Site, links, within_header};
use crate::registry::Selection;
use crate::server::answer::{Keep, redirect, whole, with_links};
use crate::server::asked::{Asked, dataset_name, moment};
use crate::server::format::Format;
use crate::server::memento;
use crate::server::problem::Problem;
use crate::server::rows;
use crate::server::state::State;

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
) -> Result<Response<Body>, Problem> {
    let segment = asked.segment(1)?;
    let Some((name, time)) = segment.split_once('@') else {
        let name = dataset_name(&segment)?;
        let path = state.site.href(&Site::dataset(&name));
        let query = asked.query();
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        return Ok(redirect(StatusCode::PERMANENT_REDIRECT, &format!("{path}{query}")));
    };
    let (name, at) = (dataset_name(name)?, moment(time)?);
    let format = asked.format(&negotiated::formats(&[]))?;
    let now = state.now();
    if at.first_instant() > now {
        let detail = format!("{at} is in the future: what will be held then is not known.");
        return Err(Problem::unknown("usage", detail));
    }
    let read = read_present(&state, &asked, &name, move |_, snapshot, name| {
        let listed = snapshot.dataset(name)?;
        let selection = Selection::Dataset { name: name.clone(), at: Some(at) };
        let cited = snapshot.cite(&selection, &[])?;
        let (first, last) = match format {
            Format::Html => first_and_last(snapshot, &cited.set, FIRST_IDS, LAST_IDS)?,
            _ => (Vec::new(), Vec::new()),
        };
        let citation = Citation::new(cited.clone(), Some(at), now.day());
        Ok(InstancePage { listed, cited, citation, at, first, last })
    });
    let read = read.await.map_err(|problem| first_instance(&state.site, problem, &name))?;
    let page = match read {
        Present::Here(page) => page,
        Present::Moved(response) => return Ok(response),
    };
    let record = &page.listed.dataset;
    let instance = page.cited.set.instance();
    let own = format!("/datasets/{name}@{at}");
    let canonical = Site::instance(&name, instance.timestamp);
    let describes = Describes::Set(instance.identifier);
    let mut own_links = links(&state.site, record, &canonical, describes, Extent::Header);
    own_links.extend(memento::links(&state.site, &name));
    own_links.extend(memento::neighbours(&state.site, &page.cited));
    if own != canonical {
        own_links.push(Link::new("canonical", state.site.address_or_href(&canonical)));
    }
    let own_links = within_header(own_links);
    let response = match format {
        Format::Html => whole(format, page.html(&state.site, &own_links), Keep::WhileCurrent),
        Format::Linkset => negotiated::linkset(&state.site, record, &canonical, describes),
        Format::Citation(_) => negotiated::citation(&page.citation, format)
            .ok_or_else(|| Problem::internal("no citation".to_owned()))?,
        _ => {
            let found = Found { instance, others: &page.cited.others };
            whole(format, rows::json(&found), Keep::WhileCurrent)
        }
    };
    let mut response = with_links(response, &own_links);
    memento::mark(&mut response, instance);
    Ok(response)
}

/// A time before the history gets a link to the dataset, whose page says when its history begins.
fn first_instance(site: &Site, problem: Problem, name: &crate::model::DatasetName) -> Problem {
    if problem.kind != "before-history" {
        return problem;
    }
    let links = vec![Link::new("up", site.address_or_href(&Site::dataset(name)))];
    Problem { links, ..problem }
}
