//! `docs/reference/json.md` names exactly the fields of the rows that commands print, and every
//! kind of error, of warning and of finding.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::commands::{command_of, helps, leaf_commands};
use super::{Document, document, root};
use crate::harness::console::Sandbox;
use crate::harness::seal::seal_rows;

/// Error kinds that exist only in the command line, since the library does not know of arguments.
const KINDS_OF_THE_COMMAND_LINE: [&str; 1] = ["pages-missing"];

/// A registry with every kind of row, and every command with `--json`.
const SCENARIO: &[&str] = &[
    "accession dataset add US --doi 10.9999/US --title FOO --creator 'Tilmes, Curt' --publisher P \
     --dataset-version 2 --year 2001 --url https://example.org --archive US --licence CC-BY-4.0 --keyword ice --free-access yes \
     --temporal 2001-01-01/.. --granule-url 'https://example.org/{granule}'",
    "accession dataset add BARE",
    "accession ingest US --at 2001-01-02 --note first A.1 A.2",
    "accession ingest US --at 2001-01-02T12:00:00Z B.1",
    "accession delete US --at 2001-02-03 A.2",
    "printf 'C.1\\n' > new.txt; accession change US --at 2001-02-04 --ingest new.txt",
    "accession ingest THEM --create --at 2001-03-01 --uniquify A___1 A.9",
    "accession import LOG fixtures/input/changes.tsv --create",
    "accession dataset edit US --title FOO2",
    "timeout --preserve-status 2 accession serve --listen 127.0.0.1:0 --quiet",
    "accession dataset list",
    "accession dataset show US",
    "accession dataset show US --versions",
    "accession dataset rename BARE PLAIN",
    "accession dataset withdraw PLAIN --note 'registered by mistake'",
    "accession dataset list --all",
    "accession dataset reinstate PLAIN",
    "accession sync PLAIN --at 2001-01-02 X.1 X.2",
    "accession sync PLAIN --at now X.1 X.2",
    "accession dataset show PLAIN",
    "printf 'c157a79031e1c40f85931829bc5fc552  F.1\\n' | accession ingest FILES --create --at 2001-01-02 --from -",
    "printf '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae  F.1\\n' | accession fixity add FILES --at now --from -",
    "accession fixity list FILES",
    "accession cite FILES --digest",
    "accession revert US --to 2001-02-03 --at 2001-02-05",
    "accession find A.1",
    "accession history US --granule A.2",
    "accession granules US --count",
    "accession identify new.txt",
    "accession compare US --from new.txt",
    "accession compare US --from new.txt --summary",
    "accession annotate US@2001-01-02 --questionable --note 'incomplete'",
    "accession history US",
    "accession lookup US --at 2001-01-02",
    "accession granules US --at 2001-01-02",
    "accession granules THEM",
    "accession granules THEM --producer A.9",
    "accession cite US --at 2001-01-05 --select 'A.*' --format tuple > tuple.json",
    "accession cite US --at 2001-01-05 --format tuple",
    "accession resolve 1284dfe7d26bf312523d9fb945b96af0",
    "accession resolve 00000000000000000000000000000000",
    "accession subsets US",
    "accession resolve 1284dfe7d26bf312523d9fb945b96af0",
    "accession compare US US@2001-01-02",
    "accession check '{ doi:10.9999/US, 2001-01-05, DI:0dfa911f3d2cd780c1429b41df6b883e }' \
     '{ doi:10.9999/US, 2001-01-05, DI:1284dfe7d26bf312523d9fb945b96af0 }' 'DI:0dfa911f3d2cd780c1429b41df6b883, as held at 2001-01-05'",
    "printf '@misc{a, doi = {10.9999/US}}' > refs.bib; accession check --from refs.bib",
    "accession check DI:0dfa911f3d2cd780c1429b41df6b883e '{ doi:10.9999/OTHER, 2001-01-05, DI:0dfa911f3d2cd780c1429b41df6b883e }'",
    "accession export US > us.jsonl; accession mirror compare THEM us.jsonl",
    "accession mirror pull THEM us.jsonl",
    "accession mirror pull COPY us.jsonl --at 2001-03-01 --create",
    "accession ingest US --at 2001-03-02 D.1",
    "accession export US > us.jsonl; accession mirror compare COPY us.jsonl",
    "accession mirror pull EMPTY us.jsonl --create --dry-run",
    "accession mirror status",
    "accession status",
    "accession mirror pull --all",
    "accession mirror forget COPY us.jsonl",
    "accession mirror compare COPY us.jsonl",
    "accession publish www US",
    "accession publish www --verify",
    "printf x >> www/datasets/US/head.json; accession publish www --verify",
    // Another history at the same path.
    "accession export LOG > us.jsonl; accession mirror compare COPY us.jsonl",
    "accession ingest NEW --create --skip-existing --from /dev/null",
    "mkdir data; printf a > data/A.1; printf a > data/A.2; accession fixity compute US --root data",
    "printf b > data/A.1; accession fixity check US --root data --unexpected --root-name nas",
    "accession status US",
    "accession fixity forget US nas",
    "accession verify",
    "accession backup copy.db",
    "accession copy accession.db other.db",
    "accession dataset add LOST",
    "accession ingest US --at now LOST",
    "accession restore copy.db --dry-run",
    "accession restore copy.db",
    "printf damaged > damaged.db; ACCESSION_REGISTRY=damaged.db accession restore copy.db",
    "accession granule-id new A --collection A___1",
    "accession granule-id explain A_12345678 --collection A___1",
    "accession payment-id new --worker 1",
    "accession payment-id decode 2KNQ8300Z --epoch 2020-01-01",
];

/// Commands that are refused: by the library, and for their arguments.
const REFUSED: &[&str] = &[
    "accession ingest US --at now A.1",
    "accession ingest US --at noon D",
    "printf 'A.1\\n' > held.txt; accession ingest US --at now --from held.txt",
    "accession restore missing.db",
];

/// A command that needs a cluster, and its row. `tests/postgres/distribution.rs` compares them.
const ON_CLUSTER: (&str, &str) = ("distribute", "distributed");

/// A field of a row, as its table has it.
#[derive(Debug)]
struct Field {
    name: String,
    form: String,
}

/// The rows that the page describes: each a section with a table of fields.
struct Reference {
    rows: BTreeMap<String, Vec<Field>>,
    /// What a command prints: `rows of [instance](#instance)`.
    printed: BTreeMap<String, String>,
    seen: RefCell<BTreeSet<(String, String)>>,
}

/// The cells of every table row of a section that begins with inline code.
fn table<'a>(lines: &[&'a str]) -> Vec<(String, &'a str)> {
    let rows = lines.iter().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (code, rest) = row.split_once("` | ").unwrap();
        (code.to_owned(), rest.split(" |").next().unwrap())
    })
    .collect()
}

/// The lines of each section of a page, by heading.
fn sections(page: &Document) -> Vec<(String, Vec<&str>)> {
    let mut sections: Vec<(String, Vec<&str>)> = Vec::new();
    for line in page.prose() {
        if line.starts_with('#') {
            sections.push((line.trim_start_matches('#').trim().to_owned(), Vec::new()));
        } else if let Some((_, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    sections
}

fn page() -> Document {
    document(Path::new("docs/reference/json.md"))
}

fn section(title: &str) -> Vec<(String, String)> {
    let page = page();
    let sections = sections(&page);
    let (_, lines) = sections.iter().find(|(heading, _)| heading == title).unwrap();
    table(lines).into_iter().map(|(code, cell)| (code, cell.to_owned())).collect()
}

/// The section that a link in a form names.
fn linked(form: &str) -> Option<&str> {
    let (_, rest) = form.split_once("](#")?;
    rest.split(')').next()
}

impl Reference {
    fn read() -> Self {
        let page = page();
        let sections = sections(&page);
        let mut rows: BTreeMap<String, Vec<Field>> = BTreeMap::new();
        for (heading, lines) in &sections {
            let is_of_fields = lines.iter().any(|line| line.starts_with("| field | type |"));
            if !is_of_fields {
                continue;
            }
            let mut fields = Vec::new();
            for line in lines.iter().filter_map(|line| line.strip_prefix("All fields of [")) {
                let base = line.split(']').next().unwrap();
                let base = rows.get(base).unwrap_or_else(|| panic!("{base} comes after {heading}"));
                fields.extend(
                    base.iter().map(|it| Field { name: it.name.clone(), form: it.form.clone() }),
                );
            }
            for (name, form) in table(lines) {
                // A field of the base that is named again has another type here.
                fields.retain(|field: &Field| field.name != name);
                fields.push(Field { name, form: form.to_owned() });
            }
            rows.insert(heading.clone(), fields);
        }
        let printed = section("What each command prints").into_iter();
        let printed =
            printed.map(|(call, form)| (call["accession ".len()..].to_owned(), form)).collect();
        Reference { rows, printed, seen: RefCell::default() }
    }

    /// Checks a value against the type that the page states.
    fn check(&self, form: &str, value: &Value) -> Result<(), String> {
        let results: Vec<_> = form.split(" or ").map(|one| self.check_one(one, value)).collect();
        if results.iter().any(Result::is_ok) {
            return Ok(());
        }
        results.into_iter().next_back().unwrap()
    }

    fn check_one(&self, form: &str, value: &Value) -> Result<(), String> {
        let fits = match form {
            "null" => value.is_null(),
            "string" => value.is_string(),
            "integer" => value.is_u64(),
            "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "object of integers" => {
                value.as_object().is_some_and(|members| members.values().all(Value::is_u64))
            }
            _ => {
                if let Some(of) = form.strip_prefix("list of ") {
                    let Some(items) = value.as_array() else {
                        return Err(format!("{value} is not a list"));
                    };
                    return items.iter().try_for_each(|item| self.check_one(of, item));
                }
                let title = linked(form).unwrap_or_else(|| panic!("what is the type {form:?}?"));
                return self.check_row(title, value);
            }
        };
        if fits { Ok(()) } else { Err(format!("{value} is not: {form}")) }
    }

    fn check_row(&self, title: &str, value: &Value) -> Result<(), String> {
        let Some(row) = value.as_object() else { return Err(format!("{value} is not a row")) };
        let by_anchor = |(heading, _): &(&String, _)| heading.replace(' ', "-") == title;
        let Some((heading, fields)) = self.rows.iter().find(by_anchor) else {
            panic!("json.md has no section {title}");
        };
        for name in row.keys() {
            if !fields.iter().any(|field| field.name == *name) {
                return Err(format!("{heading}: the field {name} is not documented: {value}"));
            }
        }
        for Field { name, form } in fields {
            let (form, is_optional) = match form.strip_prefix("optional ") {
                Some(form) => (form, true),
                None => (form.as_str(), false),
            };
            match row.get(name) {
                Some(value) => {
                    self.check(form, value).map_err(|why| format!("{heading}.{name}: {why}"))?;
                    self.seen.borrow_mut().insert((heading.clone(), name.clone()));
                }
                None if is_optional => {}
                None => return Err(format!("{heading}: there is no {name}: {value}")),
            }
        }
        Ok(())
    }
}

/// What a command prints on stdout and on stderr, and the call itself.
fn run(sandbox: &Sandbox, command: &str) -> (Vec<String>, Vec<String>) {
    let with_json = match command.rsplit_once("accession ") {
        Some((before, call)) => format!("{before}accession --json {call}"),
        None => panic!("{command}"),
    };
    let printed = sandbox.run(&format!("( {with_json} ) 2> stderr.json"));
    let errors = std::fs::read_to_string(sandbox.path().join("stderr.json")).unwrap();
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| !line.starts_with("? ")).map(str::to_owned).collect()
    };
    (lines(&printed), lines(&errors))
}

#[test]
fn the_reference_names_every_field_that_commands_print_and_no_other() {
    let (reference, helps, sandbox) = (Reference::read(), helps(), Sandbox::new());
    let mut called = BTreeSet::new();
    let check_line = |form: &str, command: &str, line: &str| {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{command}: {error}: {line}"));
        reference.check(form, &value).unwrap_or_else(|why| panic!("{command}: {why}"));
    };
    let run_and_check = |command: &str| {
        let call = command.rsplit_once("accession ").unwrap().1;
        let words: Vec<&str> = call.split_whitespace().collect();
        let (name, _) = command_of(&words, &helps);
        let form = &reference.printed[&name];
        let (rows, errors) = run(&sandbox, command);
        let (is_one, form) = match (form.strip_prefix("one "), form.strip_prefix("rows of ")) {
            (Some(form), _) => (true, form),
            (None, Some(form)) => (false, form),
            (None, None) => panic!("{name} prints no JSON: {form}"),
        };
        assert!(!is_one || rows.len() <= 1, "{command}: {} rows", rows.len());
        let is_refused = errors.iter().any(|line| line.starts_with("{\"error\""));
        assert_eq!(is_refused, REFUSED.contains(&command), "{command}: {errors:?}");
        for row in &rows {
            check_line(form, command, row);
        }
        for line in &errors {
            check_line("[error](#error) or [warning](#warning)", command, line);
        }
        name
    };
    for command in SCENARIO.iter().chain(REFUSED) {
        called.insert(run_and_check(command));
    }
    // A damaged registry, so that there are findings.
    let damaged = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    damaged.execute("UPDATE instance SET identifier = zeroblob(16)", []).unwrap();
    seal_rows(&damaged);
    drop(damaged);
    run_and_check("accession verify US");

    let seen = reference.seen.borrow();
    for (heading, fields) in reference.rows.iter().filter(|(heading, _)| *heading != ON_CLUSTER.1) {
        for field in fields {
            let key = (heading.clone(), field.name.clone());
            assert!(seen.contains(&key), "no command printed {}.{}", key.0, key.1);
        }
    }
    for command in leaf_commands(&helps) {
        let Some(form) = reference.printed.get(command) else {
            panic!("{command} is not in the table of what commands print");
        };
        let prints_json = form.starts_with("one ") || form.starts_with("rows of ");
        let is_called = called.contains(command) || command == ON_CLUSTER.0;
        assert_eq!(is_called, prints_json, "{command}: {form}");
    }
}

#[test]
fn every_command_that_prints_json_has_a_sample() {
    let (reference, helps) = (Reference::read(), helps());
    let samples = document(Path::new("docs/reference/json-samples.md"));
    let lines = samples.code_in("console");
    let calls = lines.iter().filter(|line| line.starts_with("$ ") && line.contains("--json"));
    let sampled: BTreeSet<String> = calls
        .filter_map(|line| line.rsplit_once("accession "))
        .map(|(_, call)| command_of(&call.split_whitespace().collect::<Vec<_>>(), &helps).0)
        .collect();
    for (command, form) in &reference.printed {
        let prints_json = form.starts_with("one ") || form.starts_with("rows of ");
        let has_sample = sampled.contains(command) || *command == ON_CLUSTER.0;
        assert!(has_sample || !prints_json, "{}: add {command}", samples.path.display());
    }
}

/// The names in a source file that declares kinds as `Kind = "name",`.
fn kinds_of(path: &str) -> BTreeSet<String> {
    let source = std::fs::read_to_string(root().join(path)).unwrap();
    let lines = source.lines();
    let named = lines.filter_map(|line| line.trim().strip_suffix("\",")?.split_once(" = \""));
    named.map(|(_, kind)| kind.to_owned()).collect()
}

#[test]
fn the_reference_names_every_kind_of_error() {
    let mut kinds = kinds_of("src/error/mod.rs");
    kinds.extend(KINDS_OF_THE_COMMAND_LINE.map(str::to_owned));
    assert!(kinds.len() > 20, "{kinds:?}");
    let documented: BTreeSet<String> =
        section("Error kinds").into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(documented, kinds, "left: documented, right: in the source");
}

#[test]
fn the_reference_names_every_kind_of_warning() {
    let kinds = kinds_of("src/model/warning.rs");
    assert!(kinds.len() > 20, "{kinds:?}");
    let documented: BTreeSet<String> =
        section("Warning kinds").into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(documented, kinds, "left: documented, right: in the source");
}

#[test]
fn the_reference_names_every_code_of_a_finding() {
    let source = std::fs::read_to_string(root().join("src/registry/verify/finding.rs")).unwrap();
    let (_, variants) = source.split_once("pub enum Code {").unwrap();
    let lines = variants.lines().map(str::trim).take_while(|line| *line != "}");
    let mut codes = BTreeSet::new();
    for variant in lines.filter_map(|line| line.strip_suffix(',')) {
        let mut code = String::new();
        for (at, letter) in variant.char_indices() {
            if letter.is_uppercase() && at > 0 {
                code.push('-');
            }
            code.extend(letter.to_lowercase());
        }
        codes.insert(code);
    }
    assert!(codes.len() > 5, "{codes:?}");
    let documented: BTreeSet<String> =
        section("Finding codes").into_iter().map(|(code, _)| code).collect();
    assert_eq!(documented, codes, "left: documented, right: in the source");
}
