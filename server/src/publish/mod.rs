//! Writes the pages of published datasets, so that a directory on any web server is a catalogue. The directory
//! also stores the settings of the site.

mod months;

use std::path::Path;

use crate::pages::{
    DatasetPage, Detail, FILES, Feed, IndexPage, Month, Serves, Site, entries, identifier_page,
    moved, not_found, robots, sitemap,
};
use accession::Registry;
use accession::dataset::{DatasetRecord, Edit, Withdrawn};
use accession::publish::{SiteDescription, SiteDirectory, SiteIndex};
use accession::{DatasetFilter, DatasetName, Result, Timestamp};
use months::write_months;

/// The page of a directory.
const INDEX: &str = "index.html";

/// The feed of a directory.
const FEED: &str = "feed.atom";

/// Files for search engines, written only if the public address is known.
const SITEMAP: &str = "sitemap.xml";
const ROBOTS: &str = "robots.txt";

/// Writes the pages of a published directory:
///
/// - the page and the feed of each dataset that is published in it
/// - under each former name of a dataset, a page that leads to it
/// - the list of the datasets, with a feed of all of them
/// - the files that pages need
/// - if the public address of the site is known, `sitemap.xml` and `robots.txt`
///
/// Missing settings are those of the previous run.
///
/// A dataset of the registry that was not published into the directory gets no page. The pages of datasets in
/// `left_out`, which could not be published now, stay unchanged. All other pages are written again each time,
/// which costs one pass over the history of each dataset.
///
/// # Errors
///
/// [`ErrorKind::PublishedDamaged`](accession::ErrorKind::PublishedDamaged): the stored settings are damaged.
/// Also errors of the registry and of its files.
pub fn publish_pages(
    registry: &Registry,
    directory: &Path,
    settings: &SiteSettings,
    left_out: &[DatasetName],
) -> Result<()> {
    let now = registry.now();
    let directory = SiteDirectory::open_or_create(directory)?;
    let before = directory.description()?.unwrap_or_default();
    let description = settings.applied_to(&before);
    let site_at = |depth| settings.site(&description, depth);
    // The names of people who recorded changes are not published.
    let registry = registry.public_view(DatasetFilter::All);
    let published = published(&registry, &directory)?;
    let (site, months) = (site_at(2), site_at(3));
    let mut index = SiteIndex::new();
    for listed in published.iter().filter(|listed| !left_out.contains(&listed.dataset.name)) {
        let name = &listed.dataset.name;
        for (file, text) in dataset_files(&registry, name, &site, now)? {
            directory.write(&format!("datasets/{name}/{file}"), &text)?;
        }
        let cited = index.add(&registry, &directory, listed)?;
        write_months(&registry, listed, &cited, &months, (&directory, &index))?;
        for former in &listed.former_names {
            directory.write(&format!("datasets/{former}/{INDEX}"), &moved(&site, name))?;
            // Months under a former name are no longer updated, so the last period would never end. `404.html`
            // redirects their addresses to the months under the current name.
            let path = months::directory_of(former);
            for month in directory.names(&path)? {
                directory.remove(&format!("{path}/{month}"))?;
            }
        }
    }
    let root = site_at(0);
    let page = |name: &DatasetName, at| Site::month(name, Month::of(at));
    index.write(&directory, root.base_path(), page)?;
    for (path, text) in &site_files(&registry, &root, published, now)? {
        directory.write(path, text)?;
    }
    // Only files that an earlier run wrote are removed.
    if before.public_url.is_some() && description.public_url.is_none() {
        [SITEMAP, ROBOTS].into_iter().try_for_each(|name| directory.remove(name).map(drop))?;
    }
    directory.describe(&description)
}

/// The datasets of a registry that have a head in the directory.
fn published(registry: &Registry, directory: &SiteDirectory) -> Result<Vec<DatasetRecord>> {
    let mut published = Vec::new();
    for listed in registry.snapshot()?.all_datasets(Withdrawn::Listed)? {
        if directory.has_dataset(&listed.dataset.name)? {
            published.push(listed);
        }
    }
    Ok(published)
}

/// The page of a dataset and its feed, each with its file name.
fn dataset_files(
    registry: &Registry,
    name: &DatasetName,
    site: &Site,
    now: Timestamp,
) -> Result<[(&'static str, String); 2]> {
    let snapshot = registry.snapshot()?;
    let page = DatasetPage::read(&snapshot, name, now, Detail::Page)?.resolved(site);
    let feed = Feed::of_dataset(&snapshot, name)?.atom(site);
    Ok([(INDEX, page.html(site)), (FEED, feed)])
}

/// The files of the site that belong to no dataset, each with its path below the root. Withdrawn datasets are
/// not listed.
fn site_files(
    registry: &Registry,
    site: &Site,
    mut published: Vec<DatasetRecord>,
    now: Timestamp,
) -> Result<Vec<(String, String)>> {
    published.retain(|listed| listed.withdrawn.is_none());
    let snapshot = registry.snapshot()?;
    let entries = entries(&snapshot, &published)?;
    let feed = Feed::of_all(&snapshot, site, published.clone())?.atom(site);
    let held = published.iter().filter_map(|listed| listed.latest.as_ref());
    let totals = Some((published.len() as u64, held.map(|latest| latest.granules).sum()));
    let index = IndexPage {
        rows: published,
        query: String::new(),
        shows_withdrawn: false,
        is_first: true,
        totals,
        now,
    };
    let below_root = |path: &str| path.trim_start_matches('/').to_owned();
    let mut files: Vec<(String, String)> =
        FILES.iter().map(|(path, _, text)| (below_root(path), (*text).to_owned())).collect();
    files.push((below_root(site.identifier_page()), identifier_page(site)));
    files.push((FEED.to_owned(), feed));
    files.push((INDEX.to_owned(), index.html(site, None)));
    files.push(("404.html".to_owned(), not_found(site)));
    if site.public_url.is_some() {
        files.push((SITEMAP.to_owned(), sitemap(site, &entries)));
        files.push((ROBOTS.to_owned(), robots(site)));
    }
    Ok(files)
}

/// Settings of the site for its pages. Unchanged settings are those of an earlier run.
#[derive(Debug, Clone, Default)]
pub struct SiteSettings {
    /// The address at which readers reach the directory, without the slash at its end.
    pub public_url: Edit<String>,
    /// The name of the site. Without a name, it is [`Site::DEFAULT_NAME`].
    pub name: Edit<String>,
    /// How to reach the people who run it.
    pub contact: Edit<String>,
    /// The address of the site that resolves identifiers, for datasets whose metadata do not name one. `None`
    /// means the public address. It is not stored.
    pub resolver: Option<String>,
}

impl SiteSettings {
    /// The description of the site after a run with these settings.
    fn applied_to(&self, before: &SiteDescription) -> SiteDescription {
        let mut description = before.clone();
        self.public_url.clone().apply_to(&mut description.public_url);
        self.name.clone().apply_to(&mut description.name);
        self.contact.clone().apply_to(&mut description.contact);
        description
    }

    /// The site for pages that are `depth` directories below its root.
    fn site(&self, description: &SiteDescription, depth: usize) -> Site {
        let SiteDescription { public_url, name, contact } = description.clone();
        Site {
            name: name.unwrap_or_else(|| Site::DEFAULT_NAME.to_owned()),
            contact,
            public_url,
            serves: Serves::Files { depth },
            resolver: self.resolver.clone(),
        }
    }
}
