use std::io::{self, BufWriter, Read, Seek, Write};

use accession::Access;
use accession::citation::check::{Checked, Verdict, check};
use accession::citation::recognise::{self, Pasted};
use accession::disk::scratch;
use accession::model::quoted;
use accession::registry::Resolved;

use crate::cli::error::{Context, Error, Exit, Result};
use crate::cli::output::{annotated, count, in_force, json, one_line, selected_by};
use crate::cli::reading::CitationText;
use crate::cli::session::Session;

/// Check citations, in any form that people paste
///
/// Recognises tuples, sentences, BibTeX, RIS and JSON, and several citations in one text. Prints
/// for each one whether its identifier is known to this registry and whether its date agrees, and
/// which citations have the same granules. The exit status is 1 if an identifier is unknown or
/// something disagrees.
///
/// Examples:
///   accession check '{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:763122197bfb3ffbf0da14adbfb1b13b }'
///   accession check - < references.bib
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The citations; - is stdin
    #[arg(value_name = "CITATION", required = true)]
    citations: Vec<CitationText>,
}

/// A limit for standard input, longer than any list of references.
const MAX_BYTES: u64 = 64 * 1_024 * 1_024;

/// How many intervals are printed as text for a citation, since many datasets can hold one set.
const MAX_INTERVALS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let pasted = self.find()?;
        let now = session.now()?;
        let registry = session.open(Access::Read)?;
        // The verdicts are written to a temporary file first. All of them are from one snapshot,
        // and while it is open, the command must not wait for a terminal or a pipe.
        let mut spool = BufWriter::new(scratch::file()?);
        let checked = check(&registry, &pasted, now, |verdict| {
            if session.is_json() {
                json::write(&mut spool, &verdict)?;
                writeln!(spool)?;
            } else {
                write_verdict(&mut spool, &verdict)?;
            }
            Ok::<_, Error>(())
        })?;
        let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
        spool.rewind()?;
        io::copy(&mut spool, session.out())?;
        if !session.is_json() {
            write_same_sets(session.out(), &checked)?;
        }
        Ok(if checked.ok { Exit::Done } else { Exit::Differs })
    }

    /// The citations in all arguments.
    fn find(self) -> Result<Vec<Pasted>> {
        let mut pasted = Vec::new();
        for (number, citation) in (1..).zip(self.citations) {
            let (name, text) = match citation {
                CitationText::StandardInput => ("standard input".to_owned(), standard_input()?),
                CitationText::Text(text) => (format!("citation {number}"), text),
            };
            let found = recognise::find(&text);
            if found.is_empty() {
                let beginning: String = text.trim().chars().take(60).collect();
                let message = format!("{name} contains no identifier: {}", quoted(&beginning));
                return Err(Error::usage(message)
                    .with_hint("an identifier is DI: followed by 32 hexadecimal characters"));
            }
            pasted.extend(found);
        }
        Ok(pasted)
    }
}

fn standard_input() -> Result<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .with_context(|| "cannot read standard input".to_owned())?;
    if bytes.len() as u64 > MAX_BYTES {
        let message = format!("standard input is longer than {MAX_BYTES} bytes");
        return Err(Error::usage(message));
    }
    Ok(decoded(&bytes))
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which some editors write. Invalid bytes are
/// replaced: they do not make the identifiers around them unreadable.
fn decoded(bytes: &[u8]) -> String {
    let utf_16 = |unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, ..] => utf_16(u16::from_le_bytes),
        [0xfe, 0xff, ..] => utf_16(u16::from_be_bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Writes which citations have the same granules.
fn write_same_sets(out: &mut impl Write, checked: &Checked) -> io::Result<()> {
    for set in checked.sets.iter().filter(|set| set.citations.len() > 1) {
        let numbers: Vec<String> = set.citations.iter().map(ToString::to_string).collect();
        let (last, first) = numbers
            .split_last()
            .map_or(("", String::new()), |(last, first)| (last.as_str(), first.join(", ")));
        writeln!(out, "{first} and {last} cite the same {}", count(set.granules, "granule"))?;
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
            None => writeln!(out, "known; it has no date")?,
        },
    }
    if let Some(note) = &verdict.note {
        writeln!(out, "   note: {}", one_line(note))?;
    }
    for resolved in verdict.intervals.rows.iter().take(MAX_INTERVALS) {
        write_interval(out, resolved)?;
    }
    match verdict.intervals.rows.len().saturating_sub(MAX_INTERVALS) {
        0 => Ok(()),
        more => writeln!(out, "   and {more} more; --json lists all"),
    }
}

fn write_interval(out: &mut impl Write, resolved: &Resolved) -> io::Result<()> {
    let instance = resolved.set.instance();
    let granules = count(resolved.set.granules(), "granule");
    write!(out, "   {}  {}  {granules}", instance.dataset, in_force(instance))?;
    match resolved.set.subset() {
        None => writeln!(out)?,
        Some(subset) => writeln!(out, ", a subset, {}", selected_by(&subset.criteria))?,
    }
    instance.annotations.iter().try_for_each(|it| writeln!(out, "      {}", annotated(it)))
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn utf_16_is_decoded_after_its_byte_order_mark() {
        for unit in [u16::to_le_bytes, u16::to_be_bytes] {
            let bytes: Vec<u8> = "\u{feff}{ é }".encode_utf16().flat_map(unit).collect();
            assert_eq!(decoded(&bytes), "{ é }");
            assert_eq!(decoded(&[&bytes[..], b"x"].concat()), "{ é }");
        }
        assert_eq!(decoded("{ é }\u{0}".as_bytes()), "{ é }\u{0}");
        assert_eq!(decoded(b"\xff\xfd"), "\u{fffd}\u{fffd}");
    }
}
