//! A change log: one line an event, its time, `+` or `-`, and the id, parted by TABs.

use std::io::{BufRead, Read as _};
use std::sync::Arc;

use super::{Error, Event, EventKind, Fault, time};
use crate::model::{GranuleId, Place};

/// A line is read no further than this: the longest id, and room for any spelling of a time.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 128;

/// The events of a change log.
pub(super) struct Changes<R> {
    file: R,
    name: Arc<str>,
    line: u64,
    bytes: Vec<u8>,
}

impl<R: BufRead> Changes<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        Changes { file, name, line: 0, bytes: Vec::new() }
    }

    pub(super) fn event(&mut self) -> Result<Option<Event>, Error> {
        loop {
            self.line += 1;
            self.bytes.clear();
            let fail = |fault| Error::new(&self.name, self.line, fault);
            (&mut self.file)
                .take(MAX_LINE_BYTES)
                .read_until(b'\n', &mut self.bytes)
                .map_err(|cause| fail(Fault::Unreadable { cause }))?;
            if self.bytes.is_empty() {
                return Ok(None);
            }
            let line = super::lines::without_line_end(&self.bytes);
            if line.is_empty() {
                continue;
            }
            let mut cells = line.splitn(3, |&byte| byte == b'\t');
            let (Some(at), Some(sign), Some(granule_id)) =
                (cells.next(), cells.next(), cells.next())
            else {
                return Err(fail(Fault::NotAChange));
            };
            let kind = match sign {
                b"+" => EventKind::Ingested,
                b"-" => EventKind::Deleted,
                _ => return Err(fail(Fault::NotAChange)),
            };
            let at = time::read(&String::from_utf8_lossy(at)).map_err(fail)?;
            let granule_id = GranuleId::from_bytes(granule_id).map_err(|cause| {
                let text = String::from_utf8_lossy(granule_id).into_owned();
                fail(Fault::GranuleId { text, cause })
            })?;
            let place = Some(Place::Line { source: self.name.clone(), line: self.line });
            return Ok(Some(Event { at, kind, granule_id, producer_granule: None, place }));
        }
    }
}
