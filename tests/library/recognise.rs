//! Citations are recognised in whatever people paste.

use accession::citation::{FoundCitation, ParsedField};

const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

/// The identifier, the DOI and the date of each citation found. `!` marks unreadable fields.
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
    FoundCitation::find_all(text).into_iter().map(one).collect()
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
        let [pasted] = FoundCitation::find_all(&text).try_into().unwrap();
        let digest = pasted.digest.map(|digest| match digest {
            ParsedField::Read(digest) => digest.to_string(),
            ParsedField::Unreadable(text) => format!("!{text}"),
        });
        assert_eq!(digest.as_deref(), expected, "{text}");
        assert_eq!(pasted.identifier.is_none(), !text.contains("DI:"), "{text}");
    }
}

/// After each text, the fixture has a line for every citation found in it.
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
