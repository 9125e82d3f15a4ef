//! Every citation format is written as in `fixtures/citation/`, and other software can read it.
//!
//! `UPDATE_TRANSCRIPTS=1 cargo test` rewrites the fixtures. `tests/citation_peers.py` reads them with other
//! software.

use harness::values::{AtTime, clock};
use std::path::PathBuf;

use accession::citation::record;
use accession::dataset::DatasetMetadata;
use accession::{Change, CitationFacts, Moment, Pattern, Registry, Selection, SubsetMembers};
use accession::{Citation, CitationFormat};
use biblatex::{Bibliography, ChunksExt};

use harness::history::{change, name};
use harness::store::new_registry;

/// A record with everything that a format must escape: special characters of TeX, quotes, the syntax of RIS,
/// another script, an organisation with a comma.
fn difficult() -> DatasetMetadata {
    DatasetMetadata {
        name: name("US.FOOL2.002"),
        doi: Some("10.9999/US/FOO_L2.v2<1::A%ID>#x".parse().unwrap()),
        title: Some(
            "FOO & Level_2: {100 %} of $x^2$ ~ #1 \"quoted\" \\TeX ER  - - é 値".to_owned(),
        ),
        description: Some(
            "Retrievals of the quantity foo </script>, one granule an orbit; see doi:10.1234/other, as held at 1999-01-01.".to_owned(),
        ),
        creators: [
                "Tilmes, Curt (0000-0002-1825-0097)",
                "山田, 太郎",
                "{Ministry of Sea, Air and Land}",
                "Suharto,",
                "d'Été & Söhne_1",
                "King and Queen, M., Jr.",
            ]
            .map(|creator| creator.parse().unwrap())
            .to_vec(),
        publisher: Some("US Archive: #1 & only".to_owned()),
        version: Some("002".to_owned()),
        year: Some("2001".parse().unwrap()),
        url: Some("https://example.org/a b?q={x}&r=50%25".parse().unwrap()),
        archive: Some("US".to_owned()),
        licence: Some("CC-BY-4.0".parse().unwrap()),
        granule_url: Some("https://example.org/get?id={granule}".parse().unwrap()),
        resolver: None,
        keywords: ["sea ice", "</script> é"].map(|it| it.parse().unwrap()).to_vec(),
        free_access: Some(false),
        temporal: Some("1999-12-31T00:00:00Z/..".parse().unwrap()),
    }
}

/// A registry with a dataset of three changes, and a mirror of its second instance.
fn registry(dataset: &DatasetMetadata) -> Registry {
    let registry = new_registry();
    fill(&registry, dataset);
    registry
}

/// A record with only a name.
fn bare() -> DatasetMetadata {
    DatasetMetadata::named(name("US.FOOL2.002"))
}

fn fill(registry: &Registry, dataset: &DatasetMetadata) {
    registry.add_dataset(dataset).unwrap();
    let apply = |dataset: &str, at: &str, change: Change| {
        let at: Moment = at.parse().unwrap();
        registry.change(&name(dataset), &change.at(at.of_change())).unwrap();
    };
    apply("US.FOOL2.002", "2001-01-02", change(["A.1", "A.2"], []));
    apply("US.FOOL2.002", "2001-01-03", change(["B.1"], []));
    apply("US.FOOL2.002", "2001-02-03", change([], ["A.1"]));
    apply("THEM", "2001-02-01", change(["A.1", "A.2", "B.1"], []));
    let set_doi = |them: &mut DatasetMetadata| them.doi = "10.9999/THEM/FOOL2".parse().ok();
    registry.edit_dataset(&name("THEM"), set_doi).unwrap();
}

fn at(text: &str) -> Option<Moment> {
    Some(text.parse().unwrap())
}

/// The citations of the fixtures, by name.
fn citations() -> Vec<(&'static str, Citation)> {
    let day = at("2001-01-05");
    let today = "2026-01-02".parse().unwrap();
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: day };
    let cite =
        |dataset: &DatasetMetadata| registry(dataset).snapshot().unwrap().cite(&selection).unwrap();
    let whole = cite(&difficult());
    let bare = cite(&bare());
    let patterns: Vec<Pattern> = ["A.[12]", "?.9"].map(|text| text.parse().unwrap()).to_vec();
    let subset = registry(&difficult())
        .cite_subset(&name("US.FOOL2.002"), day, &SubsetMembers::Patterns(patterns))
        .unwrap();
    // Line ends, which a title cannot get any more, but may have in a damaged registry.
    let with_line_ends = |mut cited: CitationFacts| {
        let title = &mut cited.dataset.dataset.title;
        *title = title.take().map(|title| title.replace(" ER  - - ", "\r\nER  - \n- "));
        cited
    };
    [("whole", whole), ("bare", bare), ("part", subset)]
        .map(|(kind, cited)| (kind, Citation::new(with_line_ends(cited), day, today)))
        .into()
}

#[test]
fn every_format_is_written_as_in_its_fixture() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/citation");
    let mut expected_files = Vec::new();
    for (kind, citation) in citations() {
        for format in CitationFormat::ALL {
            let file = directory.join(format!("{kind}.{format}"));
            let written = citation.render(format);
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
fn a_url_that_is_not_a_web_address_is_not_cited() {
    let directory = harness::directory();
    let path = directory.path().join("accession.db");
    fill(&Registry::create(&path, clock()).unwrap(), &bare());
    let connection = rusqlite::Connection::open(&path).unwrap();
    let alter = "UPDATE dataset SET record = json_set(record, '$.url', 'javascript:alert(1)')";
    assert_eq!(connection.execute(alter, []).unwrap(), 2);
    harness::seal::seal_rows(&connection);
    let registry = Registry::open(&path, clock()).unwrap();
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at: at("2001-01-05") };
    let refused = registry.snapshot().unwrap().cite(&selection).unwrap_err();
    assert_eq!(refused.kind().as_str(), "damaged", "{refused}");
}

#[test]
fn a_citation_leads_to_the_site_that_resolves_its_identifier() {
    let resolver = Some("https://data.example.org/".parse().unwrap());
    let registry = registry(&DatasetMetadata { resolver, ..difficult() });
    let at: Option<accession::Moment> = Some("2001-01-05".parse().unwrap());
    let selection = Selection::Dataset { name: name("US.FOOL2.002"), at };
    let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
    let citation = Citation::new(cited.clone(), at, "2026-01-02".parse().unwrap());
    // The record takes precedence over the environment.
    let citation = citation.with_resolver(Some("https://other.example"));
    let address = format!("https://data.example.org/DI:{}", cited.period.set.identifier());
    let written = |format| citation.render(format);
    for (format, expected) in [
        (CitationFormat::Text, format!(" ({address}, as held at 2001-01-05 by US). ")),
        (CitationFormat::Bibtex, format!("  url          = {{{address}}},\n")),
        (CitationFormat::Ris, format!("UR  - {address}\r\n")),
        (CitationFormat::CslJson, format!("\"URL\": \"{address}\"")),
        (CitationFormat::DataciteJson, format!("\"url\": \"{address}\"")),
        (CitationFormat::JsonLd, format!("\"@id\": \"{address}\"")),
        (CitationFormat::JsonLd, format!("\"url\": \"{address}\"")),
    ] {
        let text = written(format);
        assert!(text.contains(&expected), "{expected}: {text}");
    }
    let of_set: serde_json::Value = serde_json::from_str(&written(CitationFormat::JsonLd)).unwrap();
    let of_dataset: serde_json::Value = serde_json::from_str(&citation.write_dataset()).unwrap();
    for member in ["@id", "name", "url"] {
        assert_ne!(of_set[member], of_dataset[member], "{member}");
    }
    assert_eq!(of_set["isPartOf"]["@id"], of_dataset["@id"]);
}

#[test]
fn what_was_noted_about_a_set_is_in_its_citations() {
    let registry = registry(&difficult());
    let selection =
        Selection::Dataset { name: name("US.FOOL2.002"), at: Some("2001-01-05".parse().unwrap()) };
    let mut note = accession::history::NewAnnotation::new("one file was\ntruncated").unwrap();
    note.questionable = true;
    registry.annotate(&selection, &note).unwrap();
    registry.withdraw_dataset(&name("US.FOOL2.002"), "moved").unwrap();
    let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
    let citation = Citation::new(cited, None, "2026-01-02".parse().unwrap());
    for format in CitationFormat::ALL {
        let text = citation.render(format);
        let is_noted = !matches!(format, CitationFormat::Text | CitationFormat::Tuple);
        assert_eq!(text.contains("one file was truncated"), is_noted, "{text}");
        assert_eq!(text.contains("Questionable"), is_noted, "{text}");
        assert_eq!(text.contains("US.FOOL2.002 was withdrawn at "), is_noted, "{text}");
    }
}

#[test]
fn another_parser_reads_the_bibtex() {
    for (kind, citation) in citations() {
        let bibliography = Bibliography::parse(&citation.render(CitationFormat::Bibtex)).unwrap();
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
    }
}

#[test]
fn a_record_is_read_back_from_the_json_formats() {
    let citations = citations();
    let (_, whole) = &citations[0];
    let original = difficult();
    for format in [CitationFormat::CslJson, CitationFormat::DataciteJson] {
        let mut read = bare();
        record::read(&whole.render(format), &mut read).unwrap();
        assert_eq!(read.doi, original.doi, "{format}");
        assert_eq!(read.creators, original.creators, "{format}");
        assert_eq!(read.publisher, original.publisher, "{format}");
        assert_eq!((&read.version, read.year), (&original.version, original.year), "{format}");
        assert_eq!(read.licence, original.licence, "{format}");
        let title = original.title.as_deref().unwrap();
        let one_line = title.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(read.title, Some(one_line), "{format}");
    }
}
