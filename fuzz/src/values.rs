//! Values of the domain: a value that is written and read again is the same.

use accession::Doi;
use accession::dataset::Licence;
use accession::text::quoted;
use accession::{DatasetName, GranuleId, Identifier, Moment, Timestamp};

use super::text;

pub fn identifier(bytes: &[u8]) {
    let Ok(identifier) = text(bytes).parse::<Identifier>() else { return };
    let written = identifier.to_string();
    assert_eq!(written.len(), 32);
    assert_eq!(written.parse(), Ok(identifier));
    assert_eq!(format!("DI:{written}").parse(), Ok(identifier));
    assert!(written.parse::<DatasetName>().is_err(), "it would be read as either");
}

pub fn timestamp(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        assert_eq!(timestamp.to_string().parse(), Ok(timestamp));
        assert_eq!(Timestamp::from_micros(timestamp.as_micros()), Some(timestamp));
        assert_eq!(text.parse(), Ok(Moment::Instant(timestamp)));
    }
    if let Ok(moment) = text.parse::<Moment>() {
        assert!(moment.first_instant() <= moment.last_instant());
        assert_eq!(moment.of_change(), moment.first_instant());
        assert_eq!(moment.to_string().parse(), Ok(moment));
    }
}

pub fn granule_id(bytes: &[u8]) {
    // A message contains no line end, and no character that controls a terminal.
    let lossy = String::from_utf8_lossy(bytes);
    assert!(!quoted(&lossy).to_string().contains(char::is_control));
    let Ok(granule_id) = GranuleId::from_bytes(bytes) else { return };
    assert_eq!(granule_id.as_str().as_bytes(), bytes, "it is kept unchanged");
    assert_eq!(granule_id.to_string().parse(), Ok(granule_id.clone()));
    assert!((1..=GranuleId::MAX_BYTES).contains(&bytes.len()));
    assert!(!granule_id.as_str().contains(char::is_control));
}

pub fn dataset_name(bytes: &[u8]) {
    let Ok(name) = text(bytes).parse::<DatasetName>() else { return };
    assert_eq!(name.as_str().as_bytes(), bytes);
    assert_eq!(name.to_string().parse(), Ok(name.clone()));
    assert!(name.as_str().parse::<Identifier>().is_err(), "it would be read as either");
    assert!(name.as_str().is_ascii() && !name.as_str().contains(['@', '/']));
    assert!(!name.as_str().contains("..") && !name.as_str().starts_with(['.', '-']));
}

pub fn doi(bytes: &[u8]) {
    let Ok(doi) = text(bytes).parse::<Doi>() else { return };
    assert!(doi.as_str().starts_with("10."));
    assert_eq!(doi.to_string().parse(), Ok(doi.clone()));
    assert_eq!(doi.as_str().trim(), doi.as_str());
    assert!(!doi.as_str().contains(char::is_control));
}

pub fn licence(bytes: &[u8]) {
    let Ok(licence) = text(bytes).parse::<Licence>() else { return };
    assert_eq!(licence.as_str().parse(), Ok(licence.clone()));
}
