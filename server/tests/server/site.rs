//! A registry, and the service for it.

use harness::values::{AtTime, clock};
use std::path::PathBuf;

use accession::{DatasetFilter, Registry};
use accession_server::pages::{Serves, Site};
use accession_server::{Body, Config, Registration, ServerLimits, Service};
use http_body_util::BodyExt;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::runtime::Runtime;

use harness::seed::ids;
use harness::values::{change, name};

/// The identifiers of the seed's first two sets, computed by its one-liner.
pub const FIRST: &str = "7fb1e8ba9b0c9888858b66f6a1732d2c";
pub const SECOND: &str = "763122197bfb3ffbf0da14adbfb1b13b";

/// A registry in a directory, and the service for it.
pub struct Served {
    pub directory: tempfile::TempDir,
    pub registry: Registry,
    service: Service,
    runtime: Runtime,
}

/// A response with its complete body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Served {
    /// An empty registry, all of whose datasets are public.
    pub fn new() -> Self {
        Served::with(&[], ServerLimits::default())
    }

    /// An empty registry, in which only these datasets are public.
    pub fn with(datasets: &[&str], limits: ServerLimits) -> Self {
        let directory = harness::directory();
        let path = directory.path().join("accession.db");
        let registry = Registry::create(&path, clock()).unwrap();
        let public = match datasets {
            [] => DatasetFilter::All,
            datasets => DatasetFilter::Only(datasets.iter().map(|text| name(text)).collect()),
        };
        let service = Service::open(config(path, public, limits)).unwrap();
        let runtime = Runtime::new().unwrap();
        Served { directory, registry, service, runtime }
    }

    /// The seed. Clients can register subsets of it.
    pub fn registering(registration: Registration, limits: ServerLimits) -> Self {
        let served = Served::seed();
        let path = served.directory.path().join("accession.db");
        let config = config(path, DatasetFilter::from(name("US.FOOL2.002")), limits);
        let config = Config { registration: Some(registration), ..config };
        Served { service: Service::open(config).unwrap(), ..served }
    }

    /// A new service for the same registry, which has not responded to any request. It can be used as long as
    /// this one.
    pub fn again(&self) -> Self {
        let directory = harness::directory();
        let path = self.directory.path().join("accession.db");
        let service =
            Service::open(config(path, DatasetFilter::All, ServerLimits::default())).unwrap();
        let (registry, runtime) = (self.registry.clone(), Runtime::new().unwrap());
        Served { directory, registry, service, runtime }
    }

    /// The seed: a dataset with a record and five changes.
    pub fn seed() -> Self {
        let served = Served::new();
        served.add_seed();
        served
    }

    pub fn add_seed(&self) {
        for (at, ingest, delete) in [
            ("2001-01-02T00:00:00Z", "us-2001-01-02.txt", None),
            ("2001-01-03T00:00:00Z", "us-2001-01-03.txt", None),
            ("2001-02-03T00:00:00Z", "us-2001-02-03.txt", None),
            ("2001-03-01T00:00:00Z", "", Some("us-2001-03-01-deleted.txt")),
            ("2001-03-03T00:00:00Z", "us-2001-03-03.txt", None),
        ] {
            let list = |file: &str| if file.is_empty() { Vec::new() } else { ids(file) };
            let (ingest, delete) = (list(ingest), list(delete.unwrap_or_default()));
            let ingest: Vec<&str> = ingest.iter().map(String::as_str).collect();
            let delete: Vec<&str> = delete.iter().map(String::as_str).collect();
            self.change("US.FOOL2.002", at, &ingest, &delete);
        }
        self.registry
            .recorded_by("mallory".parse().unwrap())
            .edit_dataset(&name("US.FOOL2.002"), |dataset| {
                dataset.doi = Some("10.9999/US/FOOL2.v2".parse().unwrap());
                dataset.title = Some("FOO Level 2".to_owned());
                dataset.description =
                    Some(format!("Retrievals of foo. {}", "One granule an orbit. ".repeat(4)));
                dataset.creators = vec!["Tilmes, Curt (0000-0002-1825-0097)".parse().unwrap()];
                dataset.publisher = Some("US Archive".to_owned());
                dataset.year = Some("2001".parse().unwrap());
                dataset.licence = Some("CC-BY-4.0".parse().unwrap());
            })
            .unwrap();
    }

    /// Makes a change. Creates the dataset if it does not exist.
    pub fn change(&self, dataset: &str, at: &str, ingest: &[&str], delete: &[&str]) {
        let change = change(ingest.iter().copied(), delete.iter().copied());
        self.registry
            .recorded_by("mallory".parse().unwrap())
            .change(&name(dataset), &change.at(at.parse().unwrap()))
            .unwrap();
    }

    pub fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path, &[], "")
    }

    /// Sends a request with `Accept`.
    pub fn get_as(&self, path: &str, accept: &str) -> Answer {
        self.ask(Method::GET, path, &[("accept", accept)], "")
    }

    /// Sends a request like a browser.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get_as(path, "text/html,application/xhtml+xml,*/*;q=0.8");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        answer.text()
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get_as(path, "application/json");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        serde_json::from_slice(&answer.body).unwrap()
    }

    /// The identifier of the set that a dataset holds.
    pub fn latest(&self, dataset: &str) -> String {
        let dataset = self.json(&format!("/datasets/{dataset}/"));
        dataset["latest"]["identifier"].as_str().unwrap().to_owned()
    }

    pub fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.runtime.block_on(async { read(self.respond(method, path, headers, body).await).await })
    }

    async fn respond(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response<Body> {
        self.send(method, path, headers, Body::from(body.to_owned())).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Body,
    ) -> Response<Body> {
        let mut request = Request::builder().method(method).uri(path).header("host", "here");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.service.respond(request.body(body).unwrap()).await
    }

    /// The response to a body that is not complete from the start.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: Body) -> Answer {
        self.runtime
            .block_on(async { read(self.send(Method::POST, path, headers, body).await).await })
    }

    /// The bytes that a list sent before it ended or broke off, and whether it broke off.
    pub fn stream(&self, path: &str, between: impl Fn()) -> (Vec<u8>, bool) {
        self.runtime.block_on(async {
            let mut body = self.respond(Method::GET, path, &[], "").await.into_body();
            let mut sent = Vec::new();
            while let Some(frame) = body.frame().await {
                match frame {
                    Ok(frame) => sent.extend_from_slice(&frame.into_data().unwrap_or_default()),
                    Err(_) => return (sent, true),
                }
                between();
            }
            (sent, false)
        })
    }
}

async fn read(response: Response<Body>) -> Answer {
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer { status: parts.status.as_u16(), headers: parts.headers, body }
}

fn config(path: PathBuf, public: DatasetFilter, limits: ServerLimits) -> Config {
    Config {
        site: Site {
            resolver: None,
            name: "US Archive".to_owned(),
            contact: Some("archive@example.org".to_owned()),
            public_url: Some("https://registry.example".to_owned()),
            serves: Serves::Everything { is_public: true },
        },
        open: Box::new(move || Ok(Registry::open(&path, clock())?.public_view(public.clone()))),
        limits,
        registration: None,
    }
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The value of a header, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The status and the kind of a problem, which must be JSON of RFC 9457.
    pub fn problem(&self) -> (StatusCode, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text());
        let problem: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(problem["status"], self.status);
        (StatusCode::from_u16(self.status).unwrap(), problem["kind"].as_str().unwrap().to_owned())
    }
}

/// Asserts that a page contains each of these texts.
#[track_caller]
pub fn assert_has(page: &str, expected: &[&str]) {
    for expected in expected {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}
