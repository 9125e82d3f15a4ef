//! The plot as SVG, with the notes of the largest changes, and a table of the same figures.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::calendar::{Tick, Unit, round_up, ticks};
use super::series::{MAX_BINS, Series, grouped};
use crate::pages::figures::{
    DAY, annotations, columns, counted, date, day_text, grouped as digits, note, time,
};
use crate::pages::site::Site;
use accession::model::{Annotation, DatasetName, Timestamp};
use accession::registry::{LargeChange, Span};

/// Heights, in pixels: of the space above, of the two panels, between them.
const TOP: i64 = 46;
const HELD: i64 = 172;
const GAP: i64 = 50;
const BARS: i64 = 108;

/// Where the axis of the line is, and where the panel of the bars ends.
const BASE: i64 = TOP + HELD;
const FLOOR: i64 = BASE + GAP + BARS;

/// The space for the labels of the scales, which the style sheet has too.
const LEFT: i64 = 52;

/// The width of the drawing, in its own units: shapes are stretched to the width of the page.
const WIDTH: f64 = 1_000.0;

/// A year, in microseconds.
const YEAR: i64 = 365 * DAY;

/// The greatest number of steps of the line.
const COLUMNS: f64 = 600.0;

/// What is drawn, with its scales.
struct Drawing<'a> {
    series: &'a Series,
    first: Timestamp,
    last: Timestamp,
    until: Timestamp,
    /// The number held at the end of the line.
    held: u64,
    pub unit: Unit,
    pub bins: Vec<Span>,
    pub largest: Vec<&'a LargeChange>,
    /// The scale of the line: its least and greatest number, and the distance between two labels.
    low: u64,
    high: f64,
    step: u64,
    /// Whether the scale of the line does not begin at 0.
    is_cut: bool,
    /// Whether the axis of time is broken after the last change.
    pub is_broken: bool,
    /// The scale of the bars: granules a pixel, the height of 0, and the numbers with labels.
    per_pixel: f64,
    zero: f64,
    levels: Vec<i64>,
    /// The dates below the axis of time.
    ticks: Vec<Tick>,
    /// The numbered marks below: where they are, one below the other where they are close.
    marks: Vec<(f64, i64)>,
}

impl<'a> Drawing<'a> {
    /// The drawing of a history until a time. `None` means that it has fewer than two changes.
    pub fn of(series: &'a Series, until: Timestamp) -> Option<Self> {
        let (first, last) = (series.first()?, series.last()?);
        if series.changes() < 2 {
            return None;
        }
        let until = until.max(last).max(first.next()?);
        let (history, since) = (micros(first, last), micros(last, until));
        let is_broken = since > history.max(YEAR);
        let until = match is_broken {
            true => Timestamp::from_micros(last.as_micros() + history / 6)?.max(first.next()?),
            false => until,
        };
        let unit = Unit::finest(MAX_BINS, first, until);
        let bins = series.bins_of(unit);
        let spans = &series.spans;
        let least = spans.iter().map(|span| span.least).min()?;
        let most = spans.iter().map(|span| span.most).max()?;
        let is_cut = most > 0 && least as f64 >= 0.6 * most as f64;
        let range = if is_cut && least < most { most - least } else { most };
        let step = round_up(range as f64 / 4.2);
        let low = if is_cut { least.saturating_sub(1) / step * step } else { 0 };
        let up = bins.iter().map(|bin| bin.added).max().unwrap_or(0);
        let down = bins.iter().map(|bin| bin.deleted).max().unwrap_or(0);
        let both = (up as f64 + down as f64).max(1.0);
        let per_pixel = both / BARS as f64;
        let level = round_up(both / 4.2) as i64;
        let count = |most: u64| i64::try_from(most).unwrap_or(i64::MAX) / level;
        let mut drawing = Drawing {
            series,
            first,
            last,
            until,
            held: spans.last()?.held,
            unit,
            bins,
            largest: series.largest(),
            low,
            high: (low as f64 + (most - low) as f64 * 1.04).max(low as f64 + 1.0),
            step,
            is_cut,
            is_broken,
            per_pixel,
            zero: (BASE + GAP) as f64 + up as f64 / per_pixel,
            levels: (-count(down)..=count(up)).map(|n| n * level).collect(),
            ticks: ticks(first, until),
            marks: Vec::new(),
        };
        for large in &drawing.largest {
            let x = drawing.x(large.at) / 10.0;
            let close = drawing.marks.iter().filter(|(other, _)| x - other < 9.0).count() as i64;
            drawing.marks.push((x, FLOOR + 38 + 22 * close));
        }
        Some(drawing)
    }

    fn x(&self, at: Timestamp) -> f64 {
        let passed = |at: Timestamp| (at.as_micros() - self.first.as_micros()) as f64;
        (passed(at) / passed(self.until) * WIDTH).clamp(0.0, WIDTH)
    }

    /// The height of a number held.
    fn y(&self, held: u64) -> i64 {
        let part = (held as f64 - self.low as f64) / (self.high - self.low as f64);
        BASE - (part * HELD as f64).round() as i64
    }

    /// The height of a number added or, below 0, deleted.
    fn level(&self, count: i64) -> i64 {
        (self.zero - count as f64 / self.per_pixel).round() as i64
    }

    /// Where a calendar unit begins and ends.
    fn edges(&self, bin: &Span) -> (f64, f64) {
        let index = self.unit.index(bin.first);
        (self.x(self.unit.start(index)), self.x(self.unit.start(index + 1)))
    }

    /// The steps of the line. In each of 600 columns, the extremes and the end are drawn.
    fn line(&self) -> String {
        let spans = &self.series.spans;
        let column = |span: &Span| (self.x(span.last) * COLUMNS / WIDTH) as i64;
        let merged = match spans.len() as f64 > COLUMNS {
            true => grouped(spans, column),
            false => spans.to_vec(),
        };
        let mut y = self.y(merged.first().map_or(0, |span| span.least));
        // An area is closed where it cannot be seen.
        let mut path = match self.is_cut {
            true => format!("M0 {y}"),
            false => format!("M-9 {}V{y}", BASE + 9),
        };
        for span in &merged {
            let heights = [self.y(span.least), self.y(span.most), self.y(span.held)];
            if heights.iter().any(|height| *height != y) {
                let _ = write!(path, "H{}", number(self.x(span.first)));
                for height in heights {
                    if height != y {
                        let _ = write!(path, "V{height}");
                        y = height;
                    }
                }
            }
        }
        path.push_str("H1009");
        if !self.is_cut {
            let _ = write!(path, "V{}", BASE + 9);
        }
        path
    }

    /// The bars of what was added (`sign` 1) or deleted (−1).
    fn bars(&self, sign: i64, of: impl Fn(&Span) -> u64) -> String {
        let mut path = String::new();
        for bin in self.bins.iter().filter(|bin| of(bin) > 0) {
            let (from, until) = self.edges(bin);
            let width = (((until - from) * 0.76).round() as i64).max(1);
            let height = sign * ((of(bin) as f64 / self.per_pixel).round() as i64).max(1);
            let x = (from + (until - from) * 0.12).round();
            let _ = write!(path, "M{x} {}h{width}v{}h-{width}z", self.zero.round(), -height);
        }
        path
    }

    /// What the plot shows, in words.
    fn description(&self) -> String {
        let (begin, added, deleted) = self.series.totals();
        let largest = self.largest.iter().map(|large| {
            format!("{} on {}", signed(large.added, large.deleted), day_text(large.at.day()))
        });
        let largest = largest.collect::<Vec<_>>().join("; ");
        format!(
            "From {} to {} granules in {} changes: {} added, {} deleted after the first. \
             {}Last change {}.",
            digits(begin),
            digits(self.held),
            digits(self.series.changes()),
            digits(added),
            digits(deleted),
            if largest.is_empty() { largest } else { format!("Largest: {largest}. ") },
            day_text(self.last.day()),
        )
    }

    /// The drawing. The right edge is called `end`; changes at the times of `annotated` are marked.
    pub fn svg(&self, end: &str, annotated: &[Timestamp]) -> String {
        let height = self.marks.iter().map(|(_, y)| y + 12).max().unwrap_or(FLOOR + 26);
        let mut svg = format!(
            "<svg class=\"plot\" height=\"{height}\" role=\"img\" aria-labelledby=\"plot-t plot-d\">\
             <title id=\"plot-t\">Granules held, {} to {end}</title>\
             <desc id=\"plot-d\">{}</desc>\
             <svg viewBox=\"0 0 1000 {FLOOR}\" height=\"{FLOOR}\" preserveAspectRatio=\"none\">",
            day_text(self.first.day()),
            self.description(),
        );
        self.shapes(&mut svg, annotated);
        svg.push_str("</svg>");
        self.words(&mut svg, end);
        svg.push_str("</svg>");
        svg
    }

    /// The numbers with labels on the scale of the line.
    fn counts(&self) -> Vec<u64> {
        (self.low..=self.high as u64).step_by(self.step as usize).collect()
    }

    fn shapes(&self, svg: &mut String, annotated: &[Timestamp]) {
        let mut grid = String::new();
        let heights = self.counts().into_iter().map(|count| self.y(count));
        for y in heights.chain(self.levels.iter().map(|level| self.level(*level))) {
            let _ = write!(grid, "M0 {y}H1000");
        }
        for tick in &self.ticks {
            let _ = write!(grid, "M{} {FLOOR}v7", number(self.x(tick.at)));
        }
        let base = if self.is_cut { String::new() } else { format!("M0 {BASE}H1000") };
        // These lines leave out the dates below the axis, so that they cross none.
        let lead = self
            .marks
            .iter()
            .map(|(x, y)| format!("M{} {TOP}V{}m0 15V{y}", number(x * 10.0), FLOOR + 7));
        let lead: String = lead.collect();
        let (line, cut) = (self.line(), if self.is_cut { " cut" } else { "" });
        let tip = format!("M{} {}", number(self.x(self.last)), self.y(self.held));
        let heights = [self.y(self.held), FLOOR].into_iter().filter(|_| self.is_broken);
        let strokes: String = heights.map(|y| format!("M974 {}l8 -14m4 14l8 -14", y + 7)).collect();
        let noted: String = annotated.iter().map(|at| self.on_the_line(*at)).collect();
        let (added, deleted) = (self.bars(1, |bin| bin.added), self.bars(-1, |bin| bin.deleted));
        let _ = write!(
            svg,
            "<path class=\"grid\" d=\"{grid}\"/>\
             <path class=\"base\" d=\"M0 {}H1000{base}\"/><path class=\"lead\" d=\"{lead}\"/>\
             <svg viewBox=\"0 0 1000 {BASE}\" height=\"{BASE}\" preserveAspectRatio=\"none\">\
             <path class=\"held{cut}\" d=\"{line}\"/></svg>\
             <path class=\"rest\" d=\"{tip}H1000\"/><path class=\"dot\" d=\"{tip}h0\"/>",
            self.zero.round(),
        );
        let others =
            [("base break", strokes), ("noted", noted), ("added", added), ("deleted", deleted)];
        for (class, path) in others {
            if !path.is_empty() {
                let _ = write!(svg, "<path class=\"{class}\" d=\"{path}\"/>");
            }
        }
        for bin in &self.bins {
            let (from, until) = self.edges(bin);
            let (from, until) = (from.round(), until.round());
            let _ = write!(
                svg,
                "<rect x=\"{from}\" width=\"{}\"><title>{}: {}</title></rect>",
                until - from,
                self.unit.describe(self.unit.index(bin.first)),
                signed(bin.added, bin.deleted),
            );
        }
    }

    /// A point on the line.
    fn on_the_line(&self, at: Timestamp) -> String {
        let spans = &self.series.spans;
        let after = spans.partition_point(|span| span.first <= at);
        let held = after.checked_sub(1).and_then(|last| spans.get(last)).map_or(0, |it| it.held);
        format!("M{} {}h0", number(self.x(at)), self.y(held))
    }

    fn words(&self, svg: &mut String, end: &str) {
        let cut = match self.is_cut {
            true => format!(
                "<tspan>; the axis starts at {}<tspan class=\"w\">, not at 0</tspan></tspan>",
                digits(self.low)
            ),
            false => String::new(),
        };
        let _ = write!(
            svg,
            "<text x=\"-{LEFT}\" y=\"14\" class=\"name\">Granules held{cut}</text>\
             <text x=\"-{LEFT}\" y=\"{}\" class=\"name\"><tspan class=\"added\">Added</tspan> and \
             <tspan class=\"deleted\">deleted</tspan> per {}</text><g class=\"y\">",
            BASE + 25,
            self.unit.name(),
        );
        let counts = self.counts().into_iter().map(|count| (self.y(count), short(count)));
        let levels = self.levels.iter().map(|level| {
            let sign = match level.signum() {
                1 => "+",
                -1 => "−",
                _ => "",
            };
            (self.level(*level), format!("{sign}{}", short(level.unsigned_abs())))
        });
        for (y, word) in counts.chain(levels) {
            let _ = write!(svg, "<text x=\"-8\" y=\"{}\">{word}</text>", y + 4);
        }
        let _ = write!(svg, "</g><g transform=\"translate(4 {})\">", FLOOR + 18);
        for tick in &self.ticks {
            let class = match tick {
                Tick { is_year: true, .. } => " class=\"year\"",
                Tick { is_for_wide: true, .. } => " class=\"w\"",
                _ => "",
            };
            let x = number(self.x(tick.at) / 10.0);
            let _ = write!(svg, "<text x=\"{x}%\"{class}>{}</text>", tick.label);
        }
        // These words are above all that is drawn, so that nothing crosses them on a phone either.
        let (last, held) = (day_text(self.last.day()), digits(self.held));
        let _ = write!(
            svg,
            "</g><text x=\"100%\" y=\"{}\" class=\"end now\">{held} {end}</text>\
             <text x=\"100%\" y=\"{}\" class=\"end\">last change {last}</text>",
            TOP - 19,
            TOP - 4,
        );
        for (index, ((x, y), large)) in self.marks.iter().zip(&self.largest).enumerate() {
            // Near the right edge, the words are left of the mark.
            let (offset, class) = if *x > 85.0 { (-14, "w end") } else { (14, "w") };
            let place = format!("x=\"{}%\" y=\"{}\"", number(*x), y + 4);
            let _ = write!(
                svg,
                "<circle cx=\"{}%\" cy=\"{y}\" r=\"9.5\"/><text {place} class=\"mark\">{}</text>\
                 <text {place} dx=\"{offset}\" class=\"{class}\">{}</text>",
                number(*x),
                index + 1,
                signed(large.added, large.deleted),
            );
        }
    }
}

/// How much later another time is, in microseconds.
fn micros(from: Timestamp, to: Timestamp) -> i64 {
    to.as_micros() - from.as_micros()
}

/// What was added and deleted: `+288 −2`.
pub(in crate::pages) fn signed(added: u64, deleted: u64) -> String {
    match (added, deleted) {
        (0, 0) => "0".to_owned(),
        (added, 0) => format!("+{}", digits(added)),
        (0, deleted) => format!("−{}", digits(deleted)),
        (added, deleted) => format!("+{} −{}", digits(added), digits(deleted)),
    }
}

/// A number with at most one decimal.
pub(super) fn number(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").unwrap_or(&text).to_owned()
}

/// A round count for an axis: `250k`, `1.5M`, in full below 100,000.
fn short(count: u64) -> String {
    let with = |unit: f64, suffix: &str| format!("{}{suffix}", number(count as f64 / unit));
    match count {
        0..100_000 => digits(count),
        100_000..1_000_000 => with(1e3, "k"),
        1_000_000..1_000_000_000 => with(1e6, "M"),
        _ => with(1e9, "G"),
    }
}

/// The greatest number of annotated changes that are listed below the plot.
const LISTED_ANNOTATIONS: usize = 5;

/// What is shown of a history.
pub(in crate::pages) struct Figure<'a> {
    pub site: &'a Site,
    pub dataset: &'a DatasetName,
    pub series: &'a Series,
    /// The end of the axis of time.
    pub until: Timestamp,
    /// What the end of the axis is called.
    pub end: &'a str,
    /// The annotations, with the times of their changes.
    pub annotated: &'a [(Timestamp, Annotation)],
}

/// The plot of a history. One change is a sentence; empty if there was none.
pub(in crate::pages) fn figure(figure: &Figure<'_>) -> Markup {
    let Figure { series, until, end, annotated, .. } = figure;
    let Some(first) = series.first() else { return html! {} };
    let (begin, ..) = series.totals();
    let Some(drawing) = Drawing::of(series, *until) else {
        return html! {
            p.once {
                @if begin == 1 { "The only granule was" } @else { "All " (digits(begin)) " granules were" }
                " added in one change, on " (time(first)) ". Nothing has changed since."
            }
            @if !annotated.is_empty() { (listed(figure)) }
        };
    };
    let times: Vec<Timestamp> = annotated.iter().map(|(at, _)| *at).collect();
    let unit = drawing.unit;
    html! {
        figure {
            h2.vh { "Granules held over time" }
            (PreEscaped(drawing.svg(end, &times)))
            @if !drawing.largest.is_empty() {
                ol.notes {
                    @for large in &drawing.largest {
                        li {
                            (change_at(figure, large.at)) " "
                            b { (signed(large.added, large.deleted)) } " "
                            @if let Some(text) = &large.note { (note(text)) }
                        }
                    }
                }
            }
            @if !annotated.is_empty() { (listed(figure)) }
            figcaption {
                @match drawing.largest.len() {
                    0 => "",
                    1 if series.changes() == 2 => "Numbered: the change after the first. ",
                    1 => "Numbered: the largest change. ",
                    _ => "Numbered: the largest changes. ",
                }
                @if unit == Unit::Week { "Weeks begin on Monday, UTC. " }
                @else { (capital(unit.name())) "s are in UTC. " }
                "The first change, " (counted(begin, "granule")) " on " (day_text(first.day()))
                ", has no bar."
                @if drawing.is_broken { " The axis of time is broken after the last change." }
                @else if series.last() < Some(*until) { " The line is dashed since the last change." }
                @if *end != "today" { " The line ends at the last change or confirmation, on " (day_text(until.day())) "." }
            }
        }
        details.table {
            summary { "The same as a table, by " (unit.name()) }
            table.figures {
                @let of_unit = match unit {
                    Unit::Week => "Week of".to_owned(),
                    Unit::Quarter => "Quarter from".to_owned(),
                    unit => capital(unit.name()),
                };
                thead { tr { (columns(&[&of_unit, "Added", "Deleted", "Held at its end"])) } }
                tbody {
                    @for bin in drawing.bins.iter().rev() {
                        tr {
                            th scope="row" { (begins(unit, unit.index(bin.first))) }
                            td { (digits(bin.added)) }
                            td { (digits(bin.deleted)) }
                            td { (digits(bin.held)) }
                        }
                    }
                }
            }
        }
    }
}

/// A calendar unit in the first column of the table.
fn begins(unit: Unit, index: i64) -> String {
    match unit {
        Unit::Week | Unit::Quarter => day_text(unit.start(index).day()),
        unit => unit.describe(index),
    }
}

fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

/// The day of a change, with a link to it where there is a page of it.
fn change_at(figure: &Figure<'_>, at: Timestamp) -> Markup {
    let Figure { site, dataset, .. } = figure;
    html! {
        @if site.is_complete() { a href=(site.href(&Site::instance(dataset, at))) { (date(at)) } }
        @else { (date(at)) }
    }
}

/// What was noted about changes later.
fn listed(figure: &Figure<'_>) -> Markup {
    let shown = figure.annotated.iter().take(LISTED_ANNOTATIONS);
    html! {
        ul.noted {
            @for (at, annotation) in shown {
                li { (change_at(figure, *at)) " " (annotations(std::slice::from_ref(annotation))) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(history: &[(&str, u64, u64, u64)]) -> Series {
        let spans = history.iter().map(|(at, held, added, deleted)| {
            let at = at.parse().unwrap();
            let (first, last, least, most, held) = (at, at, *held, *held, *held);
            Span { first, last, least, most, held, added: *added, deleted: *deleted, changes: 1 }
        });
        let largest = history.iter().skip(1).map(|(at, _, added, deleted)| {
            let (added, deleted) = (*added, *deleted);
            LargeChange { at: at.parse().unwrap(), added, deleted, note: None }
        });
        Series { spans: spans.collect(), largest: largest.collect() }
    }

    #[test]
    fn one_change_is_not_drawn() {
        let until = "2026-01-01T00:00:00Z".parse().unwrap();
        assert!(Drawing::of(&series(&[]), until).is_none());
        assert!(Drawing::of(&series(&[("2001-01-02T00:00:00Z", 5, 5, 0)]), until).is_none());
    }

    #[test]
    fn the_scale_says_where_it_begins_unless_that_is_0() {
        let until = "2001-03-10T00:00:00Z".parse().unwrap();
        let first = ("2001-01-02T00:00:00Z", 1_000, 1_000, 0);
        let cut = series(&[first, ("2001-02-01T00:00:00Z", 1_100, 100, 0)]);
        let drawn = Drawing::of(&cut, until).unwrap().svg("today", &[]);
        assert!(drawn.contains("the axis starts at 950") && drawn.contains("held cut"), "{drawn}");
        let whole = series(&[first, ("2001-02-01T00:00:00Z", 100, 0, 900)]);
        let drawn = Drawing::of(&whole, until).unwrap().svg("today", &[]);
        assert!(!drawn.contains("the axis starts at") && drawn.contains("per week"), "{drawn}");
        assert!(drawn.contains("From 1,000 to 100 granules in 2 changes: 0 added, 900 deleted"));
        assert!(drawn.contains(">−900</text>"), "{drawn}");
    }

    #[test]
    fn the_axis_of_a_dataset_that_is_finished_is_broken() {
        let finished =
            series(&[("2001-01-02T00:00:00Z", 5, 5, 0), ("2001-07-01T00:00:00Z", 7, 2, 0)]);
        let drawn = |until: &str| Drawing::of(&finished, until.parse().unwrap()).unwrap();
        assert!(!drawn("2002-06-01T00:00:00Z").is_broken);
        let svg = drawn("2026-01-01T00:00:00Z").svg("today", &[]);
        assert!(svg.contains("class=\"base break\"") && svg.contains(">2001</text>"), "{svg}");
        assert!(!svg.contains(">2002</text>") && svg.contains("7 today"), "{svg}");
    }

    #[test]
    fn the_greatest_numbers_and_the_longest_times_are_drawn() {
        let hostile = series(&[
            ("0000-01-01T00:00:00Z", 0, 0, 0),
            ("0000-01-01T00:00:00.000001Z", u64::MAX / 2, u64::MAX / 2, 0),
            ("9999-12-31T23:59:59.999999Z", 0, 0, u64::MAX / 2),
        ]);
        let drawing = Drawing::of(&hostile, Timestamp::MIN).unwrap();
        assert!(drawing.bins.len() <= MAX_BINS as usize);
        assert!(drawing.svg("today", &[Timestamp::MIN]).len() < 8_000);
    }
}
