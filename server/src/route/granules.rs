//! The lists of a set: `/DI:…/granules`, its ids; `/DI:…/urls`, the addresses of its granules;
//! `/DI:…/checksums`, those of its files, as `sha256sum --check` reads them; and `/DI:…/list`, its canonical
//! list, of which the digest is the SHA-256.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::try_unfold;
use hyper::header::{CONTENT_ENCODING, HeaderValue};
use serde_json::json;

use super::dataset::{identifier_of, selection};
use crate::answer::{Answer, AnswerContent, Body, Keep, Stop, streamed, value};
use crate::conditions::ContentCoding;
use crate::files::{Unwritten, Writer};
use crate::pages::{Link, Site};
use crate::permits::{Cost, Deadline, Waiting};
use crate::problem::Problem;
use crate::request::{Asked, Format};
use crate::rows::{PAGE_BYTES, json};
use crate::state::ServerState;
use accession::error::Result;
use accession::fixity::{ListStyle, each_checksum};
use accession::model::{
    Algorithm, DatasetName, DigestPrefix, GranuleId, GranuleUrl, IdPage, Identifier, Pattern, Set,
};
use accession::registry::{GranuleFiles, Granules, IdPages, Registry, Selection};

/// The number of granules that are read at once: a page of the registry.
const PAGE_ROWS: usize = 4_096;

/// The number of granules from which on a compressed list is shorter.
const LEAST_COMPRESSED: u64 = 8;

/// How many granules and files were left out, since they have no checksum of the algorithm.
const LEFT_OUT: &str = "accession-left-out";

/// The version of the formats of a list, for its tag.
const LIST_VERSION: u32 = 1;

/// Lists the ids of a set: all of them, or at most `limit` after one of them.
pub async fn granules(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    if let Ok(digest) = asked.segment(0)?.parse() {
        return of_digest(state, asked, digest).await;
    }
    let identifier = identifier_of(state, asked)?;
    let wanted = GranuleQuery::read(asked, None)?;
    list(state, asked, identifier, Arc::new(wanted)).await
}

/// Leads to the ids of the set with a digest, which are those of its identifier.
async fn of_digest(
    state: &Arc<ServerState>,
    asked: &Asked,
    digest: DigestPrefix,
) -> Result<Answer, Stop> {
    let read = state.source.read(move |reading| {
        let selection = Selection::Digest(digest.clone());
        Ok(reading.registry.snapshot()?.select(&selection)?.set.identifier())
    });
    let path = Site::of_set(read.await?, "granules");
    Err(Stop::see_other(state.site.href(&asked.with_query(&path))))
}

/// Lists the addresses of the granules of a set, if its dataset says where they can be fetched.
pub async fn urls(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let identifier = identifier_of(state, asked)?;
    let dataset: Option<DatasetName> = asked.parsed("dataset")?;
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let dataset = dataset.clone().or(snapshot.first_holder(identifier)?);
        let selection = Selection::Identifier { identifier, dataset, at: None };
        let set = snapshot.select(&selection)?.set;
        snapshot.record(set.dataset())
    });
    let dataset = read.await?;
    let none = || format!("{} does not say where its granules can be fetched.", dataset.name);
    let template = dataset.granule_url.ok_or_else(|| Problem::unknown("no-granule-url", none()))?;
    let wanted = GranuleQuery::read(asked, Some(template))?;
    list(state, asked, identifier, Arc::new(wanted)).await
}

/// Sends what is wanted of a list: a page at once, so that its end is known; else a file, as soon as that is
/// written and, if it is whole, proved. One that is too long to wait for is streamed, as one is for which
/// there is no room.
async fn list(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    wanted: Arc<GranuleQuery>,
) -> Result<Answer, Stop> {
    if let Some(limit) = wanted.limit.filter(|limit| *limit <= PAGE_ROWS as u64) {
        return page(state, asked, identifier, wanted, limit).await;
    }
    let read = state.source.read(move |reading| {
        // It must be shown, whether or not its list is there.
        let snapshot = reading.registry.snapshot()?;
        let selection = Selection::Identifier { identifier, dataset: None, at: None };
        let granules = snapshot.select(&selection)?.set.granules();
        Ok((reading.unlimited.clone(), granules))
    });
    let (registry, granules) = read.await?;
    let (tag, is_searched) = (wanted.tag(identifier, asked), !wanted.patterns.is_empty());
    // Of a search that finds nothing, nothing would be sent: then no client is waited for.
    if is_searched || granules <= state.limits.waited_granules {
        let coding = match granules < LEAST_COMPRESSED {
            true => ContentCoding::Identity,
            false => asked.coding(),
        };
        let cost = match is_searched {
            true => (Cost::Search, state.limits.budget),
            // After half of the time of a request, there is time left to begin a stream.
            false => (Cost::List, state.limits.request_time / 2),
        };
        let (format, keep, tag) = (wanted.format, wanted.keep(), format!("{tag}{}", coding.tag()));
        let shared = Arc::clone(&wanted);
        let write = move |writer: &mut Writer| {
            let deadline = Arc::clone(&writer.deadline);
            coding.encode(writer, |target| {
                shared.write_list(&registry, identifier, &deadline, target)
            })
        };
        if let Some(mut answer) = stored((state, asked), format, &tag, keep, cost, write).await? {
            answer.headers.extend(coding.header().map(|coding| (CONTENT_ENCODING, coding)));
            return Ok(answer);
        }
        if is_searched {
            return Err(Problem::too_costly(
                "This takes longer than a request may, or there is no room for the result now.",
            )
            .into());
        }
    }
    stream(state, asked, identifier, wanted, &tag).await
}

/// A page of a list, and the address of the next one.
async fn page(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    wanted: Arc<GranuleQuery>,
    limit: u64,
) -> Result<Answer, Stop> {
    let (format, keep) = (wanted.format, wanted.keep());
    let cost = if wanted.patterns.is_empty() { Cost::Page } else { Cost::Search };
    let read = state.source.work(cost, move |reading| {
        let granules = open(&reading.registry, identifier, &wanted)?;
        read_page(granules.into_id_pages(), &wanted, limit)
    });
    let (content, last) = read.await?;
    let next = last.map(|last| asked.next_page(&state.site, last.as_str(), limit, format));
    let next = next.map(|next| Link::new("next", next));
    Ok(Answer::whole(format, content, keep).with_links(next))
}

/// A list from its file, or the confirmation that the client has it, before which it is not written. `None`
/// means that it could not be written in this time, or that there is no room for it.
async fn stored(
    (state, asked): (&ServerState, &Asked),
    format: Format,
    tag: &str,
    keep: Keep,
    (cost, time): (Cost, Duration),
    write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
) -> Result<Option<Answer>, Problem> {
    let answer = |content| Answer::of_type(&format.content_type(), content, keep).tagged(tag);
    if asked.conditions().names(&value(&format!("\"{tag}\""))) {
        return Ok(Some(answer(AnswerContent::Stream(Body::default()))));
    }
    let list = state.files.get(tag, state.source.permits.of(cost), time, write).await?;
    Ok(list.map(|list| {
        let left_out = list.left_out;
        let mut answer = answer(AnswerContent::File(list));
        if left_out > 0 {
            answer.headers.insert(LEFT_OUT, HeaderValue::from(left_out));
        }
        answer
    }))
}

/// Sends a list while it is read. One that cannot be read to its end, or does not prove, breaks off, so that
/// nobody takes it for a whole one. Over HTTP/1.0, which has no chunks, it would look complete.
async fn stream(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    wanted: Arc<GranuleQuery>,
    tag: &str,
) -> Result<Answer, Stop> {
    if asked.is_http_10() {
        let detail =
            "This list is too long for HTTP/1.0: use HTTP/1.1, or a limit of at most 4096.";
        return Err(Problem::conflict("list-too-long", detail).into());
    }
    let deadline = Deadline::after(state.source.permits.time(Cost::Page));
    let waiting = deadline.waiting();
    let (of, shared) = (Arc::clone(&deadline), Arc::clone(&wanted));
    let opened = state.source.read(move |reading| {
        let registry = reading.unlimited.with_monitor(Arc::<Deadline>::clone(&of));
        // Without a thread of its own, since many clients may stall.
        Ok(open(&registry, identifier, &shared)?.hashed_here().into_id_pages())
    });
    let (pages, left) = (opened.await?, wanted.limit.unwrap_or(u64::MAX));
    let (content_type, keep) = (wanted.format.content_type(), wanted.keep());
    let unsent =
        Unsent { state: Arc::clone(state), deadline, pages, wanted, left, _waiting: waiting };
    let body = AnswerContent::Stream(streamed(try_unfold(unsent, Unsent::next)));
    Ok(Answer::of_type(&content_type, body, keep).tagged(tag))
}

/// The granules of a set, from its first one or after another one. A list without a limit is proved.
fn open(registry: &Registry, identifier: Identifier, wanted: &GranuleQuery) -> Result<Granules> {
    let snapshot = registry.snapshot()?;
    let selection = Selection::Identifier { identifier, dataset: None, at: None };
    let mut granules = snapshot.granules(&snapshot.select(&selection)?.set)?;
    if wanted.limit.is_some() {
        granules = granules.unproved();
    }
    Ok(match &wanted.after {
        Some(after) => granules.after(after),
        None => granules,
    })
}

/// Which ids are sent, and how.
struct GranuleQuery {
    format: Format,
    patterns: Vec<Pattern>,
    /// The addresses that are sent instead of the ids. An id without one is left out.
    urls: Option<GranuleUrl>,
    after: Option<GranuleId>,
    limit: Option<u64>,
}

impl GranuleQuery {
    /// What a request asks for.
    fn read(asked: &Asked, urls: Option<GranuleUrl>) -> Result<Self, Problem> {
        let format = asked.format(&[Format::Lines, Format::JsonLines])?;
        let refused = || Problem::usage("The parameter limit is a number of at least 1.");
        let limit = asked.parsed("limit").map_err(|_| refused())?;
        if limit == Some(0) {
            return Err(refused());
        }
        let after = asked.parsed("after")?;
        Ok(GranuleQuery { format, patterns: asked.patterns()?, urls, after, limit })
    }

    /// Where granules are fetched can change.
    fn keep(&self) -> Keep {
        if self.urls.is_some() { Keep::WhileCurrent } else { Keep::Forever }
    }

    /// The tag of the list, which depends on the identifier, on what was asked for, and on how it is written.
    fn tag(&self, identifier: Identifier, asked: &Asked) -> String {
        use sha2::{Digest, Sha256};
        let tag = format!("{identifier}-{}.{LIST_VERSION}", self.format.name());
        let is_whole = self.patterns.is_empty() && self.after.is_none() && self.limit.is_none();
        if is_whole && self.urls.is_none() {
            return tag;
        }
        let urls = self.urls.as_ref().map_or("", GranuleUrl::as_str);
        let of = Sha256::digest(format!("{} {urls}", asked.query()));
        format!("{tag}-{}", hex::encode(&of[..8]))
    }

    /// Writes all that is wanted, and proves it if it is the whole list.
    fn write_list(
        &self,
        registry: &Registry,
        identifier: Identifier,
        deadline: &Deadline,
        target: &mut dyn Write,
    ) -> Result<(), Unwritten> {
        let (mut content, mut left) = (Vec::new(), self.limit.unwrap_or(u64::MAX));
        for page in open(registry, identifier, self)?.into_id_pages() {
            if deadline.is_over() {
                return Err(io::Error::from(io::ErrorKind::TimedOut).into());
            }
            content.clear();
            self.write(&mut content, usize::MAX, &page?, &mut left);
            target.write_all(&content)?;
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Writes the ids of a page that are wanted, at most `left` of them, which are subtracted, and no more
    /// than it takes to reach `most_bytes`. Returns how many of the page were read, and the last of those.
    fn write<'page>(
        &self,
        content: &mut Vec<u8>,
        most_bytes: usize,
        ids: &'page IdPage,
        left: &mut u64,
    ) -> (usize, Option<&'page str>) {
        if self.patterns.is_empty()
            && self.urls.is_none()
            && self.format == Format::Lines
            && ids.as_lines().len() <= most_bytes
            && let Some(rest) = left.checked_sub(ids.len() as u64)
        {
            content.extend_from_slice(ids.as_lines().as_bytes());
            *left = rest;
            return (ids.len(), ids.iter().last());
        }
        let (mut read, mut last) = (0, None);
        for granule_id in ids.iter() {
            if *left == 0 || content.len() >= most_bytes {
                break;
            }
            (read, last) = (read + 1, Some(granule_id));
            let mut patterns = self.patterns.iter();
            if self.patterns.is_empty() || patterns.any(|pattern| pattern.matches(granule_id)) {
                self.write_one(content, granule_id);
                *left -= 1;
            }
        }
        (read, last)
    }

    fn write_one(&self, content: &mut Vec<u8>, granule_id: &str) {
        let Some(template) = &self.urls else { return write(content, self.format, granule_id) };
        // Every id was checked when its page was made.
        let address = GranuleId::new(granule_id).ok().and_then(|id| template.address_of(&id));
        let line = match (self.format, address) {
            (Format::JsonLines, address) => json(&json!({ "granule": granule_id, "url": address })),
            (_, Some(address)) => address + "\n",
            (_, None) => return,
        };
        content.extend_from_slice(line.as_bytes());
    }
}

/// Reads a page of the registry, and what of it is wanted. The id after which the list goes on is
/// returned unless it has ended.
fn read_page(
    mut pages: IdPages,
    wanted: &GranuleQuery,
    limit: u64,
) -> Result<(Vec<u8>, Option<GranuleId>)> {
    let ids = pages.next().transpose()?.unwrap_or_default();
    let (mut content, mut left) = (Vec::new(), limit);
    let (read, last) = wanted.write(&mut content, PAGE_BYTES, &ids, &mut left);
    let has_more = read < ids.len() || (!ids.is_empty() && pages.next().transpose()?.is_some());
    // Every id was checked when the page was made.
    let last = last.filter(|_| has_more).and_then(|last| GranuleId::new(last).ok());
    Ok((content, last))
}

/// A list that is sent from the registry: a page is read when the client has taken the one before.
struct Unsent {
    state: Arc<ServerState>,
    deadline: Arc<Deadline>,
    pages: IdPages,
    wanted: Arc<GranuleQuery>,
    /// How many ids are still wanted.
    left: u64,
    _waiting: Waiting,
}

impl Unsent {
    /// What is sent next. `None` means that the list has ended.
    async fn next(self) -> io::Result<Option<(Bytes, Self)>> {
        let (state, deadline) = (Arc::clone(&self.state), Arc::clone(&self.deadline));
        deadline.restart(state.source.permits.time(Cost::Page));
        let read = state.source.permits.run(Cost::Page, &deadline, move || self.read()).await;
        read.and_then(|read| read.map_err(Problem::from)).map_err(|problem| {
            tracing::warn!(kind = problem.kind, cause = problem.cause, "a list broke off");
            io::Error::other(problem.detail)
        })
    }

    /// Reads until there is something to send, or the list ends.
    fn read(mut self) -> Result<Option<(Bytes, Self)>> {
        let mut content = Vec::new();
        while content.is_empty() && self.left > 0 {
            let Some(ids) = self.pages.next().transpose()? else { break };
            self.wanted.write(&mut content, usize::MAX, &ids, &mut self.left);
        }
        Ok((!content.is_empty()).then(|| (content.into(), self)))
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

/// The bytes that are written at once.
const WRITTEN_BYTES: usize = 64 * 1_024;

/// A list that is asked for.
struct ChecksumQuery {
    registry: Registry,
    set: Set,
    lines: Lines,
}

/// What the lines of a list are.
#[derive(Clone)]
enum Lines {
    Canonical,
    /// The checksums of an algorithm. `None` means the usual one, which follows from what is known.
    Checksums(Option<Algorithm>),
}

/// Lists the checksums of one algorithm.
pub async fn checksums(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let lines = Lines::Checksums(asked.parsed("algorithm")?);
    written(state, asked, lines).await
}

/// Lists a set with the strongest checksums of its files.
pub async fn canonical(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    written(state, asked, Lines::Canonical).await
}

/// Sends a list of what is recorded of a set, as soon as it is written.
async fn written(state: &Arc<ServerState>, asked: &Asked, lines: Lines) -> Result<Answer, Stop> {
    let (selection, _) = selection(state, asked)?;
    let format = asked.format(&[Format::Lines])?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = snapshot.select_contents(&selection)?;
        let registry = reading.unlimited.clone();
        Ok(ChecksumQuery { registry, set, lines: lines.clone() })
    });
    let wanted = read.await?;
    let name = wanted.name();
    let write = move |writer: &mut Writer| wanted.write(writer);
    let cost = (Cost::List, state.limits.request_time);
    let answer = stored((state, asked), format, &name, Keep::WhileCurrent, cost, write).await?;
    let detail = "This list cannot be made in the time of a request, or does not fit into what the server \
        keeps on disk now: use the program.";
    answer.ok_or_else(|| Problem::too_costly(detail).into())
}

impl ChecksumQuery {
    /// All that decides the list. A digest does not cover the weaker checksums of a file, so that equal
    /// ones may have other lists.
    fn name(&self) -> String {
        let (digest, instance) = (self.set.digest(), self.set.instance());
        let algorithm = match &self.lines {
            Lines::Canonical => return format!("{digest}-list.{LIST_VERSION}"),
            Lines::Checksums(algorithm) => algorithm.as_ref().map_or("usual", Algorithm::as_str),
        };
        let (dataset, at) = (self.set.dataset(), instance.timestamp.as_micros());
        format!("{digest}-checksums.{LIST_VERSION}-{algorithm}-{dataset}-{at}")
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Unwritten> {
        let snapshot = self.registry.snapshot()?;
        let mut out = BufWriter::with_capacity(WRITTEN_BYTES, writer);
        match &self.lines {
            Lines::Canonical => {
                let (files, mut line) = (snapshot.files(&self.set)?, Vec::new());
                drop(snapshot);
                for granule in files {
                    let GranuleFiles { granule_id, content } = granule?;
                    line.clear();
                    content.write_line(granule_id.as_str(), &mut line);
                    out.write_all(&line)?;
                }
            }
            Lines::Checksums(algorithm) => {
                let listed =
                    each_checksum(snapshot, &self.set, algorithm.clone(), |id, file, it| {
                        let written = ListStyle::Checksums.write_line(&mut out, it, file.path(id));
                        written.map_err(Unwritten::from)
                    });
                let listed = listed?;
                out.get_mut().left_out = listed.granules + listed.files;
            }
        }
        Ok(out.flush()?)
    }
}
