//! `/DI:…/granules`: the ids of a set; `/DI:…/urls`: the addresses of its granules.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::try_unfold;
use hyper::header::{CONTENT_ENCODING, HeaderValue};
use serde_json::json;

use super::set::{at_path, identifier_in};
use crate::error::{Error, Result};
use crate::model::{DatasetName, GranuleId, GranuleUrl, IdPage, Identifier, Pattern};
use crate::pages::{Link, Site};
use crate::registry::{IdPages, Registry, Selection};
use crate::server::answer::{Answer, AnswerContent, Body, Keep, Stop, streamed, value};
use crate::server::conditions::ContentCoding;
use crate::server::files::{Unwritten, Writer};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::rows::{PAGE_BYTES, json};
use crate::server::source::{Cost, Deadline, Waiting};
use crate::server::state::ServerState;

/// The number of granules that are read at once: a page of the registry.
const PAGE_ROWS: usize = 4_096;

/// The greatest length of a part that is handed to the connection, which may make a copy of it.
const PART_BYTES: usize = 64 * 1_024;

/// The number of granules from which on a compressed list is shorter.
const LEAST_COMPRESSED: u64 = 8;

/// How many granules and files were left out, since they have no checksum of the algorithm.
const LEFT_OUT: &str = "accession-left-out";

/// The version of the formats of a list, for its tag.
const LIST_VERSION: u32 = 1;

const OFFERED: [Format; 2] = [Format::Lines, Format::JsonLines];

/// Lists the ids of a set: all of them, or at most `limit` after one of them.
pub async fn granules(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    at_path(state, asked, &Site::granules(identifier))?;
    let format = asked.format(&OFFERED)?;
    let wanted = GranuleQuery::read(asked, format, None)?;
    let is_whole = (&wanted.after, wanted.limit) == (&None, None) && wanted.patterns.is_empty();
    if !is_whole {
        return part(state, asked, identifier, wanted).await;
    }
    whole_list(state, asked, identifier, format).await
}

/// Lists the addresses of the granules of a set, if its dataset says where they can be fetched.
pub async fn urls(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    at_path(state, asked, &Site::urls(identifier))?;
    let format = asked.format(&OFFERED)?;
    let dataset: Option<DatasetName> = asked.parsed("dataset")?;
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let selection = Selection::Identifier { identifier, dataset: dataset.clone(), at: None };
        let set = snapshot.select(&selection)?.set;
        Ok(snapshot.dataset(set.dataset())?.dataset)
    });
    let dataset = read.await?;
    let none = || format!("{} does not say where its granules can be fetched.", dataset.name);
    let template = dataset.granule_url.ok_or_else(|| Problem::unknown("no-granule-url", none()))?;
    part(state, asked, identifier, GranuleQuery::read(asked, format, Some(template))?).await
}

/// Sends what is wanted of a list from the registry.
async fn part(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    wanted: GranuleQuery,
) -> Result<Answer, Stop> {
    let GranuleQuery { format, limit, .. } = wanted;
    // Where granules are fetched can change.
    let keep = if wanted.urls.is_some() { Keep::WhileCurrent } else { Keep::Forever };
    let tag = wanted.tag(identifier, asked);
    // A page is read at once, so that its end is known; a longer part of a list is streamed.
    match limit {
        Some(limit) if limit <= PAGE_ROWS as u64 => {
            let read = state.source.work(wanted.cost(), move |reading| {
                read_page(open(&reading.registry, identifier, &wanted)?, &wanted, limit)
            });
            let (content, last) = read.await?;
            let next = last.map(|last| asked.next_page(&state.site, last.as_str(), limit, format));
            let next = next.map(|next| Link::new("next", next));
            Ok(Answer::whole(format, content, keep).unkept().with_links(next))
        }
        _ => stream(state, asked, wanted, identifier, &tag, keep).await,
    }
}

/// Sends a whole list: from its file, as soon as that is written and proved. One that is too long to wait
/// for is streamed, as one is for which there is no room.
async fn whole_list(
    state: &Arc<ServerState>,
    asked: &Asked,
    identifier: Identifier,
    format: Format,
) -> Result<Answer, Stop> {
    let read = state.source.read(move |reading| {
        // It must be shown, whether or not its list is there.
        let snapshot = reading.registry.snapshot()?;
        let selection = Selection::Identifier { identifier, dataset: None, at: None };
        let granules = snapshot.select(&selection)?.set.granules();
        Ok((reading.unlimited.clone(), granules))
    });
    let (registry, granules) = read.await?;
    let name = format!("{identifier}-{}.{LIST_VERSION}", format.name());
    if granules <= state.limits.waited_granules {
        let coding = match granules < LEAST_COMPRESSED {
            true => ContentCoding::Identity,
            false => asked.coding(),
        };
        let write = move |writer: &mut Writer| {
            coding.encode(writer, |target| write_list(&registry, identifier, format, target))
        };
        let tag = format!("{name}{}", coding.tag());
        // There is time left to begin a stream.
        let time = state.limits.request_time / 2;
        if let Some(mut answer) =
            stored((state, asked), format, &tag, Keep::Forever, time, write).await?
        {
            answer.headers.extend(coding.header().map(|coding| (CONTENT_ENCODING, coding)));
            return Ok(answer);
        }
    }
    stream(state, asked, GranuleQuery::all(format), identifier, &name, Keep::Forever).await
}

/// A list from its file, or the confirmation that the client has it, before which it is not written. `None`
/// means that it could not be written in this time, or that there is no room for it.
pub async fn stored(
    (state, asked): (&ServerState, &Asked),
    format: Format,
    tag: &str,
    keep: Keep,
    time: Duration,
    write: impl FnOnce(&mut Writer) -> Result<(), Unwritten> + Send + 'static,
) -> Result<Option<Answer>, Problem> {
    let answer = |content| Answer::of_type(&format.content_type(), content, keep).tagged(tag);
    if asked.conditions().names(&value(&format!("\"{tag}\""))) {
        return Ok(Some(answer(AnswerContent::Stream(Body::default()))));
    }
    let list = state.files.get(tag, time, write).await?;
    Ok(list.map(|list| {
        let left_out = list.left_out;
        let mut answer = answer(AnswerContent::File(list));
        if left_out > 0 {
            answer.headers.insert(LEFT_OUT, HeaderValue::from(left_out));
        }
        answer
    }))
}

/// Sends a list while it is read. Over HTTP/1.0, which has no chunks, one that breaks off would look
/// complete.
async fn stream(
    state: &Arc<ServerState>,
    asked: &Asked,
    wanted: GranuleQuery,
    identifier: Identifier,
    tag: &str,
    keep: Keep,
) -> Result<Answer, Stop> {
    if asked.is_http_10() {
        let detail =
            "This list is too long for HTTP/1.0: use HTTP/1.1, or a limit of at most 4096.";
        return Err(Problem::conflict("list-too-long", detail).into());
    }
    let content_type = wanted.format.content_type();
    let body = Unsent::open(state, wanted, identifier).await?.stream().await?;
    Ok(Answer::of_type(&content_type, AnswerContent::Stream(body), keep).tagged(tag))
}

/// Writes a whole list, and proves it.
fn write_list(
    registry: &Registry,
    identifier: Identifier,
    format: Format,
    target: &mut dyn Write,
) -> Result<(), Unwritten> {
    let snapshot = registry.snapshot()?;
    let set = snapshot.select(&Selection::Identifier { identifier, dataset: None, at: None })?.set;
    let pages = snapshot.granules(&set)?.into_id_pages();
    drop(snapshot);
    let wanted = GranuleQuery::all(format);
    let (mut content, mut left) = (Vec::new(), u64::MAX);
    for page in pages {
        content.clear();
        wanted.write(&mut content, usize::MAX, &page?, &mut left);
        target.write_all(&content)?;
    }
    Ok(())
}

/// The ids of a set, from its first one or after another one. A list without a limit is proved, without
/// a thread of its own, since many clients may stall.
fn open(registry: &Registry, identifier: Identifier, wanted: &GranuleQuery) -> Result<IdPages> {
    let snapshot = registry.snapshot()?;
    let selection = Selection::Identifier { identifier, dataset: None, at: None };
    let mut granules = snapshot.granules(&snapshot.select(&selection)?.set)?.hashed_here();
    if wanted.limit.is_some() {
        granules = granules.unproved();
    }
    if let Some(after) = &wanted.after {
        granules = granules.after(after);
    }
    Ok(granules.into_id_pages())
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
    /// All ids.
    fn all(format: Format) -> Self {
        GranuleQuery { format, patterns: Vec::new(), urls: None, after: None, limit: None }
    }

    /// What a request asks for.
    fn read(asked: &Asked, format: Format, urls: Option<GranuleUrl>) -> Result<Self, Problem> {
        let refused = || Problem::usage("The parameter limit is a number of at least 1.");
        let limit = asked.parsed("limit").map_err(|_| refused())?;
        if limit == Some(0) {
            return Err(refused());
        }
        let after = asked.parsed("after")?;
        Ok(GranuleQuery { format, patterns: asked.patterns()?, urls, after, limit })
    }

    /// The tag of the list, which depends on the identifier, on what was asked for, and on how it is written.
    fn tag(&self, identifier: Identifier, asked: &Asked) -> String {
        use sha2::{Digest, Sha256};
        let urls = self.urls.as_ref().map_or("", GranuleUrl::as_str);
        let of = Sha256::digest(format!("{} {urls}", asked.query()));
        format!("{identifier}-{}.{LIST_VERSION}-{}", self.format.name(), hex::encode(&of[..8]))
    }

    /// A pattern that matches nothing sends nothing: then no client is waited for.
    fn cost(&self) -> Cost {
        if self.patterns.is_empty() { Cost::Page } else { Cost::Comparison }
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
    waiting: Waiting,
    unread: Unread,
}

/// What of a list is still to be read.
struct Unread {
    pages: IdPages,
    wanted: Arc<GranuleQuery>,
    /// How many ids are still wanted.
    left: u64,
    /// How long a page may take or, if there are patterns, all of them together.
    time: Duration,
}

impl Unsent {
    async fn open(
        state: &Arc<ServerState>,
        wanted: GranuleQuery,
        identifier: Identifier,
    ) -> Result<Self, Problem> {
        let deadline = Deadline::after(state.source.time(Cost::Page));
        let waiting = deadline.waiting();
        let (of, wanted) = (Arc::clone(&deadline), Arc::new(wanted));
        let shared = Arc::clone(&wanted);
        let opened = state.source.read(move |reading| {
            let registry = reading.unlimited.with_monitor(Arc::<Deadline>::clone(&of));
            open(&registry, identifier, &shared)
        });
        let time = state.source.time(wanted.cost());
        let left = wanted.limit.unwrap_or(u64::MAX);
        let unread = Unread { pages: opened.await?, wanted, left, time };
        Ok(Unsent { state: Arc::clone(state), deadline, waiting, unread })
    }

    /// The list as a body. One that cannot be read to its end, or does not prove, breaks off, so that
    /// nobody takes it for a whole one. The first ids that match patterns are searched for before the
    /// response begins, so that too long a search is refused.
    async fn stream(self) -> Result<Body, Problem> {
        let Unsent { state, deadline, waiting, unread } = self;
        let (mut first, mut unread) = (Bytes::new(), Some(unread));
        if let Some(searched) = unread.take_if(|unread| !unread.wanted.patterns.is_empty()) {
            (first, unread) = next_page(&state, &deadline, searched).await?;
        }
        let begun = (first, unread, deadline, waiting);
        Ok(streamed(try_unfold(begun, move |(mut ready, mut unread, deadline, waiting)| {
            let state = Arc::clone(&state);
            async move {
                while ready.is_empty() {
                    let Some(rest) = unread.take() else {
                        return Ok::<_, std::io::Error>(None);
                    };
                    let page = next_page(&state, &deadline, rest).await;
                    (ready, unread) = page.map_err(|problem| {
                        tracing::warn!(
                            kind = problem.kind,
                            cause = problem.cause,
                            "a list broke off"
                        );
                        std::io::Error::other(problem.detail)
                    })?;
                }
                let part = ready.split_to(ready.len().min(PART_BYTES));
                Ok(Some((part, (ready, unread, deadline, waiting))))
            }
        })))
    }
}

/// Reads what is sent next, and what is left of the list then.
async fn next_page(
    state: &ServerState,
    deadline: &Arc<Deadline>,
    unread: Unread,
) -> Result<(Bytes, Option<Unread>), Problem> {
    let cost = unread.wanted.cost();
    deadline.restart(state.source.time(Cost::Page));
    let of = Arc::clone(deadline);
    let read = state.source.run(cost, deadline, move || unread.read(&of));
    let (content, unread) = read.await??;
    Ok((content.into(), unread))
}

impl Unread {
    /// Reads until there is something to send, or the list ends.
    fn read(mut self, deadline: &Deadline) -> Result<(Vec<u8>, Option<Self>)> {
        let began = Instant::now();
        deadline.restart(self.time);
        let mut content = Vec::new();
        while content.is_empty() && self.left > 0 {
            let Some(ids) = self.pages.next().transpose()? else { return Ok((content, None)) };
            self.wanted.write(&mut content, usize::MAX, &ids, &mut self.left);
            if deadline.is_over() {
                return Err(Error::interrupted());
            }
        }
        if self.wanted.cost() == Cost::Comparison {
            self.time = self.time.saturating_sub(began.elapsed());
        }
        let is_over = self.left == 0;
        Ok((content, (!is_over).then_some(self)))
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
