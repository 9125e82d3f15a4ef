//! The end of a published log, to which the next change is appended.

use std::io::Read;

use super::error::{Error, Result};
use crate::disk::Directory;
use crate::mirror::log::{Checks, Head, Position, Segment, Segments};

/// The last change of a published log, as far as its lines are in the segment that grows.
pub(super) struct Tail {
    /// These lines.
    pub lines: Vec<u8>,
    /// How many lines they are.
    pub count: u64,
    /// The place in the log at which they begin.
    pub begins: Position,
    /// The segments before that place.
    pub segments: Segments,
}

impl Tail {
    /// Reads the segment that grows, and proves that it is as it was written. `None` means that none
    /// grows, or that there is no change yet.
    pub fn read(log: &Directory, head: &Head) -> Result<Option<Self>> {
        let Some((last, before)) = head.segments.0.split_last() else { return Ok(None) };
        if last.is_sealed() {
            return Ok(None);
        }
        let name = Segment::file_name(before.len());
        let mut bytes = Vec::new();
        if let Some(file) = log.read(&name)? {
            // A segment that is not complete is at most 4 MiB long.
            let read = file.take(last.bytes).read_to_end(&mut bytes);
            read.map_err(|source| Error::file("read", &log.path_of(&name), source))?;
        }
        let damaged = |line: u64, what: &str| Error::Damaged {
            path: log.path_of(&name),
            line: Some(line),
            what: what.to_owned(),
        };
        let latest = head.latest.map(|(timestamp, _)| format!("{{\"timestamp\":\"{timestamp}\""));
        let mut check = before.last().map(|segment| segment.check);
        let mut checks = Checks::after(check);
        let (mut begin, mut end, mut line_number, mut count) = (0, 0, 0, 0);
        let mut last_check = check;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            line_number += 1;
            last_check = Some(checks.verify(line).map_err(|what| damaged(line_number, what))?);
            end += line.len();
            count += 1;
            if latest.as_ref().is_none_or(|latest| !line.starts_with(latest.as_bytes())) {
                (begin, check, count) = (end, last_check, 0);
            }
        }
        if last_check != Some(head.check) || (latest.is_some() && count == 0) {
            return Err(damaged(line_number, "the line is not the last one of the head"));
        }
        if latest.is_none() {
            return Ok(None);
        }
        let lines = bytes.split_off(begin);
        let mut segments = Segments(before.to_vec());
        if let (true, Some(check)) = (begin > 0, check) {
            let (bytes, timestamp) = (begin as u64, last.timestamp);
            segments.0.push(Segment { bytes, timestamp, check });
        }
        let begins = Position {
            changes: head.changes.saturating_sub(1),
            bytes: segments.bytes(),
            // Those of a change are set with its last line.
            granules: 0,
            check,
            timestamp: None,
        };
        Ok(Some(Tail { lines, count, begins, segments }))
    }
}
