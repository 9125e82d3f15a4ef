//! The addresses of the pages, and which of them search engines may read.

use accession::Result;
use accession::Snapshot;
use accession::dataset::DatasetRecord;
use accession::{DatasetName, Digest, Doi, Identifier, Timestamp};

/// The site of the pages, with its addresses.
#[derive(Debug, Clone)]
pub struct Site {
    /// The name of the site in its header.
    pub name: String,
    /// How to reach the people who run it: an e-mail address, a web address, or any text. `None` means that the
    /// pages contain no contact.
    pub contact: Option<String>,
    /// The address of the site's root, without a slash at the end. `None` means that it is unknown. Pages then
    /// contain no absolute addresses.
    pub public_url: Option<String>,
    /// What responds at its addresses.
    pub serves: Serves,
    /// The address of the site that resolves identifiers, for datasets whose metadata do not name one. `None`
    /// means the public address of this site.
    pub resolver: Option<String>,
}

/// What responds at the addresses of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// A program, at every address of a registry.
    Everything {
        /// Whether the site's address is the one that others use. If not, it is the address on which the
        /// program listens, which may be another machine for others.
        is_public: bool,
    },
    /// A web server for files: the pages of the datasets, and the logs for mirrors. They may be anywhere below
    /// an address, so links are relative.
    Files {
        /// The number of directories between the root of the site and the page.
        depth: usize,
    },
}

impl Site {
    /// The name of a site that has no other name.
    pub const DEFAULT_NAME: &str = "Granule registry";

    /// Whether a program responds at every address of a registry.
    pub fn is_complete(&self) -> bool {
        matches!(self.serves, Serves::Everything { .. })
    }

    /// A path of the site as a link on its pages: below the path of its public address or, in published files,
    /// relative to the page. A relative link begins with `./` or `../`, because a name may contain a colon, and
    /// the text before it would be read as a scheme.
    pub fn href(&self, path: &str) -> String {
        match self.serves {
            Serves::Everything { .. } => format!("{}{path}", self.base_path()),
            Serves::Files { depth: 0 } => format!(".{path}"),
            Serves::Files { depth } => {
                format!("{}{}", "../".repeat(depth), path.trim_start_matches('/'))
            }
        }
    }

    /// The absolute address of a path. `None` means that the public address is unknown.
    pub fn address(&self, path: &str) -> Option<String> {
        self.public_url.as_ref().map(|url| format!("{url}{path}"))
    }

    /// The canonical address of a path for search engines. `None` means that the public address is unknown.
    pub fn canonical(&self, path: &str) -> Option<String> {
        self.address(path).filter(|_| self.serves != Serves::Everything { is_public: false })
    }

    /// The address of the site that resolves identifiers. `None` means that it is unknown.
    pub fn resolver(&self) -> Option<&str> {
        let is_private = self.serves == Serves::Everything { is_public: false };
        self.resolver.as_deref().or(self.public_url.as_deref().filter(|_| !is_private))
    }

    /// The absolute address of a path or, if the public address is unknown, its relative one.
    pub fn address_or_href(&self, path: &str) -> String {
        self.address(path).unwrap_or_else(|| self.href(path))
    }

    /// The path of the public address: `/registry` of `https://archive.example/registry`.
    pub(crate) fn base_path(&self) -> &str {
        let url = self.public_url.as_deref().unwrap_or_default();
        let Some((_, after_scheme)) = url.split_once("://") else { return "" };
        after_scheme.find('/').map_or("", |slash| &after_scheme[slash..])
    }

    /// The path of a dataset's page.
    pub fn dataset(name: &DatasetName) -> String {
        format!("/datasets/{name}/")
    }

    /// The path of a dataset's history.
    pub fn history(name: &DatasetName) -> String {
        format!("/datasets/{name}/history")
    }

    /// The path of the page of an instance.
    pub fn instance(name: &DatasetName, at: Timestamp) -> String {
        format!("/datasets/{name}@{at}")
    }

    /// The path of the page of a set.
    pub fn set(identifier: Identifier) -> String {
        format!("/DI:{identifier}")
    }

    /// The path of the page of the set with this digest, if other sets have the same identifier.
    pub fn set_with(identifier: Identifier, digest: Digest) -> String {
        format!("/DI:{identifier}?digest={digest}")
    }

    /// The path of a resource of a set: its `granules`, their `urls`, its canonical `list`, the `checksums`,
    /// the `proof`.
    pub fn of_set(identifier: Identifier, what: &str) -> String {
        format!("/DI:{identifier}/{what}")
    }

    /// The path of the list of those granules of a set that match a pattern.
    pub fn selected(identifier: Identifier, pattern: &str) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("select", pattern);
        // Escaped, because text with a star may be read as a word in italics.
        format!("/DI:{identifier}/granules?{}", query.finish().replace('*', "%2A"))
    }

    /// The path of a resource in a format.
    pub fn in_format(path: &str, format: &str) -> String {
        let joined = if path.contains('?') { '&' } else { '?' };
        format!("{path}{joined}format={format}")
    }

    /// The path of the feed of a dataset.
    pub fn feed(name: &DatasetName) -> String {
        format!("/datasets/{name}{}", Site::FEED)
    }

    /// The path of the feed of all datasets.
    pub const FEED: &str = "/feed.atom";

    /// The path of the page that explains how an identifier is computed.
    pub fn identifier_page(&self) -> &'static str {
        if self.is_complete() { "/identifier" } else { "/identifier.html" }
    }

    /// The path of the comparison of a dataset at two times.
    pub fn changes(name: &DatasetName, before: Timestamp, after: Timestamp) -> String {
        format!("/compare/{name}@{before}...{name}@{after}")
    }

    /// The path that redirects to the dataset with a DOI.
    pub fn doi(doi: &Doi) -> String {
        format!("/doi/{}", doi.address().trim_start_matches("https://doi.org/"))
    }
}

/// The greatest number of addresses in a sitemap (sitemaps.org).
pub const SITEMAP_ADDRESSES: usize = 50_000;

/// The paths that search engines must not read, because they are costly. The pages of sets are not included,
/// because citations lead there.
const COSTLY: [&str; 7] =
    ["/compare", "/check", "/find", "/DI:*/", "/metrics", "/*/history", "/*?"];

/// A dataset, and the recording time of the latest content on its page. `None` means that nothing was recorded.
pub type SitemapEntry = (DatasetName, Option<Timestamp>);

/// The sitemap entries of some datasets. The latest change, annotation, confirmation or edit counts.
///
/// # Errors
///
/// The registry cannot be read.
pub fn entries(snapshot: &Snapshot, datasets: &[DatasetRecord]) -> Result<Vec<SitemapEntry>> {
    let edits = snapshot.last_edits(datasets)?;
    let entry = |listed: &DatasetRecord| {
        let noted = listed.latest.iter().flat_map(|latest| &latest.annotations);
        let recorded = listed.latest.iter().map(|latest| latest.recorded);
        let confirmed = listed.confirmed.iter().map(|confirmed| confirmed.recorded);
        let edited = edits.get(listed.dataset.name.as_str()).copied();
        let all = recorded.chain(confirmed).chain(noted.map(|note| note.recorded)).chain(edited);
        (listed.dataset.name.clone(), all.max())
    };
    Ok(datasets.iter().map(entry).collect())
}

/// The addresses of the pages of datasets, as XML. If a sitemap cannot contain all of them, it contains the
/// first ones.
pub fn sitemap(site: &Site, entries: &[SitemapEntry]) -> String {
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    // Names contain no characters that XML reserves, and the public address was checked at the start.
    for (name, modified) in entries.iter().take(SITEMAP_ADDRESSES) {
        let address = site.address_or_href(&Site::dataset(name));
        let modified = modified.map(|at| format!("<lastmod>{at}</lastmod>")).unwrap_or_default();
        xml.push_str(&format!("<url><loc>{address}</loc>{modified}</url>\n"));
    }
    xml.push_str("</urlset>\n");
    xml
}

/// Tells search engines which paths they should leave out, and the address of the sitemap.
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

    fn site(public_url: Option<&str>, serves: Serves) -> Site {
        let (name, public_url) = ("Archive".to_owned(), public_url.map(str::to_owned));
        Site { name, contact: None, public_url, serves, resolver: None }
    }

    #[test]
    fn links_are_below_the_path_of_the_public_address() {
        for (url, href) in [
            (None, "/datasets/A/"),
            (Some("https://archive.example"), "/datasets/A/"),
            (Some("https://archive.example/registry"), "/registry/datasets/A/"),
        ] {
            let site = site(url, Serves::Everything { is_public: url.is_some() });
            let path = Site::dataset(&"A".parse().unwrap());
            assert_eq!(site.href(&path), href);
            assert_eq!(site.canonical(&path), url.map(|url| format!("{url}{path}")));
            // The address on which a program listens is not canonical.
            let listening = Some("http://127.0.0.1:8000".to_owned());
            let serves = Serves::Everything { is_public: false };
            assert_eq!(Site { public_url: listening, serves, ..site }.canonical(&path), None);
        }
    }

    #[test]
    fn links_between_files_are_relative_wherever_the_files_are() {
        for public_url in [None, Some("https://archive.example/registry")] {
            for (depth, path, href) in [
                (0, "/", "./"),
                (0, "/datasets/DI:1/", "./datasets/DI:1/"),
                (2, "/", "../../"),
                (2, "/datasets/DI:1/", "../../datasets/DI:1/"),
            ] {
                assert_eq!(site(public_url, Serves::Files { depth }).href(path), href);
            }
        }
    }

    #[test]
    fn a_sitemap_has_no_more_addresses_than_it_may() {
        let site = site(Some("https://archive.example/data"), Serves::Files { depth: 0 });
        let names: Vec<SitemapEntry> =
            (0..50_001).map(|number| (format!("D{number}").parse().unwrap(), None)).collect();
        let xml = sitemap(&site, &names);
        assert_eq!(xml.matches("<loc>").count(), 50_000);
        let last = "<loc>https://archive.example/data/datasets/D49999/</loc>";
        assert!(xml.contains(last) && xml.ends_with("</urlset>\n"));
    }
}
