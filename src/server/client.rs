//! Who sends a request: the address by which clients are limited.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

use axum::http::{HeaderMap, HeaderName};

/// The header in which each proxy appends the address that it got the request from.
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address at the other end of a connection, as an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub struct Peer(
    /// The address, without the port.
    pub IpAddr,
);

/// A client as limits count it: an IPv4 address, or the network of 64 bits that one subscriber of IPv6
/// has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client(u128);

/// A network of addresses, such as `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// Of IPv6: an address of IPv4 is mapped to one (RFC 4291 §2.5.5.2).
    address: u128,
    prefix_bits: u32,
}

/// Why a string is not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a network is an address with the length of its prefix, as in 10.0.0.0/8 or 2001:db8::/32")]
pub struct NetworkError;

impl Client {
    /// The client that sends a request. `None` means that it is not known: the request comes from a
    /// trusted proxy that does not name one, or not over a connection.
    ///
    /// Each proxy appends the address of its own peer, so the rightmost entry that is not a trusted
    /// proxy is the last that nobody else can have made up.
    pub fn of(peer: Option<Peer>, headers: &HeaderMap, trusted: &[Network]) -> Option<Self> {
        let is_trusted = |address: IpAddr| {
            let address = address.to_canonical();
            address.is_loopback() || trusted.iter().any(|network| network.contains(address))
        };
        let Peer(peer) = peer?;
        if !is_trusted(peer) {
            return Some(Client::at(peer));
        }
        let lines = headers.get_all(FORWARDED_FOR).iter().rev();
        let entries = lines.flat_map(|line| line.as_bytes().rsplit(|byte| *byte == b','));
        let mut origin = None;
        for entry in entries.map(<[u8]>::trim_ascii).filter(|entry| !entry.is_empty()) {
            // An entry that cannot be read hides who is before it.
            let address = address_in(entry).unwrap_or(peer);
            origin = Some(Client::at(address));
            if !is_trusted(address) || address == peer {
                break;
            }
        }
        origin
    }

    fn at(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) => Client(address.to_bits() >> 64 << 64),
            address => Client(bits(address)),
        }
    }
}

impl Network {
    fn contains(self, address: IpAddr) -> bool {
        let differing = self.address ^ bits(address);
        differing.checked_shr(128 - self.prefix_bits).unwrap_or(0) == 0
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(most), |prefix| prefix.parse().map_err(|_| NetworkError))?;
        if prefix > most {
            return Err(NetworkError);
        }
        Ok(Network { address: bits(address), prefix_bits: 128 - most + prefix })
    }
}

/// An address as one of IPv6.
fn bits(address: IpAddr) -> u128 {
    let address: Ipv6Addr = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    address.to_bits()
}

/// The address in an entry of the header, which may have a port.
fn address_in(entry: &[u8]) -> Option<IpAddr> {
    let entry = std::str::from_utf8(entry).ok()?;
    let with_port = || Some(entry.parse::<SocketAddr>().ok()?.ip());
    entry.parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(peer: &str, forwarded: &[&str]) -> Option<Client> {
        let trusted = ["10.0.0.0/8".parse().unwrap(), "2001:db8:1::/48".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for line in forwarded {
            headers.append(FORWARDED_FOR, line.parse().unwrap());
        }
        Client::of(Some(Peer(peer.parse().unwrap())), &headers, &trusted)
    }

    fn at(address: &str) -> Option<Client> {
        Some(Client::at(address.parse().unwrap()))
    }

    #[test]
    fn the_client_is_the_last_address_that_no_trusted_proxy_has() {
        for (peer, forwarded, expected) in [
            // Whoever is not a proxy may send the header, but is not believed.
            ("192.0.2.1", &["198.51.100.7"][..], at("192.0.2.1")),
            ("::ffff:192.0.2.1", &[], at("192.0.2.1")),
            ("127.0.0.1", &["198.51.100.7"], at("198.51.100.7")),
            ("::1", &["203.0.113.9, 198.51.100.7:4711"], at("198.51.100.7")),
            ("10.1.2.3", &["203.0.113.9, 198.51.100.7, 10.9.9.9"], at("198.51.100.7")),
            ("10.1.2.3", &["203.0.113.9", "198.51.100.7,10.9.9.9"], at("198.51.100.7")),
            ("2001:db8:1::1", &["[2001:db8:2::5]:80"], at("2001:db8:2::5")),
            // All are proxies: where it began.
            ("127.0.0.1", &["10.0.0.2, 10.0.0.3"], at("10.0.0.2")),
            // Nobody is behind what cannot be read: the proxy itself is limited.
            ("127.0.0.1", &["198.51.100.7, unknown"], at("127.0.0.1")),
            ("127.0.0.1", &[], None),
            ("127.0.0.1", &["", " , "], None),
            ("10.1.2.3", &[], None),
        ] {
            assert_eq!(client(peer, forwarded), expected, "{peer} with {forwarded:?}");
        }
        assert_eq!(Client::of(None, &HeaderMap::new(), &[]), None);
    }

    #[test]
    fn a_subscriber_of_ipv6_is_one_client() {
        assert_eq!(at("2001:db8:5:6::1"), at("2001:db8:5:6:ffff::2"));
        assert_ne!(at("2001:db8:5:6::1"), at("2001:db8:5:7::1"));
        assert_ne!(at("192.0.2.1"), at("192.0.2.2"));
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_as_it_does() {
        for (network, address, is_within) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "198.51.100.7", true),
            ("0.0.0.0/0", "2001:db8::1", false),
            ("::/0", "2001:db8::1", true),
            ("192.0.2.1", "192.0.2.1", true),
            ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/127", "2001:db8::2", false),
        ] {
            let network: Network = network.parse().unwrap();
            assert_eq!(network.contains(address.parse().unwrap()), is_within, "{address}");
        }
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/-1", "example.org"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError), "{text}");
        }
    }
}
