//! Links with a relation, as HTML and HTTP have them, and what a page links to for programs:
//! Signposting (FAIR Signposting Profile, level 1).

use maud::{Markup, html};
use percent_encoding::{PercentEncode, utf8_percent_encode};

use super::citing::FORMATS;
use super::record::licence_address;
use super::site::Site;
use crate::citation::NOT_IN_A_URI;
use crate::model::{Creator, Dataset, Doi, Identifier, Orcid};

/// A link with a relation, for `<link>` and for the header `Link`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The relation.
    pub rel: &'static str,
    /// The address.
    pub href: String,
    /// The media type of what is there. `None` means that it is not stated.
    pub media_type: Option<&'static str>,
}

impl Link {
    /// A link without a media type.
    pub fn new(rel: &'static str, href: impl Into<String>) -> Self {
        Link { rel, href: href.into(), media_type: None }
    }

    /// The same link with a media type.
    #[must_use]
    pub fn of_type(self, media_type: &'static str) -> Self {
        Link { media_type: Some(media_type), ..self }
    }

    /// The link as a value of the header `Link` (RFC 8288).
    pub fn header(&self) -> String {
        let mut header = format!("<{}>; rel=\"{}\"", address(&self.href), self.rel);
        if let Some(media_type) = self.media_type {
            header.push_str(&format!("; type=\"{media_type}\""));
        }
        header
    }

    /// The link as an element of the head.
    pub fn element(&self) -> Markup {
        html! { link rel=(self.rel) type=[self.media_type] href=(address(&self.href).to_string()); }
    }
}

/// An address without the characters that end it in a header: they are percent-encoded.
fn address(href: &str) -> PercentEncode<'_> {
    utf8_percent_encode(href, NOT_IN_A_URI)
}

/// What a page describes.
#[derive(Debug, Clone, Copy)]
pub enum Describes {
    /// A dataset, whose latest set has this identifier. `None` means that it has no set yet.
    Dataset(Option<Identifier>),
    /// One set of granules.
    Set(Identifier),
}

/// The greatest number of authors in the header `Link`: 500 links in a header have broken
/// repositories behind proxies (DSpace#8943).
const MAX_AUTHORS: usize = 5;

/// The greatest length of the address of a licence in the header.
const MAX_ADDRESS_BYTES: usize = 300;

/// The links of a page about a dataset, or about a set of it, at `path`.
pub fn links(site: &Site, record: &Dataset, path: &str, describes: Describes) -> Vec<Link> {
    let mut links = Vec::new();
    let own = site.address(path);
    let cite_as = match describes {
        Describes::Dataset(_) => record.doi.as_ref().map(Doi::address).or(own),
        Describes::Set(_) => own,
    };
    links.extend(cite_as.map(|address| Link::new("cite-as", address)));
    links.push(Link::new("type", "https://schema.org/AboutPage"));
    links.push(Link::new("type", "https://schema.org/Dataset"));
    let licence = record.licence.as_deref().and_then(licence_address);
    let licence = licence.filter(|licence| licence.len() <= MAX_ADDRESS_BYTES);
    links.extend(licence.map(|licence| Link::new("license", licence)));
    let orcids = record.creators.iter().filter_map(Creator::orcid).take(MAX_AUTHORS);
    links.extend(orcids.map(|orcid| Link::new("author", Orcid::address(orcid))));
    if site.is_complete() {
        let identifier = match describes {
            Describes::Dataset(identifier) => identifier,
            Describes::Set(identifier) => Some(identifier),
        };
        // Without a set, there is nothing to cite.
        if let Some(identifier) = identifier {
            let described = FORMATS.into_iter().filter(|format| format.is_metadata());
            links.extend(described.map(|format| {
                let address = site.address_or_href(&format!("{path}?format={format}"));
                Link::new("describedby", address).of_type(format.media_type())
            }));
            let list = site.address_or_href(&Site::granules(identifier));
            links.push(Link::new("item", list).of_type("text/plain"));
        }
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_leave_its_brackets() {
        let link = Link::new("license", "https://a.example/\">\r\nSet-Cookie: ä");
        assert_eq!(
            link.header(),
            "<https://a.example/%22%3E%0D%0ASet-Cookie:%20%C3%A4>; rel=\"license\""
        );
        assert!(!link.element().into_string().contains("\">\r"));
    }
}
