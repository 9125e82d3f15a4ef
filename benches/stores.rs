//! The cost of a registry on a PostgreSQL server. The results are ratios of measurements in one run: to the
//! time of the server itself for the same rows, and to the same work in a file.
//!
//! `cargo bench --bench stores` starts a private server with default settings, and prints the tables of
//! `benches/RESULTS.md`. With `changes`, `questions`, `writers` or `memory` after `--`, it measures only that
//! part.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use harness::values::clock;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::Instant;

use accession::chain::Sweep;
use accession::{
    Change, Clock, DatasetName, Event, EventKind, GranuleId, IfMissing, Import, Moment, Registry,
    Selection, Timestamp,
};

use harness::server::{Server, client};
use postgres::Client;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::{ToSql, Type};

const MILLION: usize = 1_000_000;
const ROUNDS: usize = 5;
const WRITERS: usize = 8;
/// The number of changes of one writer.
const CHANGES: usize = 300;

/// The minimum rate of changes, relative to a bare client: a change takes at most 1.3 times as long.
const LEAST_RATE: f64 = 0.77;
/// The prefix of the ids that are replaced by other ids when statements are sent again.
const SAMPLE: &str = "granule.sample";

/// Measures one part, and prints the results.
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
    let parts: [(&str, Part); 4] =
        [("changes", changes), ("questions", questions), ("writers", writers), ("memory", memory)];
    let only = arguments[1..].iter().find(|argument| !argument.starts_with('-'));
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            part(&stores);
        }
    }
}

/// The locations of new registries.
struct Stores<'run> {
    directory: &'run Path,
    server: &'run Server,
}

impl Stores<'_> {
    /// Creates two registries, and returns the path of one and the address of the other.
    fn new_pair(&self, name: &str) -> [PathBuf; 2] {
        let pair = [self.directory.join(name), PathBuf::from(self.server.new_database())];
        for path in &pair {
            drop(Registry::create(path, clock()).unwrap());
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
    change.options = change.options.if_missing(IfMissing::Create);
    granule_ids.for_each(|text| change.ingest(GranuleId::new(text).unwrap()).unwrap());
    change
}

fn import(registry: &Registry, granules: usize) -> f64 {
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    let at = "2001-01-02T00:00:00Z".parse().unwrap();
    for granule_id in (0..granules).map(granule_id) {
        let event = Event {
            at,
            kind: EventKind::Ingested,
            granule_id: GranuleId::new(granule_id).unwrap(),
            producer_granule: None,
            content: None,
            location: None,
        };
        import.add(event).unwrap();
    }
    seconds(|| {
        drop(
            registry
                .with_clock(Clock::fixed(now()).confirmed())
                .import(&dataset(), &import)
                .unwrap(),
        );
    })
}

fn list(registry: &Registry) -> usize {
    let set = registry.snapshot().unwrap().select(&all()).unwrap().set;
    let granules = registry.granules(&set);
    granules.inspect(|granule| assert!(std::hint::black_box(granule).is_ok())).count()
}

/// Like [`list`], for ids only.
fn list_ids(registry: &Registry) -> usize {
    let set = registry.snapshot().unwrap().select(&all()).unwrap().set;
    let granules = registry.granules(&set);
    granules.into_id_pages().map(|page| std::hint::black_box(page.unwrap()).len()).sum()
}

/// Like [`list_ids`], without verification.
fn list_unverified(registry: &Registry) -> usize {
    let set = registry.snapshot().unwrap().select(&all()).unwrap().set;
    let pages = registry.granules_after(&set, None).into_id_pages();
    pages.map(|page| std::hint::black_box(page.unwrap()).len()).sum()
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

fn heading(first: &str, second: &str) {
    println!("\n| What | {first} | {second} | Ratio | Bound | Met |");
    println!("|---|---|---|---|---|---|");
}

fn row(what: &str, [one, other]: [f64; 2], bound: Option<f64>) {
    let ratio = other / one;
    let (bound, met) = match bound {
        Some(bound) => (format!("{bound} times"), if ratio <= bound { "yes" } else { "NO" }),
        None => (String::new(), ""),
    };
    let (one, other) = (time(one), time(other));
    println!("| {what} | {one} | {other} | {ratio:.2} times | {bound} | {met} |");
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

/// The time of a change, and the time that the server needs for its rows alone.
fn changes(stores: &Stores<'_>) {
    let apply = |registry: &Registry, change: &Change| {
        seconds(|| {
            drop(
                registry
                    .with_clock(Clock::fixed(now()).confirmed())
                    .change(&dataset(), change)
                    .unwrap(),
            );
        })
    };
    heading("A bare client", "accession");
    let mut imported = [Vec::new(), Vec::new()];
    let mut url = String::new();
    for _ in 0..3 {
        let bare = stores.server.new_database();
        drop(Registry::create(Path::new(&bare), clock()).unwrap());
        imported[0].push(copy_rows(&bare));
        url = stores.server.new_database();
        imported[1].push(import(&Registry::create(Path::new(&url), clock()).unwrap(), MILLION));
    }
    row("import of 1,000,000 granules; COPY of the rows", imported.map(median), Some(1.5));
    // Background work of the server after an import must not slow down the next measurements.
    for sql in ["VACUUM (ANALYZE)", "CHECKPOINT"] {
        client(&url).batch_execute(sql).unwrap();
    }
    let twin = stores.server.new_database();
    let (server, name) = twin.rsplit_once('/').unwrap();
    let original = url.rsplit('/').next().unwrap();
    let mut other = client(&format!("{server}/postgres"));
    other.batch_execute(&format!("DROP DATABASE {name}")).unwrap();
    other.batch_execute(&format!("CREATE DATABASE {name} TEMPLATE {original}")).unwrap();

    let registry = Registry::open(Path::new(&url), clock()).unwrap();
    let day = |round: usize| (0..288).map(move |n| format!("{SAMPLE}.{round:06}.{n:03}"));
    let first = ingest(day(0));
    let recorded = stores.server.statements_of(|| {
        apply(&registry, &first);
    });
    let mut bare = client(&twin);
    let mut appended = [Vec::new(), Vec::new()];
    for round in 1..16 {
        let round_of = |number: usize| format!("{SAMPLE}.{number:06}");
        let statements: Vec<String> = messages(&recorded)
            .iter()
            .map(|sql| later(&sql.replace(&round_of(0), &round_of(round)), round))
            .collect();
        appended[0].push(seconds(|| {
            statements.iter().for_each(|sql| bare.batch_execute(sql).unwrap());
        }));
        appended[1].push(apply(&registry, &ingest(day(round))));
    }
    row("288 granules appended; its statements", appended.map(median), Some(1.3));

    bare.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").unwrap();
    let (mut rewound, mut listed) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let (mut ids, mut unverified) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for round in 0..ROUNDS {
        rewound[0].push(seconds(|| hash_pages(&mut bare)));
        let before_all = ingest([format!("granule.!{round}")].into_iter());
        rewound[1].push(apply(&registry, &before_all));
        listed[0].push(seconds(|| {
            pages(&mut bare, ALL_COLUMNS, |_| ());
        }));
        listed[1].push(seconds(|| assert!(list(&registry) > MILLION)));
        unverified[0].push(seconds(|| pages(&mut bare, IDS, |_| ())));
        unverified[1].push(seconds(|| assert!(list_unverified(&registry) > MILLION)));
        ids[0].push(seconds(|| hash_pages(&mut bare)));
        ids[1].push(seconds(|| assert!(list_ids(&registry) > MILLION)));
    }
    row("all hashed again; reading the ids in order and hashing", rewound.map(median), Some(1.5));
    row("a list of ids, not proved; reading its pages", unverified.map(median), Some(1.3));
    row("a list of ids; reading its pages and hashing", ids.map(median), Some(1.3));
    row("a list of granules; reading its pages", listed.map(median), None);
}

/// Copies the rows of an import into the table of an empty registry.
fn copy_rows(url: &str) -> f64 {
    const COPY: &str = "
        COPY accession.granule (dataset_id, granule_id, ingested, deleted, producer_granule)
        FROM STDIN BINARY";
    let types = [Type::INT8, Type::TEXT, Type::INT8, Type::INT8, Type::TEXT];
    let ingested = now().as_micros();
    let mut client = client(url);
    seconds(|| {
        let mut writer = BinaryCopyInWriter::new(client.copy_in(COPY).unwrap(), &types);
        for granule_id in (0..MILLION).map(granule_id) {
            let row: [&(dyn ToSql + Sync); 5] =
                [&1_i64, &granule_id, &ingested, &None::<i64>, &None::<&str>];
            writer.write(&row).unwrap();
        }
        writer.finish().unwrap();
    })
}

/// The statements as a client sends them if it combines all settings into one message.
fn messages(recorded: &[String]) -> Vec<String> {
    let is_setting = |sql: &&String| sql.starts_with("BEGIN") || sql.starts_with("SET LOCAL");
    let settings: Vec<&str> = recorded.iter().take_while(is_setting).map(String::as_str).collect();
    let mut messages = vec![settings.join("; ")];
    messages.extend_from_slice(&recorded[settings.len()..]);
    messages
}

const IDS: &str = "string_agg(granule_id, E'\\n')";
const ALL_COLUMNS: &str = "string_agg(granule_id, E'\\n'), string_agg(int8send(ingested), ''),
    string_agg(int8send(coalesce(deleted, 0)), ''), string_agg(coalesce(producer_granule, ''), '')";

/// Reads the granules held in pages. The first column of each page contains the ids.
fn pages(client: &mut Client, columns: &str, mut show: impl FnMut(&str)) {
    let sql = format!(
        "SELECT {columns} FROM (
             SELECT * FROM accession.granule
             WHERE dataset_id = 1 AND granule_id > $1
               AND ingested <= $2 AND (deleted IS NULL OR deleted > $2)
             ORDER BY granule_id LIMIT 16384) AS page"
    );
    let (mut after, now) = (String::new(), i64::MAX);
    while let Some(ids) =
        client.query_one(&sql, &[&after, &now]).unwrap().get::<_, Option<String>>(0)
    {
        show(&ids);
        ids.rsplit('\n').next().unwrap().clone_into(&mut after);
    }
}

fn hash_pages(client: &mut Client) {
    let mut sweep = Sweep::over(1);
    pages(client, IDS, |ids| ids.split('\n').for_each(|id| sweep.hold(id, 0..1)));
    std::hint::black_box(sweep.latest());
}

/// The time of queries, in a file and on a server.
fn questions(stores: &Stores<'_>) {
    heading("In a file", "On a server");
    let registries = stores
        .new_pair("questions.db")
        .each_ref()
        .map(|path| Registry::open(path, clock()).unwrap());
    for registry in &registries {
        import(registry, MILLION);
    }
    let verified = both(&registries, ROUNDS, |registry, _| {
        seconds(|| assert!(registry.verify(&dataset()).unwrap().ok))
    });
    row("`verify` of 1,000,000 granules", verified, None);
    let by_date = both(&registries, 1_000, |registry, _| {
        let at = Some(Moment::Instant("2025-01-01T00:00:00Z".parse().unwrap()));
        let selection = Selection::Dataset { name: dataset(), at };
        seconds(|| drop(registry.snapshot().unwrap().select(&selection).unwrap()))
    });
    row("a look-up by dataset and time", by_date, None);
    let identifier =
        registries[0].snapshot().unwrap().select(&all()).unwrap().instance().identifier;
    let by_identifier = both(&registries, 1_000, |registry, _| {
        seconds(|| drop(registry.snapshot().unwrap().periods(identifier, None, None).unwrap()))
    });
    row("a look-up by identifier", by_identifier, None);
}

/// The rate of changes of one granule each, in changes per second. Each thread has its own connection and
/// dataset.
fn writers(stores: &Stores<'_>) {
    heading("In a file", "On a server");
    for writers in [1, WRITERS] {
        let [file, server] = stores.new_pair(&format!("writers-{writers}.db")).map(|path| {
            let name = |writer: usize| -> DatasetName { format!("D{writer}").parse().unwrap() };
            let change = |writer: usize, text: String| {
                let registry = Registry::open(&path, clock()).unwrap();
                registry
                    .with_clock(Clock::fixed(now()).confirmed())
                    .change(&name(writer), &ingest([text].into_iter()))
            };
            // The first change creates the dataset.
            (0..writers).for_each(|writer| drop(change(writer, "A".to_owned()).unwrap()));
            let rate = side_by_side(writers, |writer, begin| {
                let registry = Registry::open(&path, clock()).unwrap();
                begin.wait();
                for number in 0..CHANGES {
                    let change = ingest([granule_id(number)].into_iter());
                    registry
                        .with_clock(Clock::fixed(now()).confirmed())
                        .change(&name(writer), &change)
                        .unwrap();
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
        let met = if ratio >= LEAST_RATE { "yes" } else { "NO" };
        println!(
            "| the same on the server, relative to a bare client that sends the same statements \
             | | {bare:.0} | {ratio:.2} | {LEAST_RATE} | {met} |"
        );
    }
}

/// The changes per second of threads that begin at the same time.
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

/// The changes per second of a client that sends the statements of a change, each time with other values.
fn bare_client(stores: &Stores<'_>, path: &Path, writers: usize) -> f64 {
    let recorded: Vec<Vec<String>> = (0..writers)
        .map(|writer| {
            let registry = Registry::open(path, clock()).unwrap();
            let name: DatasetName = format!("D{writer}").parse().unwrap();
            let change = ingest([SAMPLE.to_owned()].into_iter());
            let statements = stores.server.statements_of(|| {
                registry
                    .with_clock(Clock::fixed(now()).confirmed())
                    .change(&name, &change)
                    .unwrap();
            });
            assert!(statements.iter().any(|sql| sql.contains(SAMPLE)), "{statements:#?}");
            statements
        })
        .collect();
    side_by_side(writers, |writer, begin| {
        let mut client = client(path.to_str().unwrap());
        begin.wait();
        for number in 0..CHANGES {
            for sql in &messages(&recorded[writer]) {
                let sql = sql.replace(SAMPLE, &format!("granule.bare.{number:06}"));
                client.batch_execute(&later(&sql, number)).unwrap();
            }
        }
    })
}

/// The history row for another change, which is later by some microseconds.
fn later(sql: &str, microseconds: usize) -> String {
    if !sql.starts_with("INSERT INTO accession.instance") {
        return sql.to_owned();
    }
    let (before, row) = sql.split_once("VALUES (").unwrap();
    let mut values: Vec<&str> = row.split(", ").collect();
    let timestamp = values[1].trim_matches('\'').parse::<usize>().unwrap() + 1 + microseconds;
    let timestamp = timestamp.to_string();
    values[1] = &timestamp;
    format!("{before}VALUES ({}", values.join(", "))
}

/// Imports, changes, lists and verifies in a separate process, and prints its peak memory in kB.
fn peak_memory_child(path: &Path) {
    let registry = Registry::open(path, clock()).unwrap();
    let granules = std::env::var("GRANULES").unwrap().parse().unwrap();
    import(&registry, granules);
    let first = ingest(["granule.!".to_owned()].into_iter());
    registry.with_clock(Clock::fixed(now()).confirmed()).change(&dataset(), &first).unwrap();
    assert_eq!(list(&registry), granules + 1);
    assert!(registry.verify(&dataset()).unwrap().ok);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.map_or("", |peak| peak.trim().trim_end_matches(" kB")));
}

fn memory(stores: &Stores<'_>) {
    heading("In a file", "On a server");
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
