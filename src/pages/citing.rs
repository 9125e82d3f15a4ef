//! What to paste into a paper.

use maud::{Markup, html};

use super::figures::visible;
use super::site::Site;
use crate::citation::{Citation, CitationFormat};
use crate::model::{Dataset, Identifier};

/// A citation format as it is offered on the web.
#[derive(Debug, Clone, Copy)]
pub struct Offered {
    /// The format.
    pub format: CitationFormat,
    /// Its name in `?format=`, which is also that of the command line.
    pub name: &'static str,
    /// What people call it.
    pub label: &'static str,
    /// Whether it is a description for programs, to which `describedby` links.
    pub is_metadata: bool,
}

const fn offered(format: CitationFormat, label: &'static str, is_metadata: bool) -> Offered {
    Offered { format, name: format.name(), label, is_metadata }
}

/// The citation formats, in the order in which they are offered.
pub const FORMATS: [Offered; 9] = [
    offered(CitationFormat::Text, "Text", false),
    offered(CitationFormat::Bibtex, "BibTeX", true),
    offered(CitationFormat::BibtexMisc, "BibTeX, classic", false),
    offered(CitationFormat::Ris, "RIS", true),
    offered(CitationFormat::CslJson, "CSL-JSON", true),
    offered(CitationFormat::DataciteJson, "DataCite", true),
    offered(CitationFormat::JsonLd, "JSON-LD", true),
    offered(CitationFormat::Cff, "CITATION.cff", false),
    offered(CitationFormat::Tuple, "Tuple", false),
];

/// The media type of a format.
pub const fn media_type(format: CitationFormat) -> &'static str {
    match format {
        CitationFormat::Text => "text/x-bibliography",
        CitationFormat::Bibtex | CitationFormat::BibtexMisc => "application/x-bibtex",
        CitationFormat::Ris => "application/x-research-info-systems",
        CitationFormat::CslJson => "application/vnd.citationstyles.csl+json",
        CitationFormat::DataciteJson => "application/vnd.datacite.datacite+json",
        CitationFormat::JsonLd => "application/ld+json",
        CitationFormat::Cff => "application/yaml",
        CitationFormat::Tuple => "text/plain",
    }
}

/// The citation as a sentence, and links to its other formats at `path`.
pub(super) fn section(site: &Site, citation: &Citation, path: &str) -> Markup {
    html! {
        blockquote.citation { (citation.write(CitationFormat::Text).trim_end()) }
        @if site.is_complete() {
            p.formats-label #formats-label { "For a reference manager" }
            ul.formats aria-labelledby="formats-label" {
                @for format in &FORMATS {
                    li {
                        a href=(site.href(&format!("{path}?format={}", format.name))) {
                            (format.label)
                        }
                    }
                }
            }
        }
    }
}

/// The `meta` elements from which reference managers read a citation: the names of Highwire Press,
/// which Zotero's "Embedded Metadata" and Google Scholar read, and of Dublin Core. `path` is that of
/// the page.
pub(super) fn meta(
    site: &Site,
    record: &Dataset,
    identifier: Option<Identifier>,
    path: &str,
) -> Vec<(&'static str, String)> {
    let title = super::record::title(record);
    let mut meta = vec![("citation_title", title.clone()), ("DC.title", title)];
    for creator in &record.creators {
        meta.push(("citation_author", visible(&creator.full_name())));
        meta.push(("DC.creator", visible(&creator.full_name())));
    }
    if let Some(publisher) = &record.publisher {
        meta.push(("citation_publisher", visible(publisher)));
        meta.push(("DC.publisher", visible(publisher)));
    }
    if let Some(year) = record.year {
        meta.push(("citation_publication_date", year.to_string()));
        meta.push(("DC.date", year.to_string()));
    }
    if let Some(doi) = &record.doi {
        meta.push(("citation_doi", doi.to_string()));
        meta.push(("DC.identifier", format!("doi:{doi}")));
    }
    if let Some(identifier) = identifier {
        meta.push(("DC.identifier", format!("DI:{identifier}")));
    }
    if let Some(description) = &record.description {
        meta.push(("citation_abstract", visible(description)));
    }
    if let Some(address) = site.address(path) {
        meta.push(("citation_public_url", address));
    }
    meta.push(("DC.type", "Dataset".to_owned()));
    meta
}
