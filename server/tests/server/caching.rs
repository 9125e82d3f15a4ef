//! Conditional requests, HEAD, compression, and access for scripts on other sites.

use hyper::Method;
use std::io::Read;

use crate::site::{SECOND, Served};

fn paths() -> Vec<String> {
    [
        "/",
        "/datasets/US.FOOL2.002/",
        "/datasets/US.FOOL2.002/?format=bibtex",
        "/datasets/US.FOOL2.002/history?format=jsonl",
        "/datasets/US.FOOL2.002@2001-01-05",
        "/compare/US.FOOL2.002@2001-01-05...US.FOOL2.002",
        "/check",
        "/find?granule=A",
        "/style.css",
        "/robots.txt",
        "/sitemap.xml",
        &format!("/DI:{SECOND}"),
        &format!("/DI:{SECOND}?format=json"),
        &format!("/DI:{SECOND}/granules"),
        &format!("/DI:{SECOND}/granules?limit=3"),
    ]
    .map(str::to_owned)
    .into()
}

#[test]
fn a_client_that_has_it_is_told_so() {
    let served = Served::seed();
    for path in paths() {
        let first = served.get(&path);
        assert_eq!(first.status, 200, "{path}");
        let tag = first.header("etag").to_owned();
        // Responses that may be compressed have a weak ETag.
        let strong = tag.trim_start_matches("W/");
        assert!(strong.starts_with('"') && strong.len() > 10, "{path}: {tag}");
        let weak = format!("\"other\", W/{strong}");
        for known in [tag.clone(), strong.to_owned(), weak, "*".to_owned()] {
            let again = served.ask(Method::GET, &path, &[("if-none-match", &known)], "");
            assert_eq!((again.status, again.body.len()), (304, 0), "{path} with {known}");
            assert_eq!(again.header("etag"), tag);
            assert_eq!(again.header("cache-control"), first.header("cache-control"));
        }
        let other = served.ask(Method::GET, &path, &[("if-none-match", "\"other\"")], "");
        assert_eq!((other.status, &other.body), (200, &first.body), "{path}");
    }
}

#[test]
fn head_has_the_headers_of_get_and_nothing_else() {
    let served = Served::seed();
    for path in paths() {
        let (get, head) = (served.get(&path), served.ask(Method::HEAD, &path, &[], ""));
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{path}");
        for header in ["etag", "content-type", "cache-control", "link", "vary", "repr-digest"] {
            assert_eq!(head.header(header), get.header(header), "{path}: {header}");
        }
    }
}

#[test]
fn what_never_changes_may_be_kept_for_ever_and_nothing_else() {
    let served = Served::seed();
    for path in paths() {
        let answer = served.get(&path);
        let keep = answer.header("cache-control").to_owned();
        let is_list = path.contains("/granules");
        assert_eq!(keep.contains("immutable"), is_list, "{path}: {keep}");
        assert!(is_list || keep == "public, max-age=0, s-maxage=30", "{path}: {keep}");
    }
    for path in ["/nothing", "/datasets/NO/", "/?limit=0"] {
        assert_eq!(served.get(path).header("cache-control"), "no-store", "{path}");
    }
}

#[test]
fn a_compressed_answer_has_the_same_content_and_the_same_weak_etag() {
    let served = Served::seed();
    let path = "/datasets/US.FOOL2.002/";
    let plain = served.get(path);
    let packed = served.ask(Method::GET, path, &[("accept-encoding", "gzip")], "");
    assert_eq!(packed.header("content-encoding"), "gzip");
    assert!(packed.body.len() < plain.body.len() / 2);
    let mut content = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut content).unwrap();
    assert_eq!(content, plain.body);
    assert_eq!(packed.header("etag"), plain.header("etag"));
    assert!(plain.header("etag").starts_with("W/"));
    let vary = packed.header("vary").to_lowercase();
    assert!(vary.contains("accept") && vary.contains("accept-encoding"), "{vary}");
    let known = packed.header("etag").to_owned();
    let headers = [("accept-encoding", "gzip"), ("if-none-match", &*known)];
    assert_eq!(served.ask(Method::GET, path, &headers, "").status, 304);
}

#[test]
fn a_file_for_mirrors_has_its_digest_and_is_revalidated() {
    use base64::Engine;
    use sha2::Digest;
    let served = Served::seed();
    for file in ["head.json", "log/000000.jsonl"] {
        let path = format!("/datasets/US.FOOL2.002/{file}");
        for coding in ["identity", "gzip"] {
            let answer = served.ask(Method::GET, &path, &[("accept-encoding", coding)], "");
            let digest = sha2::Sha256::digest(&answer.body);
            let digest = base64::prelude::BASE64_STANDARD.encode(digest);
            assert_eq!(answer.header("repr-digest"), format!("sha-256=:{digest}:"), "{path}");
            assert_eq!(answer.header("cache-control"), "no-cache", "{path}");
        }
    }
}

#[test]
fn only_what_is_read_has_conditions_and_only_get_has_ranges() {
    let served = Served::seed();
    let path = "/datasets/US.FOOL2.002/log/000000.jsonl";
    let range = [("range", "bytes=100-")];
    assert_eq!(served.ask(Method::GET, path, &range, "").status, 206);
    let head = served.ask(Method::HEAD, path, &range, "");
    assert_eq!((head.status, head.header("content-range")), (200, ""));
    let known = [("if-none-match", "*"), ("content-type", "text/plain")];
    let checked = served.ask(Method::POST, "/check", &known, &format!("DI:{SECOND}"));
    assert_eq!(checked.status, 200);
}

#[test]
fn scripts_of_other_sites_may_read_and_nobody_may_write() {
    let served = Served::seed();
    for path in paths() {
        assert_eq!(served.get(&path).header("access-control-allow-origin"), "*", "{path}");
        for method in [Method::PUT, Method::DELETE, Method::PATCH] {
            let answer = served.ask(method, &path, &[], "");
            assert_eq!(
                (answer.status, answer.problem().1.as_str()),
                (405, "method-not-allowed"),
                "{path}"
            );
            assert!(answer.header("allow").contains("GET"), "{path}");
        }
        let preflight = served.ask(Method::OPTIONS, &path, &[("origin", "https://a.example")], "");
        assert_eq!(preflight.status, 200);
        assert!(preflight.header("access-control-allow-methods").contains("GET"));
    }
    assert_eq!(served.ask(Method::POST, "/", &[], "").status, 405);
}
