//! `/DI:…/granules`: the ids of a set.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{Response, StatusCode};
use bytes::Bytes;
use futures_util::stream::try_unfold;

use super::set::identifier_in;
use crate::model::{GranuleId, IdPage, Identifier, Pattern, Set};
use crate::pages::{Link, Site};
use crate::registry::{Error, Registry, Result, Selection};
use crate::server::answer::{redirect, streamed, with_links};
use crate::server::asked::Asked;
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::source::Source;
use crate::server::state::State;

/// The number of granules that are read at once: a page of the registry.
const PAGE_ROWS: usize = 4_096;

/// The greatest number of patterns.
const MAX_PATTERNS: usize = 20;

const OFFERED: [Format; 2] = [Format::Lines, Format::JsonLines];

/// Lists the ids of a set: all of them, or at most `limit` after one of them.
pub async fn granules(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    let path = Site::granules(identifier);
    if asked.path() != path {
        let query = asked.query();
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        let target = state.site.href(&format!("{path}{query}"));
        return Ok(redirect(StatusCode::PERMANENT_REDIRECT, &target));
    }
    let format = asked.format(&OFFERED)?;
    let after: Option<GranuleId> = asked.parsed("after")?;
    let limit: Option<u64> = asked.parsed("limit")?;
    if limit == Some(0) {
        return Err(Problem::usage("The parameter limit is at least 1."));
    }
    let patterns = patterns(&asked)?;
    let set = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let selection = Selection::Identifier { identifier, dataset: None };
            Ok(snapshot.select(&selection)?.set)
        })
        .await?;
    let tag = tag(identifier, format, &asked);
    let mut links =
        vec![Link::new("collection", state.site.address_or_href(&Site::set(identifier)))];
    let is_checked = after.is_none() && limit.is_none();
    let left = limit.unwrap_or(u64::MAX);
    let list = List { set, format, patterns, after, left, read: 0, is_checked };
    // A page is read at once, so that its end is known; a whole list is streamed.
    let body = match limit {
        Some(limit) if limit <= PAGE_ROWS as u64 => {
            let page = next_page(&state.source, list).await?;
            let (content, rest) = page.unwrap_or_default();
            if let Some(List { after: Some(last), .. }) = rest {
                let mut query = form_urlencoded::Serializer::new(String::new());
                for pattern in asked.parameters("select") {
                    query.append_pair("select", &pattern);
                }
                query.append_pair("after", last.as_str());
                query.append_pair("limit", &limit.to_string());
                query.append_pair("format", format.name());
                let next = state.site.address_or_href(&format!("{path}?{}", query.finish()));
                links.push(Link::new("next", next));
            }
            Body::from(content)
        }
        _ => stream(Arc::clone(&state.source), list),
    };
    Ok(with_links(streamed(format, &tag, body), &links))
}

fn patterns(asked: &Asked) -> Result<Vec<Pattern>, Problem> {
    let patterns = asked.parameters("select");
    let patterns: Vec<_> = patterns.iter().filter(|pattern| !pattern.is_empty()).collect();
    if patterns.len() > MAX_PATTERNS {
        return Err(Problem::usage(format!("At most {MAX_PATTERNS} patterns can be given.")));
    }
    let refused = |error| Problem::usage(format!("The parameter select: {error}."));
    patterns.into_iter().map(|pattern| pattern.parse().map_err(refused)).collect()
}

/// The tag of a list, which depends on the identifier and on what was asked for alone.
fn tag(identifier: Identifier, format: Format, asked: &Asked) -> String {
    use sha2::{Digest, Sha256};
    let query = match asked.query() {
        "" => String::new(),
        query => format!("-{}", hex::encode(&Sha256::digest(query)[..8])),
    };
    format!("{identifier}-{}{query}", format.name())
}

/// What of a list is still to be sent.
struct List {
    set: Set,
    format: Format,
    patterns: Vec<Pattern>,
    /// The id after which it goes on.
    after: Option<GranuleId>,
    /// How many ids are wanted still.
    left: u64,
    /// How many were read.
    read: u64,
    /// Whether their number is compared with that of the history at the end.
    is_checked: bool,
}

/// The list as a body that reads a page when the client has taken the one before. A list that cannot
/// be read to its end breaks off, so that nobody takes it for a whole one.
fn stream(source: Arc<Source>, list: List) -> Body {
    let pages = try_unfold(Some(list), move |list| {
        let source = Arc::clone(&source);
        async move {
            let Some(list) = list else { return Ok(None) };
            next_page(&source, list).await.map_err(|problem| {
                tracing::warn!(kind = problem.kind, cause = problem.cause, "a list broke off");
                std::io::Error::other(problem.detail)
            })
        }
    });
    Body::from_stream(pages)
}

/// Reads the next ids, in a short transaction of its own, and what is left of the list. `None` means
/// that there are no more.
async fn next_page(
    source: &Arc<Source>,
    list: List,
) -> Result<Option<(Bytes, Option<List>)>, Problem> {
    if list.left == 0 {
        return Ok(None);
    }
    let list = Arc::new(list);
    let shared = Arc::clone(&list);
    let page = source.read(move |reading| read_page(&reading.registry, &shared)).await?;
    let Page { content, read, sent, after } = page;
    let rest = after.map(|after| List {
        set: list.set.clone(),
        format: list.format,
        patterns: list.patterns.clone(),
        after: Some(after),
        left: list.left - sent,
        read: list.read + read,
        is_checked: list.is_checked,
    });
    Ok(Some((Bytes::from(content), rest)))
}

/// A page of a list.
struct Page {
    content: Vec<u8>,
    /// How many ids were read, and how many of them are sent.
    read: u64,
    sent: u64,
    /// The id after which the list goes on. `None` means that it has ended.
    after: Option<GranuleId>,
}

fn read_page(registry: &Registry, list: &List) -> Result<Page> {
    let mut granules = registry.snapshot()?.granules(&list.set)?;
    if let Some(after) = &list.after {
        granules = granules.after(after);
    }
    let mut pages = granules.into_id_pages();
    let ids = pages.next().transpose()?.unwrap_or_default();
    let wants_all = list.patterns.is_empty() && ids.len() as u64 <= list.left;
    let (content, read, sent, last) = if wants_all && list.format == Format::Lines {
        let ids_read = ids.len() as u64;
        (ids.as_lines().as_bytes().to_vec(), ids_read, ids_read, ids.last())
    } else {
        chosen(&ids, list)
    };
    // After a full page, whether there are more is known only with the next one.
    let is_cut = (read as usize) < ids.len() || ids.len() == PAGE_ROWS;
    let has_more = is_cut || (!ids.is_empty() && pages.next().transpose()?.is_some());
    if list.is_checked && !has_more && list.read + read != list.set.granules() {
        let (expected, found) = (list.set.granules(), list.read + read);
        let what = format!("{found} granules where the history counts {expected}");
        return Err(Error::Inconsistent { what });
    }
    Ok(Page { content, read, sent, after: last.filter(|_| has_more) })
}

/// The ids of a page that are wanted, as they are sent; how many were read and how many are sent; and
/// the last one that was read.
fn chosen(ids: &IdPage, list: &List) -> (Vec<u8>, u64, u64, Option<GranuleId>) {
    let matches = |granule_id: &str| {
        let mut patterns = list.patterns.iter();
        list.patterns.is_empty() || patterns.any(|pattern| pattern.matches(granule_id))
    };
    let (mut content, mut read, mut sent, mut last) = (Vec::new(), 0, 0, None);
    for granule_id in ids.iter() {
        read += 1;
        last = Some(granule_id);
        if matches(granule_id) {
            write(&mut content, list.format, granule_id);
            sent += 1;
        }
        if sent == list.left {
            break;
        }
    }
    // Every id was checked when the page was made.
    (content, read, sent, last.and_then(|last| GranuleId::new(last).ok()))
}

fn write(page: &mut Vec<u8>, format: Format, granule_id: &str) {
    if format == Format::JsonLines {
        page.extend_from_slice(b"{\"granule\":");
        // Writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut *page, granule_id);
        page.extend_from_slice(b"}\n");
    } else {
        page.extend_from_slice(granule_id.as_bytes());
        page.push(b'\n');
    }
}
