//! The lists of a set:
//!
//! - `/DI:…/granules`: its ids
//! - `/DI:…/urls`: the addresses of its granules
//! - `/DI:…/checksums`: the checksums of its files, in the format of `sha256sum --check`
//! - `/DI:…/list`: its canonical list, whose SHA-256 is the digest
//!
//! A whole list is streamed: the next part is read while the client receives the previous one. The list is
//! verified at its end. If that fails, the connection is cut before the last chunk, so that no client mistakes
//! the list for a complete one.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{HeaderName, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::{StreamExt, once, try_unfold};
use serde_json::json;

use super::dataset::{SetRequest, set_of};
use crate::pages::{Link, Site};
use crate::permits::{Cost, Deadline};
use crate::problem::Problem;
use crate::request::{Format, Request, Segments};
use crate::response::{self, CachePolicy, Rejection, in_format, with_links};
use crate::rows::{PAGE_BYTES, line};
use crate::source::RegistryReading;
use crate::state::App;
use accession::Result;
use accession::dataset::GranuleUrl;
use accession::file::Algorithm;
use accession::fixity::ListStyle;
use accession::history::FileList;
use accession::history::{DigestPrefix, IdPage};
use accession::{DatasetName, GranuleId, Identifier, Pattern, Set};
use accession::{Granule, Registry, Selection};

/// The length at which a part of a list ends, in bytes. A client that stops reading keeps one part in memory.
const PART_BYTES: usize = 32 * 1_024;

/// The greatest number of granules that are examined for a page with patterns.
const SEARCHED_GRANULES: usize = 4_096;

/// The number of granules and files that were left out, because they have no checksum of the algorithm.
const LEFT_OUT: HeaderName = HeaderName::from_static("accession-left-out");

/// The version of the formats of a list, for its ETag.
const LIST_VERSION: u32 = 1;

/// Lists the ids of a set: all of them, or one page.
pub async fn granules(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    if let Ok(digest) = segment.parse() {
        return of_digest(&state, &request, digest).await;
    }
    let set = set_of(&state, &segment, &request)?;
    let query = GranuleQuery::read(&request, None)?;
    list(&state, &request, set, query).await
}

/// Redirects to the ids of the set with a digest, which are those of its identifier.
async fn of_digest(
    state: &App,
    request: &Request,
    digest: DigestPrefix,
) -> Result<Response, Rejection> {
    let read = state.source.read(move |reading| {
        let selection = Selection::Digest(digest.clone());
        Ok(reading.registry.snapshot()?.select(&selection)?.set.identifier())
    });
    let path = Site::of_set(read.await?, "granules");
    Err(Rejection::see_other(state.site.href(&request.with_query(&path))))
}

/// Lists the addresses of the granules of a set, if its dataset states where they can be fetched.
pub async fn urls(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let set = set_of(&state, &segment, &request)?;
    let dataset: Option<DatasetName> = request.parsed("dataset")?;
    let of = set.clone();
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = match (&of.selection, &dataset) {
            (Selection::Identifier { identifier, at, .. }, None) => {
                let dataset = snapshot.first_holder(*identifier)?;
                let first = Selection::Identifier { identifier: *identifier, dataset, at: *at };
                of.check(&snapshot)?;
                snapshot.select(&first)?.set
            }
            _ => of.select(&snapshot)?,
        };
        snapshot.record(set.dataset())
    });
    let dataset = read.await?;
    let none = || format!("{} does not say where its granules can be fetched.", dataset.name);
    let template = dataset.granule_url.ok_or_else(|| Problem::unknown("no-granule-url", none()))?;
    let query = GranuleQuery::read(&request, Some(template))?;
    list(&state, &request, set, query).await
}

/// Sends a page of the ids or addresses, or all of them.
async fn list(
    state: &App,
    request: &Request,
    set: SetRequest,
    query: GranuleQuery,
) -> Result<Response, Rejection> {
    let query = Arc::new(query);
    let is_searched = !query.patterns.is_empty();
    if query.is_page() {
        let cost = if is_searched { Cost::Search } else { Cost::Page };
        return page(state, request, set, query, cost).await;
    }
    let cost = if is_searched { Cost::Search } else { Cost::List };
    let of = set.clone();
    let read = state
        .source
        .read(move |reading| Ok(of.select(&reading.registry.snapshot()?)?.identifier()));
    let tag = query.tag(read.await?, request);
    let kind = (query.format, query.policy());
    let open = move |registry: &Registry| {
        let snapshot = registry.snapshot()?;
        let granules = registry.in_small_pages().granules(&set.select(&snapshot)?);
        Ok(List::Granules(Box::new(granules.into_id_pages()), Arc::clone(&query)))
    };
    stream((state, request), kind, &tag, cost, open).await
}

/// Responds with a page of a list, and the address of the next one.
async fn page(
    state: &App,
    request: &Request,
    set: SetRequest,
    query: Arc<GranuleQuery>,
    cost: Cost,
) -> Result<Response, Rejection> {
    let (format, policy, limit) = (query.format, query.policy(), query.limit);
    let read = state.source.work(cost, move |reading| read_page(reading, &set, &query));
    let (content, last) = read.await?;
    let next = last.map(|last| request.next_page(&state.site, last.as_str(), limit, format));
    let next = next.map(|next| Link::new("next", next));
    Ok(with_links(in_format(format, content, policy), next))
}

/// Reads a page, which is limited in rows and in bytes. If the list continues, the last id of the page is
/// returned.
fn read_page(
    reading: &RegistryReading,
    set: &SetRequest,
    query: &GranuleQuery,
) -> Result<(Vec<u8>, Option<GranuleId>)> {
    let snapshot = reading.registry.snapshot()?;
    let (registry, set) = (reading.registry.in_small_pages(), set.select(&snapshot)?);
    drop(snapshot);
    let granules = registry.granules_after(&set, query.after.as_ref());
    let (mut content, mut left, mut looked_at) = (Vec::new(), query.limit.unwrap_or(u64::MAX), 0);
    let mut last = None;
    for ids in granules.into_id_pages() {
        let ids = ids?;
        for granule_id in ids.iter() {
            let is_searched = !query.patterns.is_empty() && looked_at >= SEARCHED_GRANULES;
            if left == 0 || content.len() >= PAGE_BYTES || is_searched {
                return Ok((content, last));
            }
            looked_at += 1;
            // Every id was checked when it was read.
            last = GranuleId::new(granule_id).ok();
            if query.selects(granule_id) {
                query.write_one(&mut content, granule_id);
                left -= 1;
            }
        }
    }
    Ok((content, None))
}

/// The ids to send, and their format.
struct GranuleQuery {
    format: Format,
    patterns: Vec<Pattern>,
    /// The template of addresses that are sent instead of ids. An id without an address is left out.
    urls: Option<GranuleUrl>,
    after: Option<GranuleId>,
    limit: Option<u64>,
}

impl GranuleQuery {
    /// Parses the query of a request.
    fn read(request: &Request, urls: Option<GranuleUrl>) -> Result<Self, Problem> {
        let format = request.format(&[Format::Lines, Format::JsonLines])?;
        let refused = || Problem::usage("The parameter limit is a number of at least 1.");
        let limit = request.parsed("limit").map_err(|_| refused())?;
        if limit == Some(0) {
            return Err(refused());
        }
        let after = request.parsed("after")?;
        Ok(GranuleQuery { format, patterns: request.patterns()?, urls, after, limit })
    }

    /// Whether one page is requested, and not the whole list.
    fn is_page(&self) -> bool {
        self.after.is_some() || self.limit.is_some()
    }

    /// The addresses of granules can change, but the ids of a set cannot.
    fn policy(&self) -> CachePolicy {
        if self.urls.is_some() { CachePolicy::Shared } else { CachePolicy::Immutable }
    }

    /// The ETag of the list. It depends on the identifier, the request, and the version of the format.
    fn tag(&self, identifier: Identifier, request: &Request) -> String {
        use sha2::{Digest, Sha256};
        let tag = format!("{identifier}-{}.{LIST_VERSION}", self.format.name());
        if self.patterns.is_empty() && self.urls.is_none() {
            return format!("\"{tag}\"");
        }
        let urls = self.urls.as_ref().map_or("", GranuleUrl::as_str);
        let of = Sha256::digest(format!("{} {urls}", request.query()));
        format!("\"{tag}-{}\"", hex::encode(&of[..8]))
    }

    /// Whether the patterns select an id.
    fn selects(&self, granule_id: &str) -> bool {
        let mut patterns = self.patterns.iter();
        self.patterns.is_empty() || patterns.any(|pattern| pattern.matches(granule_id))
    }

    /// Writes the selected ids of a page.
    fn write(&self, content: &mut Vec<u8>, ids: &IdPage) {
        if self.patterns.is_empty() && self.urls.is_none() && self.format == Format::Lines {
            content.extend_from_slice(ids.as_lines().as_bytes());
            return;
        }
        for granule_id in ids.iter().filter(|granule_id| self.selects(granule_id)) {
            self.write_one(content, granule_id);
        }
    }

    fn write_one(&self, content: &mut Vec<u8>, granule_id: &str) {
        let Some(template) = &self.urls else { return write(content, self.format, granule_id) };
        // Every id was checked when it was read.
        let address = GranuleId::new(granule_id).ok().and_then(|id| template.address_of(&id));
        let text = match (self.format, address) {
            (Format::JsonLines, address) => line(&json!({ "granule": granule_id, "url": address })),
            (_, Some(address)) => address + "\n",
            (_, None) => return,
        };
        content.extend_from_slice(text.as_bytes());
    }
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

/// The lines of `/DI:…/list` or `/DI:…/checksums`.
#[derive(Clone)]
enum Lines {
    Canonical,
    /// The checksums of one algorithm. `None` means the usual one among the recorded checksums.
    Checksums(Option<Algorithm>),
}

/// Lists the checksums of one algorithm.
pub async fn checksums(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    let lines = Lines::Checksums(request.parsed("algorithm")?);
    files(&state, &segment, &request, lines).await
}

/// Lists a set with the strongest checksums of its files.
pub async fn canonical(
    State(state): State<App>,
    Segments(segment): Segments<String>,
    request: Request,
) -> Result<Response, Rejection> {
    files(&state, &segment, &request, Lines::Canonical).await
}

/// Sends a list with the recorded checksums of the files of a set.
async fn files(
    state: &App,
    segment: &str,
    request: &Request,
    lines: Lines,
) -> Result<Response, Rejection> {
    let wanted = set_of(state, segment, request)?;
    let kind = (request.format(&[Format::Lines])?, CachePolicy::Shared);
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        wanted.check(&snapshot)?;
        snapshot.select_contents(&wanted.selection)
    });
    let set = Arc::new(read.await?);
    let tag = lines.tag(&set);
    let Lines::Checksums(algorithm) = lines else {
        let open =
            move |registry: &Registry| Ok(List::Canonical(registry.in_small_pages().files(&set)));
        return stream((state, request), kind, &tag, Cost::List, open).await;
    };
    if let Some(known) = known(request, kind, &tag) {
        return Ok(known);
    }
    // The files are counted before the response, because the number of omitted ones is in a header, and an
    // empty list is an error.
    let counted = Arc::clone(&set);
    let count = state.source.work(Cost::Search, move |reading| {
        let algorithm = algorithm.clone();
        reading.registry.each_checksum::<accession::Error>(&counted, algorithm, |_, _, _| Ok(()))
    });
    let listed = count.await?;
    let algorithm = listed.algorithm;
    let open = move |registry: &Registry| {
        let files = registry.in_small_pages().files(&set);
        Ok(List::Checksums(files, algorithm.clone()))
    };
    let mut response = stream((state, request), kind, &tag, Cost::List, open).await?;
    let left_out = listed.granules + listed.files;
    if left_out > 0 {
        response.headers_mut().insert(LEFT_OUT, HeaderValue::from(left_out));
    }
    Ok(response)
}

impl Lines {
    /// The ETag of the list, which depends on everything that determines its bytes. A digest does not cover the
    /// weaker checksums of a file, so sets with equal digests may have different lists.
    fn tag(&self, set: &Set) -> String {
        let (digest, instance) = (set.digest(), set.instance());
        let algorithm = match self {
            Lines::Canonical => return format!("\"{digest}-list.{LIST_VERSION}\""),
            Lines::Checksums(algorithm) => algorithm.as_ref().map_or("usual", Algorithm::as_str),
        };
        let (dataset, at) = (set.dataset(), instance.timestamp.as_micros());
        format!("\"{digest}-checksums.{LIST_VERSION}-{algorithm}-{dataset}-{at}\"")
    }
}

/// The ids of granules, in pages.
type IdPages = Box<dyn Iterator<Item = Result<IdPage>> + Send>;

/// A list that is read in parts.
enum List {
    Granules(IdPages, Arc<GranuleQuery>),
    Canonical(FileList),
    Checksums(FileList, Algorithm),
}

impl List {
    /// Reads the next part. It is empty only if the list has ended and was verified.
    fn read(&mut self) -> Result<Vec<u8>> {
        let mut content = Vec::new();
        while content.len() < PART_BYTES {
            match self {
                List::Granules(pages, query) => match pages.next() {
                    Some(ids) => query.write(&mut content, &ids?),
                    None => break,
                },
                List::Canonical(files) => match files.next() {
                    Some(granule) => {
                        let Granule { granule_id, content: files, .. } = granule?;
                        files.write_line(granule_id.as_str(), &mut content);
                    }
                    None => break,
                },
                List::Checksums(files, algorithm) => match files.next() {
                    Some(granule) => write_checksums(&mut content, &granule?, algorithm),
                    None => break,
                },
            }
        }
        Ok(content)
    }
}

fn write_checksums(content: &mut Vec<u8>, granule: &Granule, algorithm: &Algorithm) {
    for file in granule.content.files() {
        let mut checksums = file.checksums().iter();
        if let Some(checksum) = checksums.find(|checksum| checksum.algorithm() == algorithm) {
            let path = file.path(&granule.granule_id);
            // Writing to memory cannot fail.
            let _ = ListStyle::Checksums.write_line(content, checksum, path);
        }
    }
}

/// The response that becomes 304 (Not Modified), if the client has cached the list with this ETag. `None` means
/// that it has not.
fn known(
    request: &Request,
    (format, policy): (Format, CachePolicy),
    tag: &str,
) -> Option<Response> {
    request.names(tag).then(|| response::list(format, tag, policy, Body::empty()))
}

/// Streams a list while it is read. Its first part is read before the response begins, so that most problems
/// have their own status.
async fn stream(
    (state, request): (&App, &Request),
    (format, policy): (Format, CachePolicy),
    tag: &str,
    cost: Cost,
    open: impl Fn(&Registry) -> Result<List> + Send + 'static,
) -> Result<Response, Rejection> {
    if !request.has_chunks() {
        return Err(Problem::http_version().into());
    }
    if let Some(known) = known(request, (format, policy), tag) {
        return Ok(known);
    }
    let deadline = Deadline::after(state.source.permits.time(cost));
    let waiting = deadline.waiting();
    let of = Arc::clone(&deadline);
    let read = state.source.work(cost, move |reading| {
        let mut list = open(&reading.unlimited.cancelled_by(of.token()))?;
        Ok((list.read()?, list))
    });
    let (first, list) = read.await?;
    let unread = Unread { state: Arc::clone(state), deadline, cost, list };
    // The next part is read while the client receives the previous one. Reading stops if the client
    // disconnects.
    let next = tokio::spawn(unread.next());
    let rest = try_unfold((next, waiting), async |(next, waiting)| {
        let read = next.await.map_err(io::Error::other)??;
        Ok(read.map(|(content, unread)| (content, (tokio::spawn(unread.next()), waiting))))
    });
    let parts = once(async { io::Result::Ok(Bytes::from(first)) }).chain(rest);
    Ok(response::list(format, tag, policy, Body::from_stream(parts)))
}

/// The unread rest of a list that is being sent.
struct Unread {
    state: App,
    deadline: Arc<Deadline>,
    cost: Cost,
    list: List,
}

impl Unread {
    /// Reads the next part. `None` means that the list has ended. An error cuts the connection.
    async fn next(self) -> io::Result<Option<(Bytes, Self)>> {
        let (state, deadline, cost) =
            (Arc::clone(&self.state), Arc::clone(&self.deadline), self.cost);
        deadline.restart(state.source.permits.time(cost));
        let read = state.source.permits.run(cost, &deadline, move || self.read()).await;
        read.and_then(|read| read.map_err(Problem::from)).map_err(|problem| {
            tracing::warn!(kind = problem.kind, cause = problem.cause, "a list was cut");
            io::Error::other(problem.detail)
        })
    }

    fn read(mut self) -> Result<Option<(Bytes, Self)>> {
        let content = self.list.read()?;
        Ok((!content.is_empty()).then(|| (content.into(), self)))
    }
}
