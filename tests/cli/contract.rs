//! The interface for scripts: errors as JSON, exit statuses, and how a set may be named.

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

#[test]
fn an_identifier_is_read_in_every_spelling_wherever_a_set_is() {
    let sandbox = sandbox();
    let printed = sandbox.run("accession lookup THEM --json");
    let digits = printed.split("\"identifier\":\"").nth(1).unwrap()[..32].to_owned();
    let upper = digits.to_uppercase();
    for spelling in [
        digits.clone(),
        format!("DI:{digits}"),
        format!("di: {upper}"),
        format!("{{ doi:10.9999/US, 2001-01-05, DI:{digits} }}"),
        format!("https://example.org/di/{digits}"),
    ] {
        assert_eq!(sandbox.run(&format!("accession granules '{spelling}' --count")), "2\n");
        let same = sandbox.run(&format!("accession compare '{spelling}' THEM --summary"));
        assert!(same.starts_with("identical: 2 granules\n"), "{same}");
        assert!(sandbox.run(&format!("accession resolve '{spelling}'")).contains("THEM"));
        let cited =
            sandbox.run(&format!("accession cite '{spelling}' --format tuple 2> /dev/null"));
        assert!(cited.contains(&digits), "{cited}");
    }
}
