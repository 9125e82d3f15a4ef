//! A small line of the granules held, for a row of a table.

use std::fmt::Write;

use maud::{Markup, PreEscaped};

use super::drawing::number;
use crate::error::Result;
use crate::model::{DatasetName, Timestamp};
use crate::pages::figures::DAY;
use crate::registry::Snapshot;

/// The size of the line in its own units: it is stretched to the width of its cell.
const WIDTH: f64 = 200.0;
const HEIGHT: i64 = 30;

/// The number of columns.
const COLUMNS: i64 = 40;

/// The granules held at evenly spaced times of a period, on a scale of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spark {
    from: Timestamp,
    until: Timestamp,
    /// The granules held at each of the times. `None` means before the first change.
    held: Vec<Option<u64>>,
}

impl Spark {
    /// What a dataset held between two times. Costs one statement.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](crate::ErrorKind::DatasetUnknown): no dataset has the name.
    pub fn read(
        snapshot: &Snapshot,
        dataset: &DatasetName,
        from: Timestamp,
        until: Timestamp,
    ) -> Result<Self> {
        let held = snapshot.held_at(dataset, &Spark::times(from, until.max(from)))?;
        Ok(Spark { from, until, held })
    }

    /// What a dataset held in the twelve months until a time.
    ///
    /// # Errors
    ///
    /// Those of [`Spark::read`].
    pub fn of_a_year(snapshot: &Snapshot, dataset: &DatasetName, until: Timestamp) -> Result<Self> {
        let from = Timestamp::from_micros(until.as_micros() - 366 * DAY).unwrap_or(Timestamp::MIN);
        Spark::read(snapshot, dataset, from, until)
    }

    /// The times at which the granules held are asked for.
    fn times(from: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let passed = until.as_micros() - from.as_micros();
        let at = |column: i64| from.as_micros() + passed / COLUMNS * column;
        let inner = (0..COLUMNS).filter_map(|column| Timestamp::from_micros(at(column)));
        inner.chain([until]).collect()
    }

    fn x(&self, at: Timestamp) -> f64 {
        let passed = |at: Timestamp| (at.as_micros() - self.from.as_micros()) as f64;
        (passed(at) / passed(self.until).max(1.0) * WIDTH).clamp(0.0, WIDTH)
    }

    /// The line, with a dot at the last change or with a period shaded, which is never narrower than
    /// can be seen.
    pub(in crate::pages) fn svg(
        &self,
        last: Option<Timestamp>,
        shaded: Option<(Timestamp, Option<Timestamp>)>,
    ) -> Markup {
        let shown = self.held.iter().flatten();
        // What was held at the last time alone is no line.
        if shaded.is_none() && shown.clone().count() < 2 {
            return PreEscaped(String::new());
        }
        let (Some(low), Some(high)) = (shown.clone().min(), shown.max()) else {
            return PreEscaped(String::new());
        };
        let (low, high) = (*low as f64, *high as f64);
        // At least a tenth of what is held, so that little looks little.
        let range = (high - low).max(high / 10.0).max(1.0);
        let middle = HEIGHT as f64 / 2.0;
        let y = |held: u64| {
            let from_middle = f64::midpoint(high, low) - held as f64;
            (middle + from_middle / range * (HEIGHT - 6) as f64).round() as i64
        };
        let (mut path, mut before) = (String::new(), None);
        let columns = self.held.len().saturating_sub(1).max(1) as f64;
        for (column, held) in self.held.iter().enumerate() {
            let Some(held) = held else { continue };
            let (x, y) = ((column as f64 / columns * WIDTH).round(), y(*held));
            match before {
                // The line reaches the dot, which is between two of the times.
                None => path = format!("M{} {y}", number(last.map_or(x, |at| self.x(at).min(x)))),
                Some(before) if before != y => {
                    let _ = write!(path, "H{x}V{y}");
                }
                Some(_) => {}
            }
            before = Some(y);
        }
        let _ = write!(path, "H{WIDTH}");
        let mut svg = format!(
            "<svg class=\"spark\" viewBox=\"0 0 200 {HEIGHT}\" preserveAspectRatio=\"none\" \
             aria-hidden=\"true\"><path d=\"{path}\"/>"
        );
        if let (Some(at), Some(y)) = (last.filter(|at| *at > self.from), before) {
            let _ = write!(svg, "<path class=\"dot\" d=\"M{} {y}h0\"/>", number(self.x(at)));
        }
        if let Some((from, until)) = shaded {
            let (from, until) = (self.x(from), until.map_or(WIDTH, |until| self.x(until)));
            let width = (until - from).max(4.0);
            let from = from.min(WIDTH - width);
            let _ = write!(
                svg,
                "<rect x=\"{}\" width=\"{}\" height=\"{HEIGHT}\"/>",
                number(from),
                number(width)
            );
        }
        svg.push_str("</svg>");
        PreEscaped(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_with_the_first_change_and_shades_a_short_period() {
        let at = |day: &str| format!("{day}T00:00:00Z").parse::<Timestamp>().unwrap();
        let (from, until) = (at("2025-11-23"), at("2026-11-23"));
        let times = Spark::times(from, until);
        assert_eq!((times.len(), times[0], times[40]), (41, from, until));
        let held = times.iter().map(|time| (*time >= at("2026-06-01")).then_some(7)).collect();
        let spark = Spark { from, until, held };
        let svg = spark.svg(Some(at("2026-06-01")), None).into_string();
        assert!(svg.contains("<path d=\"M104.1 15H200\"/>"), "{svg}");
        assert!(svg.contains("class=\"dot\""), "{svg}");
        let period = Some((at("2026-06-01"), Some(at("2026-06-02"))));
        assert!(spark.svg(None, period).into_string().contains("width=\"4\" height=\"30\""));
        let mut held = vec![None; 41];
        assert_eq!(Spark { from, until, held: held.clone() }.svg(None, None).into_string(), "");
        held[40] = Some(7);
        assert_eq!(Spark { from, until, held }.svg(Some(until), None).into_string(), "");
    }
}
