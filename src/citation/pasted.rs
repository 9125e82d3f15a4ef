//! Citations in what people paste: the tuple, a sentence, BibTeX, RIS, JSON, CITATION.cff.
//!
//! An identifier is `DI:` and 32 hexadecimal characters, in any case, also broken over two lines, by
//! a space or by the mark of a footnote, which is as good as a space; in a part of a text without any
//! `DI:`, a word of 32 hexadecimal characters. Behind a `#` it names an instance that the citation is
//! related to, and counts only where there is no other.
//!
//! A text is read in parts: a BibTeX entry, a RIS record, an item of JSON, a paragraph, an entry of a
//! list. The DOI and the date of an identifier are looked for in its part: in running text between
//! its neighbours. A date is what follows `as held at`; in a tuple, what stands as a member of its
//! own; in running text, what stands before the identifier and a comma. The year of publication and
//! the day of access are no such dates.
//!
//! Costs time in proportion to the text: what is looked at around an identifier has a limit.

use std::collections::HashSet;
use std::ops::Range;

use super::dates::{adjacent_date, date_in, date_in_row, date_near, date_right_before};
use super::dois::{doi_of_record, dois};
use super::marks::{Mark, add_bare_members, marks};
use super::members::Members;
use super::parts::{Kind, Part, near_end, parts};
use crate::model::{DatasetName, Doi, Identifier, Moment};

/// A citation that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pasted {
    /// Its identifier.
    pub identifier: Stated<Identifier>,
    /// Its DOI; one that cannot be read is none.
    pub doi: Option<Doi>,
    /// The dataset's name in an archive, which stands in a tuple where there is no DOI.
    pub dataset: Option<DatasetName>,
    /// As of when it says that the granules were held.
    pub date: Option<Stated<Moment>>,
}

/// Something that a citation says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Stated<T> {
    /// This.
    Read(T),
    /// What stands in its place, and cannot be read.
    Unreadable(String),
}

/// Finds the citations in a text, in their order; what a record says twice is one.
pub fn find(text: &str) -> Vec<Pasted> {
    parts(text).iter().flat_map(of_part).collect()
}

/// Bytes before and behind an identifier in which its DOI and its date are looked for.
const NEAR: usize = 2_000;

fn of_part(part: &Part) -> Vec<Pasted> {
    match part.kind {
        Kind::Record => of_record(part),
        Kind::Running => of_running_text(&part.text),
    }
}

/// What a record says again, it says once; unless it says another date of it.
fn of_record(part: &Part) -> Vec<Pasted> {
    let text = part.text.as_str();
    let marks = marks(text);
    let doi = part.doi.clone();
    let doi = doi.or_else(|| doi_of_record(&text[..near_end(text, NEAR)]));
    let dates: Vec<_> =
        neighbours(&marks, text).map(|(mark, within)| mark.date(text, within)).collect();
    let identifiers: HashSet<_> = marks.iter().map(|mark| &mark.identifier).collect();
    let dated = marks.iter().zip(&dates).filter(|(_, date)| date.is_some());
    let dated: HashSet<_> = dated.map(|(mark, _)| &mark.identifier).collect();
    // A title may state a date as well: what stands right behind an identifier goes before it.
    let elsewhere = if identifiers.len() == 1 && dated.is_empty() { date_in(text) } else { None };
    let (mut found, mut seen) = (Vec::new(), HashSet::new());
    for (Mark { identifier, .. }, date) in marks.iter().zip(dates) {
        let is_said_with_a_date = date.is_none() && dated.contains(identifier);
        let date = date.or_else(|| elsewhere.clone());
        if !is_said_with_a_date && seen.insert((identifier, format!("{date:?}"))) {
            let (identifier, doi) = (identifier.clone(), doi.clone());
            found.push(Pasted { identifier, doi, dataset: None, date });
        }
    }
    found
}

fn of_running_text(text: &str) -> Vec<Pasted> {
    let mut marks = marks(text);
    add_bare_members(&mut marks, text);
    neighbours(&marks, text).map(|(mark, within)| mark.within(text, within)).collect()
}

/// Each identifier, and the place between the one before it and the one behind it.
fn neighbours<'marks>(
    marks: &'marks [Mark],
    text: &str,
) -> impl Iterator<Item = (&'marks Mark, Range<usize>)> {
    let end = text.len();
    marks.iter().enumerate().map(move |(index, mark)| {
        let before = index.checked_sub(1).map_or(0, |before| marks[before].location.end);
        let behind = marks.get(index + 1).map_or(end, |behind| behind.location.start);
        (mark, before..behind)
    })
}

impl Mark {
    /// What stands near it, before and behind, between its neighbours.
    fn near<'text>(&self, text: &'text str, within: &Range<usize>) -> (&'text str, &'text str) {
        let start = near_start(text, within.start.max(self.location.start.saturating_sub(NEAR)));
        let end = near_end(text, within.end.min(self.location.end + NEAR));
        (&text[start..self.location.start], &text[self.location.end..end])
    }

    /// The date that is stated right beside it.
    fn date(&self, text: &str, within: Range<usize>) -> Option<Stated<Moment>> {
        let (before, behind) = self.near(text, &within);
        let members = Members::around(before, behind).unwrap_or_default();
        date_beside(members.date, before, behind)
    }

    /// The citation in running text.
    fn within(&self, text: &str, within: Range<usize>) -> Pasted {
        let (mut before, whole_behind) = self.near(text, &within);
        // What stands behind the identifier before this one belongs to that, up to its full stop.
        if within.start > 0
            && self.location.start - before.len() == within.start
            && let Some(end) = full_stop(before)
        {
            before = &before[end + 1..];
        }
        let behind = &whole_behind[..full_stop(whole_behind).unwrap_or(whole_behind.len())];
        let Members { doi, dataset, date } =
            Members::around(before, whole_behind).unwrap_or_default();
        let doi = match (doi, &dataset) {
            (None, None) => dois(before).pop().or_else(|| dois(behind).into_iter().next()),
            (doi, _) => doi,
        };
        let date = date_beside(date, before, behind)
            .or_else(|| date_near(before, behind))
            .or_else(|| date_in_row(before, whole_behind));
        Pasted { identifier: self.identifier.clone(), doi, dataset, date }
    }
}

/// The date beside an identifier: of a statement within the same braces, of another member of its
/// tuple, of a statement behind those, or before a comma.
fn date_beside(
    of_tuple: Option<Stated<Moment>>,
    before: &str,
    behind: &str,
) -> Option<Stated<Moment>> {
    let inside = behind.split('}').next().unwrap_or_default();
    adjacent_date(inside)
        .or(of_tuple)
        .or_else(|| adjacent_date(behind))
        .or_else(|| date_right_before(before))
}

/// Where the first sentence of a text ends.
fn full_stop(text: &str) -> Option<usize> {
    text.match_indices('.').map(|(at, _)| at).find(|at| text[at + 1..].starts_with([' ', '\n']))
}

fn near_start(text: &str, at: usize) -> usize {
    (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DI: &str = "763122197bfb3ffbf0da14adbfb1b13b";

    /// Identifier, DOI and date of each citation found, as text; what cannot be read after a `!`.
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
    fn citations_are_found_as_people_paste_them() {
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
        for text in
            ["", "DI: a thing", "(DI = DatasetInstance?)", "AUDI:quattro", "DI:", "\u{feff}é"]
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
    fn markup_and_broken_lines_hide_nothing() {
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
            (format!("DI:{half}²{other_half}"), "A - -"),
            (format!("note = {{DI:{DI}, as held at 2001-01-02}},"), "A - 2001-01-02"),
            (format!("FOO {{DI:{DI}, as held at 2001-01-02}}"), "A - 2001-01-02"),
            (
                format!(
                    "note = {{DI:{DI}, as held at 2001-01-02, 2 of 3 granules, selected by A*}}"
                ),
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
            (format!("DI:{DI}, as held at January 5, 1999, x"), "A - !January 5, 1999"),
            (format!("DI:{DI}, as held at 5 January 1999"), "A - !5 January 1999"),
            (format!("{{ 10.9999/x, Jan. 5, DI:{DI} }}"), "A 10.9999/x !Jan. 5"),
            (format!("(DI:{DI}, as held at 2001-02-03 05:00:00Z)"), "A - 2001-02-03T05:00:00Z"),
            (format!("{{ x, 2001-02-03 05:00:00Z, DI:{DI} }}"), "A - 2001-02-03T05:00:00Z"),
            (format!("DI:{DI}, as held at 5 January 2001"), "A - !5 January 2001"),
            (
                format!("see https://doi.org/10.9999/x#DI:{DI} and [1](https://y.org)"),
                "A 10.9999/x -",
            ),
            (
                format!(
                    "[10.9999/x](https://doi.org/10.9999/x), as held at~2001-01-02, {{DI}}:{DI}"
                ),
                "A 10.9999/x 2001-01-02",
            ),
            (format!("\\{{~doi:10.9999/x,~2001--01--02,~DI:{DI}~\\}}"), "A 10.9999/x 2001-01-02"),
            (
                format!("{{ \"doi\":\"10.9999/x\", \"date\":\"2001-01-02\", \"DI\":\"{DI}\" }}"),
                "A 10.9999/x 2001-01-02",
            ),
            (format!("{{ doi:10.9999/x; 2001-01-\n02; DI : {DI} }}"), "A 10.9999/x 2001-01-02"),
            (format!("| 10.9999/x | 2001-01-02 | DI:{DI} |"), "A 10.9999/x 2001-01-02"),
            (format!("<td>10.9999/x<td>2001-01-02</td><td>DI:{DI}</td>"), "A 10.9999/x 2001-01-02"),
            (format!("x\t2001-01-02\tDI:{DI}"), "A - 2001-01-02"),
            (format!("“https://doi.org/10.9999/\nx?utm=y” (DI:{DI}¹)"), "A 10.9999/x -"),
            (format!("_10.9999/x_ DI:{}", DI.replacen("ff", "\u{fb00}", 1)), "A 10.9999/x -"),
            (format!("as=20held at 2001-01-02, DI:{half}=\n{other_half}"), "A - 2001-01-02"),
        ];
        for (text, expected) in cases {
            assert_eq!(found(&text), [expected], "{text}");
        }
    }

    #[test]
    fn a_tuple_in_a_record_says_its_date() {
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
    fn the_doi_of_an_entry_is_that_of_its_field_or_an_address() {
        let others = "abstract = {Mirror of 10.1/y}";
        let cases = [
            format!("@misc{{k,\n {others},\n doi = \"10.9999/x\",\n note = \"DI:{DI}\"\n}}"),
            format!("@misc{{k, {others}, DOI={{10.9999/x}}, note={{DI:{DI}}} }}"),
            format!(
                "@misc{{k, url={{https://x.org/10.1/y}}, doi={{10.9999/x}}, note={{DI:{DI}}} }}"
            ),
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
    fn the_dates_and_dois_of_others_are_not_its_own() {
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
    fn a_date_belongs_to_the_identifier_beside_it() {
        let both = format!("(as held at 2001-02-10, DI:{DI}; as held at 2001-01-05, DI:{DI})");
        assert_eq!(found(&both), ["A - 2001-02-10", "A - 2001-01-05"]);
        let around = format!(
            "as held at 2001-02-10 (DI:{DI}) and, as held at 2001-01-05, the newer (DI:{DI})"
        );
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
    fn each_document_is_read_by_itself_and_nothing_is_dropped() {
        let item = |date: &str, doi: &str| {
            format!(r#"{{"DOI":"{doi}","note":"DI:{DI}, as held at {date}"}}"#)
        };
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

        let said_twice = format!(
            "@misc{{b,\n note = {{DI:{DI}, as held at 2001-01-05}},\n x = {{DI:{DI}, as held at 2001-05-05}} }}"
        );
        assert_eq!(found(&said_twice), ["A - 2001-01-05", "A - 2001-05-05"]);
        assert_eq!(found(&format!("TY  - DATA\r\nER  - DI:\n{DI}\n")), ["A - -"]);
    }

    #[test]
    fn long_texts_cost_time_in_proportion() {
        let texts = [
            format!("[{}]", vec![format!("\"DI:{DI}, as held at 2001-01-05\""); 20_000].join(",")),
            format!("cff-version: 1\n{}", format!("v: DI:{DI}\n").repeat(20_000)),
            "@a{".repeat(300_000),
            format!("10.1000/a{}", ")".repeat(1_000_000)),
            format!("https://doi.org/10.1000/a {DI} ").repeat(20_000),
            "DI:".repeat(300_000),
            "<a".repeat(500_000),
            format!("DI:{}", "a\n".repeat(500_000)),
        ];
        for text in texts {
            // Each took minutes when the whole text was read again for every identifier.
            let start = std::time::Instant::now();
            let found = find(&text).len();
            let shown = &text[..20];
            assert!(start.elapsed().as_secs() < 20, "{shown}: {found} in {:?}", start.elapsed());
        }
    }
}
