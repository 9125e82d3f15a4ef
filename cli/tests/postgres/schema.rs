//! The rules of the schema, according to the catalogue of the server.

use crate::scene::Scene;
use harness::values::step;

/// Small tables that Citus copies to every machine; all others are distributed.
const REFERENCE: [&str; 7] = [
    "dataset",
    "dataset_name",
    "payment_taken",
    "payment_worker",
    "registry",
    "statement",
    "tree_head",
];

fn strings(scene: &Scene, sql: &str) -> Vec<String> {
    scene.client().query(sql, &[]).unwrap().iter().map(|row| row.get(0)).collect()
}

#[test]
fn every_text_that_is_compared_is_compared_by_its_bytes() {
    let Some(scene) = Scene::new() else { return };
    let others = strings(
        &scene,
        "SELECT table_name || '.' || column_name FROM information_schema.columns
         JOIN pg_class ON relname = table_name AND relkind = 'r'
         WHERE table_schema = 'accession' AND data_type = 'text'
           AND collation_name IS DISTINCT FROM 'C'",
    );
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn every_key_of_a_distributed_table_begins_with_the_dataset() {
    let Some(scene) = Scene::new() else { return };
    let keys = strings(
        &scene,
        "SELECT relname::text || ' ' || attname::text FROM pg_index
         JOIN pg_class ON pg_class.oid = indrelid
         JOIN pg_namespace ON pg_namespace.oid = relnamespace AND nspname = 'accession'
         JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
         WHERE indisunique ORDER BY 1",
    );
    let distributed: Vec<&String> = keys
        .iter()
        .filter(|key| !REFERENCE.iter().any(|table| key.split(' ').next() == Some(table)))
        .collect();
    assert!(distributed.len() >= 7, "{keys:?}");
    assert!(distributed.iter().all(|key| key.ends_with(" dataset_id")), "{distributed:?}");
    // A foreign key between distributed tables would prevent their distribution.
    let foreign = strings(
        &scene,
        "SELECT conrelid::regclass::text || ' ' || confrelid::regclass::text FROM pg_constraint
         WHERE contype = 'f' AND connamespace = 'accession'::regnamespace",
    );
    assert_eq!(foreign, ["accession.dataset_name accession.dataset"]);
}

/// The SQL of the store for a server: the name of each statement, its text, and the comment before its
/// function.
fn statements() -> Vec<(String, String, String)> {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../src/store/table");
    let mut statements = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        // If the rest of a statement is passed to a macro, the macro itself names the table.
        let select = text.split("macro_rules! select_").nth(1).and_then(|rest| {
            let start = rest.find("SELECT").unwrap();
            Some(rest[start..start + rest[start..].find("$rest")?].to_owned())
        });
        for (at, _) in text.match_indices(" static ") {
            let statement = text[at..].split(';').next().unwrap();
            let Some((head, sql)) = statement.split_once('"') else { continue };
            // If there are two texts, the second is for a server.
            let sql = match head.contains("by_store") {
                true => sql.split_once("\",\n").unwrap().1,
                false => sql,
            };
            let inserted = select.clone().filter(|_| head.contains("select_"));
            let sql = format!("{} {sql}", inserted.unwrap_or_default());
            let function = text[..at].rfind("fn ").unwrap();
            let comment = &text[text[..function].rfind("\n\n").unwrap()..function];
            let comment = comment.replace("\n    ///", "");
            let name = head.split([' ', ':']).nth(2).unwrap();
            statements.push((name.to_owned(), sql, comment));
        }
    }
    statements
}

#[test]
fn every_statement_names_the_dataset_or_says_why_it_asks_every_machine() {
    let statements = statements();
    assert!(statements.len() > 40, "{}", statements.len());
    let tables = ["instance", "granule", "checkpoint", "record_version", "subset"];
    for (name, sql, comment) in statements {
        let is_distributed = tables.iter().any(|table| sql.contains(&format!("{{{table}}}\n")));
        let names_it = ["dataset_id = ?", "(dataset_id,", "ANY (?1)"];
        if is_distributed && !names_it.iter().any(|text| sql.contains(text)) {
            assert!(comment.contains("every machine"), "{name}: {sql}");
        }
    }
}

#[test]
fn the_views_show_instants_as_the_program_writes_them() {
    let Some(scene) = Scene::new() else { return };
    let instants = [
        "0000-01-01T00:00:00Z",
        "1969-12-31T23:59:59.999999Z",
        "2001-01-02T00:00:00Z",
        "2001-01-02T00:00:00.500000Z",
        "9999-12-31T23:59:59.999999Z",
    ];
    let mut owner = scene.client();
    owner
        .batch_execute(
            "INSERT INTO accession.dataset (id, name, record, row_check) VALUES (1, 'D', '{}', 0)",
        )
        .unwrap();
    let insert =
        "INSERT INTO accession.granule (dataset_id, granule_id, ingested) VALUES (1, $1, $2)";
    let parse = |text: &str| text.parse::<accession::Timestamp>().unwrap();
    for (number, text) in instants.iter().enumerate() {
        owner.execute(insert, &[&number.to_string(), &parse(text).as_micros()]).unwrap();
    }
    let sql = r#"SELECT "Ingested" FROM accession."Granules" ORDER BY "LocalgranuleID""#;
    assert_eq!(strings(&scene, sql), instants);
    assert_eq!(instants.map(|text| parse(text).to_string()), instants);
}

/// The statements that the server runs for some commands.
fn statements_of(scene: &Scene, commands: &[(&str, &[&str], i32)]) -> Vec<String> {
    scene.server.statements_of(|| {
        for (registry, arguments, status) in commands {
            let output = crate::scene::command(registry, arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(*status), "{arguments:?}");
        }
    })
}

/// Asserts the beginning of each transaction, and returns the positions of the transactions.
fn begins(statements: &[String]) -> Vec<usize> {
    let is_begin = |at: &usize| statements[*at].starts_with("BEGIN ");
    let starts: Vec<usize> = (0..statements.len()).filter(is_begin).collect();
    for start in &starts {
        // A setting that Citus propagates is a separate message.
        let [first, second] = [1, 2].map(|after| statements[start + after].as_str());
        assert_eq!(first, "SET LOCAL citus.propagate_set_commands = 'local'");
        assert_eq!(second, "SET LOCAL search_path = pg_catalog, pg_temp");
    }
    starts
}

#[test]
fn every_statement_is_in_a_transaction_that_looks_names_up_in_the_catalogue_only() {
    let Some(scene) = Scene::private() else { return };
    let url = scene.url.as_str();
    let statements = statements_of(
        &scene,
        &[
            (url, &["ingest", "D", "--create", "--id", "A"], 0),
            (url, &["show", "D"], 0),
            (url, &["verify"], 0),
            (url, &["cite", "D", "--select", "*"], 0),
            (url, &["registry", "distribute"], 2),
        ],
    );
    let starts = begins(&statements);
    assert!(starts.len() > 8, "{}", starts.len());
    let is_end = |sql: &&String| ["COMMIT", "ROLLBACK"].contains(&sql.as_str());
    for (start, next) in starts.iter().zip(starts[1..].iter().chain([&statements.len()])) {
        let ends: Vec<&String> = statements[*start..*next].iter().filter(is_end).collect();
        assert!(ends.len() <= 1, "{:#?}", &statements[*start..*next]);
        assert!(ends.is_empty() || is_end(&&statements[next - 1]));
    }
    // Two connections, one after the other.
    let copy = scene.server.new_database();
    let statements = statements_of(&scene, &[(url, &["registry", "copy", url, &copy], 0)]);
    assert!(begins(&statements).len() > 2);
}

#[test]
fn a_list_takes_as_many_statements_whatever_the_number_of_datasets() {
    let Some(scene) = Scene::private() else { return };
    let registry = scene.open();
    let add = |numbers: std::ops::Range<usize>| {
        for number in numbers {
            step(&registry, &format!("D{number:03}"), 0, ["A"], []);
        }
    };
    let listed = || statements_of(&scene, &[(&scene.url, &["dataset", "list"], 0)]);
    add(0..2);
    let few = listed();
    add(2..60);
    assert_eq!(listed().len(), few.len());
    let selects = few.iter().filter(|sql| sql.contains("accession.dataset")).count();
    assert_eq!(selects, 2, "{few:#?}");
}
