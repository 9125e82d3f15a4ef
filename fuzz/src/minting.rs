//! The two id tools: an id that is decoded or split is the same when reassembled.

use accession::ids::granule::{CollectionId, Formula, HashLength, explain, split, unique};
use accession::ids::payment::{Layout, PaymentId, Scheme};
use accession::{GranuleId, Timestamp};

use super::text;

pub fn payment_id(bytes: &[u8]) {
    let Ok(id) = text(bytes).parse::<PaymentId>() else { return };
    assert_eq!(id.to_string().parse::<PaymentId>().unwrap(), id);
    let now: Timestamp = "9999-01-01T00:00:00Z".parse().unwrap();
    for layout in [Layout::Standard, Layout::Wide] {
        let scheme = Scheme { layout, ..Scheme::default() };
        let Ok(decoded) = scheme.decode(id, now) else { continue };
        let (second, worker) =
            (scheme.second_at(decoded.time).unwrap(), scheme.worker(decoded.worker).unwrap());
        assert_eq!(scheme.instant_of(second), Some(decoded.time));
        assert!(decoded.counter < layout.counters());
        assert_eq!(scheme.encode(second, worker, decoded.counter), id);
    }
}

/// The input is a granule id, a line end, and a collection id.
pub fn unique_granule_id(bytes: &[u8]) {
    let Some((producer, collection)) = text(bytes).split_once('\n') else { return };
    let Ok(producer) = producer.parse::<GranuleId>() else { return };
    if let Some((before, suffix)) = split(&producer) {
        assert_eq!(format!("{before}_{suffix}"), producer.as_str());
    }
    let Ok(collection) = collection.parse::<CollectionId>() else { return };
    for hash_length in HashLength::all() {
        let Ok(made) = unique(&producer, &collection, hash_length, None) else { continue };
        let (before, suffix) = split(&made).unwrap();
        assert_eq!((before, suffix.len()), (producer.as_str(), hash_length.get()));
        assert_eq!(explain(before, suffix, &collection), Some(Formula::C));
    }
}
