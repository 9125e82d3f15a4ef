//! A change log: one line an event, its time, `+` or `-`, and the id, parted by TABs.

use std::io::BufRead;
use std::sync::Arc;

use super::numbered_lines::NumberedLines;
use super::{Error, Event, EventKind, Fault, time};
use crate::model::GranuleId;

/// A line is read no further than this: the longest id, and room for any spelling of a time.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The events of a change log.
pub(super) struct Changes<R>(NumberedLines<R>);

impl<R: BufRead> Changes<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        Changes(NumberedLines::new(file, name, MAX_LINE_BYTES))
    }

    pub(super) fn event(&mut self) -> Result<Option<Event>, Error> {
        let Changes(lines) = self;
        while lines.advance()? {
            let line = lines.text();
            if line.is_empty() {
                continue;
            }
            let mut cells = line.splitn(3, |&byte| byte == b'\t');
            let (Some(at), Some(sign), Some(granule_id)) =
                (cells.next(), cells.next(), cells.next())
            else {
                return Err(lines.fail(Fault::NotAChange));
            };
            let kind = match sign {
                b"+" => EventKind::Ingested,
                b"-" => EventKind::Deleted,
                _ => return Err(lines.fail(Fault::NotAChange)),
            };
            let at = time::read(&String::from_utf8_lossy(at)).map_err(|fault| lines.fail(fault))?;
            let granule_id = GranuleId::from_bytes(granule_id).map_err(|cause| {
                let text = String::from_utf8_lossy(granule_id).into_owned();
                lines.fail(Fault::GranuleId { text, cause })
            })?;
            let location = Some(lines.location());
            return Ok(Some(Event { at, kind, granule_id, producer_granule: None, location }));
        }
        Ok(None)
    }
}
