//! What search engines ask for.

use super::site::Site;
use crate::model::DatasetName;

/// The greatest number of addresses in a sitemap (sitemaps.org).
pub const SITEMAP_ADDRESSES: u64 = 50_000;

/// The paths that search engines are kept from, because they are costly.
const COSTLY: [&str; 7] = ["/compare", "/check", "/find", "/DI:", "/metrics", "/*/history", "/*?"];

/// The addresses of the pages of datasets, as XML.
pub fn sitemap(site: &Site, names: &[DatasetName]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Names have no characters that XML reserves; the public address was checked at the start.
    for name in names.iter().take(SITEMAP_ADDRESSES as usize) {
        let address = site.address_or_href(&Site::dataset(name));
        xml.push_str(&format!("<url><loc>{address}</loc></url>\n"));
    }
    xml.push_str("</urlset>\n");
    xml
}

/// The addresses of several sitemaps, `/sitemap/1.xml` and so on, as XML.
pub fn sitemap_index(site: &Site, sitemaps: u64) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<sitemapindex xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    for number in 1..=sitemaps {
        let address = site.address_or_href(&format!("/sitemap/{number}.xml"));
        xml.push_str(&format!("<sitemap><loc>{address}</loc></sitemap>\n"));
    }
    xml.push_str("</sitemapindex>\n");
    xml
}

/// Which paths search engines should leave out, and where the sitemap is.
pub fn robots(site: &Site) -> String {
    let base = site.base_path();
    let mut text = String::from("User-agent: *\n");
    match site.is_complete() {
        true => COSTLY.iter().for_each(|path| text.push_str(&format!("Disallow: {base}{path}\n"))),
        false => text.push_str(&format!("Disallow: {base}/datasets/*/log/\n")),
    }
    if let Some(address) = site.address("/sitemap.xml") {
        text.push_str(&format!("\nSitemap: {address}\n"));
    }
    text
}
