//! The interface for scripts: the names and the order of JSON fields, and exit statuses.

use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::harness::console::{Sandbox, program};

/// A registry with two datasets that differ and one without a history.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for command in [
        "accession ingest US --create --at 2001-01-02 --note first A B",
        "accession delete US --at 2001-01-03 B",
        "accession ingest THEM --create --at 2001-01-04 A B",
        "accession dataset add EMPTY",
        "accession export THEM --output us.jsonl",
    ] {
        assert!(!sandbox.run(command).contains("? "), "{command}");
    }
    sandbox
}

/// Each line of stdout as JSON. The exit status must be as expected.
fn rows(sandbox: &Sandbox, arguments: &str, status: i32) -> Vec<Value> {
    let output = sandbox.command(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The names of an object's fields in the order of the text: `serde_json` would sort them.
pub fn fields(text: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let (mut depth, mut rest) = (0, text);
    while let Some(at) = rest.find(['{', '}', '[', ']', '"']) {
        match rest.as_bytes()[at] {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {
                let length = rest[at + 1..].find('"').unwrap();
                let end = at + 1 + length + 1;
                if depth == 1 && rest[end..].starts_with(':') {
                    fields.push(rest[at + 1..end - 1].to_owned());
                }
                rest = &rest[end..];
                continue;
            }
        }
        rest = &rest[at + 1..];
    }
    fields
}

const INSTANCE: &str = "dataset timestamp until identifier granules ingested deleted recorded recorded_by note \
     annotations";
const APPLIED: &str = "dataset timestamp until identifier granules ingested deleted recorded \
     recorded_by note annotations changed added removed dry_run skipped files created";
const MIRROR_SOURCE: &str = "dataset source changes timestamp identifier read identical pulled default failed failure verdict";
const MIRROR: &str = "status mirror primary behind_by in_force_at_primary first_difference matched missing unexpected content_differs";
const VERDICT: &str =
    "citation identifier doi date known agrees ok problem note intervals key line";
const PAYMENT: &str = "id time worker counter layout epoch";
const RESOLVED: &str = "kind dataset from until identifier granules instance subset annotations";
const DATASET: &str = "name doi title description creators publisher version year url licence \
     archive granule_url keywords free_access temporal withdrawn former_names max_delete max_add latest confirmed";
const ADDED: &str = "name doi title description creators publisher version year url licence \
     archive granule_url keywords free_access temporal withdrawn former_names max_delete max_add latest confirmed created";
const PULLED: &str = "dataset timestamp until identifier granules ingested deleted recorded \
     recorded_by note annotations changed added removed dry_run skipped files created status";
const COMPARED: &str = "identical left right matched only_left only_right";

#[test]
fn json_has_the_fields_of_the_contract_in_its_order() {
    let cases = [
        ("dataset add OTHER", ADDED, 0),
        ("dataset edit OTHER --title T", DATASET, 0),
        ("dataset list", DATASET, 0),
        ("dataset show US", DATASET, 0),
        ("ingest US --at 2001-01-05 C", APPLIED, 0),
        ("ingest US --at now --dry-run D", APPLIED, 0),
        ("ingest US --at now --skip-existing A", APPLIED, 0),
        ("delete US --at 2001-01-06 C", APPLIED, 0),
        ("change US --ingest fixtures/seed/us-2001-02-03.txt --at 2001-01-07", APPLIED, 0),
        ("history US", INSTANCE, 0),
        ("lookup US", INSTANCE, 0),
        ("lookup US --at 2001-01-03", INSTANCE, 0),
        ("granules US", "granule ingested deleted producer_granule url", 0),
        ("find A", "dataset granule ingested deleted withdrawn url", 0),
        ("resolve 8f714d3efb0e51ed23fb7eeecca3009b", RESOLVED, 0),
        ("compare US THEM", COMPARED, 1),
        ("compare THEM THEM", COMPARED, 0),
        ("cite US --at 2001-01-05 --format tuple", "format citation annotations content", 0),
        ("cite US --at 2001-01-05 --select *", "format citation annotations content", 0),
        ("check DI:8f714d3efb0e51ed23fb7eeecca3009b", VERDICT, 0),
        ("backup copy.db", "bytes datasets identifiers path removed", 0),
        ("copy accession.db other.db", "datasets identifiers", 0),
        ("verify", "dataset identifiers mismatches ok", 0),
        ("mirror compare US accession.db --primary-dataset THEM", MIRROR, 1),
        ("mirror compare US accession.db", MIRROR, 0),
        ("mirror pull US accession.db --primary-dataset THEM --reset", PULLED, 0),
        ("mirror pull US us.jsonl --reset", PULLED, 0),
        ("mirror status US", MIRROR_SOURCE, 0),
        ("mirror pull US", PULLED, 0),
        ("mirror pull --all", PULLED, 0),
        ("mirror forget US us.jsonl", "dataset source changes", 0),
        ("granule-id new A --collection C___1", "granule producer_granule", 0),
        ("payment-id new --worker 3 --count 2", PAYMENT, 0),
        ("payment-id decode 000000300", PAYMENT, 0),
    ];
    let sandbox = sandbox();
    for (arguments, expected, status) in cases {
        let output = sandbox.command(&format!("{arguments} --json")).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(!stdout.is_empty(), "{arguments}");
        for line in stdout.lines() {
            assert_eq!(fields(line).join(" "), expected, "{arguments}");
        }
    }
}

#[test]
fn an_import_prints_its_result_and_then_each_instance() {
    let sandbox = sandbox();
    let command = "import LOG fixtures/input/changes.tsv --create --json";
    let output = sandbox.command(command).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let mut lines = stdout.lines();
    assert_eq!(fields(lines.next().unwrap()).join(" "), format!("{APPLIED} kept"));
    assert!(lines.clone().count() > 1);
    for line in lines {
        assert_eq!(fields(line).join(" "), INSTANCE);
    }
    // Again: nothing changes, and that is reported too.
    let again = sandbox.command("import LOG fixtures/input/changes.tsv --json").output().unwrap();
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["changed"], &again["dataset"]), (&Value::from(false), &Value::from("LOG")));
}

#[test]
fn a_day_with_several_identifiers_lists_the_others() {
    let sandbox = sandbox();
    for command in [
        "ingest EMPTY --at 2001-02-03T01:00:00Z A",
        "ingest EMPTY --at 2001-02-03T02:00:00+01:00 B",
        "ingest EMPTY --at 2001-02-03T03:00:00Z B",
    ] {
        sandbox.command(command).output().unwrap();
    }
    let found = rows(&sandbox, "lookup EMPTY --at 2001-02-03 --json", 0);
    assert_eq!(found[0]["timestamp"], "2001-02-03T03:00:00Z");
    let others = found[0]["others"].as_array().unwrap();
    let times: Vec<&Value> = others.iter().map(|other| &other["timestamp"]).collect();
    assert_eq!(times, ["2001-02-03T01:00:00Z"]);
    assert_eq!(others[0]["until"], "2001-02-03T03:00:00Z");
}

#[test]
fn values_of_json_have_the_types_of_the_contract() {
    let sandbox = sandbox();
    let history = rows(&sandbox, "history US --json", 0);
    assert_eq!(history[0]["until"], "2001-01-03T00:00:00Z");
    assert_eq!(history[0]["granules"], 2);
    assert_eq!(history[0]["note"], "first");
    assert_eq!(history[1]["until"], Value::Null);
    assert_eq!(history[1]["deleted"], 1);
    let empty = rows(&sandbox, "dataset show EMPTY --json", 0);
    assert_eq!((&empty[0]["latest"], &empty[0]["doi"]), (&Value::Null, &Value::Null));
    let compared = rows(&sandbox, "compare US THEM --json", 1);
    assert_eq!(compared[0]["only_right"], serde_json::json!(["B"]));
    let verified = rows(&sandbox, "verify US --json", 0);
    assert_eq!(verified[0]["mismatches"], serde_json::json!([]));
}

#[test]
fn a_finding_of_verify_is_printed_and_the_exit_status_is_1() {
    let sandbox = sandbox();
    let connection = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    connection.execute("UPDATE granule SET granule_id = 'X' WHERE granule_id = 'A'", []).unwrap();
    drop(connection);
    let found = rows(&sandbox, "verify US THEM --json", 1);
    assert_eq!((&found[0]["ok"], &found[1]["ok"]), (&Value::from(false), &Value::from(false)));
    // Two identifiers disagree for one cause, which is one finding.
    let mismatches = found[0]["mismatches"].as_array().unwrap();
    assert_eq!(mismatches.len(), 1, "{mismatches:?}");
    assert_eq!(mismatches[0]["code"], "identifier");
    assert_eq!(mismatches[0]["timestamp"], "2001-01-02T00:00:00Z");
    let text = sandbox.run("accession verify THEM");
    assert_eq!(
        text,
        "THEM: 2001-01-04T00:00:00Z: the identifier is 8f714d3efb0e51ed23fb7eeecca3009b, \
         but the granule rows give 18a84dc62c01bb5293451282e493c48f\n\
         dataset  identifiers  result\n\
         THEM               1  NOT ok: 1 finding\n\
         not checked: the identifiers of the other datasets\n\
         1 dataset, 1 identifier: NOT ok, 1 finding\n? 1\n"
    );
}

#[test]
fn an_error_in_json_is_one_object_on_stderr_and_stdout_is_empty() {
    let sandbox = sandbox();
    std::fs::write(sandbox.path().join("ids.txt"), "C\nD\tE\n").unwrap();
    let cases = [
        ("ingest US --at now A", "held"),
        ("delete US --at now X", "not-held"),
        ("ingest US --at now C C", "twice"),
        (
            "change US --at now --ingest fixtures/seed/us-2001-02-03.txt --delete fixtures/seed/us-2001-02-03.txt",
            "both",
        ),
        ("ingest US --at now --from /dev/null", "empty"),
        ("ingest US --at 2001-01-03 C", "not-after-last"),
        ("ingest US --at 9999-01-01 C", "future"),
        ("ingest US --at now --from ids.txt", "input"),
        ("ingest US --at now --from missing.txt", "io"),
        ("ingest NOWHERE C", "dataset-unknown"),
        ("dataset add US", "dataset-exists"),
        ("lookup EMPTY", "no-history"),
        ("lookup US --at 2001-01-01", "before-history"),
        ("granules US --identifier 00000000000000000000000000000000", "identifier-unknown"),
        ("cite US --select Z*", "selects-nothing"),
        ("cite US --select-from ids.txt", "input"),
        ("check nothing", "usage"),
        ("lookup US --at noon", "usage"),
        ("lookup", "usage"),
        ("nothing", "usage"),
        ("lookup US --at 9999-01-01", "usage"),
        ("--registry missing.db lookup US", "registry-missing"),
        ("--registry fixtures/README.md lookup US", "not-a-registry"),
    ];
    for (arguments, kind) in cases {
        let output = sandbox.command(&format!("{arguments} --json")).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), &output.stdout[..]), (Some(2), &b""[..]), "{arguments}");
        let lines: Vec<&str> = stderr.lines().collect();
        assert_eq!(lines.len(), 1, "{stderr}");
        let trouble: Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(trouble["error"]["kind"], kind, "{arguments}: {stderr}");
        assert!(!trouble["error"]["message"].as_str().unwrap().starts_with("error"), "{stderr}");
        let known = ["file", "granule", "hint", "kind", "line", "message"];
        for key in trouble["error"].as_object().unwrap().keys() {
            assert!(known.contains(&key.as_str()), "{stderr}");
        }
    }
}

#[test]
fn a_reader_that_closes_its_pipe_ends_the_output_without_a_message() {
    let sandbox = Sandbox::new();
    let ids: String = (0..50_000).map(|n| format!("granule.{n}\n")).collect();
    std::fs::write(sandbox.path().join("ids.txt"), ids).unwrap();
    sandbox.run("accession ingest MANY --create --at 2001-01-02 --from ids.txt");
    for arguments in ["granules MANY", "granules MANY --json"] {
        let mut child = sandbox
            .command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let mut some = [0; 100];
        stdout.read_exact(&mut some).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        // 0 would mean that the output is complete.
        assert_eq!(output.status.code(), Some(2), "{arguments}");
    }
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let mut command = sandbox.command(&format!("completions {shell}"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{shell}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_to_a_full_device_is_an_error() {
    let sandbox = sandbox();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = sandbox.command("history US").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.starts_with("error: cannot write to standard output: "), "{stderr}");
}

#[test]
fn a_message_has_no_colour_if_stderr_is_not_a_terminal() {
    let output = Command::new(program()).arg("nothing").output().unwrap();
    assert!(!output.stderr.contains(&0x1b));
}
