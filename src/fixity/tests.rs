//! Checks of real files: each status, the root, the order, and checksums computed by other programs.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tempfile::TempDir;

use super::check::{CheckedFile, Depth, FileProblem, Purpose, RecordedFile};
use super::reader::{FileReader, ReadOptions};
use super::root::{MountCheck, Root};
use crate::error::{Error, ErrorKind};
use crate::model::{Algorithm, Checksum, DatasetName, FileContent};
use crate::registry::{CancelToken, Observer, Progress, Watcher};

/// SHA-256 of `abc`.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// A directory with files, whose content is recorded before they are damaged.
struct Tree {
    directory: TempDir,
    recorded: Vec<RecordedFile>,
}

impl Tree {
    fn new() -> Self {
        Tree { directory: tempfile::tempdir().unwrap(), recorded: Vec::new() }
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.directory.path().join(path)
    }

    /// Writes a file, and records its size and its SHA-256.
    fn file(&mut self, path: &str, bytes: &[u8]) -> &mut Self {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
        let content = computed(self.directory.path(), path, Algorithm::Sha256).unwrap();
        let mut file = RecordedFile::unrecorded(path.parse().unwrap());
        file.size = content.size;
        file.checksums.extend(content.checksum);
        self.recorded.push(file);
        self
    }

    /// Records a file with the content `abc` that is not written.
    fn record(&mut self, path: &str) -> &mut Self {
        self.recorded.push(abc(path));
        self
    }

    fn root(&self) -> Arc<Root> {
        Arc::new(Root::open(self.directory.path(), MountCheck::Unknown).unwrap())
    }

    fn check(&self, depth: Depth) -> Vec<(String, Option<FileProblem>)> {
        let checked = check(&self.root(), self.recorded.clone(), depth, options(3));
        checked.into_iter().map(|checked| (checked.file.path, checked.content.err())).collect()
    }

    /// The status of every file, and the reason for each unreadable one.
    fn statuses(&self) -> Vec<String> {
        self.check(Depth::Content).into_iter().map(|(path, problem)| line(&path, problem)).collect()
    }
}

fn line(path: &str, problem: Option<FileProblem>) -> String {
    match problem {
        None => format!("{path} good"),
        Some(FileProblem { status: "unreadable", found: Some(reason), .. }) => {
            format!("{path} unreadable: {reason}")
        }
        Some(problem) => format!("{path} {}", problem.status),
    }
}

fn abc(path: &str) -> RecordedFile {
    let mut file = RecordedFile::unrecorded(path.parse().unwrap());
    file.size = Some(3);
    file.checksums.push(Checksum::parse(Algorithm::Sha256, ABC).unwrap());
    file
}

fn options(jobs: usize) -> ReadOptions {
    ReadOptions::new(NonZeroUsize::new(jobs).unwrap())
}

fn check(
    root: &Arc<Root>,
    files: Vec<RecordedFile>,
    depth: Depth,
    options: ReadOptions,
) -> Vec<CheckedFile> {
    let check = FileReader::start(
        root,
        files.into_iter().map(Ok),
        Purpose::Check(depth),
        options,
        &Watcher::new(),
    )
    .unwrap();
    check.map(Result::unwrap).collect()
}

fn computed(root: &Path, path: &str, algorithm: Algorithm) -> Result<FileContent, FileProblem> {
    let root = Arc::new(Root::open(root, MountCheck::Unknown).unwrap());
    let mut file = RecordedFile::unrecorded("A".parse().unwrap());
    file.path = path.to_owned();
    let files = [Ok(file)].into_iter();
    let mut computed =
        FileReader::start(&root, files, Purpose::Compute(algorithm), options(1), &Watcher::new())
            .unwrap();
    computed.next().unwrap().unwrap().content.map(Option::unwrap)
}

#[test]
fn damage_of_each_kind_has_its_status() {
    let mut tree = Tree::new();
    let large: Vec<u8> = (0..3_000_000_u32).map(|byte| (byte % 251) as u8).collect();
    for path in ["a/good", "a/truncated", "b/flipped", "b/removed", "c/directory"] {
        tree.file(path, b"some bytes");
    }
    tree.file("d/large", &large).file("d/large-flipped", &large).file("d/large-longer", &large);
    fs::write(tree.path("a/truncated"), "some byte").unwrap();
    fs::write(tree.path("b/flipped"), "some bytez").unwrap();
    fs::remove_file(tree.path("b/removed")).unwrap();
    fs::remove_file(tree.path("c/directory")).unwrap();
    fs::create_dir(tree.path("c/directory")).unwrap();
    let mut flipped = large.clone();
    flipped[2_345_678] ^= 1;
    fs::write(tree.path("d/large-flipped"), &flipped).unwrap();
    fs::File::options()
        .append(true)
        .open(tree.path("d/large-longer"))
        .unwrap()
        .write_all(b"!")
        .unwrap();
    // A file where there should be a directory.
    tree.record("a/good/below");
    assert_eq!(
        tree.statuses(),
        [
            "a/good good",
            "a/truncated size",
            "b/flipped checksum",
            "b/removed missing",
            "c/directory unreadable: a directory",
            "d/large good",
            "d/large-flipped checksum",
            "d/large-longer size",
            "a/good/below missing",
        ]
    );
}

#[test]
fn all_checksums_of_a_file_are_checked_and_the_strongest_that_differs_is_named() {
    let mut tree = Tree::new();
    fs::write(tree.path("A"), "abc").unwrap();
    let md5 = |hex| Checksum::parse(Algorithm::Md5, hex).unwrap();
    let other = |text| Checksum::parse("blake2b".parse().unwrap(), text).unwrap();
    let problem = |tree: &mut Tree, checksums: Vec<Checksum>| {
        let mut file = abc("A");
        file.checksums = checksums;
        tree.recorded = vec![file];
        let problem = tree.check(Depth::Content).remove(0).1?;
        Some(format!("{} {:?} {:?}", problem.status, problem.expected, problem.found))
    };
    let (good, bad) = (md5("900150983cd24fb0d6963f7d28e17f72"), md5(&"0".repeat(32)));
    let sha256 = abc("A").checksums.remove(0);
    let wrong = Checksum::parse(Algorithm::Sha256, &"0".repeat(64)).unwrap();
    assert_eq!(problem(&mut tree, vec![good.clone(), sha256.clone()]), None);
    assert_eq!(problem(&mut tree, vec![good.clone(), other("x")]), None);
    let differ = |expected: &Checksum, found: &Checksum| {
        Some(format!("checksum Some(\"{expected:?}\") Some(\"{found:?}\")"))
    };
    let found = problem(&mut tree, vec![bad.clone(), sha256.clone()]);
    assert_eq!(found, differ(&bad, &good));
    assert_eq!(problem(&mut tree, vec![bad, wrong.clone()]), differ(&wrong, &sha256));
    let cannot = problem(&mut tree, vec![other("x")]).unwrap();
    assert_eq!(cannot, "cannot-compute Some(\"blake2b:x\") None");
    fs::write(tree.path("A"), "abcd").unwrap();
    assert_eq!(problem(&mut tree, vec![other("x")]).unwrap(), "size Some(\"3\") Some(\"4\")");
}

#[test]
fn what_is_not_recorded_cannot_be_checked() {
    let mut tree = Tree::new();
    fs::write(tree.path("A"), "abd").unwrap();
    let granule = RecordedFile::unrecorded("A".parse().unwrap());
    let (mut sized, mut checksummed) = (abc("A"), abc("A"));
    sized.checksums.clear();
    checksummed.size = None;
    tree.recorded = vec![granule, sized, checksummed, abc("A")];
    let statuses = |depth| -> Vec<String> {
        let checked = tree.check(depth);
        checked.into_iter().map(|(path, problem)| line(&path, problem)).collect()
    };
    assert_eq!(statuses(Depth::Content), ["A no-record", "A good", "A checksum", "A checksum"]);
    assert_eq!(statuses(Depth::Size), ["A no-record", "A good", "A no-record", "A good"]);
}

/// Calls a function after each part of a file was read.
struct AtAdvance<Called>(Called);

impl<Called: Fn(u64) + Send + Sync> Observer for AtAdvance<Called> {
    fn event(&self, event: Progress) {
        if let Progress::Advance(more) = event {
            self.0(more);
        }
    }
}

/// Calls a function once, when a file is being read.
struct WhileReading<F>(Mutex<Option<F>>);

impl<F: FnOnce() + Send> Observer for WhileReading<F> {
    fn event(&self, _: Progress) {
        if let Some(act) = self.0.lock().unwrap().take() {
            act();
        }
    }
}

/// A file of 8 MiB, and a watcher that calls `act` while it is read.
fn while_reading(act: impl FnOnce(&Path) + Send + 'static) -> (Tree, Watcher) {
    let mut tree = Tree::new();
    tree.file("A", &vec![7; 8 * 1_024 * 1_024]);
    let file = tree.path("A");
    // The time of a file has the resolution of the kernel's clock.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let observer = WhileReading(Mutex::new(Some(move || act(&file))));
    (tree, Watcher::new().observed_by(Arc::new(observer)))
}

/// The status of a file that `act` modifies while it is checked.
fn status_if(act: impl FnOnce(&Path) + Send + 'static) -> Option<&'static str> {
    let (tree, watcher) = while_reading(act);
    let files = tree.recorded.clone().into_iter().map(Ok);
    let purpose = Purpose::Check(Depth::Content);
    let checked = FileReader::start(&tree.root(), files, purpose, options(1), &watcher).unwrap();
    let checked: Vec<_> = checked.map(Result::unwrap).collect();
    checked[0].problem().map(|problem| problem.status)
}

/// The status of a file that `act` modifies while its checksum is computed.
fn computed_if(act: impl FnOnce(&Path) + Send + 'static) -> Option<&'static str> {
    let (tree, watcher) = while_reading(act);
    let files = std::iter::once(Ok(RecordedFile::unrecorded("A".parse().unwrap())));
    let mut computed = FileReader::start(
        &tree.root(),
        files,
        Purpose::Compute(Algorithm::Sha256),
        options(1),
        &watcher,
    )
    .unwrap();
    computed.next().unwrap().unwrap().content.err().map(|problem| problem.status)
}

#[test]
fn a_file_that_is_written_while_it_is_read_is_changing() {
    let append = |path: &Path| {
        fs::File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    };
    let overwrite = |path: &Path| {
        fs::File::options().write(true).open(path).unwrap().write_all(b"other").unwrap();
    };
    let truncate =
        |path: &Path| fs::File::options().write(true).open(path).unwrap().set_len(10).unwrap();
    assert_eq!(status_if(append), Some("changing"));
    assert_eq!(status_if(overwrite), Some("changing"));
    assert_eq!(status_if(truncate), Some("changing"));
    let link = |path: &Path| fs::hard_link(path, path.with_extension("link")).unwrap();
    assert_eq!(status_if(link), None);
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_is_changing() {
    let replace = |path: &Path| {
        let other = path.with_extension("part");
        fs::write(&other, vec![8; 8 * 1_024 * 1_024]).unwrap();
        fs::rename(&other, path).unwrap();
    };
    assert_eq!(status_if(replace), Some("changing"));
    assert_eq!(computed_if(replace), Some("changing"));
    let overwrite = |path: &Path| {
        let file = fs::File::options().write(true).open(path).unwrap();
        let modified = file.metadata().unwrap().modified().unwrap();
        (&file).write_all(b"other").unwrap();
        file.set_modified(modified).unwrap();
    };
    assert_eq!(computed_if(overwrite), Some("changing"));
    assert_eq!(computed_if(|_| {}), None);
}

#[test]
fn a_panic_of_a_thread_that_reads_is_passed_on() {
    let mut tree = Tree::new();
    tree.file("A", &vec![0; 3_000_000]).file("B", b"abc");
    let panicking = AtAdvance(|_| panic!("a test: this panic is expected"));
    let watcher = Watcher::new().observed_by(Arc::new(panicking));
    let files = tree.recorded.clone().into_iter().map(Ok);
    let mut check = FileReader::start(
        &tree.root(),
        files,
        Purpose::Check(Depth::Content),
        options(1),
        &watcher,
    )
    .unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| check.next())).is_err());
}

#[test]
fn files_are_returned_in_order_however_long_each_takes() {
    let mut tree = Tree::new();
    for number in 0..300_usize {
        let bytes = vec![number as u8; if number.is_multiple_of(50) { 3_000_000 } else { number }];
        tree.file(&format!("{number:03}"), &bytes);
    }
    for jobs in [1, 2, 7] {
        let checked = check(&tree.root(), tree.recorded.clone(), Depth::Content, options(jobs));
        let files: Vec<&RecordedFile> = checked.iter().map(|checked| &checked.file).collect();
        assert_eq!(files, tree.recorded.iter().collect::<Vec<_>>());
        assert!(checked.iter().all(|checked| checked.problem().is_none()));
        assert_eq!(checked[50].bytes, 3_000_000);
    }
}

#[test]
fn no_more_of_the_input_is_taken_than_a_window() {
    let mut tree = Tree::new();
    tree.file("A", b"abc");
    let taken = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&taken);
    let files = std::iter::repeat_n(abc("A"), 50_000).map(move |file| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok(file)
    });
    let mut check = FileReader::start(
        &tree.root(),
        files,
        Purpose::Check(Depth::Content),
        options(2),
        &Watcher::new(),
    )
    .unwrap();
    for returned in 1..=10_000 {
        assert_eq!(check.next().unwrap().unwrap().problem(), None);
        assert!(taken.load(Ordering::Relaxed) <= returned + 4_096, "after {returned}");
    }
}

#[test]
fn after_the_time_no_file_is_begun_but_the_first() {
    let mut tree = Tree::new();
    for number in 0..20 {
        tree.file(&format!("{number:02}"), &vec![0; 1_000_000]);
    }
    let run = |options| check(&tree.root(), tree.recorded.clone(), Depth::Content, options).len();
    assert_eq!(run(ReadOptions { begin_until: Some(Instant::now()), ..options(4) }), 1);
    let later = Instant::now() + std::time::Duration::from_secs(3_600);
    assert_eq!(run(ReadOptions { begin_until: Some(later), ..options(4) }), 20);
}

#[test]
fn a_token_cancels_the_check_within_a_file() {
    let mut tree = Tree::new();
    tree.file("A", &vec![0; 9_000_000]).file("B", b"abc");
    let token = CancelToken::new();
    let cancel = token.clone();
    let cancelling = Arc::new(AtAdvance(move |_| cancel.cancel()));
    let watcher = Watcher::new().observed_by(cancelling).cancelled_by(&token);
    let files = tree.recorded.clone().into_iter().map(Ok);
    let check = FileReader::start(
        &tree.root(),
        files,
        Purpose::Check(Depth::Content),
        options(2),
        &watcher,
    )
    .unwrap();
    let results: Vec<_> = check.collect();
    let error = results.into_iter().next_back().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[test]
fn an_error_of_the_input_ends_the_check_at_its_place() {
    let mut tree = Tree::new();
    tree.file("A", b"abc");
    let error = Error::from("".parse::<DatasetName>().unwrap_err());
    let files = [Ok(abc("A")), Err(error), Ok(abc("A"))].into_iter();
    let mut check = FileReader::start(
        &tree.root(),
        files,
        Purpose::Check(Depth::Content),
        options(2),
        &Watcher::new(),
    )
    .unwrap();
    assert_eq!(check.next().unwrap().unwrap().problem(), None);
    assert_eq!(check.next().unwrap().unwrap_err().kind(), ErrorKind::Usage);
    assert!(check.next().is_none());
}

#[test]
fn a_root_that_has_none_of_the_files_is_not_mounted() {
    let mut tree = Tree::new();
    tree.file("here/A", b"abc");
    let root = tree.root();
    let require = |paths: &[&'static str]| root.require_any(paths.iter().map(|path| Ok(*path)));
    require(&[]).unwrap();
    require(&["x", "y", "here/A"]).unwrap();
    require(&["here"]).unwrap();
    let error = require(&["x", "here/B"]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotMounted);
    assert!(error.to_string().ends_with("has none of 2 files that were looked for"), "{error}");
}

#[test]
fn a_checksum_is_computed_only_of_a_file_that_is_as_it_is_recorded() {
    let mut tree = Tree::new();
    tree.file("A", b"abc").file("B", b"abcd").record("C").file("D", b"abd");
    tree.recorded[1].size = Some(3);
    tree.recorded[3].checksums = abc("D").checksums;
    let files = tree.recorded.clone().into_iter().map(Ok);
    let compute = FileReader::start(
        &tree.root(),
        files,
        Purpose::Compute(Algorithm::Crc32),
        options(2),
        &Watcher::new(),
    )
    .unwrap();
    let contents: Vec<_> =
        compute.map(|computed| computed.unwrap().content.map(Option::unwrap)).collect();
    let checksum = Checksum::parse(Algorithm::Crc32, "352441c2").unwrap();
    assert_eq!(contents[0], Ok(FileContent { checksum: Some(checksum), size: Some(3) }));
    assert_eq!(contents[1].as_ref().unwrap_err().status, "size");
    assert_eq!(contents[2], Err(FileProblem::MISSING));
    // Recorded checksums are verified at the same time.
    assert_eq!(contents[3].as_ref().unwrap_err().status, "checksum");
}

#[test]
fn other_programs_compute_the_same_checksums() {
    if std::process::Command::new("sha384sum").arg("--version").output().is_err() {
        return;
    }
    let mut tree = Tree::new();
    const CHUNK: usize = 256 * 1_024;
    let sizes = [0, 1, 55, 56, 64, 4_095, 4_097, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3];
    for size in sizes {
        let bytes: Vec<u8> = (0..size).map(|byte| (byte * 31 % 253) as u8).collect();
        let name = format!("{size}");
        tree.file(&name, &bytes);
        for (algorithm, program) in [
            (Algorithm::Md5, "md5sum"),
            (Algorithm::Sha1, "sha1sum"),
            (Algorithm::Sha256, "sha256sum"),
            (Algorithm::Sha384, "sha384sum"),
            (Algorithm::Sha512, "sha512sum"),
            (Algorithm::Cksum, "cksum"),
        ] {
            let output = std::process::Command::new(program).arg(tree.path(&name)).output();
            let printed = String::from_utf8(output.unwrap().stdout).unwrap();
            let expected = printed.split_whitespace().next().unwrap().to_owned();
            let content = computed(tree.directory.path(), &name, algorithm.clone()).unwrap();
            assert_eq!(content.checksum.unwrap().to_string(), expected, "{program} {size}");
            assert_eq!(content.size, Some(size as u64));
        }
    }
}

#[test]
fn a_link_is_followed_within_the_root_and_never_out_of_it() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("abc"), "abc").unwrap();
    let mut tree = Tree::new();
    tree.file("data/abc", b"abc");
    tree.recorded.clear();
    let link = |target: &Path, path: &str| symlink(target, tree.path(path)).unwrap();
    link(Path::new("data/abc"), "relative");
    link(Path::new("../data/../data/abc"), "data/up");
    link(&tree.path("data/abc"), "absolute");
    link(&tree.path("data"), "directory");
    link(&outside.path().join("abc"), "out");
    link(outside.path(), "directory-out");
    link(&Path::new("..").join(outside.path().file_name().unwrap()), "relative-out");
    link(Path::new("nowhere"), "dangling");
    link(Path::new("loop"), "loop");
    link(Path::new("."), "here");
    let statuses = [
        "relative good",
        "data/up good",
        "absolute good",
        "directory/abc good",
        "out unreadable: a link out of the root",
        "directory-out/abc unreadable: a link out of the root",
        "relative-out/abc unreadable: a link out of the root",
        "dangling missing",
        "here/here/data/abc good",
        "here unreadable: a directory",
    ];
    for status in statuses {
        tree.record(status.split(' ').next().unwrap());
    }
    assert_eq!(tree.statuses(), statuses);
    tree.recorded = vec![abc("loop")];
    assert!(tree.statuses()[0].starts_with("loop unreadable: "), "{:?}", tree.statuses());
}

#[test]
fn a_path_never_leads_out_of_the_root() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("abc"), "abc").unwrap();
    let mut tree = Tree::new();
    tree.file("abc", b"abc");
    let up = format!("../{}/abc", outside.path().file_name().unwrap().to_str().unwrap());
    let absolute = outside.path().join("abc").to_str().unwrap().to_owned();
    // A granule id may be such a path.
    for id in [up, absolute] {
        let mut file = RecordedFile::unrecorded(id.parse().unwrap());
        file.size = Some(3);
        tree.recorded = vec![file];
        let status = tree.statuses().remove(0);
        assert!(status.ends_with("unreadable: the path leads out of the root"), "{status}");
    }
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let mut tree = Tree::new();
    tree.record("fifo").record("fifo-link").record("socket");
    // Opening a FIFO would wait for a writer.
    mknodat(CWD, tree.path("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    symlink("fifo", tree.path("fifo-link")).unwrap();
    let _socket = UnixListener::bind(tree.path("socket")).unwrap();
    assert_eq!(
        tree.statuses(),
        ["fifo unreadable: a FIFO", "fifo-link unreadable: a FIFO", "socket unreadable: a socket"]
    );
    let devices = Arc::new(Root::open(Path::new("/dev"), MountCheck::Unknown).unwrap());
    let checked = check(&devices, vec![abc("null")], Depth::Content, options(1));
    let problem = checked[0].problem().cloned();
    assert_eq!(line("null", problem), "null unreadable: a device");
}

/// The first page of a process cannot be read, not even by root.
#[cfg(target_os = "linux")]
#[test]
fn an_error_of_the_disk_is_unreadable_and_named() {
    let process = Arc::new(Root::open(Path::new("/proc/self"), MountCheck::Unknown).unwrap());
    let mut file = abc("mem");
    file.size = None;
    let checked = check(&process, vec![file, abc("status")], Depth::Content, options(1));
    let status = line("mem", checked[0].problem().cloned());
    assert_eq!(status, "mem unreadable: Input/output error");
}
