//! The plot of the number of granules that a dataset held over time, as SVG without a script. It is a step line
//! with an axis of time, an axis of counts from 0, and the latest number.
//!
//! One drawing fits all widths, in pages and in notebooks: its shapes stretch, but its words do not. The
//! surrounding element must leave [`MARGIN`] pixels on the left for the labels of the counts.

use std::fmt::Write;

use super::figures::{DAY, day_text, grouped, month_name};
use accession::Result;
use accession::Snapshot;
use accession::history::Span;
use accession::{DatasetName, Timestamp};

/// The space on the left for the labels of the counts, in pixels.
const MARGIN: u32 = 52;

/// In pixels: the space above the line for the latest number, and the height of the line.
const TOP: f64 = 34.0;
const HEIGHT: f64 = 190.0;

/// The width of the line in its own units, which are stretched to the width of the page.
const WIDTH: f64 = 1_000.0;

/// The greatest number of steps of the line. Each shows the smallest, the greatest and the last number in it.
const COLUMNS: f64 = 500.0;

/// The approximate greatest numbers of labels on the axes.
const MAX_COUNTS: f64 = 6.0;
const MAX_DATES: i64 = 8;

/// A history, reduced to spans of time of at most one UTC day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// The spans in order of time. The first one contains only the first change.
    pub(super) spans: Vec<Span>,
}

impl Series {
    /// Reads the history of a dataset.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`](accession::ErrorKind::DatasetUnknown): no dataset has this name.
    pub fn read(snapshot: &Snapshot, dataset: &DatasetName) -> Result<Self> {
        Ok(Series { spans: snapshot.outline(dataset)? })
    }

    /// The sums of each month with changes.
    pub(super) fn months(&self) -> Vec<Span> {
        let of_one = self.spans.chunk_by(|one, next| month(one.first) == month(next.first));
        of_one.filter_map(merged).collect()
    }

    /// The number of changes.
    pub fn changes(&self) -> u64 {
        self.spans.iter().map(|span| span.changes).sum()
    }

    /// The number of granules that were ever added. A granule counts each time that it is added.
    pub fn ever_added(&self) -> u64 {
        self.spans.iter().fold(0, |sum, span| sum.saturating_add(span.added))
    }

    /// The time of the latest change. `None` means that there was none.
    pub fn last(&self) -> Option<Timestamp> {
        self.spans.last().map(|span| span.last)
    }

    /// The time of the first change. `None` means that there was none.
    pub fn first(&self) -> Option<Timestamp> {
        self.spans.first().map(|span| span.first)
    }
}

/// Merges consecutive spans.
fn merged(spans: &[Span]) -> Option<Span> {
    let (first, rest) = spans.split_first()?;
    let merged = rest.iter().fold(*first, |one, next| Span {
        first: one.first,
        least: one.least.min(next.least),
        most: one.most.max(next.most),
        added: one.added.saturating_add(next.added),
        deleted: one.deleted.saturating_add(next.deleted),
        changes: one.changes + next.changes,
        ..*next
    });
    Some(merged)
}

/// The scales of a plot.
struct Scales {
    first: Timestamp,
    until: Timestamp,
    /// The greatest number on the axis of counts.
    top: f64,
}

impl Scales {
    /// The position of a time, from 0 to 1.
    fn x(&self, at: Timestamp) -> f64 {
        let passed = |at: Timestamp| (at.as_micros() - self.first.as_micros()) as f64;
        (passed(at) / passed(self.until)).clamp(0.0, 1.0)
    }

    /// The height of a number, in pixels from the top of the line.
    fn y(&self, held: u64) -> i64 {
        (HEIGHT - held as f64 / self.top * HEIGHT).round() as i64
    }

    /// The path of the line. The sides of the area below it are outside the visible part.
    fn line(&self, spans: &[Span]) -> String {
        let column = |span: &Span| (self.x(span.first) * COLUMNS) as i64;
        let outside = HEIGHT + 9.0;
        let (mut path, mut y) = (format!("M-9 {outside}"), None);
        for step in spans.chunk_by(|one, next| column(one) == column(next)).filter_map(merged) {
            let mut heights = vec![step.least, step.most, step.held];
            heights.dedup();
            if y.is_some() && heights != [y.unwrap_or_default()] {
                let _ = write!(path, "H{}", number(self.x(step.first) * WIDTH));
            }
            for held in heights.into_iter().filter(|held| Some(*held) != y.replace(*held)) {
                let _ = write!(path, "V{}", self.y(held));
            }
        }
        let _ = write!(path, "H{}V{outside}", WIDTH + 9.0);
        path
    }
}

/// The plot of the numbers held until a time, over at least one day. `None` means that there were no changes.
pub fn plot(spans: &[Span], until: Timestamp) -> Option<String> {
    let (begin, end, whole) = (spans.first()?, spans.last()?, merged(spans)?);
    let a_day_later = Timestamp::from_micros(begin.first.as_micros().saturating_add(DAY));
    let until = until.max(end.last).max(a_day_later.unwrap_or(Timestamp::MAX));
    let step = round_up(whole.most as f64 / MAX_COUNTS);
    let counts: Vec<u64> =
        (0..=whole.most.div_ceil(step).max(1)).map(|it| it.saturating_mul(step)).collect();
    let top = counts.last().copied().unwrap_or(1) as f64;
    let scales = Scales { first: begin.first, until, top };
    let day = |at: Timestamp| day_text(at.day());
    let held_on = |held: u64, of: fn(&Span) -> u64| {
        let at = spans.iter().find(|span| of(span) == held).map_or(begin.first, |span| span.first);
        format!("{} on {}", grouped(held), day(at))
    };
    let last = format!("{} since {}", grouped(end.held), day(end.last));
    let base = TOP + HEIGHT;
    let (tick, floor) = (base + 6.0, base + 26.0);
    let mut svg = format!(
        "<svg class=\"plot\" width=\"100%\" height=\"{floor}\" overflow=\"visible\" role=\"img\" \
         fill=\"currentColor\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\
         <title>Granules held, {} to {}</title>\
         <desc>First {} on {}. Last {last}. Smallest {}. Largest {}.</desc>\
         <text x=\"-{MARGIN}\" y=\"14\" class=\"name\">Granules held</text>\
         <text x=\"100%\" y=\"14\" text-anchor=\"end\" class=\"name\">{last}</text>",
        day(begin.first),
        day(until),
        grouped(begin.held),
        day(begin.first),
        held_on(whole.least, |span| span.least),
        held_on(whole.most, |span| span.most),
    );
    for count in counts {
        let (y, label) = (TOP + scales.y(count) as f64, short(count));
        let _ = write!(
            svg,
            "<line x2=\"100%\" y1=\"{y}\" y2=\"{y}\" stroke=\"currentColor\" stroke-opacity=\".2\"/>\
             <text x=\"-8\" y=\"{y}\" dy=\"4\" text-anchor=\"end\">{label}</text>"
        );
    }
    // A label at the right end would be cut off. On a phone, only every second one fits.
    let dates = dates(begin.first, until).into_iter().filter(|(at, _)| scales.x(*at) <= 0.96);
    for (index, (at, label)) in dates.enumerate() {
        let class = if index % 2 == 1 { " class=\"w\"" } else { "" };
        let x = number(scales.x(at) * 100.0);
        let _ = write!(
            svg,
            "<g{class}><line x1=\"{x}%\" x2=\"{x}%\" y1=\"{base}\" y2=\"{tick}\" stroke=\"currentColor\"/>\
             <text x=\"{x}%\" y=\"{tick}\" dy=\"15\" text-anchor=\"middle\">{label}</text></g>"
        );
    }
    let _ = write!(
        svg,
        "<svg y=\"{}\" width=\"100%\" height=\"{height}\" viewBox=\"0 -2 {WIDTH} {height}\" \
         preserveAspectRatio=\"none\"><path class=\"held\" d=\"{}\" fill-opacity=\".1\" \
         stroke=\"currentColor\" stroke-width=\"1.75\" vector-effect=\"non-scaling-stroke\"/></svg>\
         <circle class=\"last\" cx=\"100%\" cy=\"{}\" r=\"3.5\"/></svg>",
        TOP - 2.0,
        scales.line(spans),
        TOP + scales.y(end.held) as f64,
        height = HEIGHT + 3.0,
    );
    Some(svg)
}

/// The number of months since the year 0.
fn month(at: Timestamp) -> i64 {
    let (year, month) = (at.day().year(), at.day().month());
    i64::from(year) * 12 + i64::from(month) - 1
}

/// The labels of the axis of time: days, months or years at equal distances.
fn dates(first: Timestamp, until: Timestamp) -> Vec<(Timestamp, String)> {
    let day = |at: Timestamp| at.as_micros().div_euclid(DAY);
    let days = day(first)..=day(until);
    if let Some(step) =
        [1, 2, 7, 14].into_iter().find(|step| (days.end() - days.start()) / step <= MAX_DATES)
    {
        // 1970-01-01 was a Thursday: weeks begin on Monday.
        let even = days.filter(|day| (day + 3).rem_euclid(step) == 0);
        let at = even.filter_map(|day| Timestamp::from_micros(day * DAY));
        return at.map(|at| (at.max(first), day_text(at.day()))).collect();
    }
    let months = month(first)..=month(until);
    let years = (0..5).flat_map(|power| [12, 24, 60].map(|months| months * 10_i64.pow(power)));
    let is_far = |step: &i64| (months.end() - months.start()) / step <= MAX_DATES;
    let step = [1, 3, 6].into_iter().chain(years).find(is_far).unwrap_or(i64::MAX);
    let even = months.filter(|month| month % step == 0);
    even.filter_map(|number| {
        let (year, month) = (number / 12, number % 12 + 1);
        let at = format!("{year:04}-{month:02}-01T00:00:00Z").parse().ok()?;
        let label = format!("{} {year}", month_name(month as u32));
        (at >= first).then_some((at, if step % 12 == 0 { year.to_string() } else { label }))
    })
    .collect()
}

/// The smallest of 1, 2 and 5 times a power of ten that is at least `number`.
fn round_up(number: f64) -> u64 {
    let power = 10_f64.powi(number.max(1.0).log10().floor() as i32);
    let round = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    round.into_iter().find(|it| *it >= number).unwrap_or(10.0 * power) as u64
}

/// A number with at most one decimal.
fn number(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// A round count for an axis: `250k`, `1.5M`. Below 100,000, it is written in full.
fn short(count: u64) -> String {
    let with = |unit: f64, suffix: &str| format!("{}{suffix}", number(count as f64 / unit));
    match count {
        0..100_000 => grouped(count),
        100_000..1_000_000 => with(1e3, "k"),
        1_000_000..1_000_000_000 => with(1e6, "M"),
        _ => with(1e9, "G"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("{text}T00:00:00Z").parse().unwrap()
    }

    fn spans(history: &[(&str, u64)]) -> Vec<Span> {
        let span = |(day, held): &(&str, u64)| {
            let (first, held) = (at(day), *held);
            let (last, least, most) = (first, held, held);
            Span { first, last, least, most, held, added: 0, deleted: 0, changes: 1 }
        };
        history.iter().map(span).collect()
    }

    #[test]
    fn a_plot_says_in_words_what_it_shows() {
        let history = [("2001-01-02", 1_200), ("2001-02-01", 800), ("2001-02-04", 1_500)];
        let svg = plot(&spans(&history), at("2001-03-10")).unwrap();
        assert!(svg.contains("<title>Granules held, 2 Jan 2001 to 10 Mar 2001</title>"), "{svg}");
        let says = "First 1,200 on 2 Jan 2001. Last 1,500 since 4 Feb 2001. \
                    Smallest 800 on 1 Feb 2001. Largest 1,500 on 4 Feb 2001.";
        assert!(svg.contains(says), "{svg}");
        assert!(svg.contains("class=\"name\">1,500 since 4 Feb 2001</text>"), "{svg}");
        assert!(plot(&[], at("2001-03-10")).is_none());
    }

    #[test]
    fn the_line_is_in_steps_from_0_and_loses_no_notch() {
        let scales = Scales { first: at("2001-01-01"), until: at("2001-01-11"), top: 100.0 };
        let history =
            [("2001-01-01", 50), ("2001-01-03", 100), ("2001-01-06", 100), ("2001-01-10", 0)];
        assert_eq!(scales.line(&spans(&history)), "M-9 199V95H200V0H900V190H1009V199");
        let mut hidden = spans(&[("2001-01-01", 100), ("2001-01-03", 100)]);
        hidden[1].least = 50;
        assert_eq!(scales.line(&hidden), "M-9 199V0H200V95V0H1009V199");
    }

    #[test]
    fn dates_are_few_and_round_in_any_range() {
        let labels = |first: &str, until: &str| -> Vec<String> {
            dates(at(first), at(until)).into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels("2001-01-31", "2001-02-01"), ["31 Jan 2001", "1 Feb 2001"]);
        assert_eq!(
            labels("2026-11-03", "2026-11-28"),
            ["9 Nov 2026", "16 Nov 2026", "23 Nov 2026"]
        );
        assert_eq!(labels("2025-11-03", "2026-06-30")[..2], ["Dec 2025", "Jan 2026"]);
        assert_eq!(labels("2001-01-02", "2026-11-24"), ["2005", "2010", "2015", "2020", "2025"]);
        for power in 30..58 {
            let Some(until) = Timestamp::from_micros(Timestamp::MIN.as_micros() + (1 << power))
            else {
                continue;
            };
            let dates = dates(Timestamp::MIN, until);
            assert!(!dates.is_empty() && dates.len() <= 10, "{power}: {dates:?}");
        }
    }

    #[test]
    fn the_greatest_numbers_and_the_longest_times_are_drawn() {
        let mut hostile = spans(&[("0000-01-01", u64::MAX / 2), ("9999-12-31", 0)]);
        hostile[1].most = u64::MAX / 2;
        assert!(plot(&hostile, Timestamp::MAX).unwrap().len() < 8_000);
    }

    #[test]
    fn a_long_history_is_drawn_in_few_bytes() {
        let day = |day: i64| Timestamp::from_micros(day * DAY).unwrap();
        let long: Vec<Span> = (0..20_000)
            .map(|n| {
                let held = (n as u64 * 7_919) % 5_000;
                let (first, last, least, most) = (day(n), day(n), held, held);
                Span { first, last, least, most, held, added: 0, deleted: 0, changes: 1 }
            })
            .collect();
        assert!(plot(&long, day(20_000)).unwrap().len() < 16_000);
    }
}
