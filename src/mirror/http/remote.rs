//! A dataset at an address: its head, its cited subsets and its annotations.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use ureq::Body;
use ureq::http::{Response, header};
use url::Url;

use super::address::Address;
use super::client::{Client, Coding, Failure, HttpOptions};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{
    AnnotationReader, Head, HeadFile, LinesDigest, MAX_HEAD_BYTES, MAX_LINE_BYTES, SubsetReader,
    latest_change,
};
use crate::model::{DatasetName, Timestamp};
use crate::registry::{CitedSubsets, LoggedAnnotations};

/// How many renamings are followed.
const MAX_RENAMINGS: u32 = 5;

/// The files beside a log.
const SUBSETS: &str = "subsets.jsonl";
const ANNOTATIONS: &str = "annotations.jsonl";

/// Why a line of such a file is refused.
enum Wrong {
    /// What is wrong with it.
    Line(String),
    /// It cannot be kept.
    Kept(Error),
}

/// How often the head and the files beside its log are read again because they changed meanwhile.
const MAX_CHANGES: u32 = 5;

/// A dataset at an address.
pub struct Remote {
    pub(super) client: Client,
    pub(super) address: Address,
    pub(super) now: Timestamp,
}

/// What a server said about the head.
pub(super) enum Fetched {
    /// It is the one with the entity tag that was asked about, at the address of the dataset under
    /// its present name.
    NotModified(Address),
    /// It is this one.
    Head(Box<FetchedHead>),
}

/// A head that was fetched.
pub(in crate::mirror) struct FetchedHead {
    pub(in crate::mirror) head: Head,
    /// The entity tag of the response.
    pub etag: Option<String>,
    /// The address of the dataset, under its present name.
    pub address: Address,
}

/// Whether a tag is too weak to identify one head: web servers for files make it of the length and the
/// time in whole seconds, with a hyphen between, and the head may change again within that second.
fn may_be_of_two(tag: &str, response: &Response<Body>) -> bool {
    let time = |name| {
        let date = response.headers().get(name)?.to_str().ok()?;
        Timestamp::from_http_date(date)
    };
    let (Some(sent), Some(modified)) = (time(header::DATE), time(header::LAST_MODIFIED)) else {
        return false;
    };
    tag.contains('-') && sent.as_micros() - modified.as_micros() < 2_000_000
}

impl Remote {
    /// A dataset at an address. Nothing is requested yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoCertificate`](crate::ErrorKind::NoCertificate): the file of authorities has none; [`ErrorKind::Proxy`](crate::ErrorKind::Proxy): the environment
    /// names a proxy that cannot be used.
    pub fn new(address: Address, options: HttpOptions, now: Timestamp) -> Result<Self> {
        Ok(Remote { client: Client::new(&address.file("head.json"), options)?, address, now })
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// How many bytes of bodies were received so far.
    pub fn received(&self) -> u64 {
        self.client.received()
    }

    /// How many requests were made so far.
    pub fn requests(&self) -> u64 {
        self.client.requests()
    }

    /// The error for a log that is not the one that its head announces.
    pub(super) fn contradiction(of: &FetchedHead, what: &str) -> Error {
        let source: Arc<str> = of.address.file("head.json").as_str().into();
        Error::not_a_manifest(what).at_line(&source, 1)
    }

    /// Fetches the head, unless it has this entity tag.
    pub(super) fn head(&self, etag: Option<&str>) -> Result<Fetched> {
        let mut address = self.address.clone();
        for _ in 0..=MAX_RENAMINGS {
            let url = address.file("head.json");
            let mut attempt = 0;
            let found = loop {
                attempt += 1;
                match self.head_once(&url, etag) {
                    Ok(found) => break found,
                    Err(failure) => self.client.wait(attempt, failure)?,
                }
            };
            match found {
                None => return Ok(Fetched::NotModified(address)),
                Some((HeadFile::MovedTo(name), _)) => address = address.renamed(&name),
                Some((HeadFile::Head(head), etag)) => {
                    return Ok(Fetched::Head(Box::new(FetchedHead { head: *head, etag, address })));
                }
            }
        }
        let what = format!("the dataset was renamed more than {MAX_RENAMINGS} times");
        Err(Error::of_url(ErrorKind::Response, self.address.to_string(), what))
    }

    fn head_once(
        &self,
        url: &Url,
        etag: Option<&str>,
    ) -> Result<Option<(HeadFile, Option<String>)>, Failure> {
        let mut headers = vec![(header::CACHE_CONTROL, "no-cache")];
        headers.extend(etag.map(|etag| (header::IF_NONE_MATCH, etag)));
        let response = self.client.get(url, &headers)?;
        let lasting = |what: &str| Failure::Lasting(Error::of_url(ErrorKind::Response, url, what));
        match response.status().as_u16() {
            304 if etag.is_some() => {
                self.check_age(url, &response).map_err(Failure::Lasting)?;
                return Ok(None);
            }
            200 => {}
            404 | 410 => return Err(lasting("there is no dataset at this address")),
            _ => return Err(lasting("the server did not respond with a head")),
        }
        self.check_age(url, &response).map_err(Failure::Lasting)?;
        let tag = response.headers().get(header::ETAG).and_then(|tag| tag.to_str().ok());
        let tag = tag.filter(|tag| !may_be_of_two(tag, &response)).map(str::to_owned);
        let mut line = Vec::new();
        // One byte more shows that it is too long.
        let mut body = self.client.body(response, MAX_HEAD_BYTES + 1, Coding::Identity);
        body.read_to_end(&mut line).map_err(|error| self.client.broken(url, &error))?;
        let text = std::str::from_utf8(&line).unwrap_or_default();
        match HeadFile::parse(text) {
            Ok(head) => Ok(Some((head, tag))),
            Err(what) => {
                let error = Error::not_a_manifest(&what).at_line(&Arc::from(url.as_str()), 1);
                Err(Failure::Lasting(error))
            }
        }
    }

    /// Refuses a head that was last written too long ago.
    fn check_age(&self, url: &Url, response: &Response<Body>) -> Result<()> {
        let Some(max_age) = self.client.options().max_age else { return Ok(()) };
        let modified = response.headers().get(header::LAST_MODIFIED);
        let modified = modified.and_then(|text| Timestamp::from_http_date(text.to_str().ok()?));
        let Some(modified) = modified else {
            let what = "it has no Last-Modified, so its age is not known".to_owned();
            return Err(Error::of_url(ErrorKind::Response, url.to_string(), what));
        };
        let age_seconds = (self.now.as_micros() - modified.as_micros()) / 1_000_000;
        if age_seconds > i64::try_from(max_age.as_secs()).unwrap_or(i64::MAX) {
            let why = "the primary may no longer publish";
            let message = format!("{url} was last written at {modified}: {why}");
            return Err(Error::new(ErrorKind::TooOld, message));
        }
        Ok(())
    }

    /// Fetches the cited subsets and the annotations of a head, of changes up to a time (`None`: of
    /// none). They are replaced before their head is: where they are not those of the head, both are read
    /// again.
    pub(in crate::mirror) fn beside(
        &self,
        mut of: Box<FetchedHead>,
        until: Option<Timestamp>,
    ) -> Result<(Box<FetchedHead>, CitedSubsets, LoggedAnnotations)> {
        let mut attempt = 0;
        let mut changes = 0;
        loop {
            let found = self
                .subsets_once(&of, until)
                .and_then(|subsets| Ok((subsets, self.annotations_once(&of, until)?)));
            match found {
                Ok((Some(subsets), Some(annotations))) => return Ok((of, subsets, annotations)),
                Ok(_) if changes < MAX_CHANGES => {
                    changes += 1;
                    let Fetched::Head(now) = self.head(None)? else { continue };
                    if now.head.check != of.head.check {
                        // Further changes: the caller reads them the next time.
                        (of.head.subsets, of.head.annotations) =
                            (now.head.subsets, now.head.annotations);
                    } else {
                        of = now;
                    }
                }
                Ok((subsets, _)) => {
                    let (file, what) = match subsets {
                        None => (SUBSETS, "cited subsets"),
                        Some(_) => (ANNOTATIONS, "annotations"),
                    };
                    let what = format!("these are not the {what} that the head announces");
                    let url = of.address.file(file).to_string();
                    return Err(Error::of_url(ErrorKind::Response, url, what));
                }
                Err(failure) => {
                    attempt += 1;
                    self.client.wait(attempt, failure)?;
                }
            }
        }
    }

    /// `None`: they are not those of the head.
    fn subsets_once(
        &self,
        of: &FetchedHead,
        until: Option<Timestamp>,
    ) -> Result<Option<CitedSubsets>, Failure> {
        let digest = of.head.subsets;
        let (mut reader, mut subsets) = (SubsetReader::default(), CitedSubsets::default());
        let wrong = self.each_line(of, SUBSETS, digest, |line, location| {
            match reader.read(line, location).map_err(Wrong::Line)? {
                // Of a change that came after the head: the next copy keeps it.
                Some(subset) if until.is_some_and(|until| subset.timestamp <= until) => {
                    subsets.add(&subset).map_err(Wrong::Kept)
                }
                _ => Ok(()),
            }
        })?;
        match wrong {
            // They are those that the primary announces.
            Some(wrong) if reader.has_read(digest) => Err(Failure::Lasting(wrong)),
            None if reader.check(digest).is_ok() => Ok(Some(subsets)),
            _ => Ok(None),
        }
    }

    /// `None`: they are not those of the head.
    fn annotations_once(
        &self,
        of: &FetchedHead,
        until: Option<Timestamp>,
    ) -> Result<Option<LoggedAnnotations>, Failure> {
        let digest = of.head.annotations;
        let mut reader = AnnotationReader::default();
        let mut annotations = LoggedAnnotations::default();
        let wrong = self.each_line(of, ANNOTATIONS, digest, |line, location| {
            let annotation = reader.read(line, location).map_err(Wrong::Line)?;
            match until.is_some_and(|until| annotation.timestamp <= until) {
                true => annotations.add(annotation).map_err(Wrong::Kept),
                false => Ok(()),
            }
        })?;
        match wrong {
            Some(wrong) if reader.has_read(digest) => Err(Failure::Lasting(wrong)),
            None if reader.check(digest).is_ok() => Ok(Some(annotations)),
            _ => Ok(None),
        }
    }

    /// Reads the lines of a file beside a log, unless the head announces none. Returns what is wrong with
    /// the first line that is refused; the lines after it are read, too.
    fn each_line(
        &self,
        of: &FetchedHead,
        file: &str,
        digest: LinesDigest,
        mut take: impl FnMut(&[u8], (&Arc<str>, u64)) -> Result<(), Wrong>,
    ) -> Result<Option<Error>, Failure> {
        if digest.is_empty() {
            return Ok(None);
        }
        let url = of.address.file(file);
        let headers = [(header::CACHE_CONTROL, "no-cache")];
        let response = self.client.get(&url, &headers)?;
        if response.status().as_u16() != 200 {
            let what = format!("the server did not respond with the file {file}");
            let error = Error::of_url(ErrorKind::Response, url.to_string(), what);
            return Err(Failure::Lasting(error));
        }
        let source: Arc<str> = url.as_str().into();
        // One byte more shows that there is more than was announced.
        let limit = digest.bytes.saturating_add(1);
        let mut body = BufReader::new(self.client.body(response, limit, Coding::Identity));
        let (mut line, mut number, mut wrong) = (Vec::new(), 0, None);
        loop {
            line.clear();
            let read = body.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if read.map_err(|error| self.client.broken(&url, &error))? == 0 {
                return Ok(wrong);
            }
            number += 1;
            match take(&line, (&source, number)) {
                Ok(()) => {}
                Err(Wrong::Kept(error)) => return Err(Failure::Lasting(error)),
                Err(Wrong::Line(what)) => {
                    let error = Error::not_a_manifest(&what).at_line(&source, number);
                    wrong = wrong.or(Some(error));
                }
            }
        }
    }

    /// The latest time that a change may have.
    pub(super) fn not_after(&self) -> Timestamp {
        latest_change(self.now)
    }

    /// A name for the dataset where nothing better is known.
    pub(super) fn provisional_name(&self) -> DatasetName {
        let unnamed = || "dataset".parse().expect("it has letters only");
        self.address.last_name().unwrap_or_else(unnamed)
    }
}
