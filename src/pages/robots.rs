//! What search engines read: which addresses there are, and which they should leave out.

use super::site::Site;
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::registry::{Listed, Snapshot};

/// The greatest number of addresses in a sitemap (sitemaps.org).
pub const SITEMAP_ADDRESSES: usize = 50_000;

/// The paths that search engines are kept from, because they are costly. The pages of sets are not among
/// them: citations lead there.
const COSTLY: [&str; 7] =
    ["/compare", "/check", "/find", "/DI:*/", "/metrics", "/*/history", "/*?"];

/// A dataset, and when the latest of what its page shows was recorded. `None` means that nothing was.
pub type Entry = (DatasetName, Option<Timestamp>);

/// The entries of some datasets: the latest change, annotation, confirmation or edit counts.
///
/// # Errors
///
/// The error of a registry: the registry cannot be read.
pub fn entries(snapshot: &Snapshot, datasets: &[Listed]) -> Result<Vec<Entry>> {
    let edits = snapshot.last_edits(datasets)?;
    let entry = |listed: &Listed| {
        let noted = listed.latest.iter().flat_map(|latest| &latest.annotations);
        let recorded = listed.latest.iter().map(|latest| latest.recorded);
        let confirmed = listed.confirmed.iter().map(|confirmed| confirmed.recorded);
        let edited = edits.get(listed.dataset.name.as_str()).copied();
        let all = recorded.chain(confirmed).chain(noted.map(|note| note.recorded)).chain(edited);
        (listed.dataset.name.clone(), all.max())
    };
    Ok(datasets.iter().map(entry).collect())
}

/// The addresses of the pages of datasets, as XML: of the first ones, if a sitemap may not have all of them.
pub fn sitemap(site: &Site, entries: &[Entry]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Names have no characters that XML reserves; the public address was checked at the start.
    for (name, modified) in entries.iter().take(SITEMAP_ADDRESSES) {
        let address = site.address_or_href(&Site::dataset(name));
        let modified = modified.map(|at| format!("<lastmod>{at}</lastmod>")).unwrap_or_default();
        xml.push_str(&format!("<url><loc>{address}</loc>{modified}</url>\n"));
    }
    xml.push_str("</urlset>\n");
    xml
}

/// Which paths search engines should leave out, and where the sitemap is.
pub fn robots(site: &Site) -> String {
    let base = site.base_path();
    let mut text = String::from("User-agent: *\n");
    match site.is_complete() {
        true => {
            text.push_str(&format!("Allow: {base}/DI:\n"));
            COSTLY.iter().for_each(|path| text.push_str(&format!("Disallow: {base}{path}\n")));
        }
        false => text.push_str(&format!("Disallow: {base}/datasets/*/log/\n")),
    }
    if let Some(address) = site.canonical("/sitemap.xml") {
        text.push_str(&format!("\nSitemap: {address}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::Serves;

    #[test]
    fn a_sitemap_has_no_more_addresses_than_it_may() {
        let site = Site {
            name: "Archive".to_owned(),
            contact: None,
            public_url: Some("https://archive.example/data".to_owned()),
            serves: Serves::Files { depth: 0 },
        };
        let names: Vec<Entry> =
            (0..50_001).map(|number| (format!("D{number}").parse().unwrap(), None)).collect();
        let xml = sitemap(&site, &names);
        assert_eq!(xml.matches("<loc>").count(), 50_000);
        let last = "<loc>https://archive.example/data/datasets/D49999/</loc>";
        assert!(xml.contains(last) && xml.ends_with("</urlset>\n"));
    }
}
