//! The limits for one client, and the cost of a request.

use crate::site::Served;
use accession::Clock;
use accession::DatasetFilter;
use accession::HistoryOptions;
use harness::values::AtTime;
use harness::values::{change, name, second};

#[test]
fn a_head_that_nothing_has_changed_needs_no_look_at_the_subsets() {
    let served = Served::seed();
    let wanted = accession::SubsetMembers::Patterns(vec!["FOOL2.v2.0*".parse().unwrap()]);
    served.registry.cite_subset(&name("US.FOOL2.002"), None, &wanted).unwrap();
    let head = || served.get("/datasets/US.FOOL2.002/head.json");
    let first = head();
    assert!(first.text().contains("\"subsets\":{\"count\":1"), "{}", first.text());
    // From here, reading the subsets fails.
    let path = served.directory.path().join("accession.db");
    let damager = rusqlite::Connection::open(path).unwrap();
    damager.pragma_update(None, "ignore_check_constraints", true).unwrap();
    assert_eq!(damager.execute("UPDATE subset SET identifier = x'00'", []).unwrap(), 1);
    let again = head();
    assert_eq!((again.status, again.header("etag")), (200, first.header("etag")));
    served.change("US.FOOL2.002", "2001-04-01T00:00:00Z", &["NEW"], &[]);
    assert!(head().status >= 500);
}

#[test]
fn a_file_is_continued_only_where_it_is_the_same() {
    let served = Served::seed();
    // The head was not requested before.
    let path = "/datasets/US.FOOL2.002/log/000000.jsonl";
    let whole = served.get(path);
    let tag = whole.header("etag").to_owned();
    let ask = |headers: &[(&str, &str)]| served.ask(hyper::Method::GET, path, headers, "");
    let from = format!("bytes {}-{}/{}", 100, whole.body.len() - 1, whole.body.len());
    for headers in [&[("range", "bytes=100-")][..], &[("range", "bytes=100-"), ("if-range", &tag)]]
    {
        let part = ask(headers);
        assert_eq!((part.status, &part.body[..]), (206, &whole.body[100..]));
        assert_eq!(part.header("content-range"), from);
        assert_eq!((part.header("etag"), part.header("cache-control")), (&*tag, "no-cache"));
        assert_eq!(part.header("content-length"), (whole.body.len() - 100).to_string());
    }
    // For another ETag, a weak one or a date, the whole file is sent.
    let weak = format!("W/{tag}");
    for known in ["\"other\"", &weak, "Thu, 01 Jan 1970 00:00:00 GMT"] {
        let answer = ask(&[("range", "bytes=100-"), ("if-range", known)]);
        assert_eq!((answer.status, answer.body.len()), (200, whole.body.len()), "{known}");
    }
    // A condition is evaluated before a range.
    let known = ask(&[("range", "bytes=100-"), ("if-none-match", &tag)]);
    assert_eq!((known.status, known.body.len(), known.header("content-range")), (304, 0, ""));
    let beyond = format!("bytes={}-", whole.body.len());
    let nothing = ask(&[("range", &beyond)]);
    assert_eq!((nothing.status, nothing.body.len()), (416, 0));
    assert_eq!(nothing.header("content-range"), format!("bytes */{}", whole.body.len()));
    // The ETag is computed from the bytes, so a longer file has a different one.
    served.change("US.FOOL2.002", "2001-04-01T00:00:00Z", &["NEW"], &[]);
    assert_eq!(served.get("/datasets/US.FOOL2.002/head.json").status, 200);
    let longer = ask(&[("range", "bytes=100-"), ("if-range", &tag)]);
    assert_eq!(longer.status, 200);
    assert!(longer.body.len() > whole.body.len() && longer.body.starts_with(&whole.body));
    assert_ne!(longer.header("etag"), tag);
}

#[test]
fn the_sitemap_of_many_datasets_has_as_many_as_it_may() {
    let served = Served::seed();
    let path = served.directory.path().join("accession.db");
    let many = "
        WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 50001)
        INSERT INTO dataset (name, record, row_check)
        SELECT printf('A%06d', n), json_object('name', printf('A%06d', n)), 0 FROM number";
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute(many, []).unwrap();
    harness::seal::seal_rows(&connection);
    let sitemap = served.get("/sitemap.xml");
    assert_eq!(sitemap.header("content-type"), "application/xml");
    let listed = sitemap.text().matches("<loc>https://registry.example/datasets/").count();
    assert_eq!(listed, 50_000);
}

#[test]
fn a_published_registry_does_not_say_who_recorded_anything() {
    let served = Served::seed();
    let mut noted = change(["NOTED"], []);
    noted.options = noted.options.note("a note".to_owned());
    served
        .registry
        .with_clock(Clock::fixed(second(900_000_000)).confirmed())
        .recorded_by("mallory".parse().unwrap())
        .change(&name("US.FOOL2.002"), &noted.at(second(900_000_000)))
        .unwrap();
    let public = served.registry.public_view(DatasetFilter::All);
    let recorders = |registry: &accession::Registry| -> Vec<Option<String>> {
        let snapshot = registry.snapshot().unwrap();
        let dataset = name("US.FOOL2.002");
        let history = snapshot
            .registry()
            .history(&dataset, &HistoryOptions::new())
            .map(|it| it.unwrap().recorded_by);
        let latest = snapshot.dataset(&dataset).unwrap().latest.unwrap();
        let resolved = snapshot.periods(latest.identifier, None, None).unwrap();
        let resolved = resolved.rows.into_iter().map(|row| row.set.instance().recorded_by.clone());
        let versions = snapshot.record_versions(&dataset).unwrap();
        let versions = versions.into_iter().map(|version| version.recorded_by);
        history.chain([latest.recorded_by]).chain(resolved).chain(versions).collect()
    };
    assert!(recorders(&served.registry).iter().all(Option::is_some));
    assert!(recorders(&public).iter().all(Option::is_none));
}
