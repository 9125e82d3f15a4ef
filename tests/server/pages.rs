//! What the pages say.

use axum::http::Method;

use crate::site::{FIRST, SECOND, Served};

#[test]
fn a_reader_learns_where_a_set_was_held_and_what_changed_since() {
    let served = Served::seed();
    let page = served.page(&format!("/DI:{SECOND}"));
    for expected in [
        "12 granules",
        "FOO Level 2",
        "no longer in force",
        "/datasets/US.FOOL2.002@2001-01-03T00:00:00Z",
        ">2001-02-03</time>",
        "FOOL2.v2.01.bba34792-f256-4c54-81dd-9977e432c204",
        "What changed since",
        "accession identify - --expect DI:763122197bfb3ffbf0da14adbfb1b13b",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let latest = served.json("/datasets/US.FOOL2.002/")["latest"]["identifier"].clone();
    let latest = latest.as_str().unwrap();
    assert!(page.contains(&format!("/compare/DI:{SECOND}...DI:{latest}")));
    let page = served.page(&format!("/DI:{latest}"));
    assert!(page.contains("in force now") && !page.contains("What changed since"));
}

#[test]
fn a_set_that_one_dataset_still_holds_is_in_force() {
    let served = Served::new();
    served.change("KEEPS", "2001-01-01T00:00:00Z", &["A"], &[]);
    served.change("CHANGES", "2002-01-01T00:00:00Z", &["A"], &[]);
    served.change("CHANGES", "2003-01-01T00:00:00Z", &["B"], &[]);
    let identifier = served.json("/datasets/KEEPS/")["latest"]["identifier"].clone();
    let page = served.page(&format!("/DI:{}", identifier.as_str().unwrap()));
    assert!(page.contains("in force now") && !page.contains("no longer in force"), "{page}");
}

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
    assert_eq!((early.status, early.problem().1.as_str()), (404, "before-history"));
}

#[test]
fn a_dataset_page_has_its_record_its_plot_and_its_changes() {
    let served = Served::seed();
    let page = served.page("/datasets/US.FOOL2.002/");
    for expected in [
        "<h1>FOO Level 2</h1>",
        "https://doi.org/10.9999/US/FOOL2.v2",
        "https://spdx.org/licenses/CC-BY-4.0",
        "https://orcid.org/0000-0002-1825-0097",
        "Retrievals of foo.",
        "Granules held over time. 5 changes from 2001-01-02 to 2001-03-03.",
        "All 5 changes",
        "?format=bibtex",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    for at in ["2001-01-02", "2001-01-03", "2001-02-03", "2001-03-01", "2001-03-03"] {
        assert!(
            page.contains(&format!("/datasets/US.FOOL2.002@{at}T00:00:00Z\" tabindex=\"-1\"")),
            "{at}"
        );
    }
    assert_eq!(served.get("/datasets/US.FOOL2.002").header("location"), "/datasets/US.FOOL2.002/");
    assert_eq!(
        served.get("/doi/10.9999/us/fool2.V2").header("location"),
        "/datasets/US.FOOL2.002/"
    );
}

#[test]
fn a_dataset_without_granules_has_a_page() {
    let served = Served::new();
    let dataset = accession::Dataset::named(crate::values::name("EMPTY"));
    served.registry.add_dataset(&dataset, &crate::site::stamp(crate::values::now())).unwrap();
    let page = served.page("/datasets/EMPTY/");
    assert!(page.contains("Nothing was ever ingested"));
    assert!(served.page("/").contains("no granules yet"));
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
    for expected in ["confirmed", "disagrees", "unknown", "2 of 3 citations cannot be confirmed"] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let headers = [("content-type", "text/plain"), ("accept", "application/json")];
    let answer = served.ask(Method::POST, "/check", &headers, &text);
    let checked: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let ok: Vec<&serde_json::Value> =
        checked["citations"].as_array().unwrap().iter().map(|it| &it["ok"]).collect();
    assert_eq!(ok, [true, false, false]);
    let none = served.ask(Method::POST, "/check", &headers, "nothing");
    assert_eq!((none.status, none.problem().1.as_str()), (400, "usage"));
}

#[test]
fn a_granule_is_found() {
    let served = Served::seed();
    let deleted = &crate::seed_lists::ids("us-2001-03-01-deleted.txt")[0];
    let found = served.json(&format!("/find?granule={deleted}"));
    assert_eq!(found["periods"][0]["deleted"], "2001-03-01T00:00:00Z");
    assert!(served.page(&format!("/find?granule={deleted}")).contains("US.FOOL2.002"));
    assert!(served.page("/find?granule=none").contains("No dataset here ever held"));
    assert_eq!(served.json("/find?granule=none")["periods"], serde_json::json!([]));
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
    assert!(served.get("/metrics").text().contains("accession_responses_total{status=\"4xx\"} 3"));
}
