//! Listings that replace the set of a dataset: rejected and confirmed listings, and granules that came back.

use accession::dataset::DatasetMetadata;
use accession::dataset::SharedDoi;
use accession::{
    ChangeOptions, ChangeReport, Clock, DatasetFilter, ErrorKind, IfMissing, Limit, Limits,
    Listing, ListingBuilder, Moment, Registry, Selection, Timestamp, WarningKind,
};

use harness::history::{change, id, name, now, second};
use harness::oracle::naive;
use harness::store::new_registry;
use harness::values::{AtTime, clock, stating, with_file};

const DAY: i64 = 86_400;

fn builder(numbers: impl IntoIterator<Item = u32>) -> ListingBuilder {
    let mut builder = ListingBuilder::new();
    numbers.into_iter().for_each(|n| builder.add(id(&format!("G{n:04}"))).unwrap());
    builder
}

fn ids(numbers: impl IntoIterator<Item = u32>) -> Listing {
    builder(numbers).finish()
}

fn sync(
    registry: &Registry,
    listing: &Listing,
    limits: Limits,
    at: Option<Timestamp>,
) -> Result<ChangeReport, ErrorKind> {
    let registry = registry.recorded_by("somebody".parse().unwrap());
    let options = ChangeOptions::new().at(at).if_missing(IfMissing::Create).limits(limits);
    registry.sync(&name("D"), listing, &options).map_err(|error| error.kind())
}

/// The warning of a sync that granules came back, and the time at which they had been deleted.
fn came_back(report: &ChangeReport) -> Option<(String, Timestamp)> {
    let warnings = report.warnings(&name("D"), now());
    let warning = warnings.into_iter().find(|it| it.kind == WarningKind::CameBack)?;
    Some((warning.message, warning.timestamp?))
}

fn day(day: i64) -> Timestamp {
    second(day * DAY)
}

/// A dataset of 935 granules.
fn registry() -> Registry {
    let registry = new_registry();
    sync(&registry, &ids(0..935), Limits::default(), Some(day(0))).unwrap();
    registry
}

#[test]
fn granules_come_back_also_with_others_and_after_several_nights_but_not_after_a_month() {
    let (registry, limits) = (registry(), Limits::NONE);
    // The time is checked before the limits.
    let early = sync(&registry, &ids(0..9), Limits::default(), Some(day(0)));
    assert_eq!(early, Err(ErrorKind::NotAfterLast));
    let sync_at = |numbers: &mut dyn Iterator<Item = u32>, night: i64| {
        came_back(&sync(&registry, &ids(numbers), limits, Some(day(night))).unwrap())
    };
    // The last 46 are missing for two nights. Then 40 of them are back, after 30 new granules.
    assert_eq!(sync_at(&mut (0..889), 1), None);
    assert_eq!(sync_at(&mut (1..889), 2), None);
    let expected = |granules: &str, of: i64, are: &str| {
        Some((format!("{granules} deleted at {} {are} back", day(of)), day(of)))
    };
    let back = sync_at(&mut (1..929).chain(9_000..9_030), 3);
    assert_eq!(back, expected("40 granules that were", 1, "are"));
    // If there were several deletions, the warning names the largest.
    let back = sync_at(&mut (0..935).chain(9_000..9_030), 4);
    assert_eq!(back, expected("6 granules that were", 1, "are"));
    assert_eq!(sync_at(&mut (0..934), 5), None);
    assert_eq!(sync_at(&mut (0..935), 5 + 31), None);
    assert_eq!(sync_at(&mut (0..934), 5 + 32), None);
    let (message, at) = sync_at(&mut (0..935), 5 + 32 + 30).unwrap();
    let again = format!("is back, and the set is again that of {}, DI:", day(5 + 31));
    assert!(
        message.starts_with("1 granule that was deleted") && message.contains(&again),
        "{message}"
    );
    assert_eq!(at, day(5 + 32));
}

#[test]
fn the_limits_of_an_option_come_before_those_of_the_dataset() {
    let registry = registry();
    let own = |max_delete: &str, max_add: &str| {
        let edit = |_: &mut DatasetMetadata, limits: &mut Limits| {
            limits.max_delete = max_delete.parse().ok();
            limits.max_add = max_add.parse().ok();
        };
        registry.edit_dataset_with(&name("D"), SharedDoi::Refused, edit).unwrap();
    };
    let typed = |max_delete: &str, max_add: &str| Limits {
        max_delete: max_delete.parse().ok(),
        max_add: max_add.parse().ok(),
        max_replace: None,
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
    let options = ChangeOptions::new().dry_run(true).at(day(1));
    for (listing, [max_delete, max_add], [delete, add], refused) in cases {
        own(max_delete, max_add);
        let synced =
            registry.sync(&name("D"), listing, &options.clone().limits(typed(delete, add)));
        let kind = synced.err().map(|error| error.kind());
        assert_eq!(kind, refused, "{max_delete} {max_add} {delete} {add}");
    }
    let limits = registry.snapshot().unwrap().dataset(&name("D")).unwrap().limits;
    assert_eq!(limits, Some(Limits { max_delete: Some(Limit::Granules(0)), ..Limits::default() }));
    // The limits are not public.
    let public =
        registry.public_view(DatasetFilter::All).snapshot().unwrap().dataset(&name("D")).unwrap();
    assert_eq!(public.limits, None);
    let public = serde_json::to_value(&public).unwrap();
    assert!(public.get("max_delete").is_none() && public.get("name").is_some());
    let directory = harness::directory();
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy).unwrap();
    let copy = Registry::open(&copy, clock()).unwrap();
    assert_eq!(copy.snapshot().unwrap().dataset(&name("D")).unwrap().limits, limits);
}

#[test]
fn a_listing_that_changes_nothing_is_confirmed_and_can_be_retried() {
    let registry = registry();
    let confirmed = || registry.snapshot().unwrap().dataset(&name("D")).unwrap().confirmed;
    let of_first = confirmed().unwrap();
    assert_eq!((of_first.recorded, of_first.granules), (day(0), 935));
    let listing = ids(0..935);
    let options = ChangeOptions::new().dry_run(true).at(day(1));
    registry.sync(&name("D"), &listing, &options).unwrap();
    assert_eq!(confirmed().as_ref(), Some(&of_first));
    // The time of the latest change is a retry; an earlier time is not.
    assert_eq!(
        sync(&registry, &listing, Limits::default(), Some(day(-1))),
        Err(ErrorKind::NotAfterLast)
    );
    assert_eq!(confirmed(), Some(of_first));
    for night in [0, 1] {
        let applied = sync(&registry, &listing, Limits::default(), Some(day(night))).unwrap();
        assert_eq!(applied.instance(), None);
        let confirmed = confirmed().unwrap();
        assert_eq!((confirmed.recorded, confirmed.granules), (day(night), 935));
        assert_eq!(confirmed.recorded_by.as_deref(), Some("somebody"));
    }
    // An implausible time is not recorded.
    let later: Timestamp = "2029-01-01T00:00:00Z".parse().unwrap();
    confirmed_clock(&registry).change(&name("D"), &change(["NOW"], [])).unwrap();
    let mut with_now = builder(0..935);
    with_now.add(id("NOW")).unwrap();
    let with_now = with_now.finish();
    let registry_later = registry.with_clock(Clock::fixed(later));
    let refused = sync(&registry_later, &with_now, Limits::default(), None);
    assert_eq!(refused, Err(ErrorKind::ClockAhead));
    assert_eq!(confirmed().unwrap().recorded, day(1));
}

fn confirmed_clock(registry: &Registry) -> Registry {
    registry.with_clock(clock().confirmed())
}

#[test]
fn a_change_is_back_dated_if_it_is_late_in_a_dataset_that_is_recorded_promptly() {
    let registry = new_registry();
    registry.add_dataset(&DatasetMetadata::named(name("D"))).unwrap();
    let before = |micros: i64| Timestamp::from_micros(now().as_micros() - micros).unwrap();
    const HOUR: i64 = 3_600 * 1_000_000;
    let is_back_dated = |registry: &Registry, id: &str, at: Timestamp| {
        let changed = registry.change(&name("D"), &change([id], []).at(at)).unwrap();
        let warnings = changed.warnings(&name("D"), registry.now());
        let warned = warnings.iter().any(|it| it.kind == WarningKind::BackDated);
        assert_eq!(warned, changed.is_back_dated);
        warned
    };
    // A history that is recorded afterwards, with every change late.
    assert!(!is_back_dated(&registry, "A", day(0)));
    assert!(!is_back_dated(&registry, "B", day(1)));
    // A delay of more than an hour is not prompt.
    assert!(!is_back_dated(&registry, "C", before(HOUR + 1)));
    let later = |hours: i64| registry.with_clock(Clock::fixed(before(-hours * HOUR)));
    assert!(!is_back_dated(&later(100), "D", before(0)));
    // Since this change, the dataset has been recorded as it changes.
    assert!(!is_back_dated(&later(100), "E", before(-100 * HOUR + HOUR)));
    // A delay of 48 hours is common. One microsecond more is back-dated.
    assert!(!is_back_dated(&later(148), "F", before(-100 * HOUR)));
    assert!(is_back_dated(&later(149), "G", before(-101 * HOUR + 1)));
    // A change that only describes files keeps the identifier.
    let described = stating([with_file("A", "A", Some(5), None)]).at(before(-102 * HOUR));
    let described = later(200).change(&name("D"), &described).unwrap();
    assert!(described.is_back_dated);
    assert_eq!(described.warnings(&name("D"), later(200).now()), []);
}

/// The nights of the catalogue in the fixture, each with its listing.
fn listings() -> Vec<(String, Vec<String>)> {
    let read = |name: &str| {
        let path = format!("{}/fixtures/nightly/{name}", env!("CARGO_MANIFEST_DIR"));
        let rows = std::fs::read_to_string(path).unwrap();
        let cells = |row: &str| row.split('\t').map(str::to_owned).collect::<Vec<String>>();
        rows.lines().skip(1).map(cells).collect::<Vec<_>>()
    };
    let (catalogue, outages) = (read("catalogue-2025-spring.tsv"), read("outages-2025-spring.tsv"));
    let days = [(2, 25..=28), (3, 1..=31), (4, 1..=5), (4, 8..=29)];
    let nights = days
        .into_iter()
        .flat_map(|(month, days)| days.map(move |day| format!("2025-{month:02}-{day:02}")));
    nights
        .map(|night| {
            let is_lost = |id: &str| {
                outages.iter().any(|outage| outage[0] == night && id.starts_with(&outage[1]))
            };
            let is_listed = |row: &&Vec<String>| {
                row[1] <= night && (row[2].is_empty() || night < row[2]) && !is_lost(&row[0])
            };
            let listed = catalogue.iter().filter(is_listed).map(|row| row[0].clone()).collect();
            (night, listed)
        })
        .collect()
}

#[test]
fn of_sixty_two_nights_four_are_refused_and_the_others_have_the_identifiers_of_their_listings() {
    let (registry, nights) = (new_registry(), listings());
    assert_eq!(nights.len(), 62);
    let (mut refused, mut returned) = (Vec::new(), Vec::new());
    for (night, listed) in &nights {
        let mut listing = ListingBuilder::new();
        listed.iter().for_each(|granule_id| listing.add(id(granule_id)).unwrap());
        let listing = listing.finish();
        let at = Some(night.parse::<accession::Moment>().unwrap().of_change());
        let synced = match sync(&registry, &listing, Limits::default(), at) {
            Err(kind) => {
                assert_eq!(kind, ErrorKind::TooManyDeletions);
                refused.push(night.as_str());
                // The only one of these deletions that was right is the retirement of a collection.
                if night != "2025-04-15" {
                    continue;
                }
                let accepted = Limits { max_delete: "25".parse().ok(), ..Limits::default() };
                sync(&registry, &listing, accepted, at).unwrap()
            }
            Ok(synced) => synced,
        };
        returned.extend(came_back(&synced).map(|(message, _)| (night.as_str(), message)));
        let identifier = naive(listed.iter().map(String::as_str));
        assert_eq!(synced.in_force.unwrap().identifier, identifier, "{night}");
    }
    assert_eq!(refused, ["2025-03-28", "2025-04-01", "2025-04-05", "2025-04-15"]);
    let [(night, message)] = &returned[..] else { panic!("{returned:?}") };
    assert!(*night == "2025-04-21" && message.starts_with("12 granules that were"), "{message}");
}

#[test]
fn a_citation_of_now_warns_if_no_listing_confirmed_the_set_for_a_month() {
    let registry = registry();
    let warns = |dataset: &str, at: Timestamp| {
        let at = Some(Moment::Day(at.day()));
        let selection = Selection::Dataset { name: name(dataset), at };
        let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
        let warnings = cited.warnings(at, now());
        warnings.iter().any(|it| it.kind == WarningKind::NotConfirmed)
    };
    // The last day ends 31 days after the listing.
    assert_eq!([30, 31].map(|days| warns("D", day(days))), [false, true]);
    assert!(warns("D", now()));
    // The next listing changes nothing.
    sync(&registry, &ids(0..935), Limits::default(), Some(day(40))).unwrap();
    assert_eq!([70, 71].map(|days| warns("D", day(days))), [false, true]);
    // The set was certainly in force at that time, and is not any more.
    sync(&registry, &ids(0..936), Limits::default(), Some(day(90))).unwrap();
    assert!(!warns("D", day(71)));
    // A dataset without recorded listings counts as complete.
    registry.change(&name("OTHER"), &change(["A"], []).at(day(0))).unwrap();
    assert!(!warns("OTHER", now()));
}
