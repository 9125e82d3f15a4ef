//! Web standards: typed links, JSON-LD, the OpenAPI document.

use harness::values::clock;
use std::collections::BTreeSet;

use accession::dataset::DatasetMetadata;
use accession::history::NewAnnotation;
use accession::{Clock, Registry, Selection, Timestamp};
use accession_server::{Registration, ServerLimits};
use serde_json::Value;

use crate::site::{FIRST, SECOND, Served};
use harness::values::name;

/// The targets with a relation in a `Link` header.
fn targets(header: &str, rel: &str) -> Vec<String> {
    let links = header.split(", <");
    let wanted = format!("rel=\"{rel}\"");
    let matching = links.filter(|link| link.contains(&wanted));
    matching
        .map(|link| link.trim_start_matches('<').split('>').next().unwrap().to_owned())
        .collect()
}

/// In every format, a dataset and a set have their links, and what belongs to them links to them.
#[test]
fn every_format_has_its_links() {
    let served = Served::seed();
    served.change("OTHER", "2001-05-01T00:00:00Z", &["A"], &[]);
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .edit_dataset(&name("US.FOOL2.002"), |dataset| {
            dataset.granule_url = Some("https://data.example/{granule}".parse().unwrap());
        })
        .unwrap();
    let (dataset, set) = ("/datasets/US.FOOL2.002/", format!("/DI:{SECOND}"));
    let instance = "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z";
    let url = |path: &str| format!("https://registry.example{path}");
    let signposts = ["cite-as", "type", "license", "author", "describedby", "item"];
    let citations = "json bibtex ris csl-json datacite-json json-ld text tuple";
    let mut asked = 0;
    let mut check = |path: &str, format: &str, rels: &[&str]| -> String {
        let sign = if path.contains('?') { '&' } else { '?' };
        let answer = served.get(&format!("{path}{sign}format={format}"));
        assert_eq!(answer.status, 200, "{path} {format}: {}", answer.text());
        assert_eq!(answer.headers.get_all("link").iter().count(), 1, "{path} {format}");
        let header = answer.header("link").to_owned();
        assert!(header.len() < 2_048, "{path} {format}: {} bytes", header.len());
        for rel in rels {
            assert!(!targets(&header, rel).is_empty(), "{path} {format}: {rel}: {header}");
        }
        asked += 1;
        header
    };
    for format in citations.split_whitespace().chain(["html"]) {
        check(dataset, format, &signposts);
        check(instance, format, &signposts);
        check(&set, format, &signposts);
    }
    check(&set, "jsonl", &signposts);
    for (path, formats, rel, whole) in [
        ("/datasets/US.FOOL2.002/history", "html json jsonl", "up", dataset),
        ("/datasets/US.FOOL2.002/feed.atom", "atom", "up", dataset),
        ("/datasets/US.FOOL2.002/head.json", "json", "up", dataset),
        ("/datasets/US.FOOL2.002/log/000000.jsonl", "jsonl", "up", dataset),
        ("/datasets/US.FOOL2.002/subsets.jsonl", "jsonl", "up", dataset),
        (&format!("{set}/granules"), "lines jsonl", "collection", &set),
        (&format!("{set}/granules?limit=2"), "lines jsonl", "collection", &set),
        (&format!("{set}/granules?select=FOOL2*"), "lines jsonl", "collection", &set),
        (&format!("{set}/urls"), "lines jsonl", "collection", &set),
    ] {
        for format in formats.split_whitespace() {
            let header = check(path, format, &[]);
            assert_eq!(targets(&header, rel), [url(whole)], "{path} {format}: {header}");
        }
    }
    // A page of a list links to the next one, also for browsers.
    for (path, formats) in [
        ("/datasets/US.FOOL2.002/history?limit=2", "html json jsonl"),
        ("/?limit=1", "json jsonl"),
        ("/find?granule=FOOL2*&limit=2", "json jsonl"),
        ("/compare/US.FOOL2.002@2001-01-02...US.FOOL2.002?limit=1", "json jsonl"),
        (&format!("{set}/granules?limit=2"), "lines jsonl"),
        (&format!("{set}/urls?limit=2"), "lines jsonl"),
    ] {
        for format in formats.split_whitespace() {
            let header = check(path, format, &["next"]);
            let next = targets(&header, "next").remove(0);
            let next = next.strip_prefix("https://registry.example").unwrap();
            assert_eq!(served.get(next).status, 200, "{path} {format}: {next}");
        }
    }
    assert!(asked > 50, "{asked}");
}

#[test]
fn the_links_of_the_header_and_of_the_page_are_the_same() {
    let served = Served::seed();
    for path in
        ["/datasets/US.FOOL2.002/", "/datasets/US.FOOL2.002@2001-01-05", &format!("/DI:{SECOND}")]
    {
        let answer = served.get(path);
        let header = answer.header("link").to_owned();
        let page = answer.text();
        for rel in ["cite-as", "type", "license", "author", "describedby", "item"] {
            let linked = targets(&header, rel);
            assert!(!linked.is_empty(), "{path}: {rel}: {header}");
            for target in linked {
                let target = target.replace('&', "&amp;");
                assert!(page.contains(&format!("href=\"{target}\"")), "{path}: {rel} {target}");
            }
        }
    }
}

/// Every address of the dataset contains the longest name.
#[test]
fn the_header_stays_small_with_a_hundred_creators_and_with_the_longest_name() {
    let served = Served::seed();
    let long = "L".repeat(200);
    for (at, granule) in [("2001-01-02T00:00:00Z", "A"), ("2001-01-03T00:00:00.123456Z", "B")] {
        served.change(&long, at, &[granule], &[]);
    }
    for (dataset, creators, most) in [("US.FOOL2.002", 100, 2_048), (long.as_str(), 9, 3_000)] {
        let creators = (0..creators)
            .map(|n| format!("Family{n}, Given (0000-0002-1825-0097)").parse().unwrap());
        served
            .registry
            .recorded_by("mallory".parse().unwrap())
            .edit_dataset(&name(dataset), |dataset| {
                dataset.creators = creators.clone().collect();
            })
            .unwrap();
        let latest = served.latest(dataset);
        let set = format!("/DI:{latest}");
        for path in
            [format!("/datasets/{dataset}/"), format!("/datasets/{dataset}@2001-01-03"), set]
        {
            let answer = served.get(&path);
            assert_eq!(answer.headers.get_all("link").iter().count(), 1, "{path}");
            let header = answer.header("link");
            assert!(header.len() < most, "{path}: {} bytes", header.len());
            for rel in ["cite-as", "type", "author", "item"] {
                assert!(!targets(header, rel).is_empty(), "{path}: {rel}: {header}");
            }
        }
    }
}

/// A citation copied from the page and one downloaded from it are the same.
#[test]
fn the_files_of_a_page_have_the_date_of_the_page() {
    let served = Served::seed();
    let page = served.page("/datasets/US.FOOL2.002@2001-01-05");
    assert!(page.contains("as held at 2001-01-05"));
    let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let bibtex: Vec<&str> =
        links.filter(|link| link.starts_with('/') && link.ends_with("?format=bibtex")).collect();
    assert_eq!(bibtex, ["/datasets/US.FOOL2.002@2001-01-05?format=bibtex"]);
    assert!(served.get(bibtex[0]).text().contains("as held at 2001-01-05"));
}

#[test]
fn search_engines_are_led_to_what_was_cited() {
    let served = Served::seed();
    let robots = served.get("/robots.txt").text();
    for line in ["Allow: /DI:", "Disallow: /DI:*/", "Disallow: /compare", "Disallow: /*?"] {
        assert!(robots.lines().any(|one| one == line), "{line}: {robots}");
    }
    let wanted = accession::SubsetMembers::Patterns(vec!["FOOL2.v2.0*".parse().unwrap()]);
    let cited = served.registry.cite_subset(&name("US.FOOL2.002"), None, &wanted).unwrap();
    let path = format!("/DI:{}", cited.period.set.identifier());
    let browser = "text/html,*/*;q=0.8";
    for (path, is_listed) in [
        ("/", true),
        ("/datasets/US.FOOL2.002/", true),
        (&path, true),
        (&format!("/DI:{SECOND}"), false),
        ("/datasets/US.FOOL2.002@2001-01-05", false),
    ] {
        let answer = served.get_as(path, browser);
        assert_eq!(answer.header("x-robots-tag") == "noindex", !is_listed, "{path}");
        assert_eq!(answer.text().contains("content=\"noindex\""), !is_listed, "{path}");
    }
}

#[test]
fn a_sitemap_says_when_what_a_page_shows_was_recorded_last() {
    let served = Served::seed();
    let listed = served.registry.snapshot().unwrap().dataset(&name("US.FOOL2.002")).unwrap();
    let recorded = listed.latest.unwrap().recorded;
    let shown = |at: Timestamp| {
        let entry = format!("/datasets/US.FOOL2.002/</loc><lastmod>{at}</lastmod></url>");
        served.get("/sitemap.xml").text().contains(&entry)
    };
    assert!(shown(recorded), "{}", served.get("/sitemap.xml").text());
    let set = Selection::Dataset { name: name("US.FOOL2.002"), at: None };
    let note = NewAnnotation::new("incomplete").unwrap();
    let later = "2026-01-02T00:00:00Z".parse().unwrap();
    served.registry.with_clock(Clock::fixed(later).confirmed()).annotate(&set, &note).unwrap();
    assert!(shown(later), "{}", served.get("/sitemap.xml").text());
    let edited = "2026-01-03T00:00:00Z".parse().unwrap();
    served
        .registry
        .with_clock(Clock::fixed(edited).confirmed())
        .edit_dataset(&name("US.FOOL2.002"), |dataset| {
            dataset.title = Some("FOO".to_owned());
        })
        .unwrap();
    assert!(shown(edited), "{}", served.get("/sitemap.xml").text());
}

#[test]
fn a_name_in_other_letter_case_leads_to_the_dataset_unless_several_are_meant() {
    let served = Served::seed();
    for (path, target) in [
        ("/datasets/us.fool2.002/?format=json", "/datasets/US.FOOL2.002/?format=json"),
        ("/datasets/us.fool2.002@2001-01-05", "/datasets/US.FOOL2.002@2001-01-05"),
        ("/datasets/US.Fool2.002/history", "/datasets/US.FOOL2.002/history"),
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.header("location")), (301, target), "{path}");
    }
    served.registry.add_dataset(&DatasetMetadata::named(name("US.fool2.002"))).unwrap();
    served.change("US.fool2.002", "2001-01-02T00:00:00Z", &["A"], &[]);
    assert_eq!(served.get("/datasets/us.fool2.002/").status, 404);
    assert_eq!(served.get("/datasets/US.fool2.002/").status, 200);
}

#[test]
fn the_json_ld_of_a_page_has_what_the_record_has() {
    let served = Served::seed();
    let block = |path: &str| -> Value {
        let page = served.page(path);
        let json = page.split("<script type=\"application/ld+json\">").nth(1).unwrap();
        serde_json::from_str(json.split("</script>").next().unwrap()).unwrap()
    };
    let full = block("/datasets/US.FOOL2.002/");
    assert_eq!(full["@type"], "Dataset");
    assert_eq!(full["name"], "FOO Level 2");
    let description = full["description"].as_str().unwrap();
    assert!(description.starts_with("Retrievals of foo.") && description.len() >= 50);
    assert_eq!(full["license"], "https://spdx.org/licenses/CC-BY-4.0");
    for field in ["creator", "identifier", "distribution", "datePublished", "includedInDataCatalog"]
    {
        assert!(!full[field].is_null(), "{field}");
    }
    served.change("BARE", "2001-01-01T00:00:00Z", &["A"], &[]);
    let bare = block("/datasets/BARE/");
    for field in ["description", "creator", "license", "version", "datePublished"] {
        assert!(bare[field].is_null(), "{field} is invented");
    }
}

#[test]
fn a_citation_is_the_same_as_that_of_the_command_line() {
    let served = Served::seed();
    let path = served.directory.path().join("accession.db");
    for (format, media_type) in [
        ("bibtex", "application/x-bibtex"),
        ("ris", "application/x-research-info-systems"),
        ("csl-json", "application/vnd.citationstyles.csl+json"),
        ("datacite-json", "application/vnd.datacite.datacite+json"),
        ("json-ld", "application/ld+json"),
        ("text", "text/x-bibliography"),
        ("tuple", ""),
    ] {
        let output = std::process::Command::new(crate::running::program::program())
            .args(["--registry", path.to_str().unwrap(), "cite", "US.FOOL2.002@2001-01-05"])
            .args(["--format", format])
            .env("ACCESSION_RESOLVER", "https://registry.example")
            .output()
            .unwrap();
        // Their access dates differ.
        let undated = |bytes: &[u8]| -> String {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let lines = text.lines().filter(|line| {
                !["Accessed", "accessed", "urldate", "Y2  -", "date-parts", "2026"]
                    .iter()
                    .any(|word| line.contains(word))
                    && line.contains(|character: char| character.is_alphabetic())
            });
            // CSL-JSON is one object here, but an array in the command line.
            let lines = lines.map(|line| line.split(" Accessed ").next().unwrap().trim_start());
            lines.map(|line| line.to_owned() + "\n").collect()
        };
        let named = served.get(&format!("/datasets/US.FOOL2.002@2001-01-05?format={format}"));
        assert_eq!(undated(&named.body), undated(&output.stdout), "{format}");
        if !media_type.is_empty() {
            let accepted = served.get_as("/datasets/US.FOOL2.002@2001-01-05", media_type);
            assert!(accepted.header("content-type").starts_with(media_type));
            assert_eq!(accepted.body, named.body, "{format}");
        }
    }
}

#[test]
fn the_openapi_document_has_the_routes_of_this_server() {
    let paths = |served: &Served| -> BTreeSet<String> {
        let document: Value = serde_json::from_slice(&served.get("/openapi.json").body).unwrap();
        assert_eq!(document["servers"][0]["url"], "https://registry.example");
        document["paths"].as_object().unwrap().keys().cloned().collect()
    };
    let registration =
        Registration { open: Box::new(|| Registry::temporary(clock())), token: None };
    let registering = paths(&Served::registering(registration, ServerLimits::default()));
    let reading = paths(&Served::seed());
    assert!(reading.len() > 15);
    let document: Value =
        serde_json::from_slice(&Served::seed().get("/openapi.json").body).unwrap();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (_, operation) in operations.as_object().unwrap() {
            let mut parameters = operation["parameters"].as_array().unwrap().iter();
            assert!(parameters.all(|parameter| parameter["schema"].is_object()), "{path}");
        }
    }
    let saving: Vec<_> = registering.difference(&reading).collect();
    assert_eq!(saving, ["/datasets/{name}/subsets"]);
}

/// Each operation of the document gets a response with a status that the document describes.
#[test]
fn every_answer_is_one_that_the_openapi_document_describes() {
    let served = Served::seed();
    let document: Value = serde_json::from_slice(&served.get("/openapi.json").body).unwrap();
    let mut all = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        let filled = path
            .replace("/datasets/{name}/", "/datasets/US.FOOL2.002/")
            .replace("/datasets/{name}", "/datasets/US.FOOL2.002@2001-01-05")
            .replace("{segment}", "000000.jsonl")
            .replace("{sides}", "US.FOOL2.002@2001-01-05...US.FOOL2.002")
            .replace("{number}", "1.xml")
            .replace("{doi}", "10.9999/US/FOOL2.v2")
            .replace("{identifier}", &format!("DI:{FIRST}"));
        let parameters = operations["get"]["parameters"].as_array().into_iter().flatten();
        let resolved = parameters.map(|parameter| match parameter["$ref"].as_str() {
            Some(shared) => document.pointer(shared.strip_prefix('#').unwrap()).unwrap(),
            None => parameter,
        });
        let formats = resolved.filter(|parameter| parameter["name"] == "format");
        let formats = formats.flat_map(|parameter| parameter["schema"]["enum"].as_array().unwrap());
        let mut asked: Vec<String> =
            formats.map(|it| format!("?format={}", it.as_str().unwrap())).collect();
        asked.extend(
            ["", "?format=none", "?limit=0", "?after=%00", "?text=x", "?granule=x"]
                .map(str::to_owned),
        );
        all += asked.len();
        for query in asked {
            let answer = served.get(&format!("{filled}{query}"));
            let responses = &operations["get"]["responses"];
            let default = responses.get("default").filter(|_| answer.status >= 400);
            let described = responses.get(answer.status.to_string()).or(default);
            let described =
                described.unwrap_or_else(|| panic!("{filled}{query}: {}", answer.status));
            assert_ne!(answer.status, 500, "{filled}{query}");
            if answer.status == 200 {
                let content_type =
                    answer.header("content-type").split(';').next().unwrap().to_owned();
                let content = described["content"].as_object().unwrap();
                assert!(content.contains_key(&content_type), "{filled}{query}: {content_type}");
            }
        }
    }
    assert!(all > 160, "{all} requests: the formats of shared parameters are asked for, too");
}

#[test]
fn refusals_repeat_what_was_asked_for_and_say_how_it_is_written() {
    let served = Served::new();
    let dataset = DatasetMetadata::named(name("nothing-yet"));
    served.registry.recorded_by("mallory".parse().unwrap()).add_dataset(&dataset).unwrap();
    let unknown = format!("/DI:{}", "f".repeat(32));
    let page = "/datasets/nothing-yet@2001-01-02";
    for (path, detail) in [(unknown.as_str(), "DI:ffffffff"), (page, "nothing-yet has no history")]
    {
        let refused = served.get(path);
        let refused = (refused.status, refused.text());
        assert!(refused.0 == 404 && refused.1.contains(&format!("\"{detail}")), "{refused:?}");
    }
    for path in ["/?limit=x".to_owned(), format!("/DI:{FIRST}/granules?limit=x")] {
        let refused = served.get(&path);
        let refused = (refused.status, refused.text());
        assert!(refused.0 == 400 && refused.1.contains("limit is a number"), "{refused:?}");
    }
}

#[test]
fn an_address_from_a_sentence_leads_to_the_one_that_is_meant() {
    let served = Served::seed();
    for (mark, path) in [
        (".", format!("/DI:{SECOND}")),
        (").", format!("/DI:{SECOND}/granules")),
        (",", "/datasets/US.FOOL2.002/".to_owned()),
        (";", "/datasets/US.FOOL2.002@2001-01-05".to_owned()),
    ] {
        let answer = served.get(&format!("{path}{mark}?limit=2"));
        let meant = format!("{path}?limit=2");
        assert_eq!((answer.status, answer.header("location")), (308, meant.as_str()), "{path}");
    }
    for elsewhere in ["//evil.example.", "/.", "/%5Cevil.example.", "/nothing"] {
        assert_eq!(served.get(elsewhere).status, 404, "{elsewhere}");
    }
    for (path, name) in [
        (format!("/DI:{SECOND}?format=bibtex"), format!("DI_{SECOND}.bib")),
        (format!("/DI:{SECOND}/granules"), format!("DI_{SECOND}_granules.txt")),
        (
            format!("/DI:{SECOND}/granules?select=FOOL2.v2.0*&select=%C3%A9"),
            format!("DI_{SECOND}_granules_FOOL2.v2.0___.txt"),
        ),
        (
            "/datasets/US.FOOL2.002@2001-01-05?format=ris".into(),
            "US.FOOL2.002@2001-01-05.ris".into(),
        ),
    ] {
        let named = served.get(&path).header("content-disposition").to_owned();
        assert_eq!(named, format!("inline; filename=\"{name}\""));
    }
}
