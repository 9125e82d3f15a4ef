//! Every response shows only public datasets.

use accession_server::ServerLimits;

use crate::site::Served;
use harness::values::name;

/// Two datasets that hold the same set, one of which is public.
fn served() -> (Served, String) {
    let served = Served::with(&["OPEN"], ServerLimits::default());
    served.change("OPEN", "2001-01-01T00:00:00Z", &["A", "B"], &[]);
    served.change("SECRET", "2002-01-01T00:00:00Z", &["A", "B"], &[]);
    served.change("SECRET", "2003-01-01T00:00:00Z", &["HIDDEN"], &["A"]);
    let same = served.latest("OPEN");
    (served, same)
}

#[test]
fn a_dataset_that_is_not_public_is_in_no_answer() {
    let (served, same) = served();
    let hidden = {
        let snapshot = served.registry.snapshot().unwrap();
        snapshot.dataset(&name("SECRET")).unwrap().latest.unwrap().identifier
    };
    for (path, status) in [
        ("/".to_owned(), 200),
        ("/?q=secret".to_owned(), 200),
        ("/datasets/SECRET/".to_owned(), 404),
        ("/datasets/SECRET/history".to_owned(), 404),
        ("/datasets/SECRET@2002-01-05".to_owned(), 404),
        (format!("/DI:{same}"), 200),
        (format!("/DI:{same}?format=json"), 200),
        (format!("/DI:{same}?format=bibtex"), 200),
        (format!("/DI:{hidden}"), 404),
        (format!("/DI:{hidden}/granules"), 404),
        ("/find?granule=A".to_owned(), 200),
        ("/find?granule=HIDDEN".to_owned(), 200),
        ("/compare/OPEN...SECRET".to_owned(), 404),
        (format!("/check?text=DI:{same}%20SECRET%202002-01-05"), 200),
        (format!("/check?text=DI:{hidden}"), 200),
        ("/sitemap.xml".to_owned(), 200),
    ] {
        for accept in ["text/html", "application/json", "*/*"] {
            let answer = served.get_as(&path, accept);
            if answer.status == 406 {
                continue;
            }
            assert_eq!(answer.status, status, "{path} as {accept}: {}", answer.text());
            let text = answer.text();
            let asked = path.to_lowercase().contains("secret") || path.contains("HIDDEN");
            if !asked {
                assert!(!text.contains("SECRET") && !text.contains("HIDDEN"), "{path}: {text}");
            }
            assert!(!text.contains("2003-01-01"), "{path}: {text}");
        }
    }
    // Without the restriction, the same requests have different responses.
    let all = Served::new();
    all.change("SECRET", "2002-01-01T00:00:00Z", &["A", "B"], &[]);
    assert!(all.get("/find?granule=A&format=json").text().contains("SECRET"));
}

#[test]
fn a_digest_of_a_dataset_that_is_not_public_is_not_counted() {
    // The digests of these two sets begin with the same 12 digits.
    let (open, secret) = (["G28041929"], ["G29068248"]);
    for (public, status) in [(&["OPEN"][..], 303), (&["OPEN", "SECRET"], 409)] {
        let served = Served::with(public, ServerLimits::default());
        served.change("OPEN", "2001-01-01T00:00:00Z", &open, &[]);
        served.change("SECRET", "2002-01-01T00:00:00Z", &secret, &[]);
        let leads = served.get("/sha256:f3aa07e28468");
        assert_eq!(leads.status, status, "{public:?}: {}", leads.text());
        if status == 303 {
            assert!(leads.header("location").starts_with("/datasets/OPEN@"));
        }
    }
}

#[test]
fn a_public_dataset_stays_public_under_another_name() {
    let (served, _) = served();
    served
        .registry
        .recorded_by("mallory".parse().unwrap())
        .rename_dataset(&name("OPEN"), &name("OPENED"))
        .unwrap();
    assert_eq!(served.get("/datasets/OPENED/").status, 200);
    assert_eq!(served.get("/datasets/OPEN/").status, 301);
}
