//! HTTP requests with limits, redirects within the origin, and retries; responses whose bytes are counted and
//! limited, and which must not be too slow; and the reasons why a request failed.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use rustls::CertificateError;
use ureq::http::{Response, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::{Agent, Body, Proxy};
use url::Url;

use super::Failure;
use super::address::{is_loopback, proxy_of};
use super::byte_limit::{ByteLimit, LimitedReader};
use crate::disk::{self, read_small};
use crate::error::{Class, Error, ErrorDetail, ErrorKind, Result};
use crate::model::{PrimaryOptions, quoted};

/// The options for requests.
#[derive(Clone)]
pub struct HttpOptions {
    /// How long a server may send nothing, or less than 10 kB a second. At most one hour; longer times are
    /// shortened.
    pub timeout: Duration,
    /// The number of bytes that may be read, in all and after decompression.
    pub max_bytes: u64,
    /// The greatest age of a head. `None` means any age.
    pub max_age: Option<Duration>,
    /// Whether `http` is accepted for every host.
    pub permits_http: bool,
    /// Certificates of authorities in PEM, instead of those of the system.
    pub authorities: Option<Vec<u8>>,
    /// The longest delay that a server may request (`Retry-After`).
    pub max_delay: Duration,
    /// The function that returns the delay before a request is repeated.
    pub before_retry: BeforeRetry,
}

crate::model::debug_fields!(HttpOptions: timeout, max_bytes, max_age, permits_http);

/// A function that is called before a request is repeated. It returns the delay.
pub type BeforeRetry = Arc<dyn Fn(&Retry<'_>) -> Duration + Send + Sync>;

/// A failed request that will be repeated.
#[derive(Debug)]
pub struct Retry<'a> {
    /// Why it failed.
    pub error: &'a Error,
    /// The number of attempts so far without progress.
    pub attempt: u32,
    /// The greatest number of attempts.
    pub attempts: u32,
    /// The delay before the next attempt: twice as long each time, or as long as the server requests.
    pub delay: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        HttpOptions {
            timeout: Duration::from_secs(30),
            max_bytes: MAX_BYTES,
            max_age: None,
            permits_http: false,
            authorities: None,
            max_delay: Duration::from_secs(60),
            before_retry: Arc::new(|retry| retry.delay),
        }
    }
}

impl HttpOptions {
    /// The options remembered with a mirror's source, with defaults for the rest. Reads the file of
    /// certificates.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`]: the file cannot be read.
    pub fn of(options: &PrimaryOptions) -> Result<Self> {
        let read = |path: &String| {
            let content = disk::open_regular(Path::new(path))
                .and_then(|file| read_small(file, MAX_CA_FILE_BYTES));
            content.map_err(|source| Error::cannot("read", Path::new(path), source))
        };
        let default = HttpOptions::default();
        Ok(HttpOptions {
            timeout: options.timeout_seconds.map_or(default.timeout, Duration::from_secs),
            max_bytes: options.max_bytes.unwrap_or(default.max_bytes),
            max_age: options.max_age_seconds.map(Duration::from_secs),
            permits_http: options.insecure,
            authorities: options.ca_file.as_ref().map(read).transpose()?,
            ..default
        })
    }
}

/// The default limit on the number of bytes that are read from a primary.
pub(in crate::mirror) const MAX_BYTES: u64 = 64 << 30;

/// The greatest number of attempts without progress.
const ATTEMPTS: u32 = 5;

/// The delay before the first repetition of a request that made no progress.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// The longest timeout.
const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The longest time for a body, whatever its length. Longer times would overflow.
const LONGEST_BODY: Duration = Duration::from_secs(30 * 86_400);

/// The greatest length of a file of certificates, in bytes.
const MAX_CA_FILE_BYTES: u64 = 16 << 20;

/// The greatest number of redirects that are followed.
const MAX_REDIRECTS: u32 = 5;

/// Makes requests to one origin, and counts the received bytes.
pub(super) struct Client {
    agent: Agent,
    proxy: Option<Proxy>,
    options: HttpOptions,
    received: Arc<AtomicU64>,
    /// The bytes that were read, after decompression, and their limit.
    read: ByteLimit,
}

impl Client {
    /// A client for the origin of an address.
    pub fn new(origin: &Url, mut options: HttpOptions) -> Result<Self> {
        // Longer times would overflow.
        options.timeout = options.timeout.min(MAX_TIMEOUT);
        let proxy = proxy_of(origin)?;
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
        let read = ByteLimit::of(options.max_bytes);
        Ok(Client { agent, proxy, options, received: Arc::default(), read })
    }

    pub fn options(&self) -> &HttpOptions {
        &self.options
    }

    /// The number of bytes of bodies that were received.
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Makes a request once, following redirects within the origin. The caller reads at most `limit` bytes of
    /// the body.
    pub fn get(
        &self,
        url: &Url,
        headers: &[(header::HeaderName, &str)],
        limit: u64,
    ) -> Result<Response<Body>, Failure> {
        let mut at = url.clone();
        // The framing of a body takes time, too, but its bytes are not counted. A slow body fails earlier,
        // because of its rate.
        let longest = Duration::from_secs(limit / MIN_RATE).min(LONGEST_BODY);
        let patience = self.options.timeout * 4 + longest;
        for _ in 0..=MAX_REDIRECTS {
            let request = self.agent.get(at.as_str());
            let mut request = request.config().timeout_recv_body(Some(patience)).build();
            for (name, value) in headers {
                request = request.header(name, *value);
            }
            let response =
                request.call().map_err(|error| failure(&at, self.proxy.as_ref(), error))?;
            let status = response.status();
            if status.is_redirection() {
                at = redirected(&at, &response, self.options.permits_http)
                    .map_err(Failure::Lasting)?;
                continue;
            }
            return match status.as_u16() {
                200 | 206 | 404 | 410 | 416 => Ok(response),
                code => {
                    let (asked, url) = (retry_after(&response), at.to_string());
                    let said = match is_problem(&response) {
                        true => detail(self.body(response, MAX_PROBLEM_BYTES)),
                        false => None,
                    };
                    let said = said.map(|said| format!(": {said}"));
                    // The conflict persists until a person resolves it.
                    if let (409, Some(said)) = (code, &said) {
                        let what = format!("the primary needs its operator{said}");
                        let error = Error::of_url(ErrorKind::PrimaryConflict, url, what);
                        return Err(Failure::Lasting(error));
                    }
                    let said = said.unwrap_or_default();
                    let what = format!("the server responded with {status}{said}");
                    let error = Error::of_url(ErrorKind::Response, url, what);
                    if matches!(code, 408 | 425 | 429) || status.is_server_error() {
                        Err(Failure::Passing(error, asked))
                    } else {
                        Err(Failure::Lasting(error))
                    }
                }
            };
        }
        let what = format!("it redirects more than {MAX_REDIRECTS} times");
        Err(Failure::Lasting(Error::of_url(ErrorKind::Response, url.to_string(), what)))
    }

    /// Returns the content of a file. `None` means that the file does not exist. Temporary failures are retried
    /// several times.
    ///
    /// # Errors
    ///
    /// The file is longer than `limit`, in bytes.
    pub fn content(&self, url: &Url, limit: u64) -> Result<Option<Vec<u8>>, Failure> {
        let once = || -> Result<Option<Vec<u8>>, Failure> {
            let response = self.get(url, &[(header::CACHE_CONTROL, "no-cache")], limit)?;
            if response.status().as_u16() != 200 {
                return Ok(None);
            }
            let mut content = Vec::new();
            let mut body = self.body(response, limit.saturating_add(1));
            body.read_to_end(&mut content).map_err(|error| self.broken(url, &error))?;
            if content.len() as u64 > limit {
                let what = format!("it is longer than {limit} bytes");
                return Err(Failure::Lasting(Error::of_url(ErrorKind::Response, url, what)));
            }
            Ok(Some(content))
        };
        let mut attempt = 1;
        loop {
            match once() {
                Err(failure @ Failure::Passing(..)) if attempt < ATTEMPTS => {
                    self.wait(attempt, failure)?;
                }
                read => return read,
            }
            attempt += 1;
        }
    }

    /// Sends a text once, without following redirects. A response is returned whatever its status.
    ///
    /// # Errors
    ///
    /// There is no response.
    pub fn post(&self, url: &Url, body: &str) -> Result<Response<Body>> {
        // A response has a few lines, so one that arrives slowly counts as none.
        let request = self.agent.post(url.as_str()).content_type("text/plain");
        let request = request.config().timeout_global(Some(self.options.timeout)).build();
        let response = request.send(body);
        response.map_err(|error| failure(url, self.proxy.as_ref(), error).into())
    }

    /// Waits before an attempt without progress is repeated. The first attempt has the number 1.
    ///
    /// # Errors
    ///
    /// The failure, if it will not be repeated.
    pub fn wait(&self, attempt: u32, failure: Failure) -> Result<()> {
        match failure {
            Failure::Lasting(error) => Err(error),
            Failure::Passing(error, _) if attempt >= ATTEMPTS => Err(error),
            Failure::Passing(error, asked) => {
                let delay = FIRST_DELAY * 2_u32.pow(attempt - 1);
                let delay = asked.unwrap_or(delay).min(self.options.max_delay);
                let retry = Retry { error: &error, attempt, attempts: ATTEMPTS, delay };
                sleep((self.options.before_retry)(&retry));
                Ok(())
            }
        }
    }

    /// Returns at most `limit` bytes of a body. They are counted.
    pub fn body(&self, response: Response<Body>, limit: u64) -> LimitedReader {
        self.limited(self.counted(response, limit).take(limit))
    }

    /// Returns at most `limit` decompressed bytes of a body. The compressed bytes are counted. `None` means
    /// that `is_it` rejects the gzip header.
    pub fn unzipped(
        &self,
        response: Response<Body>,
        limit: u64,
        is_it: impl FnOnce(&GzDecoder<Counted>) -> bool,
    ) -> Option<LimitedReader> {
        // A .gz file that is larger than its plain segment is ignored.
        let file = GzDecoder::new(self.counted(response, limit.saturating_add(1_024)));
        is_it(&file).then(|| self.limited(file.take(limit)))
    }

    fn counted(&self, response: Response<Body>, limit: u64) -> Counted {
        let reader = response.into_body().into_with_config().limit(u64::MAX).reader();
        Counted::of(reader.take(limit), Arc::clone(&self.received), self.options.timeout)
    }

    fn limited(&self, reader: impl Read + Send + 'static) -> LimitedReader {
        self.read.limit(reader)
    }

    /// The failure for a body that could not be read to its end.
    pub fn broken(&self, url: &Url, error: &io::Error) -> Failure {
        match Error::of_byte_limit(url, error) {
            Some(refused) => Failure::Lasting(refused),
            None => Failure::Passing(Error::of_url(ErrorKind::Unreachable, url, error), None),
        }
    }

    /// The beginning of an attempt.
    pub fn pace(&self) -> Pace {
        Pace { began: Instant::now(), received: self.received() }
    }

    /// Whether an attempt that made progress was fast enough for it to count. A server that breaks each
    /// connection after a line, as slowly as possible, fails like one that sends nothing.
    pub fn was_fast(&self, pace: &Pace) -> bool {
        is_fast(self.received() - pace.received, pace.began.elapsed())
    }
}

/// The authorities that must have issued the certificate of a server.
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
        let message = "the file of certificates has no certificate in PEM form";
        return Err(Error::new(ErrorKind::Certificate, message));
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

/// The target of a redirect.
fn redirected(from: &Url, response: &Response<Body>, permits_http: bool) -> Result<Url> {
    let refused = |what: String| Error::of_url(ErrorKind::Response, from.to_string(), what);
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
        return Err(Error::not_encrypted(to));
    }
    Ok(to)
}

/// The minimum rate of a server, in bytes a second. A slower request fails.
const MIN_RATE: u64 = 10_000;

/// When an attempt began, and how many bytes had been received by then.
pub(super) struct Pace {
    began: Instant,
    received: u64,
}

/// Whether this number of bytes in a time reaches the minimum rate.
fn is_fast(bytes: u64, time: Duration) -> bool {
    u128::from(bytes) * 1_000 >= u128::from(MIN_RATE) * time.as_millis()
}

/// The body of a response, counted as it is sent.
pub(super) struct Counted {
    reader: Box<dyn Read + Send>,
    received: Arc<AtomicU64>,
    /// How long a server may be too slow.
    window: Duration,
    /// The time spent waiting for the server since the window began. The mirror's own work between two calls
    /// does not count.
    waited: Duration,
    received_meanwhile: u64,
}

impl Counted {
    /// Adds the number of read bytes to `received`.
    fn of(reader: impl Read + Send + 'static, received: Arc<AtomicU64>, window: Duration) -> Self {
        let (reader, waited) = (Box::new(reader), Duration::ZERO);
        Counted { reader, received, window, waited, received_meanwhile: 0 }
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let began = Instant::now();
        let read = self.reader.read(buffer)?;
        self.waited += began.elapsed();
        self.received.fetch_add(read as u64, Ordering::Relaxed);
        self.received_meanwhile += read as u64;
        if self.waited >= self.window {
            if read > 0 && !is_fast(self.received_meanwhile, self.waited) {
                let (bytes, seconds) = (self.received_meanwhile, self.waited.as_secs_f64());
                let what = format!("the server is too slow: {bytes} bytes in {seconds:.1} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            (self.waited, self.received_meanwhile) = (Duration::ZERO, 0);
        }
        Ok(read)
    }
}

/// Limits of the body of an error: the bytes that are read, and the characters that are shown.
const MAX_PROBLEM_BYTES: u64 = 16 * 1_024;
const MAX_DETAIL: usize = 300;

/// Classifies an error of a request. A wrong certificate stays wrong; a request whose connection broke may be
/// repeated.
fn failure(url: &Url, proxy: Option<&Proxy>, error: ureq::Error) -> Failure {
    let through = match proxy {
        Some(proxy) => format!("through the proxy {}:{}: ", proxy.host(), proxy.port()),
        None => String::new(),
    };
    let refused = |class: Class, what: &str| Error::of_url(class, url, format!("{through}{what}"));
    let unreachable = |what: &str| refused(ErrorKind::Unreachable.into(), what);
    match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(error)) => {
            return Failure::Lasting(certificate_refused(url, &through, error));
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            return Failure::Lasting(unreachable("the server does not use TLS on this port"));
        }
        _ => {}
    }
    match error {
        // Credentials may be missing or wrong, or the proxy may be unable to reach the server now.
        ureq::Error::ConnectProxyFailed(why) => {
            Failure::Passing(refused(ErrorDetail::Proxy.into(), &why.to_string()), None)
        }
        error @ (ureq::Error::BadUri(_)
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_)
        | ureq::Error::HostNotFound
        | ureq::Error::LargeResponseHeader(..)) => {
            Failure::Lasting(unreachable(&error.to_string()))
        }
        ureq::Error::Io(error) => Failure::Passing(unreachable(&Error::chain_of(&error)), None),
        error => Failure::Passing(unreachable(&error.to_string()), None),
    }
}

/// The delay that the server requests.
fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse().ok()?))
}

/// Whether a response contains a description of the failure.
fn is_problem(response: &Response<Body>) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    content_type.is_some_and(|it| it.starts_with("application/problem+json"))
}

/// The description of a failure in a body (RFC 9457), quoted. `None` means that there is none.
fn detail(body: impl Read) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Problem {
        detail: String,
    }
    let Problem { detail } = serde_json::from_reader(body).ok()?;
    let detail: String = detail.chars().take(MAX_DETAIL).collect();
    Some(quoted(&detail).to_string())
}

/// The error for a rejected certificate of the server, or of a proxy that is reached over TLS.
fn certificate_refused(url: &Url, through: &str, error: &CertificateError) -> Error {
    let what = match error {
        // The second: the name is that of a trusted authority, but the key is not.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            let what = "the certificate of the server is not from an authority that is trusted";
            return Error::of_url(ErrorKind::Certificate, url, what);
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet, or the clock of this machine is wrong".to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host".to_owned()
        }
        CertificateError::Revoked => "it was revoked".to_owned(),
        other => other.to_string(),
    };
    let what = format!("the certificate of the server is refused: {through}{what}");
    Error::of_url(ErrorKind::Certificate, url, what)
}

/// The TLS error in a failed request, whatever error it is wrapped in.
fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
