//! Each call that changes a file fails once, in turn, while a registry is replaced by a copy. A restore that
//! fails leaves the registry in its place, with its permissions.
//!
//! This test found a bug: a directory whose names cannot be synced was left without a registry, and the error
//! did not name its location.

use harness::values::clock;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Output;

use accession::Registry;

use crate::answers::{Answers, examine};
use crate::interposed::{Errno, Fault, Interposed, Mode};
use crate::rounds::is_long;
use crate::victim::program_in;
use harness::values::step;

/// Disks that fail only once allow the names to be restored.
const DISKS: [(Mode, Errno); 4] = [
    (Mode::Once, Errno::Eio),
    (Mode::Once, Errno::Enospc),
    (Mode::From, Errno::Eio),
    (Mode::Fill, Errno::Enospc),
];

/// A registry, and a copy of an earlier state of it in another directory.
struct Place {
    _outside: tempfile::TempDir,
    directory: PathBuf,
    copy: PathBuf,
    /// A reader, which keeps SQLite's files beside the registry.
    _reader: Option<Registry>,
}

/// Whether a process has the registry open, so that SQLite keeps files beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    ByNobody,
    ByAReader,
}

impl Place {
    fn new(open: Open) -> Self {
        let outside = harness::directory();
        let directory = outside.path().canonicalize().unwrap().join("watched");
        std::fs::create_dir_all(directory.join("tmp")).unwrap();
        let (target, copy) = (directory.join("accession.db"), outside.path().join("copy.db"));
        let registry = Registry::create(&target, clock()).unwrap();
        step(&registry, "D", 0, ["A"], []);
        registry.back_up(&copy).unwrap();
        let reader = (open == Open::ByAReader).then(|| {
            let reader = Registry::open(&target, clock()).unwrap();
            drop(reader.snapshot().unwrap());
            reader
        });
        step(&registry, "D", 1, ["B"], []);
        drop(registry);
        std::fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
        assert_eq!(directory.join("accession.db-wal").exists(), open == Open::ByAReader);
        Place { _outside: outside, directory, copy, _reader: reader }
    }

    fn registry(&self) -> PathBuf {
        self.directory.join("accession.db")
    }

    fn restore(&self, disk: Option<&Interposed>) -> Output {
        let temporary = self.directory.join("tmp");
        let mut command = match disk {
            Some(disk) => disk.command(&temporary),
            None => program_in(&temporary),
        };
        command.arg("--json").arg("--registry").arg(self.registry());
        command.args(["registry", "restore"]).arg(&self.copy).output().unwrap()
    }

    /// The registries that were replaced.
    fn kept(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(&self.directory).unwrap();
        let paths = files.map(|entry| entry.unwrap().path());
        let is_kept = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("accession.db.replaced-") && name.ends_with('Z')
        };
        paths.filter(is_kept).collect()
    }
}

fn permissions(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The registry before the restore, and after it.
fn answers() -> (Answers, Answers) {
    let place = Place::new(Open::ByNobody);
    (examine(&place.registry(), "before"), examine(&place.copy, "copy"))
}

#[test]
fn whatever_call_fails_a_restore_is_made_or_the_registry_is_where_it_was() {
    let (before, after) = answers();
    assert!(before != after);
    let step = if is_long() { 1 } else { 9 };
    let mut failed = 0;
    for open in [Open::ByNobody, Open::ByAReader] {
        for (mode, errno) in DISKS {
            let mut nth = 1;
            loop {
                let place = Place::new(open);
                let disk = Interposed::failing(&place.directory, Fault { mode, errno, nth });
                let output = place.restore(Some(&disk));
                let (hits, calls) = disk.hits();
                let context =
                    format!("{open:?}, {mode:?} {errno:?} at call {nth}: {hits:?}: {output:?}");
                if hits.is_empty() {
                    assert!(output.status.success() && calls > 8, "{context}");
                    break;
                }
                judge(&place, (mode, &output), (&before, &after), &context);
                failed += 1;
                // Every call that renames or syncs fails, and some of the many that write.
                nth += if hits[0].starts_with('W') { step } else { 1 };
            }
        }
    }
    println!("restore: {failed} calls failed");
    assert!(failed > 60, "{failed}");
}

fn judge(
    place: &Place,
    (mode, output): (Mode, &Output),
    (before, after): (&Answers, &Answers),
    context: &str,
) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{context}");
    let kept = place.kept();
    if output.status.success() {
        assert_eq!(&examine(&place.registry(), context), after, "{context}");
        assert_eq!(kept.len(), 1, "{context}");
        assert_eq!(&examine(&kept[0], context), before, "{context}");
        assert_eq!(permissions(&place.registry()), 0o640, "{context}");
        return;
    }
    assert_eq!(output.status.code(), Some(2), "{context}");
    let report: serde_json::Value = serde_json::from_str(stderr.lines().last().unwrap()).unwrap();
    let (kind, message) = (&report["error"]["kind"], report["error"]["message"].as_str().unwrap());
    if kind == "misplaced" {
        assert_ne!(mode, Mode::Once, "{context}");
        assert!(message.contains(kept[0].to_str().unwrap()), "{context}");
        // The disk failed permanently. Does what the hint says:
        for ending in ["", "-wal", "-shm"] {
            let beside = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
            if beside(&kept[0]).exists() {
                std::fs::rename(beside(&kept[0]), beside(&place.registry())).unwrap();
            }
        }
        assert_eq!(&examine(&place.registry(), context), before, "{context}");
    } else {
        assert!(
            ["full", "io", "database", "denied"].contains(&kind.as_str().unwrap()),
            "{context}"
        );
        assert_eq!(kept, Vec::<PathBuf>::new(), "{context}");
        assert_eq!(&examine(&place.registry(), context), before, "{context}");
        assert_eq!(permissions(&place.registry()), 0o640, "{context}");
    }
    // Runs the same command again.
    let again = place.restore(None);
    assert!(again.status.success(), "{context}: and then {again:?}");
    assert_eq!(&examine(&place.registry(), context), after, "{context}");
}

#[test]
fn a_restore_that_is_killed_leaves_a_complete_registry_or_none_and_can_be_repeated() {
    let (before, after) = answers();
    let step = if is_long() { 1 } else { 9 };
    let (mut were_before, mut were_missing, mut were_after) = (0, 0, 0);
    for open in [Open::ByNobody, Open::ByAReader] {
        let fault = Fault { mode: Mode::Kill, errno: Errno::Eio, nth: 0 };
        let place = Place::new(open);
        let disk = Interposed::failing(&place.directory, fault);
        assert!(place.restore(Some(&disk)).status.success());
        let (_, calls) = disk.hits();
        let mut nth = 1;
        loop {
            let place = Place::new(open);
            let fault = Fault { nth, ..fault };
            let disk = Interposed::failing(&place.directory, fault);
            let output = place.restore(Some(&disk));
            if output.status.code().is_some() {
                assert!(output.status.success(), "{output:?}");
                break;
            }
            let context = format!("{open:?}, killed at call {nth}");
            if !place.registry().exists() {
                were_missing += 1;
            } else if place.kept().is_empty() {
                assert_eq!(&examine(&place.registry(), &context), &before, "{context}");
                were_before += 1;
            } else {
                assert_eq!(&examine(&place.registry(), &context), &after, "{context}");
                were_after += 1;
            }
            let again = place.restore(None);
            assert!(again.status.success(), "{context}: and then {again:?}");
            assert_eq!(&examine(&place.registry(), &context), &after, "{context}");
            // The last calls rename and sync.
            nth += if nth + 30 < calls { step } else { 1 };
        }
    }
    println!("killed: {were_before} before, {were_missing} between the names, {were_after} after");
    assert!(were_before > 0 && were_missing > 0 && were_after > 0);
}

/// Files in this directory can be created but not listed, so its names cannot be synced.
#[test]
fn a_directory_that_cannot_be_synced_keeps_its_registry() {
    let (before, _) = answers();
    let place = Place::new(Open::ByNobody);
    let outside = place.directory.parent().unwrap();
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let mut command = program_in(outside);
    // Root may read every directory, so the program runs as another user.
    let is_root = std::fs::metadata(&place.directory).unwrap().uid() == 0;
    if is_root {
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65_534;
        command.uid(NOBODY).gid(NOBODY);
        for path in [&place.directory, &place.registry(), &place.copy] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        set(outside, 0o777);
    }
    set(&place.directory, 0o300);
    command.arg("--json").arg("--registry").arg(place.registry());
    let output = command.args(["registry", "restore"]).arg(&place.copy).output().unwrap();
    set(&place.directory, 0o700);
    let context = format!("{output:?}");
    assert_eq!(output.status.code(), Some(2), "{context}");
    assert!(context.contains("cannot read"), "{context}");
    assert_eq!(place.kept(), Vec::<PathBuf>::new());
    assert_eq!(examine(&place.registry(), &context), before);
}
