//! The records of granules' files: how they are added, rejected, listed, copied, reverted and verified.

use harness::values::{AtTime, clock};
use std::sync::Arc;

use accession::dataset::SharedDoi;
use accession::file::{Algorithm, Checksum, Content, FilePath};
use accession::{
    Change, ChangeOptions, ChangeReport, ErrorKind, EventKind, Expected, IfMissing, Import, Limit,
    Limits, ListingBuilder, ListingEntry, Moment, Registry, Selection, Set, SourceLocation,
};
use accession::{Digest, FileRecord};

use harness::events::event;
use harness::history::{change, id, name, second, step};
use harness::store::{new_registry, new_registry_in};

/// A file of a granule: its path, its size, and a checksum whose bytes are all the same.
type Stated<'a> = (&'a str, Option<u64>, Option<(Algorithm, u8)>);

/// A granule with records of its files.
fn entry(granule: &str, files: &[Stated<'_>]) -> ListingEntry {
    let granule_id = id(granule);
    let files = files.iter().map(|(path, size, sum)| {
        let checksum = sum.as_ref().map(|(algorithm, byte)| {
            let bytes = vec![*byte; algorithm.checksum_bytes().unwrap()];
            Checksum::from_bytes(algorithm.clone(), &bytes).unwrap()
        });
        FileRecord::new(&granule_id, Some(FilePath::new(*path).unwrap()), *size, checksum).unwrap()
    });
    let content = Content::of(&granule_id, files.collect()).unwrap();
    ListingEntry { content: Some(content), ..granule_id.into() }
}

/// A granule of one file with this SHA-256.
fn sha256(granule: &str, byte: u8) -> ListingEntry {
    entry(granule, &[(granule, None, Some((Algorithm::Sha256, byte)))])
}

fn accepting(granules: u64) -> ChangeOptions {
    let max_replace = Some(Limit::Granules(granules));
    ChangeOptions::new().limits(Limits { max_replace, ..Limits::NONE })
}

/// Adds records of some files, and leaves the other records unchanged.
fn add(
    registry: &Registry,
    at: i64,
    entries: impl IntoIterator<Item = ListingEntry>,
    options: ChangeOptions,
) -> accession::Result<ChangeReport> {
    let mut change = Change::of_some_files();
    change.options = options;
    entries.into_iter().for_each(|entry| change.describe(entry).unwrap());
    registry.change(&name("D"), &change.at(second(at)))
}

/// Synchronises the dataset with a listing.
fn sync(
    registry: &Registry,
    at: i64,
    entries: impl IntoIterator<Item = ListingEntry>,
    options: &ChangeOptions,
) -> accession::Result<ChangeReport> {
    let mut listing = ListingBuilder::new();
    entries.into_iter().for_each(|entry| listing.add(entry).unwrap());
    let listing = listing.finish();
    registry.sync(&name("D"), &listing, &options.clone().at(second(at)))
}

/// A registry whose dataset D holds A, B and C.
fn with_granules(registry: Registry) -> Registry {
    step(&registry, "D", 1, ["A", "B", "C"], []);
    registry
}

fn set_at(registry: &Registry, at: Option<i64>) -> Set {
    set_of(registry, "D", at)
}

fn set_of(registry: &Registry, dataset: &str, at: Option<i64>) -> Set {
    let at = at.map(|at| Moment::Instant(second(at)));
    let selection = Selection::Dataset { name: name(dataset), at };
    registry.snapshot().unwrap().select(&selection).unwrap().set
}

/// The files of a set, one a line. The digest is that of the lines of the canonical list.
fn listed(registry: &Registry, at: Option<i64>) -> Vec<String> {
    let set = set_at(registry, at);
    let files = registry.files(&set);
    let (mut lines, mut list) = (Vec::new(), Vec::new());
    for granule in files {
        let granule = granule.unwrap();
        granule.content.write_line(granule.granule_id.as_str(), &mut list);
        for file in granule.content.files() {
            let sums = file.checksums().iter().map(|it| format!("{it:?}")[..10].to_owned());
            let sums: Vec<String> = sums.collect();
            let size = file.size().map_or("?".to_owned(), |size| size.to_string());
            let path = file.path(&granule.granule_id);
            lines.push(format!("{} {path} {size} {}", granule.granule_id, sums.join(",")));
        }
    }
    assert_eq!(set.digest(), digest_of(&list));
    lines
}

fn digest_of(list: &[u8]) -> Digest {
    use sha2::{Digest as _, Sha256};
    Digest::from_bytes(Sha256::digest(list).into())
}

/// The number of granules that a change ingested, deleted, described and replaced.
fn sides(applied: &ChangeReport) -> [u64; 4] {
    let instance = applied.instance().expect("something changed");
    [instance.ingested, instance.deleted, instance.described, instance.replaced]
}

fn assert_verifies(registry: &Registry) {
    assert_eq!(registry.verify(&name("D")).unwrap().mismatches, []);
}

#[test]
fn other_bytes_are_refused_unless_a_limit_accepts_them_and_both_are_kept() {
    let registry = with_granules(new_registry());
    let known = [entry("A", &[("A", Some(7), Some((Algorithm::Sha256, 1)))]), sha256("B", 2)];
    add(&registry, 2, known, ChangeOptions::default()).unwrap();
    add(&registry, 3, [entry("A", &[("A", None, Some((Algorithm::Md5, 5)))])], accepting(0))
        .unwrap();
    for other in [
        sha256("A", 9),
        entry("A", &[("A", Some(8), None)]),
        // The size is compared, whatever the algorithm.
        entry("A", &[("A", Some(8), Some((Algorithm::Sha1, 1)))]),
    ] {
        for options in [ChangeOptions::default(), accepting(0)] {
            let error = add(&registry, 4, [sha256("C", 3), other.clone()], options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ContentContradicts);
            assert_eq!(error.granule(), Some(&id("A")));
        }
    }
    assert_eq!(listed(&registry, None), ["A A 7 sha-256:01,md5:050505", "B B ? sha-256:02"]);
    // The new record replaces the earlier one, which is still returned for the time before the change.
    let rehearsed = accepting(1).dry_run(true);
    for options in [rehearsed, accepting(1)] {
        let applied = add(&registry, 4, [sha256("A", 9), sha256("B", 2)], options).unwrap();
        assert_eq!(sides(&applied), [0, 0, 0, 1]);
    }
    assert_eq!(listed(&registry, None), ["A A ? sha-256:09", "B B ? sha-256:02"]);
    assert_eq!(listed(&registry, Some(3)), ["A A 7 sha-256:01,md5:050505", "B B ? sha-256:02"]);
    // Restoring the earlier checksum must be accepted as well.
    assert!(add(&registry, 5, [sha256("A", 1)], ChangeOptions::default()).is_err());
    assert_verifies(&registry);
}

#[test]
fn a_limit_of_the_dataset_accepts_replacements_and_so_does_the_set_that_a_refusal_names() {
    let registry = with_granules(new_registry());
    add(&registry, 2, [sha256("A", 1)], ChangeOptions::default()).unwrap();
    let refused = add(&registry, 3, [sha256("A", 2)], ChangeOptions::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ContentContradicts);
    // An identifier does not distinguish contents, so the error names a digest.
    let expecting = ChangeOptions::new().expect(refused.expect());
    assert!(matches!(refused.expect(), Some(Expected::Digest(_))));
    let rehearsed = add(&registry, 3, [sha256("A", 2)], expecting.clone().dry_run(true)).unwrap();
    assert_eq!(Some(rehearsed.expect()), refused.expect());
    let other = add(&registry, 3, [sha256("A", 3)], expecting).unwrap_err();
    assert_eq!(other.kind(), ErrorKind::NotAsExpected);
    registry
        .edit_dataset_with(&name("D"), SharedDoi::Refused, |_, limits| {
            limits.max_replace = Some(Limit::Percent(34));
        })
        .unwrap();
    let applied = add(&registry, 3, [sha256("A", 2)], ChangeOptions::default()).unwrap();
    assert_eq!(sides(&applied), [0, 0, 0, 1]);
}

#[test]
fn a_refusal_names_three_granules_and_asks_whether_it_is_another_algorithm() {
    let registry = new_registry();
    let ids: Vec<String> = (0..25).map(|n| format!("G{n:02}")).collect();
    let mut granules = Change::new();
    granules.options = granules.options.if_missing(IfMissing::Create);
    ids.iter().for_each(|granule| granules.ingest(sha256(granule, 1)).unwrap());
    registry.change(&name("D"), &granules.at(second(1))).unwrap();
    let others = |number: usize| ids[..number].iter().map(|granule| sha256(granule, 2));
    let error = add(&registry, 2, others(25), ChangeOptions::default()).unwrap_err().to_string();
    let parts: Vec<&str> = error.split("; ").collect();
    let [one, two] = [1, 2].map(|byte| format!("sha-256 {}", format!("{byte:02x}").repeat(32)));
    assert!(parts[0].ends_with(&format!(": \"G00\" has {two}, but {one} is known")), "{error}");
    let end = ["and 22 more", "everything that is held contradicts: is it another algorithm?"];
    assert_eq!(parts[3..], end, "{error}");
    let some = || others(5).chain(ids[5..].iter().map(|granule| sha256(granule, 1)));
    let error = add(&registry, 2, some(), ChangeOptions::default()).unwrap_err().to_string();
    assert!(!error.contains("algorithm?"), "{error}");
    // Granules that the listing leaves unchanged count as agreeing.
    let mut listing = ListingBuilder::new();
    some().for_each(|entry| listing.add(entry).unwrap());
    let listing = listing.finish();
    let options = ChangeOptions::default();
    let error = registry.sync(&name("D"), &listing, &options.clone().at(second(2))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentContradicts);
    assert!(!error.to_string().contains("algorithm?"), "{error}");
}

#[test]
fn one_input_that_contradicts_itself_is_never_accepted() {
    let registry = with_granules(new_registry());
    let line = |number| SourceLocation::Line { source: Arc::from("sums.txt"), line: number };
    let at = |entry: ListingEntry, number| ListingEntry { location: Some(line(number)), ..entry };
    for options in [ChangeOptions::default(), accepting(10)] {
        let browse = (2..20_000).map(|number| {
            let path = format!("browse/{number:05}.png");
            at(entry("A", &[(path.as_str(), Some(number), None)]), number)
        });
        let all = [at(sha256("A", 1), 1)].into_iter().chain(browse);
        let all = all.chain([at(sha256("A", 2), 20_000)]);
        let error = add(&registry, 2, all, options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input);
        assert!(error.to_string().contains("is listed twice, with sha-256 0101"), "{error}");
    }
    assert!(listed(&registry, None).is_empty());
}

#[test]
fn a_sync_describes_and_is_refused_by_other_bytes_and_by_files_that_are_gone() {
    let registry = with_granules(new_registry());
    let of = |byte: u8| ["A", "B", "C"].map(|granule| sha256(granule, byte));
    let options = ChangeOptions::default();
    assert_eq!(sides(&sync(&registry, 2, of(1), &options).unwrap()), [0, 0, 3, 0]);
    assert_eq!(sync(&registry, 3, of(1), &options).unwrap().instance(), None);
    let names = ["A", "B", "C"].map(|granule| id(granule).into());
    assert_eq!(sync(&registry, 3, names, &options).unwrap().instance(), None, "names keep content");
    let error = sync(&registry, 3, of(2), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContentContradicts);
    let both = entry("A", &[("A", None, Some((Algorithm::Sha256, 1))), ("meta", Some(1), None)]);
    let with_meta = [both, sha256("B", 1), sha256("C", 1)];
    assert_eq!(sides(&sync(&registry, 3, with_meta, &options).unwrap()), [0, 0, 1, 0]);
    let error = sync(&registry, 4, of(1), &options).unwrap_err().to_string();
    assert!(error.contains("\"meta\" of \"A\" is no longer listed"), "{error}");
    let two = [sha256("A", 1), sha256("B", 2), sha256("C", 1), sha256("D", 1)];
    assert_eq!(sides(&sync(&registry, 4, two, &accepting(2)).unwrap()), [1, 0, 0, 2]);
    assert_verifies(&registry);
}

#[test]
fn a_revert_to_a_digest_is_that_of_the_dataset_although_another_has_had_it_since() {
    let registry = with_granules(new_registry());
    add(&registry, 2, [sha256("B", 2)], ChangeOptions::default()).unwrap();
    let then = set_at(&registry, None);
    add(&registry, 3, [sha256("A", 1)], ChangeOptions::default()).unwrap();
    let mut copy = change(["A", "C"], []);
    copy.ingest(sha256("B", 2)).unwrap();
    registry.change(&name("E"), &copy.at(second(8))).unwrap();
    let revert = |digest: Digest, characters: usize, seconds: i64| {
        let to = Selection::Digest(digest.to_string()[..characters].parse().unwrap());
        registry.revert(&name("D"), &to, &ChangeOptions::default().at(second(seconds)))
    };
    let applied = revert(then.digest(), 20, 9).unwrap();
    assert_eq!(applied.in_force.unwrap().digest, then.digest());
    registry.change(&name("E"), &change(["Z"], []).at(second(10))).unwrap();
    let never = revert(set_of(&registry, "E", None).digest(), 71, 11).unwrap_err();
    assert_eq!(never.kind(), ErrorKind::IdentifierUnknown);
    assert_verifies(&registry);
}

#[test]
fn an_import_counts_content_from_the_row_on() {
    let registry = new_registry();
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    let mut add = |granule: &str, at: i64, kind: EventKind, byte: Option<u8>| {
        import
            .add(accession::Event {
                content: byte.and_then(|byte| sha256(granule, byte).content),
                ..event(second(at), kind, granule)
            })
            .unwrap();
    };
    add("A", 1, EventKind::Ingested, Some(1));
    add("B", 1, EventKind::Ingested, None);
    // If a row begins when the previous one ends, the granule stays held.
    add("A", 2, EventKind::Deleted, None);
    add("A", 2, EventKind::Ingested, Some(2));
    add("A", 3, EventKind::Deleted, None);
    add("A", 3, EventKind::Ingested, Some(2));
    add("B", 3, EventKind::Deleted, None);
    add("B", 3, EventKind::Ingested, None);
    add("C", 4, EventKind::Ingested, None);
    let imported = registry.import(&name("D"), &import).unwrap();
    let sides = |it: &accession::Instance| [it.ingested, it.deleted, it.described, it.replaced];
    let found: Vec<[u64; 4]> = imported.instances.iter().map(sides).collect();
    assert_eq!(found, [[2, 0, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]);
    assert_eq!(listed(&registry, Some(1)), ["A A ? sha-256:01"]);
    assert_eq!(listed(&registry, None), ["A A ? sha-256:02"]);
    assert!(registry.import(&name("D"), &import).unwrap().instances.is_empty());
    assert_verifies(&registry);
}

#[test]
fn many_files_in_any_order_are_listed_in_order_and_copied() {
    let directory = harness::directory();
    let (_, registry) = new_registry_in(directory.path());
    let ids: Vec<String> = (0..20_000).map(|n| format!("granule.{n:06}")).collect();
    let mut granules = Change::new();
    granules.options = granules.options.if_missing(IfMissing::Create);
    for (n, granule) in ids.iter().enumerate().rev() {
        let whole = (granule.as_str(), None, Some((Algorithm::Sha256, n as u8)));
        let browse = ("z/browse.png", Some(n as u64), None);
        granules.ingest(entry(granule, &[whole, browse])).unwrap();
    }
    registry.change(&name("D"), &granules.at(second(1))).unwrap();
    // A rewind from the middle, with the records of all granules after it.
    add(&registry, 2, [sha256(&ids[9_000], 7)], accepting(1)).unwrap();
    // A granule with nearly the maximum number of files, each of which is a row of a table.
    let paths: Vec<String> = (0..50_000).map(|n| format!("f/{n:05}")).collect();
    let ingest = |paths: &[String]| {
        let mut large = Change::new();
        for path in paths {
            let file = (path.as_str(), None, Some((Algorithm::Sha256, 3)));
            large.ingest(entry("large", &[file])).unwrap();
        }
        registry.change(&name("D"), &large.at(second(3)))
    };
    let error = ingest(&paths).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong);
    assert!(error.to_string().contains("the files of \"large\""), "{error}");
    ingest(&paths[..48_000]).unwrap();
    let expected = listed(&registry, None);
    assert_eq!(expected.len(), 88_000);
    assert!(expected.is_sorted());
    assert_verifies(&registry);
    let copy = directory.path().join("copy.db");
    registry.copy_to(&copy).unwrap();
    let copy = Registry::open(&copy, clock()).unwrap();
    assert_eq!(listed(&copy, None), expected);
    add(&copy, 4, [entry(&ids[0], &[("new", Some(1), None)])], accepting(0)).unwrap();
    assert_verifies(&copy);
}
