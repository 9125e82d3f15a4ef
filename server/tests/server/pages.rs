//! The contents of the pages.

use accession::dataset::DatasetMetadata;
use accession::fixity::{CheckOptions, FileTree};
use accession::history::NewAnnotation;
use accession::mirror::{MirrorStatus, Primary, PullOptions, manifest};
use accession::{
    Change, ChangeOptions, Clock, DatasetName, IfMissing, Limits, ListingBuilder, ListingEntry,
    Registry, Selection, Snapshot, Timestamp,
};
use harness::values::AtTime;
use hyper::Method;

use crate::site::{FIRST, SECOND, Served, assert_has};
use harness::events::event;
use harness::values::{change, clock, name, now, second, with_file};

#[test]
fn an_author_picks_a_day_and_gets_its_citation() {
    let served = Served::seed();
    let page = served.page("/datasets/US.FOOL2.002/");
    assert!(page.contains("type=\"date\" name=\"at\""));
    let answer = served.get("/datasets/US.FOOL2.002/?at=2001-01-05");
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, "/datasets/US.FOOL2.002@2001-01-05")
    );
    let page = served.page("/datasets/US.FOOL2.002@2001-01-05");
    assert!(page.contains(&format!("DI:{SECOND}, as held at 2001-01-05")), "{page}");
    let bibtex = served.get_as("/datasets/US.FOOL2.002@2001-01-05", "application/x-bibtex");
    assert!(bibtex.text().contains(SECOND));
    let canonical = served.get("/datasets/US.FOOL2.002@2001-01-05");
    assert!(canonical.header("link").contains(
        "<https://registry.example/datasets/US.FOOL2.002@2001-01-03T00:00:00Z>; rel=\"canonical\""
    ));
    let early = served.get("/datasets/US.FOOL2.002@2000-01-01");
    assert_eq!((early.status, early.problem().1.as_str()), (404, "no-history"));
}

#[test]
fn a_reference_manager_saves_the_title_with_the_identifier() {
    let served = Served::seed();
    let titles = |path: &str| {
        let page = served.page(path);
        let content = |name: &str| {
            let (_, rest) = page.split_once(&format!("<meta name=\"{name}\" content=\"")).unwrap();
            rest.split_once('"').unwrap().0.to_owned()
        };
        [content("citation_title"), content("DC.title")]
    };
    let [saved, title] = titles("/datasets/US.FOOL2.002@2001-01-05");
    assert_eq!(
        (&*saved, &*title),
        (&*format!("FOO Level 2 [DI:{SECOND}, 2001-01-05]"), "FOO Level 2")
    );
    let ris =
        served.get_as("/datasets/US.FOOL2.002@2001-01-05", "application/x-research-info-systems");
    assert!(ris.text().contains(&format!("TI  - {saved}\r\n")), "{}", ris.text());
    // The page of a dataset cites its present set.
    let [saved, _] = titles("/datasets/US.FOOL2.002/");
    assert!(saved.starts_with("FOO Level 2 [DI:") && saved.ends_with(']'), "{saved}");
    let dataset = accession::dataset::DatasetMetadata::named(name("EMPTY"));
    served.registry.add_dataset(&dataset).unwrap();
    assert_eq!(titles("/datasets/EMPTY/"), ["EMPTY", "EMPTY"]);
}

#[test]
fn a_dataset_page_has_its_record_its_plot_and_its_changes() {
    let served = Served::seed();
    let page = served.page("/datasets/US.FOOL2.002/");
    assert_has(
        &page,
        &[
            "<h1>FOO Level 2</h1>",
            "https://doi.org/10.9999/US/FOOL2.v2",
            "https://spdx.org/licenses/CC-BY-4.0",
            "https://orcid.org/0000-0002-1825-0097",
            "Retrievals of foo.",
            "First 11 on 2 Jan 2001. Last 14 since 3 Mar 2001. Smallest 11 on 2 Jan 2001. \
             Largest 14 on 3 Mar 2001.",
            "All 5 changes, and compare any two",
            "?format=bibtex",
            "<link rel=\"canonical\" href=\"https://registry.example/datasets/US.FOOL2.002/\">",
            "<meta property=\"og:title\" content=\"FOO Level 2\">",
            "/datasets/US.FOOL2.002/feed.atom",
            "A <dfn>granule</dfn> is",
        ],
    );
    // The plot is directly under the identifier.
    let places = ["id=\"di\"", "<figure>", "id=\"cite\"", "id=\"changes\"", "id=\"verify\""];
    let places = places.map(|it| page.find(it).unwrap_or_else(|| panic!("{it}: {page}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(!page.contains(" style="), "{page}");
    assert_eq!(served.get("/datasets/US.FOOL2.002").header("location"), "/datasets/US.FOOL2.002/");
    assert_eq!(
        served.get("/doi/10.9999/us/fool2.V2").header("location"),
        "/datasets/US.FOOL2.002/"
    );
}

#[test]
fn the_page_of_a_mirror_says_whether_the_copy_matches() {
    let served = Served::new();
    let directory = harness::directory();
    let at = |file: &str| directory.path().join(file);
    let (files, log) = (at("files"), at("us.jsonl"));
    std::fs::create_dir(&files).unwrap();
    let us = Registry::create(at("us.db"), clock()).unwrap();
    let recorded = |us: &Registry, second_: i64, ids: &[&str]| {
        let mut change = Change::new();
        change.options = change.options.if_missing(IfMissing::Create);
        for granule in ids {
            std::fs::write(files.join(granule), "1").unwrap();
            change.ingest(with_file(granule, granule, Some(1), None)).unwrap();
        }
        us.change(&name("US"), &change.at(second(second_))).unwrap();
        let _ = std::fs::remove_file(&log);
        manifest::export(us, &name("US"), None, &log).unwrap();
    };
    recorded(&us, 0, &["A", "B", "C", "D", "E"]);
    let (mirror, primary) = (name("THEM"), Primary::from(log.clone()));
    let options = PullOptions::new().if_missing(IfMissing::Create).at(second(1));
    served.registry.pull(&mirror, &primary, options).unwrap();
    let compare = || served.registry.compare_mirror(&mirror, &primary).and_then(|it| it.finish());
    let check = || {
        let select = |snapshot: &Snapshot| Ok(snapshot.select(&mirror.clone().into())?.set);
        let tree = FileTree::new(&files);
        let mut run = served.registry.check_fixity(select, &tree, CheckOptions::new()).unwrap();
        run.by_ref().for_each(|finding| drop(finding.unwrap()));
        run.finish().unwrap();
    };
    let said = || {
        let page = served.page("/datasets/THEM/");
        let (_, said) =
            page.split_once("another archive’s dataset, which was last read on ").unwrap();
        let (said, _) = said.split_once("</p>").unwrap();
        said.split_once(": ").map_or(String::new(), |(_, facts)| facts.to_owned())
    };
    let is = |facts: &str| assert!(said().starts_with(facts), "{facts}: {}", said());
    is("names identical · checksums not recorded · files on disk never checked.");
    check();
    is("names identical · checksums not recorded · files on disk checked 2026-01-01, 5 good.");
    std::fs::remove_file(files.join("A")).unwrap();
    std::fs::remove_file(files.join("B")).unwrap();
    std::fs::write(files.join("C"), "damaged").unwrap();
    check();
    is("names identical · checksums not recorded · files on disk 2 missing, 1 damaged.");
    // The primary is ahead. Then both have diverged. Then the primary has a different history.
    recorded(&us, 2, &["F"]);
    compare().unwrap();
    is("names different · checksums not compared · files on disk 2 missing, 1 damaged.");
    assert!(!said().contains("followed"), "{}", said());
    served.change("THEM", "2001-01-01T00:00:03Z", &["G"], &[]);
    compare().unwrap();
    is("names different · checksums not compared · files on disk 2 missing, 1 damaged.");
    let other = Registry::create(at("other.db"), clock()).unwrap();
    recorded(&other, 0, &["A", "B"]);
    assert_eq!(compare().unwrap().status.status, MirrorStatus::Rewritten);
    is("names not compared · checksums not compared · files on disk");
    assert!(said().contains(" It could not be followed on "), "{}", said());
    std::fs::remove_file(&log).unwrap();
    compare().unwrap_err();
    assert!(said().contains(" It could not be followed on "), "{}", said());
    assert!(!said().contains("us.jsonl"), "the path of a primary is not shown: {}", said());
}

#[test]
fn a_dataset_without_granules_has_a_page() {
    let served = Served::new();
    let dataset = accession::dataset::DatasetMetadata::named(name("EMPTY"));
    served.registry.recorded_by("mallory".parse().unwrap()).add_dataset(&dataset).unwrap();
    let page = served.page("/datasets/EMPTY/");
    assert!(page.contains("Nothing was ever added"));
    assert!(served.page("/").contains("none yet"));
    let answer = served.get("/datasets/EMPTY/?format=bibtex");
    assert_eq!((answer.status, answer.problem().1.as_str()), (404, "no-history"));
}

#[test]
fn pasted_citations_are_checked() {
    let served = Served::seed();
    assert!(served.page("/check").contains("<textarea"));
    let text = format!(
        "{{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:{SECOND} }}\nDI:{FIRST}, as held at 2001-02-05 by US\nDI:00000000000000000000000000000000"
    );
    let body: String =
        form_urlencoded::Serializer::new(String::new()).append_pair("text", &text).finish();
    let headers = [("content-type", "application/x-www-form-urlencoded"), ("accept", "text/html")];
    let page = served.ask(Method::POST, "/check", &headers, &body).text();
    assert_has(
        &page,
        &["confirmed", "disagrees", "unknown", "2 of 3 citations cannot be confirmed"],
    );
    let headers = [("content-type", "text/plain"), ("accept", "application/json")];
    let answer = served.ask(Method::POST, "/check", &headers, &text);
    let checked: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let ok: Vec<&serde_json::Value> =
        checked["citations"].as_array().unwrap().iter().map(|it| &it["ok"]).collect();
    assert_eq!(ok, [true, false, false]);
    let mut note = NewAnnotation::new("one file was truncated").unwrap();
    note.questionable = true;
    let selection =
        Selection::Identifier { identifier: SECOND.parse().unwrap(), dataset: None, at: None };
    served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()))
        .annotate(&selection, &note)
        .unwrap();
    let page = served.page(&format!("/check?text=DI:{SECOND}"));
    assert!(page.contains("one file was truncated") && page.contains("questionable"), "{page}");
    assert!(!page.contains(">confirmed<") && !page.contains("nothing to object to"), "{page}");
    // A dataset that is cited without an identifier is listed, in any reference format.
    let bibtex = format!(
        "@misc{{a, doi = {{10.9999/US/FOOL2.v2}}}}\n\n@misc{{b, doi = {{10.1234/other}}}}\n\n\
         @misc{{c, doi = {{10.9999/US/FOOL2.v2}}, note = {{DI:{FIRST}, as held at 2001-01-02}}}}\n"
    );
    let answer = served.ask(Method::POST, "/check", &headers, &bibtex);
    let checked: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let problems: Vec<_> =
        checked["citations"].as_array().unwrap().iter().map(|it| &it["problem"]).collect();
    assert_eq!(problems, [&serde_json::json!("no-identifier"), &serde_json::Value::Null]);
    assert_eq!(checked["ok"], false);
    let page = [("content-type", "text/plain"), ("accept", "text/html")];
    let page = served.ask(Method::POST, "/check", &page, &bibtex).text();
    assert!(page.contains("without the identifier of the granules that were used"), "{page}");
    let none = served.ask(Method::POST, "/check", &headers, "nothing");
    assert_eq!((none.status, none.problem().1.as_str()), (400, "usage"));
}

#[test]
fn errors_are_pages_for_browsers_and_json_for_others() {
    let served = Served::seed();
    let page = served.get_as("/datasets/NO/", "text/html,*/*;q=0.8");
    assert_eq!((page.status, page.header("content-type")), (404, "text/html; charset=utf-8"));
    assert!(page.text().contains("The registry has no dataset NO."));
    let json = served.get("/datasets/NO/");
    assert_eq!((json.status, json.problem().1.as_str()), (404, "dataset-unknown"));
    let unknown = served.get("/DI:00000000000000000000000000000000");
    assert_eq!((unknown.status, unknown.problem().1.as_str()), (404, "identifier-unknown"));
    assert!(unknown.text().contains("in any dataset here"), "{}", unknown.text());
    assert!(served.get("/metrics").text().contains("accession_responses_total{status=\"4xx\"} 3"));
}

/// A dataset with this many changes, evenly spread over some days until yesterday.
fn long(served: &Served, dataset: &str, changes: i64, days: i64) {
    const DAY: i64 = 86_400_000_000;
    let record = accession::dataset::DatasetMetadata::named(name(dataset));
    served.registry.recorded_by("mallory".parse().unwrap()).add_dataset(&record).unwrap();
    let mut import = accession::Import::new();
    for n in 0..changes {
        let micros = now().as_micros() - DAY - (changes - 1 - n) * days * DAY / changes;
        let at = accession::Timestamp::from_micros(micros).unwrap();
        let mut add = |kind, granule: String| {
            import.add(event(at, kind, &granule)).unwrap();
        };
        for of_change in 0..1 + n * 7 % 5 {
            add(accession::EventKind::Ingested, format!("{dataset}.{n:06}.{of_change}.nc"));
        }
        if n % 9 == 8 {
            add(accession::EventKind::Deleted, format!("{dataset}.{:06}.0.nc", n - 1));
        }
    }
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .import(&name(dataset), &import)
        .unwrap();
}

#[test]
fn a_page_is_small_and_right_however_many_changes_there_are() {
    let served = Served::new();
    for (dataset, changes, days) in
        [("ONE", 1, 1), ("THREE", 3, 3), ("SOME", 342, 415), ("MANY", 20_000, 1_700)]
    {
        long(&served, dataset, changes, days);
        let description =
            "A description of ordinary length: what was measured, where, and how. ".repeat(4);
        served
            .registry
            .recorded_by("mallory".parse().unwrap())
            .edit_dataset(&name(dataset), |dataset| {
                dataset.title = Some("Radiances of the Foo Instrument".to_owned());
                dataset.description = Some(description.trim_end().to_owned());
                dataset.publisher = Some("US Archive".to_owned());
            })
            .unwrap();
        let page = served.page(&format!("/datasets/{dataset}/"));
        assert!(page.len() <= 32_000, "{dataset}: {} bytes", page.len());
        assert!(page.contains("<svg class=\"plot\""), "{dataset}: {page}");
    }
    let style = served.get("/style.css").body.len();
    assert!(style <= 16_000, "{style} bytes");
}

#[test]
fn the_list_of_datasets_says_how_long_ago_each_changed() {
    let served = Served::new();
    served.change("A.OLD", "2025-06-01T00:00:00Z", &["a", "b", "c"], &[]);
    served.change("B.NEW", "2025-12-29T12:00:00Z", &["a"], &[]);
    served.change("C.BIG", "2025-12-31T23:00:00Z", &["a", "b", "c", "d"], &[]);
    let page = served.page("/");
    assert_has(
        &page,
        &[
            "3 datasets, 8 granules",
            ">yesterday</time>",
            ">3 days ago</time>",
            ">7 months ago</time>",
        ],
    );
    for n in 0..60 {
        served.change(&format!("N{n:02}"), "2024-01-01T00:00:00Z", &["x"], &[]);
    }
    let first = served.page("/");
    assert!(first.contains("63 datasets, 68 granules"), "{first}");
    assert!(first.contains("N00") && !first.contains("N59"), "{first}");
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = served.page(&next.replace("&amp;", "&"));
    assert!(second.contains("/datasets/N59/") && !second.contains("/datasets/N00/"), "{second}");
}

#[test]
fn a_search_leads_to_what_it_names() {
    let served = Served::seed();
    let granule = &harness::seed::ids("us-2001-01-02.txt")[0];
    let leads = |query: &str| {
        let encoded: String = form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let answer = served.get_as(&format!("/?q={encoded}"), "text/html");
        (answer.status, answer.header("location").to_owned())
    };
    let to = |path: &str| (303, path.to_owned());
    assert_eq!(leads(&format!("DI:{SECOND}")), to(&format!("/DI:{SECOND}")));
    assert_eq!(leads("DI:76312219"), to(&format!("/DI:{SECOND}")));
    assert_eq!(leads("US.FOOL2.002"), to("/datasets/US.FOOL2.002/"));
    assert_eq!(leads("doi:10.9999/us/fool2.V2"), to("/datasets/US.FOOL2.002/"));
    assert_eq!(leads(granule), to("/datasets/US.FOOL2.002@2001-01-02T00:00:00Z"));
    assert_eq!(leads("FOO Level"), (200, String::new()));
    let none = served.page("/?q=never-held");
    assert!(none.contains("no granule that was held has this name"), "{none}");
}

#[test]
fn any_two_changes_can_be_compared() {
    let served = Served::seed();
    let page = served.page("/datasets/US.FOOL2.002/history");
    assert_has(
        &page,
        &[
            "<h1>5 changes of ",
            "<b>Jan 2001</b> <span class=\"small soft\">2 changes <span class=\"plus\">+",
            "<a href=\"/datasets/US.FOOL2.002/history?date=2001-02-03\">Feb</a>",
            "name=\"left\" value=\"DI:c552aca58d871920702c6948c7c0bbe1\" checked",
            "<th scope=\"col\">Identifier of the set</th>",
            &format!("<a href=\"/DI:{SECOND}\">"),
        ],
    );
    // The totals are those of the whole month.
    let cut = served.page("/datasets/US.FOOL2.002/history?limit=1&date=2001-01-02");
    assert!(cut.contains("2001-01-02T00:00:00Z") && !cut.contains("2001-01-03T00:00:00Z"), "{cut}");
    let cut = served.page("/datasets/US.FOOL2.002/history?limit=2&date=2001-02-28");
    assert!(cut.contains("<b>Jan 2001</b> <span class=\"small soft\">2 changes"), "{cut}");
    assert_eq!(
        served.get(&format!("/compare?left=DI:{FIRST}&right=DI:{SECOND}")).header("location"),
        format!("/compare/DI:{FIRST}...DI:{SECOND}")
    );
    let ids: Vec<String> = (1..=12).map(|month| format!("F.2026{month:02}.nc")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("P", "2001-01-01T00:00:00Z", &["G.1"], &[]);
    served.change("P", "2001-01-02T00:00:00Z", &ids, &["G.1"]);
    let page = served.page("/compare/P@2001-01-01...P");
    assert_has(
        &page,
        &[
            "1 granule deleted, 12 added",
            "<li class=\"plus\">+ <span>F.202612.nc</span></li>",
            "<li class=\"minus\">− <span>G.1</span></li>",
        ],
    );
    // A long comparison has several pages, and names are broken after a slash.
    let name =
        |n: usize| format!("CMIP/AWI/AWI-CM/historical/r1i1p1f1/Amon/va/gn/v20181218/{n:060}.nc");
    let ids: Vec<String> = (0..300).map(name).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("P", "2001-01-03T00:00:00Z", &ids, &[]);
    let mut path = "/compare/P@2001-01-02...P".to_owned();
    let (mut listed, mut headlines) = (0, Vec::new());
    loop {
        let page = served.page(&path);
        assert!(page.len() <= 32_000, "{}", page.len());
        listed += page.matches("+ <span>CMIP/</span><span>AWI/</span>").count();
        headlines.push(page.contains("300 granules added"));
        let Some((before, _)) = page.split_once("\" rel=\"next\">The next ones") else { break };
        path = before.rsplit('"').next().unwrap().replace("&amp;", "&");
        path = path.trim_start_matches("https://registry.example").to_owned();
    }
    assert_eq!((listed, headlines), (300, vec![true, false, false, false]));
}

#[test]
fn a_feed_has_the_latest_changes_and_the_same_ids_after_a_rename() {
    let served = Served::seed();
    let answer = served.get("/datasets/US.FOOL2.002/feed.atom");
    assert_eq!(answer.header("content-type"), "application/atom+xml; charset=utf-8");
    let feed = answer.text();
    let ids = |feed: &str| -> Vec<String> {
        let found = feed.split("<id>").skip(1);
        found.map(|rest| rest.split('<').next().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&feed).len(), 6, "{feed}");
    assert_has(
        &feed,
        &[
            "<title>FOO Level 2: +2</title>",
            "<published>2001-03-03T00:00:00Z</published>",
            "<updated>2026-01-01T00:00:00Z</updated>",
            "<author><name>US Archive</name></author>",
            "https://registry.example/datasets/US.FOOL2.002@2001-03-03T00:00:00Z",
        ],
    );
    assert!(!feed.contains("mallory"), "{feed}");
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .rename_dataset(&name("US.FOOL2.002"), &name("NEW"))
        .unwrap();
    assert_eq!(ids(&served.get("/datasets/NEW/feed.atom").text()), ids(&feed));
    assert_eq!(served.get("/datasets/US.FOOL2.002/feed.atom").status, 301);
    // The feed of all datasets has only the latest change that was recorded on a day, however many days of
    // history were recorded.
    served.change("OTHER", "2001-03-02T00:00:00Z", &["x"], &[]);
    served.change("OTHER", "2001-03-02T12:00:00Z", &["y"], &[]);
    let all = served.get("/feed.atom").text();
    let places = ["2001-03-03T00:00:00Z", "2001-03-02T12:00:00Z"]
        .map(|at| all.find(&format!("<published>{at}")).unwrap());
    assert!(places.is_sorted() && all.matches("<entry>").count() == 2, "{all}");
    assert_eq!(ids(&all)[1], ids(&feed)[1]);
    let own = served.get("/datasets/OTHER/feed.atom").text();
    assert_eq!(own.matches("<published>2001-03-02").count(), 2, "{own}");
    served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()))
        .recorded_by("mallory".parse().unwrap())
        .change(&name("OTHER"), &change(["z"], []).at("2026-01-02T00:00:00Z".parse().unwrap()))
        .unwrap();
    assert_eq!(served.get("/feed.atom").text().matches("<entry>").count(), 3);
}

#[test]
fn the_files_of_the_pages_are_served_and_nothing_else_is_loaded() {
    let served = Served::seed();
    for (path, media_type) in [
        ("/style.css", "text/css; charset=utf-8"),
        ("/script.js", "text/javascript; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/identifier", "text/html; charset=utf-8"),
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, media_type), "{path}");
    }
    let answer = served.get_as("/datasets/US.FOOL2.002/", "text/html");
    assert_eq!(
        answer.header("content-security-policy"),
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

#[test]
fn the_state_of_each_dataset_is_reported_for_monitoring() {
    let served = Served::seed();
    served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()).confirmed())
        .add_dataset(&DatasetMetadata::named("EMPTY".parse().unwrap()))
        .unwrap();
    served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()).confirmed())
        .withdraw_dataset(&"EMPTY".parse().unwrap(), "wrong")
        .unwrap();
    let metrics = || served.get("/metrics").text();
    let text = metrics();
    assert_has(
        &text,
        &[
            "accession_registry_readable 1\n",
            "accession_dataset_granules{dataset=\"US.FOOL2.002\"} 14\n",
            "accession_dataset_last_change_timestamp_seconds{dataset=\"US.FOOL2.002\"} ",
        ],
    );
    let confirmed = "accession_dataset_last_confirmed_timestamp_seconds{dataset=\"US.FOOL2.002\"} ";
    assert!(!text.contains(confirmed) && !text.contains("EMPTY"), "{text}");
    let name: DatasetName = "US.FOOL2.002".parse().unwrap();
    let snapshot = served.registry.snapshot().unwrap();
    let selected =
        snapshot.select(&Selection::Dataset { name: name.clone(), at: None }).unwrap().set;
    let mut listing = ListingBuilder::new();
    for granule in snapshot.registry().granules(&selected) {
        let granule_id = granule.unwrap().granule_id;
        listing
            .add(ListingEntry { granule_id, producer_granule: None, content: None, location: None })
            .unwrap();
    }
    let listing = listing.finish();
    let options = ChangeOptions::new().limits(Limits::NONE);
    let synced = served
        .registry
        .with_clock(Clock::fixed("2026-01-02T00:00:00Z".parse().unwrap()).confirmed())
        .sync(&name, &listing, &options)
        .unwrap();
    assert_eq!(synced.instance(), None);
    assert!(metrics().contains(&format!("{confirmed}1767312000.000000\n")), "{}", metrics());
    let pages = || served.page("/datasets/US.FOOL2.002/") + &served.page("/");
    assert!(
        pages().contains("Last confirmed") && pages().contains("confirmed </i>"),
        "{}",
        pages()
    );
    // After another change, the set held is not the confirmed one.
    served
        .registry
        .with_clock(Clock::fixed("2026-01-03T00:00:00Z".parse().unwrap()).confirmed())
        .change(&name, &change(["NEW"], []))
        .unwrap();
    let pages = pages();
    assert!(!pages.contains("Last confirmed") && !pages.contains("confirmed </i>"), "{pages}");
}

#[test]
fn the_plot_is_that_of_the_dataset_that_has_the_name_now() {
    let served = Served::new();
    for (day, granule) in ["A", "B", "C"].into_iter().enumerate() {
        served.change("US", &format!("2001-01-0{}T00:00:00Z", day + 1), &[granule], &[]);
    }
    assert!(served.page("/datasets/US/").contains("Last 3 since 3 Jan 2001"));
    // The name of the dataset goes to another dataset.
    let later = |micros: i64| Timestamp::from_micros(now().as_micros() + micros).unwrap();
    let registry = &served.registry;
    registry
        .with_clock(Clock::fixed(later(1)))
        .recorded_by("mallory".parse().unwrap())
        .rename_dataset(&name("US"), &name("FORMER"))
        .unwrap();
    registry
        .with_clock(Clock::fixed(later(2)))
        .recorded_by("mallory".parse().unwrap())
        .withdraw_dataset(&name("FORMER"), "moved")
        .unwrap();
    for (day, granule) in [(1, "X"), (2, "Y")] {
        let at = format!("2002-02-0{day}T00:00:00Z").parse().unwrap();
        let change = change([granule], []);
        registry
            .with_clock(Clock::fixed(later(2 + day)))
            .change(&name("US"), &change.at(at))
            .unwrap();
    }
    let page = served.page("/datasets/US/");
    assert!(page.contains("Last 2 since 2 Feb 2002") && !page.contains("since 3 Jan"), "{page}");
}

#[test]
fn a_redirect_keeps_the_format() {
    let served = Served::seed();
    for (path, target) in [
        (
            "/datasets/US.FOOL2.002/?at=2001-01-05&format=bibtex",
            "/datasets/US.FOOL2.002@2001-01-05?format=bibtex",
        ),
        ("/?q=US.FOOL2.002&format=json", "/datasets/US.FOOL2.002/?format=json"),
        ("/compare?left=A&right=B&format=json", "/compare/A...B?format=json"),
        ("/doi/10.9999/US/FOOL2.v2?format=ris", "/datasets/US.FOOL2.002/?format=ris"),
    ] {
        let answer = served.get(path);
        assert_eq!((answer.status, answer.header("location")), (303, target), "{path}");
    }
}

#[test]
fn a_file_for_mirrors_is_saved_under_its_own_name() {
    let served = Served::seed();
    for (file, name) in [
        ("log/000000.jsonl", "US.FOOL2.002_log_000000.jsonl"),
        ("subsets.jsonl", "US.FOOL2.002_subsets.jsonl"),
    ] {
        let path = format!("/datasets/US.FOOL2.002/{file}");
        let named = served.get(&path).header("content-disposition").to_owned();
        assert_eq!(named, format!("inline; filename=\"{name}\""));
    }
}
