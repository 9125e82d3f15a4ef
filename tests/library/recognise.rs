//! Citations are recognised in whatever people paste.

use accession::citation::recognise::{Pasted, Stated, find};

const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

/// The identifier, the DOI and the date of each citation found; `!` marks what cannot be read.
fn found(text: &str) -> Vec<String> {
    let one = |pasted: Pasted| {
        let identifier = match pasted.identifier {
            Stated::Read(identifier) => identifier.to_string().replace(DI, "A"),
            Stated::Unreadable(text) => format!("!{text}"),
        };
        let doi = pasted.doi.map_or("-".to_owned(), |doi| doi.to_string());
        let date = match pasted.date {
            None => "-".to_owned(),
            Some(Stated::Read(moment)) => moment.to_string(),
            Some(Stated::Unreadable(text)) => format!("!{text}"),
        };
        format!("{identifier} {doi} {date}")
    };
    find(text).into_iter().map(one).collect()
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
        (format!("{{ DI:{DI}, 2001-01-02, doi:10.9999/x) }}"), "A 10.9999/x) 2001-01-02"),
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
        (
            format!("https://doi.org/10.9999/x（DI：{DI}，as held at 2001-01-02）。"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("DI:{DI}, as held at January 5, 1999, x"), "A - 1999-01-05"),
        (format!("DI:{DI}, as held at 5 January 1999"), "A - 1999-01-05"),
        (format!("{{ 10.9999/x, Jan. 5, DI:{DI} }}"), "A 10.9999/x !Jan. 5"),
        (format!("(DI:{DI}, as held at 2001-02-03 05:00:00Z)"), "A - 2001-02-03T05:00:00Z"),
        (format!("{{ x, 2001-02-03 05:00:00Z, DI:{DI} }}"), "A - 2001-02-03T05:00:00Z"),
        (format!("DI:{DI}, as held at 5 January 2001"), "A - 2001-01-05"),
        (format!("see https://doi.org/10.9999/x#DI:{DI} and [1](https://y.org)"), "A 10.9999/x -"),
        (
            format!("[10.9999/x](https://doi.org/10.9999/x), as held at 2001-01-02, {{DI}}:{DI}"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("\\{{ doi:10.9999/x, 2001-01-02, DI:{DI} \\}}"), "A 10.9999/x 2001-01-02"),
        (
            format!("{{ \"doi\":\"10.9999/x\", \"date\":\"2001-01-02\", \"DI\":\"{DI}\" }}"),
            "A 10.9999/x 2001-01-02",
        ),
        (format!("{{ doi:10.9999/x; 2001-01-\n02; DI : {DI} }}"), "A 10.9999/x 2001-01-02"),
        (format!("| 10.9999/x | 2001-01-02 | DI:{DI} |"), "A 10.9999/x 2001-01-02"),
        (format!("<td>10.9999/x<td>2001-01-02</td><td>DI:{DI}</td>"), "A 10.9999/x 2001-01-02"),
        (format!("x\t2001-01-02\tDI:{DI}"), "A - 2001-01-02"),
        (format!("“https://doi.org/10.9999/\nx?utm=y” (DI:{DI})"), "A 10.9999/x -"),
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
        format!(r#"[["10.9999/x","2001-01-02","DI:{DI}"]]"#),
        format!(r#"["doi:10.9999/x","2001-01-02","DI:{DI}"]"#),
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
        (format!("All data as of 2020-01-01: 2001-01-05, DI:{DI}"), "A - 2001-01-05"),
        (
            format!("Inventory as held at 1999-12-31 (DI:{DI}, as held at 2001-01-02)"),
            "A - 2001-01-02",
        ),
        (
            format!(
                "cff-version: 1\ntitle: as held at 1999-12-31\nnotes: DI:{DI}, as held at 2001-01-02"
            ),
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
    let bare =
        format!("{{ doi:10.1/x, 2001-02-10, DI:{DI} }} and {{ doi:10.1/y, 2001-01-05, {DI} }}");
    assert_eq!(found(&bare), ["A 10.1/x 2001-02-10", "A 10.1/y 2001-01-05"]);
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

    let cff = |date: &str| {
        format!(
            "cff-version: 1\ndoi: 10.9999/x\nvalue: DI:{DI}\nnotes: DI:{DI}, as held at {date}\n"
        )
    };
    let both = format!("{}{}", cff("2001-01-05"), cff("2001-05-05"));
    assert_eq!(found(&both), ["A 10.9999/x 2001-01-05", "A 10.9999/x 2001-05-05"]);

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
fn a_date_is_read_in_every_spelling_that_has_one_meaning() {
    let spellings = [
        "25 August 2022",
        "August 25, 2022",
        "20220825",
        "25 Aug. 2022",
        "2022/08/25",
        "2022-8-25",
    ];
    for date in spellings {
        let texts = [
            format!("DI:{DI}, as held at {date}."),
            format!("(as held on {date}, DI:{DI})"),
            format!("FOO ({date}, DI:{DI})"),
            format!("FOO, {date}, DI:{DI}"),
            format!("{{ doi:10.9999/x, {date}, DI:{DI} }}"),
            format!("{{ US, \"date\": \"{date}\", DI:{DI} }}"),
            format!("| US | {date} | DI:{DI} |"),
            format!(r#"["US", "{date}", "DI:{DI}"]"#),
        ];
        for text in texts {
            let dates: Vec<String> = found(&text)
                .into_iter()
                .map(|shown| shown.rsplit(' ').next().unwrap().to_owned())
                .collect();
            assert_eq!(dates, ["2022-08-25"], "{text}");
        }
    }
    let cases = [
        (format!("FOO, accessed 25 August 2022, DI:{DI}"), "A - -"),
        (format!("grant 20220825, DI:{DI}"), "A - -"),
        (format!("DI:{DI}, as held at 5/8/2022"), "A - !5/8/2022"),
        (format!("DI:{DI}, as held at 31 February 2022"), "A - !31 February 2022"),
        (format!("DI:{DI}, as held at 25 August 2022, 10:00"), "A - !25 August 2022, 10:00"),
        (format!("{{ 20220825, 2022-08-26, DI:{DI} }}"), "A - 2022-08-26"),
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
fn a_doi_that_is_broken_over_two_lines_is_joined() {
    let cases = [
        (format!("https://doi.org/10.9999/US/\nFOOL2.v2 (DI:{DI})"), "A 10.9999/US/FOOL2.v2 -"),
        (format!("https://doi.org/10.9999/US/\r\nFOOL2.v2 (DI:{DI})"), "A 10.9999/US/FOOL2.v2 -"),
        (format!("doi:10.9999/FOO-\n  L2 (DI:{DI})"), "A 10.9999/FOO-L2 -"),
        (
            format!("Tilmes, C. (2001). FOO. https://doi.org/10.9999/US/FO\nOL2.v2 (DI:{DI})"),
            "A 10.9999/US/FOOL2.v2 -",
        ),
        (
            format!("> {{ doi:10.9999/US/FOOL2.\n> v2, 2001-01-05, DI:{DI} }}"),
            "A 10.9999/US/FOOL2.v2 2001-01-05",
        ),
        (
            format!("Tilmes, C. (2001). FOO. https://doi.org/10.9999/US/FOOL2\n(DI:{DI})"),
            "A 10.9999/US/FOOL2 -",
        ),
        (format!("doi:10.9999/US/FOOL2.\nTilmes, DI:{DI}"), "A 10.9999/US/FOOL2 -"),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&text), [expected], "{text}");
    }
}

#[test]
fn json_ld_is_read_within_a_page() {
    let page = format!(
        "<script type=\"application/ld+json\">{{\"value\": \"doi:10.9999/a\\u003c1::b\",\n\"x\": \"DI:{DI}\"}}</script>"
    );
    assert_eq!(found(&page), ["A 10.9999/a<1::b -"]);
}
