//! A published directory is a catalogue on any web server.

use std::path::Path;

use accession::pages::{Serves, Site};
use accession::publish::{Error, publish, publish_pages};
use accession::{DatasetName, Registry, Stamp};

use crate::harness::history::{change, name, now, second};

fn site(public_url: Option<&str>) -> Site {
    Site {
        name: "US Archive".to_owned(),
        contact: None,
        public_url: public_url.map(str::to_owned),
        serves: Serves::Files,
    }
}

/// A registry with datasets, one of which was renamed.
fn registry() -> Registry {
    let registry = Registry::in_memory().unwrap();
    for dataset in ["A", "B", "OLD"] {
        let stamp = Stamp::at(second(0), now()).recorded_by(Some("mallory".to_owned()));
        registry.change(&name(dataset), &change(["<x>"], []), &stamp).unwrap();
    }
    registry.rename_dataset(&name("OLD"), &name("NEW"), &Stamp::now(now())).unwrap();
    registry
}

fn published(registry: &Registry, directory: &Path, datasets: &[DatasetName], url: Option<&str>) {
    publish(registry, directory, datasets, |_| Ok::<(), Error>(())).unwrap();
    publish_pages(registry, directory, &site(url), now()).unwrap();
}

fn text(directory: &Path, file: &str) -> String {
    std::fs::read_to_string(directory.join(file)).unwrap_or_default()
}

#[test]
fn each_published_dataset_has_a_page_whose_local_links_lead_to_files() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    published(&registry(), directory, &[], Some("https://data.example.org"));
    for file in ["index.html", "datasets/A/index.html", "datasets/NEW/index.html"] {
        let page = text(directory, file);
        assert!(page.starts_with("<!DOCTYPE html>") && page.contains("US Archive"), "{file}");
        assert!(!page.contains("mallory"), "{file}");
        for href in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let Some(path) = href.strip_prefix('/') else { continue };
            let target = directory.join(path.split('#').next().unwrap());
            assert!(target.is_file() || target.join("index.html").is_file(), "{file}: {href}");
        }
    }
    let sitemap = text(directory, "sitemap.xml");
    for dataset in ["A", "B", "NEW"] {
        let address = format!("<loc>https://data.example.org/datasets/{dataset}/</loc>");
        assert!(sitemap.contains(&address), "{sitemap}");
    }
    assert_eq!(sitemap.matches("<loc>").count(), 3, "{sitemap}");
    assert!(
        text(directory, "robots.txt").contains("Sitemap: https://data.example.org/sitemap.xml")
    );
}

#[test]
fn without_a_public_address_there_is_no_sitemap_and_no_address_to_cite() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    published(&registry(), directory, &[], None);
    assert!(!directory.join("sitemap.xml").exists());
    assert!(!text(directory, "datasets/A/index.html").contains("cite-as"));
}

#[test]
fn only_the_datasets_that_were_published_have_pages() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let registry = registry();
    published(&registry, directory, &[name("A")], None);
    let index = text(directory, "index.html");
    assert!(index.contains("/datasets/A/") && !index.contains("/datasets/B/"), "{index}");
    assert!(!directory.join("datasets/B").exists());
    published(&registry, directory, &[name("B")], None);
    let index = text(directory, "index.html");
    assert!(index.contains("/datasets/A/") && index.contains("/datasets/B/"), "{index}");
}
