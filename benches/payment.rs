//! Payment ids per second: from one minter shared by threads, and leased.
//!
//! `cargo bench --bench payment` prints the table of `benches/RESULTS.md`. Time is not the
//! limit: the clock is a number that advances when all ids of its second are used.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark stops by panic")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use accession::minting::payment::Scheme;
use accession::minting::{Clock, PaymentMinter};
use accession::{Registry, Timestamp};

const IDS: usize = 2_000_000;

struct Numbers(AtomicI64);

impl Clock for Numbers {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed)).unwrap()
    }

    fn wait(&self, duration: Duration) {
        self.0.fetch_add(duration.as_micros() as i64, Ordering::Relaxed);
    }
}

/// The millions of ids per second that this number of threads issue together.
fn rate(threads: usize, mint: impl Fn() + Sync) -> f64 {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..IDS / threads).for_each(|_| mint()));
        }
    });
    IDS as f64 / begin.elapsed().as_secs_f64() / 1e6
}

fn best(rounds: usize, rate: impl Fn() -> f64) -> f64 {
    (0..rounds).map(|_| rate()).fold(0.0, f64::max)
}

fn main() {
    let noon: Timestamp = "2026-01-01T12:00:00Z".parse().unwrap();
    let scheme = Scheme::default();
    let worker = scheme.worker(0).unwrap();
    println!("| What | 1 thread | 2 threads |");
    println!("|---|---|---|");

    let ours = |threads| {
        best(5, || {
            let clock = Numbers(AtomicI64::new(noon.as_micros()));
            let minter = PaymentMinter::new(scheme, worker, clock).unwrap();
            rate(threads, || {
                std::hint::black_box(minter.mint().unwrap());
            })
        })
    };
    println!("| one shared minter | {:.1} | {:.1} |", ours(1), ours(2));

    let directory = tempfile::tempdir().unwrap();
    let registry = Registry::create(&directory.path().join("accession.db")).unwrap();
    let lease = |count: u64, rounds: i64, later: i64| {
        let begin = Instant::now();
        let mut ids = 0;
        for round in 0..rounds {
            let now = noon.as_micros() + (later + round) * 1_000_000;
            let now = Timestamp::from_micros(now).unwrap();
            ids += registry.lease_payment_ids(scheme, worker, count, || now).unwrap().ids.len();
        }
        assert_eq!(ids as i64, count as i64 * rounds);
        ids as f64 / begin.elapsed().as_secs_f64()
    };
    let (one, all) = (lease(1, 300, 0), lease(1_296, 300, 1_000));
    println!();
    println!(
        "Issued from a registry on disk, one transaction for each lease: {one:.0} ids a second one by one, {all:.0} in leases of 1,296."
    );
}
