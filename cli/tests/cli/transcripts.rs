//! The complete output of every command. `transcripts/` has a file for each.

use std::path::PathBuf;

use crate::running::console::{assert_transcript, assert_transcript_in};

fn file(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/transcripts");
    directory.join(format!("{name}.md"))
}

fn transcript(name: &str) {
    assert_transcript(&file(name));
}

/// Columns contain the path of the directory, so their width depends on it.
#[test]
fn a_transcript_does_not_depend_on_where_the_directory_is() {
    let parent = harness::directory();
    let parent = parent.path().join("a-directory-with-a-longer-name-than-most");
    std::fs::create_dir(&parent).unwrap();
    assert_transcript_in(tempfile::tempdir_in(parent).unwrap(), &file("mornings"));
}

macro_rules! transcripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                transcript(stringify!($name));
            }
        )*

        #[test]
        fn every_transcript_is_run() {
            let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/transcripts");
            let mut there: Vec<String> = std::fs::read_dir(directory)
                .unwrap()
                .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

transcripts! {
    addresses, annotate, backup, check, cite, cite_list, cited_elsewhere, cited_files, contents, corrections, damaged_copy, dataset,
    directories, everyday, facts, file_records, fixity, fixity_checks, formats, granule_ids, granule_urls, identify, import,
    ingest, listings, lookup, mirror, mirror_nights, mornings, named, newcomers, nightly, odd_files,
    once_untrue, operator_evening, options, other_words, paths, payment_ids, periods, problems, publish_nights, published, rebuilt,
    references, refusals, replaced, revert, scanned, sets, side_by_side, signed, site, site_roots, status, tables, tried,
}
