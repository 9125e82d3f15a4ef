//! The cost of a change compared to the chain alone, as ratios measured together in one run.
//!
//! `cargo bench --bench registry` prints the table of `benches/RESULTS.md`. Figures differ
//! between machines, ratios less so. A row with a bound states whether the run met it. With one of
//! `rewind`, `append`, `sync`, `memory` and `lookup` after `--`, only that part of it is measured.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use harness::values::{AtTime, clock};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use accession::chain::Chain;
use accession::file::{Algorithm, Checksum, Content};
use accession::{
    Change, ChangeOptions, Clock, DatasetName, GranuleId, IfMissing, Listing, ListingBuilder,
    Moment, Registry, Selection, Timestamp,
};
use accession::{FileRecord, ListingEntry};

const ROUNDS: usize = 7;
const MILLION: usize = 1_000_000;
const LENGTH: usize = 48;

/// Measures something in a directory, and prints it.
type Part = fn(&Path);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--peak-memory-of") {
        return peak_memory_child(Path::new(&arguments[at + 1]));
    }
    println!("| What | Measured | Bound | Met |");
    println!("|---|---|---|---|");
    let directory = tempfile::tempdir().unwrap();
    let parts: [(&str, Part); 5] = [
        ("rewind", rewind_relative_to_the_chain_alone),
        ("append", append),
        ("sync", sync),
        ("memory", peak_memory),
        ("lookup", lookup),
    ];
    let only = arguments[1..].iter().find(|argument| !argument.starts_with('-'));
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            part(directory.path());
        }
    }
}

/// The n-th id of the initial granules of a dataset. It has 48 characters; odd numbers are not
/// used.
fn granule_id(n: usize) -> String {
    let id = format!("granule.{:08}.{}", 2 * n, "0123456789abcdef".repeat(2));
    format!("{:x<LENGTH$}", &id[..LENGTH.min(id.len())])
}

fn dataset() -> DatasetName {
    "bench".parse().unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn ingest(granule_ids: impl Iterator<Item = String>) -> Change {
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    granule_ids.for_each(|text| change.ingest(GranuleId::new(text).unwrap()).unwrap());
    change
}

fn delete(granule_id: &str) -> Change {
    let mut change = Change::new();
    change.delete(granule_id.parse::<GranuleId>().unwrap()).unwrap();
    change
}

/// The registry of this many granules, which are ingested in changes of 100,000 when it is made.
fn registry(directory: &Path, granules: usize) -> Registry {
    let path = directory.join(format!("{granules}.db"));
    if path.exists() {
        return Registry::open(&path, clock()).unwrap();
    }
    let registry = Registry::create(&path, clock()).unwrap();
    for from in (0..granules).step_by(100_000) {
        let batch = ingest((from..(from + 100_000).min(granules)).map(granule_id));
        registry.with_clock(Clock::fixed(now()).confirmed()).change(&dataset(), &batch).unwrap();
    }
    registry
}

fn apply(registry: &Registry, change: Change) -> (f64, u64) {
    let begin = Instant::now();
    let applied =
        registry.with_clock(Clock::fixed(now()).confirmed()).change(&dataset(), &change).unwrap();
    (begin.elapsed().as_secs_f64(), applied.effort.steps)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn row(what: &str, measured: &str, bound: &str, kept: bool) {
    println!("| {what} | {measured} | {bound} | {} |", if kept { "yes" } else { "NO" });
}

fn note(what: &str, measured: &str) {
    println!("| {what} | {measured} | | |");
}

fn bare_chain(granule_ids: &[String]) -> f64 {
    let begin = Instant::now();
    let mut chain = Chain::start();
    granule_ids.iter().for_each(|granule_id| chain.push(granule_id));
    std::hint::black_box(chain.identifier());
    begin.elapsed().as_secs_f64()
}

fn naive_chain(granule_ids: &[String]) -> f64 {
    use md5::{Digest, Md5};
    let begin = Instant::now();
    let mut chain = String::new();
    for granule_id in granule_ids {
        chain = format!("{}\n", hex::encode(Md5::digest(format!("{chain}{granule_id}\n"))));
    }
    std::hint::black_box(chain);
    begin.elapsed().as_secs_f64()
}

fn rewind_relative_to_the_chain_alone(directory: &Path) {
    let registry = registry(directory, MILLION);
    let granule_ids: Vec<String> = (0..MILLION).map(granule_id).collect();
    // This id is before all others, so a change there hashes the whole dataset again.
    let first = "granule.!";
    let (mut bare, mut naive, mut change) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        bare.push(bare_chain(&granule_ids));
        naive.push(naive_chain(&granule_ids));
        let (seconds, steps) = apply(&registry, ingest([first.to_owned()].into_iter()));
        // The granules in force are hashed once more, to prove them.
        assert_eq!(steps as usize, 2 * MILLION + 1);
        change.push(seconds);
        bare.push(bare_chain(&granule_ids));
        let (seconds, steps) = apply(&registry, delete(first));
        assert_eq!(steps as usize, 2 * MILLION + 1);
        change.push(seconds);
    }
    let (bare, naive, change) = (median(bare), median(naive), median(change));
    let speed = |seconds: f64| format!("{:.2} M steps/s", MILLION as f64 / seconds / 1e6);
    note("the chain alone, over 1,000,000 ids of 48 characters in memory", &speed(bare));
    note(
        "speed of the same with `format!` at each step, relative to that",
        &format!("{:.2}", bare / naive),
    );
    row(
        "speed of a change that hashes 1,000,000 granules again, relative to the chain alone",
        &format!("{:.2}", bare / change),
        "0.6",
        bare / change >= 0.6,
    );
    with_checksums(directory, bare);
    if let Some(peer) = peer(directory) {
        note(
            "time of the same change in Python with hashlib and sqlite3, relative to this program",
            &format!("{:.1} times", peer / change),
        );
    }
    let bytes =
        std::fs::metadata(registry.location().full_name()).unwrap().len() as f64 / MILLION as f64;
    let more = bytes - LENGTH as f64;
    row(
        "size of the file, in bytes per granule",
        &format!("the length of the id + {more:.1}"),
        "+ 30",
        more <= 30.0,
    );
}

/// A listing of a million granules, each with a SHA-256 or without.
fn listing(has_checksums: bool) -> Listing {
    let mut listing = ListingBuilder::new();
    for n in 0..MILLION {
        let granule_id = GranuleId::new(granule_id(n)).unwrap();
        let content = has_checksums.then(|| {
            let checksum = Checksum::parse(Algorithm::Sha256, &format!("{n:064x}")).unwrap();
            let file = FileRecord::new(&granule_id, None, None, Some(checksum)).unwrap();
            Content::of(&granule_id, vec![file]).unwrap()
        });
        listing
            .add(ListingEntry { granule_id, producer_granule: None, content, location: None })
            .unwrap();
    }
    listing.finish()
}

/// The first `sync`, one of the same again, a change before all others and `verify` of granules with a
/// SHA-256 each, beside those without. `bare` is what the chain alone takes.
fn with_checksums(directory: &Path, bare: f64) {
    let options = ChangeOptions::new().if_missing(IfMissing::Create);
    let [names, sums] = [false, true].map(|has_checksums| {
        let registry = directory.join(format!("checksums.{has_checksums}.db"));
        let registry = Registry::create(&registry, clock()).unwrap();
        let listing = listing(has_checksums);
        let sync = || {
            let begin = Instant::now();
            registry
                .with_clock(Clock::fixed(now()).confirmed())
                .sync(&dataset(), &listing, &options)
                .unwrap();
            begin.elapsed().as_secs_f64()
        };
        let (first, again) = (sync(), median((0..3).map(|_| sync()).collect()));
        let rewinds = (0..3).flat_map(|_| {
            let first = "granule.!";
            [ingest([first.to_owned()].into_iter()), delete(first)].map(|it| apply(&registry, it).0)
        });
        let rewind = median(rewinds.collect());
        let begin = Instant::now();
        assert!(registry.verify(&dataset()).unwrap().ok);
        [first, again, rewind, begin.elapsed().as_secs_f64()]
    });
    let what = ["the first `sync`", "`sync` of the same again", "the same change", "`verify`"];
    for (number, what) in what.into_iter().enumerate() {
        let (names, sums) = (names[number], sums[number]);
        let what = format!("{what} with one SHA-256 a granule, relative to names only");
        let measured = format!("{:.2} times ({sums:.2} s, {names:.2} s)", sums / names);
        match number {
            0 => row(&what, &measured, "2.5", sums / names <= 2.5),
            _ => note(&what, &measured),
        }
    }
    row(
        "speed of the same change with one SHA-256 a granule, relative to the chain alone",
        &format!("{:.2}", bare / sums[2]),
        "0.45",
        bare / sums[2] >= 0.45,
    );
}

/// The seconds that `peer.py` takes for one change. `None`, with a line in the table, means that
/// Python cannot run it.
fn peer(directory: &Path) -> Option<f64> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/peer.py");
    let output = Command::new("python3")
        .args([script, directory.join("peer.db").to_str()?, &MILLION.to_string()])
        .output();
    match output {
        Ok(output) if output.status.success() => {
            String::from_utf8(output.stdout).ok()?.trim().parse().ok()
        }
        _ => {
            note("time of the same change in Python", "not measured: python3 cannot run peer.py");
            None
        }
    }
}

fn append(directory: &Path) {
    let large = registry(directory, MILLION);
    let small = registry(directory, MILLION / 10);
    let granule_ids: Vec<String> = (0..MILLION).map(granule_id).collect();
    let (mut bare, mut to_large, mut to_small) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..30 * ROUNDS {
        if round % 30 == 0 {
            bare.push(bare_chain(&granule_ids));
        }
        let day = || (0..288).map(|n| format!("{}z", granule_id(10 * MILLION + 288 * round + n)));
        for (registry, seconds) in [(&large, &mut to_large), (&small, &mut to_small)] {
            let (taken, steps) = apply(registry, ingest(day()));
            // And those from the last checkpoint on.
            assert!(steps >= 288);
            seconds.push(taken);
        }
    }
    let (bare, to_large, to_small) = (median(bare), median(to_large), median(to_small));
    row(
        "time to append 288 granules to 1,000,000, relative to a full recomputation",
        &format!("{:.2} %", 100.0 * to_large / bare),
        "1 %",
        to_large / bare < 0.01,
    );
    row(
        "the same, relative to appending them to 100,000",
        &format!("{:.2} times", to_large / to_small),
        "within noise",
        to_large / to_small < 1.5,
    );
}

/// Whole commands, as an archive runs them every night: a full listing, the difference alone, and
/// what shells have for the comparison of two lists. 288 granules are new each time, somewhere in
/// the last tenth of the order.
fn sync(directory: &Path) {
    let registry = registry(directory, MILLION);
    let path = registry.location().full_name();
    let file = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let held = || -> Vec<String> {
        let all = Selection::Dataset { name: dataset(), at: None };
        let snapshot = registry.snapshot().unwrap();
        let granules = snapshot.registry().granules(&snapshot.select(&all).unwrap().set);
        granules.map(|granule| granule.unwrap().granule_id.to_string()).collect()
    };
    let write = |name: &str, ids: &[String]| {
        std::fs::write(file(name), ids.join("\n") + "\n").unwrap();
    };
    let run = |program: &str, arguments: &[&str]| {
        let begin = Instant::now();
        let output = Command::new(program).args(arguments).env("LC_ALL", "C").output().unwrap();
        let seconds = begin.elapsed().as_secs_f64();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (seconds, output.stdout)
    };
    let accession = |arguments: &[&str]| {
        let program = env!("CARGO_BIN_EXE_accession");
        run(program, &[&["--registry", path.to_str().unwrap(), "--quiet"], arguments].concat()).0
    };
    let new = |round: usize| -> Vec<String> {
        let numbers = (0..288).map(|n| MILLION * 9 / 10 + 347 * n + round % 2);
        // A letter more: ids that look like no other are refused. There are fewer letters than rounds.
        let letter = char::from(b'a' + (round / 2) as u8);
        numbers.map(|n| format!("{}{letter}", granule_id(n))).collect()
    };
    let [mut by_sync, mut by_change, mut by_shell, mut unsorted] = [const { Vec::new() }; 4];
    for round in 0..ROUNDS {
        // A listing in order, as most systems write it.
        let before = held();
        let mut listed = [before.clone(), new(4 * round)].concat();
        listed.sort();
        write("before.txt", &before);
        write("listing.txt", &listed);
        by_sync.push(accession(&["sync", "bench", &file("listing.txt")]));
        write("new.txt", &new(4 * round + 1));
        by_change.push(accession(&["ingest", "bench", &file("new.txt")]));

        // And one in no order.
        let mut listed = [listed, new(4 * round + 1), new(4 * round + 2)].concat();
        listed.sort_by_key(|id| crc(id));
        write("shuffled.txt", &listed);
        unsorted.push(accession(&["sync", "bench", &file("shuffled.txt")]));

        let script = "sort \"$1\" > \"$1.sorted\"; sort \"$2\" > \"$2.sorted\"; \
                      comm -3 \"$1.sorted\" \"$2.sorted\"";
        let (before, listing) = (file("before.txt"), file("listing.txt"));
        let (seconds, printed) = run("sh", &["-c", script, "sh", &before, &listing]);
        assert_eq!(printed.iter().filter(|byte| **byte == b'\n').count(), 288);
        by_shell.push(seconds);
    }
    let [by_sync, by_change, by_shell, unsorted] =
        [by_sync, by_change, by_shell, unsorted].map(median);
    note(
        "`sync` of a listing of 1,000,000 granules, in order, 288 of them new",
        &format!("{by_sync:.2} s"),
    );
    note(
        "the same, relative to `sort` of both lists and `comm`",
        &format!("{:.2} times", by_sync / by_shell),
    );
    note(
        "the same, relative to `change` with the 288",
        &format!("{:.1} times ({by_change:.2} s)", by_sync / by_change),
    );
    note("the same from a listing in no order", &format!("{:.2} times", unsorted / by_sync));
    assert!(registry.verify(&dataset()).unwrap().ok);
}

/// A number by which ids are in no order.
fn crc(id: &str) -> u32 {
    crc32fast::hash(id.as_bytes())
}

/// Runs a change at the start, a sync, the list of granules, and `verify` in a separate process.
fn peak_memory_child(path: &Path) {
    let registry = Registry::open(path, clock()).unwrap();
    apply(&registry, ingest(["granule.!".to_owned()].into_iter()));
    let all = Selection::Dataset { name: dataset(), at: None };
    let mut listing = ListingBuilder::new();
    let set = registry.snapshot().unwrap().select(&all).unwrap().set;
    let held = registry.granules(&set);
    for granule in held {
        listing.add(granule.unwrap().granule_id).unwrap();
    }
    // The last in the order, which looks like the others.
    let new = format!("{}z", granule_id(99_999_999));
    listing.add(new.parse::<GranuleId>().unwrap()).unwrap();
    let listing = listing.finish();
    let synced = registry
        .with_clock(Clock::fixed(now()).confirmed())
        .sync(&dataset(), &listing, &ChangeOptions::default())
        .unwrap();
    // Only the granules after the last checkpoint are hashed again.
    assert!(synced.effort.steps < 20_000, "{}", synced.effort.steps);
    drop(listing);
    let set = registry.snapshot().unwrap().select(&all).unwrap().set;
    let granules = registry.granules(&set);
    granules.for_each(|granule| drop(std::hint::black_box(granule.unwrap())));
    assert!(registry.verify(&dataset()).unwrap().ok);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.map_or("", |peak| peak.trim().trim_end_matches(" kB")));
}

fn peak_memory(directory: &Path) {
    let peak = |granules: usize| -> Option<f64> {
        let path = registry(directory, granules).location().full_name();
        let output = Command::new(std::env::current_exe().ok()?)
            .arg("--peak-memory-of")
            .arg(path)
            .output()
            .ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    let what = "peak memory of a change, a `sync`, a list and `verify` with 5,000,000 granules, relative to 500,000";
    match (peak(MILLION / 2), peak(5 * MILLION)) {
        (Some(small), Some(large)) => row(
            what,
            &format!("{:.2} times ({:.0} MB, {:.0} MB)", large / small, large / 1e3, small / 1e3),
            "1.5",
            large / small <= 1.5,
        ),
        _ => note(what, "not measured: this system has no /proc/self/status"),
    }
}

fn lookup(directory: &Path) {
    const INSTANCES: i64 = 100_000;
    // Making such a history change by change would take hours, so its rows are inserted directly.
    let path = directory.join("history.db");
    let registry = Registry::create(&path, clock()).unwrap();
    registry
        .change(
            &dataset(),
            &ingest([granule_id(0)].into_iter()).at(Timestamp::from_micros(0).unwrap()),
        )
        .unwrap();
    drop(registry);
    let rows = rusqlite::Connection::open(&path).unwrap();
    rows.execute(
        "INSERT INTO instance (dataset_id, timestamp, identifier, digest, granules, ingested, deleted,
                               described, replaced, recorded, row_check)
         WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1 - 1)
         SELECT dataset.id, n * 3600000000, randomblob(16), randomblob(32), n, 1, 0, 0, 0,
                n * 3600000000, 0
         FROM number, dataset",
        [INSTANCES],
    )
    .unwrap();
    harness::seal::seal_rows(&rows);
    drop(rows);

    let registry = Registry::open(&path, clock()).unwrap();
    let mut seconds = Vec::new();
    for n in 0..10_000 {
        let hour = n * 7_919 % INSTANCES;
        let at = Timestamp::from_micros(hour * 3_600_000_000 + 1).unwrap();
        let selection = Selection::Dataset { name: dataset(), at: Some(Moment::Instant(at)) };
        let begin = Instant::now();
        let selected = registry.snapshot().unwrap().select(&selection).unwrap();
        seconds.push(begin.elapsed().as_secs_f64());
        assert_eq!(selected.instance().timestamp.as_micros(), hour * 3_600_000_000);
    }
    let taken = median(seconds);
    row(
        "time of a look-up in a history of 100,000 instances",
        &format!("{:.0} µs", taken * 1e6),
        "1,000 µs",
        taken < 1e-3,
    );
}
