//! Requests, with limits, redirects within the origin, and repetitions.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use ureq::http::{Response, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body};
use url::Url;

use super::address::is_loopback;
use crate::mirror::error::{Error, Result};

/// How requests are made.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// How long a server may send nothing.
    pub timeout: Duration,
    /// How many bytes may be received, all together. `None`: any number.
    pub max_bytes: Option<u64>,
    /// How old a head may be. `None`: any age.
    pub max_age: Option<Duration>,
    /// Whether `http` is accepted for any host.
    pub permits_http: bool,
    /// Certificates of authorities in PEM, in place of those of the system.
    pub authorities: Option<Vec<u8>>,
    /// How long to wait before a request that made no progress is repeated for the first time; each
    /// further time twice as long.
    pub first_delay: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            timeout: Duration::from_secs(30),
            max_bytes: None,
            max_age: None,
            permits_http: false,
            authorities: None,
            first_delay: Duration::from_millis(500),
        }
    }
}

/// How often a request that makes no progress is made.
pub(super) const ATTEMPTS: u32 = 5;

/// The longest time to wait because a server asks for it.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// How many redirects are followed.
const MAX_REDIRECTS: u32 = 5;

/// A server that sends less than this, in bytes a second, is given up.
const MIN_RATE: u64 = 10_000;

/// Makes requests, and counts what is received.
pub(super) struct Client {
    agent: Agent,
    options: HttpOptions,
    received: Rc<Cell<u64>>,
    requests: Cell<u64>,
}

/// Why a request failed.
pub(super) enum Failure {
    /// It may succeed when it is repeated, after this time if the server says so.
    Passing(Error, Option<Duration>),
    /// It will not.
    Lasting(Error),
}

impl Client {
    pub fn new(options: HttpOptions) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(provider)
            .root_certs(authorities(options.authorities.as_deref())?)
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
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
        Ok(Client { agent, options, received: Rc::new(Cell::new(0)), requests: Cell::new(0) })
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

    /// Makes a request once, following redirects within the origin. The body may have `length`
    /// bytes.
    pub fn get(
        &self,
        url: &Url,
        headers: &[(header::HeaderName, &str)],
        length: u64,
    ) -> Result<Response<Body>, Failure> {
        let body_seconds = Duration::from_secs(length / MIN_RATE);
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.agent.get(at.as_str());
            for (name, value) in headers {
                request = request.header(name, *value);
            }
            let request = request
                .config()
                .timeout_recv_body(Some(self.options.timeout + body_seconds))
                .build();
            self.requests.set(self.requests.get() + 1);
            let response = request.call().map_err(|error| failure(&at, error))?;
            let status = response.status();
            if status.is_redirection() && status.as_u16() != 304 {
                at = redirected(&at, &response, self.options.permits_http)
                    .map_err(Failure::Lasting)?;
                continue;
            }
            return match status.as_u16() {
                200 | 206 | 304 | 404 | 410 | 416 => Ok(response),
                code => {
                    let what = format!("the server responded with {status}");
                    let error = Error::Response { url: at.to_string(), what };
                    if matches!(code, 408 | 425 | 429) || status.is_server_error() {
                        Err(Failure::Passing(error, retry_after(&response)))
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
            Failure::Passing(_, asked) => {
                let delay = self.options.first_delay * 2_u32.pow(attempt - 1);
                sleep(asked.unwrap_or(delay).min(MAX_DELAY));
                Ok(())
            }
        }
    }

    /// The bytes of a body, counted, at most `limit` of them.
    pub fn body(&self, response: Response<Body>, limit: u64) -> Counted {
        let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        Counted {
            reader: Box::new(reader.take(limit)),
            received: Rc::clone(&self.received),
            max_bytes: self.options.max_bytes,
        }
    }

    /// Whether more was received than is allowed.
    pub fn check_limit(&self, url: &Url) -> Result<()> {
        match self.options.max_bytes {
            Some(max_bytes) if self.received.get() > max_bytes => {
                Err(Error::TooManyBytes { url: url.to_string(), max_bytes })
            }
            _ => Ok(()),
        }
    }
}

/// The body of a response, counted.
pub(super) struct Counted {
    reader: Box<dyn Read>,
    received: Rc<Cell<u64>>,
    max_bytes: Option<u64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.max_bytes.is_some_and(|max_bytes| self.received.get() > max_bytes) {
            return Err(io::Error::other("more than --max-bytes"));
        }
        let read = self.reader.read(buffer)?;
        self.received.set(self.received.get() + read as u64);
        Ok(read)
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

/// How long the server asks to wait.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse().ok()?))
}

/// Sorts an error of a request: a wrong certificate stays wrong, a broken connection may be repeated.
fn failure(url: &Url, error: ureq::Error) -> Failure {
    let is_lasting = matches!(
        error,
        ureq::Error::BadUri(_)
            | ureq::Error::Tls(_)
            | ureq::Error::Rustls(_)
            | ureq::Error::InvalidProxyUrl
            | ureq::Error::HostNotFound
            | ureq::Error::LargeResponseHeader(..)
    );
    let certificate = error.to_string().contains("certificate");
    let what = match &error {
        ureq::Error::Io(error) => error.to_string(),
        error => error.to_string(),
    };
    let error = Error::Unreachable { url: url.to_string(), what };
    if is_lasting || certificate { Failure::Lasting(error) } else { Failure::Passing(error, None) }
}
