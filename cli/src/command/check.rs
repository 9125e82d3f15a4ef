use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, Seek, Write};
use std::path::Path;

use accession::citation::{Checker, CitationVerdict};
use accession::citation::{FoundCitation, ParsedField, Reference};
use accession::text::quoted;
use accession::{SetSpec, WarningKind};
use serde::Serialize;
use serde_json::Value;

use crate::args::SiteArgs;
use crate::error::{Error, Exit, Result};
use crate::input_file::InputFile;
use crate::output::{Output, counted, in_words, json, lines_below, one_line, plural, selected_in};
use crate::references::{CitationText, read_references};
use crate::session::Session;
use crate::temporary_file;

/// Check the citations in a text or file
///
/// Recognises tuples, sentences, BibTeX, RIS and JSON, and several citations in one text. Prints
/// for each one whether its identifier is known to this registry and whether its date agrees, and
/// which citations have the same granules. The exit status is 1 if an identifier is unknown, something
/// disagrees, or a set is annotated as questionable.
///
/// A word that is the name of a file means this file: BibTeX (.bib), RIS (.ris), CSL-JSON (.json), or text.
/// Each of its references is named by its key and its line. One that has the DOI of a dataset of this registry,
/// but no identifier, is listed too.
///
/// Examples:
///   accession check '{ doi:10.9999/US/FOOL2.v2, 2001-01-05, DI:763122197bfb3ffbf0da14adbfb1b13b }'
///   accession check references.bib
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The citations, or files with citations; - is stdin
    #[arg(value_name = "SET-TEXT|FILE", required = true)]
    citations: Vec<CitationText>,

    #[command(flatten)]
    site: SiteArgs,
}

/// The number of periods that are printed as text for a citation. Many datasets can hold the same set.
const MAX_INTERVALS: usize = 20;

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let items = self.items()?;
        let names = items.iter().filter_map(|item| name_of(&item.pasted));
        self.site.follow(session, &names.collect::<Vec<_>>())?;
        let registry = session.open()?;
        // The verdicts are written to a temporary file first. They are all from one snapshot, and a command
        // must not wait for a terminal or a pipe while a snapshot is open.
        let mut spool = BufWriter::new(temporary_file::create()?);
        let checker = Checker::new(&registry)?;
        let mut checker = if self.site.is_given() { checker.of_site() } else { checker };
        let (mut number, mut is_ok) = (0, true);
        for item in &items {
            if !checker.is_checkable(&item.pasted)? {
                continue;
            }
            number += 1;
            let verdict = checker.check(number, &item.pasted)?;
            is_ok &= verdict.ok;
            json::write(&mut spool, &Row::of(verdict, item))?;
            writeln!(spool)?;
        }
        let left_out = items.len() as u64 - number;
        if self.site.is_given() && left_out > 0 {
            let left_out = plural(left_out, "reference");
            let message = format!(
                "left out {left_out} without an identifier, of no dataset that was read: \
                 --site ADDRESS/datasets/NAME/ reads that of a DOI"
            );
            session.warn(WarningKind::DoiNotLookedUp, &message);
        }
        let sets = checker.sets();
        let mut spool = spool.into_inner().map_err(io::IntoInnerError::into_error)?;
        spool.rewind()?;
        session.present_lines(BufReader::new(spool), write_verdict)?;
        let sets = sets.into_iter().filter(|set| set.citations.len() > 1);
        let summary = object!({
            "citations": number,
            "ok": is_ok,
            "same_sets": sets.collect::<Vec<_>>(),
        });
        session.present(&BTreeMap::from([("summary", summary)]), write_summary)?;
        Ok(if is_ok { Exit::Done } else { Exit::Differs })
    }

    /// The citations in all arguments.
    fn items(&self) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for citation in &self.citations {
            let file = match citation {
                CitationText::StandardInput => InputFile::StandardInput,
                CitationText::Text(text) if Path::new(text).exists() => {
                    InputFile::Path(text.into())
                }
                CitationText::Text(text) => {
                    items.extend(found(text)?);
                    continue;
                }
            };
            for reference in read_references(&file)? {
                let cited = reference.citations_and_dois().into_iter();
                items.extend(cited.map(|pasted| Item::of(pasted, &reference)));
            }
        }
        Ok(items)
    }
}

/// Returns the citations in an argument that is not the name of a file. At least one is returned.
fn found(text: &str) -> Result<Vec<Item>> {
    let has_lines = text.trim_end().contains('\n');
    let mut found = Vec::new();
    for reference in Reference::find_all(text) {
        let cited = reference.citations().into_iter();
        found.extend(cited.map(|pasted| match has_lines {
            true => Item::of(pasted, &reference),
            false => Item { pasted, key: None, line: None },
        }));
    }
    if found.is_empty() {
        let beginning: String = text.trim().chars().take(60).collect();
        let message = format!("{} is not a file, and contains no identifier", quoted(&beginning));
        return Err(Error::usage(message).with_hint(
            "an identifier is DI: and 32 hexadecimal characters, a digest sha256: and 64",
        ));
    }
    Ok(found)
}

/// The name of a citation's set on a published site. `None` means that the citation has no readable identifier
/// or digest.
fn name_of(pasted: &FoundCitation) -> Option<SetSpec> {
    match (&pasted.identifier, &pasted.digest) {
        (Some(ParsedField::Read(identifier)), _) => Some((*identifier).into()),
        (_, Some(ParsedField::Read(digest))) => Some(digest.clone().into()),
        _ => None,
    }
}

/// A citation, with the key of its reference, and its line.
struct Item {
    pasted: FoundCitation,
    key: Option<String>,
    line: Option<u64>,
}

impl Item {
    fn of(pasted: FoundCitation, reference: &Reference) -> Self {
        let line = Some(reference.line + pasted.lines_before);
        Item { pasted, key: reference.key.clone(), line }
    }
}

/// A verdict, and the reference that it is about.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    verdict: CitationVerdict,
    questionable: bool,
    interval_count: u64,
    key: Option<&'a str>,
    line: Option<u64>,
}

impl<'a> Row<'a> {
    fn of(verdict: CitationVerdict, item: &'a Item) -> Self {
        let (key, line) = (item.key.as_deref(), item.line);
        let (questionable, interval_count) =
            (verdict.is_questionable, verdict.intervals.rows.len() as u64);
        Row { verdict, questionable, interval_count, key, line }
    }
}

/// Writes which citations have the same granules, or that there are no citations.
fn write_summary(out: &mut Output, checked: &Value) -> io::Result<()> {
    let checked = &checked["summary"];
    for set in checked["same_sets"].as_array().into_iter().flatten() {
        let numbers = set["citations"].as_array().map_or(&[][..], Vec::as_slice);
        let numbers: Vec<String> = numbers.iter().map(in_words).collect();
        let Some((last, first)) = numbers.split_last() else { continue };
        let granules = counted(&set["granules"], "granule");
        writeln!(out, "{} and {last} cite the same {granules}", first.join(", "))?;
    }
    if checked["citations"] == 0 {
        writeln!(out, "no reference cites a dataset here")?;
    }
    Ok(())
}

fn write_verdict(out: &mut Output, verdict: &Value) -> io::Result<()> {
    let text = |member: &str| verdict[member].as_str().map(|text| one_line(text).to_string());
    write!(out, "{}  ", verdict["citation"])?;
    if let Some(line) = verdict["line"].as_u64() {
        let key = text("key").map(|key| format!("{key}, ")).unwrap_or_default();
        write!(out, "({key}line {line})  ")?;
    }
    for member in ["identifier", "digest"] {
        if let Some(text) = text(member) {
            write!(out, "{text}  ")?;
        }
    }
    match (text("problem"), verdict["known"] == true) {
        (Some(problem), _) if problem == CitationVerdict::NO_IDENTIFIER => {
            writeln!(out, "cites {} without an identifier", text("doi").unwrap_or_default())?;
        }
        (Some(problem), false) => writeln!(out, "unknown: {problem}")?,
        (Some(problem), true) if verdict["questionable"] == true => {
            writeln!(out, "QUESTIONABLE: {problem}")?;
        }
        (Some(problem), true) => writeln!(out, "DISAGREES: {problem}")?,
        (None, _) => match text("date") {
            Some(date) if verdict["agrees"].is_null() => {
                writeln!(out, "known; whether it agrees with its date {date} is not known")?;
            }
            Some(date) => writeln!(out, "known, and agrees with its date {date}")?,
            None => writeln!(out, "known; it has no date")?,
        },
    }
    if let Some(note) = text("note") {
        writeln!(out, "   note: {note}")?;
    }
    let intervals = verdict["intervals"].as_array().map_or(&[][..], Vec::as_slice);
    let shown = intervals.iter().take(MAX_INTERVALS);
    shown.clone().try_for_each(|period| write_interval(out, period))?;
    let count = verdict["interval_count"].as_u64().unwrap_or(0);
    match count.saturating_sub(shown.len() as u64) {
        0 => Ok(()),
        more => writeln!(out, "   and {more} more; --json lists all"),
    }
}

fn write_interval(out: &mut Output, period: &Value) -> io::Result<()> {
    let [dataset, from] = ["dataset", "from"].map(|member| in_words(&period[member]));
    let until = match (period["until"].as_str(), period["withdrawn"]["timestamp"].as_str()) {
        (Some(until), _) => until.to_owned(),
        (None, Some(withdrawn)) => format!("it was withdrawn at {withdrawn}"),
        (None, None) => "now".to_owned(),
    };
    let granules = counted(&period["granules"], "granule");
    write!(out, "   {dataset}  {from} until {until}  {granules}")?;
    match &period["subset"] {
        Value::Null => writeln!(out)?,
        subset => writeln!(out, ", a subset, {}", selected_in(subset))?,
    }
    lines_below(period).try_for_each(|it| writeln!(out, "      {it}"))
}
