//! The pages of datasets and sets:
//!
//! - `/datasets/NAME/`: a dataset now
//! - `/datasets/NAME@TIME`: the set that a dataset held at a time
//! - `/DI:…`: a set of granules in all datasets that held it
//! - `/DI:…/proof`: the proof of statements about a set
//! - `/doi/10.…`: redirects to a dataset

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::pages::{DatasetPage, Describes, Feed, Link, SetPage, Site, links};
use crate::problem::Problem;
use crate::request::{Format, Named, Request, Segments, citations, dataset_name, moment};
use crate::response::{ATOM, CachePolicy, Rejection, in_format, of_type, unlisted, with_links};
use crate::rows::{instance_bytes, line, list, read_page};
use crate::state::App;
use accession::Citation;
use accession::dataset::DatasetMetadata;
use accession::history::DigestPrefix;
use accession::history::Period;
use accession::{DatasetName, Doi, Identifier, Moment, Set, Timestamp};
use accession::{ErrorKind, Result};
use accession::{Selection, Snapshot};

/// Shows a dataset.
pub async fn dataset(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    if let Some(at) = request.parameter("at").filter(|at| !at.is_empty()) {
        let path = format!("/datasets/{name}@{}", moment(&at, state.now())?);
        let path = request.with_parameters(&path, &["format"]);
        return Err(Rejection::see_other(state.site.href(&path)));
    }
    let format = request.format(&formats(&[]))?;
    let (now, detail) = (state.now(), format.detail());
    let read = read_present(&state, &request, &name, move |snapshot, name| {
        DatasetPage::read(snapshot, name, now, detail)
    });
    let page = read.await?.resolved(&state.site);
    let (links, html) = (page.links(&state.site), || page.html(&state.site));
    let record = &page.listed.dataset;
    respond(format, record, page.citation.as_ref(), links, html, || line(&page.listed))
}

/// The latest changes of a dataset as a feed.
pub async fn feed(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    let feed = read_present(&state, &request, &name, Feed::of_dataset).await?;
    Ok(of_type(ATOM, feed.atom(&state.site), CachePolicy::Shared))
}

/// Shows an instance, or redirects from `/datasets/NAME` to the page of the dataset.
pub async fn instance(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let Some((name, time)) = segment.split_once('@') else {
        let name = dataset_name(&segment)?;
        let target = state.site.href(&request.with_query(&Site::dataset(&name)));
        return Err(Rejection::permanent(target));
    };
    let now = state.now();
    let (name, at) = (dataset_name(name)?, moment(time, now)?);
    let format = request.format(&formats(&[]))?;
    if at.first_instant() > now {
        let detail = format!("{at} is in the future: what will be held then is not known.");
        return Err(Problem::unknown("usage", detail).into());
    }
    let detail = format.detail();
    let read = read_present(&state, &request, &name, move |snapshot, name| {
        SetPage::at(snapshot, name, at, now, detail)
    });
    respond_set(&state, format, read.await?)
}

/// Redirects to the dataset with a DOI. If several have it, to the first by name.
pub async fn doi(
    State(state): State<App>,
    Segments(text): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
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
    let target = state.site.href(&request.with_query(&Site::dataset(name)));
    Err(Rejection::see_other(target))
}

/// The formats of such a page. HTML is the first.
fn formats(others: &[Format]) -> Vec<Format> {
    let mut formats = vec![Format::Html, Format::Json];
    formats.extend(others);
    formats.extend(citations());
    formats
}

/// Responds with a page in one of its formats, with its links in the header. A citation has the same bytes as
/// on the command line, except that CSL-JSON is one object, as resolvers of DOIs send it.
///
/// # Errors
///
/// A citation is requested, and there is nothing to cite.
fn respond(
    format: Format,
    record: &DatasetMetadata,
    citation: Option<&Citation>,
    links: Vec<Link>,
    html: impl FnOnce() -> String,
    json: impl FnOnce() -> String,
) -> Result<Response, Rejection> {
    let content = match format {
        Format::Html => html(),
        Format::Citation(named) => {
            let nothing = || format!("{} has no history yet, and so nothing to cite.", record.name);
            let citation = citation.ok_or_else(|| Problem::unknown("no-history", nothing()))?;
            citation.write_resolved(named)
        }
        _ => json(),
    };
    Ok(with_links(in_format(format, content, CachePolicy::Shared), links))
}

/// Responds with the page of a set in one of its formats.
fn respond_set(state: &App, format: Format, page: SetPage) -> Result<Response, Rejection> {
    let page = page.resolved(&state.site);
    let (links, html) = (page.links(&state.site), || page.html(&state.site));
    let record = &page.cited.dataset.dataset;
    let json = || line(&page.json());
    let response = respond(format, record, Some(&page.citation), links, html, json)?;
    Ok(if page.is_unlisted() { unlisted(response) } else { response })
}

/// Reads something of a dataset by its current name. If the request uses a former name or another letter case,
/// it is redirected to the same page under the current name.
pub async fn read_present<T: Send + 'static>(
    state: &App,
    request: &Request,
    name: &DatasetName,
    work: impl Fn(&Snapshot, &DatasetName) -> Result<T> + Send + 'static,
) -> Result<T, Rejection> {
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
    let rest = request.path().strip_prefix("/datasets/");
    let rest = rest.and_then(|rest| rest.strip_prefix(name.as_str())).unwrap_or("/");
    let target = request.with_query(&format!("/datasets/{present}{rest}"));
    Err(Rejection::Redirect(StatusCode::MOVED_PERMANENTLY, state.site.href(&target)))
}

/// Parses the identifier in a segment of a path.
///
/// # Errors
///
/// The segment has no identifier, or the text after `DI:` is not one.
fn identifier_in(segment: &str) -> Result<Identifier, Problem> {
    let Some((prefix, _)) = segment.split_once(':') else {
        // The digits alone, as some journals print them, are accepted.
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

/// Parses the identifier in the path of a request. If the path is not canonical, the request is redirected.
///
/// # Errors
///
/// Those of a path without an identifier.
fn identifier_of(state: &App, segment: &str, request: &Request) -> Result<Identifier, Rejection> {
    let identifier = identifier_in(segment)?;
    let path = match request.path().trim_start_matches('/').split_once('/') {
        None | Some((_, "")) => Site::set(identifier),
        Some((_, what)) => Site::of_set(identifier, what),
    };
    match request.path() == path {
        true => Ok(identifier),
        false => Err(Rejection::permanent(state.site.href(&request.with_query(&path)))),
    }
}

/// The set that a request names: by the identifier or digest in its path, `?digest=`, `?dataset=` and `?at=`.
#[derive(Clone)]
pub struct SetRequest {
    /// The set.
    pub selection: Selection,
    /// The time in the query.
    pub at: Option<Moment>,
    /// The identifier in the path, and the digest in the query. The set with this identifier must have had this
    /// digest.
    digest: Option<(Identifier, DigestPrefix)>,
}

impl SetRequest {
    /// Checks that the set with the identifier had the digest in the query, if there is one.
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

/// Parses the set that a request names.
///
/// # Errors
///
/// The path contains neither an identifier nor a digest, or a parameter is invalid.
pub fn set_of(state: &App, segment: &str, request: &Request) -> Result<SetRequest, Rejection> {
    let at = request.parameter("at").filter(|at| !at.is_empty());
    let at = at.map(|at| moment(&at, state.now())).transpose()?;
    if let Ok(digest) = segment.parse() {
        return Ok(SetRequest { selection: Selection::Digest(digest), at, digest: None });
    }
    let identifier = identifier_of(state, segment, request)?;
    let digest: Option<DigestPrefix> = request.parsed("digest")?;
    let selection = match &digest {
        Some(digest) => Selection::Digest(digest.clone()),
        None => Selection::Identifier { identifier, dataset: request.parsed("dataset")?, at },
    };
    Ok(SetRequest { selection, at, digest: digest.map(|digest| (identifier, digest)) })
}

/// Sends the proof of the statements about a set.
pub async fn proof(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let set = set_of(&state, &segment, &request)?;
    let format = request.format(&[Format::Lines])?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        set.check(&snapshot)?;
        snapshot.prove(&set.selection, set.at)
    });
    let proof = read.await?.proof.to_string();
    Ok(in_format(format, proof, CachePolicy::Shared))
}

/// How a client gets a subset.
const SELECT_HINT: &str = "/DI:…/granules?select=PATTERN lists a subset, and POST /datasets/NAME/subsets saves it where that is allowed.";

/// Shows a set.
pub async fn set(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    if DigestPrefix::is_meant(&segment) {
        return of_digest(&state, &request, &segment).await;
    }
    let identifier = identifier_of(&state, &segment, &request)?;
    let format = request.format(&formats(&[Format::JsonLines]))?;
    if request.parameter("select").is_some() {
        let detail = "A page shows a whole set.";
        return Err(Problem::usage(detail).with_hint(SELECT_HINT).into());
    }
    let digest: Option<DigestPrefix> = request.parsed("digest")?;
    if let Some(digest) = digest.clone() {
        let read = state
            .source
            .read(move |reading| reading.registry.snapshot()?.digest_of(identifier, &digest));
        read.await?;
    }
    match format {
        Format::Json | Format::JsonLines => intervals(&state, &request, identifier, format).await,
        format => page(&state, identifier, digest, format).await,
    }
}

/// Redirects to the latest instance with a digest, or to the page of the subset with it. The page of a subset
/// has the digest as a parameter, because subsets with other digests may have the same identifier.
async fn of_digest(state: &App, request: &Request, text: &str) -> Result<Response, Rejection> {
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
    let target = request.with_query(&read.await?);
    Err(Rejection::see_other(state.site.href(&target)))
}

/// The datasets and periods in which a set was in force.
#[derive(Serialize)]
struct Intervals<'a> {
    identifier: Identifier,
    granules: Option<u64>,
    intervals: &'a [Period],
    next: Option<&'a str>,
}

/// The row after which a page of intervals begins: an instance or, after all instances, a number of subsets of
/// a dataset.
enum After {
    Instance(DatasetName, Timestamp),
    Subsets(DatasetName, usize),
}

impl After {
    /// Parses the parameter: `NAME@TIMESTAMP`, or `NAME/NUMBER` for subsets.
    fn read(request: &Request) -> Result<Option<Self>, Problem> {
        let Some(after) = request.parameter("after").filter(|after| !after.is_empty()) else {
            return Ok(None);
        };
        let subsets = after.rsplit_once('/').and_then(|(name, number)| {
            Some(After::Subsets(name.parse().ok()?, number.parse().ok()?))
        });
        if let Some(subsets) = subsets {
            return Ok(Some(subsets));
        }
        let position = request.position(false)?;
        Ok(position.map(|row| After::Instance(row.dataset, row.timestamp)))
    }
}

/// Reads a page of intervals: the periods in which the set was in force, then the subsets that were cited with
/// its identifier. Also returns the position of the next page.
fn read_intervals(
    snapshot: &Snapshot,
    identifier: Identifier,
    after: Option<&After>,
    limit: u32,
) -> Result<(Vec<Period>, Option<String>)> {
    let (mut resolved, mut has_more) = (Vec::new(), false);
    if !matches!(after, Some(After::Subsets(..))) {
        let after = match after {
            Some(After::Instance(name, timestamp)) => Some((name, *timestamp)),
            _ => None,
        };
        let bytes = |period: &Period| period.instances.iter().map(instance_bytes).sum();
        (resolved, has_more) = read_page(limit, bytes, |last: Option<&Period>, count| {
            let last = last.map(|last| (last.set.dataset(), last.set.instance().timestamp));
            snapshot.intervals_after(identifier, last.or(after), count)
        })?;
    }
    if has_more {
        let last = resolved.last();
        let after =
            last.map(|last| format!("{}@{}", last.set.dataset(), last.set.instance().timestamp));
        return Ok((resolved, after));
    }
    // Subsets are in order of their datasets, and those of a dataset in the order of their first citation.
    let mut position: Option<(DatasetName, usize)> = None;
    // Each subset costs a look-up.
    let most = match after {
        Some(After::Subsets(..)) => usize::MAX,
        _ => limit as usize - resolved.len() + 1,
    };
    for subset in snapshot.subsets_with(identifier, most)? {
        let dataset = subset.dataset().clone();
        let number = match &position {
            Some((name, number)) if *name == dataset => number + 1,
            _ => 1,
        };
        let is_listed = match after {
            Some(After::Subsets(name, listed)) => {
                dataset < *name || (dataset == *name && number <= *listed)
            }
            _ => false,
        };
        if !is_listed {
            if resolved.len() == limit as usize {
                let (name, listed) = position.unwrap_or((dataset, 0));
                return Ok((resolved, Some(format!("{name}/{listed}"))));
            }
            resolved.push(snapshot.period(subset)?);
        }
        position = Some((dataset, number));
    }
    Ok((resolved, None))
}

/// Responds with the intervals as rows.
async fn intervals(
    state: &App,
    request: &Request,
    identifier: Identifier,
    format: Format,
) -> Result<Response, Rejection> {
    let limit = request.limit(1_000, 10_000)?;
    let after = After::read(request)?;
    let is_first = after.is_none();
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let (resolved, last) = read_intervals(&snapshot, identifier, after.as_ref(), limit)?;
        if resolved.is_empty() && is_first {
            return Ok(None);
        }
        let dataset = resolved.first().map(|first| first.set.dataset());
        let record = dataset.map(|name| snapshot.record(name)).transpose()?;
        Ok(Some((resolved, last, record)))
    });
    let unknown = || Problem::identifier_unknown(identifier);
    let (resolved, last, record) = read.await?.ok_or_else(unknown)?;
    let next = last.map(|after| request.next_page(&state.site, &after, u64::from(limit), format));
    let next = next.as_deref();
    let object = || Intervals {
        identifier,
        granules: resolved.first().map(|first| first.set.granule_count()),
        intervals: &resolved,
        next,
    };
    let response = list(format, &resolved, next, String::new, object);
    let own_links = record.map_or_else(Vec::new, |record| {
        let (path, list) = (Site::set(identifier), Site::of_set(identifier, "granules"));
        links(&state.site, &record, Describes::Set, &path, Some(&list), None)
    });
    Ok(with_links(response, own_links))
}

/// Responds with the page or a citation.
async fn page(
    state: &App,
    identifier: Identifier,
    digest: Option<DigestPrefix>,
    format: Format,
) -> Result<Response, Rejection> {
    let (now, detail) = (state.now(), format.detail());
    let read = state.source.read(move |reading| {
        let (snapshot, digest) = (reading.registry.snapshot()?, digest.as_ref());
        SetPage::with_identifier(&snapshot, identifier, digest, now, detail)
    });
    respond_set(state, format, read.await?)
}
