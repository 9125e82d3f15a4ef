//! What to paste into a paper, what programs read of a citation, and how to verify what was cited.

use maud::{Markup, html};
use serde_json::{Value, json};

use super::figures::visible;
use super::record;
use super::site::Site;
use crate::citation::{Citation, CitationFormat};
use crate::model::{Dataset, Identifier};

/// The citation formats, in the order in which they are offered.
pub const FORMATS: [CitationFormat; 9] = [
    CitationFormat::Text,
    CitationFormat::Bibtex,
    CitationFormat::BibtexMisc,
    CitationFormat::Ris,
    CitationFormat::CslJson,
    CitationFormat::DataciteJson,
    CitationFormat::JsonLd,
    CitationFormat::Cff,
    CitationFormat::Tuple,
];

/// The citation as a sentence, and links to its other formats at `path`.
pub(super) fn section(site: &Site, citation: &Citation, path: &str) -> Markup {
    html! {
        blockquote.citation { (citation.write(CitationFormat::Text).trim_end()) }
        @if site.is_complete() {
            p.formats-label #formats-label { "For a reference manager" }
            ul.formats aria-labelledby="formats-label" {
                @for format in FORMATS {
                    li {
                        a href=(site.href(&format!("{path}?format={format}"))) {
                            (format.label())
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

/// The citation as schema.org describes it, with where its granules are listed and the catalogue that
/// lists it.
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

/// The rule as a shell program that needs only `sort` and `md5sum` (identifier.md, in a shell).
const SHELL: &str = "ls | LC_ALL=C sort | { h=; while IFS= read -r g; do
  if [ -z \"$h\" ]; then h=$(printf '%s\\n' \"$g\" | md5sum)
  else h=$(printf '%s\\n%s\\n' \"$h\" \"$g\" | md5sum); fi
  h=${h%% *}; done; echo \"DI:$h\"; }";

/// The section, which computes the identifier of the files in a directory.
pub(super) fn verifying(identifier: Identifier) -> Markup {
    html! {
        section #verify {
            h2 { "Verify the files that you hold" }
            p {
                "In the directory with the files, this computes their identifier and compares it. "
                "It depends on the names of the granules alone, whatever their order."
            }
            pre tabindex="0" { code { "ls | accession identify - --expect DI:" (identifier) } }
            details {
                summary { "With nothing but a shell" }
                pre tabindex="0" { code { (SHELL) } }
                p { "It must print " code.id { "DI:" (identifier) } "." }
            }
        }
    }
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
    fn the_shell_program_computes_the_identifier() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b c", "a", "\\d"] {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let output = std::process::Command::new("sh")
            .args(["-c", SHELL])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let mut listing = crate::registry::Listing::new();
        for name in ["b c", "a", "\\d"] {
            listing.add(name.parse::<crate::model::GranuleId>().unwrap()).unwrap();
        }
        let identifier = listing.identify().unwrap().identifier;
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("DI:{identifier}\n"));
    }
}
