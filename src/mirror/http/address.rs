//! The address of a dataset.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;

use ureq::{Proxy, ProxyProtocol};
use url::{Host, Url};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Identifier, quoted};
use crate::registry::Registry;

/// The address of a dataset: an `https` URL, or an `http` URL of this machine, that ends with `/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Whether a person who writes this means an address, and not the path of a file.
    pub fn is_meant(text: &str) -> bool {
        let begins = |with: &str| {
            text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
        };
        begins("http://") || begins("https://")
    }

    /// Reads an address. `head.json` at its end is dropped. `permits_http`: whether `http` is
    /// accepted for any host.
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
    pub(super) fn file(&self, name: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{name}", self.0.path()));
        url
    }

    /// The address of a list of a set, of the server that the dataset is on. `None` means that the
    /// address is not one of a server with sets.
    pub(super) fn of_set(&self, identifier: Identifier, list: &str) -> Option<Url> {
        let (root, _) = self.0.path().trim_end_matches('/').rsplit_once("/datasets/")?;
        let mut url = self.0.clone();
        url.set_path(&format!("{root}/DI:{identifier}/{list}"));
        Some(url)
    }

    /// The address of the first page of the site that the dataset is on.
    pub(super) fn site(&self) -> Url {
        let path = self.0.path();
        let root = path.split_once("/datasets/").map_or(path, |(root, _)| root);
        let mut url = self.0.clone();
        url.set_path(&format!("{}/", root.trim_end_matches('/')));
        url
    }

    /// The address of the same dataset by another name.
    pub(super) fn renamed(&self, name: &DatasetName) -> Self {
        let mut url = self.0.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().pop().push(name.as_str()).push("");
        }
        Address(url)
    }

    /// The last part of the path, as a name to call the dataset by where nothing better is known.
    pub(super) fn last_name(&self) -> Option<DatasetName> {
        let path = self.0.path().trim_end_matches('/');
        let last = path.rsplit('/').next().unwrap_or_default();
        percent_encoding::percent_decode_str(last).decode_utf8().ok()?.parse().ok()
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
    /// The error of a request to an address.
    pub(super) fn of_url(kind: ErrorKind, url: impl fmt::Display, what: impl fmt::Display) -> Self {
        Error::new(kind, format!("{url}: {what}"))
    }

    pub(super) fn not_encrypted(url: impl fmt::Display) -> Self {
        let why = "is not encrypted: anyone on the way could change what is read";
        Error::new(ErrorKind::NotEncrypted, format!("{url} {why}"))
    }

    fn not_an_address(text: &str, why: &str) -> Self {
        let message = format!("{} is not the address of a dataset: {why}", quoted(text));
        Error::new(ErrorKind::Address, message)
    }
}

/// What a mirror calls a primary that was named so: its address, or the absolute path of its file.
pub fn source_name(text: &str) -> String {
    if Address::is_meant(text) {
        // Whether http is permitted decides only whether it is read.
        return Address::parse(text, true).map_or_else(|_| text.to_owned(), |it| it.to_string());
    }
    Registry::full_name(Path::new(text)).to_string_lossy().into_owned()
}

/// The proxy for an origin, from variables that `read` reads. `None` means that requests go straight to it.
///
/// # Errors
///
/// [`ErrorKind::Proxy`](crate::ErrorKind::Proxy): `HTTPS_PROXY=socks5://proxy.example.org`. The message has no value of a variable,
/// because it may have a password.
pub(super) fn proxy_of(url: &Url, read: impl Fn(&str) -> Option<String>) -> Result<Option<Proxy>> {
    let read = |variable: &str| {
        [variable.to_owned(), variable.to_ascii_lowercase()]
            .into_iter()
            .find_map(|name| read(&name).filter(|value| !value.is_empty()).map(|it| (name, it)))
    };
    let of_scheme = if url.scheme() == "https" { "HTTPS_PROXY" } else { "HTTP_PROXY" };
    let Some((variable, value)) = read(of_scheme).or_else(|| read("ALL_PROXY")) else {
        return Ok(None);
    };
    let exempt = read("NO_PROXY").map(|(_, list)| list).unwrap_or_default();
    if is_loopback(url) || exempt.split([',', ' ']).any(|entry| is_exempt(url, entry)) {
        return Ok(None);
    }
    let refused = |why: &str| {
        // The value is not shown, since it may have a password.
        Error::new(ErrorKind::Proxy, format!("{variable} in the environment: {why}"))
    };
    let proxy = Proxy::new(&value).map_err(|_| refused("it is not the address of a proxy"))?;
    match proxy.protocol() {
        ProxyProtocol::Http | ProxyProtocol::Https => Ok(Some(proxy)),
        _ => Err(refused("only http and https proxies are supported")),
    }
}

/// Whether an entry of `NO_PROXY` names the host of an origin: `*`, a host with all below it, an
/// address, or a network as `10.0.0.0/8`; a host and an address may have a port.
fn is_exempt(url: &Url, entry: &str) -> bool {
    let entry = entry.trim();
    if entry == "*" {
        return true;
    }
    let (host, port) = match entry.rsplit_once(':') {
        // Not the last part of an IPv6 address.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    };
    if port.is_some_and(|port| port.parse().ok() != url.port_or_known_default()) {
        return false;
    }
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match url.host() {
        Some(Host::Ipv4(address)) => is_within(address.into(), host),
        Some(Host::Ipv6(address)) => is_within(address.into(), host),
        Some(Host::Domain(name)) => {
            let domain = host.trim_start_matches('*').trim_start_matches('.').to_ascii_lowercase();
            let rest = name.strip_suffix(domain.as_str());
            !domain.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        }
        None => false,
    }
}

/// Whether an address is another one, or in a network.
fn is_within(address: IpAddr, entry: &str) -> bool {
    let (network, bits) = match entry.split_once('/') {
        Some((network, bits)) => (network, bits.parse::<u32>().ok()),
        None => (entry, Some(128)),
    };
    match (address, network.parse(), bits) {
        (IpAddr::V4(address), Ok(IpAddr::V4(network)), Some(bits)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(32_u32.saturating_sub(bits)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), Ok(IpAddr::V6(network)), Some(bits)) => {
            let differ = address.to_bits() ^ network.to_bits();
            differ.checked_shr(128_u32.saturating_sub(bits)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_a_slash_whichever_way_it_is_written() {
        for text in [
            "https://example.org/datasets/US",
            "https://example.org/datasets/US/",
            "HTTPS://Example.org:443/datasets/US/head.json",
        ] {
            let address = Address::parse(text, false).unwrap();
            assert_eq!(address.to_string(), "https://example.org/datasets/US/");
            assert_eq!(address.last_name().unwrap().as_str(), "US");
            let head = address.file("head.json").to_string();
            assert_eq!(head, "https://example.org/datasets/US/head.json");
            let renamed = address.renamed(&"US.2".parse().unwrap()).to_string();
            assert_eq!(renamed, "https://example.org/datasets/US.2/");
            let blocks = address.of_set(Identifier::EMPTY, "blocks").unwrap().to_string();
            assert_eq!(blocks, "https://example.org/DI:d41d8cd98f00b204e9800998ecf8427e/blocks");
        }
    }

    #[test]
    fn what_would_not_be_encrypted_is_refused_unless_it_stays_here() {
        for text in ["http://127.0.0.1:8000/US", "http://[::1]/US", "http://localhost/US"] {
            assert!(Address::parse(text, false).is_ok(), "{text}");
        }
        for text in ["http://example.org/US", "http://127.0.0.1.example.org/", "http://10.0.0.1/"] {
            assert_eq!(
                Address::parse(text, false).unwrap_err().kind(),
                ErrorKind::NotEncrypted,
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

    /// The host of the proxy that is chosen with these variables.
    fn host(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let read = |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned())
        };
        let proxy = proxy_of(&Url::parse(url).unwrap(), read).unwrap();
        proxy.map(|proxy| proxy.host().to_owned())
    }

    #[test]
    fn the_scheme_decides_and_capital_letters_precede_small_ones() {
        let all = [("HTTPS_PROXY", "s:1"), ("HTTP_PROXY", "p:1"), ("ALL_PROXY", "a:1")];
        assert_eq!(host("https://example.org/", &all).as_deref(), Some("s"));
        assert_eq!(host("http://example.org/", &all).as_deref(), Some("p"));
        assert_eq!(host("https://example.org/", &all[1..]).as_deref(), Some("a"));
        assert_eq!(host("https://example.org/", &all[1..2]), None);
        let small = [("https_proxy", "small:1"), ("HTTPS_PROXY", "")];
        assert_eq!(host("https://example.org/", &small).as_deref(), Some("small"));
        let both = [("https_proxy", "small:1"), ("HTTPS_PROXY", "capital:1")];
        assert_eq!(host("https://example.org/", &both).as_deref(), Some("capital"));
    }

    #[test]
    fn this_machine_needs_no_proxy() {
        let all = [("ALL_PROXY", "http://proxy:1")];
        for url in ["http://127.0.0.1:8000/", "http://[::1]/", "https://localhost/"] {
            assert_eq!(host(url, &all), None, "{url}");
        }
        assert_eq!(host("http://10.0.0.1/", &all).as_deref(), Some("proxy"));
    }

    #[test]
    fn hosts_that_are_named_need_no_proxy_and_no_others() {
        let through = |url: &str, exempt: &str| {
            host(url, &[("ALL_PROXY", "http://proxy:1"), ("no_proxy", exempt)]).is_some()
        };
        for exempt in [
            "*",
            "a.example.org",
            "A.Example.org",
            "example.org",
            ".example.org",
            "*.example.org",
            "other, example.org",
            "other example.org",
            "a.example.org:443",
        ] {
            assert!(!through("https://a.example.org/", exempt), "{exempt}");
        }
        for exempt in ["", ",", ".", "b.example.org", "xample.org", "a.example.org:80", "10.0.0.1"]
        {
            assert!(through("https://a.example.org/", exempt), "{exempt}");
        }
        for exempt in ["10.1.2.3", "10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0", "10.1.2.3:443"] {
            assert!(!through("https://10.1.2.3/", exempt), "{exempt}");
        }
        for exempt in ["10.1.2.4", "10.1.2.0/x", "11.0.0.0/8", "10.1.2.2/32", "1.2.3", "::/0"] {
            assert!(through("https://10.1.2.3/", exempt), "{exempt}");
        }
        for exempt in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:443", "2001:db8::/32", "::/0"]
        {
            assert!(!through("https://[2001:db8::1]/", exempt), "{exempt}");
        }
        for exempt in ["2001:db8::2", "2001:db9::/32", "[2001:db8::1]:80"] {
            assert!(through("https://[2001:db8::1]/", exempt), "{exempt}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_without_its_password() {
        let url = Url::parse("https://example.org/").unwrap();
        for value in ["socks5://user:secret@proxy", "ftp://user:secret@proxy", "//user:secret@ x"] {
            let error = proxy_of(&url, |_| Some(value.to_owned())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Proxy);
            assert!(error.to_string().contains("HTTPS_PROXY"), "{error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("secret") && !shown.contains("user"), "{shown}");
        }
    }
}
