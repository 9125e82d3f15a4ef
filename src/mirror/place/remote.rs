//! A dataset at an address.

use std::io::{self, Read};
use std::sync::Mutex;

use flate2::read::GzDecoder;
use ureq::Body;
use ureq::http::{Response, header};
use url::Url;

use super::address::Address;
use super::client::{Client, HttpOptions, Pace};
use super::statements::StatementPlace;
use super::{
    Failure, FoundHead, HEAD, MAX_NAMED, Part, Place, check_age, named, only_line, parse_head,
};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{HeadFile, MAX_HEAD_BYTES, Segment};
use crate::model::{DatasetName, SourceLocation, Timestamp};

/// The greatest length of a site's page that is read for the names of its datasets, in bytes.
const MAX_PAGE_BYTES: u64 = 1 << 20;

/// The greatest number of renamings that are followed.
const MAX_RENAMINGS: u32 = 5;

/// A dataset at an address.
pub struct Remote {
    client: Client,
    address: Address,
    now: Timestamp,
    /// The pace of the part that was opened last.
    pace: Mutex<Pace>,
}

crate::model::debug_fields!(Remote: address);

impl Remote {
    /// A dataset at an address. Nothing is requested yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Certificate`](crate::ErrorKind::Certificate): the file of authorities contains none;
    /// [`ErrorDetail::Proxy`](crate::error::ErrorDetail::Proxy): the environment names an unusable proxy.
    pub fn new(address: Address, options: HttpOptions, now: Timestamp) -> Result<Self> {
        let client = Client::new(&address.file(HEAD), options)?;
        let pace = Mutex::new(client.pace());
        Ok(Remote { client, address, now, pace })
    }

    /// The address.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The time at which it is read.
    pub(in crate::mirror) fn now(&self) -> Timestamp {
        self.now
    }

    /// The address of a file of the dataset under its present name.
    fn file(&self, of: &FoundHead, name: &str) -> Url {
        match &of.moved_to {
            Some(present) => self.address.renamed(present).file(name),
            None => self.address.file(name),
        }
    }

    /// Returns the content of a file of the site at the address, at most `limit` bytes.
    ///
    /// # Errors
    ///
    /// Those of requests; [`ErrorKind::Response`]: the file does not exist.
    pub(in crate::mirror) fn text(&self, path: &str, limit: u64) -> Result<Vec<u8>> {
        let url = self.address.file(path);
        let what = "the file does not exist: is this the root of a published site?";
        let missing = || Error::of_url(ErrorKind::Response, &url, what);
        self.client.content(&url, limit)?.ok_or_else(missing)
    }

    /// The log of statements of the site whose root is the address.
    pub(in crate::mirror) fn statements_of_site(&self) -> StatementPlace<'_> {
        StatementPlace::at_address(&self.client, self.address.clone())
    }

    fn head_once(&self, url: &Url) -> Result<HeadFile, Failure> {
        let no_cache = [(header::CACHE_CONTROL, "no-cache")];
        let response = self.client.get(url, &no_cache, MAX_HEAD_BYTES)?;
        let lasting = |what: &str| Failure::Lasting(Error::of_url(ErrorKind::Response, url, what));
        match response.status().as_u16() {
            200 => {}
            404 | 410 => return Err(Failure::Lasting(self.no_dataset(url))),
            _ => return Err(lasting("the server did not respond with a head")),
        }
        self.check_age(url, &response)?;
        let mut line = Vec::new();
        // One byte more detects a head that is too long.
        let mut body = self.client.body(response, MAX_HEAD_BYTES + 1);
        body.read_to_end(&mut line).map_err(|error| self.client.broken(url, &error))?;
        Ok(parse_head(url.as_str(), &line)?)
    }

    /// If the address is the root of a site, returns the address of its dataset: the one with this name, or the
    /// only one. `None` means that the address is that of a dataset, or that no dataset of several has this
    /// name. Failed requests are reported later, when the head is read.
    pub(in crate::mirror) fn dataset_of_site(&self, wanted: &DatasetName) -> Option<Address> {
        if self.address.site().is_some() {
            return None;
        }
        let head = self.client.get(&self.address.file(HEAD), &[], MAX_HEAD_BYTES).ok()?;
        if !matches!(head.status().as_u16(), 404 | 410) {
            return None;
        }
        let names = self.datasets_of_page(&self.address);
        let name = match names.as_slice() {
            [only] => only,
            several => several.iter().find(|name| *name == wanted)?,
        };
        Some(self.address.dataset(name))
    }

    /// The error for a missing head. If the address is in a site, the message names the site's datasets.
    fn no_dataset(&self, url: &Url) -> Error {
        let site = self.address.site();
        let root = site.as_ref().unwrap_or(&self.address);
        let names = self.datasets_of_page(root);
        let Some(first) = names.first() else {
            let what = "the file does not exist: no dataset is published at this address";
            return Error::of_url(ErrorKind::Address, url, what);
        };
        let (example, listed) = (root.dataset(first), named(&names));
        let is = if site.is_some() {
            "the site has no such dataset: it has"
        } else {
            "this is a site with"
        };
        let what = format!("{is} {listed}; name the address of one, such as {example}");
        Error::of_url(ErrorKind::Address, &self.address, what)
    }

    /// The names of the datasets to which the page of a site links. Empty if the page cannot be read.
    fn datasets_of_page(&self, root: &Address) -> Vec<DatasetName> {
        let page = self.client.content(&root.file(""), MAX_PAGE_BYTES);
        let page = page.ok().flatten().unwrap_or_default();
        let page = String::from_utf8_lossy(&page);
        let mut names: Vec<DatasetName> = Vec::new();
        for link in page.split("datasets/").skip(1) {
            let end = link.find(['/', '"', '\'', '<', '>', '?', '#']).unwrap_or(link.len());
            match link[..end].parse() {
                Ok(name) if !names.contains(&name) => names.push(name),
                _ => {}
            }
            if names.len() > MAX_NAMED {
                break;
            }
        }
        names
    }

    /// Rejects a head that was last written too long ago.
    fn check_age(&self, url: &Url, response: &Response<Body>) -> Result<()> {
        let Some(max_age) = self.client.options().max_age else { return Ok(()) };
        let modified = response.headers().get(header::LAST_MODIFIED);
        let modified = modified.and_then(|text| Timestamp::from_http_date(text.to_str().ok()?));
        let Some(modified) = modified else {
            let what = "it has no Last-Modified, so its age is not known".to_owned();
            return Err(Error::of_url(ErrorKind::Response, url.to_string(), what));
        };
        check_age(url, modified, max_age, self.now)
    }

    /// Opens a whole segment in its compressed form. `None` means that the server has no compressed file whose
    /// header names this segment.
    fn zipped(&self, url: &Url, segment: &Segment) -> Result<Option<Box<dyn Read + '_>>, Failure> {
        let response = self.client.get(url, &[], segment.bytes)?;
        if response.status().as_u16() != 200 {
            return Ok(None);
        }
        let is_it = |file: &GzDecoder<_>| segment.is_compressed_in(file);
        Ok(self.client.unzipped(response, segment.bytes, is_it).map(|body| Box::new(body) as _))
    }

    /// Opens the rest of a segment, as a range if the server supports ranges.
    fn plain(
        &self,
        url: &Url,
        is_sealed: bool,
        bytes: u64,
        from: u64,
    ) -> Result<Box<dyn Read + '_>, Failure> {
        let mut asked = url.clone();
        if !is_sealed {
            // The query prevents a cache from returning an older copy of a segment that has grown.
            asked.set_query(Some(&format!("bytes={bytes}")));
        }
        let range = format!("bytes={from}-");
        let headers = [(header::RANGE, range.as_str())];
        let headers = if from > 0 { &headers[..] } else { &[] };
        let response = self.client.get(&asked, headers, bytes)?;
        let wrong = |what: &str| Error::of_url(ErrorKind::Response, &asked, what);
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(wrong("it is compressed, which was not asked for").into());
        }
        let too_short = || Failure::Passing(wrong("it is shorter than the head announces"), None);
        let skipped = match response.status().as_u16() {
            206 => {
                let found = response.headers().get(header::CONTENT_RANGE);
                let found = found.and_then(|found| found.to_str().ok()).unwrap_or_default();
                if !found.starts_with(&format!("bytes {from}-")) {
                    return Err(wrong("the server sent another range than was asked for").into());
                }
                0
            }
            200 => from,
            416 => return Err(too_short()),
            404 | 410 => return Err(wrong("the segment is missing").into()),
            _ => return Err(wrong("the server did not respond with the segment").into()),
        };
        let left = bytes - from + skipped;
        let mut body = self.client.body(response, left);
        match io::copy(&mut body.by_ref().take(skipped), &mut io::sink()) {
            Ok(copied) if copied == skipped => Ok(Box::new(body)),
            Ok(_) => Err(too_short()),
            Err(error) => Err(self.client.broken(url, &error)),
        }
    }

    /// Opens a file beside the log.
    fn beside(&self, of: &FoundHead, part: Part) -> Result<Box<dyn Read + '_>, Failure> {
        let (file, bytes) = (part.file(), part.announced(&of.head).bytes);
        let url = self.file(of, &file);
        let response = self.client.get(&url, &[(header::CACHE_CONTROL, "no-cache")], bytes)?;
        if response.status().as_u16() != 200 {
            let what = format!("the server did not respond with the file {file}");
            return Err(Error::of_url(ErrorKind::Response, url, what).into());
        }
        // One byte more detects a file that is longer than announced.
        Ok(Box::new(self.client.body(response, bytes.saturating_add(1))))
    }
}

impl Place for Remote {
    fn source(&self) -> Option<String> {
        Some(self.address.to_string())
    }

    fn head(&self) -> Result<Box<FoundHead>, Failure> {
        let mut moved_to: Option<DatasetName> = None;
        for _ in 0..=MAX_RENAMINGS {
            let address = moved_to.as_ref().map(|name| self.address.renamed(name));
            let url = address.as_ref().unwrap_or(&self.address).file(HEAD);
            match self.head_once(&url)? {
                HeadFile::MovedTo(name) => moved_to = Some(name),
                HeadFile::Head(head) => return Ok(FoundHead::of(head, moved_to)),
            }
        }
        let what = format!("the dataset was renamed more than {MAX_RENAMINGS} times");
        Err(Error::of_url(ErrorKind::Response, &self.address, what).into())
    }

    fn open(
        &self,
        of: &FoundHead,
        part: Part,
        from: u64,
        attempt: u32,
    ) -> Result<Box<dyn Read + '_>, Failure> {
        if let Ok(mut pace) = self.pace.lock() {
            *pace = self.client.pace();
        }
        let Part::Segment(index) = part else { return self.beside(of, part) };
        let (segment, url) = (&of.head.segments.0[index], self.file(of, &part.file()));
        // The compressed form cannot be resumed. If it is missing, damaged or that of another segment, the
        // plain form is read.
        if segment.is_sealed() && from == 0 && attempt == 1 {
            let zipped = self.file(of, &format!("{}.gz", part.file()));
            if let Some(body) = self.zipped(&zipped, segment)? {
                return Ok(body);
            }
        }
        self.plain(&url, segment.is_sealed(), segment.bytes, from)
    }

    fn name(&self, of: &FoundHead, part: Part) -> String {
        self.file(of, &part.file()).to_string()
    }

    fn broken(&self, of: &FoundHead, part: Part, error: io::Error) -> Failure {
        self.client.broken(&self.file(of, &part.file()), &error)
    }

    fn retry(&self, failure: Failure, attempt: u32, has_progressed: bool) -> Result<u32> {
        let was_fast = || self.pace.lock().is_ok_and(|pace| self.client.was_fast(&pace));
        match failure {
            Failure::Passing(..) if has_progressed && was_fast() => Ok(1),
            failure => self.client.wait(attempt, failure).map(|()| attempt + 1),
        }
    }

    fn location_of_head(&self, of: &FoundHead) -> Result<SourceLocation> {
        Ok(only_line(self.file(of, HEAD).as_str()))
    }
}
