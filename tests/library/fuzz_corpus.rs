//! Runs every file of the fuzzing corpus, including earlier failures, through the properties of its target,
//! without the fuzzer and its compiler.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::properties;

type Property = fn(&[u8]);

/// The fuzz targets, with their properties.
const PROPERTIES: [(&str, Property); 28] = [
    ("changes", properties::changes),
    ("checksums", properties::checksums),
    ("cmr_json", properties::cmr_json),
    ("creator", properties::creator),
    ("csv", properties::csv),
    ("dataset_name", properties::dataset_name),
    ("detected", properties::detected),
    ("doi", properties::doi),
    ("granule_id", properties::granule_id),
    ("gzip", properties::gzip),
    ("identifier", properties::identifier),
    ("licence", properties::licence),
    ("lines", properties::lines),
    ("manifest", properties::manifest),
    ("ndjson", properties::ndjson),
    ("old_payment_ids", properties::old_payment_ids),
    ("pasted", properties::pasted),
    ("record", properties::record),
    ("pattern", properties::pattern),
    ("payment_id", properties::payment_id),
    ("pdr", properties::pdr),
    ("shapes", properties::shapes),
    ("stac", properties::stac),
    ("times_in_names", properties::times_in_names),
    ("timestamp", properties::timestamp),
    ("totals", properties::totals),
    ("umm_json", properties::umm_json),
    ("unique_granule_id", properties::unique_granule_id),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn names(directory: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| stem(entry.unwrap().path())).collect()
}

#[test]
fn every_property_is_a_target_and_has_a_corpus() {
    let properties: BTreeSet<String> =
        PROPERTIES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), properties);
    assert_eq!(names(&fuzz().join("corpus")), properties);
    for (name, _) in PROPERTIES {
        let target = format!("fuzz_targets/{name}.rs");
        let text = std::fs::read_to_string(fuzz().join(&target)).unwrap();
        assert!(text.contains(&format!("properties::{name}(bytes)")), "{target}");
        let cargo = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
        assert!(cargo.contains(&format!("path = \"{target}\"")), "{target}");
    }
}

#[test]
fn every_file_of_the_corpus_has_the_properties_of_its_target() {
    let mut files = 0;
    for (name, property) in PROPERTIES {
        for entry in std::fs::read_dir(fuzz().join("corpus").join(name)).unwrap() {
            property(&std::fs::read(entry.unwrap().path()).unwrap());
            files += 1;
        }
    }
    assert!(files > 50, "{files}");
}
