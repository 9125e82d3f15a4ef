//! What a notebook shows: HTML that is complete without a style sheet or a script.

use std::fmt::Write;
use std::sync::Arc;

use accession::disk::Spool;
use accession::{History, Instance, Set};

use crate::error::Failure;

/// The number of rows of a table.
pub const MAX_ROWS: usize = 50;

/// The number of ids of a list.
const MAX_IDS: usize = 10;

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// A table below its title. `more` is the call that has all rows, if there are further ones.
pub fn table(title: &str, headings: &[&str], rows: &[Vec<String>], more: Option<&str>) -> String {
    let mut html = format!("<p>{}</p><table><thead><tr>", escaped(title));
    let cells = |html: &mut String, tag: &str, cells: &mut dyn Iterator<Item = &str>| {
        for cell in cells {
            let _ = write!(html, "<{tag}>{}</{tag}>", escaped(cell));
        }
        html.push_str("</tr>");
    };
    cells(&mut html, "th", &mut headings.iter().copied());
    html.push_str("</thead><tbody>");
    for row in rows {
        html.push_str("<tr>");
        cells(&mut html, "td", &mut row.iter().map(String::as_str));
    }
    html.push_str("</tbody></table>");
    if let Some(call) = more {
        let _ = write!(html, "<p>and more: <code>{call}</code> has all</p>");
    }
    html
}

/// Lists of ids, of which the first are shown.
///
/// # Errors
///
/// A temporary file cannot be read.
pub fn lists<'a>(
    summary: &str,
    lists: impl IntoIterator<Item = (&'static str, &'a Arc<Spool>)>,
) -> Result<String, Failure> {
    let mut html = format!("<p>{summary}</p>");
    for (what, ids) in lists.into_iter().filter(|(_, ids)| ids.count() > 0) {
        let _ = write!(html, "<p>{} {what}:</p><ul>", ids.count());
        for id in ids.records().take(MAX_IDS) {
            let _ =
                write!(html, "<li><code>{}</code></li>", escaped(&String::from_utf8_lossy(&id?)));
        }
        html.push_str(if ids.count() > MAX_IDS as u64 { "<li>…</li></ul>" } else { "</ul>" });
    }
    Ok(html)
}

/// A set: its identifier, how many granules it has and when it was held, what to paste into a paper, and
/// the plot of the dataset's history.
///
/// # Errors
///
/// The history cannot be read.
pub fn set(set: &Set, citation: &str, history: History) -> Result<String, accession::Error> {
    let instance = set.instance();
    let until = instance.until.map_or("now".to_owned(), |until| until.to_string());
    let subset = if set.subset().is_some() { "a subset of " } else { "" };
    Ok(format!(
        "<p><code>DI:{}</code><br>{} granules, {subset}{} from {} until {until}</p>\
         <p>Copy this into your paper:</p><pre>{}</pre>{}",
        set.identifier(),
        set.granules(),
        escaped(instance.dataset.as_str()),
        instance.timestamp,
        escaped(citation.trim_end()),
        plot(instance, history)?,
    ))
}

/// The size of the plot.
const WIDTH: i64 = 600;
const HEIGHT: i64 = 120;

/// How many granules the dataset held over time, and since when it held this set: as SVG with
/// presentation attributes, since a notebook has no style sheet. Memory and size do not grow with the
/// history: of the changes in one column, the last is drawn.
fn plot(instance: &Instance, history: History) -> Result<String, accession::Error> {
    let mut changes: Vec<(i64, u64)> = Vec::new();
    let (mut most, mut count) = (0, 0_u64);
    for change in history {
        let Instance { timestamp, granules, .. } = change?;
        (most, count) = (granules.max(most), count + 1);
        changes.push((timestamp.as_micros(), granules));
        // Every second change is left out, until the last ones are as dense as the first.
        if changes.len() > 64 * WIDTH as usize {
            let mut left = changes.len();
            changes.retain(|_| {
                left -= 1;
                left.is_multiple_of(2)
            });
        }
    }
    let (Some((first, _)), Some((last, held))) =
        (changes.first().copied(), changes.last().copied())
    else {
        return Ok(String::new());
    };
    let x = |at: i64| {
        (i128::from(at - first) * i128::from(WIDTH - 20) / i128::from((last - first).max(1))) as i64
    };
    let y = |granules: u64| {
        HEIGHT - (u128::from(granules) * (HEIGHT - 10) as u128 / u128::from(most.max(1))) as i64
    };
    let mut path = format!("M0 {HEIGHT}");
    let mut columns = changes.iter().peekable();
    while let Some((at, granules)) = columns.next() {
        if columns.peek().is_none_or(|(next, _)| x(*next) > x(*at)) {
            let _ = write!(path, "H{}V{}", x(*at), y(*granules));
        }
    }
    let here = x(instance.timestamp.as_micros());
    let description =
        format!("{count} changes; {held} granules held after the last, at most {most}");
    Ok(format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\">\
         <title>Granules held over time: {description}</title>\
         <path d=\"{path}H{WIDTH}V{HEIGHT}Z\" fill=\"#3b6ea5\" fill-opacity=\"0.15\"/>\
         <path d=\"{path}H{WIDTH}\" fill=\"none\" stroke=\"#3b6ea5\" stroke-width=\"1.5\"/>\
         <path d=\"M{here} 0V{HEIGHT}\" stroke=\"#b35900\" stroke-dasharray=\"3 3\"/></svg>\
         <p>{description}. The dashed line is where this set begins.</p>"
    ))
}
