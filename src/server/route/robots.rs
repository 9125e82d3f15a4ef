//! What search engines ask for.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::Response;

use crate::pages::Site;
use crate::registry::{Result, Withdrawn};
use crate::server::answer::{Keep, whole, whole_of_type};
use crate::server::format::Format;
use crate::server::problem::Problem;
use crate::server::state::State;

/// The greatest number of addresses in a sitemap (sitemaps.org).
const MAX_ADDRESSES: usize = 50_000;

/// Keeps search engines from what is costly, and names the sitemap.
pub async fn robots(Extracted(state): Extracted<Arc<State>>) -> Response<Body> {
    let base = state.site.href("");
    let mut text = String::from("User-agent: *\n");
    for path in ["/compare", "/check", "/find", "/DI:", "/metrics", "/*/history", "/*?"] {
        text.push_str(&format!("Disallow: {base}{path}\n"));
    }
    if let Some(address) = state.site.address("/sitemap.xml") {
        text.push_str(&format!("\nSitemap: {address}\n"));
    }
    whole(Format::Lines, text, Keep::WhileCurrent)
}

/// The pages of the datasets.
pub async fn sitemap(Extracted(state): Extracted<Arc<State>>) -> Result<Response<Body>, Problem> {
    let names = state
        .source
        .read(|reading| {
            let snapshot = reading.registry.snapshot()?;
            let (mut names, mut after) = (Vec::new(), None);
            loop {
                reading.check_time()?;
                let (records, next) =
                    snapshot.records(after.as_ref(), Withdrawn::LeftOut, 1_000)?;
                names.extend(records.into_iter().map(|record| record.name));
                after = next;
                if after.is_none() || names.len() >= MAX_ADDRESSES {
                    return Ok(names);
                }
            }
        })
        .await?;
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Names have no characters that XML reserves; the public address was checked at the start.
    for name in names.iter().take(MAX_ADDRESSES - 1) {
        let address = state.site.address_or_href(&Site::dataset(name));
        xml.push_str(&format!("<url><loc>{address}</loc></url>\n"));
    }
    xml.push_str("</urlset>\n");
    Ok(whole_of_type("application/xml", xml, Keep::WhileCurrent))
}
