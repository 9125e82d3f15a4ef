//! The plot as SVG, with its description for those who cannot see it.

use maud::{Markup, html};

use super::draw::{Column, Drawing, Frame, MEDIUM, NARROW, WIDE, draw};
use super::series::{Series, grouped};
use crate::model::DatasetName;
use crate::pages::figures::{change, counted, grouped as digits, time, time_text};
use crate::pages::site::Site;

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
