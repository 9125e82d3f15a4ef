//! Lists in a result that are read while they are printed. In JSON they are members of the result. In text they
//! are lines with a mark, below the result.

use std::io::Write;

use serde::Serialize;
use serde_json::Value;

use super::json::Streamed;
use super::stdout::Output;
use crate::error::Result;

/// A list in a result.
pub struct MarkedList<'a> {
    /// The name of its member in JSON.
    pub member: &'static str,
    /// Its values.
    pub values: Streamed<'a, String>,
    /// Its format as text. `None` means that only JSON has the list.
    pub lines: Option<MarkedLines>,
}

/// The format of a list as text: one line for each value, and the number of values that are not listed.
pub struct MarkedLines {
    /// The beginning of each line.
    pub mark: &'static str,
    /// The member of the result with the number of all values.
    pub count: &'static str,
    /// The kind of the values in words, printed after the number of values that are not listed.
    pub kind: &'static str,
}

/// A result with its lists, as JSON.
#[derive(Serialize)]
struct WithLists<'a, R> {
    #[serde(flatten)]
    result: &'a R,
    #[serde(flatten)]
    lists: Lists<'a>,
}

struct Lists<'a>(&'a [MarkedList<'a>]);

impl Serialize for Lists<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|list| (list.member, &list.values)))
    }
}

impl<'a> MarkedList<'a> {
    /// A result with its lists, as JSON.
    pub fn beside<R: Serialize>(result: &'a R, lists: &'a [Self]) -> impl Serialize + use<'a, R> {
        WithLists { result, lists: Lists(lists) }
    }

    /// Writes the list as text, below its result.
    pub fn write(&self, out: &mut Output, result: &Value) -> Result<()> {
        let Some(MarkedLines { mark, count, kind }) = self.lines else { return Ok(()) };
        let mut listed = 0;
        for value in self.values.read() {
            writeln!(out, "{mark} {}", value?)?;
            listed += 1;
        }
        match result[count].as_u64().unwrap_or(0).saturating_sub(listed) {
            0 => {}
            more => writeln!(out, "and {more} more {kind}")?,
        }
        Ok(())
    }
}
