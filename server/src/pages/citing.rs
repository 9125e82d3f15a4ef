//! Citations to paste into a paper, and the machine-readable parts of a page about a dataset or a set: typed
//! links (FAIR Signposting Profile, level 1), metadata, and JSON-LD.

use maud::{Markup, html};
use percent_encoding::{PercentEncode, utf8_percent_encode};
use serde_json::{Value, json};

use super::figures::{copy_button, visible};
use super::record;
use super::site::Site;
use accession::dataset::{Creator, DatasetMetadata, Licence, Orcid};
use accession::{Citation, CitationFormat};
use accession::{Doi, Identifier};

/// The citation formats, in the order of the page.
pub const FORMATS: [CitationFormat; 7] = [
    CitationFormat::Text,
    CitationFormat::Bibtex,
    CitationFormat::Ris,
    CitationFormat::CslJson,
    CitationFormat::DataciteJson,
    CitationFormat::JsonLd,
    CitationFormat::Tuple,
];

/// The most common formats.
const USUAL: [CitationFormat; 3] =
    [CitationFormat::Bibtex, CitationFormat::Ris, CitationFormat::CslJson];

/// The section with the citation as a sentence, and with links to its other formats at `path`.
pub(super) fn section(site: &Site, citation: &Citation, path: &str) -> Markup {
    let text = citation.render(CitationFormat::Text);
    let offered = || FORMATS.into_iter().filter(|format| citation.is_complete_for(*format));
    let others = || offered().filter(|format| !USUAL.contains(format));
    let link = |format: CitationFormat| {
        html! { a href=(site.href(&Site::in_format(path, format.name()))) { (format.label()) } }
    };
    html! {
        section #cite {
            h2 { "Cite" }
            blockquote.citation #citation { (in_words(text.trim_end())) }
            div.chips {
                (copy_button("citation", "the citation"))
                @if site.is_complete() { @for format in USUAL { (link(format)) } }
            }
            @if site.is_complete() {
                details.small {
                    summary { (others().count()) " more formats" }
                    div.chips { @for format in others() { (link(format)) } }
                }
            }
        }
    }
}

/// The permanent address of a set or, if none is known, its identifier. If `place` is given, it is a link to
/// that path, the page of the set.
pub(super) fn set_address(
    label: &str,
    address: Option<String>,
    identifier: Identifier,
    place: Option<String>,
) -> Markup {
    let has_address = address.is_some();
    let shown = address.unwrap_or_else(|| format!("DI:{identifier}"));
    html! {
        p.big {
            span.label { (label) }
            @match place {
                Some(place) => a.di.address[has_address] #di href=(place) { (shown) },
                None => span.di.address[has_address] #di { (shown) },
            }
            " " (copy_button("di", "the address"))
        }
    }
}

/// A citation whose addresses and identifiers are never broken between two lines.
fn in_words(text: &str) -> Markup {
    const LONG: usize = 24;
    html! {
        @for (index, word) in text.split(' ').enumerate() {
            @if index > 0 { " " }
            @if word.len() < LONG { (word) } @else { span { (word) } }
        }
    }
}

/// The `meta` elements from which reference managers read a citation. Their names are those of Highwire Press,
/// which Zotero's "Embedded Metadata" and Google Scholar read, and those of Dublin Core. `citation` is that of
/// the page; `None` means that there is no set yet. `path` is that of the page.
pub(super) fn meta(
    site: &Site,
    record: &DatasetMetadata,
    citation: Option<&Citation>,
    path: &str,
) -> Vec<(&'static str, String)> {
    let title = Some(record::title(record));
    // Reference managers save the same title as from RIS and CSL-JSON, so that the identifier reaches the
    // paper.
    let printed = citation.map(|citation| visible(&citation.title_to_print()));
    let identifier = citation.map(Citation::identifier);
    let creators = record.creators.iter().map(|it| Some(visible(&it.full_name())));
    let publisher = record.publisher.as_deref().map(visible);
    let (year, doi) = (record.year.map(|year| year.to_string()), record.doi.as_ref());
    let both = |highwire, dublin_core, said: Option<String>| {
        [(highwire, said.clone()), (dublin_core, said)]
    };
    let mut meta = vec![("citation_title", printed.or(title.clone())), ("DC.title", title)];
    meta.extend(creators.flat_map(|it| both("citation_author", "DC.creator", it)));
    meta.extend(both("citation_publisher", "DC.publisher", publisher));
    meta.extend(both("citation_publication_date", "DC.date", year));
    meta.extend([
        ("citation_doi", doi.map(Doi::to_string)),
        ("DC.identifier", doi.map(|doi| format!("doi:{doi}"))),
        ("DC.identifier", identifier.map(|identifier| format!("DI:{identifier}"))),
        ("citation_abstract", record.description.as_deref().map(visible)),
        ("citation_public_url", site.address(path)),
        ("DC.type", Some("Dataset".to_owned())),
    ]);
    meta.into_iter().filter_map(|(name, said)| Some((name, said?))).collect()
}

/// Adds to the JSON-LD of a set or a dataset (`written`) the address of its list of granules, and the catalogue
/// that contains it.
pub(super) fn described(
    site: &Site,
    record: &DatasetMetadata,
    written: String,
    list: &str,
) -> String {
    let Ok(Value::Object(mut object)) = serde_json::from_str::<Value>(&written) else {
        return written;
    };
    // As on the page: without characters that change the direction of the text.
    if let Some(description) = record.description.as_deref().map(visible) {
        object.insert("description".to_owned(), description.into());
    }
    if site.is_complete()
        && let Some(address) = site.address(list)
    {
        object.insert(
            "distribution".to_owned(),
            json!([{
                "@type": "DataDownload",
                "name": format!("The granule ids of {}", record::title(record)),
                "contentUrl": address,
                "encodingFormat": "text/plain",
            }]),
        );
    }
    if let Some(address) = site.address("/") {
        object.insert(
            "includedInDataCatalog".to_owned(),
            json!({ "@type": "DataCatalog", "name": site.name, "url": address }),
        );
    }
    Value::Object(object).to_string()
}

/// Escapes JSON for a `script` element, so that it cannot end the element. In JSON, these characters occur only
/// in strings.
pub(super) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A link with a relation, for `<link>` and for the header `Link`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The relation.
    pub rel: &'static str,
    /// The address.
    pub href: String,
    /// The media type of the target. `None` means that it is not stated.
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
        // Appended piece by piece: every page has a dozen links, and `format!` took 3 % of a first request.
        let mut header = String::with_capacity(self.href.len() + 64);
        header.push('<');
        header.extend(address(&self.href));
        header.extend([">; rel=\"", self.rel, "\""]);
        header.extend(self.media_type.into_iter().flat_map(|it| ["; type=\"", it, "\""]));
        header
    }

    /// The link as an element of the head.
    pub fn element(&self) -> Markup {
        html! { link rel=(self.rel) type=[self.media_type] href=(address(&self.href).to_string()); }
    }
}

/// An address in which the characters that would end it in a header are percent-encoded.
fn address(href: &str) -> PercentEncode<'_> {
    utf8_percent_encode(href, Citation::NOT_IN_A_URI)
}

/// The subject of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Describes {
    /// A dataset, which changes.
    Dataset,
    /// One set of granules.
    Set,
}

/// The greatest number of authors in the header `Link`. Headers with 500 links have broken repositories behind
/// proxies (DSpace#8943).
const MAX_AUTHORS: usize = 5;

/// The greatest length of the address of a licence in the header.
const MAX_ADDRESS_BYTES: usize = 300;

/// The links of the page at `path` about a dataset, or about one of its sets. `list` is the address of its list
/// of granules; `None` means that there is no set yet. `citation` is that of the page; `None` means that it was
/// not read.
pub fn links(
    site: &Site,
    record: &DatasetMetadata,
    describes: Describes,
    path: &str,
    list: Option<&str>,
    citation: Option<&Citation>,
) -> Vec<Link> {
    let mut links = Vec::new();
    let of_set = || {
        let cited = citation.and_then(Citation::permanent_address);
        let resolver = record.resolver.as_ref().filter(|_| citation.is_none());
        let resolver = resolver.map(|it| it.as_str().trim_end_matches('/'));
        cited.or_else(|| resolver.map(|resolver| format!("{resolver}{path}")))
    };
    let known = match describes {
        Describes::Dataset => record.doi.as_ref().map(Doi::address),
        Describes::Set => of_set(),
    };
    let cite_as = known.or_else(|| site.address(path));
    links.extend(cite_as.map(|address| Link::new("cite-as", address)));
    links.push(Link::new("type", "https://schema.org/AboutPage"));
    links.push(Link::new("type", "https://schema.org/Dataset"));
    let licence = record.licence.as_ref().and_then(Licence::address);
    let licence = licence.filter(|licence| licence.len() <= MAX_ADDRESS_BYTES);
    links.extend(licence.map(|licence| Link::new("license", licence)));
    let orcids = record.creators.iter().filter_map(Creator::orcid).take(MAX_AUTHORS);
    links.extend(orcids.map(|orcid| Link::new("author", Orcid::address(orcid))));
    // Without a set, there is nothing to cite.
    if let Some(list) = list.filter(|_| site.is_complete()) {
        let described = FORMATS.into_iter().filter(|format| {
            let is_complete = |citation: &Citation| citation.is_complete_for(*format);
            format.is_metadata() && citation.is_none_or(is_complete)
        });
        links.extend(described.map(|format| {
            let address = site.address_or_href(&Site::in_format(path, format.name()));
            Link::new("describedby", address).of_type(format.media_type())
        }));
        links.push(Link::new("item", site.address_or_href(list)).of_type("text/plain"));
    }
    links
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_cannot_end_the_script() {
        let hostile = json!({ "name": "</script><!--<script>&amp;" });
        let written = in_script(&hostile.to_string());
        assert!(!written.contains(['<', '>', '&']));
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), hostile);
    }

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
