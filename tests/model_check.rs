//! Explores every order in which threads can share a minter, within bounds:
//!
//! ```sh
//! RUSTFLAGS="--cfg accession_loom" cargo test --release --test model_check --target-dir target/loom
//! ```

#![cfg(accession_loom)]
#![expect(clippy::unwrap_used, reason = "tests fail by panic")]

use std::time::Duration;

use accession::Timestamp;
use accession::minting::payment::{PaymentId, Scheme};
use accession::minting::{Clock, PaymentMinter};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};

/// A clock that shows these seconds one after the other, one for each read, and then stays at the last.
struct Steps {
    seconds: &'static [i64],
    read: AtomicUsize,
}

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        let read = self.read.fetch_add(1, Ordering::AcqRel).min(self.seconds.len() - 1);
        let epoch = Scheme::default().epoch.as_micros();
        Timestamp::from_micros(epoch + self.seconds[read] * 1_000_000).unwrap()
    }

    fn wait(&self, _: Duration) {
        loom::thread::yield_now();
    }
}

/// Two threads mint two ids each, on a clock that shows these seconds.
fn no_id_is_minted_twice(seconds: &'static [i64]) {
    loom::model(move || {
        let scheme = Scheme::default();
        let clock = Steps { seconds, read: AtomicUsize::new(0) };
        let minter =
            Arc::new(PaymentMinter::new(scheme, scheme.worker(0).unwrap(), clock).unwrap());
        let mint_two = |minter: Arc<PaymentMinter<Steps>>| -> [PaymentId; 2] {
            let ids = [minter.mint().unwrap(), minter.mint().unwrap()];
            assert!(ids[0] < ids[1], "in order for each thread");
            ids
        };
        let other = loom::thread::spawn({
            let minter = minter.clone();
            move || mint_two(minter)
        });
        let mut ids = [mint_two(minter), other.join().unwrap()].concat();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    });
}

#[test]
fn no_id_is_minted_twice_on_a_clock_that_stops() {
    no_id_is_minted_twice(&[10, 11]);
}

#[test]
fn no_id_is_minted_twice_on_a_clock_that_advances() {
    no_id_is_minted_twice(&[10, 11, 12, 13]);
}

/// A thread that was suspended after it read the clock, while the other minted many ids, concluded
/// that the clock had gone back. The benchmark of two threads found this.
#[test]
fn no_id_is_minted_twice_on_a_clock_that_advances_far() {
    no_id_is_minted_twice(&[10, 11, 40, 80, 120]);
}

#[test]
fn no_id_is_minted_twice_on_a_clock_that_goes_back() {
    no_id_is_minted_twice(&[10, 13, 11, 12, 10, 14]);
}
