//! A clock that was ahead and is right again: the latest change of a dataset is in the future.

use accession::{Clock, Registry, Timestamp};
use harness::values::clock;
use serde_json::Value;

use crate::running::console::Sandbox;
use harness::seal::seal_rows;

const BEFORE: &str = "bf072e9119077b4e76437a93986787ef";

/// A registry with a dataset in which B was ingested when the clock was years ahead.
fn sandbox() -> Sandbox {
    const FUTURE_MICROS: i64 = 4_102_444_800_000_000;
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest D --create --at 2001-01-02 --id A");
    sandbox.run("accession ingest D --at 2001-01-03 --id B");
    let registry = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    registry
        .execute("UPDATE granule SET ingested = ?1 WHERE granule_id = 'B'", [FUTURE_MICROS])
        .unwrap();
    registry
        .execute(
            "UPDATE instance SET timestamp = ?1, recorded = ?1 WHERE granules = 2",
            [FUTURE_MICROS],
        )
        .unwrap();
    seal_rows(&registry);
    sandbox
}

/// The kinds of the warnings that a command prints.
fn warnings(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let kinds = lines.filter_map(|line| line["warning"]["kind"].as_str().map(str::to_owned));
    kinds.collect()
}

#[test]
fn every_command_names_the_set_in_force_now_and_warns_of_the_one_in_the_future() {
    let sandbox = sandbox();
    for command in ["show D", "dataset list", "cite D --format tuple"] {
        let printed = sandbox.run(&format!("accession {command} --json"));
        assert!(printed.contains(BEFORE), "{command}: {printed}");
        let warnings = warnings(&printed);
        assert!(warnings.contains(&"last-change-in-future".to_owned()), "{command}: {printed}");
    }
    let granules = sandbox.run("accession granules D 2> /dev/null");
    assert_eq!(granules, "A\n");
    let compared = sandbox.run("printf 'A\\n' | accession compare D - --summary 2> /dev/null");
    assert!(compared.starts_with("identical: 1 granule\n"), "{compared}");
}

#[test]
fn a_change_after_one_in_the_future_is_stamped_after_it_with_a_warning() {
    let printed = sandbox().run("accession ingest D --id C --json");
    assert!(printed.contains("\"timestamp\":\"2100-01-01T00:00:00.000001Z\""), "{printed}");
    assert!(warnings(&printed).contains(&"clock-behind".to_owned()), "{printed}");
}

/// A registry in which nothing was recorded since 2001, so the clock of this machine is far ahead of it.
fn idle() -> Sandbox {
    const MICROS_IN_2001: i64 = 978_307_200_000_000;
    let sandbox = Sandbox::new();
    sandbox.run("accession ingest D --create --at 2001-01-02 --id A --id B 2> /dev/null");
    sandbox.run("accession ingest E --create --at 2001-01-02 --id A");
    let registry = rusqlite::Connection::open(sandbox.path().join("accession.db")).unwrap();
    sandbox.run("mkdir lists; echo A > lists/2016-01-01.txt");
    for table in ["instance", "record_version"] {
        registry.execute(&format!("UPDATE {table} SET recorded = ?1"), [MICROS_IN_2001]).unwrap();
    }
    seal_rows(&registry);
    sandbox
}

#[test]
fn sign_warns_of_a_clock_a_month_ahead_and_refuses_after_it_was_set_back() {
    const FORTY_DAYS_MICROS: i64 = 40 * 86_400_000_000;
    let sandbox = Sandbox::after(&[
        "accession ingest D --create --at 2001-01-02 --id A",
        "accession proof keygen us.example.org/statements --output us.key > us.vkey",
    ]);
    let file = sandbox.path().join("accession.db");
    let registry = rusqlite::Connection::open(&file).unwrap();
    for table in ["instance", "record_version"] {
        let earlier = format!("UPDATE {table} SET recorded = recorded - ?1");
        registry.execute(&earlier, [FORTY_DAYS_MICROS]).unwrap();
    }
    seal_rows(&registry);
    drop(registry);
    let printed = sandbox.run("accession proof sign --key us.key --json");
    assert_eq!(warnings(&printed), ["clock-ahead"], "{printed}");
    assert!(printed.contains("\"stated\":1"), "{printed}");
    // No new statement is made, so no time causes a warning.
    assert_eq!(warnings(&sandbox.run("accession proof sign --key us.key --json")), [] as [&str; 0]);
    // The clock is a day ahead when the next statement is made.
    sandbox.run("accession ingest D --at 2001-01-03 --id B");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let micros = i64::try_from(now.as_micros()).unwrap() + 86_400_000_000;
    let registry = Registry::open(&file, clock()).unwrap();
    registry
        .with_clock(Clock::fixed(Timestamp::from_micros(micros).unwrap()))
        .add_statements(&[])
        .unwrap();
    let kept = sandbox.run("cat us.key.last");
    for _ in 0..2 {
        let printed = sandbox.run("accession proof sign --key us.key; echo $?");
        assert!(printed.starts_with("error: the last statement was made at "), "{printed}");
        assert!(printed.contains("\nhint: `date -u` shows the clock"), "{printed}");
        assert!(printed.ends_with("\n2\n"), "{printed}");
        assert!(
            sandbox.run("accession proof sign --key us.key --json").contains("\"kind\":\"future\"")
        );
    }
    assert_eq!(sandbox.run("cat us.key.last"), kept);
}

/// All commands get their time from the same code. `clock_ahead` in the library's tests covers every operation.
#[test]
fn a_clock_far_ahead_of_the_registry_is_refused_until_it_is_confirmed() {
    for command in ["ingest D --id C", "dataset edit D --title T", "import L lists --create"] {
        let sandbox = idle();
        let before = sandbox.run("accession dataset list --json; accession history D --json");
        let refused = sandbox.run(&format!("accession {command} --json"));
        assert!(refused.contains("\"kind\":\"clock-ahead\""), "{command}: {refused}");
        assert!(refused.ends_with("\n? 3\n"), "{command}: {refused}");
        let expected = refused.split_once("\"expect\":\"").and_then(|(_, it)| it.split_once('"'));
        let insisting = match expected {
            Some((expected, _)) => format!("--expect {expected}"),
            None => "--at now".to_owned(),
        };
        assert!(refused.contains(&insisting), "{command}: {refused}");
        assert_eq!(
            sandbox.run("accession dataset list --json; accession history D --json"),
            before,
            "{command}"
        );
        let payment_id = "accession ids payment --worker 1";
        assert!(sandbox.run(payment_id).contains("hint: correct the clock"));
        let accepted = sandbox.run(&format!("accession {command} {insisting}"));
        assert!(!accepted.contains('?'), "{command}: {accepted}");
        let later = sandbox.run(&format!("accession dataset create LATER; {payment_id}"));
        assert!(!later.contains('?'), "{command}: {later}");
    }
}
