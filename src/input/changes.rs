//! A change log: one event per line, with its time, `+` or `-`, and the id, separated by TABs.

use std::io::BufRead;
use std::sync::Arc;

use super::error::{Error, InputErrorKind};
use super::numbered_lines::NumberedLines;
use super::spelled_time;
use crate::model::{Event, EventKind, GranuleId, Moment};

/// The greatest length of a line: the longest id, and room for any spelling of a time.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The events of a change log.
pub(super) struct Changes<R>(NumberedLines<R>);

impl<R: BufRead> Changes<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        Changes(NumberedLines::new(file, name, MAX_LINE_BYTES))
    }

    /// The next event, and its time as it is written.
    pub(super) fn event(&mut self) -> Result<Option<(Event, Moment)>, Error> {
        let Changes(lines) = self;
        while lines.advance()? {
            let line = lines.text();
            if line.is_empty() {
                continue;
            }
            if lines.is_cut() {
                return Err(lines.too_long());
            }
            let mut cells = line.splitn(3, |&byte| byte == b'\t');
            let (Some(at), Some(sign), Some(granule_id)) =
                (cells.next(), cells.next(), cells.next())
            else {
                return Err(lines.fail(InputErrorKind::NotAChange));
            };
            let kind = match sign {
                b"+" => EventKind::Ingested,
                b"-" => EventKind::Deleted,
                _ => return Err(lines.fail(InputErrorKind::NotAChange)),
            };
            let moment = spelled_time::parse(&String::from_utf8_lossy(at))
                .map_err(|kind| lines.fail(kind))?;
            let granule_id = GranuleId::from_bytes(granule_id).map_err(|cause| {
                let text = String::from_utf8_lossy(granule_id).into_owned();
                lines.fail(InputErrorKind::GranuleId { text, cause })
            })?;
            let location = Some(lines.location());
            let at = moment.of_change();
            let event = Event { at, kind, granule_id, producer_granule: None, location };
            return Ok(Some((event, moment)));
        }
        Ok(None)
    }
}
