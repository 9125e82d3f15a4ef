//! `/datasets/NAME/`, a dataset now; `/datasets/NAME@TIME`, as it was held at a time; and `/DI:…`, a set of
//! granules, wherever it was held; and `/DI:…/proof`, what was stated of it. `/doi/10.…` leads to a dataset.

use std::sync::Arc;

use hyper::StatusCode;
use serde::Serialize;

use crate::answer::{ATOM, Answer, AnswerContent, Keep, Stop};
use crate::pages::{DatasetPage, Describes, Feed, Link, SetPage, Site, links};
use crate::problem::Problem;
use crate::request::{Asked, Format, citations, dataset_name, moment};
use crate::rows::{instance_bytes, json, list, read_page};
use crate::state::ServerState;
use accession::citation::Citation;
use accession::error::{Error, ErrorKind, Result};
use accession::model::{Dataset, DatasetName, DigestPrefix, Doi, Identifier, Moment, Set};
use accession::registry::{Resolved, Selection, Snapshot};

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
    respond_set(state, format, read.await?)
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
fn formats(others: &[Format]) -> Vec<Format> {
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
fn respond(
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
fn respond_set(state: &ServerState, format: Format, page: SetPage) -> Result<Answer, Stop> {
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

/// The identifier that a segment of a path has.
///
/// # Errors
///
/// The segment has no identifier, or the text after `DI:` is not one.
fn identifier_in(segment: &str) -> Result<Identifier, Problem> {
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

/// The identifier in the path of a request, which otherwise leads to that path as it is written here.
///
/// # Errors
///
/// Those of a path with none.
pub fn identifier_of(state: &ServerState, asked: &Asked) -> Result<Identifier, Stop> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    let path = match asked.segment(1)?.as_str() {
        "" => Site::set(identifier),
        what => Site::of_set(identifier, what),
    };
    match asked.path() == path {
        true => Ok(identifier),
        false => Err(Stop::permanent(state.site.href(&asked.with_query(&path)))),
    }
}

/// The set of a request: the identifier or the digest in its path, `?digest=`, `?dataset=` and `?at=`.
#[derive(Clone)]
pub struct SetRequest {
    /// The set.
    pub selection: Selection,
    /// The time in the query.
    pub at: Option<Moment>,
    /// The identifier in the path, and the digest in the query, which its set must have had.
    digest: Option<(Identifier, DigestPrefix)>,
}

impl SetRequest {
    /// Checks that the identifier had the digest in the query, if there is one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::IdentifierUnknown`]: it did not.
    pub fn check(&self, snapshot: &Snapshot) -> Result<()> {
        match &self.digest {
            Some((identifier, digest)) => snapshot.digest_of(*identifier, digest).map(drop),
            None => Ok(()),
        }
    }

    /// Finds the set.
    ///
    /// # Errors
    ///
    /// Those of [`SetRequest::check`] and of [`Snapshot::select`].
    pub fn select(&self, snapshot: &Snapshot) -> Result<Set> {
        self.check(snapshot)?;
        Ok(snapshot.select(&self.selection)?.set)
    }
}

/// The set of a request.
///
/// # Errors
///
/// The path has neither an identifier nor a digest, or a parameter is not valid.
pub fn set_of(state: &ServerState, asked: &Asked) -> Result<SetRequest, Stop> {
    let at = asked.parameter("at").filter(|at| !at.is_empty());
    let at = at.map(|at| moment(&at)).transpose()?;
    if let Ok(digest) = asked.segment(0)?.parse() {
        return Ok(SetRequest { selection: Selection::Digest(digest), at, digest: None });
    }
    let identifier = identifier_of(state, asked)?;
    let digest: Option<DigestPrefix> = asked.parsed("digest")?;
    let selection = match &digest {
        Some(digest) => Selection::Digest(digest.clone()),
        None => Selection::Identifier { identifier, dataset: asked.parsed("dataset")?, at },
    };
    Ok(SetRequest { selection, at, digest: digest.map(|digest| (identifier, digest)) })
}

/// The proof of what was stated of a set.
pub async fn proof(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let request = set_of(state, asked)?;
    let format = asked.format(&[Format::Lines])?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        request.check(&snapshot)?;
        snapshot.prove(&request.selection, request.at)
    });
    let proof = read.await?.proof.to_string();
    Ok(Answer::whole(format, proof, Keep::WhileCurrent))
}

/// How a client gets a subset.
const SELECT_HINT: &str = "/DI:…/granules?select=PATTERN lists a subset, and POST /datasets/NAME/subsets saves it where that is allowed.";

/// Shows a set.
pub async fn set(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let segment = asked.segment(0)?;
    if DigestPrefix::is_meant(&segment) {
        return of_digest(state, asked, &segment).await;
    }
    let identifier = identifier_of(state, asked)?;
    let format = asked.format(&formats(&[Format::JsonLines]))?;
    if asked.parameter("select").is_some() {
        let detail = "A page shows a whole set.";
        return Err(Problem::usage(detail).with_hint(SELECT_HINT).into());
    }
    let digest: Option<DigestPrefix> = asked.parsed("digest")?;
    if let Some(digest) = digest.clone() {
        let read = state
            .source
            .read(move |reading| reading.registry.snapshot()?.digest_of(identifier, &digest));
        read.await?;
    }
    match format {
        Format::Json | Format::JsonLines => intervals(state, asked, identifier, format).await,
        format => page(state, identifier, digest, format).await,
    }
}

/// Leads to the latest instance with a digest, or to the page of the subset that has it, whose identifier
/// subsets with other digests may have, too.
async fn of_digest(state: &Arc<ServerState>, asked: &Asked, text: &str) -> Result<Answer, Stop> {
    let digest: DigestPrefix = text.parse().map_err(|_| {
        let detail = "This is not a digest, which has 64 hexadecimal digits after sha256:, of which the first 12 are enough.";
        Problem::unknown("identifier-unknown", detail)
    })?;
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = snapshot.select(&Selection::Digest(digest.clone()))?.set;
        Ok(match set.subset() {
            Some(_) => Site::set_with(set.identifier(), set.digest()),
            None => Site::instance(set.dataset(), set.instance().timestamp),
        })
    });
    let target = asked.with_query(&read.await?);
    Err(Stop::see_other(state.site.href(&target)))
}

/// Where and when a set was in force.
#[derive(Serialize)]
struct Intervals<'a> {
    identifier: Identifier,
    granules: Option<u64>,
    intervals: &'a [Resolved],
    next: Option<&'a str>,
}

/// The intervals as rows.
async fn intervals(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    format: Format,
) -> Result<Answer, Stop> {
    let limit = asked.limit(1_000, 10_000)?;
    let after = asked.position(false)?;
    let is_first = after.is_none();
    let (resolved, last, record) = state
        .source
        .read(move |reading| {
            let snapshot = reading.registry.snapshot()?;
            let after = after.as_ref().map(|(name, _, timestamp)| (name, *timestamp));
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
                return Err(Error::identifier_unknown(identifier, None));
            }
            let dataset = resolved.first().map(|first| first.set.dataset());
            let record = dataset.map(|name| snapshot.record(name)).transpose()?;
            Ok((resolved, last, record))
        })
        .await?;
    let next = last.map(|after| asked.next_page(&state.site, &after, u64::from(limit), format));
    let answer = list(format, &resolved, next.as_deref(), || Intervals {
        identifier,
        granules: resolved.first().map(|first| first.set.granules()),
        intervals: &resolved,
        next: next.as_deref(),
    });
    let own_links = record.map_or_else(Vec::new, |record| {
        let (path, list) = (Site::set(identifier), Site::of_set(identifier, "granules"));
        links(&state.site, &record, Describes::Set, &path, Some(&list), None)
    });
    Ok(answer.with_links(own_links))
}

/// The page, and the formats of its citation.
async fn page(
    state: &Arc<ServerState>,
    identifier: Identifier,
    digest: Option<DigestPrefix>,
    format: Format,
) -> Result<Answer, Stop> {
    let (now, detail) = (state.now(), format.detail());
    let read = state.source.read(move |reading| {
        let (snapshot, digest) = (reading.registry.snapshot()?, digest.as_ref());
        SetPage::with_identifier(&snapshot, identifier, digest, now, detail)
    });
    respond_set(state, format, read.await?)
}
