//! Lists: complete, page by page, and in every format.

use std::collections::BTreeSet;

use accession::server::Limits;
use proptest::prelude::*;
use serde_json::Value;

use crate::site::{FIRST, SECOND, Served};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The path of the next page, from the header.
fn next(answer: &crate::site::Answer) -> Option<String> {
    let links = answer.header("link").to_owned();
    let (before, _) = links.split_once(">; rel=\"next\"")?;
    let address = before.rsplit_once('<')?.1;
    Some(address.strip_prefix("https://registry.example")?.to_owned())
}

#[test]
fn the_granules_of_an_identifier_are_those_that_were_held() {
    let served = Served::seed();
    let all = served.get(&format!("/DI:{SECOND}/granules"));
    assert_eq!(all.header("content-type"), "text/plain; charset=utf-8");
    let mut expected = crate::seed_lists::ids("us-2001-01-02.txt");
    expected.extend(crate::seed_lists::ids("us-2001-01-03.txt"));
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
}

#[test]
fn an_identifier_in_any_spelling_leads_to_its_page() {
    let served = Served::seed();
    let upper = FIRST.to_uppercase();
    for path in [format!("/DI:{upper}"), format!("/di:{FIRST}"), format!("/DI:{FIRST}/")] {
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
        let mut path = Some(format!("/datasets/US.FOOL2.002/history?limit={limit}&format=jsonl"));
        let (mut rows, mut pages) = (Vec::new(), 0);
        while let Some(page) = path {
            let answer = served.get(&page);
            rows.extend(lines(&answer.text()));
            pages += 1;
            path = next(&answer);
        }
        assert_eq!(&rows, all, "{limit}");
        assert_eq!(
            pages,
            5_usize.div_ceil(limit),
            "a page that is full is not followed by an empty one"
        );
    }
    let csv = served.get("/datasets/US.FOOL2.002/history?format=csv").text();
    assert_eq!(csv.lines().count(), 6);
    assert!(csv.starts_with("dataset,timestamp,until,identifier,granules,"));
}

#[test]
fn a_set_in_many_datasets_is_listed_page_by_page() {
    let served = Served::new();
    for n in 0..7 {
        served.change(&format!("D{n}"), "2001-01-01T00:00:00Z", &["A"], &[]);
    }
    let identifier = served.json("/datasets/D0/")["latest"]["identifier"].clone();
    let identifier = identifier.as_str().unwrap();
    let mut path = Some(format!("/DI:{identifier}?limit=3&format=jsonl"));
    let mut datasets = Vec::new();
    while let Some(page) = path {
        let answer = served.get(&page);
        let rows = lines(&answer.text());
        datasets.extend(rows.iter().map(|row| row["dataset"].as_str().unwrap().to_owned()));
        path = next(&answer);
    }
    assert_eq!(datasets, ["D0", "D1", "D2", "D3", "D4", "D5", "D6"]);
}

#[test]
fn datasets_are_listed_and_searched_page_by_page() {
    let served = Served::new();
    for n in 10..30 {
        served.change(&format!("D{n}"), "2001-01-01T00:00:00Z", &["A"], &[]);
    }
    for (start, expected) in [("/?limit=7&format=jsonl", 20), ("/?q=d1&limit=3&format=jsonl", 10)] {
        let (mut names, mut path) = (BTreeSet::new(), Some(start.to_owned()));
        while let Some(page) = path {
            let answer = served.get(&page);
            for row in lines(&answer.text()) {
                assert!(names.insert(row["name"].as_str().unwrap().to_owned()), "{row}");
            }
            path = next(&answer).map(|path| format!("{path}&limit=3"));
        }
        assert_eq!(names.len(), expected, "{start}");
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
    let mut next_path = Some(format!("{path}?limit=1&format=jsonl"));
    let mut rows = Vec::new();
    while let Some(page) = next_path {
        let answer = served.get(&page);
        rows.extend(lines(&answer.text()));
        next_path = next(&answer);
    }
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
    assert_eq!(served.get("/compare/US.FOOL2.002").status, 400);
    assert_eq!(served.get("/compare/NO...US.FOOL2.002").status, 404);
}

#[test]
fn work_beyond_its_budget_is_refused_with_a_time_to_come_back() {
    let limits = Limits { budget: std::time::Duration::ZERO, ..Limits::default() };
    let served = Served::with(&[], limits);
    served.add_seed();
    for path in [
        "/compare/US.FOOL2.002@2001-02-05...US.FOOL2.002",
        &format!("/check?format=json&text=DI:{FIRST}"),
    ] {
        let answer = served.get_as(path, "application/json");
        assert_eq!((answer.status, answer.problem().1.as_str()), (503, "too-costly"), "{path}");
        assert_eq!(answer.header("retry-after"), "60");
    }
    assert_eq!(
        served.get(&format!("/DI:{FIRST}")).status,
        200,
        "other requests have their own time"
    );
}

#[test]
fn a_list_that_no_longer_can_be_read_breaks_off() {
    let served = Served::new();
    let ids: Vec<String> = (0..10_000).map(|n| format!("granule-{n:05}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
    let identifier = served.json("/datasets/D/")["latest"]["identifier"].clone();
    let path = format!("/DI:{}/granules", identifier.as_str().unwrap());
    let (all, broke_off) = served.stream(&path, || ());
    assert!(!broke_off && all.split(|&byte| byte == b'\n').count() == 10_001);

    let file = served.directory.path().join("accession.db");
    let (some, broke_off) = served.stream(&path, || {
        let _ = std::fs::remove_file(&file);
    });
    assert!(broke_off, "a part of a list must not look like a whole one");
    assert!(some.len() < all.len() && all.starts_with(&some));
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
        let identifier = served.json("/datasets/D/")["latest"]["identifier"].clone();
        let mut path = Some(format!("/DI:{}/granules?limit={limit}", identifier.as_str().unwrap()));
        let mut listed = Vec::new();
        while let Some(page) = path {
            let answer = served.get(&page);
            prop_assert_eq!(answer.status, 200);
            listed.extend(answer.text().lines().map(str::to_owned));
            path = next(&answer);
        }
        prop_assert_eq!(listed, ids);
    }
}
