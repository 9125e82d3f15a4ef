//! Listings that replace the set of a dataset: what is refused, what is confirmed, and what came back.

use accession::registry::Edit;
use accession::{
    Applied, Change, ChangeOptions, Dataset, DatasetEdit, ErrorKind, Limit, Limits, Listing,
    Registry, Stamp, Timestamp,
};

use crate::harness::history::{change, id, name, now, second};
use crate::harness::store::new_registry;

const DAY: i64 = 86_400;

fn ids(numbers: impl IntoIterator<Item = u32>) -> Listing {
    let mut listing = Listing::new();
    numbers.into_iter().for_each(|n| listing.add(id(&format!("G{n:04}"))).unwrap());
    listing
}

fn sync(
    registry: &Registry,
    listing: &Listing,
    limits: Limits,
    stamp: &Stamp,
) -> Result<Applied, ErrorKind> {
    let options = ChangeOptions { create_dataset: true, ..ChangeOptions::default() };
    registry.sync(&name("D"), listing, limits, &options, stamp).map_err(|error| error.kind())
}

fn at(day: i64) -> Stamp {
    Stamp { recorded_by: Some("somebody".to_owned()), ..Stamp::at(second(day * DAY), now()) }
}

/// A dataset of 935 granules.
fn registry() -> Registry {
    let registry = new_registry();
    sync(&registry, &ids(0..935), Limits::default(), &at(0)).unwrap();
    registry
}

#[test]
fn a_broken_night_is_refused_then_accepted_and_comes_back() {
    let (registry, limits) = (registry(), Limits::default());
    let broken = ids((0..300).chain(346..935));
    assert_eq!(sync(&registry, &broken, limits, &at(1)), Err(ErrorKind::TooManyDeletions));
    // The time is checked first.
    assert_eq!(sync(&registry, &broken, limits, &at(0)), Err(ErrorKind::NotAfterLast));
    assert_eq!(sync(&registry, &broken, limits, &at(-1)), Err(ErrorKind::NotAfterLast));
    let allowed = Limits { max_delete: Some(Limit::Granules(46)), ..limits };
    let lost = sync(&registry, &broken, allowed, &at(1)).unwrap();
    assert_eq!(lost.came_back, None);
    let back = sync(&registry, &ids(0..935), limits, &at(2)).unwrap();
    let came_back = back.came_back.unwrap();
    assert_eq!(came_back.replaced.timestamp, lost.instance.unwrap().timestamp);
    assert_eq!(came_back.earlier.timestamp, second(0));
    // Granules that were never held, or were deleted before, did not come back.
    let grown = sync(&registry, &ids(0..936), limits, &at(3)).unwrap();
    assert_eq!(grown.came_back, None);
    let shrunk = sync(&registry, &ids(0..935), limits, &at(4)).unwrap();
    assert_eq!(shrunk.came_back, None);
}

#[test]
fn the_limits_of_an_option_come_before_those_of_the_dataset() {
    let registry = registry();
    let own = |max_delete: &str, max_add: &str| {
        let edit = |text: &str| match text {
            "" => Edit::Clear,
            text => Edit::Set(text.parse().unwrap()),
        };
        let edit = DatasetEdit {
            max_delete: edit(max_delete),
            max_add: edit(max_add),
            ..DatasetEdit::default()
        };
        registry.edit_dataset(&name("D"), &edit, &Stamp::now(now())).unwrap();
    };
    let typed = |max_delete: &str, max_add: &str| Limits {
        max_delete: max_delete.parse().ok(),
        max_add: max_add.parse().ok(),
    };
    let (minus_19, plus_936) = (ids(19..935), ids(0..935 + 1_001));
    let cases = [
        (&minus_19, ["", ""], ["", ""], Some(ErrorKind::TooManyDeletions)),
        (&minus_19, ["19", ""], ["", ""], None),
        (&minus_19, ["19", ""], ["18", ""], Some(ErrorKind::TooManyDeletions)),
        (&minus_19, ["0", ""], ["3%", ""], None),
        (&minus_19, ["", "0"], ["50%", ""], None),
        (&plus_936, ["", ""], ["", ""], Some(ErrorKind::TooManyAdditions)),
        (&plus_936, ["", "1001"], ["", ""], None),
        (&plus_936, ["", "200%"], ["", "107%"], Some(ErrorKind::TooManyAdditions)),
        (&plus_936, ["0", ""], ["", "108%"], None),
    ];
    let options = ChangeOptions { dry_run: true, ..ChangeOptions::default() };
    for (listing, [max_delete, max_add], [delete, add], refused) in cases {
        own(max_delete, max_add);
        let synced = registry.sync(&name("D"), listing, typed(delete, add), &options, &at(1));
        let kind = synced.err().map(|error| error.kind());
        assert_eq!(kind, refused, "{max_delete} {max_add} {delete} {add}");
    }
    let limits = registry.snapshot().unwrap().dataset(&name("D")).unwrap().limits;
    assert_eq!(limits, Limits { max_delete: Some(Limit::Granules(0)), max_add: None });
    // Nobody else sees them.
    let public = registry.published(&[]).snapshot().unwrap().dataset(&name("D")).unwrap();
    assert_eq!(public.limits, Limits::default());
    let directory = tempfile::tempdir().unwrap();
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy, accession::registry::PaymentIds::LeftOut).unwrap();
    let copy = Registry::open(&copy, accession::Access::Read).unwrap();
    assert_eq!(copy.snapshot().unwrap().dataset(&name("D")).unwrap().limits, limits);
}

#[test]
fn a_listing_that_changes_nothing_is_confirmed_and_can_be_retried() {
    let registry = registry();
    let confirmed = || registry.snapshot().unwrap().dataset(&name("D")).unwrap().confirmed;
    assert_eq!(confirmed(), None);
    let listing = ids(0..935);
    let options = ChangeOptions { dry_run: true, ..ChangeOptions::default() };
    registry.sync(&name("D"), &listing, Limits::default(), &options, &at(1)).unwrap();
    assert_eq!(confirmed(), None);
    // The time of the last change is a retry; an earlier one is not.
    assert_eq!(sync(&registry, &listing, Limits::default(), &at(-1)), Err(ErrorKind::NotAfterLast));
    assert_eq!(confirmed(), None);
    for day in [0, 1] {
        let applied = sync(&registry, &listing, Limits::default(), &at(day)).unwrap();
        assert_eq!((applied.instance, applied.not_confirmed), (None, None));
        let confirmed = confirmed().unwrap();
        assert_eq!((confirmed.recorded, confirmed.granules), (now(), 935));
        assert_eq!(confirmed.recorded_by.as_deref(), Some("somebody"));
    }
    // A clock that is far ahead is no reason to fail.
    let later: Timestamp = "2029-01-01T00:00:00Z".parse().unwrap();
    registry.change(&name("D"), &change(["NOW"], []), &confirmed_now(now())).unwrap();
    let mut with_now = ids(0..935);
    with_now.add(id("NOW")).unwrap();
    let applied = sync(&registry, &with_now, Limits::default(), &Stamp::now(later)).unwrap();
    assert!(applied.not_confirmed.unwrap().contains("two years"));
    assert_eq!(confirmed().unwrap().recorded, now());
}

fn confirmed_now(now: Timestamp) -> Stamp {
    Stamp { is_clock_confirmed: true, ..Stamp::now(now) }
}

#[test]
fn a_change_without_a_time_is_refused_in_a_backfill_until_now_is_confirmed() {
    let registry = new_registry();
    let stamp = Stamp::now(now());
    registry.add_dataset(&Dataset::named(name("D")), &stamp).unwrap();
    let try_change = |stamp: &Stamp| {
        let mut tried = change(["X"], []);
        tried.options.dry_run = true;
        registry.change(&name("D"), &tried, stamp).map_err(|error| error.kind())
    };
    // A dataset without changes is no backfill.
    try_change(&stamp).unwrap();
    registry.change(&name("D"), &change(["A"], []), &at(0)).unwrap();
    let mut nothing = Change::new();
    nothing.options.skip_existing = true;
    let refused = [
        try_change(&stamp).err(),
        registry.change(&name("D"), &nothing, &stamp).err().map(|error| error.kind()),
        sync(&registry, &ids([1]), Limits::NONE, &stamp).err(),
    ];
    assert_eq!(refused, [Some(ErrorKind::Backfill); 3]);
    try_change(&confirmed_now(now())).unwrap();
    try_change(&at(1)).unwrap();
    // 48 hours late is timely; a microsecond more is not.
    let late = |micros: i64| {
        Timestamp::from_micros(now().as_micros() - 48 * 3_600_000_000 - micros).unwrap()
    };
    registry.change(&name("D"), &change(["B"], []), &Stamp::at(late(1), now())).unwrap();
    assert_eq!(try_change(&stamp).err(), Some(ErrorKind::Backfill));
    registry.change(&name("D"), &change(["C"], []), &Stamp::at(late(0), now())).unwrap();
    try_change(&stamp).unwrap();
    // A later change that is back-dated does not make it a backfill again.
    let in_a_year = "2027-01-01T00:00:00Z".parse().unwrap();
    let back_dated = Stamp::at(late(-1), in_a_year);
    registry.change(&name("D"), &change(["D"], []), &back_dated).unwrap();
    try_change(&Stamp::now(in_a_year)).unwrap();
}
