//! The speed of checking files, compared with `xargs -P sha256sum` over the same files in the same run.
//!
//! `cargo bench --bench fixity` checks 1,000,000 small files and 20 GB in 1,000 files. `cargo bench --bench
//! fixity -- 100000 1000` checks 100,000 small files and 1,000 MB. The files are created in a temporary
//! directory (`TMPDIR`). Each is read once beforehand, so both start with the same files in memory.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use accession::file::Algorithm;
use accession::fixity::{CheckOptions, FileTree, FixityRun};
use accession::{Change, DatasetName, GranuleId, IfMissing, Registry, Selection, Snapshot};
use harness::values::clock;

const ROUNDS: usize = 3;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|it| it.parse::<usize>().ok());
    let small = arguments.next().unwrap_or(1_000_000);
    let megabytes = arguments.next().unwrap_or(20_000);
    println!("| What | `fixity check` | `xargs -P sha256sum` | ratio | peak memory |");
    println!("|---|---|---|---|---|");
    measure(&format!("{small} files of 100 to 3,000 bytes"), small, |n| 100 + n * 7_919 % 2_900);
    let files = 1_000.min(megabytes);
    measure(&format!("{megabytes} MB in {files} files"), files, |_| megabytes * 1_000_000 / files);
}

fn measure(what: &str, files: usize, size: impl Fn(usize) -> usize) {
    let directory = tempfile::tempdir().unwrap();
    let paths: Vec<String> = (0..files).map(|n| format!("{:04}/{n:08}.nc", n / 1_000)).collect();
    let mut state = 88_172_645_463_325_252_u64;
    for (n, path) in paths.iter().enumerate() {
        let file = directory.path().join(path);
        if n.is_multiple_of(1_000) {
            fs::create_dir(file.parent().unwrap()).unwrap();
        }
        let mut bytes = Vec::with_capacity(size(n) + 8);
        while bytes.len() < size(n) {
            // xorshift: data that no file system can compress.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            bytes.extend(state.to_le_bytes());
        }
        fs::write(file, &bytes[..size(n)]).unwrap();
    }
    let registry = compute(directory.path(), &paths);
    let bytes: usize = (0..files).map(&size).sum();
    let (mut ours, mut theirs) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        ours = ours.min(seconds(|| check(directory.path(), &registry, files)));
        theirs = theirs.min(seconds(|| xargs(directory.path(), &paths)));
    }
    let rate = |seconds: f64| {
        format!(
            "{seconds:.2} s, {:.0} files/s, {:.0} MB/s",
            files as f64 / seconds,
            bytes as f64 / 1e6 / seconds
        )
    };
    println!(
        "| {what} | {} | {} | {:.2} | {} |",
        rate(ours),
        rate(theirs),
        theirs / ours,
        peak_memory()
    );
}

fn seconds(act: impl FnOnce()) -> f64 {
    let start = Instant::now();
    act();
    start.elapsed().as_secs_f64()
}

fn dataset() -> DatasetName {
    "FOO".parse().unwrap()
}

/// A registry with the sizes and the checksums of the files.
fn compute(directory: &Path, paths: &[String]) -> Registry {
    let registry = Registry::temporary(clock()).unwrap();
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    paths.iter().for_each(|path| change.ingest(path.parse::<GranuleId>().unwrap()).unwrap());
    registry.change(&dataset(), &change).unwrap();
    let tree = FileTree::new(directory);
    let computed = registry.compute_checksums(&dataset(), &tree, Algorithm::Sha256, None);
    assert_all_good(computed.unwrap(), paths.len());
    registry
}

/// Reads all files, and asserts that they are good.
fn assert_all_good(mut run: FixityRun, files: usize) {
    assert_eq!(run.by_ref().count(), 0);
    assert_eq!(run.finish().unwrap().files, files as u64);
}

fn check(directory: &Path, registry: &Registry, files: usize) {
    let select = |snapshot: &Snapshot| Ok(snapshot.select(&Selection::from(dataset()))?.set);
    let tree = FileTree::new(directory);
    let run = registry.check_fixity(select, &tree, CheckOptions::new()).unwrap();
    assert_all_good(run, files);
}

fn xargs(directory: &Path, paths: &[String]) {
    let jobs = std::thread::available_parallelism().unwrap();
    // Enough processes to keep all cores busy, and few enough that the cost of starting them is negligible.
    let at_once = (paths.len() / jobs.get() / 8).clamp(1, 1_000).to_string();
    let mut child = Command::new("xargs")
        .args(["-0", "-P", &jobs.to_string(), "-n", &at_once, "sha256sum"])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for path in paths {
        stdin.write_all(path.as_bytes()).and_then(|()| stdin.write_all(b"\0")).unwrap();
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

/// The peak memory of this process. It includes the paths that this benchmark keeps in memory.
fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or("unknown".to_owned(), |peak| peak.trim().to_owned())
}
