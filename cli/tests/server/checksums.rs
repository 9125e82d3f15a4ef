//! The checksums of the files of a set, as readers verify them, and as the pages show them.

use std::process::Command;

use accession::Clock;
use accession::SubsetMembers;
use accession::chain::CanonicalList;
use accession::dataset::DatasetMetadata;
use accession::file::{Algorithm, Checksum};
use accession_server::ServerLimits;

use crate::running::program::program;
use crate::site::Served;
use harness::values::{name, now, stating, with_file};

fn add(served: &Served, dataset: &str, granule: &str, path: &str, algorithm: Algorithm, byte: u8) {
    let bytes = vec![byte; algorithm.checksum_bytes().unwrap()];
    let checksum = Checksum::from_bytes(algorithm, &bytes).unwrap();
    let stated = with_file(granule, path, None, Some(checksum));
    served
        .registry
        .with_clock(Clock::fixed(now()).confirmed())
        .change(&name(dataset), &stating([stated]))
        .unwrap();
}

/// Two datasets with the same granules, and the address of their checksums.
fn served() -> (Served, String) {
    let served = Served::new();
    for dataset in ["US", "THEM"] {
        served.change(dataset, "2001-01-02T00:00:00Z", &["A", "B"], &[]);
    }
    let latest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let address = format!("/DI:{}/checksums", latest.unwrap().identifier);
    (served, address)
}

#[test]
fn a_canonical_list_has_the_digest_and_a_list_of_weaker_checksums_is_never_an_old_one() {
    let (served, address) = served();
    let list = address.replace("/checksums", "/list");
    assert_eq!(served.get(&list).text(), "A\nB\n");
    let cite = || {
        let members = SubsetMembers::Patterns(vec!["A".parse().unwrap()]);
        served.registry.cite_subset(&name("US"), None, &members).unwrap().period.set
    };
    let part = cite();
    for (granule, byte) in [("A", 1), ("B", 2)] {
        add(&served, "US", granule, granule, Algorithm::Sha256, byte);
    }
    let digest = || {
        let latest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
        latest.unwrap().digest
    };
    let before = digest();
    // The identifier of a subset means its latest contents, too. Each digest leads to its own contents.
    let later = cite();
    let of_part = format!("/DI:{}", part.identifier());
    let line = format!("A\tsha-256:{}\n", "01".repeat(32));
    assert_eq!(served.get(&format!("{of_part}/list")).text(), line);
    for (set, list) in [(&part, "A\n"), (&later, line.as_str())] {
        let (at, digest) = (set.instance().timestamp, set.digest());
        assert_eq!(served.get(&format!("{of_part}/list?at={at}")).text(), list);
        let leads = served.get(&format!("/{digest}?format=html"));
        assert_eq!(leads.header("location"), format!("{of_part}?digest={digest}&format=html"));
        assert!(served.page(leads.header("location")).contains(&digest.to_string()));
    }
    let listed = served.get(&list);
    let sums: Vec<String> = ["01", "02"].map(|byte| byte.repeat(32)).into();
    assert_eq!(listed.text(), format!("A\tsha-256:{}\nB\tsha-256:{}\n", sums[0], sums[1]));
    let mut hashed = CanonicalList::start();
    hashed.push(&listed.body);
    assert_eq!(hashed.digest(), before);
    assert_eq!(listed.header("cache-control"), "public, max-age=0, s-maxage=30");
    // An identifier means its latest instance, unless a time or a digest selects another.
    let row = &served.json(address.trim_end_matches("/checksums"))["intervals"][1];
    let digests = row["digests"].as_array().unwrap();
    assert_eq!(digests.len(), 3, "{row}");
    assert_eq!(row["digests"][2]["digest"], before.to_string());
    assert_eq!(row["instance"]["digest"], before.to_string());
    assert_eq!(row["until"], row["digests"][2]["until"]);
    let first = &digests[0];
    let (at, first) = (first["from"].as_str().unwrap(), first["digest"].as_str().unwrap());
    assert_eq!(served.get(&format!("{list}?at={at}")).text(), "A\nB\n");
    assert_eq!(served.get(&format!("/{first}/list")).text(), "A\nB\n");
    let early = served.get(&format!("{list}?at=1999-01-01"));
    assert!(early.status == 404 && early.text().contains("\"hint\":null"), "{}", early.text());
    assert!(served.get(address.trim_end_matches("/checksums")).text().contains(&first[..19]));
    // The digest leads to the instance, and the pages show how a change affects the records of files.
    let leads = served.get(&format!("/{}", &before.to_string()[..19]));
    assert_eq!((leads.status, leads.header("location").starts_with("/datasets/US@")), (303, true));
    let unknown = served.get("/sha256:000000000000");
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("\"No set has the digest sha256:0"), "{}", unknown.text());
    let ids = served.get(&format!("/{before}/granules"));
    assert_eq!(
        (ids.status, ids.header("location")),
        (303, &*address.replace("checksums", "granules"))
    );
    let short = served.get("/sha256:00");
    assert!(short.status == 404 && short.text().contains("first 12"), "{}", short.text());
    for page in ["/datasets/US/history", "/datasets/US/feed.atom"] {
        let page = served.get_as(page, "text/html,application/atom+xml");
        assert!(page.text().contains("1 described"), "{}", page.text());
    }
    let md5 = format!("{address}?algorithm=md5");
    for (granule, lines) in [("A", 1), ("B", 2)] {
        add(&served, "US", granule, granule, Algorithm::Md5, 7);
        assert_eq!(served.get(&md5).text().lines().count(), lines);
    }
    assert_eq!(digest(), before);
}

#[test]
fn sets_of_the_same_granules_with_other_bytes_are_not_identical() {
    let (served, _) = served();
    for (dataset, byte) in [("US", 1), ("THEM", 2)] {
        add(&served, dataset, "B", "B", Algorithm::Sha256, byte);
    }
    let path = "/compare/US...THEM";
    let all = served.json(path);
    let of = |field: &str| all[field].to_string();
    let fields = ["identical", "digest_equal", "matched", "other_content_count", "other_content"];
    assert_eq!(fields.map(of), ["false", "false", "2", "1", r#"["B"]"#]);
    let rows = served.get(&format!("{path}?after=A&format=jsonl")).text();
    assert_eq!(rows, "{\"side\":\"both\",\"granule\":\"B\"}\n");
    let page = served.page(path);
    assert!(page.contains("<h1>The same 2 granules, 1 with different content</h1>"), "{page}");
    assert!(page.contains("/compare/THEM...US"), "the other sides have the same identifier");
    assert_eq!(served.json(&format!("{path}?after=B"))["identical"], serde_json::Value::Null);
}

#[test]
fn checksums_are_listed_as_sha256sum_reads_them_and_what_is_left_out_is_counted() {
    let (served, address) = served();
    let none = served.get(&address);
    assert_eq!(none.status, 404);
    assert!(none.text().contains("\"kind\":\"selects-nothing\""), "{}", none.text());
    add(&served, "US", "A", "data\\1", Algorithm::Sha256, 1);
    add(&served, "US", "A", "data\\1", Algorithm::Md5, 2);
    let listed = served.get(&address);
    assert_eq!(listed.text(), format!("\\{}  data\\\\1\n", "01".repeat(32)));
    assert_eq!(listed.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(listed.header("cache-control"), "public, max-age=0, s-maxage=30");
    let set = format!("<https://registry.example{}>", address.trim_end_matches("/checksums"));
    assert_eq!(listed.header("link"), format!("{set}; rel=\"collection\""));
    assert_eq!(listed.header("accession-left-out"), "1");
    let md5 = served.get(&format!("{address}?algorithm=MD5"));
    assert_eq!(md5.text(), format!("\\{}  data\\\\1\n", "02".repeat(16)));
    assert_ne!(md5.header("etag"), listed.header("etag"));
    assert_eq!(served.get(&format!("{address}?algorithm=sha-512")).status, 404);
    assert_eq!(served.get(&format!("{address}?algorithm=-")).status, 400);

    // The list can change: a new record shows in the next response.
    let tag = listed.header("etag").to_owned();
    let unchanged = served.ask(hyper::Method::GET, &address, &[("if-none-match", &tag)], "");
    assert_eq!(unchanged.status, 304);
    // `*` matches what exists, and nothing else.
    for (algorithm, status) in [("", 304), ("?algorithm=md5", 304), ("?algorithm=sha-512", 404)] {
        let any = format!("{address}{algorithm}");
        let any = served.ask(hyper::Method::GET, &any, &[("if-none-match", "*")], "");
        assert_eq!(any.status, status, "{algorithm}");
    }
    // The ETag does not match another algorithm or other records.
    let other = format!("{address}?algorithm=md5");
    let other = served.ask(hyper::Method::GET, &other, &[("if-none-match", &tag)], "");
    assert_eq!(other.status, 200);
    add(&served, "US", "B", "B", Algorithm::Sha256, 3);
    let changed = served.ask(hyper::Method::GET, &address, &[("if-none-match", &tag)], "");
    assert_eq!((changed.status, changed.text().lines().count()), (200, 2));
    assert_eq!(changed.header("accession-left-out"), "");
}

#[test]
fn contents_that_differ_are_named() {
    let (served, address) = served();
    add(&served, "US", "A", "A", Algorithm::Sha256, 1);
    // A dataset without any records does not count.
    assert_eq!(served.get(&address).status, 200);
    add(&served, "THEM", "A", "A", Algorithm::Sha256, 2);
    let ambiguous = served.get(&address);
    assert_eq!(ambiguous.status, 409);
    assert!(ambiguous.text().contains("\"title\":\"This was held with different contents"));
    assert!(ambiguous.text().contains("US") && ambiguous.text().contains("THEM"));
    let one = served.get(&format!("{address}?dataset=THEM"));
    assert_eq!(one.text(), format!("{}  A\n", "02".repeat(32)));
    // Both hold the same now. The identifier was held with different contents before, so a digest must select
    // them.
    add(&served, "US", "A", "A", Algorithm::Sha256, 2);
    assert_eq!(served.get(&address).status, 409);
    let digest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let latest = served.get(&format!("/{}/checksums", digest.unwrap().digest));
    assert_eq!(latest.text(), one.text());
}

#[test]
fn pages_say_how_files_are_checked_and_what_checks_found() {
    let (served, address) = served();
    let set = address.trim_end_matches("/checksums");
    let pages = ["/datasets/US/", set];
    let metric = "accession_dataset_open_findings{dataset=\"US\"}";
    for page in pages {
        let page = served.page(page);
        assert!(!page.contains("id=\"files\""), "{page}");
    }
    assert!(!served.get("/metrics").text().contains(metric));

    let root = harness::directory();
    for (file, content) in [("A", "abc"), ("B", "four")] {
        std::fs::write(root.path().join(file), content).unwrap();
    }
    let path = served.directory.path().join("accession.db");
    let fixity = |command: &str, status: i32| {
        let mut fixity = Command::new(program());
        fixity.args(["--quiet", "--registry", path.to_str().unwrap(), "fixity", command, "US"]);
        let output = fixity.arg("--root").arg(root.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
    };
    fixity("compute", 0);
    assert!(served.page(set).contains("<dt>Checked</dt><dd>not yet</dd>"));
    fixity("check", 0);
    let digest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let lists =
        [format!("/{}/checksums?", digest.unwrap().digest), format!("{address}?dataset=US&amp;")];
    for (page, list) in pages.into_iter().zip(lists) {
        let page = served.page(page);
        for shown in [
            "<dt>Checked</dt><dd>all since ",
            "<dt>Open findings</dt><dd>none</dd>",
            &format!("{list}algorithm=sha-256"),
            "sha256sum -c --quiet",
        ] {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    }
    assert!(served.get("/metrics").text().contains(&format!("{metric} 0\n")));

    std::fs::remove_file(root.path().join("B")).unwrap();
    fixity("check", 1);
    for page in pages {
        let page = served.page(page);
        assert!(page.contains("1 file not as recorded"), "{page}");
    }
    assert!(served.get("/metrics").text().contains(&format!("{metric} 1\n")));
    // The suggested program matches the algorithm of the checksums.
    add(&served, "THEM", "A", "A", Algorithm::Md5, 1);
    let page = served.page("/datasets/THEM/");
    assert!(page.contains("?algorithm=md5") && page.contains("md5sum -c --quiet"), "{page}");
}

#[test]
fn the_addresses_of_granules_are_those_of_the_dataset_and_leave_out_what_has_none() {
    let served = Served::new();
    served.change("US", "2001-01-02T00:00:00Z", &["../A", "B 1", "C"], &[]);
    let latest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let set = format!("/DI:{}", latest.unwrap().identifier);
    let address = format!("{set}/urls");
    let none = served.get(&address);
    assert_eq!(none.status, 404);
    assert!(none.text().contains("\"kind\":\"no-granule-url\""), "{}", none.text());
    assert!(!served.page(&set).contains("/urls"));
    let edit = |template: &str| {
        let edit =
            |dataset: &mut DatasetMetadata| dataset.granule_url = Some(template.parse().unwrap());
        served
            .registry
            .recorded_by("mallory".parse().unwrap())
            .edit_dataset(&name("US"), edit)
            .unwrap();
    };
    edit("https://data.example/{granule}?x");
    assert!(served.page(&set).contains(&format!("{address}?dataset=US")));
    let listed = served.get(&address);
    assert_eq!(listed.text(), "https://data.example/B%201?x\nhttps://data.example/C?x\n");
    assert_eq!(listed.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(listed.header("cache-control"), "public, max-age=0, s-maxage=30");
    let lines = served.get(&format!("{address}?format=jsonl&limit=2"));
    let first = "{\"granule\":\"../A\",\"url\":null}\n";
    assert!(lines.text().starts_with(first) && lines.text().lines().count() == 2);
    assert!(lines.header("link").contains("after=B+1"), "{}", lines.header("link"));
    assert_eq!(served.get(&format!("{address}?select=C")).text(), "https://data.example/C?x\n");

    // The addresses can change.
    let asked =
        |tag: &str| served.ask(hyper::Method::GET, &address, &[("if-none-match", tag)], "").status;
    let tag = listed.header("etag").to_owned();
    assert_eq!(asked(&tag), 304);
    edit("https://other.example/{granule}");
    assert_eq!(asked(&tag), 200);
    // They are the addresses of the dataset that first held the set.
    served.change("THEM", "2001-02-02T00:00:00Z", &["../A", "B 1", "C"], &[]);
    assert_eq!(served.get(&address).status, 200);
    assert_eq!(served.get(&format!("{address}?dataset=THEM")).status, 404);
}

#[test]
fn a_list_that_takes_longer_than_a_request_may_is_too_costly() {
    let limits =
        ServerLimits { request_time: std::time::Duration::ZERO, ..ServerLimits::default() };
    let served = Served::with(&[], limits);
    served.change("US", "2001-01-01T00:00:00Z", &["A"], &[]);
    add(&served, "US", "A", "A", Algorithm::Sha256, 1);
    let latest = served.registry.snapshot().unwrap().dataset(&name("US")).unwrap().latest;
    let identifier = latest.unwrap().identifier;
    let refused = served.get(&format!("/DI:{identifier}/checksums"));
    assert_eq!(refused.status, 503);
    assert!(["busy", "too-costly"].contains(&refused.problem().1.as_str()), "{}", refused.text());
}
