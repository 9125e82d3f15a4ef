//! The pages of published datasets, so that a directory on any web server is a catalogue. What they say
//! about their site is kept in the directory.

mod resolve;

use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::pages::{
    DatasetPage, Detail, FILES, Feed, IndexPage, Serves, Site, entries, identifier_page, moved,
    not_found, robots, sitemap,
};
use accession::Registry;
use accession::dataset::{DatasetRecord, Edit, Withdrawn};
use accession::disk::Directory;
use accession::mirror::{HEAD, SITE};
use accession::publish::files::{PublishDirectory, text_in, write};
use accession::{DatasetFilter, DatasetName, Timestamp};
use accession::{Error, Result};
use resolve::{HISTORY, Resolver};

/// The page of a directory.
const INDEX: &str = "index.html";

/// The feed of a directory.
const FEED: &str = "feed.atom";

/// What search engines ask for, with a public address only.
const SITEMAP: &str = "sitemap.xml";
const ROBOTS: &str = "robots.txt";

/// Writes the page and the feed of each dataset that is published in a directory, a page under each former
/// name that leads to it, the list of the datasets with a feed of all, and the files that pages need; with
/// the public address of the site, also `sitemap.xml` and `robots.txt`. Settings that are not given are those
/// of the run before.
///
/// A dataset of the registry that was not published into the directory gets no page, and those of the
/// datasets in `left_out`, which could not be published now, stay as they are. The pages of
/// the others are made anew each time: one takes a pass over the history of its dataset.
///
/// # Errors
///
/// [`ErrorKind::PublishedDamaged`](accession::ErrorKind::PublishedDamaged): the settings that are kept; those of
/// the registry and of its files.
pub fn publish_pages(
    registry: &Registry,
    directory: &Path,
    settings: &SiteSettings,
    left_out: &[DatasetName],
) -> Result<()> {
    let now = registry.now();
    let place = PublishDirectory::to_publish(directory)?;
    let datasets = place.datasets()?;
    let before = RecordedSite::read(&place.root)?.unwrap_or_default();
    let kept = before.with(settings);
    // Who recorded a change is not published.
    let registry = registry.public_view(DatasetFilter::All);
    let published = published(&registry, &datasets)?;
    let (site, months) = (kept.site(2), kept.site(3));
    let mut resolver = Resolver::default();
    for listed in published.iter().filter(|listed| !left_out.contains(&listed.dataset.name)) {
        let name = &listed.dataset.name;
        let directory = datasets.enter_or_create(name.as_str())?;
        for (file, text) in dataset_files(&registry, name, &site, now)? {
            write(&directory, file, &text)?;
        }
        resolver.add(&registry, (listed, &months), (&place.root, &datasets))?;
        for former in &listed.former_names {
            let former = datasets.enter_or_create(former.as_str())?;
            write(&former, INDEX, &moved(&site, name))?;
            // They would never end. Their addresses lead, by 404.html, to the months under the present name.
            if let Some(months) = former.enter(HISTORY)? {
                months.names()?.iter().try_for_each(|month| months.remove(month).map(drop))?;
            }
        }
    }
    resolver.finish(&place.root, &kept.site(0))?;
    let files = site_files(&registry, &kept.site(0), published, now)?;
    for (path, text) in &files {
        match path.split_once('/') {
            Some((directory, name)) => write(&place.root.enter_or_create(directory)?, name, text)?,
            None => write(&place.root, path, text)?,
        }
    }
    // Only what an earlier run wrote is removed.
    if before.public_url.is_some() && kept.public_url.is_none() {
        [SITEMAP, ROBOTS].into_iter().try_for_each(|name| place.root.remove(name).map(drop))?;
    }
    kept.write(&place.root)
}

/// The datasets of a registry that have a head in the directory.
fn published(registry: &Registry, datasets: &Directory) -> Result<Vec<DatasetRecord>> {
    let mut published = Vec::new();
    for listed in registry.snapshot()?.all_datasets(Withdrawn::Listed)? {
        let Some(directory) = datasets.enter(listed.dataset.name.as_str())? else { continue };
        if directory.read(HEAD)?.is_some() {
            published.push(listed);
        }
    }
    Ok(published)
}

/// The page of a dataset and its feed, by their names.
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

/// The files of the site that belong to no dataset, by their paths below its root. Withdrawn datasets are
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

/// The version that is written, and the greatest that is read.
const VERSION: u64 = 1;

/// What the pages say about their site. What is kept is what an earlier run was given.
#[derive(Debug, Clone, Default)]
pub struct SiteSettings {
    /// The address at which readers reach the directory, without the slash at its end.
    pub public_url: Edit<String>,
    /// The name of the site. Without one, it is [`Site::DEFAULT_NAME`].
    pub name: Edit<String>,
    /// How to reach the people who run it.
    pub contact: Edit<String>,
    /// The address of the site that resolves identifiers, for datasets whose records do not name it. `None`
    /// means the public address. It is not kept.
    pub resolver: Option<String>,
}

/// What is kept in the directory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct RecordedSite {
    accession_publish: u64,
    pub public_url: Option<String>,
    site_name: Option<String>,
    contact: Option<String>,
    #[serde(skip)]
    resolver: Option<String>,
}

impl RecordedSite {
    /// What the directory keeps. `None` means that no pages were published into it.
    pub fn read(root: &Directory) -> Result<Option<Self>> {
        let Some(text) = text_in(root, SITE)? else { return Ok(None) };
        let damaged = |what: String| Error::published_damaged(&root.path_of(SITE), None, what);
        let kept: RecordedSite =
            serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        match kept.accession_publish {
            ..=VERSION => Ok(Some(kept)),
            found => Err(damaged(format!("it has version {found}, this program reads {VERSION}"))),
        }
    }

    /// What is kept after a run with these settings.
    pub fn with(&self, given: &SiteSettings) -> Self {
        let resolver = given.resolver.clone();
        let mut site = RecordedSite { accession_publish: VERSION, resolver, ..self.clone() };
        given.public_url.clone().apply_to(&mut site.public_url);
        given.name.clone().apply_to(&mut site.site_name);
        given.contact.clone().apply_to(&mut site.contact);
        site
    }

    pub fn write(&self, root: &Directory) -> Result<()> {
        let text = serde_json::to_string(self);
        let text =
            text.map_err(|error| Error::cannot("write", &root.path_of(SITE), error.into()))?;
        root.replace(SITE, |file| {
            writeln!(file, "{text}")?;
            file.sync_data()
        })
    }

    /// The site whose pages are so many directories below its root.
    pub fn site(&self, depth: usize) -> Site {
        Site {
            name: self.site_name.clone().unwrap_or_else(|| Site::DEFAULT_NAME.to_owned()),
            contact: self.contact.clone(),
            public_url: self.public_url.clone(),
            serves: Serves::Files { depth },
            resolver: self.resolver.clone(),
        }
    }
}
