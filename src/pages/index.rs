//! The list of datasets, for people and for search engines.

use maud::{Markup, html};

use super::figures::{counted, grouped, time, visible};
use super::layout::{Head, Section, page};
use super::record::title;
use super::site::Site;
use crate::model::DatasetName;
use crate::registry::Listed;

/// The list of datasets, or those that a search has found.
#[derive(Debug)]
pub struct IndexPage {
    /// The datasets on this page, by name.
    pub datasets: Vec<Listed>,
    /// The name after which the next page begins. `None` means that this is the last page.
    pub next: Option<DatasetName>,
    /// The words that are searched for. Empty means that all are listed.
    pub query: String,
    /// Whether withdrawn datasets are listed too.
    pub shows_withdrawn: bool,
    /// Whether this is the first page.
    pub is_first: bool,
    /// The number of datasets in the registry, withdrawn ones included. `None` means that it is not
    /// known.
    pub count: Option<u64>,
}

impl IndexPage {
    /// The path of the page that begins after a dataset.
    pub fn path_after(&self, after: &DatasetName) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        if !self.query.is_empty() {
            query.append_pair("q", &self.query);
        }
        if self.shows_withdrawn {
            query.append_pair("withdrawn", "listed");
        }
        query.append_pair("after", after.as_str());
        format!("/?{}", query.finish())
    }

    /// The page.
    pub fn html(&self, site: &Site) -> String {
        let head = Head {
            title: if self.query.is_empty() {
                "Datasets".into()
            } else {
                format!("Search: {}", visible(&self.query))
            },
            description: Some(format!(
                "The datasets of {}, each with its citable sets of granules.",
                site.name
            )),
            section: Section::Datasets,
            is_unlisted: !self.query.is_empty(),
            ..Head::default()
        };
        page(site, &head, &self.main(site)).into_string()
    }

    fn main(&self, site: &Site) -> Markup {
        html! {
            div.masthead {
                h1 { "Datasets" }
                p.lead {
                    @if site.is_complete() {
                        "Each dataset's page says which granules it held at any time. "
                        "An identifier from a paper, such as "
                        code.id { "DI:7631…" }
                        ", leads to exactly the granules that were cited."
                    } @else {
                        "Each dataset's page says how many granules it held at any time, and what to cite."
                    }
                }
                @if site.is_complete() { (self.search(site)) }
            }
            @if !self.query.is_empty() {
                p.summary role="status" {
                    @if self.datasets.is_empty() {
                        "No dataset's name, title or DOI contains “" (visible(&self.query)) "”. "
                    } @else {
                        "Datasets whose name, title or DOI contains “" (visible(&self.query)) "”. "
                    }
                    a href=(site.href("/")) { "All datasets" }
                }
            } @else if let Some(count) = self.count.filter(|_| self.is_first) {
                p.summary { (counted(count, "dataset")) }
            }
            @if self.datasets.is_empty() && self.query.is_empty() {
                p.empty { "There is no dataset here yet." }
            }
            ul.datasets {
                @for listed in &self.datasets { li { (entry(site, listed)) } }
            }
            @if let Some(next) = &self.next {
                p.pager { a.button rel="next" href=(site.href(&self.path_after(next))) { "More datasets" } }
            }
            @if site.is_complete() && !self.shows_withdrawn && self.query.is_empty() && self.next.is_none() {
                p.quiet { a href=(site.href("/?withdrawn=listed")) { "Show withdrawn datasets too" } }
            }
        }
    }

    fn search(&self, site: &Site) -> Markup {
        html! {
            form.search role="search" action=(site.href("/")) method="get" {
                label for="q" { "Name, title, DOI, or an identifier from a paper" }
                div.field {
                    input #q type="search" name="q" value=(self.query) autocomplete="off" spellcheck="false";
                    button type="submit" { "Search" }
                }
            }
        }
    }
}

fn entry(site: &Site, listed: &Listed) -> Markup {
    let record = &listed.dataset;
    html! {
        h2 { a href=(site.href(&Site::dataset(&record.name))) { (title(record)) } }
        p.meta {
            code { (record.name) }
            @if let Some(publisher) = &record.publisher { span { (visible(publisher)) } }
            @if listed.withdrawn.is_some() { span.state.gone { "withdrawn" } }
        }
        @match &listed.latest {
            Some(latest) => {
                p.count {
                    strong { (grouped(latest.granules)) }
                    @if latest.granules == 1 { " granule" } @else { " granules" }
                }
                p.since { "since " (time(latest.timestamp)) }
            },
            None if listed.problem.is_some() => {
                p.count { "not available now: the machine that has it cannot be reached" }
            },
            None => { p.count { "no granules yet" } },
        }
    }
}

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
    for name in names {
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

/// The sitemaps of a site that is files, by their paths below its root: one or, if it would have too many
/// addresses, several and then the one that lists them.
pub fn sitemaps(site: &Site, names: &[DatasetName]) -> Vec<(String, String)> {
    const ONE: &str = "sitemap.xml";
    let several = names.chunks(SITEMAP_ADDRESSES as usize);
    if several.len() <= 1 {
        return vec![(ONE.to_owned(), sitemap(site, names))];
    }
    let mut files: Vec<(String, String)> = (1..)
        .zip(several)
        .map(|(number, names)| (format!("sitemap/{number}.xml"), sitemap(site, names)))
        .collect();
    files.push((ONE.to_owned(), sitemap_index(site, files.len() as u64)));
    files
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
        let names: Vec<DatasetName> =
            (0..100_001).map(|number| format!("D{number}").parse().unwrap()).collect();
        let addresses = |files: &[(String, String)]| -> Vec<String> {
            let texts = files.iter().map(|(_, text)| text.as_str());
            let found = texts.flat_map(|text| text.split("<loc>").skip(1));
            found.map(|rest| rest.split("</loc>").next().unwrap().to_owned()).collect()
        };
        let expected = |names: &[DatasetName]| -> Vec<String> {
            let address = |name| format!("https://archive.example/data/datasets/{name}/");
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
