//! The two output streams, the exit status, and the state after a stream could not be written.

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use crate::documents::{helps, leaf_commands};
use crate::hostile::on_a_terminal;
use crate::running::console::{Sandbox, commands_in, program, stderr};

/// A registry `accession.db` with two different datasets and one without a history, a registry `emptied.db`
/// whose dataset holds nothing, and some files. It is created once, and copied.
fn world() -> Sandbox {
    let (original, sandbox) = (original(), Sandbox::new());
    for name in original.files().iter().filter(|name| *name != "fixtures" && *name != ".bin") {
        std::fs::copy(original.path().join(name), sandbox.path().join(name)).unwrap();
    }
    sandbox
}

fn original() -> &'static Sandbox {
    static ORIGINAL: OnceLock<Sandbox> = OnceLock::new();
    ORIGINAL.get_or_init(new_world)
}

fn new_world() -> Sandbox {
    let sandbox = Sandbox::after(&[
        "accession ingest US --create --at 2001-01-02 --id A --id B",
        "accession delete US --at 2001-01-03 --id B",
        "accession ingest THEM --create --at 2001-01-04 --id A --id B",
        "accession dataset create EMPTY",
        "accession --registry emptied.db ingest US --create --at 2001-01-02 --id A",
        "accession --registry emptied.db delete US --at 2001-01-03 --id A",
        "accession dataset export US --output us.jsonl",
    ]);
    std::fs::write(sandbox.path().join("held.txt"), "A\n").unwrap();
    std::fs::write(sandbox.path().join("new.txt"), "C\n").unwrap();
    std::fs::write(sandbox.path().join("both.txt"), "A\nC\n").unwrap();
    std::fs::write(sandbox.path().join("sums"), "d41d8cd98f00b204e9800998ecf8427e  A\n").unwrap();
    std::fs::write(sandbox.path().join("header.csv"), "granule_id,ingested\n").unwrap();
    sandbox
}

/// The results that scripts could compare: the exit status, the files, and the sets in each changed registry.
fn outcome(arguments: &str) -> (Option<i32>, Vec<String>, Vec<String>) {
    let sandbox = world();
    let output = sandbox.command(arguments).output().unwrap();
    // The file name of a replaced registry contains the time.
    let files: Vec<String> = sandbox
        .files()
        .into_iter()
        .map(|name| match name.split_once(".replaced-") {
            Some((registry, _)) => format!("{registry}.replaced"),
            None => name,
        })
        .collect();
    let bytes = |sandbox: &Sandbox, name: &str| std::fs::read(sandbox.path().join(name)).ok();
    let is_changed = |name: &&String| bytes(&sandbox, name) != bytes(original(), name);
    let registries = files.iter().filter(|name| name.ends_with(".db"));
    let sets = registries
        .filter(is_changed)
        .map(|name| {
            sandbox.run(&format!(
                "accession --registry {name} dataset list | sed -E 's/  2[0-9T:.-]+Z$//'"
            ))
        })
        .collect();
    (output.status.code(), files, sets)
}

#[test]
fn the_exit_status_and_the_files_are_the_same_with_and_without_json() {
    // Once, these commands exited with 0 as text and with 2 as JSON if the registry was new, and left the
    // registry behind.
    let cases = [
        ("dataset create OTHER", 0),
        ("--registry new.db dataset create OTHER", 0),
        ("dataset create US", 2),
        ("dataset edit US --title T", 0),
        ("dataset edit US", 2),
        ("dataset list", 0),
        ("show US", 0),
        ("show OTHER", 2),
        ("ingest US --at 2001-01-05 --id C", 0),
        ("ingest US --at 2001-01-05 --id A", 2),
        ("ingest US --at 2001-01-05 --skip-existing --id A", 0),
        ("ingest NEW --create --at 2001-01-05 --id A", 0),
        ("ingest NEW --create --skip-existing /dev/null", 0),
        ("ingest NEW --create /dev/null", 2),
        ("--registry new.db ingest NEW --create --skip-existing /dev/null", 0),
        ("--registry new.db ingest NEW --create /dev/null", 2),
        ("--registry new.db ingest NEW --create --at 2001-01-05 --dry-run --id A", 0),
        ("--registry new.db ingest NEW --create --at 2001-01-05 --id A", 0),
        ("--registry new.db ingest NEW --at 2001-01-05 --id A", 2),
        ("delete US --at 2001-01-05 --id A", 0),
        ("delete US --at 2001-01-05 --id B", 2),
        ("ingest US --at 2001-01-05 new.txt --delete held.txt", 0),
        ("ingest US - --delete -", 2),
        ("sync US --at 2001-01-05 both.txt", 0),
        ("sync US --at now held.txt", 0),
        ("sync US /dev/null", 3),
        ("--registry new.db sync NEW --create --at 2001-01-05 held.txt", 0),
        ("--registry new.db sync NEW --create /dev/null", 2),
        ("revert US US@2001-01-02 --at 2001-01-05", 0),
        ("revert US US@2001-01-03 --at now", 0),
        ("show new.txt", 0),
        ("compare 00000000000000000000000000000000 new.txt", 1),
        ("find A", 0),
        ("find X", 1),
        ("dataset rename US NEW.NAME", 0),
        ("dataset rename US THEM", 2),
        ("dataset withdraw US --note obsolete", 0),
        ("dataset reinstate US", 0),
        ("registry restore emptied.db", 0),
        ("registry restore held.txt", 2),
        ("compare US held.txt", 0),
        ("compare US new.txt", 1),
        ("import LOG fixtures/input/changes.tsv --create", 0),
        ("--registry new.db import LOG fixtures/input/changes.tsv --create", 0),
        ("--registry new.db import LOG header.csv --create", 0),
        ("fixity add US --at now sums --algorithm md5 --skip-missing", 0),
        ("granules US --format checksums", 2),
        ("annotate US N", 0),
        ("annotate US N --at now --questionable", 0),
        ("annotate OTHER N", 2),
        ("history US", 0),
        ("history EMPTY", 0),
        ("show EMPTY", 0),
        ("granules EMPTY", 2),
        ("granules US", 0),
        ("granules US --producer P", 1),
        ("show 8f714d3efb0e51ed23fb7eeecca3009b", 0),
        ("show 00000000000000000000000000000000", 2),
        ("compare US THEM", 1),
        ("compare US US", 0),
        ("cite US@2001-01-05", 0),
        ("cite US@2001-01-05 --select *", 0),
        ("check DI:8f714d3efb0e51ed23fb7eeecca3009b", 0),
        ("check DI:00000000000000000000000000000000", 1),
        ("status", 0),
        ("status OTHER", 2),
        ("status US --max-age 0s", 1),
        ("verify", 0),
        ("verify OTHER", 2),
        ("proof keygen data.example.org/statements --output archive.key", 0),
        ("proof pubkey held.txt", 2),
        ("proof sign --key held.txt", 2),
        ("proof create US", 2),
        ("registry backup copy.db", 0),
        ("registry backup accession.db", 2),
        ("registry copy accession.db other.db", 0),
        ("registry copy accession.db accession.db", 2),
        ("registry distribute", 2),
        ("dataset export US", 0),
        ("dataset export US --output copy.jsonl", 0),
        ("dataset export US --output held.txt", 2),
        ("publish www", 0),
        ("publish www OTHER", 2),
        ("mirror compare US us.jsonl", 0),
        ("mirror compare THEM us.jsonl", 1),
        ("mirror pull US us.jsonl", 0),
        ("mirror pull THEM us.jsonl --at 2001-02-03", 0),
        ("mirror pull THEM emptied.db --primary-dataset US --at 2001-02-03", 1),
        (
            "mirror pull THEM us.jsonl --at 2001-02-03 --expect DI:bf072e9119077b4e76437a93986787ef",
            0,
        ),
        ("mirror pull NEW emptied.db --primary-dataset US --create", 0),
        ("--registry new.db mirror pull US emptied.db --create", 0),
        ("--registry new.db mirror pull US us.jsonl --create --at 2001-02-03", 0),
        ("ids granule --id A --collection C___1", 0),
        ("ids explain A_B --collection C___1", 1),
        ("ids payment --worker 1", 0),
        ("ids payment --worker 1000", 2),
        ("ids explain 000000300", 0),
        ("completions bash", 0),
        ("serve NONE --listen 127.0.0.1:0", 2),
        ("man ingest", 0),
        ("--help", 0),
    ];
    let help = Command::new(program()).arg("--help").output().unwrap().stdout;
    for command in commands_in(&String::from_utf8(help).unwrap()) {
        let is_run =
            cases.iter().any(|(arguments, _)| arguments.split(' ').any(|it| it == command));
        assert!(is_run, "{command}");
    }
    for (arguments, status) in cases {
        let text = outcome(arguments);
        assert_eq!(text.0, Some(status), "{arguments}");
        assert_eq!(outcome(&format!("{arguments} --json")), text, "{arguments}");
        // A command that changes nothing creates no registry: each list has a dataset after the column names.
        assert!(text.2.iter().all(|sets| sets.lines().count() > 1), "{arguments}: {:?}", text.2);
    }
}

#[test]
fn a_command_that_changes_nothing_creates_no_registry() {
    let sandbox = world();
    for arguments in [
        "ingest NEW --create --skip-existing /dev/null",
        "ingest NEW --create --at 2001-01-05 --dry-run --id A",
        "import LOG header.csv --create",
        "mirror pull US emptied.db --create",
    ] {
        let printed = sandbox.run(&format!("accession --registry new.db {arguments}"));
        assert!(!printed.contains("error"), "{arguments}: {printed}");
        assert!(!sandbox.path().join("new.db").exists(), "{arguments}");
    }
    // If the dataset was not created, the empty set is in force.
    let nothing = "ingest NEW --create --skip-existing /dev/null --json";
    let printed = sandbox.run(&format!("accession --registry new.db {nothing}"));
    let in_force: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(in_force["timestamp"], Value::Null);
    assert_eq!(in_force["identifier"], "d41d8cd98f00b204e9800998ecf8427e");
}

#[test]
fn standard_input_named_twice_is_refused() {
    // Once, the second one was silently empty.
    let sandbox = world();
    for arguments in ["ingest US - --delete -", "ingest US - -", "delete US - -", "check - -"] {
        let refused = sandbox.run(&format!("echo C | accession {arguments} --json"));
        let message = "\"usage\",\"message\":\"standard input is named more than once\"";
        assert!(refused.contains(message) && refused.ends_with("? 2\n"), "{arguments}: {refused}");
    }
    let twice = sandbox.run("echo C | accession ingest US --at 2001-01-05 - new.txt");
    assert!(twice.contains("\"C\""), "a file beside standard input is read: {twice}");
}

/// Runs a command in a shell, with redirections. Returns stderr and the exit status.
fn shell(sandbox: &Sandbox, script: &str) -> (String, Option<i32>) {
    let mut command = Command::new("sh");
    let path = format!("{}/.bin:/usr/bin:/bin", sandbox.path().display());
    command.args(["-c", script]).current_dir(sandbox.path()).env_clear().env("PATH", path);
    let output = command.output().unwrap();
    (stderr(&output), output.status.code())
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_after_a_change_is_an_error_that_names_the_change() {
    // Once, the error on a full disk was "no space left", without mention of the change. With a closed stdout,
    // there was no message.
    let redirections = ["> /dev/full", ">&-", "1> closed.fifo"];
    for redirection in redirections {
        let commands = [
            "ingest US --at 2001-02-03 --id C",
            "ids payment --worker 1 --count 3",
            "mirror pull THEM us.jsonl --at 2001-02-03",
            "dataset edit US --title T",
            "cite THEM@2001-01-05 --select A --format tuple",
            "registry backup copy.db",
        ];
        for arguments in commands {
            let sandbox = world();
            let script = match redirection {
                // The reader opens the pipe, and closes it before anything is written.
                "1> closed.fifo" => format!(
                    "mkfifo closed.fifo gone.fifo; \
                     {{ exec 3< closed.fifo; exec 3<&-; echo > gone.fifo; }} & \
                     exec 4> closed.fifo; read gone < gone.fifo; accession --json {arguments} >&4"
                ),
                redirection => format!("accession --json {arguments} {redirection}"),
            };
            let (printed, status) = shell(&sandbox, &script);
            assert_eq!(status, Some(2), "{script}: {printed}");
            // Warnings about a citation are printed first.
            let last_line = printed.lines().last().unwrap();
            let error: Value = serde_json::from_str(last_line).unwrap();
            assert_eq!(error["error"]["kind"], "output", "{script}: {printed}");
            let found = error["error"]["message"].as_str().unwrap();
            let message = "the change was made, but its report could not be written";
            assert!(found.starts_with(message), "{script}: {printed}");
            assert!(error["error"]["hint"].is_string(), "{script}: {printed}");
            if arguments.starts_with("ingest") {
                assert_eq!(sandbox.run("accession granules US"), "A\nC\n", "{script}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_does_not_keep_other_datasets_from_being_published_and_pulled() {
    let sandbox = world();
    let lost = "error: the change was made, but its report could not be written to standard output";
    let (printed, status) = shell(&sandbox, "accession publish www >&-");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.starts_with(lost), "{printed}");
    for file in ["EMPTY/head.json", "THEM/head.json", "US/head.json", "US/index.html"] {
        assert!(sandbox.path().join("www/datasets").join(file).exists(), "{file}");
    }
    for mirror in ["M1", "M2", "M3"] {
        sandbox.run(&format!("accession --registry m.db mirror pull {mirror} us.jsonl --create"));
    }
    sandbox.run("accession ingest US --at 2001-01-06 --id C");
    sandbox.run("accession dataset export US --output us.jsonl");
    let (printed, status) = shell(&sandbox, "accession --registry m.db mirror pull --all >&-");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.starts_with(lost), "{printed}");
    for mirror in ["M1", "M2", "M3"] {
        let held = sandbox.run(&format!("accession --registry m.db granules {mirror}"));
        assert_eq!(held, "A\nC\n", "{mirror}");
    }
    // A closed stdout does not suppress their warnings.
    sandbox.run("accession --registry m.db ingest M2 --id X");
    let (printed, _) = shell(&sandbox, "accession --registry m.db mirror pull --all >&-");
    assert!(printed.contains("warning: M2 was not changed"), "{printed}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_forgotten_is_reported_where_the_output_is_lost() {
    let sandbox = world();
    sandbox.run("accession fixity add US --at now sums --algorithm md5");
    sandbox.run("mkdir tree; touch tree/A; accession fixity check US --root tree --root-name here");
    let (printed, status) = shell(&sandbox, "accession fixity forget US here >&-");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.starts_with("error: the change was made, but its report"), "{printed}");
    let again = sandbox.run("accession fixity forget US here");
    assert!(again.contains("\nhint: "), "{again}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_reader_that_closes_its_pipe_ends_the_output_without_a_message() {
    let sandbox = Sandbox::new();
    let ids: String = (0..50_000).map(|n| format!("granule.{n}\n")).collect();
    std::fs::write(sandbox.path().join("ids.txt"), ids).unwrap();
    sandbox.run("accession ingest MANY --create --at 2001-01-02 ids.txt");
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

#[test]
fn a_closed_standard_output_is_an_error_if_there_is_output() {
    let sandbox = world();
    for arguments in ["history US", "granules US", "--help", "--version", "man", "completions bash"]
    {
        let (printed, status) = shell(&sandbox, &format!("accession {arguments} >&-"));
        assert_eq!(status, Some(2), "{arguments}: {printed}");
        assert_eq!(
            printed, "error: cannot write to standard output: it is closed\n",
            "{arguments}"
        );
    }
    let (printed, status) = shell(&sandbox, "accession dataset export US --output copy.jsonl >&-");
    assert_eq!((printed.as_str(), status), ("", Some(0)), "nothing is written to stdout");
    // The runtime of Rust opens this device if stdout is closed.
    let (printed, status) = shell(&sandbox, "accession history US 1<>/dev/null");
    assert_eq!((printed.as_str(), status), ("", Some(0)));
}

#[test]
fn warnings_precede_rows_and_an_error_follows_those_that_it_cut_off() {
    // The rows exceed the output buffer. Once, a warning was printed between them, and an error before the rows
    // that were still buffered.
    let sandbox = Sandbox::new();
    let log: String = (1..600)
        .map(|n| {
            let time = format!("2001-01-02T00:{:02}:{:02}Z", n / 60, n % 60);
            format!("{time}\t{}\tA\n", if n % 2 == 1 { '+' } else { '-' })
        })
        .collect();
    std::fs::write(sandbox.path().join("log.tsv"), log).unwrap();
    sandbox.run("accession import US log.tsv --format changes --create");
    let a = "bf072e9119077b4e76437a93986787ef";
    let printed = sandbox.run(&format!("accession show {a}"));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 3 + 1 + 300, "{printed}");

    let ids: String = (10_000..30_000).map(|n| format!("G.{n}\n")).collect();
    std::fs::write(sandbox.path().join("ids.txt"), ids).unwrap();
    sandbox.run("accession ingest THEM --create --at 2001-01-02 ids.txt");
    let registry = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    let damage =
        "UPDATE granule SET granule_id = CAST(x'47FF' AS TEXT) WHERE granule_id = 'G.29999'";
    registry.execute(damage, []).unwrap();
    drop(registry);
    let printed = sandbox.run("accession granules THEM --json");
    let lines: Vec<&str> = printed.lines().collect();
    let error = lines.iter().position(|line| line.starts_with("{\"error\"")).unwrap();
    assert!(error > 1_000, "{error} lines precede it");
    assert!(lines[error + 1..].iter().all(|line| !line.contains("\"granule\":\"G")), "{printed}");
    assert_eq!(lines.last(), Some(&"? 2"));
}

#[test]
fn check_prints_at_most_20_places_of_a_citation_and_all_in_json() {
    // Once, a hundred references to a set that 20,000 datasets held printed 645 MB.
    let sandbox = Sandbox::new();
    for number in 0..23 {
        let ingest =
            format!("accession ingest DATASET.{number:02} --create --at 2001-01-02 --id A");
        sandbox.run(&ingest);
    }
    let identifier = "DI:bf072e9119077b4e76437a93986787ef";
    let text = sandbox.run(&format!("accession check {identifier} {identifier}"));
    for citation in text.split_inclusive("more; --json lists all\n").take(2) {
        assert_eq!(citation.matches("DATASET.").count(), 20, "{text}");
    }
    assert_eq!(text.matches("   and 3 more; --json lists all\n").count(), 2, "{text}");
    let rows = sandbox.run(&format!("accession check {identifier} {identifier} --json"));
    // The last row is the summary.
    assert_eq!(rows.lines().count(), 3);
    for row in rows.lines().take(2) {
        let verdict: Value = serde_json::from_str(row).unwrap();
        assert_eq!(verdict["intervals"].as_array().unwrap().len(), 23);
    }
}

#[test]
fn every_help_begins_with_an_imperative_and_ends_with_an_example() {
    let helps = helps();
    let commands = leaf_commands(&helps);
    assert!(commands.len() > 25, "{commands:?}");
    for command in commands {
        let help = &helps[command];
        let first_line = help.lines().next().unwrap();
        assert!(!first_line.ends_with('.'), "{command}: {first_line}");
        assert!(first_line.starts_with(|c: char| c.is_ascii_uppercase()), "{command}");
        let example = format!("\n  accession {command}");
        let names_it = help.contains(&example) || help.contains(&format!("| accession {command}"));
        assert!(names_it, "{command}: {help}");
    }
}

#[test]
fn the_columns_of_a_history_are_as_wide_as_timestamps_with_microseconds() {
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest US --create --at 2001-01-02 --id A");
    sandbox.run("accession ingest US --at 2001-01-03T04:05:06.123456Z --note 'a note' --id B");
    let history = sandbox.run("accession history US");
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines[0].find("identifier"), Some("2001-01-03T04:05:06.123456Z  ".len()));
    assert_eq!(lines[1].find("bf072e91"), lines[0].find("identifier"), "{history}");
    assert!(lines[2].starts_with("2001-01-03T04:05:06.123456Z  "), "{history}");
    assert_eq!(lines[2].find("a note"), lines[0].find("note"), "{history}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_error_is_coloured_on_a_terminal_unless_no_color_is_set() {
    let sandbox = world();
    let Some(coloured) = on_a_terminal(&sandbox, "show NOWHERE", None) else { return };
    assert!(coloured.contains("\u{1b}["), "{coloured:?}");
    let plain = on_a_terminal(&sandbox, "show NOWHERE", Some("1")).unwrap();
    assert!(
        plain.starts_with("error: the registry has no dataset NOWHERE, and there is no file"),
        "{plain:?}"
    );
}
