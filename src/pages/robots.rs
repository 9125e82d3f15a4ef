//! What search engines read: which addresses there are, and which they should leave out.

use super::site::Site;
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::registry::{Listed, Snapshot};

/// The greatest number of addresses in a sitemap (sitemaps.org).
pub const SITEMAP_ADDRESSES: u64 = 50_000;

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

/// The addresses of the pages of datasets, as XML.
pub fn sitemap(site: &Site, entries: &[Entry]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Names have no characters that XML reserves; the public address was checked at the start.
    for (name, modified) in entries {
        let address = site.address_or_href(&Site::dataset(name));
        let modified = modified.map(|at| format!("<lastmod>{at}</lastmod>")).unwrap_or_default();
        xml.push_str(&format!("<url><loc>{address}</loc>{modified}</url>\n"));
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

/// The sitemaps of a site that is files, by their paths below its root: one or, if it would have too many
/// addresses, several and then the one that lists them.
pub fn sitemaps(site: &Site, entries: &[Entry]) -> Vec<(String, String)> {
    const ONE: &str = "sitemap.xml";
    let several = entries.chunks(SITEMAP_ADDRESSES as usize);
    if several.len() <= 1 {
        return vec![(ONE.to_owned(), sitemap(site, entries))];
    }
    let mut files: Vec<(String, String)> = (1..)
        .zip(several)
        .map(|(number, entries)| (format!("sitemap/{number}.xml"), sitemap(site, entries)))
        .collect();
    files.push((ONE.to_owned(), sitemap_index(site, files.len() as u64)));
    files
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
    fn more_addresses_than_a_sitemap_may_have_are_in_several_that_an_index_lists() {
        let site = Site {
            name: "Archive".to_owned(),
            contact: None,
            public_url: Some("https://archive.example/data".to_owned()),
            serves: Serves::Files { depth: 0 },
        };
        let names: Vec<Entry> =
            (0..100_001).map(|number| (format!("D{number}").parse().unwrap(), None)).collect();
        let addresses = |files: &[(String, String)]| -> Vec<String> {
            let texts = files.iter().map(|(_, text)| text.as_str());
            let found = texts.flat_map(|text| text.split("<loc>").skip(1));
            found.map(|rest| rest.split("</loc>").next().unwrap().to_owned()).collect()
        };
        let expected = |names: &[Entry]| -> Vec<String> {
            let address =
                |(name, _): &Entry| format!("https://archive.example/data/datasets/{name}/");
            names.iter().map(address).collect()
        };
        let one = sitemaps(&site, &names[..50_000]);
        assert_eq!((one.len(), one[0].0.as_str()), (1, "sitemap.xml"));
        assert_eq!(addresses(&one), expected(&names[..50_000]));
        let several = sitemaps(&site, &names);
        let paths: Vec<&str> = several.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(paths, ["sitemap/1.xml", "sitemap/2.xml", "sitemap/3.xml", "sitemap.xml"]);
        assert_eq!(addresses(&several[..3]), expected(&names));
        let listed = ["1", "2", "3"]
            .map(|number| format!("https://archive.example/data/sitemap/{number}.xml"));
        assert_eq!(addresses(&several[3..]), listed);
        assert!(several.iter().all(|(_, text)| text.matches("<loc>").count() <= 50_000));
    }
}
