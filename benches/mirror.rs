//! The cost of comparing and pulling relative to reading both lists, as ratios of one run.
//!
//! `cargo bench --bench mirror` prints the table of `benches/RESULTS.md`.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use harness::values::clock;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use accession::mirror::{MirrorStatus, Primary, PrimaryOptions, PullOptions, manifest};
use accession::{Change, DatasetName, Expected, GranuleId, IfMissing, Registry, Selection};

const MILLION: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--mirror-in") {
        return child(Path::new(&arguments[at + 1]));
    }
    println!("| What | 100,000 granules | 1,000,000 granules |");
    println!("|---|---|---|");
    let directory = tempfile::tempdir().unwrap();
    let [small, large] = [MILLION / 10, MILLION].map(|granules| {
        let directory = directory.path().join(granules.to_string());
        std::fs::create_dir(&directory).unwrap();
        // One granule is missing and one is unexpected. A third has another name, so it is both.
        let ids = |other: &'static str, without: usize| {
            let all = (0..granules).filter(move |&n| n != without).map(granule_id);
            all.chain([other.to_owned()])
        };
        registry(&directory.join("mirror.db"), ids("granule.x", 500));
        registry(&directory.join("primary.db"), ids("granule.y", granules));
        let output = Command::new(std::env::current_exe().unwrap())
            .arg("--mirror-in")
            .arg(&directory)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.split_whitespace().map(|figure| figure.parse::<f64>().unwrap()).collect::<Vec<_>>()
    });
    let ratio = |figures: &[f64], of: usize| figures[of] / figures[0];
    for (what, of) in [
        ("`mirror compare`, relative to reading both lists", 1),
        ("`mirror pull`, relative to reading both lists", 2),
    ] {
        println!("| {what} | {:.2} times | {:.2} times |", ratio(&small, of), ratio(&large, of));
    }
    println!("| peak memory of all three together | {:.1} MB | {:.1} MB |", small[3], large[3]);
}

fn granule_id(n: usize) -> String {
    format!("granule.{n:08}.{}", &"0123456789abcdef".repeat(2)[..31])
}

fn dataset() -> DatasetName {
    "mirrored".parse().unwrap()
}

fn registry(path: &Path, granule_ids: impl Iterator<Item = String>) {
    let mut change = Change::new();
    change.options = change.options.if_missing(IfMissing::Create);
    granule_ids.for_each(|text| change.ingest(GranuleId::new(text).unwrap()).unwrap());
    Registry::create(path, clock()).unwrap().change(&dataset(), &change).unwrap();
}

fn median(work: impl FnMut()) -> f64 {
    let mut work = work;
    let mut seconds: Vec<f64> = (0..5)
        .map(|_| {
            let begin = Instant::now();
            work();
            begin.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[2]
}

/// Runs in a separate process. Prints the seconds for reading both lists, comparing and pulling, and the peak
/// memory in megabytes.
fn child(directory: &Path) {
    let mirror = Registry::open(directory.join("mirror.db"), clock()).unwrap();
    let other = Registry::open(directory.join("primary.db"), clock()).unwrap();
    let all = Selection::Dataset { name: dataset(), at: None };
    let read = median(|| {
        for registry in [&mirror, &other] {
            let set = registry.snapshot().unwrap().select(&all).unwrap().set;
            let granules = registry.granules(&set);
            granules.for_each(|granule| drop(std::hint::black_box(granule.unwrap())));
        }
    });
    let path = directory.join("primary.jsonl");
    manifest::export(&other, &dataset(), None, &path).unwrap();
    let manifest = std::fs::File::open(path).unwrap();
    let primary = Primary::from_reader(manifest, "primary.jsonl", PrimaryOptions::default());
    let primary = primary.unwrap();
    let compared = median(|| {
        let compared = mirror.compare_mirror(&dataset(), &primary).unwrap().finish().unwrap();
        let counts = compared.counts;
        let differ = (compared.status.status, counts.only_right, counts.only_left);
        assert_eq!(differ, (MirrorStatus::Diverged, 2, 1));
    });
    let history = mirror.compare_mirror(&dataset(), &primary).unwrap().history().clone();
    let expect = Expected::Identifier(history.primary.identifier);
    let options = PullOptions::new().expect(expect).dry_run(true);
    let pulled = median(|| {
        mirror.pull(&dataset(), &primary, options).unwrap();
    });
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.map_or("0", |peak| peak.trim().trim_end_matches(" kB"));
    println!("{read} {compared} {pulled} {}", kilobytes.parse::<f64>().unwrap() / 1e3);
}
