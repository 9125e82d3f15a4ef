//! The cost of the same work in a file and on a PostgreSQL server, as ratios of one run.
//!
//! `cargo bench --bench stores` starts a private server, with its default settings, and prints the
//! table of `docs/about/performance.md`. With one of `changes`, `writers` and `memory` after `--`,
//! only that part is measured.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::Instant;

use accession::{
    Access, Change, DatasetName, Event, EventKind, GranuleId, Import, Moment, Registry, Selection,
    Stamp, Timestamp,
};

use harness::server::{Server, client};

#[path = "../tests/harness"]
mod harness {
    pub mod server;
    pub mod server_log;
}

const MILLION: usize = 1_000_000;
const ROUNDS: usize = 5;
const WRITERS: usize = 8;
/// The changes of one writer.
const CHANGES: usize = 300;

/// Measures something, and prints it.
type Part = fn(&Stores<'_>);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--peak-memory-of") {
        return peak_memory_child(Path::new(&arguments[at + 1]));
    }
    let Some(server) = Server::start(&[]) else {
        println!("not measured: initdb is not installed");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let stores = Stores { directory: directory.path(), server: &server };
    println!("| What | In a file | On a server | Ratio | Bound | Met |");
    println!("|---|---|---|---|---|---|");
    let parts: [(&str, Part); 3] = [("changes", changes), ("writers", writers), ("memory", memory)];
    let only = arguments[1..].iter().find(|argument| !argument.starts_with('-'));
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            part(&stores);
        }
    }
}

/// Where registries are created.
struct Stores<'run> {
    directory: &'run Path,
    server: &'run Server,
}

impl Stores<'_> {
    /// The path and the address of two new registries.
    fn new_pair(&self, name: &str) -> [PathBuf; 2] {
        let pair = [self.directory.join(name), PathBuf::from(self.server.new_database())];
        for path in &pair {
            drop(Registry::create(path).unwrap());
        }
        pair
    }
}

fn granule_id(n: usize) -> String {
    format!("{:x<48}", format!("granule.{:08}.{}", 2 * n, "0123456789abcdef"))
}

fn dataset() -> DatasetName {
    "bench".parse().unwrap()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn all() -> Selection {
    Selection::Dataset { name: dataset(), at: None }
}

fn ingest(granule_ids: impl Iterator<Item = String>) -> Change {
    let mut change = Change::new();
    change.create_dataset();
    granule_ids.for_each(|text| change.ingest(GranuleId::new(text).unwrap()).unwrap());
    change
}

fn import(registry: &Registry, granules: usize) -> f64 {
    let mut import = Import::new();
    import.create_dataset();
    let at = "2001-01-02T00:00:00Z".parse().unwrap();
    for granule_id in (0..granules).map(granule_id) {
        let event = Event {
            at,
            kind: EventKind::Ingested,
            granule_id: GranuleId::new(granule_id).unwrap(),
            producer_granule: None,
            location: None,
        };
        import.add(event).unwrap();
    }
    seconds(|| drop(registry.import(&dataset(), &import, &Stamp::now(now())).unwrap()))
}

fn list(registry: &Registry) -> usize {
    let snapshot = registry.snapshot().unwrap();
    let granules = snapshot.granules(&snapshot.select(&all()).unwrap().set).unwrap();
    drop(snapshot);
    granules.inspect(|granule| assert!(std::hint::black_box(granule).is_ok())).count()
}

fn seconds(run: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    run();
    begin.elapsed().as_secs_f64()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

fn time(seconds: f64) -> String {
    if seconds < 0.1 { format!("{:.2} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

fn row(what: &str, [file, server]: [f64; 2], bound: Option<f64>) {
    let ratio = server / file;
    let (bound, met) = match bound {
        Some(bound) => (format!("{bound} times"), if ratio <= bound { "yes" } else { "NO" }),
        None => (String::new(), ""),
    };
    let (file, server) = (time(file), time(server));
    println!("| {what} | {file} | {server} | {ratio:.2} times | {bound} | {met} |");
}

/// Measures something in both registries in turn, several times.
fn both(
    registries: &[Registry; 2],
    rounds: usize,
    mut measure: impl FnMut(&Registry, usize) -> f64,
) -> [f64; 2] {
    let mut taken = [Vec::new(), Vec::new()];
    for round in 0..rounds {
        for (registry, taken) in registries.iter().zip(&mut taken) {
            taken.push(measure(registry, round));
        }
    }
    taken.map(median)
}

fn changes(stores: &Stores<'_>) {
    let open = |path: &PathBuf| Registry::open(path, Access::Write).unwrap();
    let apply = |registry: &Registry, change: &Change| {
        seconds(|| drop(registry.change(&dataset(), change, &Stamp::now(now())).unwrap()))
    };

    let mut imported = [Vec::new(), Vec::new()];
    let mut registries = stores.new_pair("changes-0.db").each_ref().map(open);
    for round in 0..3 {
        registries = stores.new_pair(&format!("changes-{}.db", round + 1)).each_ref().map(open);
        for (registry, imported) in registries.iter().zip(&mut imported) {
            imported.push(import(registry, MILLION));
        }
    }
    row("import of 1,000,000 granules into a new dataset", imported.map(median), Some(2.0));
    // What the server does in the background after an import must not slow down what follows.
    for sql in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        let address = registries[1].path().unwrap().to_str().unwrap().to_owned();
        client(&address).batch_execute(sql).unwrap();
    }

    let day = |round: usize| (0..288).map(move |n| granule_id(MILLION + 288 * round + n));
    let appended = both(&registries, 15, |registry, round| apply(registry, &ingest(day(round))));
    row("288 granules appended to 1,000,000", appended, Some(3.0));

    let rewound = both(&registries, ROUNDS, |registry, round| {
        apply(registry, &ingest([format!("granule.!{round}")].into_iter()))
    });
    row("a granule before all others, so all are hashed again", rewound, Some(2.0));

    let listed =
        both(&registries, ROUNDS, |registry, _| seconds(|| assert!(list(registry) > MILLION)));
    row("the list of the granules held", listed, Some(3.0));

    let verified = both(&registries, ROUNDS, |registry, _| {
        seconds(|| assert!(registry.verify(&dataset()).unwrap().ok))
    });
    row("`verify`", verified, Some(2.5));

    let by_date = both(&registries, 1_000, |registry, _| {
        let at = Some(Moment::Instant("2025-01-01T00:00:00Z".parse().unwrap()));
        let selection = Selection::Dataset { name: dataset(), at };
        seconds(|| drop(registry.snapshot().unwrap().select(&selection).unwrap()))
    });
    row("a look-up by dataset and time", by_date, None);
    let identifier =
        registries[0].snapshot().unwrap().select(&all()).unwrap().instance().identifier;
    let by_identifier = both(&registries, 1_000, |registry, _| {
        seconds(|| drop(registry.snapshot().unwrap().resolve(identifier, None, None).unwrap()))
    });
    row("a look-up by identifier", by_identifier, None);
}

/// Changes a second of one granule each, by threads that each have a connection and a dataset of
/// their own.
fn writers(stores: &Stores<'_>) {
    for writers in [1, WRITERS] {
        let [file, server] = stores.new_pair(&format!("writers-{writers}.db")).map(|path| {
            let name = |writer: usize| -> DatasetName { format!("D{writer}").parse().unwrap() };
            let change = |writer: usize, text: String| {
                let registry = Registry::open(&path, Access::Write).unwrap();
                registry.change(&name(writer), &ingest([text].into_iter()), &Stamp::now(now()))
            };
            // The first change creates the dataset.
            (0..writers).for_each(|writer| drop(change(writer, "A".to_owned()).unwrap()));
            let rate = side_by_side(writers, |writer, begin| {
                let registry = Registry::open(&path, Access::Write).unwrap();
                begin.wait();
                for number in 0..CHANGES {
                    let change = ingest([granule_id(number)].into_iter());
                    registry.change(&name(writer), &change, &Stamp::now(now())).unwrap();
                }
            });
            (path, rate)
        });
        let bare = bare_client(stores, &server.0, writers);
        let (file, server) = (file.1, server.1);
        println!(
            "| changes a second, {writers} writers, each on a dataset of its own | {file:.0} | {server:.0} | | | |"
        );
        let ratio = server / bare;
        let met = if ratio >= 0.5 { "yes" } else { "NO" };
        println!(
            "| the same on the server, relative to a bare client that sends the same statements \
             | | {bare:.0} | {ratio:.2} | 0.5 | {met} |"
        );
    }
}

/// How many changes a second threads make that begin at the same time.
fn side_by_side(threads: usize, run: impl Fn(usize, &Barrier) + Sync) -> f64 {
    let begin = Barrier::new(threads + 1);
    let taken = std::thread::scope(|scope| {
        for thread in 0..threads {
            let (begin, run) = (&begin, &run);
            scope.spawn(move || run(thread, begin));
        }
        begin.wait();
        Instant::now()
    });
    (threads * CHANGES) as f64 / taken.elapsed().as_secs_f64()
}

/// The changes a second of a client that sends the statements of a change, with other values each
/// time.
fn bare_client(stores: &Stores<'_>, path: &Path, writers: usize) -> f64 {
    const SAMPLE: &str = "granule.sample";
    let recorded: Vec<Vec<String>> = (0..writers)
        .map(|writer| {
            let registry = Registry::open(path, Access::Write).unwrap();
            let name: DatasetName = format!("D{writer}").parse().unwrap();
            let change = ingest([SAMPLE.to_owned()].into_iter());
            let statements = stores.server.statements_of(|| {
                registry.change(&name, &change, &Stamp::now(now())).unwrap();
            });
            assert!(statements.iter().any(|sql| sql.contains(SAMPLE)), "{statements:#?}");
            statements
        })
        .collect();
    side_by_side(writers, |writer, begin| {
        let mut client = client(path.to_str().unwrap());
        begin.wait();
        for number in 0..CHANGES {
            for sql in &recorded[writer] {
                let sql = sql.replace(SAMPLE, &format!("granule.bare.{number:06}"));
                client.batch_execute(&later(&sql, number)).unwrap();
            }
        }
    })
}

/// The row of the history for another change: it is later by some microseconds.
fn later(sql: &str, microseconds: usize) -> String {
    if !sql.starts_with("INSERT INTO accession.instance") {
        return sql.to_owned();
    }
    let (before, rest) = sql.split_once("'{").unwrap();
    let (timestamp, after) = rest.split_once('}').unwrap();
    let timestamp = timestamp.parse::<usize>().unwrap() + 1 + microseconds;
    format!("{before}'{{{timestamp}}}{after}")
}

/// Imports, changes, lists and verifies in a process of its own, and prints its peak memory in kB.
fn peak_memory_child(path: &Path) {
    let registry = Registry::open(path, Access::Write).unwrap();
    let granules = std::env::var("GRANULES").unwrap().parse().unwrap();
    import(&registry, granules);
    let first = ingest(["granule.!".to_owned()].into_iter());
    registry.change(&dataset(), &first, &Stamp::now(now())).unwrap();
    assert_eq!(list(&registry), granules + 1);
    assert!(registry.verify(&dataset()).unwrap().ok);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.map_or("", |peak| peak.trim().trim_end_matches(" kB")));
}

fn memory(stores: &Stores<'_>) {
    let peak = |granules: usize| {
        stores.new_pair(&format!("memory-{granules}.db")).map(|path| {
            let program = std::env::current_exe().unwrap();
            let mut child = Command::new(program);
            child.arg("--peak-memory-of").arg(path).env("GRANULES", granules.to_string());
            let output = child.output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            printed.trim().parse::<f64>().unwrap() / 1e3
        })
    };
    let (small, large) = (peak(MILLION / 2), peak(5 * MILLION));
    let [file, server] =
        [0, 1].map(|store| format!("{:.0} MB, {:.0} MB", large[store], small[store]));
    let ratio = large[1] / small[1];
    let met = if ratio <= 1.5 { "yes" } else { "NO" };
    println!(
        "| peak memory of an import, a change, a list and `verify` with 5,000,000 and 500,000 granules \
         | {file} | {server} | {ratio:.2} times | 1.5 times | {met} |"
    );
}
