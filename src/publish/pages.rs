//! The pages of published datasets, so that a directory on any web server is a catalogue.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::dataset::write_whole;
use super::error::{Error, Result};
use crate::model::{DatasetName, Timestamp};
use crate::pages::{
    DatasetPage, Describes, Extent, IndexPage, STYLE, STYLE_PATH, Series, Site, links, robots,
    sitemap,
};
use crate::registry::{Listed, Registry, Withdrawn};

/// Writes the page of each dataset that is published in a directory, the list of them, and the style
/// sheet; with the public address of the site, also `sitemap.xml` and `robots.txt`.
///
/// A dataset of the registry that was not published into the directory gets no page. The pages of
/// the datasets are made anew each time: one takes a pass over the history of its dataset.
///
/// # Errors
///
/// [`Error::File`], [`Error::Registry`].
pub fn publish_pages(
    registry: &Registry,
    directory: &Path,
    site: &Site,
    now: Timestamp,
) -> Result<()> {
    let snapshot = registry.snapshot()?;
    let (mut published, mut after): (Vec<Listed>, Option<DatasetName>) = (Vec::new(), None);
    loop {
        let page = snapshot.datasets(after.as_ref(), Withdrawn::Listed, super::PAGE_DATASETS)?;
        let is_published = |listed: &Listed| {
            let name = &listed.dataset.name;
            let head = directory.join("datasets").join(name.as_str()).join("head.json");
            name.is_publishable() && head.exists()
        };
        published.extend(page.datasets.into_iter().filter(is_published));
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    // The histories are read page by page, without this snapshot.
    drop(snapshot);
    for listed in &mut published {
        // Who recorded a change is not published.
        if let Some(latest) = &mut listed.latest {
            latest.recorded_by = None;
        }
        write_page(registry, listed, directory, site, now)?;
    }
    write_file(directory, STYLE_PATH, STYLE)?;
    let names: Vec<DatasetName> = published
        .iter()
        .filter(|listed| listed.withdrawn.is_none())
        .map(|listed| listed.dataset.name.clone())
        .collect();
    let index = IndexPage {
        count: Some(published.len() as u64),
        datasets: published,
        next: None,
        query: String::new(),
        shows_withdrawn: true,
        is_first: true,
    };
    write_file(directory, "/index.html", &index.html(site))?;
    if site.public_url.is_some() {
        write_file(directory, "/sitemap.xml", &sitemap(site, &names))?;
        write_file(directory, "/robots.txt", &robots(site))?;
    }
    Ok(())
}

fn write_page(
    registry: &Registry,
    listed: &Listed,
    directory: &Path,
    site: &Site,
    now: Timestamp,
) -> Result<()> {
    let name = &listed.dataset.name;
    let mut series = Series::new();
    let history = registry.snapshot()?.history(name)?;
    for instance in history {
        series.add(&instance?);
    }
    let mut page = DatasetPage::read(&registry.snapshot()?, name, Arc::new(series), now)?;
    page.listed = listed.clone();
    page.recent.iter_mut().for_each(|instance| instance.recorded_by = None);
    let path = Site::dataset(name);
    let describes = Describes::Dataset(listed.latest.as_ref().map(|latest| latest.identifier));
    let links = links(site, &listed.dataset, &path, describes, Extent::All);
    write_file(directory, &format!("{path}index.html"), &page.html(site, &links))?;
    for former in listed.former_names.iter().filter(|former| former.is_publishable()) {
        let stale = directory.join("datasets").join(former.as_str()).join("index.html");
        match fs::remove_file(&stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::file("remove", &stale, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Writes a file at a path of the site, unless it is there as it is to be.
fn write_file(directory: &Path, path: &str, content: &str) -> Result<()> {
    let path = directory.join(path.trim_start_matches('/'));
    match fs::read(&path) {
        Ok(found) if found == content.as_bytes() => Ok(()),
        _ => write_whole(&path, content.as_bytes()),
    }
}
