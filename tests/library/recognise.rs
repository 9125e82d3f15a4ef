//! Citations are recognised in whatever people paste.

use accession::citation::recognise::{
    Pasted, Statement, citations_of, dois_without_identifier, find,
};
use accession::citation::references::{Reference, references};

const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

/// The identifier, the DOI and the date of each citation found; `!` marks what cannot be read.
fn found(text: &str) -> Vec<String> {
    let one = |pasted: Pasted| {
        let identifier = match pasted.identifier {
            Some(Statement::Read(identifier)) => identifier.to_string().replace(DI, "A"),
            Some(Statement::Unreadable(text)) => format!("!{text}"),
            None => "-".to_owned(),
        };
        let doi = pasted.doi.map_or("-".to_owned(), |doi| doi.to_string());
        let date = match pasted.date {
            None => "-".to_owned(),
            Some(Statement::Read(moment)) => moment.to_string(),
            Some(Statement::Unreadable(text)) => format!("!{text}"),
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
            Statement::Read(digest) => digest.to_string(),
            Statement::Unreadable(text) => format!("!{text}"),
        });
        assert_eq!(digest.as_deref(), expected, "{text}");
        assert_eq!(pasted.identifier.is_none(), !text.contains("DI:"), "{text}");
    }
}

#[test]
fn citations_are_found_in_every_syntax() {
    let upper = DI.to_uppercase();
    let (half, other_half) = DI.split_at(16);
    let cases = [
        (
            format!("{{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:{DI} }}"),
            "A 10.9999/US/FOOL2.v2 2001-01-05",
        ),
        (
            format!("{{doi:10.9999/US/FOOL2.v2,2001-01-05,DI:{DI}}}"),
            "A 10.9999/US/FOOL2.v2 2001-01-05",
        ),
        (
            format!("{{ US.FOOL2.002, 2001-01-05T10:00:00Z, di:{upper} }}"),
            "A - 2001-01-05T10:00:00Z",
        ),
        (format!("{{ doi:10.9999/x, 2001-13-05, DI:{DI} }}"), "A 10.9999/x !2001-13-05"),
        (
            format!(
                "(2001). FOO. https://doi.org/10.9999/x%3C(DI:1) (DI:{DI}, as held at 2001-01-05 by US). Accessed 2026-01-01."
            ),
            "A 10.9999/x<(DI:1) 2001-01-05",
        ),
        (format!("FOO, as held\n  on 2001-01-05, DI: {DI}."), "A - 2001-01-05"),
        (format!("As of this writing, DI:{half}\n   {other_half}"), "A - -"),
        (format!("as held at 2001-01-99, DI:{DI}"), "A - !2001-01-99"),
        (format!("https://doi.org/10.9999/x#DI:{DI}"), "A 10.9999/x -"),
        (format!("see {DI}."), "A - -"),
        (format!("2001. (10.1002/(SICI)1096) DI:{DI}"), "A 10.1002/(SICI)1096 -"),
        (
            format!(
                "@misc{{k, year = {{2001}}, doi = {{10.9999/x}},\n\n note = {{DI:{DI}, as held at 2001-01-05}}, x = {{DI:{DI}}} }} 10.1/y"
            ),
            "A 10.9999/x 2001-01-05",
        ),
        (
            format!(
                "TY  - DATA\r\nDO  - 10.9999/x\r\nPY  - 2001\r\nAN  - DI:{DI}\r\nN1  - DI:{DI}, as held at 2001-01-05\r\nER  - \r\n"
            ),
            "A 10.9999/x 2001-01-05",
        ),
        (
            format!(
                r#"{{"DOI":"10.9999/x","note":"DI:{DI}, as held at 2001-01-05","related":"https://doi.org/10.9999/x#DI:{upper}"}}"#
            ),
            "A 10.9999/x 2001-01-05",
        ),
        (format!("DI:{}", &DI[1..]), "!DI:63122197bfb3ffbf0da14adbfb1b13b - -"),
        (format!("DI:{DI}0"), "!DI:763122197bfb3ffbf0da14adbfb1b13b0 - -"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&text), [expected], "{text}");
    }
    for text in ["", "DI: a thing", "(DI = DatasetInstance?)", "AUDI:quattro", "DI:", "\u{feff}é"]
    {
        assert!(found(text).is_empty(), "{text}");
    }
}

#[test]
fn each_of_several_has_its_own_doi_and_date() {
    let seed = format!(
        "Alice's data citation includes these: {{ doi:10.9999/US/FOOL2.v2,\n2001-01-05, DI:{DI} }}.  Bob's citation\nincludes these: {{ doi:10.9999/THEM/FOOL2.v2, 2001-02-03,\nDI:{DI} }}. (DI = DatasetInstance?)"
    );
    assert_eq!(
        found(&seed),
        ["A 10.9999/US/FOOL2.v2 2001-01-05", "A 10.9999/THEM/FOOL2.v2 2001-02-03"]
    );
    let listed = format!(
        "One. https://doi.org/10.9999/a (DI:{DI}, as held at 2001-01-05).\n\nTwo (DI:{DI}).\nThree. doi:10.9999/c (DI:{DI}, as held at 2001-01-07)."
    );
    assert_eq!(found(&listed), ["A 10.9999/a 2001-01-05", "A - -", "A 10.9999/c 2001-01-07"]);
}

#[test]
fn citations_are_found_in_spite_of_markup_and_broken_lines() {
    let (half, other_half) = DI.split_at(16);
    let cases = [
        (
            format!(
                "\\url{{https://doi.org/10.9999/x}} (\\texttt{{DI:{DI}}}, as held at 2001-01-02 by US)."
            ),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("DI:{DI}, as held at **2001-01-02**"), "A - 2001-01-02"),
        (format!("<li>DI:{DI}, as held at <b>2001-01-02</b>).</li>"), "A - 2001-01-02"),
        (format!("> DI:{DI}, as held\n> at 2001-01-02"), "A - 2001-01-02"),
        (format!("DI:{DI}, as held at 2001-\n01-02"), "A - 2001-01-02"),
        (
            format!("{{ \"doi:10.9999/x\", \"2001\u{2013}01\u{2013}02\", \"DI:{DI}\" }}"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("{{ DI:{DI}, doi:10.9999/x, 2001-01-02 }}"), "A 10.9999/x 2001-01-02"),
        (format!("{{doi:10.9999/a,b.,2001-01-02,DI:{DI}}}"), "A 10.9999/a,b. 2001-01-02"),
        (format!("{{ 2001-01-02, doi:10.9999/x#DI:{DI}, US }}"), "A 10.9999/x 2001-01-02"),
        (format!("DI:{half}-\n{other_half}"), "A - -"),
        (format!("DI:{half}\n> {other_half}"), "A - -"),
        (format!("DI:{half} {other_half}, as held at 2001-01-02"), "A - 2001-01-02"),
        (format!("DI:{} added", &DI[..27]), "!DI:763122197bfb3ffbf0da14adbfb - -"),
        (format!("DI:{half}\u{ad}{other_half}"), "A - -"),
        (format!("note = {{DI:{DI}, as held at 2001-01-02}},"), "A - 2001-01-02"),
        (format!("FOO {{DI:{DI}, as held at 2001-01-02}}"), "A - 2001-01-02"),
        (
            format!("note = {{DI:{DI}, as held at 2001-01-02, 2 of 3 granules, selected by A*}}"),
            "A - 2001-01-02",
        ),
        (
            format!("{{ doi:10.9999/x, 2001-01-02, DI:{DI} }} as of 2024-01-01 the newest"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("{{\\bf DI:{DI}, as held at 2001-01-02}}"), "A - 2001-01-02"),
        (format!("@misc( k,\n note = {{DI:{DI}, as held at 2001-01-02}} )"), "A - 2001-01-02"),
        (format!("{{ 2001-01-02, DI:{DI} }}"), "A - 2001-01-02"),
        (format!("(DI:{DI}, as held at 2001-02-03 05:00:00Z)"), "A - 2001-02-03T05:00:00Z"),
        (format!("{{ x, 2001-02-03 05:00:00Z, DI:{DI} }}"), "A - 2001-02-03T05:00:00Z"),
        (format!("see https://doi.org/10.9999/x#DI:{DI} and [1](https://y.org)"), "A 10.9999/x -"),
        (
            format!("[10.9999/x](https://doi.org/10.9999/x), as held at 2001-01-02, DI:{DI}"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("\\{{ doi:10.9999/x, 2001-01-02, DI:{DI} \\}}"), "A 10.9999/x 2001-01-02"),
        (format!("{{ doi:10.9999/x; 2001-01-\n02; DI : {DI} }}"), "A 10.9999/x 2001-01-02"),
        (format!("“https://doi.org/10.9999/x?utm=y” (DI:{DI})"), "A 10.9999/x -"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&text), [expected], "{text}");
    }
}

#[test]
fn a_tuple_in_a_record_states_its_date() {
    let tuple = format!("{{ doi:10.9999/x, 2001-01-02, DI:{DI} }}");
    let cases = [
        format!("TY  - DATA\r\nN1  - {tuple}\r\nER  - \r\n"),
        format!("@misc{{k,\n note = {{{tuple}}},\n urldate = {{2026-01-01}}\n}}"),
        format!("@misc{{k,\n note = {{\\{{ doi:10.9999/x, 2001-01-02, DI:{DI} \\}}}},\n}}"),
        format!("@misc{{k,\n note = {{doi:10.9999/x, 2001-01-02, DI:{DI}}},\n}}"),
        format!(r#"{{"type":"dataset","note":"{tuple}","title":"as held at 1999-12-31"}}"#),
        format!(r#"{{"format":"tuple","citation":"{tuple}\n"}}"#),
    ];
    for text in cases {
        assert_eq!(found(&text), ["A 10.9999/x 2001-01-02"], "{text}");
    }
}

#[test]
fn the_doi_of_an_entry_is_its_field_or_an_address() {
    let others = "abstract = {Mirror of 10.1/y}";
    let cases = [
        format!("@misc{{k,\n {others},\n doi = \"10.9999/x\",\n note = \"DI:{DI}\"\n}}"),
        format!("@misc{{k, {others}, DOI={{10.9999/x}}, note={{DI:{DI}}} }}"),
        format!("@misc{{k, url={{https://x.org/10.1/y}}, doi={{10.9999/x}}, note={{DI:{DI}}} }}"),
        format!(
            "@misc{{k,\n {others},\n howpublished = {{\\url{{https://doi.org/10.9999/x}}}},\n note = {{DI:{DI}}}\n}}"
        ),
    ];
    for text in cases {
        assert_eq!(found(&text), ["A 10.9999/x -"], "{text}");
    }
    assert_eq!(found(&format!("@misc{{k, doi = {{,\n note={{DI:{DI}}} }}")), ["A - -"]);
}

#[test]
fn other_dates_and_dois_are_not_taken_for_those_of_the_citation() {
    let cases = [
        (format!("DI:{DI} (status as of 1999-01-01)"), "A - -"),
        (format!("Published 1999-05-05 (DI:{DI})"), "A - -"),
        (format!("accessed 2026-01-01; DI:{DI}"), "A - -"),
        (format!("accessed 2026-01-01, DI:{DI}"), "A - -"),
        (
            format!("Inventory as held at 1999-12-31 (DI:{DI}, as held at 2001-01-02)"),
            "A - 2001-01-02",
        ),
        (format!("10.9999/10.1/y, DI:{DI}"), "A 10.9999/10.1/y -"),
        (format!("FOO from 1999-01-01 to 2000-01-01, DI:{DI}"), "A - -"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&text), [expected], "{text}");
    }
    let list = format!(
        "[2] One (DI:{DI}, as held at 2001-01-02 by US). Accessed 2026-01-01.\n[3] Some paper. https://doi.org/10.1000/zzz.\n[4] Tilmes, no date (DI:{DI})."
    );
    assert_eq!(found(&list), ["A - 2001-01-02", "A - -"]);
}

#[test]
fn each_identifier_has_the_date_beside_it() {
    let both = format!("(as held at 2001-02-10, DI:{DI}; as held at 2001-01-05, DI:{DI})");
    assert_eq!(found(&both), ["A - 2001-02-10", "A - 2001-01-05"]);
    let around =
        format!("as held at 2001-02-10 (DI:{DI}) and, as held at 2001-01-05, the newer (DI:{DI})");
    assert_eq!(found(&around), ["A - 2001-02-10", "A - 2001-01-05"]);
    let begun = format!(
        "One (DI:{DI}, as held at 2001-01-05).\n\nTwo (DI:3fe876e6, as held at 2001-02-05)."
    );
    assert_eq!(found(&begun), ["A - 2001-01-05", "!DI:3fe876e6 - 2001-02-05"]);
}

#[test]
fn every_document_of_several_is_read() {
    let item =
        |date: &str, doi: &str| format!(r#"{{"DOI":"{doi}","note":"DI:{DI}, as held at {date}"}}"#);
    let (one, other) = (item("2001-01-05", "10.9999/a,b"), item("2001-05-05", "10.9999/b."));
    let expected = ["A 10.9999/a,b 2001-01-05", "A 10.9999/b. 2001-05-05"];
    assert_eq!(found(&format!("[{one},{other}]")), expected);
    assert_eq!(found(&format!("{one}\n{other}")), expected);
    assert_eq!(found(&format!("[{one}]\n[{other}]")), expected);

    let unbalanced = format!(
        "@dataset{{a,\n title = {{one {{ brace}},\n note = {{DI:{DI}, as held at 2001-01-05}},\n}}\n@misc{{b,\n note = {{DI:{DI}, as held at 2001-05-05}},\n}}\n"
    );
    assert_eq!(found(&unbalanced), ["A - 2001-01-05", "A - 2001-05-05"]);

    let stated_twice = format!(
        "@misc{{b,\n note = {{DI:{DI}, as held at 2001-01-05}},\n x = {{DI:{DI}, as held at 2001-05-05}} }}"
    );
    assert_eq!(found(&stated_twice), ["A - 2001-01-05", "A - 2001-05-05"]);
    assert_eq!(found(&format!("TY  - DATA\r\nER  - DI:\n{DI}\n")), ["A - -"]);
}

#[test]
fn a_date_in_another_spelling_is_not_compared() {
    for date in ["25 August 2022", "August 25, 2022", "20220825", "2022/08/25", "5/8/2022"] {
        let text = format!("DI:{DI}, as held at {date}");
        assert_eq!(found(&text), ["A - -"], "{text}");
    }
    let cases = [
        (format!("DI:{DI}, as held at 2022-02-31"), "A - !2022-02-31"),
        (format!("doi:10.9999/x, 2022-08-26, DI:{DI}"), "A 10.9999/x 2022-08-26"),
        (format!("FOO, accessed 2022-08-25, DI:{DI}"), "A - -"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&text), [expected], "{text}");
    }
}

#[test]
fn an_identifier_that_cannot_be_read_is_reported_beside_a_good_one() {
    let garbled = &DI[1..];
    let lists = [
        format!("DI:{DI}, DI:{garbled}"),
        format!("[1] FOO, DI:{DI}.\n[2] BAR, DI:{garbled}."),
        format!("[\"{DI}\", \"DI:{garbled}\"]"),
        format!("- DI:{DI}\n- DI:{garbled}"),
    ];
    for text in lists {
        assert_eq!(found(&text), ["A - -", &format!("!DI:{garbled} - -")], "{text}");
    }
    assert_eq!(found(&format!("DI:{DI} (md5:{garbled})")), ["A - -"]);
}

#[test]
fn what_is_meant_as_an_identifier_is_reported_and_other_words_are_not() {
    let cut = &DI[1..];
    let groups = format!("{} {} {}", &DI[..8], &DI[8..16], &DI[16..24]);
    let unreadable = [
        (format!("DI:{cut}"), format!("!DI:{cut}")),
        (format!("DI:{DI}0"), format!("!DI:{DI}0")),
        (format!("DI:{}", DI.replace('0', "O")), format!("!DI:{}", DI.replace('0', "O"))),
        (format!("DI:{groups}"), "!DI:76312219".to_owned()),
        ("DI:763…".to_owned(), "!DI:763".to_owned()),
        ("DI:7631...".to_owned(), "!DI:7631".to_owned()),
    ];
    let names = |text: &str| {
        let found = found(text);
        found.iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect::<Vec<String>>()
    };
    for (word, expected) in unreadable {
        assert_eq!(names(&format!("DI:{DI}, {word}, x")), ["A", &expected]);
        assert_eq!(names(&format!("{word} DI:{DI}")), [&expected, "A"]);
    }
    let others = [
        &format!("md5:{DI}"),
        &format!("https://x.org/{cut}/y"),
        cut,
        "DI: a 2001 inventory",
        "DI: 2001-01-05",
        "DI: 10.9999/x",
        "DI:…",
    ];
    for other in others {
        assert_eq!(names(&format!("DI:{DI} {other}")), ["A"], "{other}");
    }
}

#[test]
fn json_ld_is_read_within_a_page() {
    let page = format!(
        "<script type=\"application/ld+json\">{{\"value\": \"doi:10.9999/a\",\n\"x\": \"DI:{DI}\"}}</script>"
    );
    assert_eq!(found(&page), ["A 10.9999/a -"]);
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
