//! The address of a dataset.

use std::fmt;

use ureq::{Proxy, ProxyProtocol};
use url::{Host, Url};

use super::DATASETS;
use crate::error::{Class, Error, ErrorDetail, ErrorKind, Result};
use crate::model::{DatasetName, quoted};
use crate::registry::Location;

/// The address of a dataset: an `https` URL, or an `http` URL of this machine, that ends with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Whether a user means an address with this text, and not the path of a file.
    pub fn is_meant(text: &str) -> bool {
        let begins = |with: &str| {
            text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        begins("http://") || begins("https://")
    }

    /// Parses an address. `head.json` at its end is removed. If `permits_http`, `http` is accepted for every
    /// host.
    ///
    /// # Errors
    ///
    /// - `http://example.org/US/`: not encrypted
    /// - `https://user@example.org/US/`: a user name, which would be stored and shown
    /// - `https://example.org/US/?a=b`: a query
    pub fn parse(text: &str, permits_http: bool) -> Result<Self> {
        let refused = |why: &str| Error::not_an_address(text, why);
        let mut url = Url::parse(text).map_err(|error| refused(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("it is neither http nor https"));
        }
        if url.scheme() == "http" && !permits_http && !is_loopback(&url) {
            return Err(Error::not_encrypted(text));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // The message must not show the password.
            let text = format!(
                "{}://…@{}{}",
                url.scheme(),
                url.host_str().unwrap_or_default(),
                url.path()
            );
            return Err(Error::not_an_address(&text, "it contains a user name or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(refused("it has a query or a fragment"));
        }
        let path = url.path().strip_suffix("head.json").unwrap_or(url.path()).to_owned();
        let path = if path.ends_with('/') { path } else { format!("{path}/") };
        url.set_path(&path);
        Ok(Address(url))
    }

    /// The address of a file of the dataset.
    pub(in crate::mirror) fn file(&self, name: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{name}", self.0.path()));
        url
    }

    /// The address of the same dataset under another name.
    pub(super) fn renamed(&self, name: &DatasetName) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().pop().push(name.as_str()).push("");
        }
        Address(url)
    }

    /// The address of a dataset of the site, if this is the root of the site.
    pub(super) fn dataset(&self, name: &DatasetName) -> Self {
        Address(self.file(&format!("{DATASETS}/{name}/")))
    }

    /// The root of the site, if this address is its `datasets/NAME/`. Otherwise `None`.
    pub(super) fn site(&self) -> Option<Self> {
        let path = self.0.path().trim_end_matches('/');
        let root = path.rsplit_once('/')?.0.strip_suffix("/datasets")?;
        let mut url = self.0.clone();
        url.set_path(&format!("{root}/"));
        Some(Address(url))
    }
}

/// Whether requests stay on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str())
    }
}

impl Error {
    /// The error for a request to an address.
    pub(super) fn of_url(
        class: impl Into<Class>,
        url: impl fmt::Display,
        what: impl fmt::Display,
    ) -> Self {
        Error::new(class, format!("{url}: {what}"))
    }

    pub(super) fn not_encrypted(url: impl fmt::Display) -> Self {
        let why = "is not encrypted: anyone on the way could change what is read";
        Error::new(ErrorDetail::NotEncrypted, format!("{url} {why}"))
    }

    fn not_an_address(text: &str, why: &str) -> Self {
        let message = format!("{} is not the address of a dataset: {why}", quoted(text));
        Error::new(ErrorKind::Address, message)
    }
}

/// The name by which a mirror remembers a primary: its address, or the absolute path of its file or directory.
/// Symbolic links are not resolved, so the name stays the same when the file no longer exists.
pub fn source_name(text: &str) -> String {
    if Address::is_meant(text) {
        // Permission for http only matters when the address is read.
        return Address::parse(text, true).map_or_else(|_| text.to_owned(), |it| it.to_string());
    }
    let location = Location::from(text);
    let name = match location.is_file() {
        true => std::path::absolute(text).unwrap_or_else(|_| text.into()),
        // The address of a server can contain a password.
        false => location.full_name(),
    };
    name.to_string_lossy().into_owned()
}

/// The proxy that the environment names for an origin. `None` means that requests are sent directly.
///
/// # Errors
///
/// [`ErrorDetail::Proxy`](crate::error::ErrorDetail::Proxy): `HTTPS_PROXY=socks5://proxy.example.org`. The
/// message never contains the value of a variable, because it may contain a password.
pub(super) fn proxy_of(url: &Url) -> Result<Option<Proxy>> {
    if is_loopback(url) {
        return Ok(None);
    }
    // ureq would silently ignore a proxy that it cannot parse.
    let named = PROXIES.iter().filter_map(std::env::var_os).filter(|value| !value.is_empty());
    if named.into_iter().any(|value| !is_proxy(&value.to_string_lossy())) {
        let what = "the proxy in the environment: it is not an address";
        return Err(Error::new(ErrorDetail::Proxy, what));
    }
    let is_exempt = |proxy: &Proxy| url.as_str().parse().is_ok_and(|uri| proxy.is_no_proxy(&uri));
    let Some(proxy) = Proxy::try_from_env().filter(|proxy| !is_exempt(proxy)) else {
        return Ok(None);
    };
    match proxy.protocol() {
        ProxyProtocol::Http | ProxyProtocol::Https => Ok(Some(proxy)),
        _ => {
            let what = "the proxy in the environment: only http and https proxies are supported";
            Err(Error::new(ErrorDetail::Proxy, what))
        }
    }
}

/// The variables that can name a proxy.
const PROXIES: [&str; 6] =
    ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"];

/// Whether the value of such a variable is the address of a proxy, with or without `http://`.
fn is_proxy(value: &str) -> bool {
    let address = match value.contains("://") {
        true => value.to_owned(),
        false => format!("http://{value}"),
    };
    Url::parse(&address).is_ok_and(|url| url.has_host()) && Proxy::new(value).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_an_address_with_a_host_and_a_port() {
        for value in ["proxy", "proxy:3128", "http://u:p@proxy.example.org:3128", "https://[::1]:8"]
        {
            assert!(is_proxy(value), "{value}");
        }
        for value in [
            "http://[::1",
            "http://",
            "http://exa mple",
            "http://127.0.0.1:99999",
            "proxy:abc",
            "ftp://x",
        ] {
            assert!(!is_proxy(value), "{value}");
        }
    }

    #[test]
    fn it_ends_with_a_slash_whichever_way_it_is_written() {
        for text in [
            "https://example.org/datasets/US",
            "https://example.org/datasets/US/",
            "HTTPS://Example.org:443/datasets/US/head.json",
        ] {
            let address = Address::parse(text, false).unwrap();
            assert_eq!(address.to_string(), "https://example.org/datasets/US/");
            let head = address.file("head.json").to_string();
            assert_eq!(head, "https://example.org/datasets/US/head.json");
            assert_eq!(address.site().unwrap().to_string(), "https://example.org/");
            let renamed = address.renamed(&"US.2".parse().unwrap()).to_string();
            assert_eq!(renamed, "https://example.org/datasets/US.2/");
        }
    }

    #[test]
    fn what_would_not_be_encrypted_is_refused_unless_it_stays_here() {
        for text in ["http://127.0.0.1:8000/US", "http://[::1]/US", "http://localhost/US"] {
            assert!(Address::parse(text, false).is_ok(), "{text}");
        }
        for text in ["http://example.org/US", "http://127.0.0.1.example.org/", "http://10.0.0.1/"] {
            assert_eq!(
                Address::parse(text, false).unwrap_err().detail(),
                Some(ErrorDetail::NotEncrypted),
                "{text}"
            );
            assert!(Address::parse(text, true).is_ok(), "{text}");
        }
        for text in ["https://", "https://u:p@example.org/", "https://example.org/?a", "ftp://a/"] {
            assert_eq!(
                Address::parse(text, true).unwrap_err().kind(),
                ErrorKind::Address,
                "{text}"
            );
        }
    }
}
