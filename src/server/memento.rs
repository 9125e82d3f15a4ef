//! Mementos (RFC 7089): a dataset's page is its own TimeGate, the page of an instance is a memento.
//!
//! The times of HTTP have whole seconds. Several changes within one second have one such time, which
//! means the last of them.

use axum::body::Body;
use axum::http::header::VARY;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode};

use super::problem::Problem;
use super::response::{redirect, value};
use crate::model::{DatasetName, Instance, Moment, Timestamp};
use crate::pages::{Link, Site};
use crate::registry::Cited;

/// The header with the time of a memento.
const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// A second, in microseconds.
const SECOND: i64 = 1_000_000;

/// The last instant of the second that `Accept-Datetime` names.
///
/// # Errors
///
/// It is not a time as HTTP writes it.
pub fn asked_for(header: &str) -> Result<Moment, Problem> {
    let detail = "Accept-Datetime takes a time as HTTP writes it: Tue, 02 Jan 2001 00:00:00 GMT.";
    let read = Timestamp::from_other_spelling(header);
    let at = read.map_err(|_| Problem::usage(detail))?;
    let last = at.as_micros().div_euclid(SECOND) * SECOND + SECOND - 1;
    Ok(Moment::Instant(Timestamp::from_micros(last).unwrap_or(Timestamp::MAX)))
}

/// The links of a dataset's page, and of its mementos.
pub fn links(site: &Site, name: &DatasetName) -> Vec<Link> {
    let original = site.address_or_href(&Site::dataset(name));
    vec![
        Link::new("original timegate", original),
        Link::new("timemap", timemap(site, name)).of_type("application/link-format"),
    ]
}

/// The links to the first and the last set of a dataset.
pub fn ends(site: &Site, name: &DatasetName, first: Timestamp, last: Timestamp) -> Vec<Link> {
    match first == last {
        true => vec![memento("first last memento", site, name, first)],
        false => vec![
            memento("first memento", site, name, first),
            memento("last memento", site, name, last),
        ],
    }
}

/// The links to the sets before and after the one that is shown.
pub fn neighbours(site: &Site, cited: &Cited) -> Vec<Link> {
    let link = |rel, instance: &Instance| memento(rel, site, &instance.dataset, instance.timestamp);
    let previous = cited.previous.as_ref().map(|previous| link("prev memento", previous));
    let next = cited.next.as_ref().map(|next| link("next memento", next));
    previous.into_iter().chain(next).collect()
}

fn memento(rel: &'static str, site: &Site, name: &DatasetName, at: Timestamp) -> Link {
    Link::new(rel, site.address_or_href(&Site::instance(name, at))).at(at.to_http_date())
}

/// The address of the times of a dataset's sets.
fn timemap(site: &Site, name: &DatasetName) -> String {
    site.address_or_href(&format!("{}?format=timemap", Site::history(name)))
}

/// Leads a client to the memento of a time.
pub fn lead(site: &Site, instance: &Instance) -> Response<Body> {
    let path = site.href(&Site::instance(&instance.dataset, instance.timestamp));
    let mut response = redirect(StatusCode::FOUND, &path);
    vary(&mut response);
    response
}

/// States that the response depends on the time that is asked for.
pub fn vary(response: &mut Response<Body>) {
    const VARIES: &str = "Accept, Accept-Datetime, Accept-Encoding";
    response.headers_mut().insert(VARY, HeaderValue::from_static(VARIES));
}

/// States the time of a memento.
pub fn mark(response: &mut Response<Body>, instance: &Instance) {
    let datetime = value(&instance.timestamp.to_http_date());
    response.headers_mut().insert(MEMENTO_DATETIME, datetime);
}

/// The times of some sets of a dataset, as links; `next` is the address of the earlier ones.
pub fn map(site: &Site, name: &DatasetName, instances: &[Instance], next: Option<&str>) -> String {
    let mut all = links(site, name);
    all[1].rel = "self";
    all.extend(next.map(|next| Link::new("timemap", next).of_type("application/link-format")));
    let listed = instances.iter().map(|it| memento("memento", site, name, it.timestamp));
    all.extend(listed);
    let lines: Vec<String> = all.iter().map(Link::header).collect();
    format!("{}\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_means_its_last_instant() {
        let asked = asked_for("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(asked.to_string(), "1994-11-06T08:49:37.999999Z");
        assert_eq!(asked_for("yesterday").unwrap_err().status, StatusCode::BAD_REQUEST);
    }
}
