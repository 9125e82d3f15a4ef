//! Why a request failed, from the errors of the client and the responses of the server.

use std::io::Read;
use std::time::Duration;

use rustls::CertificateError;
use ureq::http::{Response, header};
use ureq::{Body, Proxy};
use url::Url;

use crate::mirror::error::Error;
use crate::model::quoted;

/// Limits of the body of an error: the bytes that are read, and the characters that are shown.
pub(super) const MAX_PROBLEM_BYTES: u64 = 16 * 1_024;
const MAX_DETAIL: usize = 300;

/// Why a request failed.
pub(super) enum Failure {
    /// It may succeed when it is repeated, after this time if the server says so.
    Passing(Error, Option<Duration>),
    /// It will not.
    Lasting(Error),
}

/// Sorts an error of a request: a wrong certificate stays wrong, a broken connection may be
/// repeated.
pub(super) fn failure(url: &Url, proxy: Option<&Proxy>, error: ureq::Error) -> Failure {
    let through = match proxy {
        Some(proxy) => format!("through the proxy {}:{}: ", proxy.host(), proxy.port()),
        None => String::new(),
    };
    let unreachable =
        |what: &str| Error::Unreachable { url: url.to_string(), what: format!("{through}{what}") };
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
        // Credentials may be needed, or wrong; or the proxy cannot reach the server now.
        ureq::Error::ConnectProxyFailed(why) => {
            let what = format!("{through}{why}");
            Failure::Passing(Error::ProxyRefused { url: url.to_string(), what }, None)
        }
        ureq::Error::Io(error) => Failure::Passing(unreachable(&error.to_string()), None),
        error @ (ureq::Error::BadUri(_)
        | ureq::Error::Tls(_)
        | ureq::Error::Rustls(_)
        | ureq::Error::HostNotFound
        | ureq::Error::LargeResponseHeader(..)) => {
            Failure::Lasting(unreachable(&error.to_string()))
        }
        error => Failure::Passing(unreachable(&error.to_string()), None),
    }
}

/// How long the server asks to wait.
pub(super) fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?;
    Some(Duration::from_secs(text.trim().parse().ok()?))
}

/// Whether a response says what failed.
pub(super) fn is_problem(response: &Response<Body>) -> bool {
    let content_type = response.headers().get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    content_type.is_some_and(|it| it.starts_with("application/problem+json"))
}

/// What a body says about a failure (RFC 9457), quoted. `None` means that it says nothing.
pub(super) fn detail(body: impl Read) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Problem {
        detail: String,
    }
    let Problem { detail } = serde_json::from_reader(body).ok()?;
    let detail: String = detail.chars().take(MAX_DETAIL).collect();
    Some(quoted(&detail).to_string())
}

/// A certificate that is refused: that of the server, or of a proxy that is reached over TLS.
fn certificate_refused(url: &Url, through: &str, error: &CertificateError) -> Error {
    let url = url.to_string();
    let what = match error {
        // The second: by the name of an authority that is trusted, but not by its key.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            return Error::UnknownAuthority { url };
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
    Error::Certificate { url, what: format!("{through}{what}") }
}

/// The error of TLS that a failed request has, wherever it is wrapped.
fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}
