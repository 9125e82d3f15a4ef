//! A clock that is more than two years ahead of every recorded time stores no time.
//!
//! A single change stamped in the year 9999 once made a dataset unusable: no later change could follow it, and
//! mirrors rejected its log.

use accession::dataset::DatasetMetadata;
use accession::file::{Algorithm, Checksum};
use accession::history::NewAnnotation;
use accession::{
    Change, ChangeOptions, Clock, EventKind, Expected, Import, Limits, ListingBuilder, Moment,
    Registry, Selection, SubsetMembers, Timestamp,
};

use harness::events::event;
use harness::history::{change, id, instances, name, now, second, stating, with_file};
use harness::store::new_registry;
use harness::values::AtTime;

const DAY_SECONDS: i64 = 86_400;

/// The time this many days after the newest recorded time.
fn days_later(days: i64) -> Timestamp {
    second(days * DAY_SECONDS)
}

/// The registry, this many days later.
fn later(registry: &Registry, days: i64) -> Registry {
    registry.with_clock(Clock::fixed(days_later(days)))
}

/// A registry whose newest time was recorded at `second(0)`.
fn registry() -> Registry {
    let registry = later(&new_registry(), 0);
    registry.change(&name("D"), &change(["A", "B"], [])).unwrap();
    registry.change(&name("D"), &change(["C"], [])).unwrap();
    registry.add_dataset(&DatasetMetadata::named(name("EMPTY"))).unwrap();
    registry
}

fn set_title(dataset: &mut DatasetMetadata) {
    dataset.title = Some("Edited".to_owned());
}

type Write = (&'static str, fn(&Registry) -> accession::Result<()>);

/// Every operation that stores a time of the clock.
const WRITES: [Write; 10] = [
    ("change", |registry| registry.change(&name("D"), &change(["new"], [])).map(drop)),
    ("creation of a dataset by a change", |registry| {
        registry.change(&name("NEW"), &change(["new"], [])).map(drop)
    }),
    ("sync", |registry| {
        let mut listing = ListingBuilder::new();
        listing.add(id("new"))?;
        let listing = listing.finish();
        let options = ChangeOptions::new().limits(Limits::NONE);
        registry.sync(&name("D"), &listing, &options).map(drop)
    }),
    ("revert", |registry| {
        let to = Selection::Dataset { name: name("D"), at: Some(Moment::Instant(second(0))) };
        registry.revert(&name("D"), &to, &ChangeOptions::default()).map(drop)
    }),
    ("import", |registry| {
        let mut import = Import::new();
        import.add(event(second(9), EventKind::Ingested, "imported"))?;
        registry.import(&name("D"), &import).map(drop)
    }),
    ("dataset create", |registry| registry.add_dataset(&DatasetMetadata::named(name("ADDED")))),
    ("dataset edit", |registry| registry.edit_dataset(&name("EMPTY"), set_title).map(drop)),
    ("dataset rename", |registry| {
        registry.rename_dataset(&name("EMPTY"), &name("RENAMED")).map(drop)
    }),
    ("dataset withdraw", |registry| registry.withdraw_dataset(&name("D"), "replaced").map(drop)),
    ("dataset reinstate", |registry| {
        // The withdrawal is recorded at the same time as everything else.
        later(registry, 0).withdraw_dataset(&name("EMPTY"), "replaced")?;
        registry.reinstate_dataset(&name("EMPTY")).map(drop)
    }),
];

#[test]
fn whatever_would_store_the_time_is_refused_and_accepted_once_the_clock_is_confirmed() {
    for (what, write) in WRITES {
        let registry = registry();
        let now = "9999-10-12T00:00:00Z".parse().unwrap();
        let before = instances(&registry, &name("D"));
        let refused = write(&registry.with_clock(Clock::fixed(now))).unwrap_err();
        assert_eq!(refused.kind().as_str(), "clock-ahead", "{what}: {refused}");
        let (said, newest) = refused.to_string().rsplit_once(", ").map_or_else(
            || panic!("{what}: {refused}"),
            |(said, newest)| (said.to_owned(), newest.parse::<Timestamp>().unwrap()),
        );
        assert!(said.starts_with(&format!("the clock is at {now}, ")), "{what}: {refused}");
        assert!(newest < second(1), "{what}: {refused}");
        assert_eq!(instances(&registry, &name("D")), before, "{what}");
        assert!(!registry.snapshot().unwrap().has_dataset(&name("NEW")).unwrap(), "{what}");
        // The next command, with a correct clock, is not affected.
        let registry = self::registry();
        write(&later(&registry, 30)).unwrap_or_else(|e| panic!("{what}: {e}"));
        // If the clock is correct although nothing was recorded for so long, it can be confirmed.
        let registry = self::registry();
        let confirmed = Clock::fixed(days_later(5_000)).confirmed();
        write(&registry.with_clock(confirmed)).unwrap_or_else(|e| panic!("{what}: {e}"));
        // After the confirmed write, this time is plausible.
        later(&registry, 5_001)
            .change(&name("LATER"), &change(["A"], []))
            .unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

#[test]
fn a_change_with_a_time_of_its_own_is_accepted_only_with_the_set_that_the_refusal_names() {
    let registry = later(&registry(), 5_000);
    let mut change = change(["new"], []).at(second(5));
    let refused = registry.change(&name("D"), &change).unwrap_err();
    assert_eq!(refused.kind().as_str(), "clock-ahead");
    let expect = refused.expect().unwrap();
    change.options = change.options.expect(expect);
    let made = registry.change(&name("D"), &change).unwrap();
    assert_eq!(Expected::Identifier(made.in_force.unwrap().identifier), expect);
}

#[test]
fn two_years_are_accepted_and_a_day_more_is_not() {
    let edit = |days| later(&registry(), days).edit_dataset(&name("EMPTY"), set_title);
    edit(731).unwrap();
    assert_eq!(edit(732).unwrap_err().kind().as_str(), "clock-ahead");
}

#[test]
fn the_first_time_of_a_registry_is_accepted() {
    let registry = new_registry();
    later(&registry, 5_000).change(&name("D"), &change(["A"], [])).unwrap();
}

/// A dataset may be unchanged for years, if other datasets of its registry were changed.
#[test]
fn what_was_recorded_in_another_dataset_counts() {
    for (what, write) in WRITES {
        let registry = registry();
        let confirmed = Clock::fixed(days_later(2_000)).confirmed();
        let confirmed = registry.with_clock(confirmed);
        confirmed.change(&name("OTHER"), &change(["A"], []).at(second(1))).unwrap();
        write(&later(&registry, 2_001)).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}

#[test]
fn what_stores_nothing_is_not_refused() {
    let registry = registry();
    let mut change = Change::new();
    change.options = change.options.skip_existing(true);
    change.ingest(id("A")).unwrap();
    assert_eq!(later(&registry, 5_000).change(&name("D"), &change).unwrap().instance(), None);
    // A listing that changes nothing would be recorded as confirmed at this time.
    let mut listing = ListingBuilder::new();
    ["A", "B", "C"].iter().for_each(|it| listing.add(id(it)).unwrap());
    let listing = listing.finish();
    let options = ChangeOptions::default();
    let refused = later(&registry, 5_000).sync(&name("D"), &listing, &options).unwrap_err();
    assert_eq!(refused.kind().as_str(), "clock-ahead");
    // A dry run fails with the same error as the command.
    let mut change = Change::new();
    change.ingest(id("new")).unwrap();
    change.options = change.options.dry_run(true);
    let refused = later(&registry, 5_000).change(&name("D"), &change).unwrap_err();
    assert_eq!(refused.kind().as_str(), "clock-ahead");
}

#[test]
fn a_subset_is_not_saved_and_one_that_is_saved_can_be_cited() {
    let registry = registry();
    let wanted = SubsetMembers::Patterns(vec!["[AB]".parse().unwrap()]);
    let cite = |now| registry.with_clock(Clock::fixed(now)).cite_subset(&name("D"), None, &wanted);
    assert_eq!(cite(days_later(5_000)).unwrap_err().kind().as_str(), "clock-ahead");
    assert!(registry.snapshot().unwrap().subsets(&name("D")).unwrap().is_empty());
    let saved = cite(days_later(1)).unwrap();
    assert_eq!(cite(days_later(5_000)).unwrap().period.set, saved.period.set);
    // The clock of the tests is even further ahead.
    assert_eq!(cite(now()).unwrap().period.set, saved.period.set);
}

#[test]
fn a_registry_in_which_only_files_are_described_is_in_use() {
    let registry = registry();
    let add = |byte, days| {
        let checksum = Checksum::from_bytes(Algorithm::Md5, &[byte; 16]).unwrap();
        let stated = with_file("A", &byte.to_string(), None, Some(checksum));
        later(&registry, days).change(&name("D"), &stating([stated])).map(drop)
    };
    add(1, 700).unwrap();
    add(2, 1_400).unwrap();
    let selection = Selection::Dataset { name: name("D"), at: None };
    let note = NewAnnotation::new("looked at".to_owned()).unwrap();
    later(&registry, 2_100).annotate(&selection, &note).unwrap();
}
