//! Requests, with limits, redirects within the origin, and repetitions.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use flate2::read::GzDecoder;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body, Proxy};
use url::Url;

use super::address::is_loopback;
use super::body::{Content, Counted, Pace, TooMany};
use super::failure::{Failure, MAX_PROBLEM_BYTES, detail, failure, is_problem, retry_after};
use super::proxy::proxy_of;
use crate::mirror::error::{Error, Result};

/// How requests are made.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// How long a server may send nothing, or less than 10 kB a second.
    pub timeout: Duration,
    /// How many bytes may be read, all together and after decompression.
    pub max_bytes: u64,
    /// How old a head may be. `None`: any age.
    pub max_age: Option<Duration>,
    /// Whether `http` is accepted for any host.
    pub permits_http: bool,
    /// Certificates of authorities in PEM, in place of those of the system.
    pub authorities: Option<Vec<u8>>,
    /// Reads a variable of the environment, such as `HTTPS_PROXY`: through which proxy requests go. By
    /// default none is set, and there is no proxy.
    pub environment: fn(&str) -> Option<String>,
    /// How long to wait before a request that made no progress is repeated for the first time; each
    /// further time twice as long.
    pub first_delay: Duration,
    /// The longest time to wait because a server asks for it (`Retry-After`).
    pub max_delay: Duration,
    /// Called before a request is repeated. By default, nothing is done.
    pub retrying: fn(&Retry<'_>),
}

/// A request that failed, and will be made again.
#[derive(Debug)]
pub struct Retry<'a> {
    /// Why it failed.
    pub error: &'a Error,
    /// How many attempts failed so far without progress.
    pub attempt: u32,
    /// How many attempts are made.
    pub attempts: u32,
    /// How long is waited before the next one.
    pub delay: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            timeout: Duration::from_secs(30),
            max_bytes: 64 << 30,
            max_age: None,
            permits_http: false,
            authorities: None,
            environment: |_| None,
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(60),
            retrying: |_| {},
        }
    }
}

/// How often a request that makes no progress is made.
pub(super) const ATTEMPTS: u32 = 5;

/// How many redirects are followed.
const MAX_REDIRECTS: u32 = 5;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
}

/// Makes requests to one origin, and counts what is received.
pub(super) struct Client {
    agent: Agent,
    proxy: Option<Proxy>,
    options: HttpOptions,
    received: Rc<Cell<u64>>,
    /// How many bytes were read, after decompression.
    read: Rc<Cell<u64>>,
    requests: Cell<u64>,
}

impl Client {
    /// A client for the origin of an address.
    pub fn new(origin: &Url, options: HttpOptions) -> Result<Self> {
        let proxy = proxy_of(origin, options.environment)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .root_certs(authorities(options.authorities.as_deref())?)
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(proxy.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("accession/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_connect(Some(options.timeout))
            .timeout_recv_response(Some(options.timeout))
            .timeout_per_read(Some(options.timeout))
            .timeout_per_write(Some(options.timeout))
            .build()
            .new_agent();
        let (received, read) = (Rc::default(), Rc::default());
        Ok(Client { agent, proxy, options, received, read, requests: Cell::new(0) })
    }

    pub fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// How many bytes of bodies were received.
    pub fn received(&self) -> u64 {
        self.received.get()
    }

    /// How many requests were made.
    pub fn requests(&self) -> u64 {
        self.requests.get()
    }

    /// Makes a request once, following redirects within the origin.
    pub fn get(
        &self,
        url: &Url,
        headers: &[(header::HeaderName, &str)],
    ) -> Result<Response<Body>, Failure> {
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.agent.get(at.as_str());
            for (name, value) in headers {
                request = request.header(name, *value);
            }
            self.requests.set(self.requests.get() + 1);
            let response =
                request.call().map_err(|error| failure(&at, self.proxy.as_ref(), error))?;
            let status = response.status();
            if status.is_redirection() && status.as_u16() != 304 {
                at = redirected(&at, &response, self.options.permits_http)
                    .map_err(Failure::Lasting)?;
                continue;
            }
            return match status.as_u16() {
                200 | 206 | 304 | 404 | 410 | 416 => Ok(response),
                code => {
                    let (asked, url) = (retry_after(&response), at.to_string());
                    let said = match is_problem(&response) {
                        true => detail(self.body(response, MAX_PROBLEM_BYTES, Coding::Identity)),
                        false => None,
                    };
                    let said = said.map(|said| format!(": {said}"));
                    // The primary contradicts itself until a person acts.
                    if let (409, Some(said)) = (code, &said) {
                        let what = said.clone();
                        return Err(Failure::Lasting(Error::PrimaryConflict { url, what }));
                    }
                    let said = said.unwrap_or_default();
                    let what = format!("the server responded with {status}{said}");
                    let error = Error::Response { url, what };
                    if matches!(code, 408 | 425 | 429) || status.is_server_error() {
                        Err(Failure::Passing(error, asked))
                    } else {
                        Err(Failure::Lasting(error))
                    }
                }
            };
        }
        let what = format!("it redirects more than {MAX_REDIRECTS} times");
        Err(Failure::Lasting(Error::Response { url: url.to_string(), what }))
    }

    /// Waits before an attempt is repeated that made no progress. The first one has the number 1.
    ///
    /// # Errors
    ///
    /// The failure, if it will not be repeated.
    pub fn wait(&self, attempt: u32, failure: Failure) -> Result<()> {
        match failure {
            Failure::Lasting(error) => Err(error),
            Failure::Passing(error, _) if attempt >= ATTEMPTS => Err(error),
            Failure::Passing(error, asked) => {
                let delay = self.options.first_delay * 2_u32.pow(attempt - 1);
                let delay = asked.unwrap_or(delay).min(self.options.max_delay);
                let retry = Retry { error: &error, attempt, attempts: ATTEMPTS, delay };
                (self.options.retrying)(&retry);
                sleep(delay);
                Ok(())
            }
        }
    }

    /// The content of a body, counted, at most `limit` bytes of it.
    pub fn body(&self, response: Response<Body>, limit: u64, coding: Coding) -> Content {
        let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        // A compressed form that is longer than what it contains is none.
        let sent = reader.take(limit.saturating_add(1_024));
        let sent = Counted::of(sent, Rc::clone(&self.received), self.options.timeout);
        let (read, max_bytes) = (Rc::clone(&self.read), self.options.max_bytes);
        match coding {
            Coding::Identity => Content::of(sent.take(limit), read, max_bytes),
            Coding::Gzip => Content::of(GzDecoder::new(sent).take(limit), read, max_bytes),
        }
    }

    /// Why a body could not be read to its end.
    pub fn broken(&self, url: &Url, error: &io::Error) -> Failure {
        let url = url.to_string();
        match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(TooMany(max_bytes)) => {
                Failure::Lasting(Error::TooManyBytes { url, max_bytes: *max_bytes })
            }
            None => Failure::Passing(Error::Unreachable { url, what: error.to_string() }, None),
        }
    }

    /// When an attempt begins.
    pub fn pace(&self) -> Pace {
        Pace::begin(self.received.get())
    }

    /// Whether an attempt that brought something brought it fast enough to count as progress. A server
    /// that breaks each connection after a line, as slowly as it may, is given up like one that sends
    /// nothing.
    pub fn was_fast(&self, pace: &Pace) -> bool {
        pace.is_fast(self.received.get())
    }
}

/// The certificates that a server's must come from.
fn authorities(pem: Option<&[u8]>) -> Result<RootCerts> {
    let certificates: Vec<Certificate<'static>> = match pem {
        Some(pem) => parse_pem(pem)
            .filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect(),
        None => {
            let found = rustls_native_certs::load_native_certs().certs;
            found.iter().map(|der| Certificate::from_der(der).to_owned()).collect()
        }
    };
    if pem.is_some() && certificates.is_empty() {
        return Err(Error::NoCertificate);
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

/// Where a response redirects to.
fn redirected(from: &Url, response: &Response<Body>, permits_http: bool) -> Result<Url> {
    let refused = |what: String| Error::Response { url: from.to_string(), what };
    let location = response.headers().get(header::LOCATION).and_then(|it| it.to_str().ok());
    let Some(to) = location.and_then(|location| from.join(location).ok()) else {
        return Err(refused("it redirects to nowhere".to_owned()));
    };
    if to.origin() != from.origin() {
        return Err(refused(format!(
            "it redirects to {to}, which is another origin: name that address if it is the right one"
        )));
    }
    if to.scheme() == "http" && !permits_http && !is_loopback(&to) {
        return Err(Error::NotEncrypted { url: to.to_string() });
    }
    Ok(to)
}
