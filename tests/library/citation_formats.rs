//! Every format is written as in `fixtures/citation/`, and other software reads it.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo test` rewrites the fixtures; `tests/citation_peers.py` reads them with
//! other software.

use std::path::PathBuf;

use accession::citation::{Citation, CitationFormat, RecordField, record};
use accession::{
    Change, Dataset, DatasetEdit, Moment, Pattern, Registry, Selection, Stamp, Wanted,
};
use biblatex::{Bibliography, ChunksExt};

use crate::harness::history::{change, name, now};
use crate::harness::oracle::naive;

/// A record with everything that a format must escape: the special characters of TeX, quotes, the
/// syntax of YAML and RIS, another script, an organisation with a comma, line ends.
fn difficult() -> DatasetEdit {
    DatasetEdit {
        doi: Some("10.9999/US/FOO_L2.v2<1::A%ID>#x".parse().ok()),
        title: Some(Some(
            "FOO & Level_2: {100 %} of $x^2$ ~ #1 \"quoted\" \\TeX\r\nER  - \n- é 値".to_owned(),
        )),
        creators: Some(
            [
                "Tilmes, Curt (0000-0002-1825-0097)",
                "山田, 太郎",
                "{Ministry of Sea, Air and Land}",
                "Suharto,",
                "d'Été & Söhne_1",
                "King and Queen, M., Jr.",
            ]
            .map(|creator| creator.parse().unwrap())
            .to_vec(),
        ),
        publisher: Some(Some("US Archive: #1 & only".to_owned())),
        version: Some(Some("002".to_owned())),
        year: Some("2001".parse().ok()),
        url: Some(Some("https://example.org/a b?q={x}&r=50%25".to_owned())),
        archive: Some(Some("US".to_owned())),
        licence: Some(Some("CC-BY-4.0".to_owned())),
    }
}

/// A registry with a dataset of three changes, and a mirror of its second instance.
fn registry(edit: DatasetEdit) -> Registry {
    let mut registry = Registry::in_memory().unwrap();
    let mut dataset = Dataset::named(name("US.FOOL2.002"));
    edit.apply_to(&mut dataset);
    registry.add_dataset(&dataset).unwrap();
    let mut apply = |dataset: &str, at: &str, change: Change| {
        let at: Moment = at.parse().unwrap();
        let stamp = Stamp { at: Some(at.of_change()), now: now() };
        registry.change(&name(dataset), change, stamp).unwrap();
    };
    apply("US.FOOL2.002", "2001-01-02", change(["A.1", "A.2"], []));
    apply("US.FOOL2.002", "2001-01-03", change(["B.1"], []));
    apply("US.FOOL2.002", "2001-02-03", change([], ["A.1"]));
    apply("THEM", "2001-02-01", change(["A.1", "A.2", "B.1"], []));
    let them =
        DatasetEdit { doi: Some("10.9999/THEM/FOOL2".parse().ok()), ..DatasetEdit::default() };
    registry.edit_dataset(&name("THEM"), them).unwrap();
    registry
}

fn at(text: &str) -> Option<Moment> {
    Some(text.parse().unwrap())
}

/// The citations of the fixtures, by name.
fn citations() -> Vec<(&'static str, Citation)> {
    let day = at("2001-01-05");
    let today = "2026-01-02".parse().unwrap();
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: day };
    let whole = registry(difficult()).cite(&selection, &[name("THEM")]).unwrap();
    let bare = registry(DatasetEdit::default()).cite(&selection, &[]).unwrap();
    let patterns: Vec<Pattern> = ["A.[12]", "?.9"].map(|text| text.parse().unwrap()).to_vec();
    let subset = registry(difficult())
        .cite_part(&name("US.FOOL2.002"), day, Wanted::Patterns(patterns), now())
        .unwrap();
    [("whole", whole), ("bare", bare), ("part", subset)]
        .map(|(kind, cited)| (kind, Citation::new(cited, day, today)))
        .into()
}

#[test]
fn every_format_is_written_as_in_its_fixture() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/citation");
    let mut expected_files = Vec::new();
    for (kind, citation) in citations() {
        for format in CitationFormat::ALL {
            let file = directory.join(format!("{kind}.{format}"));
            let written = citation.write(format);
            if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
                std::fs::write(&file, &written).unwrap();
            }
            let expected = std::fs::read_to_string(&file).unwrap();
            assert_eq!(written, expected, "{}", file.display());
            expected_files.push(file);
        }
    }
    expected_files.sort();
    let mut fixtures: Vec<PathBuf> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    fixtures.sort();
    assert_eq!(fixtures, expected_files);
}

#[test]
fn missing_fields_are_listed_and_not_invented() {
    let citations = citations();
    let (_, bare) = &citations[1];
    assert_eq!(bare.missing_fields(CitationFormat::Tuple), [RecordField::Doi]);
    let all = [
        RecordField::Doi,
        RecordField::Title,
        RecordField::Creators,
        RecordField::Publisher,
        RecordField::Version,
        RecordField::Year,
    ];
    assert_eq!(bare.missing_fields(CitationFormat::Text), all);
    let (_, whole) = &citations[0];
    assert_eq!(whole.missing_fields(CitationFormat::DataciteJson), []);
    for format in CitationFormat::ALL {
        let text = bare.write(format);
        assert!(!text.contains("null") && !text.contains("unknown"), "{text}");
        assert!(text.contains(&format!("DI:{}", naive(["A.1", "A.2", "B.1"]))), "{text}");
    }
}

#[test]
fn a_url_that_is_not_a_web_address_is_left_out() {
    // Registries that were written before the check, and the manifests of primaries, may contain it.
    let edit = || DatasetEdit {
        url: Some(Some("javascript:alert(1)".to_owned())),
        ..DatasetEdit::default()
    };
    let mut registry = registry(edit());
    registry.edit_dataset(&name("THEM"), edit()).unwrap();
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: at("2001-01-05") };
    let cited = registry.cite(&selection, &[name("THEM")]).unwrap();
    let citation = Citation::new(cited, None, "2026-01-02".parse().unwrap());
    for format in CitationFormat::ALL {
        let text = citation.write(format);
        assert!(!text.contains("javascript"), "{text}");
    }
}

#[test]
fn json_ld_cannot_end_the_script_element_that_contains_it() {
    let title = "</script><script>alert(1)</script><!--";
    let edit = DatasetEdit { title: Some(Some(title.to_owned())), ..DatasetEdit::default() };
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: None };
    let cited = registry(edit).cite(&selection, &[]).unwrap();
    let text =
        Citation::new(cited, None, "2026-01-02".parse().unwrap()).write(CitationFormat::JsonLd);
    assert!(!text.contains('<'), "{text}");
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["name"], title);
}

#[test]
fn another_parser_reads_the_bibtex() {
    for (kind, citation) in citations() {
        let bibliography = Bibliography::parse(&citation.write(CitationFormat::Bibtex)).unwrap();
        let [entry] = bibliography.iter().collect::<Vec<_>>()[..] else { panic!("one entry") };
        assert_eq!(entry.entry_type, biblatex::EntryType::Dataset);
        let verbatim = |field: &str| entry.get(field).unwrap().format_verbatim();
        let note = verbatim("note");
        assert!(note.starts_with("DI:") && note.contains(", as held at 2001-01-05"), "{note}");
        if kind == "bare" {
            assert_eq!(verbatim("title"), "US.FOOL2.002");
            assert!(entry.get("author").is_none() && entry.get("doi").is_none());
            continue;
        }
        assert_eq!(
            verbatim("title"),
            "FOO & Level_2: {100 %} of $x^2$ ~ #1 \"quoted\" \\TeX ER - - é 値"
        );
        assert_eq!(verbatim("doi"), "10.9999/US/FOO_L2.v2<1::A%ID>#x");
        assert_eq!(verbatim("version"), "002");
        let authors = entry.author().unwrap();
        let names: Vec<(&str, &str)> = authors
            .iter()
            .map(|person| (person.name.as_str(), person.given_name.as_str()))
            .collect();
        assert_eq!(names[0], ("Tilmes", "Curt"));
        assert_eq!(names[1], ("山田", "太郎"));
        assert_eq!(names[2].0, "Ministry of Sea, Air and Land");
        assert_eq!(names.len(), 6);

        let classic = Bibliography::parse(&citation.write(CitationFormat::BibtexMisc)).unwrap();
        assert_eq!(classic.len(), 1);
    }
}

#[test]
fn a_record_is_read_back_from_the_json_formats() {
    let citations = citations();
    let (_, whole) = &citations[0];
    let original = difficult();
    for format in [CitationFormat::CslJson, CitationFormat::DataciteJson] {
        let read = record::read(&whole.write(format)).unwrap();
        assert_eq!(read.doi, original.doi, "{format}");
        assert_eq!(read.creators, original.creators, "{format}");
        assert_eq!(read.publisher, original.publisher, "{format}");
        assert_eq!((&read.version, read.year), (&original.version, original.year), "{format}");
        assert_eq!(read.licence, original.licence, "{format}");
        let title = original.title.as_ref().unwrap().as_ref().unwrap();
        let one_line = title.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(read.title, Some(Some(one_line)), "{format}");
    }
}
