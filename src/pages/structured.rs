//! The JSON-LD block of a page.

use serde_json::{Value, json};

use super::figures::visible;
use super::record;
use super::site::Site;
use crate::citation::{Citation, CitationFormat};
use crate::model::{Dataset, Identifier};

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
