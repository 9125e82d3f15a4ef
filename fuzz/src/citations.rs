//! Pasted citations, and records and patterns from users.

use accession::Pattern;
use accession::citation::record;
use accession::citation::{FoundCitation, ParsedField};
use accession::dataset::Creator;
use accession::dataset::DatasetMetadata;

use super::text;

pub fn pasted(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let digits: String = text.to_lowercase().chars().filter(char::is_ascii_hexdigit).collect();
    for pasted in FoundCitation::find_all(&text) {
        // No identifier is invented. Hyphens and line ends may be inside it.
        if let (Some(ParsedField::Read(identifier)), false) =
            (pasted.identifier, text.contains('\\'))
        {
            assert!(digits.contains(&identifier.to_string()), "{identifier}");
        }
    }
}

pub fn record(bytes: &[u8]) {
    let mut dataset = DatasetMetadata::named("D".parse().unwrap());
    if record::read(&String::from_utf8_lossy(bytes), &mut dataset).is_err() {
        return;
    }
    for creator in &dataset.creators {
        assert_eq!(creator.to_string().parse().as_ref(), Ok(creator));
    }
    let registry = accession::Registry::temporary(accession::Clock::system()).unwrap();
    registry.add_dataset(&dataset).unwrap();
    assert_eq!(registry.snapshot().unwrap().dataset(&dataset.name).unwrap().dataset, dataset);
}

pub fn creator(bytes: &[u8]) {
    let Ok(creator) = text(bytes).parse::<Creator>() else { return };
    assert_eq!(creator.to_string().parse(), Ok(creator.clone()));
    assert!(!creator.name().is_empty());
}

pub fn pattern(bytes: &[u8]) {
    let Ok(pattern) = text(bytes).parse::<Pattern>() else { return };
    assert_eq!(pattern.to_string().parse(), Ok(pattern.clone()));
    assert!(pattern.as_str().len() <= Pattern::MAX_BYTES);
    let is_plain = !pattern.as_str().contains(['*', '?', '[', ']']);
    assert!(!is_plain || pattern.matches(pattern.as_str()));
}
