//! What the pages of a dataset, an instance and a set have in common.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use crate::citation::{Citation, CitationFormat};
use crate::error::{ErrorKind, Result};
use crate::model::{Dataset, DatasetName, GranuleId, Set};
use crate::pages::{Describes, Link, Site, links, within_header};
use crate::registry::Snapshot;
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, citations};
use crate::server::response::{Keep, redirect, whole, with_links};
use crate::server::source::Reading;
use crate::server::state::State;

/// How many of the first and of the last ids a page shows.
pub const FIRST_IDS: usize = 6;
pub const LAST_IDS: usize = 2;

/// The formats of such a page, the page itself first.
pub fn formats(others: &[Format]) -> Vec<Format> {
    let mut formats = vec![Format::Html, Format::Json];
    formats.extend(others);
    // The classic BibTeX entry, the text of the tuple and CITATION.cff are offered by name only.
    formats.extend(citations());
    formats.extend([Format::SchemaOrg, Format::Linkset]);
    formats
}

/// What a page is about.
pub struct About<'a> {
    pub record: &'a Dataset,
    /// The path of the page.
    pub path: &'a str,
    pub describes: Describes,
    /// The citation of the set. `None` means that there is nothing to cite yet.
    pub citation: Option<&'a Citation>,
}

/// The page in one of its formats, with its links and `others` in the header. A citation has the same
/// bytes as the command line prints, but CSL-JSON is one object, as resolvers of DOIs send it.
///
/// # Errors
///
/// A citation is asked for, and there is nothing to cite.
pub fn respond(
    site: &Site,
    about: &About<'_>,
    others: Vec<Link>,
    format: Format,
    html: impl FnOnce(&[Link]) -> String,
    json: impl FnOnce() -> String,
) -> Result<Response<Body>, Problem> {
    let About { record, path, describes, citation } = *about;
    let mut own_links = links(site, record, path, describes);
    own_links.extend(others);
    let own_links = within_header(own_links);
    let content = match format {
        Format::Html => html(&own_links),
        Format::Linkset => linkset(site, about),
        Format::Citation(_) | Format::SchemaOrg => {
            let named = match format {
                Format::Citation(named) => named,
                _ => CitationFormat::JsonLd,
            };
            let nothing = || format!("{} has no history yet, and so nothing to cite.", record.name);
            let citation = citation.ok_or_else(|| Problem::unknown("no-history", nothing()))?;
            citation.write_resolved(named)
        }
        _ => json(),
    };
    Ok(with_links(whole(format, content, Keep::WhileCurrent), own_links))
}

/// All links of a page as a linkset (RFC 9264), with those of the list that it links to.
fn linkset(site: &Site, about: &About<'_>) -> String {
    let About { record, path, describes, .. } = *about;
    let anchor = site.address_or_href(path);
    let mut context = Map::new();
    context.insert("anchor".to_owned(), anchor.clone().into());
    let all = links(site, record, path, describes);
    for link in all.iter().filter(|link| link.rel != "linkset") {
        let targets = context.entry(link.rel).or_insert_with(|| json!([]));
        if let Some(targets) = targets.as_array_mut() {
            targets.push(target(link));
        }
    }
    let mut contexts = vec![Value::Object(context)];
    // What is linked to leads back to the page.
    for link in all.iter().filter(|link| matches!(link.rel, "item" | "describedby")) {
        let back = if link.rel == "item" { "collection" } else { "describes" };
        let back_link = json!([{ "href": anchor, "type": "text/html" }]);
        contexts.push(json!({ "anchor": link.href, back: back_link }));
    }
    json!({ "linkset": contexts }).to_string()
}

fn target(link: &Link) -> Value {
    match link.media_type {
        Some(media_type) => json!({ "href": link.href, "type": media_type }),
        None => json!({ "href": link.href }),
    }
}

/// Reads something of a dataset, but only by its present name. Under a former one, or in other letter case,
/// the response leads to the same page under the present name.
pub async fn read_present<T: Send + 'static>(
    state: &Arc<State>,
    asked: &Asked,
    name: &DatasetName,
    work: impl Fn(&Reading, &Snapshot, &DatasetName) -> Result<T> + Send + 'static,
) -> Result<Result<T, Response<Body>>, Problem> {
    let wanted = name.clone();
    let read = state.source.read(asked.client(), move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let present = match snapshot.present_name(&wanted) {
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => {
                snapshot.named_in_any_case(&wanted)?.ok_or(error)?
            }
            present => present?,
        };
        match present == wanted {
            true => work(reading, &snapshot, &wanted).map(Ok),
            false => Ok(Err(present)),
        }
    });
    let present = match read.await? {
        Ok(read) => return Ok(Ok(read)),
        Err(present) => present,
    };
    let rest = asked.path().strip_prefix("/datasets/");
    let rest = rest.and_then(|rest| rest.strip_prefix(name.as_str())).unwrap_or("/");
    let target = asked.with_query(&format!("/datasets/{present}{rest}"));
    Ok(Err(redirect(StatusCode::MOVED_PERMANENTLY, &state.site.href(&target))))
}

/// The first ids of a set, and the last ones that are not among them. Only instances are read from
/// their end; of a subset, the last ids are shown if it is small.
pub fn first_and_last(
    snapshot: &Snapshot,
    set: &Set,
    first: usize,
    last: usize,
) -> Result<(Vec<GranuleId>, Vec<GranuleId>)> {
    let most = first + last;
    let ids = snapshot.granules(set)?.take(most);
    let mut ids: Vec<GranuleId> =
        ids.map(|granule| granule.map(|granule| granule.granule_id)).collect::<Result<_>>()?;
    if set.granules() <= most as u64 {
        return Ok((ids, Vec::new()));
    }
    ids.truncate(first);
    let last = match set {
        Set::Instance(instance) => snapshot.last_granules(instance, last as u32)?,
        Set::Subset { .. } => Vec::new(),
    };
    Ok((ids, last.into_iter().map(|granule| granule.granule_id).collect()))
}
