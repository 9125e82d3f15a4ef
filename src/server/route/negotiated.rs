//! The formats that the pages of a dataset, an instance and a set have in common.

use axum::body::Body;
use axum::http::Response;
use serde_json::{Map, Value, json};

use crate::citation::Citation;
use crate::model::Dataset;
use crate::pages::{Describes, Extent, Link, Site, links};
use crate::server::answer::{Keep, whole};
use crate::server::format::{Format, citations};

/// The formats of such a page, the page itself first.
pub fn formats(others: &[Format]) -> Vec<Format> {
    let mut formats = vec![Format::Html, Format::Json];
    formats.extend(others);
    // The classic BibTeX entry, the text of the tuple and CITATION.cff are offered by name only.
    formats.extend(citations());
    formats.push(Format::Linkset);
    formats
}

/// A citation: the same bytes as the command line prints.
pub fn citation(citation: &Citation, format: Format) -> Option<Response<Body>> {
    let Format::Citation(named) = format else { return None };
    Some(whole(format, citation.write(named), Keep::WhileCurrent))
}

/// All links of a page as a linkset (RFC 9264), with those of the list that it links to.
pub fn linkset(site: &Site, record: &Dataset, path: &str, describes: Describes) -> Response<Body> {
    let anchor = site.address_or_href(path);
    let mut context = Map::new();
    context.insert("anchor".to_owned(), anchor.clone().into());
    let all = links(site, record, path, describes, Extent::All);
    for link in all.iter().filter(|link| link.rel != "linkset") {
        let targets = context.entry(link.rel).or_insert_with(|| json!([]));
        if let Some(targets) = targets.as_array_mut() {
            targets.push(target(link));
        }
    }
    let mut contexts = vec![Value::Object(context)];
    // What is linked to leads back to the page.
    for link in all.iter().filter(|link| matches!(link.rel, "item" | "describedby")) {
        let back = if link.rel == "item" { "collection" } else { "describes" };
        let back_link = json!([{ "href": anchor, "type": "text/html" }]);
        contexts.push(json!({ "anchor": link.href, back: back_link }));
    }
    let linkset = json!({ "linkset": contexts }).to_string();
    whole(Format::Linkset, linkset, Keep::WhileCurrent)
}

fn target(link: &Link) -> Value {
    match link.media_type {
        Some(media_type) => json!({ "href": link.href, "type": media_type }),
        None => json!({ "href": link.href }),
    }
}
