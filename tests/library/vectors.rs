//! The test vectors of the two rules, computed by the library and by the programs of the documentation.

use std::path::PathBuf;
use std::process::Command;

use accession::chain::{CanonicalList, Chain};
use accession::file::{Checksum, Content, FilePath};
use accession::{FileRecord, GranuleId};
use serde_json::{Map, Value};

use harness::installed::installed;

fn text_of(file: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

fn vectors() -> Vec<Value> {
    let vectors: Vec<Value> = serde_json::from_str(&text_of("fixtures/vectors.json")).unwrap();
    assert!(vectors.len() >= 12);
    vectors
}

/// The granules of a vector, each with its files and their records.
fn granules(vector: &Value) -> Vec<(&String, &Map<String, Value>)> {
    let granules = vector["granules"].as_object().unwrap();
    granules.iter().map(|(granule, files)| (granule, files.as_object().unwrap())).collect()
}

fn known(files: &Map<String, Value>) -> impl Iterator<Item = (&String, &str)> {
    files.iter().flat_map(|(path, known)| {
        known.as_array().unwrap().iter().map(move |known| (path, known.as_str().unwrap()))
    })
}

/// The identifier and the digest.
fn expected(vector: &Value) -> String {
    format!("{} {}", vector["identifier"].as_str().unwrap(), vector["digest"].as_str().unwrap())
}

#[test]
fn the_library_computes_the_vectors() {
    for vector in vectors() {
        let mut granules = granules(&vector);
        granules.sort_by_key(|(granule, _)| GranuleId::new(granule.as_str()).unwrap());
        let (mut chain, mut list) = (Chain::start(), CanonicalList::start());
        for (granule, files) in granules {
            let granule_id = GranuleId::new(granule.as_str()).unwrap();
            let files = known(files).filter_map(|(path, known)| {
                let path = Some(FilePath::new(path.as_str()).unwrap());
                let size = known.strip_prefix("size:");
                let checksum = size.is_none().then(|| known.parse::<Checksum>().unwrap());
                FileRecord::new(&granule_id, path, size.map(|it| it.parse().unwrap()), checksum)
            });
            let content = Content::of(&granule_id, files.collect()).unwrap();
            let mut line = Vec::new();
            content.write_line(granule, &mut line);
            chain.push(granule);
            list.push(&line);
        }
        let computed = format!("{} {}", chain.identifier(), list.digest());
        assert_eq!(computed, expected(&vector), "{}", vector["name"]);
    }
}

#[test]
fn the_programs_in_the_documentation_compute_the_vectors() {
    let page = text_of("docs/reference/identifier.md");
    let program = |language: &str| {
        let rest = page.split(&format!("```{language}\n")).nth(1).unwrap();
        let program = rest.split("```").next().unwrap();
        assert!(program.lines().count() < 20, "{language}");
        program.to_owned()
    };
    let python = "
import json, sys
for it in json.load(open(sys.argv[1])):
    print(identifier(it['granules']), digest(it['granules']))";
    let js = "
import { readFileSync } from 'node:fs';
for (const { granules } of JSON.parse(readFileSync(process.argv[1])))
    console.log(identifier(granules), digest(granules));";
    let sql: String = vectors().iter().map(|vector| tables(vector) + &program("sql")).collect();
    let vectors_path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/vectors.json");
    let (python, js) = (program("python") + python, program("js") + js);
    let outputs = [
        (Some("python3".into()), vec!["-c", &python, vectors_path]),
        (installed("node"), vec!["--input-type=module", "-e", &js, vectors_path]),
        (installed("duckdb"), vec!["-list", "-noheader", "-separator", " ", "-c", &sql]),
    ];
    for (program, arguments) in outputs {
        let Some(program) = program else { continue };
        let output = Command::new(&program).args(arguments).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", program.display());
        let printed = String::from_utf8(output.stdout).unwrap();
        let expected: Vec<String> = vectors().iter().map(expected).collect();
        assert_eq!(printed.lines().collect::<Vec<_>>(), expected, "{}", program.display());
    }
}

/// The tables that the SQL of the documentation reads, with the granules of a vector.
fn tables(vector: &Value) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut sql = "CREATE OR REPLACE TABLE granule (granule VARCHAR);
CREATE OR REPLACE TABLE file (granule VARCHAR, path VARCHAR, known VARCHAR);\n"
        .to_owned();
    for (granule, files) in granules(vector) {
        let granule = quoted(granule);
        sql += &format!("INSERT INTO granule VALUES ({granule});\n");
        for (path, known) in known(files) {
            let row = [&granule, &quoted(path), &quoted(known)].map(String::as_str).join(", ");
            sql += &format!("INSERT INTO file VALUES ({row});\n");
        }
    }
    sql
}
