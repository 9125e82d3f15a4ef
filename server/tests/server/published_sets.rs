//! A published directory resolves every identifier and every digest, on any web server.

use harness::values::{AtTime, clock};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use accession::Selection;
use accession::dataset::Edit;
use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::{Digest, Identifier};
use accession::{HistoryOptions, Registry, SubsetMembers, Timestamp};
use accession_server::{SiteSettings, publish_pages};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use harness::exported::publish_all;
use harness::files::files;
use harness::history::{change, name};
use harness::values::{stating, with_file};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn publish(registry: &Registry, directory: &Path, url: Option<&str>) {
    publish_all(registry, directory).unwrap();
    let public_url = url.map_or(Edit::Keep, |url| Edit::Set(url.to_owned()));
    let settings = SiteSettings { public_url, ..SiteSettings::default() };
    publish_pages(registry, directory, &settings, &[]).unwrap();
}

fn text(directory: &Path, file: &str) -> String {
    std::fs::read_to_string(directory.join(file)).unwrap_or_default()
}

/// The time at which each file was written.
fn times(directory: &Path) -> BTreeMap<String, std::time::SystemTime> {
    let written = |name: &String| directory.join(name).metadata().unwrap().modified().unwrap();
    files(directory).into_keys().map(|name| (name.clone(), written(&name))).collect()
}

/// The page to which the shards lead an identifier (that of its first period), or a digest that a set got
/// later.
fn page_of(directory: &Path, identifier: &str) -> Option<String> {
    let shard: Value =
        serde_json::from_str(&text(directory, &format!("di/{}.json", &identifier[..2]))).unwrap();
    let set = shard["sets"].get(identifier)?.get(0)?;
    let (dataset, from) = (set["dataset"].as_str()?, set["from"].as_str()?);
    Some(format!("datasets/{dataset}/history/{}.html", &from[..7]))
}

/// Asserts that each identifier of a dataset has an anchor on one page, and that its digest leads to a page
/// with the digest. Returns the number of identifiers.
fn assert_resolves(registry: &Registry, directory: &Path, dataset: &str) -> usize {
    let mut resolved = 0;
    let subsets = registry.snapshot().unwrap().subsets(&name(dataset)).unwrap().into_iter();
    let instances = registry.history(&name(dataset), &HistoryOptions::new());
    let instances = instances.map(Result::unwrap).map(|it| (it.identifier, it.digest));
    let all: Vec<(Identifier, Digest)> =
        instances.chain(subsets.map(|subset| (subset.identifier, subset.digest))).collect();
    for (identifier, digest) in all {
        let identifier = identifier.to_string();
        let of_identifier = page_of(directory, &identifier).unwrap();
        let page = text(directory, &of_identifier);
        let anchor = format!(" id=\"{identifier}\"");
        assert_eq!(page.matches(&anchor).count(), 1, "{identifier}");
        let digest = hex::encode(digest.as_bytes());
        let page = text(directory, &page_of(directory, &digest).unwrap_or(of_identifier));
        assert!(page.contains(&digest), "{digest}");
        let shard = text(directory, &format!("di/{}.json", &digest[..2]));
        let shard: Value = serde_json::from_str(&shard).unwrap();
        assert_eq!(shard["digests"][&digest], identifier);
        resolved += 1;
    }
    resolved
}

/// A registry with sets that come back, within a month and later, and with a cited subset.
fn registry() -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    for (time, ingested, deleted) in [
        ("2001-01-02T00:00:00Z", vec!["A"], vec![]),
        ("2001-01-03T00:00:00Z", vec!["B"], vec![]),
        ("2001-01-04T00:00:00Z", vec![], vec!["B"]),
        ("2001-03-01T00:00:00Z", vec!["B"], vec![]),
    ] {
        registry.change(&name("D"), &change(ingested, deleted).at(at(time))).unwrap();
    }
    let members = SubsetMembers::Patterns(vec!["B".parse().unwrap()]);
    registry.cite_subset(&name("D"), None, &members).unwrap();
    registry
}

#[test]
fn each_identifier_and_each_digest_leads_to_its_place() {
    let (registry, place) = (registry(), harness::directory());
    let www = place.path();
    publish(&registry, www, Some("https://data.example.org/a"));
    assert_eq!(assert_resolves(&registry, www, "D"), 5);
    assert_eq!(page_of(www, "00000000000000000000000000000000"), None);
    // The citation on a page has the address of the site, or that of its resolver.
    let latest =
        registry.snapshot().unwrap().dataset(&name("D")).unwrap().latest.unwrap().identifier;
    let assert_cited = |site: &str| {
        for page in ["datasets/D/history/2001-03.html", "datasets/D/index.html"] {
            let page = text(www, page);
            assert!(page.contains(&format!("{site}/DI:{latest}, as held at ")), "{page}");
        }
    };
    assert_cited("https://data.example.org/a");
    let resolver = Some("https://ids.example".to_owned());
    let settings = SiteSettings { resolver, ..SiteSettings::default() };
    publish_pages(&registry, www, &settings, &[]).unwrap();
    assert_cited("https://ids.example");
    // A cited subset has its own citation, on the page of its parent set. For readers without scripts, the page
    // says which set its main citation is for.
    let page = text(www, "datasets/D/history/2001-03.html");
    let subset = registry.snapshot().unwrap().subsets(&name("D")).unwrap()[0].identifier;
    let cited = page.split(&format!("id=\"cite-{subset}\"")).nth(1).unwrap();
    let expected = format!("https://ids.example/DI:{subset}, as held at 2001-03-01T00:00:00Z");
    assert!(cited.split("</blockquote>").next().unwrap().contains(&expected), "{page}");
    assert!(page.contains("The last set of the month, of 2001-03-01T00:00:00Z."), "{page}");
    assert!(page.contains(&format!("accession granules <span>DI:{latest}</span>")), "{page}");
    // The map for nginx leads to the same pages.
    let map = text(www, "di.map");
    assert_eq!(map.lines().count(), 3);
    for line in map.lines() {
        let (address, place) = line.trim_end_matches(';').split_once(' ').unwrap();
        let identifier = &address.trim_matches('"')["/a/DI:".len()..];
        let page = page_of(www, identifier).unwrap();
        assert_eq!(place, format!("\"/a/{page}#{identifier}\""));
    }
    // The page for missing addresses resolves its links below the public address.
    assert!(text(www, "404.html").contains("<base href=\"/a/\">"));
}

#[test]
fn a_later_digest_has_its_own_place_and_ends_no_set() {
    let (registry, place) = (registry(), harness::directory());
    let (www, d) = (place.path(), name("D"));
    let checksum = Checksum::from_bytes(Algorithm::Md5, &[1; 16]).unwrap();
    let stated = stating([with_file("A", "A", None, Some(checksum))]);
    registry.change(&d, &stated.at(at("2001-04-01T00:00:00Z"))).unwrap();
    let mut note = NewAnnotation::new("A was truncated").unwrap();
    note.questionable = true;
    let selection = Selection::Dataset { name: d.clone(), at: None };
    registry.annotate(&selection, &note).unwrap();
    publish(&registry, www, None);
    assert_eq!(assert_resolves(&registry, www, "D"), 6);
    let latest = registry.snapshot().unwrap().dataset(&d).unwrap().latest.unwrap();
    let month = |month| text(www, &format!("datasets/D/history/2001-{month}.html"));
    let page = month("03");
    assert!(page.contains("the last one is held now") && !page.contains("data-until"), "{page}");
    assert!(page.contains("data-digest-until=\"2001-04-01T00:00:00Z\""), "{page}");
    // A later note about the set is also shown with its subset.
    assert_eq!(page.matches("A was truncated").count(), 2, "{page}");
    assert!(month("04").contains("data-from=\"2001-03-01T00:00:00Z\""), "{}", month("04"));
    // The set that is held again now.
    let now = format!("<tr id=\"{}\" data-now=\"{}\">", latest.identifier, latest.digest);
    assert!(month("01").contains(&now), "{}", month("01"));
}

#[test]
fn the_lists_of_the_latest_set_and_of_cited_subsets_have_their_digests() {
    let (registry, place) = (registry(), harness::directory());
    let www = place.path();
    publish(&registry, www, None);
    let mut lists = 0;
    for entry in std::fs::read_dir(www.join("lists")).unwrap() {
        let path = entry.unwrap().path();
        let mut list = Vec::new();
        let file = std::fs::File::open(&path).unwrap();
        flate2::read::GzDecoder::new(file).read_to_end(&mut list).unwrap();
        let digest = format!("{}.txt.gz", hex::encode(Sha256::digest(&list)));
        assert_eq!(path.file_name().unwrap().to_str(), Some(digest.as_str()));
        lists += 1;
    }
    assert_eq!(lists, 2);
    // Another set is the latest now. Its list replaces the list of the previous one.
    registry.change(&name("D"), &change(["C"], []).at(at("2001-04-01T00:00:00Z"))).unwrap();
    publish(&registry, www, None);
    assert_eq!(std::fs::read_dir(www.join("lists")).unwrap().count(), 2);
    let page = text(www, "datasets/D/history/2001-04.html");
    let link = page.split("../../../lists/").nth(1).unwrap().split('"').next().unwrap();
    assert!(www.join("lists").join(link).is_file());
}

#[test]
fn a_night_writes_what_it_changes_and_no_other_file() {
    let (registry, place) = (registry(), harness::directory());
    let www = place.path();
    publish(&registry, www, None);
    let before = times(www);
    publish(&registry, www, None);
    registry.change(&name("D"), &change(["C"], []).at(at("2001-04-01T00:00:00Z"))).unwrap();
    publish(&registry, www, None);
    let after = times(www);
    let written: Vec<&str> = after
        .iter()
        .filter(|(file, time)| before.get(*file) != Some(time))
        .map(|(file, _)| file.as_str())
        .filter(|file| file.contains("history/") || file.starts_with("di/"))
        .collect();
    let months: Vec<&&str> = written.iter().filter(|file| file.contains("history/")).collect();
    // April; March, whose last set was replaced now; and January, which had the same set, whose list was
    // removed.
    let expected = ["2001-01.html", "2001-03.html", "2001-04.html", "index.html"];
    assert_eq!(months.len(), expected.len(), "{written:?}");
    assert!(months.iter().zip(expected).all(|(file, name)| file.ends_with(name)), "{written:?}");
    // The shards of the new identifier, of its digest, and of the identifier whose period it ended.
    assert!(written.len() <= months.len() + 3, "{written:?}");
    assert_eq!(assert_resolves(&registry, www, "D"), 6);
}

#[test]
fn what_another_registry_published_still_resolves_and_a_former_name_does_not() {
    let place = harness::directory();
    let (www, first) = (place.path(), registry());
    publish(&first, www, None);
    let second = Registry::temporary(clock()).unwrap();
    second.change(&name("E"), &change(["E"], []).at(at("2001-01-05T00:00:00Z"))).unwrap();
    publish(&second, www, None);
    assert_resolves(&second, www, "E");
    assert_eq!(assert_resolves(&first, www, "D"), 5);
    assert!(std::fs::read_dir(www.join("lists")).unwrap().count() >= 3);
    // A damaged shard is rebuilt from the registry.
    for number in 0..=255_u8 {
        std::fs::write(www.join(format!("di/{number:02x}.json")), "{").unwrap();
    }
    first.rename_dataset(&name("D"), &name("F")).unwrap();
    for _ in 0..2 {
        publish(&first, www, None);
        assert_eq!(assert_resolves(&first, www, "F"), 5);
        assert!(!text(www, "di.map").contains("datasets/D/"));
        assert_eq!(std::fs::read_dir(www.join("datasets/D/history")).unwrap().count(), 0);
    }
}
