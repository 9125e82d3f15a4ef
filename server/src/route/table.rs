//! The table of all routes, from which the router and `/openapi.json` are built.

use axum::extract::{DefaultBodyLimit, State};
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodRouter, get, post};
use axum::{Router, http::Method};
use serde_json::{Map, Value, json};

use super::{check, comparison, dataset, granules, lists, published, site, subsets};
use crate::registration::BODY_BYTES;
use crate::request::{Format, citations};
use crate::response::{CachePolicy, in_format};
use crate::state::App;

/// A route with its description.
pub struct Route {
    pub path: &'static str,
    method: Method,
    handler: MethodRouter<App>,
    id: &'static str,
    tag: &'static str,
    summary: &'static str,
    /// The keys of its [`PARAMETERS`].
    parameters: &'static str,
    /// Media types of the content, each with its schema. `None` means that the media type needs no schema.
    content: Vec<(&'static str, Option<Value>)>,
    /// The values of `?format=`.
    formats: Vec<&'static str>,
    statuses: Vec<u16>,
    body: Option<Value>,
}

/// The formats that routes offer.
const PAGE: &[Format] = &[Format::Html, Format::Json];
const LIST: &[Format] = &[Format::Html, Format::Json, Format::JsonLines];
const ROWS: &[Format] = &[Format::Json, Format::JsonLines];
const LINES: &[Format] = &[Format::Lines];
const IDS: &[Format] = &[Format::Lines, Format::JsonLines];

const TAGS: [(&str, &str); 5] = [
    ("datasets", "Datasets, their histories, and what they held at a time."),
    ("sets", "Sets of granules by their identifiers, wherever they were held."),
    ("citations", "The sets that pasted citations mean."),
    ("mirrors", "The files that mirrors read. `accession publish` writes most of them."),
    ("site", "For browsers, search engines and operators."),
];

/// The parameters: the key in the table, the name, the location, the description, the schema and an example.
const PARAMETERS: &str = r#"
name | name | path | The name of a dataset. | {"type":"string","maxLength":200,"pattern":"^[A-Za-z0-9][A-Za-z0-9._:-]*$"} | US.FOOL2.002
instance | name | path | NAME@TIME, or NAME. | {"type":"string","maxLength":240,"pattern":"^[A-Za-z0-9][A-Za-z0-9._:-]*(@[0-9TZ:.+-]+)?$"} | US.FOOL2.002@2001-01-05
identifier | identifier | path | DI: and 32 hexadecimal digits. (A digest, sha256: and 12 to 64 digits, leads to its latest set.) | {"type":"string","pattern":"^[Dd][Ii]:[0-9A-Fa-f]{32}$"} | DI:763122197bfb3ffbf0da14adbfb1b13b
segment | segment | path | The number of the segment with six digits, and its form. | {"type":"string","pattern":"^[0-9]{6,}\\.jsonl(\\.gz)?$"} | 000000.jsonl
level | level | path | The level of the hashes, from 0, or entries: the statements. | {"type":"string","pattern":"^(entries|[0-9])$"} | entries
tile | tile | path | The number of the tile in groups of three digits; for a partial tile, .p/ and its width follow. | {"type":"string"} | 000
sides | sides | path | LEFT...RIGHT; each is DI:…, NAME or NAME@TIME. | {"type":"string","pattern":"^[^/]+\\.\\.\\.[^/]+$"} | US.FOOL2.002@2001-01-05...US.FOOL2.002
doi | doi | path | A DOI, with its slashes. | {"type":"string","pattern":"^10\\.[0-9]{4,9}/[^\\s]+$"} | 10.9999/US/FOOL2.v2
q | q | query | Words of a name, title or DOI; an identifier leads to its set. | {"type":"string"}
withdrawn | withdrawn | query | Whether withdrawn datasets are listed. | {"type":"string","enum":["listed"]}
after | after | query | The row after which the page begins. | {"type":"string"}
limit | limit | query | The number of rows of a page. | {"type":"integer","minimum":1,"maximum":10000}
limit-1000 | limit | query | The number of rows of a page. | {"type":"integer","minimum":1,"maximum":1000}
limit-100000 | limit | query | The number of rows of a page. | {"type":"integer","minimum":1,"maximum":100000}
limit-ids | limit | query | The number of ids of a page, which ends by bytes, too. Without limit and after, all are sent. | {"type":"integer","minimum":1}
at | at | query | A time: RFC 3339, or a date, which means the end of that day in UTC. | {"type":"string"}
date | date | query | A day: the list begins with the last change of this day or before it. | {"type":"string","format":"date"}
left | left | query | A set. | {"type":"string","minLength":1} | US.FOOL2.002
right | right | query | A set. | {"type":"string","minLength":1} | US.FOOL2.002
text | text | query | The citations. | {"type":"string"}
granule | granule | query | The id of a granule, or its beginning and a *. | {"type":"string","maxLength":1000} | A
digest | digest | query | A digest of the set: one of several contents that were held under the identifier. | {"type":"string"}
select | select | query | A pattern of ids; can be repeated. | {"type":"string"}
dataset | dataset | query | The dataset that is meant, if several hold the set. | {"type":"string"}
algorithm | algorithm | query | The algorithm of the checksums; without it, sha-256 or the strongest. | {"type":"string"}
format | format | query | The format; without it, the header Accept decides. | {}
"#;

/// The schemas, each with its fields as `name:type`. A type that ends with `?` can be null, `[type]` is an
/// array, and a type with an upper-case letter is another schema. A field whose name ends with `~` may be
/// absent.
const SCHEMAS: &str = "
Instance dataset:string timestamp:string until:string? identifier:string digest:string granules:integer ingested:integer deleted:integer described:integer replaced:integer recorded:string recorded_by:null note:string? annotations:[Annotation]
Annotation note:string questionable:boolean recorded:string recorded_by:null
Confirmation timestamp:string recorded_by:null granules:integer
Found dataset:string timestamp:string until:string? identifier:string digest:string granules:integer ingested:integer deleted:integer described:integer replaced:integer recorded:string recorded_by:null note:string? annotations:[Annotation] digests:[DigestPeriod] withdrawn~:Withdrawal? others~:[Instance]
Withdrawal timestamp:string note:string?
Correction recorded:string after:string? kept_as:string
Dataset name:string doi:string? title:string? description:string? creators:[string] publisher:string? version:string? year:integer? url:string? licence:string? archive:string? granule_url:string? resolver~:string keywords:[string] free_access:boolean? temporal:string? withdrawn:Withdrawal? former_names:[string] corrections~:[Correction] latest:Instance? confirmed:Confirmation? problem~:string
Subset identifier:string digest:string dataset:string timestamp:string patterns:[string]? granules:integer cited:string
DigestPeriod digest:string from:string until:string?
Resolved kind:string dataset:string from:string until:string? identifier:string granules:integer digests:[DigestPeriod] instance:Instance? subset:Subset? annotations:[Annotation] withdrawn:Withdrawal?
FoundPeriod dataset:string granule:string ingested:string deleted:string? withdrawn:Withdrawal? url:string?
ComparedSet identifier:string granules:integer dataset:string timestamp:string
Verdict citation:integer identifier:string? digest:string? doi:string? date:string? known:boolean agrees:boolean? ok:boolean problem:string? note:string? intervals:[Resolved] interval_count:integer
Datasets datasets:[Dataset] next:uri?
Changes instances:[Instance] next:uri?
Intervals identifier:string granules:integer? intervals:[Resolved] next:uri?
Periods periods:[FoundPeriod] next:uri?
Verdicts ok:boolean citations:[Verdict] sets:[object]
Comparison identical:boolean? left:ComparedSet right:ComparedSet matched:integer? only_left_count:integer? only_right_count:integer? only_left:[string] only_right:[string] digest_equal:boolean other_content_count:integer? other_content:[string] next:uri?
Problem type:string title:string status:integer kind:string detail:string hint~:string? instance~:string
";

/// All routes. Routes with bodies limit their lengths themselves.
pub fn routes(body_bytes: usize) -> Vec<Route> {
    let text = json!({ "type": "string" });
    let form = json!({ "type": "object", "properties": { "text": { "type": "string" } } });
    let patterns = json!({
        "type": "object", "required": ["patterns"], "additionalProperties": false,
        "properties": {
            "patterns": { "type": "array", "minItems": 1, "maxItems": 20, "items": { "type": "string" } },
            "at": { "type": ["string", "null"] },
        },
    });
    vec![
        read("/", lists::index, ["listDatasets", "datasets", "The datasets, or those that a search finds"]).takes("q withdrawn after limit-1000").offers(LIST, "Datasets").leads(&[303]),
        read("/datasets", site::datasets, ["redirectToDatasets", "datasets", "Redirects to the datasets"]).leads(&[308]),
        read("/datasets/", site::datasets, ["redirectSlashToDatasets", "datasets", "Redirects to the datasets"]).leads(&[308]),
        read("/datasets/{name}", dataset::instance, ["getInstance", "datasets", "A dataset as it was held at a time: NAME@TIME. NAME alone leads to the dataset"]).takes("instance").offers(PAGE, "Found").cites().leads(&[301, 308]),
        read("/datasets/{name}/", dataset::dataset, ["getDataset", "datasets", "A dataset: its record and its latest set"]).takes("name at").offers(PAGE, "Dataset").cites().leads(&[301, 303]),
        read("/datasets/{name}/history", lists::history, ["listChanges", "datasets", "The changes of a dataset, newest first"]).takes("name after limit date").offers(LIST, "Changes").leads(&[301]),
        read("/datasets/{name}/feed.atom", dataset::feed, ["getDatasetFeed", "datasets", "The latest changes of a dataset, as a feed"]).takes("name").sends("application/atom+xml").leads(&[301]),
        read("/datasets/{name}/head.json", published::head, ["getHead", "mirrors", "The end of the log of a dataset, for mirrors. Changes are published first"]).takes("name").file("application/json"),
        read("/datasets/{name}/log/{segment}", published::segment, ["getLogSegment", "mirrors", "A segment of the log of a dataset. Published bytes never change; lines are appended to the last segment"]).takes("name segment").file("application/jsonl").file("application/gzip"),
        read("/datasets/{name}/subsets.jsonl", published::subsets, ["getSubsets", "mirrors", "The cited subsets of a dataset, as they were published with the head"]).takes("name").file("application/jsonl"),
        read("/datasets/{name}/annotations.jsonl", published::annotations, ["getAnnotations", "mirrors", "The annotations of a dataset, as they were published with the head; 404 if it has none"]).takes("name").file("application/jsonl"),
        write("/datasets/{name}/subsets", subsets::register, BODY_BYTES, ["registerSubset", "citations", "Saves a subset of a dataset, which then resolves as if the archive had cited it"]).takes("name at").accepts(&[("text/plain", &text), ("application/json", &patterns)]).sends_json("Subset Instance").leads(&[201]),
        read("/statements/checkpoint", published::statements, ["getCheckpoint", "mirrors", "The latest signed checkpoint of the log of statements (tlog-checkpoint)"]).sends("text/plain"),
        read("/statements/policy", published::statements, ["getPolicy", "mirrors", "The keys of the log of statements, and its witnesses (tlog-policy)"]).sends("text/plain"),
        read("/statements/tile/{level}/{*tile}", published::statements, ["getTile", "mirrors", "Statements, or hashes of their tree (tlog-tiles). They never change"]).takes("level tile").sends("application/octet-stream"),
        read("/compare/{sides}", comparison::comparison, ["compareSets", "sets", "The granules that differ between two sets. The first page has the counts"]).takes("sides after limit-100000").offers(LIST, "Comparison"),
        read("/compare", comparison::form, ["redirectToComparison", "sets", "Redirects to a comparison, for a form"]).takes("left right").leads(&[303]),
        read("/check", check::check, ["checkShortText", "citations", "Finds the citations in a text, and whether each set is known and current"]).takes("text").offers(LIST, "Verdicts"),
        write("/check", check::check_text, body_bytes, ["checkText", "citations", "The same for a longer text. Nothing is stored"]).accepts(&[("text/plain", &text), ("application/x-www-form-urlencoded", &form)]).offers(LIST, "Verdicts"),
        read("/find", lists::find, ["findGranule", "sets", "The datasets and periods in which a granule was held, or all whose ids begin so"]).takes("granule after limit").offers(ROWS, "Periods"),
        read("/doi/{*doi}", dataset::doi, ["redirectToDoi", "datasets", "Redirects to the dataset with a DOI"]).takes("doi").leads(&[303]),
        read("/{identifier}", dataset::set, ["getSet", "sets", "Where and when a set was in force, and its citation"]).takes("identifier digest after limit").offers(LIST, "Intervals").cites().leads(&[303, 308]),
        read("/{identifier}/", dataset::set, ["redirectToSet", "sets", "Redirects to a set"]).takes("identifier").leads(&[303, 308]),
        read("/{identifier}/granules", granules::granules, ["listGranules", "sets", "The ids of a set in canonical order. They never change; a whole list is proved at its end"]).takes("identifier digest select after limit-ids").offers(IDS, "").leads(&[303, 308]),
        read("/{identifier}/urls", granules::urls, ["listAddresses", "sets", "The addresses of the granules of a set; 404 if the dataset does not say them"]).takes("identifier digest select after limit-ids dataset").offers(IDS, "").leads(&[308]),
        read("/{identifier}/checksums", granules::checksums, ["listChecksums", "sets", "The checksums of the files of a set, as sha256sum --check reads them. The header accession-left-out counts what has none"]).takes("identifier digest algorithm dataset at").offers(LINES, "").leads(&[308]),
        read("/{identifier}/list", granules::canonical, ["listCanonical", "sets", "The canonical list of a set, whose SHA-256 is the digest"]).takes("identifier digest dataset at").offers(LINES, "").leads(&[308]),
        read("/{identifier}/proof", dataset::proof, ["getProof", "sets", "The proof of the statements about a set"]).takes("identifier digest dataset at").offers(LINES, "").leads(&[308]),
        read("/style.css", site::file, ["getStyle", "site", "The style sheet of the pages"]).sends("text/css"),
        read("/script.js", site::file, ["getScript", "site", "The script of the pages"]).sends("text/javascript"),
        read("/icon.svg", site::file, ["getIcon", "site", "The icon of the pages"]).sends("image/svg+xml"),
        read("/identifier", site::identifier, ["getRule", "site", "How an identifier is computed"]).sends("text/html"),
        read("/feed.atom", lists::feed, ["getFeed", "site", "The latest changes of all datasets, as a feed"]).sends("application/atom+xml"),
        read("/healthz", site::health, ["getHealth", "site", "Whether the registry can be read"]).sends("application/json"),
        read("/metrics", site::metrics, ["getMetrics", "site", "Counts for Prometheus"]).sends("text/plain"),
        read("/robots.txt", site::robots, ["getRobots", "site", "What search engines leave out"]).sends("text/plain"),
        read("/sitemap.xml", site::sitemap, ["getSitemap", "site", "The pages of the datasets"]).sends("application/xml"),
        read("/openapi.json", openapi, ["getDescription", "site", "This description"]).sends("application/json"),
    ]
}

fn read<H: Handler<T, App>, T: 'static>(
    path: &'static str,
    handler: H,
    names: [&'static str; 3],
) -> Route {
    Route { statuses: vec![304], ..of(path, Method::GET, get(handler), names) }
}

fn write<H, T>(path: &'static str, handler: H, bytes: usize, names: [&'static str; 3]) -> Route
where
    H: Handler<T, App>,
    T: 'static,
{
    of(path, Method::POST, post(handler).layer(DefaultBodyLimit::max(bytes)), names)
}

fn of(
    path: &'static str,
    method: Method,
    handler: MethodRouter<App>,
    names: [&'static str; 3],
) -> Route {
    let [id, tag, summary] = names;
    let (content, formats, statuses) = (Vec::new(), Vec::new(), Vec::new());
    Route {
        path,
        method,
        handler,
        id,
        tag,
        summary,
        parameters: "",
        content,
        formats,
        statuses,
        body: None,
    }
}

impl Route {
    fn takes(self, parameters: &'static str) -> Self {
        Route { parameters, ..self }
    }

    /// Adds formats from which the client chooses one, and the schema of JSON.
    fn offers(mut self, formats: &[Format], schema: &str) -> Self {
        for format in formats {
            let schema = (*format == Format::Json).then(|| reference(schema));
            self.content.push((format.media_type(), schema));
            self.formats.push(format.name());
        }
        self
    }

    /// Adds all formats of citations.
    fn cites(self) -> Self {
        let formats: Vec<Format> = citations().collect();
        self.offers(&formats, "")
    }

    /// Adds content of one media type.
    fn sends(mut self, media_type: &'static str) -> Self {
        self.content.push((media_type, None));
        self
    }

    fn sends_json(mut self, schemas: &str) -> Self {
        let schemas: Vec<Value> = schemas.split(' ').map(reference).collect();
        self.content.push(("application/json", Some(json!({ "oneOf": schemas }))));
        self
    }

    /// Adds a file, which may be sent in part.
    fn file(self, media_type: &'static str) -> Self {
        self.sends(media_type).leads(&[206, 416])
    }

    fn leads(mut self, statuses: &[u16]) -> Self {
        self.statuses.extend(statuses);
        self
    }

    fn accepts(self, kinds: &[(&str, &Value)]) -> Self {
        let kinds =
            kinds.iter().map(|(kind, schema)| (kind.to_string(), json!({ "schema": schema })));
        let content: Map<String, Value> = kinds.collect();
        Route { body: Some(json!({ "required": true, "content": content })), ..self }
    }

    fn description(&self) -> Value {
        let mut parameters: Vec<Value> =
            self.parameters.split_whitespace().map(parameter).collect();
        if self.formats.len() > 1 {
            let mut format = parameter("format");
            format["schema"] = json!({ "type": "string", "enum": self.formats });
            parameters.push(format);
        }
        let content: Map<String, Value> = self
            .content
            .iter()
            .map(|(kind, schema)| {
                (
                    kind.to_string(),
                    schema.as_ref().map_or(json!({}), |schema| json!({ "schema": schema })),
                )
            })
            .collect();
        let mut responses = Map::new();
        if !content.is_empty() {
            let header = json!({ "schema": { "type": "string" } });
            let headers =
                json!({ "ETag": header, "Cache-Control": header, "Link": header, "Vary": header });
            responses.insert(
                "200".to_owned(),
                json!({ "description": "The content.", "headers": headers, "content": content }),
            );
        }
        for status in &self.statuses {
            let response = match status {
                201 | 206 => {
                    json!({ "description": if *status == 201 { "It is stored." } else { "A part of the file." }, "content": content })
                }
                304 => json!({ "description": "The client has it already." }),
                416 => json!({ "description": "The file has no such byte." }),
                _ => {
                    json!({ "description": "It is at the address in Location.", "headers": { "Location": { "schema": { "type": "string" } } } })
                }
            };
            responses.insert(status.to_string(), response);
        }
        let problem = json!({ "application/problem+json": { "schema": reference("Problem") }, "text/html": {} });
        responses.insert(
            "default".to_owned(),
            json!({ "description": "Why the request is rejected (RFC 9457).", "content": problem }),
        );
        let mut operation = json!({
            "summary": self.summary, "operationId": self.id, "tags": [self.tag],
            "description": format!("{}.", self.summary), "parameters": parameters, "responses": responses,
        });
        if let Some(body) = &self.body {
            operation["requestBody"] = body.clone();
        }
        operation
    }
}

fn parameter(key: &str) -> Value {
    let rows = PARAMETERS.lines().map(|row| row.split(" | ").collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row[0] == key);
    let Some(&[_, name, place, description, schema, ..]) = row.as_deref() else {
        return Value::Null;
    };
    let schema: Value = serde_json::from_str(schema).unwrap_or_default();
    let is_required = place == "path" || ["left", "right", "granule"].contains(&name);
    let mut parameter = json!({
        "name": name, "in": place, "description": description, "required": is_required, "schema": schema,
    });
    if let Some(example) = row.as_ref().and_then(|row| row.get(5)) {
        parameter["example"] = json!(example);
    }
    parameter
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// The JSON schema of a type in [`SCHEMAS`].
fn kind(text: &str) -> Value {
    if let Some(text) = text.strip_suffix('?') {
        return json!({ "anyOf": [kind(text), { "type": "null" }] });
    }
    if let Some(items) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return json!({ "type": "array", "items": kind(items) });
    }
    match text {
        "uri" => json!({ "type": "string", "format": "uri" }),
        text if text.starts_with(|it: char| it.is_ascii_uppercase()) => reference(text),
        text => json!({ "type": text }),
    }
}

fn schema(fields: &str) -> Value {
    let (mut required, mut properties) = (Vec::new(), Map::new());
    for (name, text) in fields.split(' ').filter_map(|field| field.split_once(':')) {
        let name = match name.strip_suffix('~') {
            Some(optional) => optional,
            None => {
                required.push(name);
                name
            }
        };
        properties.insert(name.to_owned(), kind(text));
    }
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// The router of all routes.
pub fn router(body_bytes: usize) -> Router<App> {
    routes(body_bytes)
        .into_iter()
        .fold(Router::new(), |router, route| router.route(route.path, route.handler))
}

/// The OpenAPI description of all routes of this server.
async fn openapi(State(state): State<App>) -> Response {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes(state.limits.body_bytes) {
        let is_saving = route.method == Method::POST && route.path.ends_with("/subsets");
        if is_saving && state.registering.is_none() {
            continue;
        }
        let method = route.method.as_str().to_lowercase();
        let path = paths.entry(route.path.replace("{*", "{")).or_insert_with(|| json!({}));
        path[method] = route.description();
    }
    let schemas: Map<String, Value> = SCHEMAS
        .lines()
        .filter_map(|row| row.split_once(' '))
        .map(|(name, fields)| (name.to_owned(), schema(fields)))
        .collect();
    let tags: Vec<Value> =
        TAGS.iter().map(|(name, text)| json!({ "name": name, "description": text })).collect();
    let licence = "MIT OR Apache-2.0";
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "A registry of data granules",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The formats, lists and problems are described in docs/reference/http.md of accession.",
            "license": { "name": licence, "identifier": licence },
            "contact": { "name": state.site.contact.as_ref().unwrap_or(&state.site.name) },
        },
        "servers": [{ "url": state.site.address_or_href("") }],
        "security": [],
        "tags": tags,
        "paths": paths,
        "components": { "schemas": schemas },
    });
    let document = document.to_string();
    in_format(Format::Json, document, CachePolicy::Shared)
}
