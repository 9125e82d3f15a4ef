use std::io::{self, Read, Write};

use accession::citation::check::{Checked, Verdict, check};
use accession::citation::recognise;
use accession::{Access, quoted};
use anyhow::{Context, Result};

use crate::cli::Exit;
use crate::cli::output::{count, in_force, one_line, selected_by};
use crate::cli::report::Usage;
use crate::cli::session::Session;

/// Say what is known of citations, as people paste them
///
/// Reads the tuple, sentences, BibTeX, RIS and JSON, one or several in a text. Says for each whether
/// its identifier is known here, and whether its date agrees with it; and of several, which cite the
/// same granules. Exit status 1: one is unknown, or something in it is not so.
///
/// Examples:
///   accession check '{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:763122197bfb3ffbf0da14adbfb1b13b }'
///   accession check - < references.bib
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The citations; - is stdin
    #[arg(value_name = "CITATION", required = true)]
    citations: Vec<String>,
}

/// More than any list of references has.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let mut pasted = Vec::new();
        for (number, citation) in (1..).zip(self.citations) {
            let (name, text) = match citation.as_str() {
                "-" => ("standard input".to_owned(), standard_input()?),
                _ => (format!("citation {number}"), citation),
            };
            let found = recognise::find(&text);
            if found.is_empty() {
                let start: String = text.trim().chars().take(60).collect();
                let what = format!("{name} holds no identifier: {}", quoted(&start));
                let hint = "an identifier is DI: and 32 hexadecimal characters";
                return Err(Usage::new(what).with_hint(hint).into());
            }
            pasted.extend(found);
        }
        let now = session.now()?;
        let checked = check(&mut session.open(Access::Read)?, &pasted, now)?;
        if session.is_json() {
            session.json(&checked)?;
        } else {
            write_checked(session.out(), &checked)?;
        }
        Ok(if checked.ok { Exit::Done } else { Exit::Differs })
    }
}

fn standard_input() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .context("cannot read standard input")?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Usage::new("standard input is longer than any list of references").into());
    }
    Ok(decoded(&bytes))
}

/// A text in UTF-8, or in UTF-16 behind its mark, as some editors save it. What cannot be read around
/// an identifier is no reason not to read it.
fn decoded(bytes: &[u8]) -> String {
    let of = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => of(u16::from_le_bytes),
        [0xfe, 0xff, ..] => of(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn write_checked(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    for verdict in &checked.citations {
        write_verdict(out, verdict)?;
    }
    for set in checked.sets.iter().filter(|set| set.citations.len() > 1) {
        let numbers: Vec<String> = set.citations.iter().map(ToString::to_string).collect();
        let (last, first) = numbers
            .split_last()
            .map_or(("", String::new()), |(last, first)| (last.as_str(), first.join(", ")));
        writeln!(out, "{first} and {last} cite the same {}", count(set.granules, "granule"))?;
    }
    for difference in &checked.differences {
        let first_of = |identifier| {
            let set = checked.sets.iter().find(|set| set.identifier == identifier);
            set.and_then(|set| set.citations.first()).copied().unwrap_or_default()
        };
        let (left, right) = (first_of(difference.left), first_of(difference.right));
        let both = count(difference.matched, "granule");
        let (only_left, only_right) = (difference.only_left, difference.only_right);
        writeln!(
            out,
            "{left} and {right} differ: {both} in both, {only_left} only in {left}, {only_right} only in {right}"
        )?;
    }
    Ok(())
}

fn write_verdict(out: &mut impl Write, verdict: &Verdict) -> io::Result<()> {
    write!(out, "{}  ", verdict.citation)?;
    if let Some(identifier) = verdict.identifier {
        write!(out, "{identifier}  ")?;
    }
    match (&verdict.problem, verdict.known) {
        (Some(problem), false) => writeln!(out, "unknown: {}", one_line(problem))?,
        (Some(problem), true) => writeln!(out, "DISAGREES: {}", one_line(problem))?,
        (None, _) => match &verdict.date {
            Some(date) => writeln!(out, "known, and agrees with its date {date}")?,
            None => writeln!(out, "known; it names no date")?,
        },
    }
    if let Some(note) = &verdict.note {
        writeln!(out, "   note: {}", one_line(note))?;
    }
    for resolved in &verdict.intervals {
        let instance = &resolved.instance;
        let granules = count(instance.granules, "granule");
        write!(out, "   {}  {}  {granules}", instance.dataset, in_force(instance))?;
        match &resolved.selection {
            None => writeln!(out)?,
            Some(part) => writeln!(out, ", {}", selected_by(&part.criteria))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn utf_16_is_read_behind_its_mark() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{ é }".encode_utf16().flat_map(unit).collect();
            assert_eq!(decoded(&bytes), "{ é }");
            assert_eq!(decoded(&[&bytes[..], b"x"].concat()), "{ é }");
        }
        assert_eq!(decoded("{ é }\u{0}".as_bytes()), "{ é }\u{0}");
        assert_eq!(decoded(b"\xff\xfd"), "\u{fffd}\u{fffd}");
    }
}
