//! Untrusted strings in a registry, a list or a file name are printed so that no terminal
//! interprets them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rusqlite::Connection;

use crate::running::console::{Sandbox, program, stderr};
use harness::installed::installed;
#[cfg(target_os = "linux")]
use harness::peak_memory::peak_memory;

/// Clears the screen, sets the window title and a colour (with a C1 character), ends the line, and changes the
/// direction of the text.
const EVIL: &str = "\u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}txt\u{2066}\u{7f}";

/// A registry with one dataset and two changes.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_a_dataset();
    sandbox.run("accession ingest DATASET --at 2001-01-03 --id C");
    sandbox
}

fn alter(sandbox: &Sandbox, sql: &str) {
    let connection = Connection::open(sandbox.path().join("accession.db")).unwrap();
    let speed = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;";
    connection.execute_batch(&format!("{speed} {sql}")).unwrap();
    harness::seal::seal_rows(&connection);
}

/// Every command that reads a registry, as its own or as a primary.
const READERS: [&str; 14] = [
    "dataset list",
    "show DATASET",
    "history DATASET",
    "show DATASET@2001-01-02",
    "granules DATASET",
    "granules DATASET --producer P",
    "show 8f714d3efb0e51ed23fb7eeecca3009b",
    "verify",
    "verify DATASET",
    "compare DATASET DATASET@2001-01-02",
    "dataset export DATASET",
    "mirror compare DATASET accession.db",
    "--registry mine.db mirror compare DATASET accession.db",
    "--registry mine.db mirror pull DATASET accession.db --dry-run",
];

fn both(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap() + &stderr(output)
}

fn unseen(text: &str) -> Option<char> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().find(|&c| c != '\n' && (c.is_control() || turns(c)))
}

#[test]
fn no_string_from_a_registry_is_interpreted_by_a_terminal() {
    let sandbox = sandbox();
    sandbox.run("accession --registry mine.db ingest DATASET --create --at 2001-01-02 --id A");
    let evil = EVIL.replace('\'', "''");
    alter(
        &sandbox,
        &format!(
            "UPDATE dataset SET record = json_set(record, '$.title', '{evil}',
                 '$.publisher', '{evil}', '$.version', '{evil}', '$.archive', '{evil}',
                 '$.creators', json_array('{evil}'));
             UPDATE instance SET note = '{evil}'"
        ),
    );
    for command in READERS.into_iter().filter(|command| *command != "dataset export DATASET") {
        for json in ["", " --json"] {
            let output = sandbox.command(&format!("{command}{json}")).output().unwrap();
            let printed = both(&output);
            assert_eq!(unseen(&printed), None, "{command}: {printed:?}");
            for line in printed.lines().filter(|_| !json.is_empty()) {
                serde_json::from_str::<serde_json::Value>(line).unwrap();
            }
        }
    }
    let shown = sandbox.run("accession show DATASET");
    assert!(
        shown.contains(r"title        \u{1b}[2J\u{1b}]0;x\u{7}\u{9b}31m\r\n\u{202e}txt"),
        "{shown}"
    );
    let json = sandbox.run("accession show DATASET --json");
    let listed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(listed["title"], EVIL, "the same text for a script");
}

#[test]
fn an_invalid_granule_id_in_a_registry_is_printed_escaped() {
    let sandbox = sandbox();
    alter(&sandbox, &format!("UPDATE granule SET granule_id = '{EVIL}' WHERE granule_id = 'B'"));
    for command in READERS.into_iter().filter(|command| !command.contains("mine.db")) {
        let output = sandbox.command(command).output().unwrap();
        let printed = both(&output);
        assert_eq!(unseen(&printed), None, "{command}: {printed:?}");
    }
}

/// Runs the program with a terminal as its stdout and stderr, with script(1) of util-linux. `None` means that
/// script(1) is missing.
pub fn on_a_terminal(sandbox: &Sandbox, arguments: &str, no_color: Option<&str>) -> Option<String> {
    let mut command = Command::new(installed("script")?);
    let program = format!("{} {arguments}", program());
    command.args(["-qec", &program, "/dev/null"]).current_dir(sandbox.path()).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("TERM", "xterm");
    command.envs(no_color.map(|value| ("NO_COLOR", value)));
    let output = command.stdin(Stdio::null()).output().unwrap();
    Some(String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n"))
}

#[test]
fn an_id_is_unchanged_in_a_pipe_and_escaped_on_a_terminal() {
    let sandbox = Sandbox::new();
    let turned = "A\u{202e}B";
    let mut ingest = sandbox.command("ingest DATASET --create --at 2001-01-02 --id B --id");
    assert!(ingest.arg(turned).output().unwrap().status.success());
    assert_eq!(sandbox.run("accession granules DATASET"), format!("{turned}\nB\n"));
    for command in [
        "granules DATASET",
        "compare DATASET EMPTY",
        "--registry other.db mirror compare DATASET accession.db",
        "dataset export DATASET",
        &format!("cite DATASET --select {turned}"),
    ] {
        sandbox.run("accession ingest EMPTY --create --at 2001-01-02 --id B");
        sandbox.run("accession --registry other.db ingest DATASET --create --at 2001-01-02 --id B");
        let Some(printed) = on_a_terminal(&sandbox, command, Some("1")) else { return };
        assert!(printed.contains(r"A\u{202e}B"), "{command}: {printed:?}");
        assert_eq!(unseen(&printed), None, "{command}: {printed:?}");
    }
}

#[test]
fn a_message_quotes_and_escapes_what_it_names() {
    let sandbox = sandbox();
    let (ids, table) = (sandbox.path().join("ids.txt"), sandbox.path().join("table.csv"));
    std::fs::write(ids, format!("D{EVIL}\n")).unwrap();
    std::fs::write(table, format!("\"a{EVIL}\",\"b\"\nx,y\n")).unwrap();
    std::fs::write(sandbox.path().join("evil.jsonl"), format!("{{\"accession_log\":\"{EVIL}\n"))
        .unwrap();
    let name = &format!("file{EVIL}.txt");
    std::fs::write(sandbox.path().join(name), "A\u{202e}\tB\n").unwrap();
    let cases: [&[&str]; 14] = [
        &["ingest", "DATASET", "ids.txt"],
        &["ingest", "DATASET", "table.csv", "--format", "csv"],
        &["ingest", "DATASET", name],
        &["ingest", "DATASET", EVIL],
        &["ingest", "DATASET", "--id", EVIL],
        &["ingest", "DATASET", "--id", "D", "--at", EVIL],
        &["import", "DATASET", "evil.jsonl"],
        &["import", "DATASET", name],
        &["mirror", "compare", "DATASET", name],
        &["mirror", "compare", "DATASET", EVIL],
        &["--registry", EVIL, "show", "DATASET"],
        &["--registry", name, "show", "DATASET"],
        &["show", EVIL],
        &[EVIL],
    ];
    for arguments in cases {
        for json in [None, Some("--json")] {
            let mut command = sandbox.command("");
            let output = command.args(arguments).args(json).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}");
            let printed = both(&output);
            assert_eq!(unseen(&printed), None, "{arguments:?}: {printed:?}");
            if json.is_some() {
                serde_json::from_str::<serde_json::Value>(&printed).unwrap();
            }
        }
    }
}

#[test]
fn a_warning_escapes_the_name_of_a_file() {
    let sandbox = sandbox();
    let fixture = std::fs::read(sandbox.path().join("fixtures/input/umm.json")).unwrap();
    let name = format!("answer{EVIL}.json");
    std::fs::write(sandbox.path().join(&name), fixture).unwrap();
    let mut command =
        sandbox.command("delete DATASET --at now --dry-run --skip-missing --format umm-json");
    let output = command.arg(&name).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let warned = stderr(&output);
    assert!(
        warned.contains("skipped 1 granule that the file marks as deleted or replaced"),
        "{warned}"
    );
    assert_eq!(unseen(&warned), None, "{warned:?}");
}

#[test]
fn a_file_of_any_name_is_a_registry_a_list_a_manifest_and_a_primary() {
    for name in [
        &b"a b"[..],
        b"line\nend",
        "größe?mode=ro#値".as_bytes(),
        b"'quoted\"",
        b"100%41",
        b"not-utf8-\xff\xfe",
        b"-dash",
    ] {
        let sandbox = Sandbox::new();
        let path = |ending: &str| {
            let name = [b"./", name, ending.as_bytes()].concat();
            OsStr::from_bytes(&name).to_owned()
        };
        let run = |arguments: &str, last: &OsStr| -> Output {
            let mut command = sandbox.command("--registry");
            command.arg(path(".db")).args(arguments.split_whitespace()).arg(last);
            command.output().unwrap()
        };
        let succeeds = |arguments: &str, last: &OsStr| {
            let output = run(arguments, last);
            assert!(output.status.success(), "{arguments}: {}", stderr(&output));
        };
        std::fs::write(sandbox.path().join(Path::new(&path(".txt"))), "A\nB\n").unwrap();
        succeeds("ingest DATASET --create --at 2001-01-02", &path(".txt"));
        succeeds("dataset export DATASET --output", &path(".jsonl"));
        succeeds("mirror compare DATASET", &path(".jsonl"));
        succeeds("mirror compare DATASET", &path(".db"));
        let refused = run("ingest DATASET --at now", &path(".txt"));
        let printed = stderr(&refused);
        assert_eq!(refused.status.code(), Some(2));
        assert!(printed.contains(":1: \"A\" is already held"), "{printed}");
        assert_eq!(unseen(&printed), None);
        assert_eq!(printed.lines().count(), 2, "an error and a hint: {printed:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_value_of_a_hundred_megabytes_is_an_error_and_is_not_read() {
    // Once, each value was read and copied: 200 MB for a title.
    let cases = [
        (
            "UPDATE dataset SET record = json_object('title', printf('%.*c', 100000000, 'x'))",
            "show DATASET",
        ),
        ("UPDATE dataset SET record = json_array(printf('%.*c', 100000000, 'x'))", "dataset list"),
        ("UPDATE instance SET note = printf('%.*c', 100000000, 'x')", "history"),
        (
            "UPDATE granule SET granule_id = printf('%.*c', 100000000, 'x') WHERE granule_id = 'B'",
            "granules",
        ),
    ];
    for (sql, reader) in cases {
        let sandbox = sandbox();
        sandbox.run("accession --registry mine.db ingest DATASET --create --at 2001-01-02 --id A");
        alter(&sandbox, sql);
        for command in READERS {
            let limited = format!("ulimit -v 150000; exec {} {command} --json", program());
            let mut shell = Command::new("sh");
            let shell = shell.args(["-c", &limited]).current_dir(sandbox.path());
            let (output, peak) = peak_memory(shell);
            let error = stderr(&output);
            let code = output.status.code();
            assert!(matches!(code, Some(0..=2)), "{command}: {code:?} {error}");
            let kinds = ["\"kind\":\"too-long\"", "\"kind\":\"database\""];
            let says_so = kinds.iter().any(|kind| error.contains(kind));
            assert!(code != Some(2) || says_so, "{command}: {error}");
            let is_reader = command == reader || command.starts_with(&format!("{reader} "));
            assert!(code == Some(2) || !is_reader, "{command}");
            assert!(peak < 60_000, "{command}: {peak} kB");
        }
    }
}

/// A truncated file would be accepted as if it were complete.
#[test]
fn a_file_that_is_too_long_is_rejected_and_not_truncated() {
    let sandbox = Sandbox::with_a_dataset();
    sandbox.run("accession proof keygen us.example.org/statements --output us.key > us.vkey");
    let policy = "(printf 'log '; cat us.vkey; echo quorum none; yes '# a comment' | head -c 262144; echo wrong) > policy";
    sandbox.run(policy);
    sandbox.run("accession publish www --quiet; (yes '' | head -c 2000000) > proof");
    sandbox.run("(cat us.key; yes ' ' | head -c 1024) > long.key; chmod 600 long.key");
    sandbox.run(
        "(umask 077; echo a-token-of-24-characters; yes '' | head -c 600) > token; chmod 600 token",
    );
    sandbox.run("yes '' | head -c 16777217 > long.pem");
    sandbox.run("(echo '{}'; yes '' | head -c 16777216) > record.json; echo A > list.txt");
    for (command, file, bytes) in [
        ("proof sign --key us.key --policy policy", "policy", 262_144),
        ("proof verify www/index.html --policy policy", "policy", 262_144),
        ("proof verify proof --vkey $(cat us.vkey)", "proof", 185_536),
        ("proof pubkey long.key", "long.key", 1_024),
        ("serve --listen 127.0.0.1:0 --register --register-token token", "token", 514),
        ("cite list.txt --of X --of record.json", "record.json", 16_777_216),
        ("cite list.txt --of X --of /dev/zero", "/dev/zero", 16_777_216),
        ("check /dev/zero", "/dev/zero", 67_108_864),
        (
            "mirror compare DATASET https://127.0.0.1:1/datasets/X/ --ca-file long.pem",
            "/archive/long.pem",
            16_777_216,
        ),
    ] {
        let printed = sandbox.run(&format!("accession {command}; echo $?"));
        let said = format!("error: cannot read \"{file}\": it is longer than {bytes} bytes");
        assert!(printed.starts_with(&said) && printed.ends_with("\n2\n"), "{command}: {printed}");
    }
}

#[test]
fn no_number_is_too_large_or_too_small_for_the_program() {
    let sandbox = Sandbox::with_a_dataset();
    sandbox.run("accession proof keygen us.example.org/statements --output us.key; mkdir files");
    sandbox.run("accession publish www --quiet; echo A > list.txt");
    let seconds = ["18446744073709551615", "0", "-1", "1e400"];
    let ages = ["18446744073709551615s", "213503982334601d", "99999999999999999999d", "0s"];
    let counts = ["18446744073709551615", "340282366920938463463374607431768211456", "0"];
    let shares = ["18446744073709551615", "18446744073709551615%", "1e400%", "0%"];
    for (command, values) in [
        ("proof sign --key us.key --timeout", &seconds[..]),
        ("mirror compare DATASET https://127.0.0.1:1/datasets/X/ --timeout", &seconds),
        ("mirror compare DATASET www --max-bytes", &counts),
        ("mirror compare DATASET www --max-age", &ages),
        ("status --max-age", &ages),
        ("status --max-age", &ages),
        ("status --checked-within", &ages),
        ("fixity check DATASET --root files --for", &ages),
        ("fixity check DATASET --root files --jobs", &counts),
        ("verify --jobs", &counts),
        ("history DATASET -n", &counts),
        ("granules DATASET --limit", &counts),
        ("compare DATASET list.txt --limit", &counts),
        ("dataset edit DATASET --max-delete", &shares),
        ("dataset edit DATASET --max-add", &shares),
        ("dataset edit DATASET --max-replace", &shares),
        ("dataset edit DATASET --year", &counts),
        ("ids payment --worker", &counts),
        ("ids payment --worker 1 --count", &["18446744073709551616", "0"]),
        ("ids granule A --collection C___1 --hash-length", &counts),
        ("serve --listen 127.0.0.1:99999 --max-connections", &counts),
    ] {
        for value in values {
            let printed = sandbox.run(&format!("accession {command}={value}; echo $?"));
            let status = printed.trim_end().rsplit('\n').next().unwrap();
            assert!(["0", "1", "2"].contains(&status), "{command}={value}: {printed}");
            assert!(!printed.contains("panicked"), "{command}={value}: {printed}");
        }
    }
    for value in ["0", "3601", "18446744073709551615"] {
        let printed =
            sandbox.run(&format!("accession proof sign --key us.key --timeout {value}; echo $?"));
        assert!(printed.starts_with("error: invalid value"), "{printed}");
    }
    assert_eq!(sandbox.run("[ -e us.key.last ] || echo nothing"), "nothing\n");
}
