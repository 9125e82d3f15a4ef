//! A published directory is a catalogue on any web server.

use harness::values::{AtTime, clock};
use std::path::Path;

use accession::dataset::Edit;
use accession::{DatasetFilter, ErrorKind, Registry};
use accession_server::{SiteSettings, publish_pages};
use url::Url;

use harness::exported::publish_all;
use harness::history::{change, name, second, step};

fn settings(public_url: Option<&str>) -> SiteSettings {
    SiteSettings {
        public_url: public_url.map_or(Edit::Clear, |url| Edit::Set(url.to_owned())),
        name: Edit::Set("US Archive".to_owned()),
        contact: Edit::Keep,
        resolver: None,
    }
}

/// A registry with three datasets, one of which was renamed.
fn registry() -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    for dataset in ["A", "B", "OLD"] {
        registry
            .recorded_by("mallory".parse().unwrap())
            .change(&name(dataset), &change(["<x>"], []).at(second(0)))
            .unwrap();
    }
    registry.rename_dataset(&name("OLD"), &name("NEW")).unwrap();
    registry
}

fn published(registry: &Registry, directory: &Path, filter: &DatasetFilter, url: Option<&str>) {
    registry.publish(directory, filter, |_, published| published.map(drop)).unwrap();
    publish_pages(registry, directory, &settings(url), &[]).unwrap();
}

fn text(directory: &Path, file: &str) -> String {
    std::fs::read_to_string(directory.join(file)).unwrap_or_default()
}

/// The values of an attribute, as a browser reads them.
fn attributes<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let begin = format!(" {attribute}=\"");
    page.split(&begin).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Every address that a page links to, and the address that it redirects to.
fn targets(page: &str) -> Vec<&str> {
    let mut targets: Vec<&str> =
        ["href", "src", "action"].iter().flat_map(|it| attributes(page, it)).collect();
    let refresh = attributes(page, "content").into_iter();
    targets.extend(refresh.filter_map(|content| content.strip_prefix("0; url=")));
    targets
}

#[test]
fn every_link_leads_to_a_file_wherever_the_directory_is() {
    let registry = registry();
    step(&registry, "D:1", 0, ["x"], []);
    registry
        .edit_dataset(&name("A"), |dataset| {
            dataset.doi = Some("10.9999/US".parse().unwrap());
            dataset.licence = Some("CC-BY-4.0".parse().unwrap());
        })
        .unwrap();
    registry.withdraw_dataset(&name("B"), "wrong").unwrap();
    for public_url in [None, Some("https://data.example.org"), Some("https://data.example.org/a/b")]
    {
        let place = harness::directory();
        let www = place.path();
        published(&registry, www, &DatasetFilter::All, public_url);
        let mut seen = 0;
        assert!(text(www, "identifier.html").contains("How an identifier is computed"));
        let pages = [
            "",
            "datasets/A/",
            "datasets/A/history/",
            "datasets/B/",
            "datasets/NEW/",
            "datasets/OLD/",
            "datasets/D:1/",
            "datasets/D:1/history/",
        ];
        for directory in pages {
            let page = text(www, &format!("{directory}index.html"));
            assert!(page.starts_with("<!DOCTYPE html>") && page.contains("US Archive"));
            assert!(!page.contains("mallory"), "{directory}");
            // Only `serve` has these addresses, and knows the present day.
            assert!(!page.contains("/granules") && !page.contains("?format="), "{directory}");
            assert!(!page.contains(" ago") && !page.contains("today"), "{directory}: {page}");
            // At the root of a server, and in a directory of a server.
            for root in ["http://files.example/", "http://files.example/some/where/"] {
                let root = Url::parse(root).unwrap();
                let here = root.join(&format!("./{directory}")).unwrap();
                for target in targets(&page) {
                    if let Some(id) = target.strip_prefix('#') {
                        assert!(attributes(&page, "id").contains(&id), "{directory}: {target}");
                        continue;
                    }
                    let address = here.join(target).unwrap();
                    if address.origin() != root.origin() {
                        let scheme = address.scheme();
                        assert!(matches!(scheme, "https" | "mailto" | "data"), "{target}");
                        continue;
                    }
                    assert!(target.starts_with("./") || target.starts_with("../"), "{target}");
                    let path = address.path().strip_prefix(root.path());
                    let file = www.join(path.unwrap_or_else(|| panic!("{directory}: {target}")));
                    let is_there = file.is_file() || file.join("index.html").is_file();
                    assert!(is_there, "{directory}: {target}");
                    seen += 1;
                }
            }
        }
        assert!(seen >= 2 * 3 * pages.len(), "{seen}");
        // A withdrawn dataset keeps its page, but is not listed.
        let listed = targets(&text(www, "index.html")).contains(&"./datasets/B/");
        let page = text(www, "datasets/B/index.html");
        assert!(!listed && page.contains("was withdrawn") && page.contains("The last set<"));
        assert!(page.contains("Get the list (gzip)") && page.contains("../../lists/"), "{page}");
        assert!(page.matches("../../lists/").count() == 2, "also for the comparison: {page}");
        for feed in ["feed.atom", "datasets/A/feed.atom"] {
            let feed = text(www, feed);
            assert!(feed.contains("<entry>") && !feed.contains("mallory"), "{feed}");
        }
        // A former name leads to the present name.
        assert!(targets(&text(www, "datasets/OLD/index.html")).contains(&"../../datasets/NEW/"));
        let sitemap = text(www, "sitemap.xml");
        let Some(url) = public_url else {
            assert!(sitemap.is_empty() && !www.join("sitemap.xml").exists());
            assert!(!text(www, "datasets/NEW/index.html").contains("cite-as"));
            continue;
        };
        let listed: Vec<&str> =
            sitemap.split("<loc>").skip(1).map(|it| it.split('<').next().unwrap()).collect();
        assert_eq!(listed.len(), 3, "{sitemap}");
        for address in listed {
            let path = address.strip_prefix(url).unwrap().trim_start_matches('/');
            assert!(www.join(path).join("index.html").is_file(), "{address}");
        }
        assert!(text(www, "robots.txt").contains(&format!("Sitemap: {url}/sitemap.xml")));
    }
}

#[test]
fn what_a_run_is_given_is_kept_for_the_next_ones_until_it_is_removed() {
    let place = harness::directory();
    let (registry, www) = (registry(), place.path());
    published(&registry, www, &DatasetFilter::All, Some("https://data.example.org"));
    let files = ["index.html", "sitemap.xml", "robots.txt", "datasets/A/index.html"];
    let before = files.map(|file| text(www, file));
    for _ in 0..2 {
        publish_all(&registry, www).unwrap();
        publish_pages(&registry, www, &SiteSettings::default(), &[]).unwrap();
        assert_eq!(files.map(|file| text(www, file)), before);
    }
    // The sitemap has the new name of a renamed dataset, and no address that no longer exists.
    registry.rename_dataset(&name("NEW"), &name("NEWER")).unwrap();
    publish_all(&registry, www).unwrap();
    publish_pages(&registry, www, &SiteSettings::default(), &[]).unwrap();
    let sitemap = text(www, "sitemap.xml");
    assert!(sitemap.contains("/NEWER/<") && !sitemap.contains("/NEW/<"), "{sitemap}");
    for former in ["NEW", "OLD"] {
        let page = text(www, &format!("datasets/{former}/index.html"));
        assert!(targets(&page).contains(&"../../datasets/NEWER/"), "{page}");
    }
    let without = SiteSettings { public_url: Edit::Clear, ..SiteSettings::default() };
    for _ in 0..2 {
        publish_pages(&registry, www, &without, &[]).unwrap();
        assert!(!www.join("sitemap.xml").exists() && !www.join("robots.txt").exists());
        assert!(text(www, "index.html").contains("US Archive"));
    }
    // A file that another program wrote is not removed.
    std::fs::write(www.join("robots.txt"), "User-agent: *\n").unwrap();
    publish_pages(&registry, www, &without, &[]).unwrap();
    assert!(www.join("robots.txt").exists());
    std::fs::write(www.join(".accession-publish.json"), "{}").unwrap();
    for _ in 0..2 {
        let refused = publish_pages(&registry, www, &without, &[]).unwrap_err();
        assert_eq!(refused.kind().as_str(), "published-damaged");
        assert!(refused.to_string().contains(".accession-publish.json"), "{refused}");
    }
}

#[test]
fn only_the_datasets_that_were_published_have_pages() {
    let directory = harness::directory();
    let directory = directory.path();
    let registry = registry();
    published(&registry, directory, &DatasetFilter::from(name("A")), None);
    let index = text(directory, "index.html");
    assert!(index.contains("./datasets/A/") && !index.contains("/datasets/B/"), "{index}");
    assert!(!directory.join("datasets/B").exists());
    published(&registry, directory, &DatasetFilter::from(name("B")), None);
    let index = text(directory, "index.html");
    assert!(index.contains("/datasets/A/") && index.contains("/datasets/B/"), "{index}");
}

#[test]
fn a_directory_with_files_of_others_is_refused_until_they_are_moved_away() {
    let directory = harness::directory();
    let registry = Registry::temporary(clock()).unwrap();
    step(&registry, "us", 0, ["A"], []);
    let whole = harness::directory();
    let public_url = Edit::Set("https://data.example.org".to_owned());
    let settings = SiteSettings { public_url, ..SiteSettings::default() };
    publish_all(&registry, whole.path()).unwrap();
    publish_pages(&registry, whole.path(), &settings, &[]).unwrap();
    let replaced: Vec<String> = std::fs::read_dir(whole.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    assert!(replaced.len() > 8, "{replaced:?}");
    for mine in replaced {
        let path = directory.path().join(&mine);
        std::fs::write(&path, "mine").unwrap();
        // A rejected run leaves nothing that could make the next run accept the directory.
        for _ in 0..2 {
            let refused = publish_all(&registry, directory.path()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::AlreadyExists, "{mine}");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "{mine}");
        }
        std::fs::remove_file(path).unwrap();
    }
    std::fs::write(directory.path().join("about.html"), "mine").unwrap();
    publish_all(&registry, directory.path()).unwrap();
    // A first run that was killed leaves its lock, and not the rest.
    std::fs::remove_dir_all(directory.path().join("datasets/us")).unwrap();
    std::fs::write(directory.path().join("index.html"), "half of a page").unwrap();
    publish_all(&registry, directory.path()).unwrap();
}
