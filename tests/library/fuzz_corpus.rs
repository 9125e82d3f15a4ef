//! Every file of the fuzzer's corpus, what it once found among them, through the laws of its target:
//! without the fuzzer and its compiler.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::laws;

type Law = fn(&[u8]);

/// The targets.
const LAWS: [(&str, Law); 24] = [
    ("changes", laws::changes),
    ("cmr_json", laws::cmr_json),
    ("creator", laws::creator),
    ("csv", laws::csv),
    ("dataset_name", laws::dataset_name),
    ("detected", laws::detected),
    ("doi", laws::doi),
    ("granule_id", laws::granule_id),
    ("gzip", laws::gzip),
    ("identifier", laws::identifier),
    ("licence", laws::licence),
    ("lines", laws::lines),
    ("manifest", laws::manifest),
    ("ndjson", laws::ndjson),
    ("old_payment_ids", laws::old_payment_ids),
    ("pasted", laws::pasted),
    ("record", laws::record),
    ("pattern", laws::pattern),
    ("payment_id", laws::payment_id),
    ("pdr", laws::pdr),
    ("stac", laws::stac),
    ("timestamp", laws::timestamp),
    ("umm_json", laws::umm_json),
    ("unique_granule_id", laws::unique_granule_id),
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    entries.map(|entry| stem(entry.unwrap().path())).collect()
}

#[test]
fn every_law_is_a_target_and_has_a_corpus() {
    let laws: BTreeSet<String> = LAWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&fuzz().join("fuzz_targets")), laws);
    assert_eq!(names(&fuzz().join("corpus")), laws);
    for (name, _) in LAWS {
        let target = format!("fuzz_targets/{name}.rs");
        let text = std::fs::read_to_string(fuzz().join(&target)).unwrap();
        assert!(text.contains(&format!("laws::{name}(bytes)")), "{target}");
        let cargo = std::fs::read_to_string(fuzz().join("Cargo.toml")).unwrap();
        assert!(cargo.contains(&format!("path = \"{target}\"")), "{target}");
    }
}

#[test]
fn every_file_of_the_corpus_keeps_the_laws_of_its_target() {
    let mut files = 0;
    for (name, law) in LAWS {
        for entry in std::fs::read_dir(fuzz().join("corpus").join(name)).unwrap() {
            law(&std::fs::read(entry.unwrap().path()).unwrap());
            files += 1;
        }
    }
    assert!(files > 50, "{files}");
}
