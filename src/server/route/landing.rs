//! What the pages of a dataset, an instance and a set have in common.

use std::sync::Arc;

use axum::http::StatusCode;

use crate::citation::Citation;
use crate::error::{ErrorKind, Result};
use crate::model::{Dataset, DatasetName, GranuleId, Set};
use crate::pages::{Describes, Ends, Link, Site, links};
use crate::registry::Snapshot;
use crate::server::answer::{Answer, Keep, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, citations};
use crate::server::state::State;

/// How many of the first and of the last ids a page shows.
pub const FIRST_IDS: usize = 6;
pub const LAST_IDS: usize = 2;

/// The formats of such a page, the page itself first.
pub fn formats(others: &[Format]) -> Vec<Format> {
    let mut formats = vec![Format::Html, Format::Json];
    formats.extend(others);
    formats.extend(citations());
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
) -> Result<Answer, Stop> {
    let About { record, path, describes, citation } = *about;
    let mut own_links = links(site, record, path, describes);
    own_links.extend(others);
    let content = match format {
        Format::Html => html(&own_links),
        Format::Citation(named) => {
            let nothing = || format!("{} has no history yet, and so nothing to cite.", record.name);
            let citation = citation.ok_or_else(|| Problem::unknown("no-history", nothing()))?;
            citation.write_resolved(named)
        }
        _ => json(),
    };
    Ok(Answer::whole(format, content, Keep::WhileCurrent).with_links(own_links))
}

/// Reads something of a dataset, but only by its present name. Under a former one, or in other letter case,
/// the response leads to the same page under the present name.
pub async fn read_present<T: Send + 'static>(
    state: &Arc<State>,
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

/// The first ids of a set, and the last ones that are not among them. Only instances are read from
/// their end; of a subset, the last ids are shown if it is small.
pub fn first_and_last(snapshot: &Snapshot, set: &Set, first: usize, last: usize) -> Result<Ends> {
    let most = first + last;
    let ids = snapshot.granules(set)?.take(most);
    let mut ids: Vec<GranuleId> =
        ids.map(|granule| granule.map(|granule| granule.granule_id)).collect::<Result<_>>()?;
    if set.granules() <= most as u64 {
        return Ok(Ends { first: ids, last: Vec::new() });
    }
    ids.truncate(first);
    let last = match set {
        Set::Instance(instance) => snapshot.last_granules(instance, last as u32)?,
        Set::Subset { .. } => Vec::new(),
    };
    let last = last.into_iter().map(|granule| granule.granule_id).collect();
    Ok(Ends { first: ids, last })
}
