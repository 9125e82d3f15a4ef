//! `/check`: verdicts on pasted citations.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{self, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::pages::{CheckPage, Quoted};
use crate::problem::Problem;
use crate::request::{Format, Request, body};
use crate::response::{CachePolicy, Rejection, in_format};
use crate::rows::{PAGE_BYTES, instance_bytes, list};
use crate::state::App;
use accession::Periods;
use accession::Result;
use accession::citation::Reference;
use accession::citation::{Checker, CitationVerdict};

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// The greatest number of intervals that are listed for a citation.
const LISTED_INTERVALS: usize = 20;

/// The form, or the verdicts on a short text in `?text=`.
pub async fn check(State(state): State<App>, request: Request) -> Result<Response, Rejection> {
    let format = request.format(&OFFERED)?;
    let text = request.parameter("text").unwrap_or_default().into_owned();
    if text.trim().is_empty() && format == Format::Html {
        let page = CheckPage::default();
        return Ok(in_format(format, page.html(&state.site), CachePolicy::Shared));
    }
    verdicts(&state, format, text).await
}

/// The verdicts on a longer text, from the form or as plain text.
pub async fn check_text(
    State(state): State<App>,
    request: Request,
    sent: http::Request<axum::body::Body>,
) -> Result<Response, Rejection> {
    let format = request.format(&OFFERED)?;
    let is_form = request
        .headers()
        .get(CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
    let body = body(sent, state.limits.body_bytes, state.limits.request_time).await?;
    let text = if is_form {
        let mut pairs = form_urlencoded::parse(&body);
        pairs.find(|(name, _)| name == "text").map(|(_, text)| text.into_owned())
    } else {
        Some(String::from_utf8_lossy(&body).into_owned())
    };
    verdicts(&state, format, text.unwrap_or_default()).await
}

/// Checks the citations in a text.
async fn verdicts(state: &App, format: Format, text: String) -> Result<Response, Rejection> {
    let most = state.limits.citations;
    let text: Arc<str> = text.into();
    let read = Arc::clone(&text);
    let checking = state.source.compare(move |reading| {
        let mut checker = Checker::new(&reading.registry)?;
        let (mut cited, mut asked) = (Vec::new(), 0);
        for pasted in Reference::find_all(&read).iter().flat_map(Reference::citations_and_dois) {
            // A long list may contain DOIs of many datasets elsewhere, so the number of look-ups is limited.
            asked += usize::from(!pasted.names_set());
            if pasted.names_set() || (asked <= most && checker.is_checkable(&pasted)?) {
                cited.push(pasted);
            }
        }
        let (mut quoted, mut room): (Vec<Quoted>, _) = (Vec::new(), PAGE_BYTES);
        for (citation, pasted) in (1..).zip(&cited).take_while(|_| cited.len() <= most) {
            reading.check_time()?;
            quoted.push(shortened(checker.check(citation, pasted)?, &mut room));
        }
        Ok((cited.len(), quoted, checker.sets()))
    });
    let (found, quoted, sets) = checking.await?;
    let problem = if found == 0 {
        Some(
            "There is no identifier in this text, DI: followed by 32 hexadecimal digits, nor a DOI of a dataset here."
                .to_owned(),
        )
    } else {
        (found > most).then(|| {
            format!("There are {found} citations in this text: at most {most} are checked at once.")
        })
    };
    if let Some(problem) = problem {
        if format != Format::Html {
            return Err(Problem::usage(problem).into());
        }
        let page =
            CheckPage { text: text.to_string(), problem: Some(problem), ..CheckPage::default() };
        let page = in_format(format, page.html(&state.site), CachePolicy::NotStored);
        return Ok((StatusCode::BAD_REQUEST, page).into_response());
    }
    let is_ok = quoted.iter().all(|quoted| quoted.verdict.ok);
    let object = json!({ "ok": is_ok, "citations": quoted, "sets": sets });
    let page = CheckPage { text: text.to_string(), quoted, sets, problem: None };
    Ok(list(format, &page.quoted, None, || page.html(&state.site), || object))
}

/// A verdict with some of its intervals, because one set can be in thousands of datasets, each with a note.
/// Subtracts the size of the listed intervals from `room`.
fn shortened(verdict: CitationVerdict, room: &mut usize) -> Quoted {
    let interval_count = verdict.intervals.rows.len() as u64;
    let listed = verdict.intervals.rows.iter().take(LISTED_INTERVALS).take_while(|row| {
        let bytes = instance_bytes(row.set.instance());
        let is_room = *room > 0;
        *room = room.saturating_sub(bytes);
        is_room
    });
    let resolution = Periods { rows: listed.cloned().collect() };
    Quoted {
        verdict: CitationVerdict { intervals: Arc::new(resolution), ..verdict },
        interval_count,
    }
}
