//! Titles, notes, ids and requests from untrusted sources.

use accession::history::NewAnnotation;
use accession_server::ServerLimits;
use harness::values::AtTime;
use hyper::Method;

use crate::site::Served;
use harness::values::name;

const HOSTILE: &str =
    "\"'></title><script>alert(1)</script><img src=x onerror=alert(1)>&lt;{{7*7}}\u{202e}";

fn served() -> Served {
    let served = Served::new();
    let ids: Vec<String> = (0..12).map(|n| format!("{HOSTILE}{n}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    served.change("D", "2001-01-01T00:00:00Z", &ids, &[]);
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .edit_dataset(&name("D"), |dataset| {
            dataset.title = Some(HOSTILE.to_owned());
            dataset.description = Some(format!("{HOSTILE}\n\n</script>{HOSTILE}"));
            dataset.creators = vec![format!("{{{HOSTILE}}}").parse().unwrap()];
            dataset.publisher = Some(HOSTILE.to_owned());
            dataset.version = Some(HOSTILE.to_owned());
            dataset.archive = Some(HOSTILE.to_owned());
        })
        .unwrap();
    let mut change = harness::values::change(["Z"], [ids[0]]);
    change.options = change.options.note(HOSTILE.to_owned());
    let at = "2001-02-01T00:00:00Z".parse().unwrap();
    served.registry.change(&name("D"), &change.at(at)).unwrap();
    let latest = accession::Selection::Dataset { name: name("D"), at: None };
    let note = NewAnnotation::new(HOSTILE).unwrap();
    served.registry.recorded_by("mallory".parse().unwrap()).annotate(&latest, &note).unwrap();
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .withdraw_dataset(&name("D"), HOSTILE)
        .unwrap();
    served
}

/// Asserts that no element or attribute of a page can run untrusted code.
fn assert_harmless(path: &str, page: &str) {
    let lower = page.to_lowercase();
    // A script is a file of the site, or contains data.
    for (at, _) in lower.match_indices("<script") {
        let end = at + lower[at..].find("</script>").unwrap();
        let (tag, content) = page[at..end].split_once('>').unwrap();
        if tag == "<script type=\"application/ld+json\"" {
            serde_json::from_str::<serde_json::Value>(content).unwrap();
        } else {
            let source = tag.strip_prefix("<script src=\"").and_then(|rest| rest.split_once('"'));
            let (source, _) = source.unwrap();
            assert!(content.is_empty() && source.ends_with("script.js"), "{path}: {tag}");
            assert!(!source.contains("//"), "{path}: {tag}");
        }
    }
    for unsafe_text in ["<img", " style=", "javascript:"] {
        assert!(!lower.contains(unsafe_text), "{path}: {unsafe_text}");
    }
    // Within a tag, untrusted text is inside quotes.
    for tag in page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap()) {
        if !tag.starts_with("script") {
            assert_eq!(tag.matches('"').count() % 2, 0, "{path}: <{tag}>");
        }
        let outside: String = tag.split('"').step_by(2).collect();
        assert!(!outside.contains("onerror"), "{path}: <{tag}>");
    }
}

#[test]
fn no_text_of_a_registry_becomes_markup() {
    let served = served();
    let history = served.json("/datasets/D/history");
    let identifiers: Vec<&str> = history["instances"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["identifier"].as_str().unwrap())
        .collect();
    for path in [
        "/?withdrawn=listed".to_owned(),
        "/datasets/D/".to_owned(),
        "/datasets/D/history".to_owned(),
        "/datasets/D@2001-01-05".to_owned(),
        format!("/DI:{}", identifiers[0]),
        format!("/DI:{}", identifiers[1]),
        "/compare/D@2001-01-05...D".to_owned(),
    ] {
        let page = served.page(&path);
        assert_harmless(&path, &page);
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path}: the text is shown");
        assert!(!page.contains('\u{202e}'), "{path}: nothing turns the direction of the page");
    }
    let feed = served.get("/datasets/D/feed.atom").text();
    assert!(!feed.contains("<script>") && feed.contains("&lt;script&gt;"), "{feed}");
}

#[test]
fn what_was_asked_is_repeated_as_text() {
    let served = served();
    let asked: String = form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect();
    let search = format!("/?q={asked}");
    assert_harmless(&search, &served.page(&search));
    for path in [
        format!("/check?text={asked}"),
        format!("/datasets/{}/", asked.replace('+', "%20")),
        format!("/DI:{}", asked.replace('+', "%20")),
        format!("/datasets/D@{}", asked.replace('+', "%20")),
        format!("/compare/{0}...{0}", asked.replace('+', "%20")),
        format!("/doi/{}", asked.replace('+', "%20")),
        format!("/?limit={asked}"),
    ] {
        let answer = served.get_as(&path, "text/html");
        assert!((400..500).contains(&answer.status), "{path}: {}", answer.status);
        assert_harmless(&path, &answer.text());
    }
}

#[test]
fn no_header_can_be_added() {
    let served = served();
    for path in [
        "/datasets/D@2001-01-05%0d%0aSet-Cookie:%20a=b",
        "/datasets/D/?at=2001-01-05%0d%0aSet-Cookie:%20a=b",
        "/datasets/D%0d%0aSet-Cookie:%20a=b",
        "/doi/10.1/%0d%0aSet-Cookie:%20a=b",
        "/?q=%0d%0aSet-Cookie:%20a=b",
        "/compare?left=a%0d%0aSet-Cookie:%20a=b&right=c",
    ] {
        let answer = served.get(path);
        assert!(answer.headers.get("set-cookie").is_none(), "{path}");
    }
}

#[test]
fn addresses_and_bodies_that_are_too_long_are_refused() {
    let served = Served::with(&[], ServerLimits { body_bytes: 1_000, ..ServerLimits::default() });
    let long = served.get(&format!("/?q={}", "a".repeat(9_000)));
    assert_eq!((long.status, long.problem().1.as_str()), (414, "too-long"));
    let body = "x".repeat(1_001);
    let headers = [("content-type", "text/plain"), ("accept", "application/json")];
    let long = served.ask(Method::POST, "/check", &headers, &body);
    assert_eq!((long.status, long.problem().1.as_str()), (413, "too-long"));
}

#[test]
fn paths_that_are_not_utf_8_or_not_ours_are_refused() {
    let served = served();
    for (path, status) in [
        ("/datasets/%ff/", 400),
        ("/%ff", 400),
        ("/datasets/../etc/passwd", 404),
        ("/datasets/..%2fetc/", 404),
        ("/datasets//", 404),
        ("/datasets/D@", 400),
        ("/datasets/D@2001-02-30", 400),
        ("/datasets/D@3001-01-01", 404),
        ("/datasets/D/history?after=x", 400),
        ("/datasets/D/history?limit=10001&format=json", 400),
        ("/datasets/D/?format=word", 400),
        ("/datasets/D/history?date=2001-02-30", 400),
        ("/datasets/D/history?date=2001", 400),
        ("/doi/nonsense", 400),
        ("/doi/10.9999/none", 404),
        ("/doi/", 404),
        ("/compare/", 404),
        ("/compare", 400),
        ("/compare/D", 400),
    ] {
        let answer = served.get(path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        answer.problem();
    }
    // If a resource does not exist, other methods also respond with 404.
    for (path, status) in [
        ("/", 405),
        ("/datasets/D/", 405),
        ("/openapi.json", 405),
        // Requests that would be redirected or rejected with GET.
        ("/datasets/D", 405),
        ("/compare?left=0&right=0", 405),
        ("/doi/nonsense", 405),
        ("/nothing", 404),
        ("/no/such/path", 404),
        ("/datasets/NO/", 404),
        ("/compare/", 404),
        ("/DI:00000000000000000000000000000000", 404),
    ] {
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            let answer = served.ask(method, path, &[], "");
            assert_eq!(answer.status, status, "{path}");
            assert_eq!(answer.header("allow").is_empty(), status == 404, "{path}");
            answer.problem();
        }
    }
    assert_eq!(served.get_as("/datasets/D/", "image/png").status, 406);
}
