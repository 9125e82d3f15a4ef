//! The plot as SVG, with its description for those who cannot see it.

use maud::{Markup, html};

use super::axis::{TimeMark, count_marks, time_marks};
use super::series::{Series, Span, grouped};
use crate::model::{DatasetName, Timestamp};
use crate::pages::figures::{change, counted, grouped as digits, time, time_text};
use crate::pages::site::Site;

/// The size of a drawing, in units of its view box, which are pixels where it is shown unscaled.
#[derive(Debug, Clone, Copy)]
struct Frame {
    pub width: i64,
    pub height: i64,
    /// The left end of the axis of time: the labels of the counts are before it.
    pub left: i64,
    pub right: i64,
    pub top: i64,
    /// The height of the upper panel: granules held.
    pub held: i64,
    /// The distance between the panels.
    pub gap: i64,
    /// The height of each half of the lower panel: granules ingested, and deleted.
    pub changed: i64,
    /// The width of a column, of which there is at most one point each.
    pub column: i64,
    /// The greatest number of labels on the axis of time.
    pub marks: usize,
}

/// The drawing for a wide screen.
const WIDE: Frame = Frame {
    width: 1_040,
    height: 348,
    left: 72,
    right: 1_028,
    top: 14,
    held: 200,
    gap: 22,
    changed: 42,
    column: 5,
    marks: 7,
};

/// The drawing for a tablet.
const MEDIUM: Frame = Frame {
    width: 700,
    height: 328,
    left: 60,
    right: 692,
    top: 14,
    held: 180,
    gap: 22,
    changed: 42,
    column: 5,
    marks: 5,
};

/// The drawing for a phone, sized so that its text is as large as on wider screens.
const NARROW: Frame = Frame {
    width: 340,
    height: 290,
    left: 50,
    right: 334,
    top: 12,
    held: 150,
    gap: 20,
    changed: 38,
    column: 4,
    marks: 3,
};

/// What is drawn.
struct Drawing {
    pub frame: Frame,
    pub columns: Vec<Column>,
    pub times: Vec<(i64, TimeMark)>,
    pub counts: Vec<(i64, u64)>,
    /// The line of the granules held, as the path of an SVG.
    pub line: String,
    /// The area below it.
    pub area: String,
    /// The greatest sums of a column: ingested, deleted.
    pub greatest: (u64, u64),
}

/// The changes in one column of the screen.
struct Column {
    pub span: Span,
    /// Where it is.
    pub x: i64,
    /// The left and the right end of the area that leads to its instance.
    pub from: i64,
    pub until: i64,
    /// Where the number held at its end is.
    pub y: i64,
    /// The heights of its bars.
    pub ingested: i64,
    pub deleted: i64,
}

impl Frame {
    /// The bottom of the upper panel.
    pub fn held_bottom(&self) -> i64 {
        self.top + self.held
    }

    /// The line between the bars of what was ingested and of what was deleted.
    pub fn middle(&self) -> i64 {
        self.held_bottom() + self.gap + self.changed
    }

    /// The bottom of the lower panel.
    pub fn bottom(&self) -> i64 {
        self.middle() + self.changed
    }
}

/// The drawing of a series. `None` means that there is nothing to draw.
fn draw(series: &Series, frame: Frame) -> Option<Drawing> {
    let (first, last) = (series.first()?, series.latest()?);
    let until = end(first, last);
    let x_of = |at: Timestamp| {
        let (passed, all) = (micros(first, at), micros(first, until).max(1));
        frame.left + (passed as f64 / all as f64 * (frame.right - frame.left) as f64).round() as i64
    };
    let spans = grouped(series.spans().iter().copied(), |span| x_of(span.last) / frame.column);
    let most = spans.iter().map(|span| span.most).max().unwrap_or_default();
    let marks = count_marks(most);
    let scale = marks.last().copied().unwrap_or(1).max(1);
    let y_of = |count: u64| {
        frame.held_bottom() - (count as f64 / scale as f64 * frame.held as f64).round() as i64
    };
    let greatest = (
        spans.iter().map(|span| span.ingested).max().unwrap_or_default(),
        spans.iter().map(|span| span.deleted).max().unwrap_or_default(),
    );
    let both = greatest.0.max(greatest.1).max(1);
    // By the square root, so that a daily change is seen beside the first delivery.
    let bar = |count: u64| match count {
        0 => 0,
        count => ((count as f64 / both as f64).sqrt() * frame.changed as f64).ceil() as i64,
    };
    let mut columns: Vec<Column> = spans
        .iter()
        .map(|span| Column {
            span: *span,
            x: x_of(span.last),
            from: frame.left,
            until: frame.right,
            y: y_of(span.held),
            ingested: bar(span.ingested),
            deleted: bar(span.deleted),
        })
        .collect();
    for index in 1..columns.len() {
        let between = i64::midpoint(columns[index - 1].x, columns[index].x);
        columns[index - 1].until = between;
        columns[index].from = between;
    }
    let mut line = String::new();
    for column in &columns {
        let Column { span, x, y, .. } = column;
        if line.is_empty() {
            line = format!("M{x} {}", frame.held_bottom());
        } else {
            line.push_str(&format!("H{x}"));
        }
        if span.least != span.most {
            line.push_str(&format!("V{}V{}", y_of(span.least), y_of(span.most)));
        }
        line.push_str(&format!("V{y}"));
    }
    line.push_str(&format!("H{}", frame.right));
    let begin = columns.first().map_or(frame.left, |column| column.x);
    let area = format!("{line}V{}H{begin}Z", frame.held_bottom());
    let times = time_marks(first, until, frame.marks);
    Some(Drawing {
        frame,
        times: times.into_iter().map(|mark| (x_of(mark.at), mark)).collect(),
        counts: marks.into_iter().map(|mark| (y_of(mark), mark)).collect(),
        columns,
        line,
        area,
        greatest,
    })
}

/// The end of the axis of time: some time after the last change, whose set is in force until then.
/// It does not depend on the present time, so that the same history gives the same drawing.
fn end(first: Timestamp, last: Timestamp) -> Timestamp {
    const DAY: i64 = 86_400_000_000;
    let span = micros(first, last);
    let beyond = if span == 0 { DAY } else { span / 16 + 1 };
    Timestamp::from_micros(last.as_micros() + beyond).unwrap_or(Timestamp::MAX)
}

fn micros(from: Timestamp, until: Timestamp) -> i64 {
    until.as_micros() - from.as_micros()
}

/// The number of rows of the table below the plot.
const TABLE_ROWS: i64 = 12;

/// The plot of a history, in three sizes of which a screen shows one, and a table of the same. Empty
/// if there was no change yet.
pub(in crate::pages) fn figure(site: &Site, dataset: &DatasetName, series: &Series) -> Markup {
    const SIZES: [(&str, Frame); 3] = [("wide", WIDE), ("medium", MEDIUM), ("narrow", NARROW)];
    if series.changes() == 0 {
        return html! {};
    }
    let description = description(series);
    html! {
        figure.plot {
            @for (size, frame) in SIZES {
                @if let Some(drawn) = draw(series, frame) {
                    (drawing(site, dataset, &drawn, size, &description))
                }
            }
            figcaption {
                p.legend {
                    span { span.key.line-key {} " granules held" }
                    span { span.key.plus-key {} " added" }
                    span { span.key.minus-key {} " deleted" }
                    @if site.is_complete() { span.hint { "Select a point to see that state" } }
                }
            }
        }
        details {
            summary { "The same as a table" }
            (table(site, dataset, series))
        }
    }
}

/// What the plot shows, in words.
fn description(series: &Series) -> String {
    let (Some(first), Some(last)) = (series.spans().first(), series.spans().last()) else {
        return String::new();
    };
    let least = series.spans().iter().map(|span| span.least).min().unwrap_or_default();
    let most = series.spans().iter().map(|span| span.most).max().unwrap_or_default();
    format!(
        "{} from {} to {}. Held after the first: {}; at the least {}, at the most {}; after the last: {}.",
        counted(series.changes(), "change"),
        time_text(first.first),
        time_text(last.last),
        counted(first.held, "granule"),
        digits(least),
        digits(most),
        digits(last.held),
    )
}

fn drawing(
    site: &Site,
    dataset: &DatasetName,
    drawing: &Drawing,
    size: &str,
    description: &str,
) -> Markup {
    let Drawing { frame, columns, times, counts, line, area, greatest } = drawing;
    let Frame { width, height, left, right, .. } = frame;
    html! {
        svg class=(size) viewBox={ "0 0 " (width) " " (height) } role="group"
            aria-label={ "Granules held over time. " (description) } {
            g.grid aria-hidden="true" {
                @for (y, count) in counts {
                    line x1=(left) x2=(right) y1=(y) y2=(y) {}
                    text x=(left - 8) y=(y + 4) text-anchor="end" { (short(*count)) }
                }
                @for (x, mark) in times {
                    line x1=(x) x2=(x) y1=(frame.bottom()) y2=(frame.bottom() + 4) {}
                    text x=(x) y=(frame.bottom() + 18)
                        text-anchor=(anchor(*x, frame)) { (mark.label) }
                }
                line.zero x1=(left) x2=(right) y1=(frame.middle()) y2=(frame.middle()) {}
                @if greatest.0 > 0 {
                    text x=(left - 8) y=(frame.middle() - 8) text-anchor="end" class="plus" {
                        "+" (short(greatest.0))
                    }
                }
                @if greatest.1 > 0 {
                    text x=(left - 8) y=(frame.middle() + 17) text-anchor="end" class="minus" {
                        "−" (short(greatest.1))
                    }
                }
            }
            path.area d=(area) aria-hidden="true" {}
            path.line d=(line) aria-hidden="true" {}
            @for column in columns {
                @if site.is_complete() {
                    a href=(site.href(&Site::instance(dataset, column.span.last))) tabindex="-1" {
                        (point(column, frame))
                    }
                } @else {
                    g { (point(column, frame)) }
                }
            }
        }
    }
}

/// The bars of a column, its dot, and an area that is large enough to point at.
fn point(column: &Column, frame: &Frame) -> Markup {
    let Column { span, x, from, until, y, ingested, deleted } = column;
    let width = (frame.column - 1).min((until - from).max(1));
    html! {
        title {
            (time_text(span.last)) ": " (counted(span.held, "granule"))
            @if span.changes > 1 { ", " (counted(span.changes, "change")) " since " (time_text(span.first)) }
            @if span.ingested > 0 { ", +" (digits(span.ingested)) }
            @if span.deleted > 0 { ", −" (digits(span.deleted)) }
        }
        rect.hit x=(from) y=(frame.top) width=((until - from).max(1)) height=(frame.bottom() - frame.top) {}
        @if *ingested > 0 {
            rect.plus x=(x - width / 2) y=(frame.middle() - ingested) width=(width) height=(ingested) {}
        }
        @if *deleted > 0 {
            rect.minus x=(x - width / 2) y=(frame.middle()) width=(width) height=(deleted) {}
        }
        circle.dot cx=(x) cy=(y) r="4" {}
    }
}

/// Labels near the ends of the axis stay inside the drawing.
fn anchor(x: i64, frame: &Frame) -> &'static str {
    const HALF_A_LABEL: i64 = 34;
    if x + HALF_A_LABEL > frame.width {
        "end"
    } else if x - HALF_A_LABEL < 0 {
        "start"
    } else {
        "middle"
    }
}

/// A count for an axis: `60k`, `1.5M`, in full below 10,000.
fn short(count: u64) -> String {
    let with = |unit: u64, suffix: &str| {
        let tenths = count / (unit / 10);
        match tenths % 10 {
            0 => format!("{}{suffix}", tenths / 10),
            rest => format!("{}.{rest}{suffix}", tenths / 10),
        }
    };
    match count {
        0..10_000 => digits(count),
        10_000..1_000_000 => with(1_000, "k"),
        1_000_000..1_000_000_000 => with(1_000_000, "M"),
        _ => with(1_000_000_000, "G"),
    }
}

fn table(site: &Site, dataset: &DatasetName, series: &Series) -> Markup {
    let (Some(first), Some(last)) = (series.first(), series.latest()) else { return html! {} };
    let micros = last.as_micros() - first.as_micros();
    let spans = grouped(series.spans().iter().copied(), |span| {
        match series.spans().len() as i64 <= TABLE_ROWS {
            true => span.last.as_micros(),
            false => (span.last.as_micros() - first.as_micros()) / (micros / TABLE_ROWS + 1),
        }
    });
    html! {
        table.data {
            thead {
                tr {
                    th scope="col" { "Last change" }
                    th.n scope="col" { "Changes" }
                    th.n scope="col" { "Held" }
                    th.n scope="col" { "Added, deleted" }
                }
            }
            tbody {
                @for span in spans {
                    tr {
                        td {
                            @if site.is_complete() {
                                a href=(site.href(&Site::instance(dataset, span.last))) { (time(span.last)) }
                            } @else { (time(span.last)) }
                        }
                        td.n { (digits(span.changes)) }
                        td.n { (digits(span.held)) }
                        td.n { (change(span.ingested, span.deleted)) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short_on_an_axis() {
        for (count, text) in [
            (0, "0"),
            (9_999, "9,999"),
            (10_000, "10k"),
            (61_832, "61.8k"),
            (1_500_000, "1.5M"),
            (20_000_000_000, "20G"),
        ] {
            assert_eq!(short(count), text);
        }
    }
}
