//! What to paste into a paper, and what programs read of a citation.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::figures::{copy_button, visible};
use super::record;
use super::site::Site;
use crate::citation::{Citation, CitationFormat};
use crate::model::{Dataset, Identifier};

/// The citation formats, in the order in which they are offered.
pub const FORMATS: [CitationFormat; 7] = [
    CitationFormat::Text,
    CitationFormat::Bibtex,
    CitationFormat::Ris,
    CitationFormat::CslJson,
    CitationFormat::DataciteJson,
    CitationFormat::JsonLd,
    CitationFormat::Tuple,
];

/// The formats that most readers look for.
const USUAL: [CitationFormat; 3] =
    [CitationFormat::Bibtex, CitationFormat::Ris, CitationFormat::CslJson];

/// The citation as a sentence, and links to its other formats at `path`.
pub(super) fn section(site: &Site, citation: &Citation, path: &str) -> Markup {
    let text = citation.write(CitationFormat::Text);
    let others = || FORMATS.into_iter().filter(|format| !USUAL.contains(format));
    let link = |format: CitationFormat| {
        html! { a href=(site.href(&format!("{path}?format={format}"))) { (format.label()) } }
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

/// A citation whose addresses and identifiers are not broken between two lines.
fn in_words(text: &str) -> Markup {
    const LONG: usize = 24;
    html! {
        @for (index, word) in text.split(' ').enumerate() {
            @if index > 0 { " " }
            @if word.len() < LONG { (word) } @else { span { (word) } }
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

/// The citation as schema.org describes it, with where its granules are listed, and the
/// catalogue that lists it.
pub(super) fn described(
    site: &Site,
    record: &Dataset,
    citation: &Citation,
    identifier: Identifier,
) -> String {
    let written = citation.write(CitationFormat::JsonLd);
    let Ok(Value::Object(mut object)) = serde_json::from_str::<Value>(&written) else {
        return written;
    };
    // As it is shown: without characters that turn the direction of the text.
    if let Some(description) = record.description.as_deref().map(visible) {
        object.insert("description".to_owned(), description.into());
    }
    if site.is_complete()
        && let Some(address) = site.address(&Site::granules(identifier))
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

/// JSON as it is written into a `script` element, which it cannot end: in JSON, these characters are
/// in strings only.
pub(super) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
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
}
