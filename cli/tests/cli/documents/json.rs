//! `docs/reference/json.md` names exactly the fields of the rows that commands print, and every kind of error,
//! warning and finding.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use super::commands::{command_of, helps, leaf_commands};
use super::{Document, document, documents, root, transcripts};

/// Error kinds of the command line only, since the library does not know arguments.
const KINDS_OF_THE_COMMAND_LINE: [&str; 3] = ["cannot-listen", "machines-missing", "output"];

/// A command that needs a cluster, and its row. `cli/tests/postgres/distribution.rs` compares them.
const ON_CLUSTER: (&str, &str) = ("registry distribute", "distributed");

/// A field of a row, as in its table.
#[derive(Debug)]
struct Field {
    name: String,
    form: String,
}

/// The rows that the page describes. Each is a section with a table of fields.
struct Reference {
    rows: BTreeMap<String, Vec<Field>>,
    /// What a command prints: `rows of [instance](#instance)`.
    printed: BTreeMap<String, String>,
    seen: RefCell<BTreeSet<(String, String)>>,
}

/// The rows of a section's table that begin with inline code: the code, and the next cell.
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

/// The rows of the table in a section of the page: the code at the beginning, and the next cell.
pub fn section(title: &str) -> Vec<(String, String)> {
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
                // If a field of the base is listed again, it has a different type here.
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

    /// Checks a value against the type on the page.
    fn check(&self, form: &str, value: &Value) -> Result<(), String> {
        let results: Vec<_> = form.split(" or ").map(|one| self.check_one(one, value)).collect();
        if results.iter().any(Result::is_ok) {
            return Ok(());
        }
        results.into_iter().next_back().unwrap()
    }

    fn check_one(&self, form: &str, value: &Value) -> Result<(), String> {
        let fits = match form {
            // `library/log_format.rs` checks its members.
            "[file](manifest.md)" => value.is_object(),
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

/// The calls with `--json` in a document, and the rows that each prints. Calls with filtered output are left
/// out, except in the samples, which have whole rows.
fn calls_with_json(document: &Document) -> Vec<(String, Vec<Value>)> {
    let text = document.code_in("console").join("\n").replace("\\\n", " ");
    let are_whole = document.path.ends_with("json-samples.md");
    let mut calls = Vec::new();
    for (line, printed) in text.split("\n$ ").filter_map(|one| one.split_once('\n')) {
        let Some((_, call)) = line.trim_start_matches("$ ").rsplit_once("accession ") else {
            continue;
        };
        let is_filtered = call.contains(['|', ';', '>', '&']) && !are_whole;
        if is_filtered || !call.contains("--json") {
            continue;
        }
        let rows = printed.lines().filter(|line| !line.starts_with("? ")).map(|line| {
            let row = serde_json::from_str(line);
            row.unwrap_or_else(|error| panic!("{}: {error}: {line}", document.path.display()))
        });
        calls.push((call.to_owned(), rows.collect()));
    }
    calls
}

#[test]
fn the_reference_names_every_field_that_commands_print_and_no_other() {
    let (reference, helps) = (Reference::read(), helps());
    let mut called = BTreeSet::new();
    for document in documents().into_iter().chain(transcripts()) {
        for (call, printed) in calls_with_json(&document) {
            let place = format!("{}: {call}", document.path.display());
            let (name, _) = command_of(&call.split_whitespace().collect::<Vec<_>>(), &helps);
            let form = &reference.printed[&name];
            let is_message = |row: &&Value| row.get("error").or(row.get("warning")).is_some();
            let (messages, rows): (Vec<&Value>, Vec<&Value>) = printed.iter().partition(is_message);
            let is_one = form.starts_with("one ") && !call.contains("--all");
            assert!(!is_one || rows.len() <= 1, "{place}: {} rows", rows.len());
            let of_row = form.strip_prefix("one ").or(form.strip_prefix("rows of "));
            assert!(of_row.is_some() || rows.is_empty(), "{place}: {name} prints no JSON: {form}");
            let rows = rows.into_iter().map(|row| (of_row.unwrap_or_default(), row));
            let messages =
                messages.into_iter().map(|row| ("[error](#error) or [warning](#warning)", row));
            for (form, row) in rows.clone().chain(messages) {
                reference.check(form, row).unwrap_or_else(|why| panic!("{place}: {why}"));
            }
            called.extend(rows.map(|_| name.clone()));
        }
    }
    let seen = reference.seen.borrow();
    let rows = reference.rows.iter().filter(|(heading, _)| *heading != ON_CLUSTER.1);
    let fields = rows.flat_map(|(heading, fields)| {
        fields.iter().map(move |field| (heading.clone(), field.name.clone()))
    });
    let missing: Vec<_> = fields.filter(|field| !seen.contains(field)).collect();
    assert!(missing.is_empty(), "no command printed {missing:?}");
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

/// The names in a source file that declares kinds as `Kind = "name"`.
fn kinds_of(path: &str) -> BTreeSet<String> {
    let source = std::fs::read_to_string(root().join(path)).unwrap();
    let name = |line: &str| {
        let (kind, rest) = line.trim().split_once(" = \"")?;
        let is_kind = kind.chars().all(char::is_alphanumeric);
        is_kind.then(|| rest.split('"').next().unwrap().to_owned())
    };
    source.lines().filter_map(name).collect()
}

/// Asserts that the first column of a section has exactly these codes.
fn assert_documented(title: &str, expected: &BTreeSet<String>) {
    assert!(expected.len() > 5, "{expected:?}");
    let documented: BTreeSet<String> = section(title).into_iter().map(|(code, _)| code).collect();
    assert_eq!(documented, *expected, "left: documented, right: in the source");
}

#[test]
fn the_reference_names_every_kind_of_error_and_of_warning() {
    let mut kinds = kinds_of("src/error/kind.rs");
    kinds.extend(KINDS_OF_THE_COMMAND_LINE.map(str::to_owned));
    assert_documented("Error kinds", &kinds);
    assert_documented("Warning kinds", &kinds_of("src/model/warning.rs"));
}

#[test]
fn the_reference_names_every_code_of_a_finding() {
    let source = std::fs::read_to_string(root().join("src/registry/verify/finding.rs")).unwrap();
    let (_, variants) = source.split_once("pub enum FindingKind {").unwrap();
    let lines = variants.lines().map(str::trim).take_while(|line| *line != "}");
    let lines = lines.filter(|line| !line.starts_with("//"));
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
    assert_documented("Finding codes", &codes);
}
