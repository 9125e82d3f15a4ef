//! What guards reject, and how to insist, on a registry of either kind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use accession::{Clock, Registry, Timestamp};
use harness::values::{AtTime, change, name};
use serde_json::Value;

use super::program::program;

/// A directory of listings, and a registry.
pub struct Archive {
    directory: tempfile::TempDir,
    registry: String,
    /// The server of the registry, which ends with it.
    _server: Box<dyn std::any::Any>,
}

/// The exit status of a command, and its output.
#[derive(Debug)]
pub(super) struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The error of a guard.
#[derive(Debug)]
pub(super) struct Refusal {
    pub kind: String,
    pub message: String,
    pub expect: String,
    pub hint: String,
}

impl Refusal {
    /// The commands of the hint, in their order.
    pub fn commands(&self) -> Vec<&str> {
        self.hint.split('`').skip(1).step_by(2).collect()
    }
}

impl Archive {
    /// Creates an archive with this registry, a path or an address. `server` is kept until the end.
    pub fn new(registry: impl Into<String>, server: impl std::any::Any) -> Self {
        let (directory, registry) = (harness::directory(), registry.into());
        let archive = Archive { directory, registry, _server: Box::new(server) };
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        archive
            .write("umm.json", &std::fs::read_to_string(fixtures.join("input/umm.json")).unwrap());
        let ids = |numbers: std::ops::Range<u32>| lines(numbers.map(|n| format!("G{n:04}.nc")));
        archive.write("all.txt", &ids(0..40));
        archive.write("more.txt", &ids(0..45));
        archive.write("most.txt", &ids(0..46));
        archive.write("five.txt", &ids(40..45));
        archive.write("few.txt", &ids(0..10));
        archive.write("gone.txt", &ids(10..40));
        archive.write("others.txt", &ids(0..11));
        archive.write("many.txt", &ids(0..1_100));
        archive.write("new.txt", &ids(40..1_100));
        archive.write("unlike.txt", "nothing-listed\nretry_later\n");
        archive.write("odd.txt", &format!("{}G0041 copy.nc\n", ids(0..46)));
        archive.write("with-unlike.txt", &format!("{}nothing-listed\n", ids(0..40)));
        let sums = |digit: char| {
            lines((0..40).map(|n| format!("{}  G{n:04}.nc", digit.to_string().repeat(64))))
        };
        archive.write("sums.sha256", &sums('a'));
        archive.write("other-sums.sha256", &sums('b'));
        archive
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.directory.path().join(name), text).unwrap();
    }

    /// Runs a line of the shell. `accession` is the program with this registry.
    pub(super) fn run(&self, line: &str) -> Ended {
        ended(self.start(line))
    }

    /// Runs two lines at the same time.
    pub(super) fn at_once(&self, lines: [&str; 2]) -> [Ended; 2] {
        lines.map(|line| self.start(line)).map(ended)
    }

    fn start(&self, line: &str) -> Child {
        let line = line.replacen("accession ", "\"$PROGRAM\" ", 1);
        let mut shell = Command::new("sh");
        shell.args(["-c", &line]).current_dir(self.directory.path());
        shell.env("PROGRAM", program()).env("ACCESSION_REGISTRY", &self.registry);
        shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// The registry, with a different clock from that of the program.
    fn open(&self, now: Timestamp) -> Registry {
        let path = match self.registry.contains("://") {
            true => PathBuf::from(&self.registry),
            false => self.directory.path().join(&self.registry),
        };
        Registry::open_or_create(path, Clock::fixed(now)).unwrap()
    }

    pub(super) fn succeeds(&self, line: &str) -> String {
        let ended = self.run(line);
        assert_eq!(ended.status, Some(0), "{line}: {ended:?}");
        ended.stdout
    }

    /// The error of a command that fails with a status.
    pub(super) fn error(&self, line: &str, status: i32) -> Value {
        let ended = self.run(&format!("{line} --json"));
        assert_eq!(ended.status, Some(status), "{line}: {ended:?}");
        let last = ended.stderr.lines().last().unwrap();
        serde_json::from_str::<Value>(last).unwrap()["error"].take()
    }

    pub(super) fn refused(&self, line: &str) -> Refusal {
        let error = self.error(line, 3);
        let text = |member: &str| {
            error[member].as_str().unwrap_or_else(|| panic!("{line}: {error}")).to_owned()
        };
        let hint = text("hint").replace(" --json", "");
        Refusal { kind: text("kind"), message: text("message"), expect: text("expect"), hint }
    }

    /// The identifier and the digest of the set that a dataset holds, and the number of its changes.
    pub(super) fn state(&self, dataset: &str) -> (String, String, usize) {
        let history = self.succeeds(&format!("accession history {dataset} --json"));
        let last =
            history.lines().last().map_or(Value::Null, |it| serde_json::from_str(it).unwrap());
        let text = |member: &str| last[member].as_str().unwrap_or_default().to_owned();
        (format!("DI:{}", text("identifier")), text("digest"), history.lines().count())
    }

    /// A dataset that holds 40 granules.
    pub(super) fn dataset(&self, name: &str) {
        self.succeeds(&format!("accession sync {name} all.txt --create --at 2001-01-02"));
    }
}

fn ended(child: Child) -> Ended {
    let output = child.wait_with_output().unwrap();
    Ended {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(super) fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.map(|line| line + "\n").collect()
}

/// Each guard rejects with its kind and status 3, and changes nothing. The command that it prints makes exactly
/// the change that it names.
pub fn each_guard_names_the_set_and_its_command_makes_exactly_this_change(archive: &Archive) {
    for (number, (before, command, kind, others)) in [
        (&[][..], "sync D few.txt", "too-many-deletions", "sync D others.txt"),
        (&[], "delete D gone.txt", "too-many-deletions", "delete D few.txt"),
        (&[], "ingest D five.txt --delete gone.txt", "too-many-deletions", "sync D few.txt"),
        (&[], "sync D many.txt", "too-many-additions", "sync D more.txt"),
        (&[], "ingest D new.txt", "too-many-additions", "sync D more.txt"),
        (
            &["sync D sums.sha256"],
            "sync D other-sums.sha256",
            "content-contradicts",
            "sync D few.txt",
        ),
        (
            &["sync D sums.sha256"],
            "ingest D other-sums.sha256 --skip-existing",
            "content-contradicts",
            "sync D few.txt",
        ),
        (
            &["sync D sums.sha256"],
            "fixity add D other-sums.sha256",
            "content-contradicts",
            "sync D few.txt",
        ),
        (&["dataset edit D --max-delete 40"], "sync D umm.json", "incomplete", "sync D few.txt"),
        (&[], "ingest D umm.json", "incomplete", "sync D more.txt"),
        (&[], "sync D /dev/null", "empty", "sync D few.txt"),
        (&[], "ingest D unlike.txt", "unlike", "sync D more.txt"),
        (&[], "sync D with-unlike.txt", "unlike", "sync D more.txt"),
        (&[], "sync D odd.txt", "not-a-list", "sync D more.txt"),
        (&[], "ingest D odd.txt --skip-existing", "not-a-list", "sync D more.txt"),
        (
            &["sync D /dev/null --expect DI:d41d8cd98f00b204e9800998ecf8427e", "sync D more.txt"],
            "revert D",
            "too-many-deletions",
            "sync D few.txt",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("D{number}");
        let named =
            |command: &str| format!("accession {}", command.replace(" D ", &format!(" {name} ")));
        let named = |command: &str| {
            let command = named(&format!("{command} "));
            command.trim_end().to_owned()
        };
        archive.dataset(&name);
        for command in before {
            archive.succeeds(&named(command));
        }
        let state = || archive.state(&name);
        let held = state();
        let refusal = archive.refused(&named(command));
        assert_eq!(refusal.kind, kind, "{command}: {refusal:?}");
        assert!(refusal.message.matches("\", \"").count() <= 2, "{refusal:?}");
        assert_eq!(state(), held, "{command}");
        // A dry run is rejected in the same way.
        assert_eq!(archive.refused(&named(&format!("{command} --dry-run"))).expect, refusal.expect);
        let insisting = refusal.commands()[0];
        // The expected set is that of this listing only.
        let other = archive.error(&format!("{} --expect {}", named(others), refusal.expect), 2);
        assert_eq!(other["kind"], "not-as-expected", "{command}: {other}");
        let message = other["message"].as_str().unwrap();
        assert!(message.contains(&refusal.expect), "{message}");
        assert_eq!(state(), held, "{command}");
        let printed = archive.succeeds(insisting);
        assert!(
            printed.contains(&format!("as expected, although {}", refusal.message)),
            "{printed}"
        );
        let (identifier, digest, changes) = state();
        assert_eq!(changes, held.2 + 1, "{insisting}");
        assert!([&identifier, &digest].contains(&&refusal.expect), "{insisting}: {refusal:?}");
        assert_eq!(refusal.expect == digest, kind == "content-contradicts", "{refusal:?}");
        if insisting.contains("sync ") {
            // The same command again finds nothing to do.
            let again = archive.succeeds(insisting);
            assert_eq!(state().2, changes, "{insisting}");
            assert!(!again.contains("although"), "{again}");
        }
    }
}

/// Only `dataset create` creates a dataset whose name differs from another one only by case and separators. An
/// expected set does not mean that the name is right.
pub fn a_similar_name_is_created_by_dataset_create_alone(archive: &Archive) {
    archive.dataset("NAMED-x");
    archive.run("mkdir named; cp all.txt named/2001-01-02.txt");
    archive.run("printf '2001-01-02\\t+\\tA\\n' > named.tsv");
    archive.succeeds("accession dataset export NAMED-x --output named.jsonl");
    let held = archive.state("NAMED-x").0;
    let commands = [
        "accession sync named_X all.txt --create",
        "accession ingest named_X all.txt --create",
        "accession import named_X named --create",
        "accession import named_X named.tsv --create",
        "accession mirror pull named_X named.jsonl --create",
    ];
    for command in commands {
        for insisting in [String::new(), " --dry-run".to_owned(), format!(" --expect {held}")] {
            let command = format!("{command}{insisting}");
            let error = archive.error(&command, 3);
            assert_eq!(error["kind"], "similar-name", "{command}: {error}");
            assert_eq!(error.get("expect"), None, "{command}: {error}");
            let hint = "if it is another dataset, create it: `accession dataset create named_X`, and repeat the command";
            assert_eq!(error["hint"], hint, "{command}");
        }
    }
    let datasets = archive.succeeds("accession dataset list --json");
    assert_eq!(datasets.lines().count(), 1, "{datasets}");
    archive.succeeds("accession dataset create named_X");
    archive.succeeds(commands[0]);
    assert_eq!(archive.state("named_X").0, held);
    // The name is no longer new.
    archive.succeeds(commands[0]);
}

/// If the clock is years ahead of every recorded time, each command that changes a dataset is rejected, until a
/// change is made with its expected set.
pub fn a_clock_years_ahead_stops_each_change(archive: &Archive) {
    let registry = archive.open("2001-02-01T00:00:00Z".parse().unwrap());
    let ids: Vec<String> = (0..40).map(|n| format!("G{n:04}.nc")).collect();
    let first =
        change(ids.iter().map(String::as_str), []).at("2001-01-02T00:00:00Z".parse().unwrap());
    registry.change(&name("CLOCK"), &first).unwrap();
    drop(registry);
    archive.run("mkdir clock; cp more.txt clock/2001-02-02.txt");
    archive.run("printf '2001-02-02\\t+\\tA\\n' > clock.tsv");
    let held = archive.state("CLOCK");
    let mut last = String::new();
    for command in [
        "sync CLOCK more.txt",
        "sync CLOCK all.txt",
        "sync NEW all.txt --create",
        "ingest CLOCK five.txt",
        "ingest CLOCK --id A",
        "delete CLOCK few.txt",
        "fixity add CLOCK sums.sha256",
        "import CLOCK clock.tsv",
        "import CLOCK clock",
    ] {
        let command = format!("accession {command}");
        let refusal = archive.refused(&command);
        assert_eq!(refusal.kind, "clock-ahead", "{command}: {refusal:?}");
        let insisting = format!("{command} --expect {}", refusal.expect);
        assert_eq!(refusal.commands(), [&insisting], "{refusal:?}");
        let other =
            archive.error(&format!("{command} --expect {}", "DI:".to_owned() + &"0".repeat(32)), 2);
        // The first dated listing is rejected, whichever set is expected.
        let kinds = ["not-as-expected", "clock-ahead"];
        assert!(kinds.contains(&other["kind"].as_str().unwrap()), "{command}: {other}");
        assert_eq!(archive.state("CLOCK"), held, "{command}");
        last = insisting;
    }
    archive.succeeds(&last);
    assert_eq!(archive.state("CLOCK").2, 2);
    // A change has confirmed that the clock is right.
    archive.succeeds("accession sync CLOCK all.txt");
}

/// Typed ids are not guarded. If no guard rejects a change, `--expect` is a condition.
pub fn typed_ids_are_not_guarded_and_an_expected_set_is_a_condition(archive: &Archive) {
    archive.dataset("TYPED");
    let typed = (0..30).map(|n| format!(" --id G{n:04}.nc")).collect::<String>();
    archive.succeeds(&format!("accession delete TYPED{typed}"));
    archive.succeeds("accession ingest TYPED --id 'cannot read /data'");
    let planned = archive.succeeds("accession ingest TYPED --id X --dry-run --json");
    let planned: Value = serde_json::from_str(planned.lines().last().unwrap()).unwrap();
    let expect = planned["expect"].as_str().unwrap();
    let other = archive.error(&format!("accession ingest TYPED --id Y --expect {expect}"), 2);
    assert_eq!(other["kind"], "not-as-expected", "{other}");
    let ended = archive.run("accession ingest TYPED --id X --dry-run");
    let command = format!("accession ingest TYPED --id X --expect {expect}");
    assert!(
        ended.stderr.contains(&format!("hint: `{command}` makes exactly this change")),
        "{ended:?}"
    );
    archive.succeeds(&command);
    assert_eq!(archive.state("TYPED").0, expect);
}

/// After a second rejection in a row, the hint names the permanent limit. `status` shows rejections until a
/// listing is accepted. A mistake in the command is not a rejection.
pub fn a_second_refusal_names_the_limit_that_lasts(archive: &Archive) {
    archive.dataset("AGAIN");
    assert_eq!(archive.error("accession sync AGAIN nowhere.txt", 2)["kind"], "io");
    assert_eq!(
        archive.error("accession sync AGAIN all.txt few.txt --format no", 2)["kind"],
        "usage"
    );
    assert_eq!(archive.run("accession status AGAIN").status, Some(0));
    for (command, option) in [
        ("sync AGAIN few.txt", "--max-delete"),
        ("delete AGAIN gone.txt", "--max-delete"),
        ("ingest AGAIN new.txt", "--max-add"),
    ] {
        assert_eq!(archive.refused(&format!("accession {command}")).commands().len(), 1);
        let second = archive.refused(&format!("accession {command}"));
        let lasting = format!("accession dataset edit AGAIN {option} ");
        assert!(second.commands()[1].starts_with(&lasting), "{second:?}");
        let status = archive.run("accession status AGAIN");
        assert_eq!(status.status, Some(1), "{status:?}");
        assert!(status.stdout.contains("listing refused: "), "{status:?}");
        archive.succeeds(second.commands()[1]);
        archive.succeeds(&format!("accession {command}"));
        assert_eq!(archive.run("accession status AGAIN").status, Some(0));
        archive.succeeds(&format!("accession dataset edit AGAIN {option} ''"));
        archive.succeeds("accession revert AGAIN AGAIN~1");
    }
}

/// A pull follows the primary without limits, unless the mirror has its own. A mirror that diverged is changed
/// only to the expected set.
pub fn a_pull_has_the_limits_of_the_mirror_and_changes_a_diverged_one_only_as_expected(
    archive: &Archive,
) {
    archive.dataset("PRIMARY");
    let pull = "accession mirror pull MIRROR primary.jsonl";
    let export = || {
        archive.run("rm -f primary.jsonl");
        archive.succeeds("accession dataset export PRIMARY --output primary.jsonl");
    };
    export();
    archive.succeeds(&format!("{pull} --create"));
    let refusal = archive.refused("accession sync PRIMARY few.txt");
    archive.succeeds(refusal.commands()[0]);
    export();
    archive.succeeds("accession dataset edit MIRROR --max-delete 5");
    let limited = archive.refused(pull);
    assert_eq!((limited.kind.as_str(), &limited.expect), ("too-many-deletions", &refusal.expect));
    archive.succeeds("accession dataset edit MIRROR --max-delete ''");
    archive.succeeds(pull);
    assert_eq!(archive.state("MIRROR").0, refusal.expect);

    archive.succeeds("accession ingest MIRROR --id EXTRA");
    let held = archive.state("MIRROR");
    let ended = archive.run(pull);
    assert_eq!((ended.status, archive.state("MIRROR")), (Some(1), held.clone()), "{ended:?}");
    let command = ended.stderr.split('`').nth(1).unwrap();
    assert_eq!(command, format!("{pull} --expect {}", refusal.expect));
    archive.succeeds("accession sync PRIMARY others.txt");
    export();
    assert_eq!(archive.error(command, 2)["kind"], "not-as-expected");
    assert_eq!(archive.state("MIRROR"), held);
    let ended = archive.run(pull);
    let command = ended.stderr.split('`').nth(1).unwrap();
    archive.succeeds(command);
    assert_eq!(archive.state("MIRROR").0, archive.state("PRIMARY").0);
    archive.succeeds(command);
}

/// A mirror keeps contents that it recorded itself until those of the primary are expected.
pub fn a_pull_takes_other_contents_only_as_expected(archive: &Archive) {
    archive.succeeds("accession sync SUMS sums.sha256 --create --at 2001-01-02");
    archive.succeeds("accession sync OWN other-sums.sha256 --create --at 2001-01-02");
    archive.succeeds("accession dataset export SUMS --output sums.jsonl");
    let pull = "accession mirror pull OWN sums.jsonl";
    let held = archive.state("OWN");
    let ended = archive.run(pull);
    assert_eq!((ended.status, archive.state("OWN")), (Some(1), held), "{ended:?}");
    let command = ended.stderr.split('`').nth(1).unwrap();
    assert_eq!(command, format!("{pull} --expect {}", archive.state("SUMS").1));
    archive.succeeds(command);
    assert_eq!(archive.state("OWN").1, archive.state("SUMS").1);
    archive.succeeds(command);
}

/// Defines one test for each of these functions.
macro_rules! on {
    ($archive:expr) => {
        on!($archive;
            guards::each_guard_names_the_set_and_its_command_makes_exactly_this_change,
            guards::typed_ids_are_not_guarded_and_an_expected_set_is_a_condition,
            guards::a_similar_name_is_created_by_dataset_create_alone,
            guards::a_clock_years_ahead_stops_each_change,
            guards::a_second_refusal_names_the_limit_that_lasts,
            guards::a_pull_has_the_limits_of_the_mirror_and_changes_a_diverged_one_only_as_expected,
            guards::a_pull_takes_other_contents_only_as_expected,
            operators::who_expects_another_set_than_the_present_result_is_refused,
            operators::two_operators_at_once_lose_nothing_without_being_told,
            backfill::an_import_stops_and_both_printed_commands_continue,
            backfill::a_loss_that_lasts_is_recorded_once_and_skipped_each_night,
        );
    };
    ($archive:expr; $($module:ident::$test:ident,)+) => {
        $(#[test]
        fn $test() {
            let archive: Option<crate::running::guards::Archive> = $archive;
            if let Some(archive) = archive {
                crate::running::$module::$test(&archive);
            }
        })+
    };
}

pub(crate) use on;
