//! No payment id is issued twice, whatever the clock does.

use accession::ids::payment::{Layout, PaymentId, Scheme};
use accession::{Clock, Error, ErrorKind, Timestamp};
use proptest::prelude::*;

use harness::store::new_registry;

fn noon() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// For each step, the microseconds that the clock moves, and the number of ids issued then.
fn moves() -> impl Strategy<Value = Vec<(i64, u64)>> {
    let seconds = prop_oneof![
        4 => Just(0_i64),
        2 => 0..3_000_000_i64,
        2 => -6_000_000..0_i64,
        1 => Just(-86_400_000_000),
        1 => Just(86_400_000_000),
    ];
    let count = prop_oneof![4 => 1..5_u64, 1 => 1_000..1_400_u64];
    prop::collection::vec((seconds, count), 1..12)
}

fn layouts() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::Standard), Just(Layout::Wide)]
}

/// How many seconds the clock is behind, according to an error.
fn seconds_behind(error: &Error) -> u64 {
    let message = error.to_string();
    let seconds =
        message.strip_prefix("the clock is ").and_then(|rest| rest.split_once(" s behind"));
    seconds.unwrap().0.parse().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn leased_ids_ascend_and_never_repeat_whatever_the_clock_does(
        moves in moves(),
        layout in layouts(),
    ) {
        let scheme = Scheme { layout, ..Scheme::default() };
        let worker = scheme.worker(3).unwrap();
        let registry = new_registry();
        let mut now = noon();
        let (mut last, mut newest): (Option<PaymentId>, Option<Timestamp>) = (None, None);
        for (micros, count) in moves {
            now = Timestamp::from_micros(now.as_micros() + micros).unwrap();
            match registry.with_clock(Clock::fixed(now)).lease_payment_ids(scheme, worker, count) {
                Ok(lease) => {
                    prop_assert_eq!(lease.more_at.is_none(), lease.ids.len() as u64 == count);
                    for decoded in lease.ids {
                        prop_assert!(last < Some(decoded.id));
                        last = Some(decoded.id);
                        newest = newest.max(Some(decoded.time));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Usage => {
                    let seconds = seconds_behind(&error);
                    let gap = newest.unwrap().as_micros() - now.as_micros();
                    prop_assert!(seconds > 5 && gap > 5_000_000, "{} {}", seconds, gap);
                }
                Err(other) => return Err(TestCaseError::fail(other.to_string())),
            }
        }
    }
}

#[test]
fn outside_the_epoch_no_id_is_issued_and_the_count_does_not_wrap() {
    let scheme = Scheme::default();
    let worker = scheme.worker(0).unwrap();
    let registry = new_registry();
    let lease = |at: &str, count| {
        registry
            .with_clock(Clock::fixed(at.parse().unwrap()))
            .lease_payment_ids(scheme, worker, count)
    };
    assert!(lease("2023-12-31T23:59:59Z", 1).unwrap_err().to_string().contains("before the epoch"));
    let last = lease("2092-12-23T05:45:35.9Z", 2_000).unwrap();
    assert_eq!(last.ids.len(), 1_296);
    assert_eq!(last.ids[1_295].id.as_str(), "ZZZZZZ0ZZ");
    assert!(lease("2092-12-23T05:45:35.9Z", 1).unwrap().ids.is_empty());
    assert!(
        lease("2092-12-23T05:45:36Z", 1).unwrap_err().to_string().contains("cannot count further")
    );
}

#[test]
fn ids_of_the_old_scheme_are_skipped() {
    let scheme = Scheme::default();
    let worker = scheme.worker(2).unwrap();
    let registry = new_registry();
    let second = scheme.second_at(noon()).unwrap();
    let old = [0, 1, 3].map(|counter| scheme.encode(second, worker, counter));
    assert_eq!(registry.reserve_payment_ids(&old).unwrap(), 3);
    assert_eq!(registry.reserve_payment_ids(&old).unwrap(), 0);
    let lease = registry.with_clock(Clock::new(noon)).lease_payment_ids(scheme, worker, 3).unwrap();
    let counters: Vec<u32> = lease.ids.iter().map(|decoded| decoded.counter).collect();
    assert_eq!(counters, [2, 4, 5]);
}
