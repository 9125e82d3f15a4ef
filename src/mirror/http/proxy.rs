//! The proxy that requests to an origin go through, from variables of an environment.
//!
//! `HTTPS_PROXY` is for `https`, `HTTP_PROXY` for `http`, and `ALL_PROXY` for both where the first is
//! not set. `NO_PROXY` names the hosts that need none. Each is read in capital letters or, if it is
//! not set so, in small ones; an empty variable is one that is not set. Requests to this machine
//! never go through a proxy: that they stay here is why they need not be encrypted.

use std::net::IpAddr;

use ureq::{Proxy, ProxyProtocol};
use url::{Host, Url};

use super::address::is_loopback;
use crate::error::{Error, ErrorKind, Result};

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
