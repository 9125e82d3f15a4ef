//! An id that begins with a byte order mark or with `./` is rejected when it is ingested, since its own listing
//! would not reproduce it. An id recorded before that rule is still found, exported and deleted.

use accession::ErrorDetail;
use accession::{
    Change, ChangeOptions, Event, EventKind, GranuleId, Import, Limits, ListingBuilder,
    ListingEntry, Moment, Registry, Selection, SourceLocation, Timestamp,
};
use harness::values::{AtTime, clock};
use rusqlite::Connection;

use harness::history::{change, held, id, name, second};
use harness::oracle::{naive, naive_digest};
use harness::store::new_registry;

const REFUSED: [&str; 2] = ["\u{feff}x", "./x"];

fn entry(text: &str) -> ListingEntry {
    let location = SourceLocation::Line { source: "ids.txt".into(), line: 7 };
    ListingEntry {
        granule_id: id(text),
        producer_granule: None,
        content: None,
        location: Some(location),
    }
}

fn options() -> ChangeOptions {
    ChangeOptions::default()
}

#[test]
fn it_is_refused_by_everything_that_ingests_and_named_with_its_line() {
    for text in REFUSED {
        let registry = new_registry();
        registry.change(&name("D"), &change(["a", "b"], []).at(second(0))).unwrap();
        let mut ingest = Change::new();
        ingest.ingest(entry(text)).unwrap();
        let mut listing = ListingBuilder::new();
        listing.add(entry("a")).unwrap();
        listing.add(entry(text)).unwrap();
        let listing = listing.finish();
        let mut import = Import::new();
        let ListingEntry { granule_id, producer_granule, content, location } = entry(text);
        let kind = EventKind::Ingested;
        import
            .add(Event { at: second(5), kind, granule_id, producer_granule, content, location })
            .unwrap();
        let refusals = [
            registry.change(&name("D"), &ingest.at(second(5))).map(drop),
            registry.sync(&name("D"), &listing, &options().at(second(5))).map(drop),
            registry.import(&name("D"), &import).map(drop),
        ];
        for refused in refusals {
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind().as_str(), "input");
            let message = refused.to_string();
            assert!(message.starts_with("ids.txt:7: "), "{message}");
            assert!(message.contains("cannot begin with"), "{message}");
        }
        let latest = registry.snapshot().unwrap().dataset(&name("D")).unwrap().latest.unwrap();
        assert_eq!(latest.timestamp, second(0));
    }
}

/// A registry with ids recorded before the rule. In the first change, "a" stands for a byte order mark, and "b"
/// for `./`.
fn from_before(directory: &std::path::Path) -> Registry {
    let path = directory.join("accession.db");
    let registry = Registry::create(&path, clock()).unwrap();
    registry.change(&name("D"), &change(["ax", "bx", "c"], []).at(second(0))).unwrap();
    drop(registry);
    let connection = Connection::open(&path).unwrap();
    let rename = |from: &str, to: &str| {
        let sql = "UPDATE granule SET granule_id = ?2 WHERE granule_id = ?1";
        assert_eq!(connection.execute(sql, [from, to]).unwrap(), 1);
    };
    rename("ax", REFUSED[0]);
    rename("bx", REFUSED[1]);
    let identifier = naive(["./x", "c", "\u{feff}x"]);
    let digest = naive_digest(["./x", "c", "\u{feff}x"]);
    let sql = "UPDATE instance SET identifier = ?1, digest = ?2";
    connection.execute(sql, [identifier.as_bytes().as_slice(), digest.as_bytes()]).unwrap();
    harness::seal::seal_rows(&connection);
    drop(connection);
    Registry::open(&path, clock()).unwrap()
}

fn ids(registry: &Registry, at: Timestamp) -> Vec<String> {
    let at = Some(Moment::Instant(at));
    held(registry, &Selection::Dataset { name: name("D"), at }).1
}

#[test]
fn one_from_before_the_rule_resolves_is_exported_deleted_and_comes_back_by_a_revert() {
    let directory = harness::directory();
    let registry = from_before(directory.path());
    let before = ["./x", "c", "\u{feff}x"];
    assert_eq!(registry.verify(&name("D")).unwrap().mismatches, []);
    assert_eq!(ids(&registry, second(0)), before);
    let found = registry.snapshot().unwrap().find(&id("./x").into(), None, 10).unwrap();
    assert_eq!(found.len(), 1);
    let exported = registry.export(&name("D"), None).unwrap();
    let exported: String = exported.map(|it| format!("{:?}", it.unwrap())).collect();
    assert!(exported.contains("./x") && exported.contains("\\u{feff}x"), "{exported}");
    registry.back_up(&directory.path().join("copy.db")).unwrap();
    // A listing that still contains such an id leaves it unchanged.
    let mut listing = ListingBuilder::new();
    before.iter().for_each(|text| listing.add(entry(text)).unwrap());
    listing.add(id("new")).unwrap();
    let listing = listing.finish();
    registry.sync(&name("D"), &listing, &options().at(second(1))).unwrap();
    registry.change(&name("D"), &change([], REFUSED).at(second(2))).unwrap();
    assert_eq!(ids(&registry, second(2)), ["c", "new"]);
    let refused = registry.change(&name("D"), &change(["./x"], []).at(second(3))).unwrap_err();
    assert_eq!(refused.detail(), Some(ErrorDetail::CurrentDirectory), "{refused}");
    let to = Selection::Dataset { name: name("D"), at: Some(Moment::Instant(second(0))) };
    registry.revert(&name("D"), &to, &options().at(second(3))).unwrap();
    assert_eq!(ids(&registry, second(3)), before);
    let most = Limits::NONE;
    let mut listing = ListingBuilder::new();
    ["c", "x"].iter().for_each(|text| listing.add(id(text)).unwrap());
    let listing = listing.finish();
    registry.sync(&name("D"), &listing, &options().limits(most).at(second(4))).unwrap();
    assert_eq!(ids(&registry, second(4)), ["c", "x"]);
    assert_eq!(registry.verify(&name("D")).unwrap().mismatches, []);
}

#[test]
fn a_unique_id_is_not_made_from_such_an_id() {
    use accession::ids::granule::{HashLength, unique};
    for text in REFUSED {
        let producer: GranuleId = id(text);
        let made = unique(&producer, &"C___1".parse().unwrap(), HashLength::default(), None);
        assert!(made.unwrap_err().to_string().contains("cannot begin with"));
    }
}
