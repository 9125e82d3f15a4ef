//! A small line of the granules that a dataset held, on which the period of a set is shaded.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::drawing::number;
use crate::pages::figures::day_text;
use accession::error::Result;
use accession::model::{DatasetName, Timestamp};
use accession::registry::Snapshot;

/// The size of the line in its own units: it is stretched to the width of its place.
const WIDTH: f64 = 200.0;
const HEIGHT: i64 = 30;

/// The greatest number of changes that are drawn, each where it was.
const DRAWN_CHANGES: u32 = 100;

/// The granules held after each change of a dataset, on a scale of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    /// The changes in order of time, of which there is at least one.
    held: Vec<(Timestamp, u64)>,
    until: Timestamp,
}

impl Spark {
    /// What a dataset held until a time. `None` means that it has changed too often to be drawn, or never.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn read(
        snapshot: &Snapshot,
        dataset: &DatasetName,
        until: Timestamp,
    ) -> Result<Option<Self>> {
        let most = DRAWN_CHANGES + 1;
        let changes = snapshot.changes_after(dataset, Timestamp::MIN, most)?;
        if changes < 2 || changes > DRAWN_CHANGES.into() {
            return Ok(None);
        }
        let mut held: Vec<_> = snapshot
            .instances_before(dataset, None, most)?
            .into_iter()
            .map(|instance| (instance.timestamp, instance.granules))
            .collect();
        held.reverse();
        let until = held.last().map_or(until, |(last, _)| until.max(*last));
        Ok(Some(Spark { held, until }))
    }

    fn first(&self) -> Timestamp {
        self.held.first().map_or(self.until, |(at, _)| *at)
    }

    fn x(&self, at: Timestamp) -> f64 {
        let passed = |at: Timestamp| (at.as_micros() - self.first().as_micros()) as f64;
        (passed(at) / passed(self.until).max(1.0) * WIDTH).clamp(0.0, WIDTH)
    }

    /// The line with its first and its last day, and with a period shaded, which is never narrower than can
    /// be seen.
    pub(in crate::pages) fn section(
        &self,
        (from, until): (Timestamp, Option<Timestamp>),
    ) -> Markup {
        let mut path = String::new();
        let held = || self.held.iter().map(|(_, held)| *held as f64);
        let (low, high) = (held().fold(f64::MAX, f64::min), held().fold(0.0, f64::max));
        // At least a tenth of what is held, so that little looks little.
        let range = (high - low).max(high / 10.0).max(1.0);
        let middle = HEIGHT as f64 / 2.0;
        for (at, held) in &self.held {
            let from_middle = f64::midpoint(high, low) - *held as f64;
            let y = number(middle + from_middle / range * (HEIGHT - 6) as f64);
            let x = number(self.x(*at));
            let _ = match path.is_empty() {
                true => write!(path, "M{x} {y}"),
                false => write!(path, "H{x}V{y}"),
            };
        }
        let (from, until) = (self.x(from), until.map_or(WIDTH, |until| self.x(until)));
        let width = (until - from).max(2.0);
        let from = from.min(WIDTH - width);
        let svg = format!(
            "<svg class=\"spark\" viewBox=\"0 0 200 {HEIGHT}\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><path d=\"{path}H{WIDTH}\"/><rect x=\"{}\" width=\"{}\" \
             height=\"{HEIGHT}\"/></svg>",
            number(from),
            number(width)
        );
        html! {
            (PreEscaped(svg))
            p.axis.small.soft { span { (day_text(self.first().day())) } span { "today" } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_each_change_where_it_was_and_shades_a_short_period() {
        let at = |day: &str| format!("{day}T00:00:00Z").parse::<Timestamp>().unwrap();
        let held = vec![(at("2026-01-01"), 5), (at("2026-07-20"), 10)];
        let spark = Spark { held, until: at("2027-01-01") };
        let shaded = (at("2026-07-20"), None);
        let html = spark.section(shaded).into_string();
        assert!(html.contains("<path d=\"M0 27H109.6V3H200\"/>"), "{html}");
        assert!(html.contains("<rect x=\"109.6\" width=\"90.4\""), "{html}");
        let shaded = (at("2026-07-20"), Some(at("2026-07-21")));
        assert!(spark.section(shaded).into_string().contains("width=\"2\" height=\"30\""));
    }
}
