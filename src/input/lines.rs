//! One id per line.

use std::io::BufRead;
use std::sync::Arc;

use super::error::{Error, InputErrorKind};
use super::numbered_lines::NumberedLines;
use super::record::{Record, RecordReader};
use super::warning::{InputWarning, WarningCollector};
use crate::model::{GranuleId, GranuleIdError};

/// How many bytes of a line are read: an id of the greatest length, CR, LF, and one more byte.
const MAX_LINE_BYTES: u64 = GranuleId::MAX_BYTES as u64 + 3;

/// The ids of a file with one id per line.
pub(super) struct Lines<R> {
    lines: NumberedLines<R>,
    warnings: WarningCollector,
}

impl<R: BufRead> Lines<R> {
    pub(super) fn new(file: R, name: Arc<str>) -> Self {
        let lines = NumberedLines::new(file, name, MAX_LINE_BYTES);
        Lines { lines, warnings: WarningCollector::default() }
    }
}

impl<R: BufRead> RecordReader for Lines<R> {
    fn record(&mut self) -> Result<Option<Record>, Error> {
        let Lines { lines, warnings } = self;
        while lines.advance()? {
            let text = lines.text();
            if text.is_empty() {
                continue;
            }
            let granule_id = GranuleId::from_bytes(text).map_err(|cause| {
                // Only the beginning of a line that is too long was read.
                let cause = match cause {
                    _ if text.len() as u64 == MAX_LINE_BYTES => {
                        GranuleIdError::TooLong { bytes: None }
                    }
                    cause => cause,
                };
                let text = String::from_utf8_lossy(text).into_owned();
                lines.fail(InputErrorKind::GranuleId { text, cause })
            })?;
            let location = lines.location();
            warnings.observe(&granule_id, &location);
            return Ok(Some(Record::new(granule_id, location)));
        }
        Ok(None)
    }

    fn warnings(&self) -> Vec<InputWarning> {
        self.warnings.warnings()
    }
}
