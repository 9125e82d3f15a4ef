//! The speed of the chain, the sweep and the import, as ratios of measurements in one run.
//!
//! `cargo bench --bench sweep` prints the table of `benches/RESULTS.md`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use harness::values::{AtTime, clock};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use accession::chain::{CanonicalLists, Chain, Lanes, Sweep};
use accession::{
    Change, DatasetName, Event, EventKind, GranuleId, IfMissing, Import, Registry, Timestamp,
};
use md5::{Digest, Md5};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--peak-memory-in") {
        return import_child(Path::new(&arguments[at + 1]), arguments[at + 2].parse().unwrap());
    }
    println!("| What | Measured | Bound | Met |");
    println!("|---|---|---|---|");
    step();
    lanes();
    lists();
    campaign();
    appends();
    import();
}

fn row(what: &str, measured: &str, bound: &str, kept: bool) {
    println!("| {what} | {measured} | {bound} | {} |", if kept { "yes" } else { "NO" });
}

fn note(what: &str, measured: &str) {
    println!("| {what} | {measured} | | |");
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The n-th id, of 48 characters.
fn granule_id(n: usize) -> String {
    format!("granule.{n:08}.{}", &"0123456789abcdef".repeat(2)[..31])
}

fn dataset(name: &str) -> DatasetName {
    name.parse().unwrap()
}

fn day(n: usize) -> Timestamp {
    Timestamp::from_micros(n as i64 * 86_400_000_000).unwrap()
}

/// The chain with `md-5`'s `Digest`, one reused buffer, and hexadecimal characters by table.
fn chain_with_digest(granule_ids: &[String]) -> [u8; 16] {
    let mut digest: Option<[u8; 16]> = None;
    let mut message = Vec::new();
    for granule_id in granule_ids {
        message.clear();
        if let Some(digest) = digest {
            message.resize(32, 0);
            hex::encode_to_slice(digest, &mut message).unwrap();
            message.push(b'\n');
        }
        message.extend_from_slice(granule_id.as_bytes());
        message.push(b'\n');
        digest = Some(Md5::digest(&message).into());
    }
    digest.unwrap()
}

fn own_chain(granule_ids: &[String]) -> [u8; 16] {
    let mut chain = Chain::start();
    granule_ids.iter().for_each(|granule_id| chain.push(granule_id));
    *chain.identifier().as_bytes()
}

fn step() {
    let granule_ids: Vec<String> = (0..100_000).map(granule_id).collect();
    assert_eq!(own_chain(&granule_ids), chain_with_digest(&granule_ids));
    // Pairs of short runs, so that a slow moment of the machine affects both runs of a pair.
    let gains = (0..41)
        .map(|_| {
            let own = seconds(|| assert_ne!(own_chain(&granule_ids), [0; 16]));
            seconds(|| assert_ne!(chain_with_digest(&granule_ids), [0; 16])) / own
        })
        .collect();
    let gain = median(gains);
    row(
        "a step of the chain, relative to one with `Digest` of the crate `md-5`",
        &format!("{gain:.2} times as fast"),
        "1.25",
        gain >= 1.25,
    );
}

/// 4,000 ids pushed to 256 runs, with each kind of instructions that the processor has.
fn lanes() {
    let granule_ids: Vec<String> = (256..4_256).map(granule_id).collect();
    let push = |lanes: Lanes| {
        let mut sweep = Sweep::over(256).with_lanes(lanes);
        // Every instance begins with a different granule, so that there are 256 runs.
        (0..256).for_each(|n| sweep.hold(&granule_id(n), n..n + 1));
        seconds(|| granule_ids.iter().for_each(|granule_id| sweep.hold(granule_id, 0..256)))
    };
    for lanes in Lanes::all().into_iter().skip(1) {
        let gain = median((0..9).map(|_| push(Lanes::plain()) / push(lanes)).collect());
        note(
            &format!("256 chains in parallel with {}, relative to one after another", lanes.name()),
            &format!("{gain:.1} times as fast"),
        );
    }
}

/// Hashes the lists of ten years on one thread. Some files are replaced every night, and each file every ten
/// months. A line contains an id and a SHA-256.
fn lists() {
    const NIGHTS: usize = 3_650;
    let mut lists = CanonicalLists::over(NIGHTS);
    // Every list begins differently.
    (0..NIGHTS).for_each(|n| lists.push(granule_id(n).as_bytes(), n..n + 1));
    let line = |n: usize| format!("{}\tsha-256:{n:064x}\n", granule_id(n));
    let lines: Vec<String> = (0..2_000).map(line).collect();
    let taken = seconds(|| {
        for (n, line) in lines.iter().enumerate() {
            let replaced = (0..=12).map(|month| (300 * month + n % 50).min(NIGHTS));
            let starts: Vec<usize> = std::iter::once(0).chain(replaced).chain([NIGHTS]).collect();
            starts.windows(2).for_each(|pair| lists.push(line.as_bytes(), pair[0]..pair[1]));
        }
    });
    std::hint::black_box(lists.digests().count());
    let bytes: usize = lines.iter().map(String::len).sum();
    let speed = (bytes * NIGHTS) as f64 / taken / 1e9;
    row(
        "the canonical lists of 3,650 nights, hashed by one core",
        &format!("{speed:.2} GB/s, {:.0} ns a line", taken / (2_000 * NIGHTS) as f64 * 1e9),
        "1 GB/s with SHA instructions",
        speed >= 1.0,
    );
}

fn event(at: Timestamp, kind: EventKind, granule_id: &str) -> Event {
    let granule_id = GranuleId::new(granule_id).unwrap();
    Event { at, kind, granule_id, producer_granule: None, content: None, location: None }
}

fn import_events(registry: &Registry, name: &str, events: impl Iterator<Item = Event>) {
    let mut import = Import::new();
    events.for_each(|event| import.add(event).unwrap());
    import.options = import.options.if_missing(IfMissing::Create);
    registry.import(&dataset(name), &import).unwrap();
}

/// 200,000 granules, each deleted and replaced once, in order, over 365 days.
fn campaign_day(n: usize) -> (Vec<String>, Vec<String>) {
    const GRANULES: usize = 200_000;
    let old = |n: usize| format!("{}.v1", granule_id(n));
    if n == 0 {
        return ((0..GRANULES).map(old).collect(), Vec::new());
    }
    let range = (n - 1) * GRANULES / 365..n * GRANULES / 365;
    let new = range.clone().map(|n| format!("{}.v2", granule_id(n))).collect();
    (new, range.map(old).collect())
}

fn change(ingest: &[String], delete: &[String]) -> Change {
    let granule_id = |text: &String| GranuleId::new(text.as_str()).unwrap();
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    ingest.iter().for_each(|text| change.ingest(granule_id(text)).unwrap());
    delete.iter().for_each(|text| change.delete(granule_id(text)).unwrap());
    change
}

fn campaign() {
    let registry = Registry::temporary(clock()).unwrap();
    let days: Vec<_> = (0..=365).map(campaign_day).collect();
    let replay = seconds(|| {
        for (n, (ingest, delete)) in days.iter().enumerate() {
            registry.change(&dataset("campaign"), &change(ingest, delete).at(day(n))).unwrap();
        }
    });
    let mut identifiers = 0;
    let verify = median(
        (0..5)
            .map(|_| {
                seconds(|| {
                    let verification = registry.verify(&dataset("campaign")).unwrap();
                    assert!(verification.ok);
                    identifiers = verification.identifiers;
                })
            })
            .collect(),
    );
    assert_eq!(identifiers, 366);
    let lanes = Lanes::fastest().name();
    row(
        "`verify` of a reprocessing campaign (200,000 granules, each replaced once over 365 changes), relative to \
         replaying it change by change",
        &format!("{:.1} times as fast ({lanes}; {verify:.2} s, {replay:.1} s)", replay / verify),
        "5",
        replay / verify >= 5.0,
    );
}

fn appends() {
    const GRANULES: usize = 200_000;
    let days: Vec<Vec<String>> = (0..365)
        .map(|n| (n * GRANULES / 365..(n + 1) * GRANULES / 365).map(granule_id).collect())
        .collect();
    let ratio = median(
        (0..5)
            .map(|_| {
                let registry = Registry::temporary(clock()).unwrap();
                let replay = seconds(|| {
                    for (n, ingest) in days.iter().enumerate() {
                        registry
                            .change(&dataset("replay"), &change(ingest, &[]).at(day(n)))
                            .unwrap();
                    }
                });
                replay / seconds(|| assert!(registry.verify(&dataset("replay")).unwrap().ok))
            })
            .collect(),
    );
    row(
        "`verify` of a history that only appends, relative to replaying it",
        &format!("{ratio:.1} times as fast"),
        "1",
        ratio >= 1.0,
    );
}

/// A million granules that are ingested at 3,650 distinct times. The n-th row is that of granule `n * stride`,
/// modulo their number.
fn million(stride: usize) -> impl Iterator<Item = Event> {
    const GRANULES: usize = 1_000_000;
    (0..GRANULES)
        .map(move |n| n * stride % GRANULES)
        .map(|n| event(day(n * 3_650 / GRANULES), EventKind::Ingested, &granule_id(n)))
}

fn import() {
    let directory = tempfile::tempdir().unwrap();
    let in_own_process = |stride: usize| -> Option<(f64, f64)> {
        let mut child = Command::new(std::env::current_exe().ok()?);
        child.arg("--peak-memory-in").arg(directory.path()).arg(stride.to_string());
        let text = String::from_utf8(child.output().ok()?.stdout).ok()?;
        let (taken, megabytes) = text.trim().split_once(' ')?;
        Some((taken.parse().ok()?, megabytes.parse().ok()?))
    };
    let (Some((import, memory)), Some((shuffled, shuffled_memory))) =
        (in_own_process(1), in_own_process(7_919))
    else {
        return note("the import", "not measured");
    };

    let registry = Registry::create(directory.path().join("replay.db"), clock()).unwrap();
    let mut by_day: Vec<Vec<String>> = vec![Vec::new(); 3_650];
    for event in million(1) {
        let n = (event.at.as_micros() / 86_400_000_000) as usize;
        by_day[n].push(event.granule_id.to_string());
    }
    let replay = seconds(|| {
        for (n, ingest) in by_day.iter().enumerate() {
            registry.change(&dataset("replay"), &change(ingest, &[]).at(day(n))).unwrap();
        }
    });
    note(
        "import of 1,000,000 rows with 3,650 distinct times, only appends",
        &format!("{import:.1} s"),
    );
    note("the same from an unsorted file", &format!("{shuffled:.1} s"));
    note(
        "the same, with the rows grouped beforehand and ingested change by change",
        &format!("{replay:.1} s"),
    );
    let memory = format!("{memory:.0} MB, {shuffled_memory:.0} MB");
    note("peak memory of the first two imports", &memory);
}

/// Runs the import in a separate process. Prints the seconds and the peak memory in megabytes.
fn import_child(directory: &Path, stride: usize) {
    let path = directory.join(format!("import.{stride}.db"));
    drop(Registry::create(&path, clock()).unwrap());
    let registry = Registry::open(&path, clock()).unwrap();
    let taken = seconds(|| import_events(&registry, "import", million(stride)));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.map_or("0", |peak| peak.trim().trim_end_matches(" kB"));
    println!("{taken} {}", kilobytes.parse::<f64>().unwrap() / 1e3);
}
