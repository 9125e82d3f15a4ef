//! `compare` of more than two sides: the sets and the named lists in one pass.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;

use accession::disk::Spool;
use accession::input::Options;
use accession::model::{ValueError, quoted};
use accession::registry::{Presence, SideBySide};
use accession::{Access, Identifier, Timestamp};
use serde::Serialize;
use serde_json::json;

use crate::cli::args::TypedSet;
use crate::cli::error::{Error, Exit, Result};
use crate::cli::output::{Column, Progress, count};
use crate::cli::paths::PathArgs;
use crate::cli::reading::{InputFile, listing, warn_of_repeated};
use crate::cli::session::Session;

/// A set with what was typed, by which it is named.
#[derive(Debug, Clone)]
pub struct NamedSet {
    name: String,
    pub set: TypedSet,
}

impl FromStr for NamedSet {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Ok(NamedSet { name: text.to_owned(), set: text.parse()? })
    }
}

/// Whether all files are given as `NAME=FILE`.
pub fn are_named(files: &[InputFile]) -> bool {
    files.iter().all(|file| named(file).is_some())
}

/// A name, and the file that it is given to. A name is no part of a path: `./a=b` is a file.
fn named(file: &InputFile) -> Option<(String, InputFile)> {
    let (name, path) = file.path()?.to_str()?.split_once('=')?;
    let is_whole = !name.is_empty() && !name.contains('/') && !path.is_empty();
    is_whole.then(|| (name.to_owned(), InputFile::from(std::ffi::OsString::from(path))))
}

/// One of the sides, as a row of a table.
#[derive(Serialize)]
struct SideRow {
    name: String,
    /// `None` means a list.
    identifier: Option<Identifier>,
    timestamp: Option<Timestamp>,
    granules: u64,
}

/// The sides that have a granule, and those with other bytes, as JSON.
#[derive(Serialize)]
struct Sides<'a> {
    #[serde(rename = "in")]
    having: Vec<&'a str>,
    other_content: Vec<&'a str>,
}

/// Compares all sides with each other, the sets before the lists.
pub fn compare_many(
    session: &mut Session,
    sets: &[NamedSet],
    files: &[InputFile],
    options: &Options,
    paths: &PathArgs,
    limit: u64,
    is_summary: bool,
) -> Result<Exit> {
    let (mut sides, mut rows) = read_sides(session, sets, files, options, paths)?;
    let names: Vec<String> = rows.iter().map(|row| row.name.clone()).collect();
    let mut patterns: BTreeMap<Vec<Presence>, u64> = BTreeMap::new();
    let (mut listed, mut left) = (Spool::default(), limit);
    for uneven in sides.by_ref() {
        let uneven = uneven?;
        if left > 0 && session.is_json() {
            let Sides { having, other_content } = by_name(&names, &uneven.sides);
            session.json(&object!({
                "granule": uneven.granule_id,
                "in": having,
                "other_content": other_content,
            }))?;
        } else if left > 0 {
            listed.add(json!([uneven.granule_id, marks(&uneven.sides)]).to_string().as_bytes())?;
        }
        left = left.saturating_sub(1);
        *patterns.entry(uneven.sides).or_default() += 1;
    }
    let different: u64 = patterns.values().sum();
    for (row, granules) in rows.iter_mut().zip(sides.granules()) {
        warn_of_repeated(session, row.granules.saturating_sub(*granules));
        row.granules = *granules;
    }
    if session.is_json() {
        for (pattern, granules) in patterns.iter().filter(|_| is_summary) {
            let Sides { having, other_content } = by_name(&names, pattern);
            session.json(&object!({
                "granules": granules,
                "in": having,
                "other_content": other_content,
            }))?;
        }
    } else {
        let same = sides.same();
        match different {
            0 => writeln!(session.out(), "identical: {}", count(same, "granule"))?,
            _ => {
                writeln!(
                    session.out(),
                    "different: {same} the same on all sides, {different} not"
                )?;
            }
        }
        let all = same + different;
        if let Some(compared) = sides.compared().filter(|compared| *compared < all) {
            writeln!(session.out(), "bytes: compared for {compared} of {all}")?;
        }
        write_report(session, rows, &patterns, &listed)?;
        match different - listed.count() {
            more if more > 0 && !is_summary => writeln!(session.out(), "and {more} more")?,
            _ => {}
        }
    }
    Ok(if different == 0 { Exit::Done } else { Exit::Differs })
}

/// Opens the sides, with what is printed of each.
fn read_sides(
    session: &Session,
    sets: &[NamedSet],
    files: &[InputFile],
    options: &Options,
    paths: &PathArgs,
) -> Result<(SideBySide, Vec<SideRow>)> {
    let is_alone = files.len() == 1;
    let files = files.iter().map(|file| {
        let alone = || is_alone.then(|| (file.name(), file.clone()));
        named(file).or_else(alone).ok_or_else(|| {
            Error::usage(format!("{} has no name", quoted(&file.name())))
                .with_hint("where more than two sides are compared, each list is --from NAME=FILE")
        })
    });
    let files: Vec<(String, InputFile)> = files.collect::<Result<_>>()?;
    let names: Vec<&String> =
        sets.iter().map(|set| &set.name).chain(files.iter().map(|(name, _)| name)).collect();
    if names.len() < 2 {
        return Err(Error::usage("a comparison has at least two sides")
            .with_hint("name another set, or a list with --from"));
    }
    if let Some(twice) = (1..names.len()).find(|index| names[..*index].contains(&names[*index])) {
        return Err(Error::usage(format!("two sides are called {}", quoted(names[twice])))
            .with_hint("a file whose path has = is written ./PATH"));
    }
    let inputs = files.iter().filter(|(_, file)| *file == InputFile::StandardInput);
    if inputs.count() > 1 {
        return Err(Error::usage("standard input is named more than once")
            .with_hint("it can be read only once: save one of the inputs in a file"));
    }
    let (mut sides, mut rows) = (SideBySide::new(Some(Arc::new(Progress::new()))), Vec::new());
    // Lists first: one may be typed at a terminal.
    let mut lists = Vec::new();
    for (name, file) in files {
        let (listing, _) = listing(session, &[file], options.clone(), paths)?;
        lists.push((name, listing));
    }
    if !sets.is_empty() {
        let (now, snapshot) = (session.now()?, session.open(Access::Read)?.snapshot()?);
        for NamedSet { name, set } in sets {
            let set = sides.add_set(&snapshot, &set.clone().into_selection(now, &snapshot)?)?;
            let (name, identifier) = (name.clone(), Some(set.identifier()));
            let timestamp = Some(set.instance().timestamp);
            rows.push(SideRow { name, identifier, timestamp, granules: set.granules() });
        }
    }
    for (name, list) in lists {
        // The granules are counted when they are read.
        let granules = list.count();
        rows.push(SideRow { name, identifier: None, timestamp: None, granules });
        sides.add_list(&list)?;
    }
    Ok((sides, rows))
}

fn write_report(
    session: &mut Session,
    rows: Vec<SideRow>,
    patterns: &BTreeMap<Vec<Presence>, u64>,
    listed: &Spool,
) -> Result<()> {
    const SIDES: &[Column] = &[
        Column::text("side").of("name"),
        Column::text("identifier"),
        Column::text("as of").of("timestamp"),
        Column::number("granules"),
    ];
    const COUNTS: &[Column] = &[Column::number("granules").of("1"), Column::text("sides").of("0")];
    const GRANULES: &[Column] = &[Column::text("granule").of("0"), Column::text("sides").of("1")];
    session.rows(SIDES, rows.into_iter().map(Ok))?;
    if !patterns.is_empty() {
        let counts = patterns.iter().map(|(pattern, granules)| Ok((marks(pattern), granules)));
        session.rows(COUNTS, counts)?;
    }
    if listed.count() > 0 {
        let lines = listed.records().map(|line| {
            serde_json::from_slice::<(String, String)>(&line?)
                .map_err(|_| accession::disk::scratch::unreadable())
        });
        session.rows(GRANULES, lines)?;
    }
    Ok(())
}

/// The marks of the sides in their order.
fn marks(sides: &[Presence]) -> String {
    let marks: Vec<String> = sides.iter().map(|side| side.mark().to_string()).collect();
    marks.join(" ")
}

fn by_name<'a>(names: &'a [String], sides: &[Presence]) -> Sides<'a> {
    let with = |is_meant: fn(&Presence) -> bool| {
        let meant = names.iter().zip(sides).filter(|(_, side)| is_meant(side));
        meant.map(|(name, _)| name.as_str()).collect()
    };
    Sides {
        having: with(|side| *side != Presence::Absent),
        other_content: with(|side| *side == Presence::OtherBytes),
    }
}
