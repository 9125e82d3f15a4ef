//! The page of a set.

use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::{Clock, Selection};
use harness::values::AtTime;
use hyper::Method;

use crate::site::{SECOND, Served, assert_has};
use harness::values::{name, stating, with_file};

#[test]
fn a_reader_learns_what_a_set_is_and_what_became_of_it() {
    let served = Served::seed();
    let page = served.page(&format!("/DI:{SECOND}"));
    assert_has(
        &page,
        &[
            "You followed a citation to exactly these granules",
            "<h1>FOO Level 2</h1>",
            "<b>12 granules</b>, as held by US Archive from <b><time datetime=\"2001-01-03T00:00:00Z\">3 Jan 2001</time></b> until",
            "<span class=\"di address\" id=\"di\">https://registry.example/DI:763122197bfb3ffbf0da14adbfb1b13b</span>",
            "<p class=\"fate\">Replaced on <b><time datetime=\"2001-02-03T00:00:00Z\">3 Feb 2001</time></b>; \
             <b>11</b> of 12 granules are still held. ",
            "/compare/US.FOOL2.002@2001-01-03T00:00:00Z...US.FOOL2.002@2001-03-03T00:00:00Z\">Compare with the latest set</a>",
            "Get the list (588 bytes)",
            "<i><span>FOOL2.v2.</span></i><span>01.bba34792-f256-4c54-81dd-9977e432c204</span>",
            "compare <span>DI:763122197bfb3ffbf0da14adbfb1b13b</span> -",
        ],
    );
    let latest = served.latest("US.FOOL2.002");
    let page = served.page(&format!("/DI:{latest}"));
    assert!(page.contains("</time></b> until <b><b class=\"plus\">now</b></b>"), "{page}");
    assert!(!page.contains("class=\"fate\""), "{page}");
    // Files of the set are replaced. The page of the dataset still shows the same first day.
    let granule = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204";
    for (at, byte) in [("2001-04-01T00:00:00Z", 1), ("2001-04-02T00:00:00Z", 2)] {
        let checksum = Checksum::from_bytes(Algorithm::Md5, &[byte; 16]).unwrap();
        let change = stating([with_file(granule, granule, None, Some(checksum))]);
        served.registry.change(&name("US.FOOL2.002"), &change.at(at.parse().unwrap())).unwrap();
    }
    for path in [&format!("/DI:{latest}"), "/datasets/US.FOOL2.002@2001-03-05"] {
        let page = served.page(path);
        assert!(page.contains("<p class=\"fate\">Files were replaced on <b><time "), "{page}");
        assert!(page.contains(">2 Apr 2001</time></b>.</p>"), "{page}");
    }
    let page = served.page("/datasets/US.FOOL2.002/");
    assert!(page.contains("<p>Held since <time datetime=\"2001-03-03"), "{page}");
    // A warning about a questionable set comes first, before the title.
    let mut note = NewAnnotation::new("one file was truncated").unwrap();
    note.questionable = true;
    let at =
        |at: &str| Selection::Dataset { name: name("US.FOOL2.002"), at: Some(at.parse().unwrap()) };
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .annotate(&at("2001-01-05"), &note)
        .unwrap();
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .withdraw_dataset(&name("US.FOOL2.002"), "moved")
        .unwrap();
    for path in [&format!("/DI:{SECOND}"), "/datasets/US.FOOL2.002@2001-01-05"] {
        let page = served.page(path);
        let places = ["was withdrawn", "Questionable.", "<h1>", "id=\"di\""];
        let places = places.map(|it| page.find(it).unwrap_or_else(|| panic!("{it}: {page}")));
        assert!(places.is_sorted(), "{places:?}");
        assert!(page.contains("Replaced on ") && !page.contains("still held"), "{page}");
    }
    let page = served.page(&format!("/DI:{latest}"));
    assert!(page.contains(" until it was withdrawn on <b>"), "{page}");
    let bibtex = served.get(&format!("/DI:{latest}?format=bibtex")).text();
    assert!(bibtex.contains("US.FOOL2.002 was withdrawn at "), "{bibtex}");
}

#[test]
fn what_programs_and_paper_have_of_a_page_is_its_address() {
    let served = Served::seed();
    let comparison = "/compare/US.FOOL2.002@2001-01-05...US.FOOL2.002@2001-02-05";
    let assert_printed = |path: &str, address: &str| {
        let printed = format!("<p class=\"printed\">{address}</p>");
        let page = served.page(path);
        assert!(page.contains(&printed), "{path}: {page}");
    };
    for path in ["/datasets/US.FOOL2.002/history", comparison] {
        assert_printed(path, &format!("https://registry.example{path}"));
    }
    // The record names another resolver. The citation has its address.
    let edit = |dataset: &mut accession::dataset::DatasetMetadata| {
        dataset.resolver = Some("https://ids.example/".parse().unwrap());
    };
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .edit_dataset(&name("US.FOOL2.002"), edit)
        .unwrap();
    let path = format!("/DI:{SECOND}");
    assert_printed(&path, &format!("https://ids.example{path}"));
    for media_type in ["text/html", "application/x-bibtex"] {
        let answer = served.get_as(&path, media_type);
        let expected = format!("<https://ids.example{path}>; rel=\"cite-as\"");
        let links = answer.headers.get_all("link").iter();
        let links: Vec<&str> = links.map(|link| link.to_str().unwrap()).collect();
        assert!(links.iter().any(|link| link.contains(&expected)), "{path}: {links:?}");
    }
}

#[test]
fn a_set_is_that_of_its_first_holder_and_has_the_others_below() {
    let served = Served::new();
    served.change("MIRROR", "2002-01-01T00:00:00Z", &["A"], &[]);
    served.change("FIRST", "2001-01-01T00:00:00Z", &["A"], &[]);
    served.change("FIRST", "2003-01-01T00:00:00Z", &["B"], &[]);
    let identifier = served.latest("MIRROR");
    let alone =
        Selection::Identifier { identifier: identifier.parse().unwrap(), dataset: None, at: None };
    let cited = served.registry.snapshot().unwrap().cite(&alone).unwrap();
    assert_eq!(cited.period.set.dataset().as_str(), "FIRST");
    let page = served.page(&format!("/DI:{identifier}"));
    assert_has(
        &page,
        &[
            "<h1>FIRST</h1>",
            "; <b>1</b> of 1 granule is still held. ",
            "Where and when it was held",
            "/datasets/MIRROR@2002-01-01T00:00:00Z#cite",
        ],
    );
    // The page of the empty set has no shell command to compute the identifier.
    served.change("FIRST", "2005-01-01T00:00:00Z", &[], &["A", "B"]);
    let page = served.page("/datasets/FIRST@2002-06-01");
    assert!(page.contains("; <b>0</b> of 1 granule is still held. "), "{page}");
    let page = served.page("/DI:d41d8cd98f00b204e9800998ecf8427e");
    assert!(
        page.contains("accession compare <span>DI:d41d8cd98f00b204e9800998ecf8427e</span> -")
            && !page.contains("It must print"),
        "{page}"
    );
}

#[test]
fn a_subset_has_a_page_once_it_is_saved() {
    let served = Served::seed();
    // Before a subset is saved, its names can be listed. No page shows the whole set instead.
    let path = format!("/DI:{SECOND}?select=FOOL2.v2.0%2A");
    for media_type in ["text/html", "application/json"] {
        let refused = served.get_as(&path, media_type);
        assert!(refused.status == 400 && refused.text().contains("granules?select="), "{path}");
    }
    assert!(served.page(&format!("/DI:{SECOND}")).contains(&format!("/DI:{SECOND}/granules\"")));
    let members = accession::SubsetMembers::Patterns(vec!["FOOL2.v2.0*".parse().unwrap()]);
    let at = Some("2001-01-05".parse().unwrap());
    let cited = served.registry.cite_subset(&name("US.FOOL2.002"), at, &members).unwrap();
    let identifier = cited.period.set.identifier();
    let page = served.page(&format!("/DI:{identifier}"));
    assert_has(
        &page,
        &[
            "a part of a dataset",
            "<p class=\"fate\">Its dataset changed on <b>",
            "<b>9</b> of 9 granules are still held. ",
        ],
    );
    assert!(served.page("/datasets/US.FOOL2.002/").contains("Subsets that were cited"));
    let member = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204";
    served.change("US.FOOL2.002", "2002-01-01T00:00:00Z", &["FOOL2.v2.09.new"], &[member]);
    let page = served.page(&format!("/DI:{identifier}"));
    assert!(page.contains("; <b>8</b> of 9 granules are still held. "), "{page}");
}

#[test]
fn granules_that_are_still_held_with_different_content_are_counted() {
    let served = Served::new();
    let (dataset, checksum) =
        (name("FOO"), |byte| Checksum::from_bytes(Algorithm::Md5, &[byte; 16]));
    let change = |at: &str, files: &[(&str, u8)]| {
        let files = files.iter().map(|(id, byte)| with_file(id, id, None, checksum(*byte).ok()));
        served.registry.change(&dataset, &stating(files).at(at.parse().unwrap())).unwrap();
    };
    served.change("FOO", "2001-01-01T00:00:00Z", &["A", "B", "C"], &[]);
    change("2001-01-01T00:00:01Z", &[("A", 1), ("B", 1)]);
    let identifier = served.latest("FOO");
    served.change("FOO", "2001-02-01T00:00:00Z", &["D"], &["A"]);
    let said = || {
        let page = served.page(&format!("/DI:{identifier}"));
        let (_, said) = page.split_once("; <b>").unwrap_or_else(|| panic!("{page}"));
        said.split_once(". ").unwrap().0.to_owned()
    };
    // C has no recorded content, so the page does not say that all contents are the same.
    assert_eq!(said(), "2</b> of 3 granules are still held");
    change("2001-03-01T00:00:00Z", &[("B", 2), ("D", 1)]);
    assert_eq!(said(), "2</b> of 3 granules are still held, <b>1</b> with different content");
    // A granule that was deleted comes back with different content.
    served.change("FOO", "2001-04-01T00:00:00Z", &["A"], &[]);
    change("2001-04-01T00:00:01Z", &[("A", 2)]);
    assert_eq!(said(), "3</b> of 3 granules are still held, <b>2</b> with different content");
    change("2001-05-01T00:00:00Z", &[("A", 1), ("B", 1)]);
    served.change("FOO", "2001-06-01T00:00:00Z", &[], &["C"]);
    assert_eq!(said(), "2</b> of 3 granules are still held, <b>0</b> with different content");
}

#[test]
fn an_annotation_is_on_every_page_of_its_set_and_changes_their_tags() {
    let served = Served::seed();
    let of_set = format!("/DI:{SECOND}");
    let paths = [
        "/datasets/US.FOOL2.002/history",
        "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z",
        &of_set,
        "/datasets/US.FOOL2.002/head.json",
    ];
    let tags = || paths.map(|path| served.get(path).header("etag").to_owned());
    let (before, list) = (tags(), served.get(&format!("{of_set}/granules")));
    assert_eq!(served.get("/datasets/US.FOOL2.002/annotations.jsonl").status, 404);
    let mut note = NewAnnotation::new("the listing was <incomplete>").unwrap();
    note.questionable = true;
    let selection =
        Selection::Identifier { identifier: SECOND.parse().unwrap(), dataset: None, at: None };
    served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()))
        .recorded_by("Somebody".parse().unwrap())
        .annotate(&selection, &note)
        .unwrap();
    for (path, (before, after)) in paths.iter().zip(before.iter().zip(tags())) {
        assert_ne!(*before, after, "{path}");
        let known = [("if-none-match", before.as_str())];
        assert_eq!(served.ask(Method::GET, path, &known, "").status, 200, "{path}");
        if !path.ends_with(".json") {
            let page = served.page(path);
            assert!(page.contains("the listing was &lt;incomplete&gt;"), "{path}: {page}");
            assert!(!page.contains("Somebody"), "{path}");
        }
    }
    let json = served.json("/datasets/US.FOOL2.002@2001-01-03T00:00:00Z");
    assert!(json.to_string().contains("\"questionable\":true"), "{json}");
    let published = served.get("/datasets/US.FOOL2.002/annotations.jsonl");
    assert_eq!((published.status, published.text().lines().count()), (200, 1));
    assert!(published.text().contains("incomplete") && !published.text().contains("Somebody"));
    let tag = published.header("etag").to_owned();
    let again = served.ask(
        Method::GET,
        "/datasets/US.FOOL2.002/annotations.jsonl",
        &[("if-none-match", &tag)],
        "",
    );
    assert_eq!(again.status, 304);
    // The ids of a set never change.
    assert_eq!(served.get(&format!("{of_set}/granules")).header("etag"), list.header("etag"));
}

#[test]
fn a_digest_that_the_set_of_the_identifier_never_had_is_not_found() {
    let served = Served::seed();
    let latest = served.latest("US.FOOL2.002");
    let digest = |at: &str| {
        let at = Some(at.parse().unwrap());
        let selection = Selection::Dataset { name: name("US.FOOL2.002"), at };
        let snapshot = served.registry.snapshot().unwrap();
        snapshot.select(&selection).unwrap().set.digest()
    };
    let (own, other) = (digest("2001-01-05"), digest("2001-03-05"));
    let unknown = "0".repeat(32);
    for format in ["", "&format=json", "&format=jsonl", "&format=bibtex"] {
        let status = |identifier: &str, digest: &str| {
            served.get(&format!("/DI:{identifier}?digest={digest}{format}")).status
        };
        assert_eq!(status(SECOND, &own.to_string()), 200, "{format}");
        assert_eq!(status(SECOND, &own.to_string()[..19]), 200, "{format}");
        assert_eq!(status(SECOND, &other.to_string()), 404, "{format}");
        assert_eq!(status(&latest.to_string(), &own.to_string()), 404, "{format}");
        assert_eq!(status(&unknown, &own.to_string()), 404, "{format}");
        assert_eq!(status(SECOND, "sha256:000000000000"), 404, "{format}");
    }
}

#[test]
fn lists_of_an_identifier_whose_files_were_replaced_need_a_digest_or_a_time() {
    let served = Served::seed();
    let latest = served.latest("US.FOOL2.002");
    let granule = "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204";
    for (at, byte) in [("2001-04-01T00:00:00Z", 1), ("2001-04-02T00:00:00Z", 2)] {
        let checksum = Checksum::from_bytes(Algorithm::Md5, &[byte; 16]).unwrap();
        let change = stating([with_file(granule, granule, None, Some(checksum))]);
        served.registry.change(&name("US.FOOL2.002"), &change.at(at.parse().unwrap())).unwrap();
        let status = |query: &str| {
            let paths =
                [format!("/DI:{latest}/list{query}"), format!("/DI:{latest}/checksums{query}")];
            paths.map(|path| served.get(&path).status)
        };
        // Adding a checksum replaces nothing.
        assert_eq!(status(""), if byte == 1 { [200; 2] } else { [409; 2] });
        assert_eq!(status(&format!("?at={at}")), [200; 2]);
        assert_eq!(served.get(&format!("/DI:{latest}/granules")).status, 200);
    }
}
