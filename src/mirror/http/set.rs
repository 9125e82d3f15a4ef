//! Reading the list of a set at an address, where it is verified.

use std::io::{BufRead, BufReader, Read};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use super::address::Address;
use super::client::{Client, Coding, Content, Failure, HttpOptions, Pace};
use crate::chain::Chain;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{GranuleId, IdPage, Identifier, quoted};

/// The ids of a page.
const PAGE_IDS: usize = 4_096;

/// A set at the address of a server, such as `https://archive.example/DI:…`.
pub struct RemoteSet {
    client: Client,
    url: Url,
    identifier: Identifier,
}

/// The ids of a [`RemoteSet`], in canonical order, in pages.
///
/// They are hashed on the way: if they do not have the identifier of the address, the last item is an
/// error of kind `not-as-expected`. Where a connection breaks, the list goes on after the last id.
pub struct RemoteIds {
    set: RemoteSet,
    /// `None` before the first request, and after a connection broke.
    body: Option<BufReader<Content>>,
    chain: Chain,
    last: Option<GranuleId>,
    attempt: u32,
    is_over: bool,
}

impl RemoteSet {
    /// A set at an address. Nothing is requested yet.
    ///
    /// # Errors
    ///
    /// - `https://archive.example/datasets/US/`: not the address of a set
    /// - `http://archive.example/DI:…`: not encrypted
    pub fn at(text: &str, options: HttpOptions) -> Result<Self> {
        let refused = |why: &str| {
            let message = format!("{} is not the address of a set: {why}", quoted(text));
            Error::new(ErrorKind::Address, message)
        };
        // It is as strict as for datasets, whose addresses end with a slash.
        Address::parse(text, options.permits_http)?;
        let mut url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/granules").unwrap_or(path).to_owned();
        let last = path.rsplit('/').next().unwrap_or_default();
        let decoded = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
        let identifier = decoded.get(3..).filter(|_| decoded.starts_with("DI:"));
        let identifier = identifier.and_then(|digits| digits.parse().ok());
        let Some(identifier) = identifier else {
            return Err(refused("it does not end with /DI: and 32 digits"));
        };
        url.set_path(&format!("{path}/granules"));
        Ok(RemoteSet { client: Client::new(&url, options)?, url, identifier })
    }

    /// The identifier, of which the ids must be.
    pub fn identifier(&self) -> Identifier {
        self.identifier
    }

    /// The ids, which are requested when the first page is read.
    pub fn pages(self) -> RemoteIds {
        let (body, last) = (None, None);
        RemoteIds { set: self, body, chain: Chain::start(), last, attempt: 0, is_over: false }
    }

    /// Requests the list, after an id.
    fn request(&self, after: Option<&GranuleId>) -> Result<BufReader<Content>, Failure> {
        let mut url = self.url.clone();
        if let Some(after) = after {
            let encoded = utf8_percent_encode(after.as_str(), NON_ALPHANUMERIC);
            url.set_query(Some(&format!("after={encoded}")));
        }
        let accepted = [(ureq::http::header::ACCEPT, "text/plain")];
        let response = self.client.get(&url, &accepted)?;
        if response.status().as_u16() != 200 {
            let what = format!("the server responded with {}", response.status());
            return Err(Failure::Lasting(Error::of_url(ErrorKind::Response, url, what)));
        }
        Ok(BufReader::new(self.client.body(response, u64::MAX, Coding::Identity)))
    }
}

impl RemoteIds {
    /// Reads ids until a page is full. Returns whether the list is over.
    fn fill(&mut self, page: &mut Vec<GranuleId>) -> Result<bool, Failure> {
        let RemoteIds { set, body, chain, last, .. } = self;
        let body = match body {
            Some(body) => body,
            None => body.insert(set.request(last.as_ref())?),
        };
        let refused =
            |what: String| Failure::Lasting(Error::of_url(ErrorKind::Response, &set.url, what));
        let mut line = Vec::new();
        while page.len() < PAGE_IDS {
            line.clear();
            let limit = GranuleId::MAX_BYTES as u64 + 1;
            let read = body.by_ref().take(limit).read_until(b'\n', &mut line);
            let read = read.map_err(|error| set.client.broken(&set.url, &error))?;
            match (read, line.pop()) {
                (0, _) => return Ok(true),
                (_, Some(b'\n')) => {}
                // A list ends with a line feed: here the connection ended, or an id is too long.
                _ if line.len() as u64 == limit - 1 => {
                    return Err(refused("a line is longer than an id".to_owned()));
                }
                _ => {
                    let error = std::io::Error::other("the response is incomplete");
                    return Err(set.client.broken(&set.url, &error));
                }
            }
            let granule_id = GranuleId::from_bytes(&line).map_err(|cause| {
                refused(format!(
                    "{} is not an id: {cause}",
                    quoted(&String::from_utf8_lossy(&line))
                ))
            })?;
            if last.as_ref().is_some_and(|last| *last >= granule_id) {
                return Err(refused(format!("{} is out of order", quoted(granule_id.as_str()))));
            }
            chain.push(granule_id.as_str());
            *last = Some(granule_id.clone());
            page.push(granule_id);
        }
        Ok(false)
    }

    fn page(&mut self) -> Result<Option<IdPage>> {
        let mut page = Vec::new();
        loop {
            let (before, pace): (usize, Pace) = (page.len(), self.set.client.pace());
            match self.fill(&mut page) {
                Ok(is_over) => {
                    self.is_over = is_over;
                    break;
                }
                Err(failure) => {
                    self.body = None;
                    if page.len() > before && self.set.client.was_fast(&pace) {
                        self.attempt = 0;
                    }
                    self.attempt += 1;
                    self.set.client.wait(self.attempt, failure)?;
                }
            }
        }
        match page.is_empty() {
            false => Ok(Some(page.iter().collect())),
            true => self.prove().map(|()| None),
        }
    }

    /// Compares the identifier of what was read with that of the address.
    fn prove(&self) -> Result<()> {
        let (found, expected) = (self.chain.identifier(), self.set.identifier);
        if found == expected {
            return Ok(());
        }
        let what = format!("the identifier of the list is {found}, and not {expected}");
        Err(Error::of_url(ErrorKind::NotAsExpected, &self.set.url, what))
    }
}

impl Iterator for RemoteIds {
    type Item = Result<IdPage>;

    fn next(&mut self) -> Option<Result<IdPage>> {
        if self.is_over && self.body.is_none() {
            return None;
        }
        let page = match self.is_over {
            // The last page was short: what is left is the proof.
            true => self.prove().map(|()| None),
            false => self.page(),
        };
        if !matches!(page, Ok(Some(_))) {
            (self.is_over, self.body) = (true, None);
        }
        page.transpose()
    }
}
