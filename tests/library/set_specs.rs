//! Sets as people write them: what each spelling selects, and why some are rejected.

use accession::{
    Citation, CitationFormat, Clock, IfMissing, Moment, Registry, Selection, SetSpec, Source,
    Timestamp,
};
use harness::history::{change, name};
use harness::store::new_registry;
use harness::values::AtTime;

const NOW: &str = "2001-01-10T12:00:00Z";

/// Datasets with changes on three days, one with a DOI, and two whose names are those of a file and a directory
/// of this package.
fn registry() -> Registry {
    let registry = new_registry().with_clock(Clock::fixed(NOW.parse().unwrap()));
    let record = |dataset: &str, granule: &str, at: &str| {
        let at: Timestamp = at.parse().unwrap();
        let registry = registry.with_clock(Clock::fixed(at));
        let mut made = change([granule], []).at(at);
        made.options = made.options.if_missing(IfMissing::Create);
        registry.change(&name(dataset), &made).unwrap();
    };
    for (granule, at) in [
        ("A", "2001-01-02T06:00:00Z"),
        ("B", "2001-01-03T06:00:00Z"),
        ("C", "2001-01-05T18:00:00Z"),
    ] {
        record("FOO", granule, at);
    }
    record("BAR", "D", "2001-01-03T00:00:00Z");
    record("BAR", "E", "2001-01-04T00:00:00Z");
    record("README.md", "F", "2001-01-04T00:00:00Z");
    record("src", "G", "2001-01-04T00:00:00Z");
    registry
        .edit_dataset(&name("BAR"), |dataset| dataset.doi = Some("10.5555/x/y@z".parse().unwrap()))
        .unwrap();
    registry
}

/// A short form of what a text selects: a set by dataset and number of granules, or by identifier and time; a
/// path; or the kind of the error.
fn named(registry: &Registry, text: &str) -> String {
    let spec = match text.parse::<SetSpec>() {
        Ok(spec) => spec,
        Err(refused) => return format!("not parsed: {refused}"),
    };
    assert_eq!(spec.to_string(), text);
    let snapshot = registry.snapshot().unwrap();
    let error = |error: accession::Error| format!("{}: {error}", error.kind().as_str());
    match spec.source(Some(&snapshot)) {
        Ok(Source::Path(path)) => format!("path {}", path.display()),
        Ok(Source::StandardInput) => "standard input".to_owned(),
        Err(refused) => error(refused),
        Ok(Source::Registry(resolution)) => match resolution.names() {
            Err(refused) => error(refused),
            Ok(selected) => {
                let (set, at) = (&selected.set, selected.instance().timestamp);
                let warnings: String =
                    resolution.warnings().iter().map(|it| format!("; {}", it.message)).collect();
                let granules = set.granule_count();
                let by = match resolution.selection() {
                    Selection::Dataset { .. } => "",
                    Selection::Identifier { at: None, .. } => " by identifier",
                    Selection::Identifier { .. } => " by identifier and time",
                    Selection::Digest(_) => " by digest",
                };
                format!("{} {granules} since {at}{by}{warnings}", set.dataset())
            }
        },
    }
}

#[test]
fn each_spelling_names_one_set_or_says_why_not() {
    let registry = registry();
    let snapshot = registry.snapshot().unwrap();
    let set_of = |dataset: &str, at: &str| {
        let at: Option<Moment> = Some(at.parse().unwrap());
        snapshot.select(&Selection::Dataset { name: name(dataset), at }).unwrap().set
    };
    let two = set_of("FOO", "2001-01-03");
    let (di, digest) = (two.identifier().to_string(), two.digest().to_string());
    let of_bar = set_of("BAR", "2001-01-04").identifier().to_string();
    let fill = |text: &str| {
        let text = text.replace("{di8}", &di[..8]).replace("{di9}", &di[..9]);
        let text = text.replace("{DI}", &di.to_uppercase()).replace("{di}", &di);
        let text = text.replace("{di31}", &di[..31]).replace("{bar}", &of_bar);
        let text = text.replace("{d12}", &digest[..19]).replace("{digest}", &digest);
        text.replace("{D12}", &digest[..19].to_uppercase()).replace("{d11}", &digest[..18])
    };
    let one_to_three = [
        ("one", "FOO 1 since 2001-01-02T06:00:00Z"),
        ("two", "FOO 2 since 2001-01-03T06:00:00Z"),
        ("three", "FOO 3 since 2001-01-05T18:00:00Z"),
        ("bar1", "BAR 1 since 2001-01-03T00:00:00Z"),
        ("bar2", "BAR 2 since 2001-01-04T00:00:00Z"),
        ("di", "FOO 2 since 2001-01-03T06:00:00Z by identifier"),
        ("di@", "FOO 2 since 2001-01-03T06:00:00Z by identifier and time"),
        ("digest", "FOO 2 since 2001-01-03T06:00:00Z by digest"),
    ];
    let mut tried = 0;
    for (text, expected) in CASES {
        let expected = match one_to_three.iter().find(|(short, _)| short == expected) {
            Some((_, long)) => (*long).to_owned(),
            None => fill(expected),
        };
        let text = fill(text);
        let found = named(&registry, &text);
        assert_eq!(found, expected, "{text}");
        tried += 1;
    }
    assert!(tried >= 120, "{tried}");
}

/// The name of an alteration, and the function that applies it.
type Break = (&'static str, fn(&str) -> String);

/// How PDF readers and word processors alter a citation that is copied from them.
const BREAKS: [Break; 6] = [
    ("unchanged", |text| text.to_owned()),
    ("words on lines", |text| text.replace(' ', "\n")),
    ("digits broken over lines", |text| {
        let at = text.find("DI:").unwrap() + 15;
        format!("{}\n{}", &text[..at], &text[at..])
    }),
    ("no-break spaces", |text| text.replace(' ', "\u{a0}")),
    ("round quotation marks", |text| format!("“{text}”")),
    ("a list number before, a full stop after", |text| format!("[12] {text}.")),
];

#[test]
fn a_citation_names_what_was_cited_in_every_format_and_broken_by_a_pdf() {
    let registry = registry();
    let mut tried = 0;
    for (dataset, expected) in [
        ("FOO@2001-01-03", "FOO 2 since 2001-01-03T06:00:00Z"),
        ("10.5555/x/y@z@2001-01-03", "BAR 1 since 2001-01-03T00:00:00Z"),
    ] {
        let snapshot = registry.snapshot().unwrap();
        let selection = snapshot.resolve(&dataset.parse().unwrap()).unwrap().selection().clone();
        let facts = snapshot.cite(&selection).unwrap();
        drop(snapshot);
        let Selection::Dataset { at, .. } = selection else { panic!("{selection:?}") };
        for format in CitationFormat::ALL {
            for with_digest in [false, true] {
                let today = NOW.parse::<Timestamp>().unwrap().day();
                let citation = Citation::new(facts.clone(), at, today).with_digest(with_digest);
                let rendered = citation.render(format);
                for (how, broken) in BREAKS {
                    // A record is a file: nobody copies it from a page.
                    let is_record = rendered.trim_start().starts_with(['{', '@', 'T', '[']);
                    if how != "unchanged" && (is_record || format != CitationFormat::Text) {
                        continue;
                    }
                    let text = broken(rendered.trim());
                    let found = named(&registry, &text);
                    assert!(found.starts_with(expected), "{how}: {text}: {found}");
                    tried += 1;
                }
            }
        }
    }
    assert!(tried >= 40, "{tried}");
}

#[test]
fn without_a_registry_only_files_are_named() {
    let source = |text: &str| match text.parse::<SetSpec>().unwrap().source(None) {
        Ok(Source::Path(path)) => format!("path {}", path.display()),
        Ok(Source::StandardInput) => "standard input".to_owned(),
        Ok(Source::Registry(resolution)) => panic!("{resolution:?}"),
        Err(error) => error.kind().as_str().to_owned(),
    };
    for (text, expected) in [
        ("Cargo.toml", "path Cargo.toml"),
        ("src", "path src"),
        ("./none", "path ./none"),
        ("-", "standard input"),
        ("FOO", "dataset-unknown"),
        ("DI:7fb1e8ba", "registry-missing"),
        ("sha256:0123456789ab", "registry-missing"),
        ("10.5555/x", "registry-missing"),
        ("FO O", "usage"),
    ] {
        assert_eq!(source(text), expected, "{text}");
    }
}

/// The text, and what it selects. `{di}` is the identifier of the second set of FOO, and `{digest}` its digest.
const CASES: &[(&str, &str)] = &[
    ("FOO", "three"),
    ("FOO@now", "three"),
    ("FOO@2001-01-10", "three"),
    ("FOO@2001-01-05", "three"),
    ("FOO@2001-01-04", "two"),
    ("FOO@2001-01-03", "two"),
    ("FOO@2001-01-02", "one"),
    ("FOO@2001-01-03T06:00:00Z", "two"),
    ("FOO@2001-01-03T05:59:59.999999Z", "one"),
    ("FOO@2001-01-03T07:00:00+01:00", "two"),
    ("FOO@2001-01-03t06:00:00z", "two"),
    ("FOO@2001-01-03 06:00:00+00:00", "two"),
    ("FOO@2001-01-05T18:00:00.5Z", "three"),
    ("FOO@2001-01-05 18:00:00.5", "three"),
    ("FOO@2001-01-03T06:00", "two"),
    ("FOO@2001-01-03T05:59", "one"),
    ("FOO@2001-01-03T06:00Z", "two"),
    ("FOO@2001-01-03T07:00+01:00", "two"),
    (
        "FOO@2001-01-01",
        "no-history: 2001-01-01 is before the history of FOO, which begins at 2001-01-02T06:00:00Z",
    ),
    ("FOO@2001-01-11", "future: 2001-01-11 is in the future: now it is 2001-01-10T12:00:00Z"),
    (
        "FOO@2001-01-10T12:00:00.000001Z",
        "future: 2001-01-10T12:00:00.000001Z is in the future: now it is 2001-01-10T12:00:00Z",
    ),
    (
        "FOO@2001-02-30",
        "usage: \"FOO@2001-02-30\" is neither a set nor a file: this day or this time of day does not exist",
    ),
    (
        "FOO@noon",
        "usage: \"FOO@noon\" is neither a set nor a file: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    (
        "FOO@",
        "usage: \"FOO@\" is neither a set nor a file: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    (
        "FOO@@2001-01-03",
        "usage: \"FOO@@2001-01-03\" is neither a set nor a file: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    (
        "FOO@2001-01-03@2001-01-04",
        "usage: \"FOO@2001-01-03@2001-01-04\" is neither a set nor a file: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    ("FOO~0", "three"),
    ("FOO~1", "two"),
    ("FOO~2", "one"),
    ("FOO~3", "no-history: FOO has had 3 changes: there is no set before the first one"),
    ("FOO~99999", "no-history: FOO has had 3 changes: there is no set before the first one"),
    (
        "FOO~",
        "usage: \"FOO~\" is neither a set nor a file: \"FOO~\" has no number of changes after the ~, as in FOO~1",
    ),
    (
        "FOO~-1",
        "usage: \"FOO~-1\" is neither a set nor a file: \"FOO~-1\" has no number of changes after the ~, as in FOO~1",
    ),
    (
        "FOO~+1",
        "usage: \"FOO~+1\" is neither a set nor a file: \"FOO~+1\" has no number of changes after the ~, as in FOO~1",
    ),
    (
        "FOO~one",
        "usage: \"FOO~one\" is neither a set nor a file: \"FOO~one\" has no number of changes after the ~, as in FOO~1",
    ),
    (
        "FOO~1@2001-01-03",
        "usage: \"FOO~1@2001-01-03\" is neither a set nor a file: a dataset name has only letters, digits and . _ - :, but \"FOO~1\" contains \"~\"",
    ),
    (
        "FOO@2001-01-03~1",
        "usage: \"FOO@2001-01-03~1\" is neither a set nor a file: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    (
        "FOO~4294967296",
        "usage: \"FOO~4294967296\" is neither a set nor a file: \"FOO~4294967296\" has no number of changes after the ~, as in FOO~1",
    ),
    ("BAR", "bar2"),
    ("BAR~1", "bar1"),
    ("BAR@2001-01-03", "bar1"),
    ("foo", "dataset-unknown: the registry has no dataset foo, and there is no file \"foo\""),
    ("FOOO", "dataset-unknown: the registry has no dataset FOOO, and there is no file \"FOOO\""),
    ("FOO.", "dataset-unknown: the registry has no dataset FOO., and there is no file \"FOO.\""),
    (
        ".FOO",
        "usage: \".FOO\" is neither a set nor a file: a dataset name begins with a letter or a digit, unlike \".FOO\"",
    ),
    (
        "FO O",
        "usage: \"FO O\" is neither a set nor a file: a dataset name has only letters, digits and . _ - :, but \"FO O\" contains \" \"",
    ),
    (
        " FOO",
        "usage: \" FOO\" is neither a set nor a file: a dataset name has only letters, digits and . _ - :, but \" FOO\" contains \" \"",
    ),
    (
        "FOO ",
        "usage: \"FOO \" is neither a set nor a file: a dataset name has only letters, digits and . _ - :, but \"FOO \" contains \" \"",
    ),
    (
        "FÖÖ",
        "usage: \"FÖÖ\" is neither a set nor a file: a dataset name has only letters, digits and . _ - :, but \"FÖÖ\" contains \"Ö\"",
    ),
    ("10.5555/x/y@z", "bar2"),
    ("10.5555/X/Y@Z", "bar2"),
    ("doi:10.5555/x/y@z", "bar2"),
    ("DOI:10.5555/x/y@z", "bar2"),
    ("doi: 10.5555/x/y@z", "bar2"),
    ("https://doi.org/10.5555/x/y@z", "bar2"),
    ("http://doi.org/10.5555/x/y@z", "bar2"),
    ("https://dx.doi.org/10.5555/x/y@z", "bar2"),
    ("10.5555/x/y@z@2001-01-03", "bar1"),
    ("doi:10.5555/x/y@z@2001-01-03", "bar1"),
    ("https://doi.org/10.5555/x/y@z@2001-01-03T00:00:00Z", "bar1"),
    ("10.5555/x/y@z@now", "bar2"),
    (
        "10.5555/x/y@z@2002-01-03",
        "future: 2002-01-03 is in the future: now it is 2001-01-10T12:00:00Z",
    ),
    ("10.5555/x/y@z~1", "dataset-unknown: no dataset of the registry has the DOI 10.5555/x/y@z~1"),
    ("10.5555/none", "dataset-unknown: no dataset of the registry has the DOI 10.5555/none"),
    ("10.5555/x/y", "dataset-unknown: no dataset of the registry has the DOI 10.5555/x/y"),
    ("doi:none", "not parsed: a DOI looks like 10.5067/ABC/123, but \"doi:none\" does not"),
    ("DI:{di8}", "di"),
    ("DI:{di9}", "di"),
    ("DI:{di31}", "di"),
    ("DI:{di}", "di"),
    ("DI:{DI}", "di"),
    ("di:{di}", "di"),
    ("Di:{di8}", "di"),
    ("{di}", "di"),
    ("{DI}", "di"),
    ("DI: {di}", "di"),
    ("DI: {di8}", "di"),
    (
        "{di8}",
        "dataset-unknown: the registry has no dataset {di8}; DI:{di8} is an identifier, and there is no file \"{di8}\"",
    ),
    (
        "{di31}",
        "dataset-unknown: the registry has no dataset {di31}; DI:{di31} is an identifier, and there is no file \"{di31}\"",
    ),
    ("{di}0", "identifier-unknown: the registry has no dataset and no identifier {di}0"),
    (
        "DI:{di}0",
        "not parsed: an identifier has 32 hexadecimal digits, of which the first 8 are enough: this has 33",
    ),
    (
        "DI:{di8}zz",
        "not parsed: an identifier has hexadecimal digits only, but this contains \"z\"",
    ),
    (
        "DI:1234567",
        "not parsed: an identifier has 32 hexadecimal digits, of which the first 8 are enough: this has 7",
    ),
    (
        "DI:",
        "not parsed: an identifier has 32 hexadecimal digits, of which the first 8 are enough: this has 0",
    ),
    ("DI:00000000", "identifier-unknown: no identifier begins with 00000000"),
    (
        "DI:00000000000000000000000000000000",
        "identifier-unknown: 00000000000000000000000000000000 was never in force in any dataset here",
    ),
    (
        "00000000000000000000000000000000",
        "identifier-unknown: 00000000000000000000000000000000 was never in force in any dataset here",
    ),
    ("DI:{di}@2001-01-03", "di@"),
    ("DI:{di}@2001-01-05", "di@"),
    ("DI:{di}@2001-01-05T17:00:00Z", "di@"),
    (
        "DI:{di}@2001-01-05T18:00:00Z",
        "identifier-unknown: {di} was not in force at 2001-01-05T18:00:00Z",
    ),
    ("DI:{di8}@2001-01-04", "di@"),
    ("{di}@2001-01-04", "di@"),
    ("DI:{di}@2001-01-02", "identifier-unknown: {di} was not in force at 2001-01-02"),
    ("DI:{di}@2001-01-11", "future: 2001-01-11 is in the future: now it is 2001-01-10T12:00:00Z"),
    (
        "DI:{di}@noon",
        "not parsed: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    ("DI:{di}@now", "di"),
    (
        "DI:{di}@",
        "not parsed: a time is a date, 2001-01-02, or a date and a time of day, 2001-01-02T03:04Z",
    ),
    (
        "DI:{di}~1",
        "not parsed: the number after a ~ counts the changes of a dataset, and this is an identifier",
    ),
    ("{digest}", "digest"),
    ("{d12}", "digest"),
    ("{D12}", "digest"),
    (
        "{d11}",
        "not parsed: a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set",
    ),
    (
        "sha256:",
        "not parsed: a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set",
    ),
    ("sha256:{di}", "identifier-unknown: no set has the digest sha256:{di}"),
    (
        "sha256:zz",
        "not parsed: a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set",
    ),
    (
        "sha512:{di}",
        "dataset-unknown: the registry has no dataset sha512:{di}, and there is no file \"sha512:{di}\"",
    ),
    (
        "{digest}@2001-01-04",
        "not parsed: a digest covers the files of a set, so it has no time after an @",
    ),
    (
        "{ doi:10.5555/foo, 2001-01-03, DI:{di} }",
        "FOO 2 since 2001-01-03T06:00:00Z by identifier; the date was not checked: no dataset here has doi:10.5555/foo",
    ),
    ("FOO. [Dataset]. (DI:{di}, as held at 2001-01-03).", "di@"),
    (
        "FOO. [Dataset]. (DI:{di}, as held at 2001-01-08).",
        "identifier-unknown: DI:{di} was not in force at 2001-01-08: it was in force 2001-01-03T06:00:00Z until 2001-01-05T18:00:00Z in FOO",
    ),
    ("FOO. [Dataset]. (DI:{di}, as held at 2001-01-03). {digest}", "di@"),
    ("FOO. [Dataset]. (DI:{di}, as held at 2001-01-03). sha256:000000000000", "di@"),
    (
        "BAR. https://doi.org/10.5555/x/y@z (DI:{bar}, as held at 2001-01-04).",
        "BAR 2 since 2001-01-04T00:00:00Z by identifier and time",
    ),
    (
        "BAR. https://doi.org/10.5555/x/y@z (DI:{bar}, as held at 2001-01-03).",
        "identifier-unknown: DI:{bar} was not in force at 2001-01-03: it was in force 2001-01-04T00:00:00Z until now in BAR",
    ),
    (
        "BAR. https://doi.org/10.5555/other (DI:{bar}, as held at 2001-01-03).",
        "BAR 2 since 2001-01-04T00:00:00Z by identifier; the date was not checked: no dataset here has doi:10.5555/other",
    ),
    ("DI:{di}, DI:{bar}", "not parsed: it contains several identifiers: {di} and {bar}"),
    ("DI:{di} and DI:{di}", "di"),
    (
        "seen in DI:{di8}",
        "not parsed: it contains \"DI:{di8}\", which cannot be read as an identifier",
    ),
    ("https://data.example.org/DI:{di}", "di"),
    ("https://data.example.org/#DI:{di}", "di"),
    ("https://data.example.org/di/{di}", "di"),
    ("https://doi.org/10.5555/x/y@z#DI:{bar}", "BAR 2 since 2001-01-04T00:00:00Z by identifier"),
    (
        "https://data.example.org/datasets/FOO/",
        "not parsed: the address \"https://data.example.org/datasets/FOO/\" contains no identifier, such as https://data.example.org/DI:7fb1e8ba…",
    ),
    (
        "https://data.example.org/",
        "not parsed: the address \"https://data.example.org/\" contains no identifier, such as https://data.example.org/DI:7fb1e8ba…",
    ),
    (
        "http://data.example.org/DI:{di}?select=A*",
        "not parsed: it names a part of a set: name the whole, DI:{di}, and select with \"A*\"",
    ),
    ("see {digest} there", "digest"),
    ("-", "standard input"),
    (
        "--",
        "usage: \"--\" is neither a set nor a file: a dataset name begins with a letter or a digit, unlike \"--\"",
    ),
    (".", "path ."),
    ("..", "path .."),
    ("./FOO", "path ./FOO"),
    ("./-", "path ./-"),
    ("../FOO", "path ../FOO"),
    ("/etc/hostname", "path /etc/hostname"),
    ("tests/library", "path tests/library"),
    ("tests/library/main.rs", "path tests/library/main.rs"),
    ("no/such/file", "path no/such/file"),
    ("a/b@2001-01-03", "path a/b@2001-01-03"),
    ("Cargo.toml", "path Cargo.toml"),
    (
        "README.md",
        "ambiguous: README.md is a dataset and a file: write README.md@now for the dataset, or ./README.md for the file",
    ),
    ("README.md@now", "README.md 1 since 2001-01-04T00:00:00Z"),
    ("README.md@2001-01-04", "README.md 1 since 2001-01-04T00:00:00Z"),
    ("./README.md", "path ./README.md"),
    (
        "src",
        "ambiguous: src is a dataset and a directory: write src@now for the dataset, or ./src for the directory",
    ),
    ("./src", "path ./src"),
    ("src~0", "src 1 since 2001-01-04T00:00:00Z"),
    (
        "Cargo.toml@2001-01-03",
        "dataset-unknown: the registry has no dataset Cargo.toml, and there is no file \"Cargo.toml@2001-01-03\"",
    ),
    (
        "sha256",
        "dataset-unknown: the registry has no dataset sha256, and there is no file \"sha256\"",
    ),
    ("DI", "dataset-unknown: the registry has no dataset DI, and there is no file \"DI\""),
    ("A:B", "dataset-unknown: the registry has no dataset A:B, and there is no file \"A:B\""),
    (
        "sha256:FOO",
        "not parsed: a digest is \"sha256:\" and 64 hexadecimal characters, of which 12 or more name a set",
    ),
    ("doi:FOO", "not parsed: a DOI looks like 10.5067/ABC/123, but \"doi:FOO\" does not"),
];
