//! Limits that the operating system itself imposes: a file that may not grow, a full disk, and a disk that is
//! mounted read-only.
//!
//! The last two need a file system that is mounted in a new namespace (`unshare --mount`). If that is not
//! permitted, `server/tests/what_was_not_checked.rs` reports it.

use std::process::{Command, Output};

use crate::rounds::is_long;
use crate::running::program::program;
use crate::scene::{Action, Place, Scene};
use harness::mounts::may_mount;

/// Runs a shell script. `$0` is the program, `$1` the registry's directory, and the other
/// parameters are the action's arguments.
fn run_script(script: &str, wrapper: &[&str], place: &Place, action: &Action) -> Output {
    let words: Vec<&str> = wrapper.iter().copied().chain(["sh", "-c", script, program()]).collect();
    Command::new(words[0])
        .args(&words[1..])
        .arg(&place.directory)
        .args(&action.arguments)
        .env("TMPDIR", place.temporary())
        .env("SQLITE_TMPDIR", place.temporary())
        .output()
        .unwrap()
}

/// Whether the command succeeded. Asserts that it reported the reason if it failed, and that its change was
/// made completely or not at all (completely if it succeeded).
fn is_done(place: &Place, action: &Action, output: &Output, kinds: &[&str], context: &str) -> bool {
    let found = place.examine(context);
    let is_there = found.as_ref() == Some(&action.after);
    assert!(is_there || found == action.before, "{context}: only a part of the change was made");
    if output.status.success() {
        assert!(is_there, "{context}: the change was acknowledged, but not made");
        return true;
    }
    assert_eq!(output.status.code(), Some(2), "{context}");
    // Warnings come before the error: the failure of a mirror cannot be recorded either.
    let report =
        String::from_utf8_lossy(&output.stderr).trim_end().lines().last().unwrap().to_owned();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let kind = report["error"]["kind"].as_str().unwrap();
    assert!(kinds.contains(&kind), "{context}");
    false
}

#[test]
fn a_command_whose_files_may_not_grow_reports_it_and_changes_all_or_nothing() {
    // The shell counts in blocks of 512 bytes.
    const LIMITED: &str = r#"
        ulimit -f $BLOCKS
        directory=$1; shift
        exec "$0" --json --registry "$directory/accession.db" "$@""#;
    let step = if is_long() { 1 } else { 9 };
    until_each_is_done(
        "file-size limit",
        |_, _| 0,
        step,
        |place, action, blocks| {
            let output =
                run_script(&LIMITED.replace("$BLOCKS", &blocks.to_string()), &[], place, action);
            assert!(
                blocks > 0 || !output.status.success(),
                "{}: the limit had no effect",
                action.name
            );
            (output, &["full", "io", "database", "temporary"])
        },
    );
}

/// Runs every action with more and more of a resource until it succeeds. Before that, it must fail with one of
/// these kinds.
fn until_each_is_done(
    what: &str,
    from: impl Fn(&Scene, &Action) -> u64,
    step: usize,
    run: impl Fn(&Place, &Action, u64) -> (Output, &'static [&'static str]),
) {
    let scene = Scene::new();
    let mut refused = 0;
    for action in &scene.actions {
        let mut tried = 0;
        for most in (from(&scene, action)..4_000).step_by(step) {
            let place = scene.place(action.creates);
            let (output, kinds) = run(&place, action, most);
            let context = format!("{} within {most}: {output:?}", action.name);
            tried += 1;
            if is_done(&place, action, &output, kinds, &context) {
                break;
            }
        }
        assert!(tried < 4_000 / step, "{what}: {}: never enough", action.name);
        refused += tried - 1;
    }
    println!("{what}: {refused} refused, and then {} done", scene.actions.len());
    assert!(refused > 3 * scene.actions.len());
}

#[test]
fn a_command_on_a_full_disk_reports_it_and_changes_all_or_nothing() {
    // The contents of the small disk are copied back, since the disk disappears with the namespace.
    const ON_A_SMALL_DISK: &str = r#"
        directory=$1; shift
        disk=$(mktemp -d)
        mount -t tmpfs -o size=$KILOBYTESk tmpfs "$disk" || exit 9
        cp "$directory"/accession.db "$disk" 2>/dev/null
        if [ -e "$disk/accession.db" ]; then
            # Fill the disk completely. Existing files can still be read.
            cat /dev/zero > "$disk/rest" 2>/dev/null
            "$0" --registry "$disk/accession.db" history OWN > /dev/null || exit 8
            rm "$disk/rest"
        fi
        "$0" --json --registry "$disk/accession.db" "$@"
        status=$?
        cp "$disk"/accession.db* "$directory" 2>/dev/null
        umount "$disk" && rmdir "$disk"
        exit $status"#;
    let Some(wrapper) = may_mount() else { return };
    // The size of the registry with its -shm file, which every command needs.
    let from = |scene: &Scene, action: &Action| match action.creates {
        true => 4,
        false => std::fs::metadata(scene.place(false).registry()).unwrap().len() / 1_024 + 4,
    };
    until_each_is_done("full disk", from, 4, |place, action, kilobytes| {
        let script = ON_A_SMALL_DISK.replace("$KILOBYTES", &kilobytes.to_string());
        let output = run_script(&script, wrapper, place, action);
        assert!(!matches!(output.status.code(), Some(8 | 9)), "{}: {output:?}", action.name);
        (output, &["full", "io", "database", "denied"])
    });
}

#[test]
fn a_read_only_disk_is_read_and_not_written() {
    const ON_A_READ_ONLY_DISK: &str = r#"
        directory=$1; shift
        mount --bind "$directory" "$directory" && mount -o remount,ro,bind "$directory" || exit 9
        "$0" --registry "$directory/accession.db" verify >/dev/null || exit 8
        "$0" --registry "$directory/accession.db" history OWN >/dev/null || exit 8
        exec "$0" --json --registry "$directory/accession.db" "$@""#;
    let Some(wrapper) = may_mount() else { return };
    let scene = Scene::new();
    for action in scene.actions.iter().filter(|action| !action.creates) {
        let place = scene.place(false);
        let before = std::fs::read(place.registry()).unwrap();
        let output = run_script(ON_A_READ_ONLY_DISK, wrapper, &place, action);
        let context = format!("{}: {output:?}", action.name);
        // An import and a pull may fail earlier, since they need temporary files.
        assert!(!is_done(&place, action, &output, &["denied", "io", "temporary"], &context));
        assert_eq!(std::fs::read(place.registry()).unwrap(), before, "{context}");
    }
    println!(
        "read-only disk: {} refused",
        scene.actions.iter().filter(|action| !action.creates).count()
    );
}
