//! Citations are recognised in whatever people paste.

use accession::citation::{
    FoundCitation, ParsedField, citations_of, dois_without_identifier, find,
};
use accession::citation::{Reference, references};

const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

/// The identifier, the DOI and the date of each citation found; `!` marks what cannot be read.
fn found(text: &str) -> Vec<String> {
    let one = |pasted: FoundCitation| {
        let identifier = match pasted.identifier {
            Some(ParsedField::Read(identifier)) => identifier.to_string().replace(DI, "A"),
            Some(ParsedField::Unreadable(text)) => format!("!{text}"),
            None => "-".to_owned(),
        };
        let doi = pasted.doi.map_or("-".to_owned(), |doi| doi.to_string());
        let date = match pasted.date {
            None => "-".to_owned(),
            Some(ParsedField::Read(moment)) => moment.to_string(),
            Some(ParsedField::Unreadable(text)) => format!("!{text}"),
        };
        format!("{identifier} {doi} {date}")
    };
    find(text).into_iter().map(one).collect()
}

#[test]
fn digests_are_found_beside_identifiers_and_alone() {
    let digest = format!("sha256:{}", "5e2b".repeat(16));
    let (half, other_half) = digest.split_at(40);
    let cases = [
        (format!("(DI:{DI}, as held at 2001-01-05 by US, {digest}). Accessed"), Some(&digest[..])),
        (format!("(DI:{DI}, as held at 2001-01-05, {half}\n  {other_half})"), Some(&digest)),
        (format!("DI:{DI}, {}", digest.to_uppercase()), Some(&digest)),
        (format!("DI:{DI}, {}…", &digest[..20]), Some(&digest[..20])),
        (format!("@misc{{k, note = {{DI:{DI}}}, x = {{{digest}}} }}"), Some(&digest)),
        (format!("{{\"a\": \"{digest}\", \"b\": \"DI:{DI}\"}}"), Some(&digest)),
        (format!("FOO, as held at 2001-01-05, {digest}"), Some(&digest)),
        (format!("The sets sha256:{} and {digest} (DI:{DI})", "0".repeat(64)), Some(&digest)),
        (format!("The image {digest}. It has DI:{DI}"), None),
        (format!("DI:{DI}, sha256:5e2b"), Some("!sha256:5e2b")),
        (format!("DI:{DI}, sha256 sums. {digest}"), None),
        (format!("DI:{DI}. The image name@{digest}"), None),
        (format!("DI:{DI}, md5:{}", "5e2b".repeat(8)), None),
    ];
    for (text, expected) in cases {
        let [pasted] = find(&text).try_into().unwrap();
        let digest = pasted.digest.map(|digest| match digest {
            ParsedField::Read(digest) => digest.to_string(),
            ParsedField::Unreadable(text) => format!("!{text}"),
        });
        assert_eq!(digest.as_deref(), expected, "{text}");
        assert_eq!(pasted.identifier.is_none(), !text.contains("DI:"), "{text}");
    }
}

/// The fixture has texts, each with a line for every citation that is found in it.
#[test]
fn citations_are_found_in_whatever_is_pasted() {
    let cases = include_str!("../../fixtures/pasted.txt");
    let (mut pasted, mut expected, mut number) = (Vec::new(), Vec::new(), 0);
    for line in cases.lines().filter(|line| !line.starts_with("## ")).chain([""]) {
        match line.strip_prefix("=> ") {
            Some(citation) => expected.push(citation),
            None if expected.is_empty() => pasted.push(line),
            None => {
                let text = pasted.join("\n").replace('␍', "\r");
                let text = text.replace("<U+00AD>", "\u{ad}").replace("<U+FEFF>", "\u{feff}");
                expected.retain(|citation| *citation != "nothing");
                assert_eq!(found(text.trim_start_matches('\n')), expected, "{text}");
                (pasted, expected, number) = (Vec::new(), Vec::new(), number + 1);
            }
        }
    }
    assert!(number > 100, "{number}");
    assert!(found("").is_empty());
}

/// The key, the line and the DOIs of each reference, and how many citations it has.
fn listed(text: &str) -> Vec<String> {
    let shown = |reference: &Reference| {
        let dois: Vec<String> =
            dois_without_identifier(reference, &[]).iter().map(ToString::to_string).collect();
        let key = reference.key.as_deref().unwrap_or("-");
        let citations = citations_of(reference).len();
        format!("{key} {} [{}] {citations}", reference.line, dois.join(" "))
    };
    references(text).iter().map(shown).collect()
}

fn bibtex() -> String {
    format!(
        "% ours\n\n@string{{us = \"10.9999/US\"}}\n\n@dataset{{first,\n  doi = {{10.9999/US\\_1}},\n  title = {{12. A\n\n}}\n}}\n\n@misc{{second,\n  note = {{DI:{DI}, as held at 2001-01-05}},\n  url = \"https://doi.org/10.9999/US\",\n}}\n@article(third, doi = {{10.9999/US}})\n@misc{{open,\n  title = {{x,\n  doi = {{10.9999/US}}\n}}\n@misc{{last, howpublished = {{\\url{{https://doi.org/10.9999/US}}}}}}\n"
    )
}

fn ris() -> String {
    format!(
        "TY  - DATA\nID  - first\nDO  - 10.9999/US\nER  - \n\nTY - DATA\nID  - second\nN1  - DI:{DI}\nER  -\n"
    )
}

fn csl() -> String {
    format!(
        "[\n {{\"id\":\"a]}}{{\",\"DOI\":\"10.9999/US\"}},\n {{\n \"id\": 2, \"x\": {{}}, \"note\":\"DI:{DI}\"}}\n]"
    )
}

#[test]
fn each_reference_has_its_key_and_its_line() {
    let expected = [
        "- 1 [] 0",
        "first 5 [10.9999/US_1] 0",
        "second 12 [10.9999/US] 1",
        "third 16 [10.9999/US] 0",
        "open 17 [10.9999/US] 0",
        "last 21 [10.9999/US] 0",
    ];
    assert_eq!(listed(&bibtex()), expected);
    assert_eq!(listed(&ris()), ["first 1 [10.9999/US] 0", "second 6 [] 1"]);
    let expected = ["a]}{ 2 [10.9999/US] 0", "2 3 [] 1"];
    assert_eq!(listed(&csl()), expected);
    assert_eq!(
        listed(&format!("{{\"x\": {{}}, \"items\":{}}}", csl())),
        ["a]}{ 2 [10.9999/US] 0", "2 3 [] 1"]
    );
    let text = format!(
        "\n[1] A. doi:10.9999/US.\n[2] B, DI:{DI}\n\nSee https://doi.org/10.9999/US,\nas we did.\n"
    );
    assert_eq!(listed(&text), ["- 2 [10.9999/US] 0", "- 3 [] 1", "- 5 [10.9999/US] 0"]);
    assert!(listed("").is_empty());
}

#[test]
fn no_damage_of_a_list_makes_it_panic() {
    for whole in [bibtex(), ris(), csl()] {
        for (at, next) in whole.char_indices().map(|(at, it)| (at, at + it.len_utf8())) {
            listed(&whole[..at]);
            for piece in ["", "@", "{", "}", "\"", "\\", ",", "[", "<", "é", "TY  - x\n", "\n"] {
                listed(&format!("{}{piece}{}", &whole[..at], &whole[next..]));
            }
        }
    }
}
