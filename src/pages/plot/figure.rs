//! The plot with the notes of the largest changes, and a table of the same figures.

use maud::{Markup, PreEscaped, html};

use super::calendar::Unit;
use super::drawing::{Drawing, signed};
use super::series::Series;
use crate::model::{Annotation, DatasetName, Timestamp};
use crate::pages::figures::{annotations, counted, date, day_text, grouped as digits, note, time};
use crate::pages::site::Site;

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
                @if series.last() < Some(*until) { " The line is dashed since the last change." }
                @if *end != "today" { " The line ends at the last change or confirmation, on " (day_text(until.day())) "." }
            }
        }
        details.table {
            summary { "The same as a table, by " (unit.name()) }
            table.figures {
                thead {
                    tr {
                        th scope="col" {
                            @match unit {
                                Unit::Week => "Week of",
                                Unit::Quarter => "Quarter from",
                                unit => (capital(unit.name())),
                            }
                        }
                        th scope="col" { "Added" }
                        th scope="col" { "Deleted" }
                        th scope="col" { "Held at its end" }
                    }
                }
                tbody {
                    @for bin in drawing.bins.iter().rev() {
                        tr {
                            th scope="row" { (begins(unit, bin.index)) }
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
