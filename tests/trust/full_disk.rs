//! Limits that the system itself sets: a file that may not grow, a disk that is full, a disk that
//! can only be read.
//!
//! The last two need a file system of their own, mounted in a namespace of their own
//! (`unshare --mount`). Where that is not allowed, the test says so on stdout.

use std::process::{Command, Output};

use crate::harness::program::program;
use crate::rounds::is_long;
use crate::scene::{Action, Place, Scene};

/// Runs a script of the shell; `$0` is the program, `$1` the registry's directory, and the action's
/// arguments are the rest.
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

/// Whether the command was done; if not, it must have said why. The change is there whole or not
/// at all, and is there if it was done.
fn is_done(place: &Place, action: &Action, output: &Output, kinds: &[&str], context: &str) -> bool {
    let found = place.examine(context);
    let is_there = found.as_ref() == Some(&action.after);
    assert!(is_there || found == action.before, "{context}: a part of the change");
    if output.status.success() {
        assert!(is_there, "{context}: acknowledged, and not there");
        return true;
    }
    assert_eq!(output.status.code(), Some(2), "{context}");
    let report: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    let kind = report["error"]["kind"].as_str().unwrap();
    assert!(kinds.contains(&kind), "{context}");
    false
}

#[test]
fn a_command_whose_files_may_not_grow_says_so_and_changes_nothing_or_all() {
    // The shell counts in blocks of 512 bytes. SIGXFSZ, which ends a process, is ignored.
    const LIMITED: &str = r#"
        trap "" XFSZ
        ulimit -f $BLOCKS
        folder=$1; shift
        exec "$0" --json --registry "$folder/accession.db" "$@""#;
    let scene = Scene::new();
    let (mut done, mut refused) = (0, 0);
    for action in &scene.actions {
        let mut blocks = 0;
        loop {
            let place = scene.place(action.creates);
            let script = LIMITED.replace("$BLOCKS", &blocks.to_string());
            let output = run_script(&script, &[], &place, action);
            let context = format!("{} within {blocks} blocks: {output:?}", action.name);
            if is_done(&place, action, &output, &["full", "io", "database"], &context) {
                break;
            }
            refused += 1;
            blocks += if is_long() { 1 } else { 9 };
            assert!(blocks < 4_000, "{context}: never enough");
        }
        done += 1;
        assert!(blocks > 0, "{}: the limit limits nothing", action.name);
    }
    println!("file-size limit: {refused} refused, and then {done} done");
    assert!(refused > 3 * done);
}

/// How to get a namespace in which one may mount: as root, or as nobody in particular.
fn may_mount() -> Option<&'static [&'static str]> {
    const WAYS: [&[&str]; 2] = [&["unshare", "--mount"], &["unshare", "-r", "--mount"]];
    WAYS.into_iter().find(|way| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).args(["mount", "-t", "tmpfs", "tmpfs", "/mnt"]);
        command.output().is_ok_and(|output| output.status.success())
    })
}

#[test]
fn a_command_on_a_full_disk_says_so_and_changes_nothing_or_all() {
    // What lies on the small disk is copied back, for it goes with the namespace.
    const ON_A_SMALL_DISK: &str = r#"
        folder=$1; shift
        disk=$(mktemp -d)
        mount -t tmpfs -o size=$KILOBYTESk tmpfs "$disk" || exit 9
        cp "$folder"/accession.db "$disk" 2>/dev/null
        if [ -e "$disk/accession.db" ]; then
            # Not a byte is left: what is there can be read still.
            cat /dev/zero > "$disk/rest" 2>/dev/null
            "$0" --registry "$disk/accession.db" history OWN > /dev/null || exit 8
            rm "$disk/rest"
        fi
        "$0" --json --registry "$disk/accession.db" "$@"
        status=$?
        cp "$disk"/accession.db* "$folder" 2>/dev/null
        umount "$disk" && rmdir "$disk"
        exit $status"#;
    let Some(wrapper) = may_mount() else {
        println!("full disk: NOT TESTED: nothing can be mounted here");
        return;
    };
    let scene = Scene::new();
    let (mut done, mut refused) = (0, 0);
    for action in &scene.actions {
        let mut kilobytes = match action.creates {
            true => 4,
            // Whole, and with its -shm file, which no command does without.
            false => std::fs::metadata(scene.place(false).registry()).unwrap().len() / 1_024 + 4,
        };
        loop {
            let place = scene.place(action.creates);
            let script = ON_A_SMALL_DISK.replace("$KILOBYTES", &kilobytes.to_string());
            let output = run_script(&script, wrapper, &place, action);
            let context = format!("{} within {kilobytes} kB: {output:?}", action.name);
            assert!(!matches!(output.status.code(), Some(8 | 9)), "{context}");
            let kinds = ["full", "io", "database", "cannot-open"];
            if is_done(&place, action, &output, &kinds, &context) {
                break;
            }
            refused += 1;
            kilobytes += 4;
            assert!(kilobytes < 4_000, "{context}: never enough");
        }
        done += 1;
    }
    println!("full disk: {refused} refused, and then {done} done");
    assert!(refused > 3 * done);
}

#[test]
fn a_disk_that_can_only_be_read_is_read_and_nothing_else() {
    const ON_A_READ_ONLY_DISK: &str = r#"
        folder=$1; shift
        mount --bind "$folder" "$folder" && mount -o remount,ro,bind "$folder" || exit 9
        "$0" --registry "$folder/accession.db" verify >/dev/null || exit 8
        "$0" --registry "$folder/accession.db" history OWN >/dev/null || exit 8
        exec "$0" --json --registry "$folder/accession.db" "$@""#;
    let Some(wrapper) = may_mount() else {
        println!("read-only disk: NOT TESTED: nothing can be mounted here");
        return;
    };
    let scene = Scene::new();
    for action in scene.actions.iter().filter(|action| !action.creates) {
        let place = scene.place(false);
        let before = std::fs::read(place.registry()).unwrap();
        let output = run_script(ON_A_READ_ONLY_DISK, wrapper, &place, action);
        let context = format!("{}: {output:?}", action.name);
        // An import and a pull of a manifest may fail before: they need temporary files.
        assert!(!is_done(&place, action, &output, &["read-only", "io", "cannot-open"], &context));
        assert_eq!(std::fs::read(place.registry()).unwrap(), before, "{context}");
    }
    println!(
        "read-only disk: {} refused",
        scene.actions.iter().filter(|action| !action.creates).count()
    );
}
