//! Lists are complete, in pages, and available in every format.

use std::collections::BTreeSet;

use accession::{Clock, EventKind, IfMissing, Import};
use accession_server::ServerLimits;
use proptest::prelude::*;
use serde_json::Value;

use crate::site::{Answer, FIRST, SECOND, Served};
use harness::events::event;
use harness::values::{name, second};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The path of the next page, from the `Link` header.
fn next(answer: &Answer) -> Option<String> {
    let links = answer.header("link").to_owned();
    let (before, _) = links.split_once(">; rel=\"next\"")?;
    let address = before.rsplit_once('<')?.1;
    Some(address.strip_prefix("https://registry.example")?.to_owned())
}

/// The page at a path, and all pages after it.
fn pages(served: &Served, path: String) -> Vec<Answer> {
    let mut pages = vec![served.get(&path)];
    while let Some(path) = next(&pages[pages.len() - 1]) {
        pages.push(served.get(&path));
    }
    pages
}

/// The rows of the page at a path and of all pages after it.
fn rows(served: &Served, path: String) -> Vec<Value> {
    pages(served, path).iter().flat_map(|page| lines(&page.text())).collect()
}

#[test]
fn the_granules_of_an_identifier_are_those_that_were_held() {
    let served = Served::seed();
    let all = served.get(&format!("/DI:{SECOND}/granules"));
    assert_eq!(all.header("content-type"), "text/plain; charset=utf-8");
    let mut expected = harness::seed::ids("us-2001-01-02.txt");
    expected.extend(harness::seed::ids("us-2001-01-03.txt"));
    expected.sort();
    assert_eq!(all.text().lines().collect::<Vec<_>>(), expected);
    let rows = lines(&served.get(&format!("/DI:{SECOND}/granules?format=jsonl")).text());
    let granules: Vec<&str> = rows.iter().map(|row| row["granule"].as_str().unwrap()).collect();
    assert_eq!(granules, expected);
    assert!(
        rows.iter().all(|row| row.as_object().unwrap().len() == 1),
        "what can change is left out"
    );
    let selected = served.get(&format!("/DI:{SECOND}/granules?select=FOOL2.v2.0*"));
    assert_eq!(selected.text().lines().count(), 9);
    // A list that is cached for ever has the version of its format in its ETag.
    assert!(selected.header("etag").contains("-lines.1-"), "{}", selected.header("etag"));
}

#[test]
fn an_identifier_in_any_spelling_leads_to_its_page() {
    let served = Served::seed();
    let upper = FIRST.to_uppercase();
    for path in [
        format!("/DI:{upper}"),
        format!("/di:{FIRST}"),
        format!("/DI:{FIRST}/"),
        format!("/{upper}"),
    ] {
        let answer = served.get(&path);
        assert_eq!(
            (answer.status, answer.header("location")),
            (308, &*format!("/DI:{FIRST}")),
            "{path}"
        );
    }
    let answer = served.get(&format!("/DI:{upper}/granules?limit=2"));
    assert_eq!(answer.header("location"), format!("/DI:{FIRST}/granules?limit=2"));
    let search = served.get(&format!("/?q=DI:%20{FIRST}"));
    assert_eq!((search.status, search.header("location")), (303, &*format!("/DI:{FIRST}")));
    for path in ["/DI:763", "/DI:", "/DI:zz", "/nothing", "/DI:00000000000000000000000000000000"] {
        assert_eq!(served.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_pages_of_a_history_are_the_history() {
    let served = Served::seed();
    let all = served.json("/datasets/US.FOOL2.002/history");
    let all = all["instances"].as_array().unwrap();
    assert_eq!(all.len(), 5);
    for limit in 1..=6 {
        let path = format!("/datasets/US.FOOL2.002/history?limit={limit}&format=jsonl");
        assert_eq!(&rows(&served, path.clone()), all, "{limit}");
        // A full page is not followed by an empty one.
        assert_eq!(pages(&served, path).len(), 5_usize.div_ceil(limit), "{limit}");
    }
}

#[test]
fn a_history_is_listed_from_a_day_on() {
    let served = Served::seed();
    let days = |date: &str| -> Vec<String> {
        let path = format!("/datasets/US.FOOL2.002/history?date={date}&limit=2&format=jsonl");
        let rows = rows(&served, path);
        rows.iter().map(|row| row["timestamp"].as_str().unwrap()[..10].to_owned()).collect()
    };
    let of_february = ["2001-02-03", "2001-01-03", "2001-01-02"];
    assert_eq!(days("2001-02-03"), of_february, "the day itself");
    assert_eq!(days("2001-02-28"), of_february, "or the last change before it");
    assert_eq!(days("2000-12-31"), [""; 0]);
    let all = served.json("/datasets/US.FOOL2.002/history?date=2001-02-03");
    assert_eq!((all["instances"].as_array().unwrap().len(), &all["next"]), (3, &Value::Null));
}

#[test]
fn a_set_in_many_datasets_is_listed_page_by_page() {
    let served = Served::new();
    for n in 0..7 {
        served.change(&format!("D{n}"), "2001-01-01T00:00:00Z", &["A"], &[]);
    }
    let identifier = served.latest("D0");
    let rows = rows(&served, format!("/DI:{identifier}?limit=3&format=jsonl"));
    let datasets: Vec<&str> = rows.iter().map(|row| row["dataset"].as_str().unwrap()).collect();
    assert_eq!(datasets, ["D0", "D1", "D2", "D3", "D4", "D5", "D6"]);
}

#[test]
fn datasets_are_listed_and_searched_page_by_page() {
    let served = Served::new();
    for n in 10..30 {
        served.change(&format!("D{n}"), "2001-01-01T00:00:00Z", &["A"], &[]);
    }
    for (start, expected) in [("/?limit=7&format=jsonl", 20), ("/?q=d1&limit=3&format=jsonl", 10)] {
        let rows = rows(&served, start.to_owned());
        let names: BTreeSet<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
        assert_eq!((names.len(), rows.len()), (expected, expected), "{start}");
    }
    // A blank before a granule id is a part of it, or was pasted with it.
    served.change("D1", "2001-01-01T00:00:00Z", &[" lead"], &[]);
    for (query, status) in [("%20lead", 303), ("lead", 200), ("%20A", 303)] {
        assert_eq!(served.get(&format!("/?q={query}")).status, status, "{query}");
    }
}

#[test]
fn a_comparison_lists_each_difference_once() {
    let served = Served::seed();
    let path = "/compare/US.FOOL2.002@2001-02-05...US.FOOL2.002";
    let all = served.json(path);
    assert_eq!(all["identical"], false);
    assert_eq!(
        (&all["matched"], &all["only_left_count"], &all["only_right_count"]),
        (&12.into(), &1.into(), &2.into())
    );
    let rows = rows(&served, format!("{path}?limit=1&format=jsonl"));
    let of = |side: &str| -> Vec<Value> {
        let rows = rows.iter().filter(|row| row["side"] == side);
        rows.map(|row| row["granule"].clone()).collect()
    };
    assert_eq!(
        (Value::from(of("left")), Value::from(of("right"))),
        (all["only_left"].clone(), all["only_right"].clone())
    );
    let same = served.json(&format!("/compare/DI:{FIRST}...DI:{FIRST}"));
    assert_eq!((&same["identical"], &same["matched"]), (&true.into(), &11.into()));
    assert_eq!(same["digest_equal"], true);
    assert_eq!(served.get("/compare/US.FOOL2.002").status, 400);
    assert_eq!(served.get("/compare/NO...US.FOOL2.002").status, 404);
    let refused = served.get("/compare/FO%20O...US.FOOL2.002");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("is not a set: "), "{}", refused.text());
}

#[test]
fn work_beyond_its_budget_is_refused_with_a_time_to_come_back() {
    let limits = ServerLimits { budget: std::time::Duration::ZERO, ..ServerLimits::default() };
    let served = Served::with(&[], limits);
    served.add_seed();
    for path in [
        "/compare/US.FOOL2.002@2001-02-05...US.FOOL2.002",
        &format!("/check?format=json&text=DI:{FIRST}"),
        // A list for a pattern that matches nothing would never wait for its client.
        &format!("/DI:{FIRST}/granules?select=nothing*"),
        &format!("/DI:{FIRST}/granules?select=nothing*&limit=10"),
    ] {
        let answer = served.get_as(path, "application/json, */*;q=0.1");
        assert_eq!((answer.status, answer.problem().1.as_str()), (503, "too-costly"), "{path}");
        assert_eq!(answer.header("retry-after"), "60");
    }
    for path in [format!("/DI:{FIRST}"), format!("/DI:{FIRST}/granules")] {
        assert_eq!(served.get(&path).status, 200, "other requests have their own time");
    }
}

#[test]
fn searches_that_take_all_their_permits_make_nothing_else_wait() {
    let budget = std::time::Duration::from_millis(100);
    let limits = ServerLimits { searches: 0, budget, ..ServerLimits::default() };
    let served = Served::with(&[], limits);
    served.add_seed();
    for (path, status) in [
        (format!("/DI:{FIRST}/granules?select=*"), 503),
        (format!("/DI:{FIRST}/granules?select=*&limit=10"), 503),
        (format!("/DI:{FIRST}/granules"), 200),
        (format!("/DI:{FIRST}/list"), 200),
        (format!("/compare/DI:{FIRST}...DI:{SECOND}"), 200),
    ] {
        assert_eq!(served.get(&path).status, status, "{path}");
    }
}

#[test]
fn a_list_that_no_longer_can_be_read_breaks_off() {
    let served = Served::new();
    let ids: Vec<String> = (0..10_000).map(|n| format!("granule-{n:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
    let identifier = served.latest("D");
    let path = format!("/DI:{identifier}/granules");
    let (all, broke_off) = served.stream(&path, || ());
    assert!(!broke_off && all.split(|&byte| byte == b'\n').count() == 10_001);

    let file = served.directory.path().join("accession.db");
    let (some, broke_off) = served.stream(&path, || {
        let _ = std::fs::remove_file(&file);
    });
    assert!(broke_off, "a part of a list must not look like a whole one");
    assert!(some.len() < all.len() && all.starts_with(&some));
}

#[test]
fn a_list_that_does_not_prove_is_cut_and_one_that_does_has_its_etag_beforehand() {
    let served = Served::new();
    let ids: Vec<String> = (0..10_000).map(|n| format!("granule-{n:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
    let identifier = served.latest("D");
    let path = format!("/DI:{identifier}/granules");
    let rename = |from: &str, to: &str| {
        let file = served.directory.path().join("accession.db");
        let connection = rusqlite::Connection::open(file).unwrap();
        let rename = "UPDATE granule SET granule_id = ?2 WHERE granule_id = ?1";
        assert_eq!(connection.execute(rename, [from, to]).unwrap(), 1);
    };
    rename("granule-09999", "granule-09999~");
    assert!(served.stream(&path, || ()).1, "a list that does not prove is cut");
    // A list that ends in its first part is rejected, since nothing was sent yet.
    assert_eq!(served.get(&format!("{path}?select=*99")).status, 500);
    rename("granule-09999~", "granule-09999");
    let whole = served.get(&path);
    let expected: String = ids.iter().map(|id| format!("{id}\n")).collect();
    assert!(whole.text() == expected);
    assert_eq!(whole.header("etag"), format!("\"{identifier}-lines.1\""));
    assert_eq!(served.get(&format!("{path}?select=*99")).text().lines().count(), 100);
    let page = served.get(&format!("{path}?after=granule-09997"));
    assert_eq!((page.text().as_str(), next(&page)), ("granule-09998\ngranule-09999\n", None));
}

/// Ids can be long, and a page that no client reads stays in memory.
#[test]
fn a_page_of_ids_ends_by_bytes_and_names_the_next_one() {
    let served = Served::new();
    let ids: Vec<String> = (0..600).map(|n| format!("{n:04}{}", "x".repeat(1_000))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
    let identifier = served.latest("D");
    for query in ["limit=1000", "after=0", "limit=300"] {
        let pages = pages(&served, format!("/DI:{identifier}/granules?{query}"));
        assert!(pages.iter().all(|page| page.body.len() < 270_000), "{query}");
        let text: String = pages.iter().map(Answer::text).collect();
        assert!(text.lines().eq(ids.iter().copied()), "{query}: {} pages", pages.len());
    }
}

#[test]
fn a_digest_selects_one_of_the_contents_of_an_identifier() {
    let served = Served::seed();
    let set = format!("/DI:{SECOND}");
    let digest = served.json(&set)["intervals"][0]["instance"]["digest"].clone();
    let digest = digest.as_str().unwrap();
    let other = format!("sha256:{}", "0".repeat(64));
    for list in ["granules", "list", "proof"] {
        let own = served.get(&format!("{set}/{list}?digest={digest}"));
        // No statement is signed yet.
        assert_eq!(own.status, if list == "proof" { 404 } else { 200 }, "{list}");
        let kinds = [("proof", "not-stated")].into_iter().find(|it| it.0 == list);
        assert!(kinds.is_none_or(|(_, kind)| own.problem().1 == kind), "{list}");
        let unknown = served.get(&format!("{set}/{list}?digest={other}"));
        assert_eq!(unknown.problem().1, "identifier-unknown", "{list}");
    }
    assert_eq!(served.get(&format!("{set}/checksums?digest={other}")).status, 404);
}

#[test]
fn a_page_ends_by_bytes_too() {
    let served = Served::new();
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    for at in 0..40 {
        let granule_id = format!("G{at:02}");
        let at = second(at);
        import.add(event(at, EventKind::Ingested, &granule_id)).unwrap();
        // Only the note of a log can be this long.
        import.note(at, Some(&format!("{at}: {}", "a very long note ".repeat(3_800)))).unwrap();
    }
    served
        .registry
        .with_clock(Clock::fixed(second(40)))
        .recorded_by("mallory".parse().unwrap())
        .import(&name("D"), &import)
        .unwrap();
    let pages = pages(&served, "/datasets/D/history?format=jsonl".to_owned());
    let lengths: Vec<usize> = pages.iter().map(|page| page.body.len()).collect();
    assert!(lengths.iter().all(|bytes| *bytes < 400_000), "{lengths:?}");
    let rows: Vec<Value> = pages.iter().flat_map(|page| lines(&page.text())).collect();
    assert_eq!((rows.len(), pages.len()), (40, 8));
    assert!(rows.iter().all(|row| row["note"].as_str().unwrap().len() > 60_000), "whole notes");
    for path in ["/datasets/D/", "/datasets/D/history", "/datasets/D@2001-02-01"] {
        let page = served.page(path);
        assert!(page.len() < 200_000, "{path}: {} bytes", page.len());
        assert!(page.contains("a very long note") && page.contains(" …"), "{path}");
    }
    assert!(served.get("/?format=json").body.len() < 100_000);
}

#[test]
fn the_periods_of_a_granule_are_listed_page_by_page() {
    let served = Served::new();
    for dataset in ["A", "B", "C"] {
        for at in 0..5 {
            let at_second = |second: u32| format!("2001-01-01T00:00:0{second}Z");
            served.change(dataset, &at_second(2 * at), &["G"], &[]);
            if at < 4 {
                served.change(dataset, &at_second(2 * at + 1), &[], &["G"]);
            }
        }
    }
    let all = served.json("/find?granule=G");
    let all = all["periods"].as_array().unwrap();
    assert_eq!(all.len(), 15);
    for limit in [1, 2, 4, 5, 14, 15] {
        let path = format!("/find?granule=G&format=jsonl&limit={limit}");
        assert_eq!(&rows(&served, path.clone()), all, "{limit}");
        assert_eq!(pages(&served, path).len(), 15_usize.div_ceil(limit), "{limit}");
    }
    assert_eq!(served.get("/find?granule=G&after=B").status, 400);
}

#[test]
fn a_list_whose_rows_were_changed_is_refused_and_nothing_else_is_made_of_them() {
    let served = Served::new();
    // A list that is read at once, and one of several pages.
    for (dataset, granules) in [("SHORT", 3), ("LONG", 10_000)] {
        let ids: Vec<String> = (0..granules).map(|n| format!("granule-{n:05}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        served.change(dataset, "2001-01-01T00:00:00Z", &ids, &[]);
        let latest = served.json(&format!("/datasets/{dataset}/"))["latest"].clone();
        let set = format!("/DI:{}", latest["identifier"].as_str().unwrap());
        let list = format!("{set}/granules");
        let comparison = format!("/compare/{dataset}...{dataset}?format=json");
        let file = served.directory.path().join("accession.db");
        let rename = |from: &str, to: &str| {
            let rename =
                "UPDATE granule SET granule_id = ?2 WHERE granule_id = ?1 AND dataset_id = (
                SELECT id FROM dataset WHERE name = ?3)";
            let connection = rusqlite::Connection::open(&file).unwrap();
            assert_eq!(connection.execute(rename, [from, to, dataset]).unwrap(), 1);
        };
        let broke_off = |list: &str| served.stream(list, || ()).1;
        let refused = |path: &str| {
            let answer = served.get_as(path, "application/json, application/jsonl, text/plain");
            assert_eq!((answer.status, answer.problem().1.as_str()), (500, "damaged"), "{path}");
        };
        rename("granule-00001", "granule-00001~");
        for query in ["", "?format=jsonl"] {
            let list = format!("{list}{query}");
            match dataset {
                "SHORT" => refused(&list),
                _ => assert!(broke_off(&list), "{list}"),
            }
        }
        // Pages of a list cannot be verified.
        let pages = ["?limit=2", "?limit=20000", "?after=granule-00000"];
        assert!(pages.iter().all(|page| !broke_off(&format!("{list}{page}"))));
        refused(&comparison);
        rename("granule-00001~", "granule-00001");
        assert_eq!(served.get(&format!("{list}?format=jsonl")).status, 200);
        assert_eq!(served.get(&comparison).status, 200);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn pages_of_any_size_are_the_whole_list(
        granules in prop::collection::btree_set("[a-c][ %&=+/#?ä-]{0,3}", 1..40),
        limit in 1_usize..12,
    ) {
        let served = Served::new();
        let ids: Vec<&str> = granules.iter().map(String::as_str).collect();
        served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
        let identifier = served.latest("D");
        let path = format!("/DI:{identifier}/granules?limit={limit}");
        let pages: Vec<String> = pages(&served, path).iter().map(Answer::text).collect();
        prop_assert_eq!(pages.iter().flat_map(|page| page.lines()).collect::<Vec<_>>(), ids);
    }
}

/// Each subset costs a look-up, so no more subsets are read than requested.
#[test]
fn no_more_subsets_are_listed_than_the_limit_and_the_next_page_has_the_others() {
    let served = Served::new();
    served.change("D", "2001-01-01T00:00:00Z", &["A.1", "A.2", "B"], &[]);
    for pattern in ["A*", "A.*", "A.?", "?.?"] {
        let wanted = accession::SubsetMembers::Patterns(vec![pattern.parse().unwrap()]);
        served.registry.cite_subset(&name("D"), None, &wanted).unwrap();
    }
    let subsets = served.registry.snapshot().unwrap().subsets(&name("D")).unwrap();
    let path = format!("/DI:{}", subsets[0].identifier);
    for (limit, expected) in [(1, 1), (3, 3), (100, 4)] {
        let listed = served.json(&format!("{path}?limit={limit}"));
        assert_eq!(listed["intervals"].as_array().unwrap().len(), expected, "{limit}");
        assert_eq!(
            listed["next"].is_null(),
            limit == 100,
            "a list is complete without a next page"
        );
    }
    // The subsets are in two datasets. A third dataset held the set itself.
    served.change("A", "2001-01-01T00:00:00Z", &["A.1", "A.2"], &[]);
    served.change("E", "2001-01-01T00:00:00Z", &["A.1", "A.2", "C"], &[]);
    let wanted = accession::SubsetMembers::Patterns(vec!["A*".parse().unwrap()]);
    served.registry.cite_subset(&name("E"), None, &wanted).unwrap();
    let all = rows(&served, format!("{path}?format=jsonl"));
    assert_eq!(all.len(), 6);
    for limit in 1..7 {
        assert_eq!(rows(&served, format!("{path}?limit={limit}&format=jsonl")), all, "{limit}");
    }
}
