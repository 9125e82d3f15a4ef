//! The registry changes while it is served: it is written, renamed, withdrawn, replaced, removed.

use crate::site::{FIRST, SECOND, Served};
use harness::values::clock;
use harness::values::name;

#[test]
fn a_registry_that_replaced_the_one_that_was_opened_is_read_from_then_on() {
    let served = Served::seed();
    let copy = served.directory.path().join("backup.db");
    served.registry.back_up(&copy).unwrap();
    served.change("US.FOOL2.002", "2001-04-01T00:00:00Z", &["NEW"], &[]);
    assert_eq!(
        served.json("/datasets/US.FOOL2.002/")["latest"]["timestamp"],
        "2001-04-01T00:00:00Z"
    );
    let page = served.page("/datasets/US.FOOL2.002/");
    assert!(page.contains("2001-04-01"));

    let path = served.directory.path().join("accession.db");
    accession::Registry::restore(&copy, &path, clock(), &accession::Watcher::new()).unwrap();
    assert_eq!(
        served.json("/datasets/US.FOOL2.002/")["latest"]["timestamp"],
        "2001-03-03T00:00:00Z"
    );
    // The plot is that of the present registry, too.
    assert!(!served.page("/datasets/US.FOOL2.002/").contains("2001-04-01"));
}

#[test]
fn a_registry_that_is_missing_is_an_outage_and_never_an_unknown_identifier() {
    let served = Served::seed();
    let path = served.directory.path().join("accession.db");
    let elsewhere = served.directory.path().join("elsewhere.db");
    std::fs::rename(&path, &elsewhere).unwrap();
    // The registry is probed in the background.
    while served.get("/healthz").status == 200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for path in ["/", "/datasets/US.FOOL2.002/", &format!("/DI:{FIRST}"), "/healthz"] {
        let answer = served.get(path);
        assert_eq!(answer.status, 503, "{path}");
        assert_eq!(answer.header("retry-after"), "30");
        let (_, kind) = answer.problem();
        assert_eq!(kind, "registry-missing");
        assert!(!answer.text().contains("accession.db"), "the path is for the operator alone");
    }
    std::fs::rename(&elsewhere, &path).unwrap();
    assert_eq!(served.get(&format!("/DI:{FIRST}")).status, 200);
    while served.get("/healthz").status != 200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[test]
fn a_registry_that_a_newer_program_has_migrated_is_an_outage() {
    let served = Served::seed();
    let path = served.directory.path().join("accession.db");
    let newer = rusqlite::Connection::open(path).unwrap();
    newer.pragma_update(None, "user_version", 1_000).unwrap();
    let answer = served.get(&format!("/DI:{FIRST}"));
    assert_eq!((answer.status, answer.problem().1.as_str()), (503, "other-schema"));
}

/// The page, which would need the history, is not created.
#[test]
fn a_former_name_leads_on_before_anything_is_read() {
    let served = Served::seed();
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .rename_dataset(&name("US.FOOL2.002"), &name("NEW"))
        .unwrap();
    let page = served.page("/datasets/NEW/");
    assert!(page.contains("Former names") && page.contains("US.FOOL2.002"));
    let path = served.directory.path().join("accession.db");
    let damager = rusqlite::Connection::open(path).unwrap();
    damager.pragma_update(None, "ignore_check_constraints", true).unwrap();
    assert!(damager.execute("UPDATE instance SET identifier = x'00'", []).unwrap() > 0);
    for rest in ["/", "/history?limit=1", "@2001-01-05"] {
        let present = format!("/datasets/NEW{rest}");
        assert!(served.get(&present).status >= 500, "{rest}");
        let former = served.get(&format!("/datasets/US.FOOL2.002{rest}"));
        assert_eq!((former.status, former.header("location")), (301, present.as_str()));
    }
}

#[test]
fn a_dataset_that_was_withdrawn_keeps_its_pages_and_they_say_so() {
    let served = Served::seed();
    let dataset = name("US.FOOL2.002");
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .withdraw_dataset(&dataset, "calibration was wrong")
        .unwrap();
    let checked = served.page(&format!("/check?text=DI:{SECOND}"));
    assert!(checked.contains("US.FOOL2.002 was withdrawn at ") && checked.contains("calibration"));
    let checked = served.page(&format!("/check?text=DI:{}", served.latest("US.FOOL2.002")));
    assert!(checked.contains("until it was withdrawn on "), "{checked}");
    for path in [
        "/datasets/US.FOOL2.002/",
        "/datasets/US.FOOL2.002/history",
        "/datasets/US.FOOL2.002@2001-01-05",
        &format!("/DI:{SECOND}"),
    ] {
        let page = served.page(path);
        assert!(page.contains("This dataset was withdrawn"), "{path}");
        assert!(page.contains("calibration was wrong"), "{path}");
    }
    assert_eq!(served.json("/")["datasets"], serde_json::json!([]));
    assert_eq!(served.json("/?withdrawn=listed")["datasets"][0]["name"], "US.FOOL2.002");
    for (path, place) in [
        ("/datasets/US.FOOL2.002/", "/withdrawn"),
        ("/datasets/US.FOOL2.002@2001-01-05", "/withdrawn"),
        (&format!("/DI:{SECOND}"), "/intervals/0/withdrawn"),
        (&format!("/check?text=DI:{SECOND}"), "/citations/0/intervals/0/withdrawn"),
    ] {
        let json = served.json(path);
        let note = json.pointer(&format!("{place}/note"));
        assert_eq!(note, Some(&"calibration was wrong".into()), "{path}: {json}");
    }
    let described = served.get(&format!("/DI:{SECOND}?format=json-ld")).text();
    assert!(described.contains("\"creativeWorkStatus\": \"Withdrawn\""), "{described}");
    assert_eq!(
        served.get(&format!("/DI:{FIRST}/granules")).body.iter().filter(|&&b| b == b'\n').count(),
        11
    );
}

#[test]
fn nothing_that_is_asked_changes_the_registry() {
    let served = Served::seed();
    let path = served.directory.path().join("accession.db");
    let watcher = rusqlite::Connection::open(path).unwrap();
    let seen =
        || -> i64 { watcher.pragma_query_value(None, "data_version", |row| row.get(0)).unwrap() };
    let first = seen();
    for path in [
        "/",
        "/datasets/US.FOOL2.002/?format=bibtex",
        &format!("/DI:{SECOND}/granules?select=FOOL2.v2.0*"),
        "/compare/US.FOOL2.002@2001-01-05...US.FOOL2.002",
        "/check?text=DI:763122197bfb3ffbf0da14adbfb1b13b",
        "/find?granule=A",
    ] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    assert_eq!(seen(), first, "no request has committed anything");
    served.change("US.FOOL2.002", "2001-04-01T00:00:00Z", &["NEW"], &[]);
    assert_ne!(seen(), first, "a change is seen here");
}
