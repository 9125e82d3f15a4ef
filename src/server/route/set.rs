//! `/DI:…`: a set of granules, wherever it was held.

use std::sync::Arc;

use super::dataset::{formats, respond_set};
use crate::error::Result;
use crate::model::{DigestPrefix, Identifier, Pattern};
use crate::pages::{Describes, SetPage, Site, links};
use crate::registry::{Resolved, Selection};
use crate::server::answer::{Answer, Stop};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::rows::{instance_bytes, list, read_page};
use crate::server::state::ServerState;

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
pub fn at_path(state: &ServerState, asked: &Asked, path: &str) -> Result<(), Stop> {
    match asked.path() == path {
        true => Ok(()),
        false => Err(Stop::permanent(state.site.href(&asked.with_query(path)))),
    }
}

/// Shows a set.
pub async fn set(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let segment = asked.segment(0)?;
    if DigestPrefix::is_meant(&segment) {
        return of_digest(state, asked, &segment).await;
    }
    let identifier = identifier_in(&segment)?;
    at_path(state, asked, &Site::set(identifier))?;
    let format = asked.format(&formats(&[Format::JsonLines]))?;
    let patterns = asked.patterns()?;
    match format {
        Format::JsonLines => intervals(state, asked, identifier, format).await,
        format if !patterns.is_empty() => part(state, asked, identifier, patterns, format).await,
        Format::Json => intervals(state, asked, identifier, format).await,
        format => page(state, identifier, format).await,
    }
}

/// Leads to the latest instance with a digest, or to the subset that has it.
async fn of_digest(state: &Arc<ServerState>, asked: &Asked, text: &str) -> Result<Answer, Stop> {
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

/// What patterns select from a set or, if that was cited, the way to its own page.
async fn part(
    state: &Arc<ServerState>,
    asked: &Asked,
    whole: Identifier,
    patterns: Vec<Pattern>,
    format: Format,
) -> Result<Answer, Stop> {
    let (now, detail) = (state.now(), format.detail());
    let read = state
        .source
        .compare(move |reading| SetPage::part(&reading.registry, whole, &patterns, now, detail));
    let page = read.await?.map_err(|cited| {
        let path = match asked.parameter("format") {
            Some(_) => Site::in_format(&Site::set(cited), format.name()),
            None => Site::set(cited),
        };
        Stop::see_other(state.site.href(&path))
    })?;
    respond_set(state, format, page)
}

/// The intervals as rows.
async fn intervals(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    format: Format,
) -> Result<Answer, Stop> {
    let limit = asked.limit(1_000, 10_000)?;
    let after = asked.position()?;
    let is_first = after.is_none();
    let (resolved, last, record) = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let after = after.as_ref().map(|(name, timestamp)| (name, *timestamp));
            let bytes = |period: &Resolved| period.instances.iter().map(instance_bytes).sum();
            let (mut resolved, has_more) =
                read_page(limit, bytes, |last: Option<&Resolved>, count| {
                    let last = last.map(|last| (last.set.dataset(), last.set.instance().timestamp));
                    snapshot.intervals_after(identifier, last.or(after), count)
                })?;
            let last = resolved
                .last()
                .filter(|_| has_more)
                .map(|last| format!("{}@{}", last.set.dataset(), last.set.instance().timestamp));
            if !has_more {
                let subsets = snapshot.subsets_with(identifier, limit as usize - resolved.len())?;
                let subsets = subsets.into_iter().map(|subset| snapshot.period(subset));
                resolved.extend(subsets.collect::<Result<Vec<_>>>()?);
            }
            if resolved.is_empty() && is_first {
                return Err(crate::Error::identifier_unknown(identifier, None));
            }
            let dataset = resolved.first().map(|first| first.set.dataset());
            let record = dataset.map(|name| snapshot.record(name)).transpose()?;
            Ok((resolved, last, record))
        })
        .await?;
    let next = last.map(|after| asked.next_page(&state.site, &after, limit.into(), format));
    let answer = list(format, &resolved, next.as_deref(), || {
        let granules = resolved.first().map(|first| first.set.granules());
        serde_json::json!({
            "identifier": identifier,
            "granules": granules,
            "intervals": resolved,
            "next": next,
        })
    });
    let own_links = record.map_or_else(Vec::new, |record| {
        let (path, of) = (Site::set(identifier), Describes::Set(Site::granules(identifier)));
        links(&state.site, &record, &path, of, None)
    });
    Ok(answer.with_links(own_links))
}

/// The page, and the formats of its citation.
async fn page(
    state: &Arc<ServerState>,
    identifier: Identifier,
    format: Format,
) -> Result<Answer, Stop> {
    let (now, detail) = (state.now(), format.detail());
    let read = state.source.read(move |reading| {
        SetPage::with_identifier(&reading.registry.snapshot()?, identifier, now, detail)
    });
    respond_set(state, format, read.await?)
}
