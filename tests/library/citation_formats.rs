//! Every format as it was read and agreed, in `fixtures/citation/`; and read again by others.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo test` writes what is written now; `tests/citation_peers.py` reads the
//! same files with other people's software.

use std::path::PathBuf;

use accession::citation::{Citation, Format, record};
use accession::{
    Change, Dataset, DatasetEdit, Moment, Pattern, Registry, Selection, Stamp, Wanted,
};
use biblatex::{Bibliography, ChunksExt};

use crate::harness::history::{change, name, now, second};
use crate::harness::oracle::naive;

/// A record with everything that provokes: TeX's special characters, quotes, YAML's and RIS's marks,
/// another script, an organisation with a comma, line ends.
fn provoking() -> DatasetEdit {
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
        url: Some("https://example.org/a b?q={x}&r=50%25".parse().ok()),
        archive: Some(Some("US".to_owned())),
        licence: Some(Some("CC-BY-4.0".to_owned())),
    }
}

/// A register with a dataset of three changes, and a mirror of its second state.
fn register(edit: DatasetEdit) -> Registry {
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

/// The citations of which every format is kept, by name.
fn citations() -> Vec<(&'static str, Citation)> {
    let day = at("2001-01-05");
    let today = "2026-01-02".parse().unwrap();
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: day };
    let whole = register(provoking()).cite(&selection, &[name("THEM")]).unwrap();
    let bare = register(DatasetEdit::default()).cite(&selection, &[]).unwrap();
    let patterns: Vec<Pattern> = ["A.[12]", "?.9"].map(|text| text.parse().unwrap()).to_vec();
    let part = register(provoking())
        .cite_part(&name("US.FOOL2.002"), day, Wanted::Patterns(patterns), now())
        .unwrap();
    [("whole", whole), ("bare", bare), ("part", part)]
        .map(|(kind, cited)| (kind, Citation::new(cited, day, today)))
        .into()
}

#[test]
fn every_format_is_written_as_it_was_agreed() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/citation");
    let mut agreed_files = Vec::new();
    for (kind, citation) in citations() {
        for format in Format::ALL {
            let file = folder.join(format!("{kind}.{format}"));
            let written = citation.write(format);
            if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
                std::fs::write(&file, &written).unwrap();
            }
            let agreed = std::fs::read_to_string(&file).unwrap();
            assert_eq!(written, agreed, "{}", file.display());
            agreed_files.push(file);
        }
    }
    agreed_files.sort();
    let mut there: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    there.sort();
    assert_eq!(there, agreed_files);
}

#[test]
fn what_a_record_lacks_is_told_and_not_invented() {
    let citations = citations();
    let (_, bare) = &citations[1];
    let lacking = |format| -> Vec<&str> {
        bare.lacks(format).into_iter().map(|field| field.option()).collect()
    };
    assert_eq!(lacking(Format::Tuple), ["--doi"]);
    let all = ["--doi", "--title", "--creator", "--publisher", "--dataset-version", "--year"];
    assert_eq!(lacking(Format::Text), all);
    let (_, whole) = &citations[0];
    assert_eq!(whole.lacks(Format::DataciteJson), []);
    for format in Format::ALL {
        let text = bare.write(format);
        assert!(!text.contains("null") && !text.contains("unknown"), "{text}");
        assert!(text.contains(&format!("DI:{}", naive(["A.1", "A.2", "B.1"]))), "{text}");
    }
}

#[test]
fn a_stored_url_that_is_not_a_web_address_is_in_no_citation() {
    // Registries of before the check took any string.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("accession.db");
    let mut register = Registry::create(&path).unwrap();
    let stamp = Stamp { at: Some(second(0)), now: now() };
    register.change(&name("US"), change(["A"], []), stamp).unwrap();
    drop(register);
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute("UPDATE dataset SET url = 'javascript:alert(1)'", [])
        .unwrap();
    let mut register = Registry::open(&path, accession::Access::Read).unwrap();
    assert_eq!(register.dataset(&name("US")).unwrap().dataset.url, None);
    let selection = Selection::Dataset { name: name("US"), at: None };
    let cited = register.cite(&selection, &[]).unwrap();
    let citation = Citation::new(cited, None, "2026-01-02".parse().unwrap());
    for format in Format::ALL {
        let text = citation.write(format);
        assert!(!text.contains("javascript"), "{text}");
    }
}

#[test]
fn another_reader_of_bibtex_reads_ours() {
    for (kind, citation) in citations() {
        let bibliography = Bibliography::parse(&citation.write(Format::Bibtex)).unwrap();
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

        let classic = Bibliography::parse(&citation.write(Format::BibtexMisc)).unwrap();
        assert_eq!(classic.len(), 1);
    }
}

#[test]
fn what_our_json_says_of_a_record_is_read_again() {
    let citations = citations();
    let (_, whole) = &citations[0];
    let said = provoking();
    for format in [Format::CslJson, Format::DataciteJson] {
        let read = record::read(&whole.write(format)).unwrap();
        assert_eq!(read.doi, said.doi, "{format}");
        assert_eq!(read.creators, said.creators, "{format}");
        assert_eq!(read.publisher, said.publisher, "{format}");
        assert_eq!((&read.version, read.year), (&said.version, said.year), "{format}");
        assert_eq!(read.licence, said.licence, "{format}");
        let title = said.title.as_ref().unwrap().as_ref().unwrap();
        let one_line = title.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(read.title, Some(Some(one_line)), "{format}");
    }
}
