//! The comparison of several sides, checked against a naive comparison.

use std::collections::{BTreeMap, BTreeSet};

use accession::FileRecord;
use accession::file::{Checksum, Content};
use accession::history::{Presence, SideBySide};
use accession::{GranuleId, ListingBuilder, ListingEntry, Watcher};
use proptest::prelude::*;

/// A side: for some of the ids, the algorithm and a digit of the checksum, or no checksum.
type Side = BTreeMap<u8, Option<(bool, u8)>>;

fn entry(id: u8, digit: Option<(bool, u8)>) -> ListingEntry {
    let granule_id: GranuleId = format!("granule-{id}").parse().unwrap();
    let content = digit.map(|(is_md5, digit)| {
        let (algorithm, digits) = if is_md5 { ("md5", 32) } else { ("sha-256", 64) };
        let digits = digit.to_string().repeat(digits);
        let checksum = Checksum::parse(algorithm.parse().unwrap(), &digits);
        let file = FileRecord::new(&granule_id, None, None, Some(checksum.unwrap())).unwrap();
        Content::of(&granule_id, vec![file]).unwrap()
    });
    ListingEntry { content, ..ListingEntry::from(granule_id) }
}

proptest! {
    #[test]
    fn a_granule_is_listed_unless_it_is_the_same_on_all_sides(
        sides in prop::collection::vec(
            prop::collection::btree_map(0_u8..6, prop::option::of((any::<bool>(), 0_u8..3)), 0..6), 2..5),
    ) {
        let mut compared = SideBySide::new(Watcher::new());
        for side in &sides {
            let mut listing = ListingBuilder::new();
            // Not in canonical order, and with one id twice.
            for (id, digit) in side.iter().rev().chain(side.iter().take(1)) {
                listing.add(entry(*id, *digit)).unwrap();
            }
            let listing = listing.finish();
            compared.add_list(&listing).unwrap();
        }
        let found = compared.by_ref().map(Result::unwrap);
        let found: Vec<_> = found.map(|(granule_id, sides)| (granule_id.to_string(), sides)).collect();
        let ids: BTreeSet<u8> = sides.iter().flat_map(BTreeMap::keys).copied().collect();
        let rows: Vec<_> = ids.into_iter().map(|id| (format!("granule-{id}"), naive(&sides, id))).collect();
        let (same, uneven): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|(_, row)| row.iter().all(|it| *it == Presence::Same));
        prop_assert_eq!(found, uneven);
        prop_assert_eq!(compared.same(), same.len() as u64);
        let granules: Vec<u64> = sides.iter().map(|side| side.len() as u64).collect();
        prop_assert_eq!(compared.granules(), granules);
    }
}

#[test]
fn a_list_outlives_its_clones_and_is_read_by_several_at_once() {
    let listing_of = |ids: &[u8]| {
        let mut builder = ListingBuilder::new();
        ids.iter().for_each(|id| builder.add(entry(*id, None)).unwrap());
        builder.finish()
    };
    let (short, listing) = (listing_of(&[1, 3]), listing_of(&[1, 2, 3]));
    let mut sides = SideBySide::new(Watcher::new());
    sides.add_list(&short).unwrap();
    let mut files = short.clone().files().unwrap();
    assert_eq!(files.next().unwrap().unwrap().granule_id.as_str(), "granule-1");
    drop(short);
    assert_eq!(files.next().unwrap().unwrap().granule_id.as_str(), "granule-3");
    assert!(files.next().is_none());
    sides.add_list(&listing).unwrap();
    let uneven: Vec<_> = sides.map(|uneven| uneven.unwrap().0.to_string()).collect();
    assert_eq!(uneven, ["granule-2"]);
    assert_eq!(listing.identify().unwrap().granules, 3);
}

/// A side has different content if its digit differs from the first digit of the same algorithm on the sides
/// before it.
fn naive(sides: &[Side], id: u8) -> Vec<Presence> {
    let mut known = BTreeMap::new();
    let presence = |side: &Side| match side.get(&id) {
        None => Presence::Absent,
        Some(None) => Presence::Same,
        Some(Some((is_md5, digit))) if known.entry(*is_md5).or_insert(*digit) == digit => {
            Presence::Same
        }
        Some(Some(_)) => Presence::OtherBytes,
    };
    sides.iter().map(presence).collect()
}
