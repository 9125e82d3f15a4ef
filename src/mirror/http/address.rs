//! The address of a dataset.

use std::fmt;

use url::{Host, Url};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Identifier, quoted};

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
}
