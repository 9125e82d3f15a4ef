//! Reads the head of a log, the log, and the files beside it, from any location.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use super::log::{
    Lines, LogLine, LogReader, MAX_LINE_BYTES, Position, SubsetReader, read_annotation,
};
use super::place::{Failure, FoundHead, Part, Place};
use crate::error::{Error, Result};
use crate::model::{LogChange, SourceLocation, Timestamp};
use crate::registry::{CitedSubsets, LoggedAnnotations};

/// Reads the head of a log.
///
/// # Errors
///
/// It cannot be read, or is invalid.
pub(crate) fn read_head(place: &dyn Place) -> Result<Box<FoundHead>> {
    let mut attempt = 1;
    loop {
        match place.head() {
            Ok(found) => return Ok(found),
            Err(failure) => attempt = place.retry(failure, attempt, false)?,
        }
    }
}

/// The error for a log that differs from what its head announces.
fn contradiction(place: &dyn Place, of: &FoundHead, what: &str) -> Error {
    match place.location_of_head(of) {
        Ok(location) => Error::not_a_manifest(what).at(location),
        Err(error) => error,
    }
}

/// Receives the content of a verified line of a log, with its length and location.
type Take<'a> = dyn FnMut(LogLine, Option<LogChange>, (u64, SourceLocation)) -> Result<()> + 'a;

/// Reads a log after a change (`None`: from its start) to the end that its head announces. Every line is
/// verified before it is passed to `take`.
///
/// # Errors
///
/// A line is wrong, or the log differs from what the head announces; it cannot be read; those of `take`.
pub(crate) fn read_log(
    place: &dyn Place,
    of: &FoundHead,
    after: Option<&LogChange>,
    not_after: Timestamp,
    take: &mut Take<'_>,
) -> Result<()> {
    let position = after.map_or_else(Position::default, Position::from);
    let mut last = after.cloned();
    let mut reader = LogReader::at(position, "".into(), 0, not_after);
    let (mut begin, mut file) = (0, None);
    for (index, segment) in of.head.segments.0.iter().enumerate() {
        let end = begin + segment.bytes;
        if reader.bytes() < end {
            let name = place.name(of, Part::Segment(index));
            if file.as_ref() != Some(&name) {
                let offset = if place.is_one_file() { 0 } else { begin };
                let source = match reader.bytes().saturating_sub(offset) {
                    0 => name.clone(),
                    offset => format!("{name} from byte {offset}"),
                };
                reader.enter(source.as_str().into(), 0);
                file = Some(name);
            }
            let mut take = |log_line, change: Option<LogChange>, at| {
                if change.is_some() {
                    last.clone_from(&change);
                }
                take(log_line, change, at)
            };
            let mut attempt = 1;
            loop {
                let before = reader.bytes();
                let segment = (place, of, index);
                let read = read_segment(segment, begin, &mut reader, &mut take, attempt);
                let Err(failure) = read else { break };
                attempt = place.retry(failure, attempt, reader.bytes() > before)?;
            }
        }
        begin = end;
    }
    let refused = |what: &str| Err(contradiction(place, of, what));
    if reader.bytes() != begin || !reader.is_between_changes() {
        return refused("the log is not the one that the head announces");
    }
    let number = last.as_ref().map_or(0, |last| last.number);
    if let Err(what) = of.head.check_end(number, last.as_ref()) {
        return refused(&what);
    }
    place.prove(of)
}

/// Reads the rest of a segment, unless a connection breaks. `begin` is the offset of the segment in the log.
fn read_segment(
    (place, of, index): (&dyn Place, &FoundHead, usize),
    begin: u64,
    reader: &mut LogReader,
    take: &mut Take<'_>,
    attempt: u32,
) -> Result<(), Failure> {
    let (part, segment) = (Part::Segment(index), &of.head.segments.0[index]);
    let broken = |error| place.broken(of, part, error);
    let (from, end) = (reader.bytes().saturating_sub(begin), begin + segment.bytes);
    let may_be_compressed = segment.is_sealed() && from == 0 && attempt == 1;
    let body = place.open(of, part, from, attempt)?.take(segment.bytes - from);
    let (mut body, mut line) = (BufReader::new(body), Vec::new());
    while reader.bytes() < end {
        line.clear();
        let read = body.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        read.map_err(broken)?;
        let is_last = reader.bytes() + line.len() as u64 == end;
        if !line.ends_with(b"\n") && (line.len() as u64) < MAX_LINE_BYTES && !is_last {
            return Err(broken(io::Error::other("it ends early")));
        }
        let before = reader.bytes();
        let read = reader.read(&line).map_err(|error| {
            if !may_be_compressed || reader.bytes() > before {
                return Failure::Lasting(error);
            }
            // The line was damaged in the compressed form of the segment, but perhaps not in the segment.
            reader.repeat();
            Failure::Passing(error, None)
        })?;
        if let Some((log_line, change)) = read {
            take(log_line, change, (line.len() as u64, reader.location()))?;
        }
    }
    if reader.check() != Some(segment.check) {
        let what = "the segment does not end with the checksum that the head announces";
        return Ok(reader.fail(what)?);
    }
    Ok(())
}

/// The number of times that the head and the files beside its log are read again because they changed
/// meanwhile, and the first delay.
const MAX_CHANGES: u32 = 5;
const CHANGE_DELAY: Duration = Duration::from_millis(50);

/// Reads the files beside a log, with the head that announces them. Publishing a log replaces both, the head
/// last: if they do not agree, both are read again. `read` returns the part that differs from its announcement.
///
/// # Errors
///
/// It cannot be read, or never agrees with a head.
pub(super) fn read_beside<T>(
    place: &dyn Place,
    of: &mut FoundHead,
    read: impl Fn(&FoundHead) -> Result<Result<T, Part>, Failure>,
) -> Result<T> {
    let (mut attempt, mut changes) = (1, 0);
    loop {
        match read(of) {
            Ok(Ok(read)) => return Ok(read),
            Ok(Err(_)) if changes < MAX_CHANGES && !place.is_one_file() => {
                changes += 1;
                sleep(CHANGE_DELAY * (changes - 1));
                let now = read_head(place)?;
                if now.head.check == of.head.check {
                    *of = *now;
                } else {
                    // The log has new changes, which the caller reads the next time.
                    of.head.subsets = now.head.subsets;
                    of.head.annotations = now.head.annotations;
                }
            }
            Ok(Err(part)) => {
                let what = match part {
                    Part::Annotations => "annotations",
                    _ => "cited subsets",
                };
                let what = format!("these are not the {what} that the head announces");
                let line = place.lines_before(of, part)? + 1;
                let source = place.name(of, part).into();
                return Err(Error::not_a_manifest(&what).at_line(&source, line));
            }
            Err(failure) => attempt = place.retry(failure, attempt, false)?,
        }
    }
}

/// Why a line beside a log is rejected.
enum Wrong {
    /// The line is invalid.
    Line(String),
    /// The line cannot be stored.
    Kept(Error),
}

impl From<String> for Wrong {
    fn from(what: String) -> Self {
        Wrong::Line(what)
    }
}

impl From<Error> for Wrong {
    fn from(error: Error) -> Self {
        Wrong::Kept(error)
    }
}

/// Whether an item beside a log belongs to a change up to a time (`None`: to none). Items of later changes are
/// left to the next copy. A single file never has them, because its head was written last.
fn is_wanted(place: &dyn Place, of: Timestamp, until: Option<Timestamp>) -> bool {
    place.is_one_file() || until.is_some_and(|until| of <= until)
}

/// Reads the cited subsets of changes up to a time. `None` selects none.
pub(super) fn subsets(
    place: &dyn Place,
    of: &FoundHead,
    until: Option<Timestamp>,
) -> Result<Result<CitedSubsets, Part>, Failure> {
    let (mut reader, mut subsets) = (SubsetReader::default(), CitedSubsets::default());
    let are_announced = each_line(place, of, Part::Subsets, |line, at| {
        let Some((subset, members)) = reader.read(line, at)? else { return Ok(false) };
        if is_wanted(place, subset.timestamp, until) {
            subsets.add(&subset, members)?;
        }
        Ok(true)
    })?;
    Ok(if are_announced && !reader.is_cut() { Ok(subsets) } else { Err(Part::Subsets) })
}

/// Reads the annotations of changes up to a time. `None` selects none.
pub(super) fn annotations(
    place: &dyn Place,
    of: &FoundHead,
    until: Option<Timestamp>,
) -> Result<Result<LoggedAnnotations, Part>, Failure> {
    let mut annotations = LoggedAnnotations::default();
    let are_announced = each_line(place, of, Part::Annotations, |line, at| {
        let annotation = read_annotation(line, at)?;
        if is_wanted(place, annotation.timestamp, until) {
            annotations.add(&annotation)?;
        }
        Ok(true)
    })?;
    Ok(if are_announced { Ok(annotations) } else { Err(Part::Annotations) })
}

/// Reads the lines of a part beside a log, unless the head announces none. `take` returns whether a line ends
/// its subset or annotation. Returns whether the lines are those that the head announces.
///
/// # Errors
///
/// A line is rejected although the lines are those that the head announces.
fn each_line(
    place: &dyn Place,
    of: &FoundHead,
    part: Part,
    mut take: impl FnMut(&[u8], (String, u64)) -> Result<bool, Wrong>,
) -> Result<bool, Failure> {
    let announced = part.announced(&of.head);
    if announced.is_empty() {
        return Ok(true);
    }
    let (source, mut number): (Arc<str>, _) =
        (place.name(of, part).into(), place.lines_before(of, part)?);
    // One byte more detects a part that is longer than announced.
    let body = place.open(of, part, 0, 1)?.take(announced.bytes.saturating_add(1));
    let (mut body, mut line, mut wrong) = (BufReader::new(body), Vec::new(), None);
    let mut lines = Lines::default();
    loop {
        line.clear();
        let read = body.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|error| place.broken(of, part, error))? == 0 {
            break;
        }
        number += 1;
        lines.add(&line);
        match take(&line, (source.to_string(), number)) {
            Ok(is_last) => lines.count += u64::from(is_last),
            Err(Wrong::Kept(error)) => return Err(error.into()),
            // The remaining lines are read, too, because the head may announce different lines.
            Err(Wrong::Line(what)) => {
                let error = Error::not_a_manifest(&what).at_line(&source, number);
                wrong = wrong.or(Some(error));
            }
        }
    }
    match wrong {
        Some(wrong) if lines.are(&announced) => Err(wrong.into()),
        Some(_) => Ok(false),
        None => Ok(lines.digest() == announced),
    }
}
