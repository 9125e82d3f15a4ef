//! The check of pasted citations reports only what is true and what the registry can know.

use harness::values::AtTime;
use std::collections::BTreeSet;

use accession::citation::{Checker, CitationVerdict, CitedSet, FoundCitation};
use accession::{Citation, CitationFormat};
use accession::{Identifier, Moment, Registry, Selection, SubsetMembers};
use proptest::prelude::*;

use harness::history::{cases, change, name, now};
use harness::oracle::naive;
use harness::store::new_registry;

/// The time is not quadratic in the length: for these texts, that would take hours.
#[test]
fn a_citation_after_a_very_long_word_is_found() {
    for word in ["f", "\\f", "doi", "DI:", "sha256:", "<", "&"] {
        let long = word.repeat((512 << 10) / word.len());
        let text = format!("{long} ; DI:763122197bfb3ffbf0da14adbfb1b13b, as held at 2001-01-05");
        assert!(!FoundCitation::find_all(&text).is_empty(), "{word}");
    }
}

const IDS: [&str; 4] = ["A.1", "A.2", "B.1", "C.1"];

/// The two archives of the seed: US, and its mirror THEM, which began later.
fn registry() -> Registry {
    let registry = new_registry();
    let apply = |dataset: &str, at: &str, ids: &[&str]| {
        let at: Moment = at.parse().unwrap();
        registry
            .change(&name(dataset), &change(ids.iter().copied(), []).at(at.of_change()))
            .unwrap();
    };
    apply("US", "2001-01-02", &IDS[..2]);
    apply("US", "2001-01-03", &IDS[2..3]);
    apply("US", "2001-02-03", &IDS[3..]);
    apply("THEM", "2001-02-01", &IDS[..3]);
    for (dataset, doi) in [("US", "10.9999/US/FOOL2"), ("THEM", "10.9999/THEM/FOOL2")] {
        registry
            .edit_dataset(&name(dataset), |dataset| {
                dataset.doi = Some(doi.parse().unwrap());
            })
            .unwrap();
    }
    registry
}

/// Every identifier that the registry issued, including those of subsets.
fn issued() -> BTreeSet<Identifier> {
    [2, 3, 4].map(|held| naive(IDS[..held].iter().copied())).into()
}

/// The verdict on each citation in a text, and the sets that they cite.
fn checked(registry: &Registry, text: &str) -> (Vec<CitationVerdict>, Vec<CitedSet>) {
    let mut checker = Checker::new(registry).unwrap();
    let pasted = FoundCitation::find_all(text);
    let verdicts = (1..).zip(&pasted).map(|(number, pasted)| checker.check(number, pasted));
    let verdicts = verdicts.collect::<Result<_, _>>().unwrap();
    (verdicts, checker.sets())
}

/// The problem of each citation, else its note, else `ok`.
fn reported(text: &str) -> Vec<String> {
    let (verdicts, _) = checked(&registry(), text);
    verdicts
        .into_iter()
        .map(|verdict| match (verdict.problem, verdict.note) {
            (Some(problem), _) => format!("! {problem}"),
            (None, Some(note)) => note,
            (None, None) => "ok".to_owned(),
        })
        .collect()
}

#[test]
fn every_disagreement_is_reported() {
    let [first, shared, last] = [2, 3, 4].map(|held| naive(IDS[..held].iter().copied()));
    let cases = [
        (format!("{{ doi:10.9999/US/FOOL2, 2001-01-05, DI:{shared} }}"), "ok"),
        (format!("{{ doi:10.9999/us/fool2, 2001-01-02, DI:{first} }}"), "ok"),
        (
            format!("{{ doi:10.9999/US/FOOL2, 2001-01-04, DI:{first} }}"),
            "! the identifier was not in force at 2001-01-04",
        ),
        (
            format!("{{ doi:10.9999/US/FOOL2, 2001-02-04, DI:{shared} }}"),
            "! the identifier was not in force at 2001-02-04 in US, which it names",
        ),
        (
            format!("{{ doi:10.9999/THEM/FOOL2, 2001-02-04, DI:{last} }}"),
            "! it names THEM, which never held this set",
        ),
        (
            format!("{{ doi:10.9999/other, 2001-01-05, DI:{shared} }}"),
            "the date was not checked: no dataset here has doi:10.9999/other",
        ),
        (
            format!("{{ US, 2001-02-04, DI:{shared} }}"),
            "! the identifier was not in force at 2001-02-04 in US, which it names",
        ),
        (format!("{{ NOSUCH, 2001-01-05, DI:{shared} }}"), "no dataset here is called NOSUCH"),
        (
            format!("{{ THEM, 2001-02-04, DI:{last} }}"),
            "! it names THEM, which never held this set",
        ),
        (
            format!("{{ doi:10.9999/US/FOOL2, 2999-01-05, DI:{last} }}"),
            "! the identifier was not in force at 2999-01-05",
        ),
        (
            format!("{{ doi:10.9999/US/FOOL2, 2001-02-30, DI:{last} }}"),
            "! \"2001-02-30\" is not a date",
        ),
        (
            "DI:00000000000000000000000000000000".to_owned(),
            "! no dataset here ever had this identifier",
        ),
        (format!("DI:{last}0"), "! \"DI:"),
        (format!("DI:{last}"), "ok"),
        (format!("DI:{first}, as held at&nbsp;2001-01-04"), "! the identifier was not in force"),
        (
            format!(
                "[10.9999/US/FOOL2](https://doi.org/10.9999/US/FOOL2), 2001-02-04, DI:{shared}"
            ),
            "! the identifier was not in force at 2001-02-04 in US, which it names",
        ),
        ("DI:3fe876e6, as held at 2001-02-05".to_owned(), "! \"DI:3fe876e6\" is not an identifier"),
    ];
    for (text, expected) in cases {
        let reported = reported(&text);
        assert_eq!(reported.len(), 1, "{text}");
        assert!(reported[0].starts_with(expected), "{text}: {reported:?}");
    }
}

#[test]
fn that_a_dataset_was_withdrawn_is_noted_of_each_citation_of_it() {
    let (registry, shared) = (registry(), naive(IDS[..3].iter().copied()));
    registry.withdraw_dataset(&name("US"), "moved").unwrap();
    let text = format!(
        "{{ doi:10.9999/US/FOOL2, 2001-01-05, DI:{shared} }} {{ doi:10.9999/THEM/FOOL2, 2001-02-05, DI:{shared} }}"
    );
    let (verdicts, _) = checked(&registry, &text);
    let note = format!("US was withdrawn at {}: \"moved\"", now());
    assert_eq!(
        verdicts.iter().map(|it| it.note.as_deref()).collect::<Vec<_>>(),
        [Some(&*note), None]
    );
    assert!(verdicts.iter().all(|verdict| verdict.ok));
}

#[test]
fn citations_of_different_sets_are_distinguished() {
    let [first, shared, last] = [2, 3, 4].map(|held| naive(IDS[..held].iter().copied()));
    let text = format!("DI:{shared} DI:{first} DI:{shared} DI:{last}");
    let (_, sets) = checked(&registry(), &text);
    let sets: Vec<&[u64]> = sets.iter().map(|set| set.citations.as_slice()).collect();
    assert_eq!(sets, [&[1, 3][..], &[2], &[4]]);
}

#[test]
fn a_subset_that_is_cited_again_at_a_later_date_neither_agrees_nor_disagrees() {
    let registry = registry();
    let wanted = SubsetMembers::Patterns(vec!["A.*".parse().unwrap()]);
    // Since 2001-01-03, A.* selects the set that the whole dataset held before.
    let cite =
        |at: &str| registry.cite_subset(&name("US"), Some(at.parse().unwrap()), &wanted).unwrap();
    let first = cite("2001-01-05");
    let again = cite("2001-02-10");
    assert_eq!(again.period.set.subset(), first.period.set.subset(), "it is stored once");
    for (date, agrees) in
        [("2001-01-05", Some(true)), ("2001-02-10", None), ("2500-01-01", Some(false))]
    {
        let identifier = again.period.set.identifier();
        let text = format!("{{ doi:10.9999/US/FOOL2, {date}, DI:{identifier} }}");
        let (verdicts, _) = checked(&registry, &text);
        assert_eq!(verdicts[0].agrees, agrees, "{date}");
        assert_eq!(verdicts[0].ok, agrees != Some(false), "{date}");
        assert_eq!(verdicts[0].note.is_some(), agrees.is_none(), "{date}");
    }
}

#[test]
fn every_format_of_a_difficult_record_is_recognised_and_agrees() {
    const PLAIN_DOI: &str = "10.9999/US/FOOL2";
    const PLAIN_TITLE: &str = "FOO";
    // Without `*` and `\`, which are markup in a pasted tuple.
    let mut dois: Vec<String> =
        ["a,b", "a;b", "a|b", "a?b", "a%20b", "a\"b", "a--b", "値", "(a)b", "a/"]
            .map(|suffix| format!("10.9999/{suffix}"))
            .into();
    dois.extend(".,:;!?')](_#|\"@&=%".chars().map(|mark| format!("10.9999/a{mark}")));
    let titles = [
        "Inventory, as held at 1999-12-31",
        "As held at 1999-12-31: an inventory",
        "As of 1999-12-31, as held on 1999-12-30",
        "DI: an inventory",
        "{ a, 1999-12-31, b }",
    ];
    let at: Option<Moment> = Some("2001-01-05".parse().unwrap());
    let registry = registry();
    let records = dois.iter().map(|doi| (doi.as_str(), PLAIN_TITLE));
    for (doi, title) in records.chain(titles.map(|title| (PLAIN_DOI, title))) {
        registry
            .edit_dataset(&name("US"), |dataset| {
                dataset.doi = Some(doi.parse().unwrap());
                dataset.title = Some(title.to_owned());
            })
            .unwrap();
        let selection = Selection::Dataset { name: name("US"), at };
        let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
        let identifier = cited.period.set.identifier();
        let citation = Citation::new(cited, at, "2026-01-02".parse().unwrap());
        let resolved = citation.clone().with_resolver(Some("https://data.example.org"));
        let formats = CitationFormat::ALL.iter();
        for (citation, format) in formats.flat_map(|it| [(&citation, it), (&resolved, it)]) {
            let text = citation.render(*format);
            let (verdicts, _) = checked(&registry, &text);
            let reported: Vec<_> = verdicts
                .iter()
                .map(|verdict| {
                    let doi = verdict.doi.as_ref().map(ToString::to_string);
                    (verdict.identifier, doi, verdict.date.as_deref(), verdict.agrees)
                })
                .collect();
            let expected =
                [(Some(identifier), Some(doi.to_owned()), Some("2001-01-05"), Some(true))];
            assert_eq!(reported, expected, "{text}");
        }
    }
}

/// The citation of one CSL-JSON record in the styles of fourteen journals. `tests/citation_styles.py` prints
/// more styles with a citation processor.
#[test]
fn the_identifier_is_read_in_what_the_styles_of_journals_print() {
    let identifier = naive(IDS[..3].iter().copied());
    let title = format!("FOO Level 2 [DI:{identifier}, 2001-01-05]");
    let doi = "https://doi.org/10.9999/US/FOOL2";
    let printed = [
        format!("Tilmes, C. (2001). {title} (Version 002) [Data set]. US Archive. {doi}"),
        format!("Tilmes, C., 2001: {title}. US Archive, accessed 2 January 2026, {doi}."),
        format!("Tilmes, C. (2001). {title} (Version 002) [Dataset]. US Archive. US. {doi}"),
        format!("Tilmes, Curt. 2001. “{title}.” Version 002. US Archive. US. {doi}."),
        format!("Tilmes, C.: {title} (002), US [dataset], {doi}, 2001."),
        format!("Tilmes, C., 2001. {title}. {doi}"),
        format!("Tilmes, C. (2001). {title}. doi: 10.9999/US/FOOL2"),
        format!("Tilmes, C. (2001) “{title}”. US Archive. Available at: {doi}."),
        format!("[1]C. Tilmes, “{title}”. US Archive, 2001. doi: 10.9999/US/FOOL2."),
        format!("Tilmes, C. “{title}”. Version 002, US Archive, 2001, US, {doi}."),
        format!("1.Tilmes, C. {title}. US Archive {doi} (2001)."),
        format!("1. Tilmes C. {title}. US Archive; 2001. doi:10.9999/US/FOOL2"),
        format!("1. C. Tilmes, {title}, version 002, US Archive (2001); {doi}."),
        format!("Tilmes C (2001) {title}"),
    ];
    let registry = registry();
    // The last text has no DOI. `address` has the address of the set beside the DOI, as a processor may print
    // it.
    let address = format!("Tilmes, C.: {title}. https://data.example.org/DI:{identifier}. {doi}");
    for text in printed.iter().chain([&address]) {
        let (verdicts, _) = checked(&registry, text);
        let [verdict] = verdicts.as_slice() else { panic!("{text}: {verdicts:?}") };
        let has_doi = text.contains("10.9999");
        assert_eq!(verdict.doi.is_some(), has_doi, "{text}");
        let found = (verdict.identifier, verdict.date.as_deref(), verdict.agrees, verdict.ok);
        assert_eq!(found, (Some(identifier), Some("2001-01-05"), Some(true), true), "{text}");
        // A wrong date is reported if the text has a DOI.
        let wrong = text.replace("2001-01-05", "2001-02-05");
        assert_eq!(checked(&registry, &wrong).0[0].ok, !has_doi, "{wrong}");
    }
    // Each line of a paragraph has its own DOI.
    let other = printed[0].replace("/US/", "/THEM/").replace("2001-01-05", "2001-02-05");
    let (verdicts, _) = checked(&registry, &format!("{}\n{other}\n{}", printed[0], printed[13]));
    let dois = verdicts.iter().map(|it| it.doi.as_ref().map(ToString::to_string));
    let expected = [Some("10.9999/US/FOOL2"), Some("10.9999/THEM/FOOL2"), None];
    assert_eq!(dois.collect::<Vec<_>>(), expected.map(|it| it.map(str::to_owned)));
    assert!(verdicts.iter().all(|verdict| verdict.ok), "{verdicts:?}");
}

#[test]
fn a_citation_of_another_archive_is_found_whatever_its_date_and_digest_are() {
    let (registry, shared) = (registry(), naive(IDS[..3].iter().copied()));
    let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    let verdict_of = |doi: &str| {
        let text = format!("https://doi.org/{doi} (DI:{shared}, as held at 1999-01-01, {digest})");
        let (mut verdicts, _) = checked(&registry, &text);
        verdicts.remove(0)
    };
    let elsewhere = verdict_of("10.9999/other");
    assert!(elsewhere.ok && elsewhere.agrees.is_none(), "{elsewhere:?}");
    let note = format!(
        "the date was not checked: no dataset here has doi:10.9999/other; the digest was not checked: no set here \
         has {digest}"
    );
    assert_eq!(elsewhere.note.unwrap(), note);
    let own = verdict_of("10.9999/US/FOOL2");
    assert!(!own.ok && own.agrees == Some(false), "{own:?}");
}

/// A way to garble a text.
#[derive(Debug, Clone)]
enum Garbling {
    Replace(char),
    Remove,
    Insert(char),
    Cut,
    Double,
}

fn garblings() -> impl Strategy<Value = Vec<(prop::sample::Index, Garbling)>> {
    let characters = || {
        prop_oneof![
            prop::sample::select("0123456789abcdefABCDEF".chars().collect::<Vec<_>>()),
            prop::sample::select(
                " {},;:.@#\\\"\n\r\tDI10/é値\u{202e}\u{0}".chars().collect::<Vec<_>>()
            ),
            any::<char>(),
        ]
    };
    let garbling = prop_oneof![
        4 => characters().prop_map(Garbling::Replace),
        2 => Just(Garbling::Remove),
        2 => characters().prop_map(Garbling::Insert),
        1 => Just(Garbling::Cut),
        1 => Just(Garbling::Double),
    ];
    prop::collection::vec((any::<prop::sample::Index>(), garbling), 0..6)
}

fn garbled(text: &str, garblings: &[(prop::sample::Index, Garbling)]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (index, garbling) in garblings {
        if characters.is_empty() {
            break;
        }
        let at = index.index(characters.len());
        match garbling {
            Garbling::Replace(character) => characters[at] = *character,
            Garbling::Remove => drop(characters.remove(at)),
            Garbling::Insert(character) => characters.insert(at, *character),
            Garbling::Cut => characters.truncate(at),
            Garbling::Double => characters.extend_from_within(at..),
        }
    }
    characters.into_iter().collect()
}

/// The letters and digits of a text. An identifier may be broken over lines, after a hyphen, in a quoted mail,
/// by markup or by a footnote mark. A ligature counts as its letters.
fn squeezed(text: &str) -> String {
    let is_footnote = |c: char| matches!(c, '¹' | '²' | '³' | '\u{2070}'..='\u{2079}');
    let text = text.to_lowercase().replace('\u{fb00}', "ff");
    text.chars().filter(|c| c.is_alphanumeric() && !is_footnote(*c)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(40), ..ProptestConfig::default() })]

    #[test]
    fn a_garbled_citation_is_known_only_if_its_identifier_is(
        format in prop::sample::select(CitationFormat::ALL.to_vec()),
        garblings in garblings(),
    ) {
        let registry = registry();
        let at: Option<Moment> = Some("2001-01-05".parse().unwrap());
        let selection = Selection::Dataset { name: name("US"), at };
        let cited = registry.snapshot().unwrap().cite(&selection).unwrap();
        let citation = Citation::new(cited, at, "2026-01-02".parse().unwrap());
        let text = garbled(&citation.render(format), &garblings);
        let squeezed = squeezed(&text);
        let (verdicts, _) = checked(&registry, &text);
        prop_assert_eq!(verdicts.len(), FoundCitation::find_all(&text).len());
        for verdict in &verdicts {
            if let Some(identifier) = verdict.identifier {
                // A digest identifies a set, too.
                let digest = verdict.digest.as_ref().map(|it| it.to_string().replace(':', ""));
                let is_there = squeezed.contains(&identifier.to_string());
                let is_of_digest = digest.is_some_and(|digest| squeezed.contains(&digest));
                prop_assert!(is_there || is_of_digest, "{identifier} is in the text");
                prop_assert_eq!(verdict.known, issued().contains(&identifier));
            } else {
                prop_assert!(!verdict.known && !verdict.ok);
            }
            prop_assert_eq!(verdict.ok, verdict.problem.is_none());
            prop_assert_eq!(verdict.known, !verdict.intervals.rows.is_empty());
        }
    }
}
