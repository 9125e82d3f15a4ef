//! What only one of a mirror and its primary has, from the blocks of the primary's set.

use std::io::{BufRead, BufReader, Read};
use std::iter::Peekable;
use std::sync::Arc;

use ureq::http::header;
use url::Url;

use super::client::{Client, Coding, Content, Failure};
use super::remote::{FetchedHead, Remote};
use crate::chain::Chain;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::blocks::{Block, MAX_BLOCK_LINE_BYTES};
use crate::mirror::differences::Held;
use crate::model::{Event, EventKind, Granule, GranuleId, Identifier, SourceLocation, Timestamp};
use crate::registry::{Merge, Side};

/// A block whose ids are not those of the mirror.
struct DifferingBlock {
    block: Block,
    /// Its line in the list of blocks.
    line: u64,
    /// Where the next block begins. `None` means that it is the last one.
    until: Option<String>,
}

/// The granules that a mirror holds, from the first one, as often as it is called.
pub(super) type HeldAgain<'a> = dyn Fn() -> Result<Held> + 'a;

/// What is compared.
pub(super) struct Divergence<'a> {
    pub remote: &'a Remote,
    pub of: &'a FetchedHead,
    /// The set of the primary, and since when it is in force.
    pub identifier: Identifier,
    pub since: Timestamp,
    pub held: &'a HeldAgain<'a>,
}

/// Why a list was not read to its end.
enum Stop {
    Failed(Failure),
    /// The primary has no list of blocks, or one that cannot be used.
    NotThere,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(Failure::Lasting(error))
    }
}

impl Divergence<'_> {
    /// Passes to `add` the events that make the set of the mirror that of the primary. Returns
    /// `false` if the server has no blocks that can be used; what was added then is to be dropped.
    ///
    /// Nothing of what the server sends is trusted: the caller recomputes the identifier of the
    /// result.
    pub fn events(
        &self,
        progress: &mut dyn FnMut(u64) -> Result<()>,
        add: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<bool> {
        let Some(url) = self.of.address.of_set(self.identifier, "blocks") else { return Ok(false) };
        let mut attempt = 0;
        let (first, differing) = loop {
            attempt += 1;
            match self.differing(&url, progress) {
                Ok(found) => break found,
                Err(Stop::NotThere) => return Ok(false),
                Err(Stop::Failed(failure)) => self.remote.client.wait(attempt, failure)?,
            }
        };
        let held = &mut (self.held)()?.peekable();
        // What the mirror holds before the first granule of the primary.
        while let Some(granule_id) = next_before(held, first.as_deref())? {
            add(self.deleted(granule_id))?;
        }
        let mut left = &differing[..];
        let mut attempt = 0;
        while !left.is_empty() {
            // Neighbours are fetched together.
            let joined = left.windows(2).take_while(|pair| are_neighbours(&pair[0], &pair[1]));
            let (mut run, rest) = left.split_at(joined.count() + 1);
            while !run.is_empty() {
                let (before, pace) = (run.len(), self.remote.client.pace());
                match self.fetch(&mut run, held, add) {
                    Ok(()) => attempt = 0,
                    Err(Stop::NotThere) => return Ok(false),
                    Err(Stop::Failed(failure)) => {
                        let is_progress = run.len() < before && self.remote.client.was_fast(&pace);
                        attempt = if is_progress { 1 } else { attempt + 1 };
                        self.remote.client.wait(attempt, failure)?;
                    }
                }
            }
            left = rest;
        }
        Ok(true)
    }

    /// Of a granule that the mirror holds: it is in no list.
    fn deleted(&self, granule_id: GranuleId) -> Event {
        let (at, kind) = (self.since, EventKind::Deleted);
        Event { at, kind, granule_id, producer_granule: None, location: None }
    }

    fn ingested(&self, granule_id: GranuleId, location: SourceLocation) -> Event {
        let (at, kind, location) = (self.since, EventKind::Ingested, Some(location));
        Event { at, kind, granule_id, producer_granule: None, location }
    }

    /// The first id of the primary, and the blocks that are not as the mirror's.
    fn differing(
        &self,
        url: &Url,
        progress: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<(Option<String>, Vec<DifferingBlock>), Stop> {
        let head = &self.of.head;
        // Each block has one id, which is in the log too.
        let limit = head.segments.bytes().saturating_add(head.granules.saturating_mul(128));
        let mut lines = self.list(url, "application/jsonl", limit)?;
        let held = &mut (self.held)()?.peekable();
        let (mut first, mut differing) = (None, Vec::new());
        let (mut current, mut granules): (Option<Block>, u64) = (None, 0);
        loop {
            let line = lines.next(MAX_BLOCK_LINE_BYTES)?;
            let next = line.map(Block::parse).transpose().map_err(|what| lines.wrong(&what))?;
            if let Some(next) = &next {
                granules += next.granules;
                progress(next.granules)?;
                if current.as_ref().is_some_and(|current| current.first >= next.first) {
                    return Err(lines.wrong("its blocks are out of order").into());
                }
            }
            let until = next.as_ref().map(|next| next.first.clone());
            match current {
                None => {
                    first.clone_from(&until);
                    while next_before(held, until.as_deref())?.is_some() {}
                }
                Some(block) => {
                    let (mut chain, mut count) = (Chain::start(), 0);
                    while let Some(granule_id) = next_before(held, until.as_deref())? {
                        chain.push(granule_id.as_str());
                        count += 1;
                    }
                    if (count, chain.identifier()) != (block.granules, block.identifier) {
                        let line = lines.number - 1;
                        differing.push(DifferingBlock { block, line, until });
                    }
                }
            }
            current = next;
            if current.is_none() {
                break;
            }
        }
        if granules != head.granules {
            let what = format!("it has {granules} granules, the head has {}", head.granules);
            return Err(lines.wrong(&what).into());
        }
        Ok((first, differing))
    }

    /// Fetches the ids of blocks that follow each other. Those that were read are removed from `run`.
    fn fetch(
        &self,
        run: &mut &[DifferingBlock],
        held: &mut Peekable<Held>,
        add: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<(), Stop> {
        let Some(DifferingBlock { block, .. }) = run.first() else { return Ok(()) };
        let granules: u64 = run.iter().map(|block| block.block.granules).sum();
        let Some(mut url) = self.of.address.of_set(self.identifier, "granules") else {
            return Err(Stop::NotThere);
        };
        // The first id is known: the list begins after it.
        let limit = (granules - 1).to_string();
        url.query_pairs_mut().append_pair("after", &block.first).append_pair("limit", &limit);
        let mut lines = match granules {
            1 => None,
            _ => Some(self.list(&url, "text/plain", self.of.head.segments.bytes())?),
        };
        let source: Arc<str> = url.as_str().into();
        let mut is_first = true;
        while let Some(DifferingBlock { block, line, until }) = run.first() {
            let mut ids: Vec<Event> = Vec::new();
            let mut chain = Chain::start();
            for _ in 0..block.granules {
                let mut location = SourceLocation::Line {
                    source: Arc::clone(&source),
                    line: lines.as_ref().map_or(0, |lines| lines.number + 1),
                };
                let granule_id = match &mut lines {
                    _ if std::mem::take(&mut is_first) => {
                        // It is known from the list of blocks.
                        location = self.in_blocks(*line);
                        GranuleId::new(block.first.as_str())
                    }
                    Some(lines) => match lines.next(GranuleId::MAX_BYTES as u64 + 1)? {
                        Some(line) => {
                            GranuleId::from_bytes(line.strip_suffix(b"\n").unwrap_or(line))
                        }
                        None => return Err(lines.broken("it ends early")),
                    },
                    None => return Err(Stop::NotThere),
                };
                let granule_id =
                    granule_id.map_err(|error| wrong(lines.as_ref(), &url, &error.to_string()))?;
                if ids.last().is_some_and(|last| last.granule_id >= granule_id) {
                    return Err(wrong(lines.as_ref(), &url, "its ids are out of order").into());
                }
                chain.push(granule_id.as_str());
                ids.push(self.ingested(granule_id, location));
            }
            if chain.identifier() != block.identifier {
                let what = "its ids are not those of the block";
                return Err(wrong(lines.as_ref(), &url, what).into());
            }
            // The mirror's granules of the blocks between are those of the primary.
            while next_before(held, Some(&block.first))?.is_some() {}
            let ours = std::iter::from_fn(|| next_before(held, until.as_deref()).transpose());
            for side in Merge::of(ours.peekable(), ids.into_iter().map(Ok).peekable()) {
                match side? {
                    Side::Left(granule_id) => add(self.deleted(granule_id))?,
                    Side::Right(event) => add(event)?,
                    Side::Both(..) => {}
                }
            }
            *run = &run[1..];
        }
        Ok(())
    }

    /// A line of the list of blocks.
    fn in_blocks(&self, line: u64) -> SourceLocation {
        let url = self.of.address.of_set(self.identifier, "blocks");
        SourceLocation::Line { source: url.map_or_else(String::new, String::from).into(), line }
    }

    /// Requests a list of lines.
    fn list(&self, url: &Url, media_type: &str, limit: u64) -> Result<Lines<'_>, Stop> {
        let headers = [(header::ACCEPT, media_type), (header::ACCEPT_ENCODING, "gzip, identity")];
        let response = self.remote.client.get(url, &headers).map_err(Stop::Failed)?;
        let named = |name: header::HeaderName| response.headers().get(name);
        let content_type = named(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let is_list = content_type.is_some_and(|it| it.starts_with(media_type));
        // A server for files has no such list.
        if response.status().as_u16() != 200 || !is_list {
            return Err(Stop::NotThere);
        }
        let coding = match named(header::CONTENT_ENCODING) {
            Some(coding) if coding == "gzip" => Coding::Gzip,
            _ => Coding::Identity,
        };
        let client = &self.remote.client;
        let body = BufReader::new(client.body(response, limit, coding));
        Ok(Lines { client, url: url.clone(), body, line: Vec::new(), number: 0 })
    }
}

/// The error for the last line of a list or, where no list was needed, for its address.
fn wrong(lines: Option<&Lines<'_>>, url: &Url, what: &str) -> Error {
    match lines {
        Some(lines) => lines.wrong(what),
        None => Error::of_url(ErrorKind::Response, url, what),
    }
}

fn are_neighbours(left: &DifferingBlock, right: &DifferingBlock) -> bool {
    left.until.as_ref() == Some(&right.block.first)
}

/// The next granule that is held, if it is before an id. `None` means no end.
fn next_before(held: &mut Peekable<Held>, until: Option<&str>) -> Result<Option<GranuleId>> {
    let is_before = |next: &Result<Granule>| match next {
        Ok(granule) => until.is_none_or(|until| granule.granule_id.as_str() < until),
        Err(_) => true,
    };
    Ok(held.next_if(is_before).transpose()?.map(|granule| granule.granule_id))
}

/// The lines of a response.
struct Lines<'a> {
    client: &'a Client,
    url: Url,
    body: BufReader<Content>,
    line: Vec<u8>,
    /// How many were read.
    number: u64,
}

impl Lines<'_> {
    /// The next line, with its line end. `None` means that there are no more.
    fn next(&mut self, most: u64) -> Result<Option<&[u8]>, Stop> {
        self.line.clear();
        let read = (&mut self.body).take(most).read_until(b'\n', &mut self.line);
        self.number += 1;
        match read {
            Ok(0) => Ok(None),
            Ok(_) if self.line.ends_with(b"\n") => Ok(Some(&self.line)),
            Ok(read) if read as u64 == most => Err(self.wrong("the line is too long").into()),
            Ok(_) => Err(self.broken("it ends early")),
            Err(error) => Err(Stop::Failed(self.client.broken(&self.url, &error))),
        }
    }

    fn broken(&self, what: &str) -> Stop {
        let error = Error::of_url(ErrorKind::NoResponse, &self.url, what);
        Stop::Failed(Failure::Passing(error, None))
    }

    /// The error for the last line.
    fn wrong(&self, what: &str) -> Error {
        let source: Arc<str> = self.url.as_str().into();
        let message = format!("not the list that was asked for: {what}");
        Error::new(ErrorKind::NotPublished, message).at_line(&source, self.number)
    }
}
