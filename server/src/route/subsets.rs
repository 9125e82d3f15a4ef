//! `POST /datasets/NAME/subsets`: registers a subset of a dataset, as `cite --select` and `--select-from` do.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{self, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use crate::config::ServerLimits;
use crate::pages::Site;
use crate::permits::{Cost, Deadline};
use crate::problem::Problem;
use crate::registration::{BODY_BYTES, Registering};
use crate::request::{Format, Request, Segments, body, dataset_name, moment};
use crate::response::{CachePolicy, Rejection, in_format, value};
use crate::rows::line;
use crate::state::App;
use accession::history::SubsetCriteria;
use accession::history::{SubsetCitation, SubsetState};
use accession::{DatasetName, GranuleId, Moment, Pattern, Set, Timestamp};
use accession::{Error, ErrorKind};
use accession::{ListingBuilder, SubsetMembers};

/// A selection by patterns, as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Selected {
    patterns: Vec<String>,
    at: Option<String>,
}

/// Stores the subset that the body selects, unless it is already stored, and sends its address.
pub async fn register(
    State(state): State<App>,
    Segments(name): Segments<String>,
    request: Request,
    sent: http::Request<axum::body::Body>,
) -> Result<Response, Rejection> {
    let Some(registering) = &state.registering else { return Err(Problem::not_taken().into()) };
    registering.check_token(request.headers())?;
    let name = dataset_name(&name)?;
    let _room = registering.room()?;
    let body = body(sent, BODY_BYTES, state.limits.request_time).await?;
    let (cost, now, limits) = (Cost::Registration, state.now(), state.limits);
    let (members, at) = selected(&request, &body, now)?;
    let bytes = body.len() as u64;
    drop(body);
    at.map_or(Ok(()), |at| at.refuse_future(now))?;
    let deadline = Deadline::after(state.source.permits.time(cost));
    let _waiting = deadline.waiting();
    let (registering, of) = (Arc::clone(registering), Arc::clone(&deadline));
    let work = move || stored(&registering, &of, &name, at, &members, now, (bytes, &limits));
    let SubsetCitation { cited, state: stored, .. } =
        state.source.permits.run(cost, &deadline, work).await??;
    let set = &cited.period.set;
    let row = match set {
        Set::Subset { subset, .. } => line(subset),
        Set::Instance(instance) => line(instance),
    };
    let status = if stored == SubsetState::Added { StatusCode::CREATED } else { StatusCode::OK };
    let location = [(LOCATION, value(&state.site.href(&Site::set(set.identifier()))))];
    let row = in_format(Format::Json, row, CachePolicy::NotStored);
    Ok((status, location, row).into_response())
}

/// Parses the members that a request selects, and the time of their set.
fn selected(
    request: &Request,
    body: &[u8],
    now: Timestamp,
) -> Result<(SubsetMembers, Option<Moment>), Problem> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|header| header.to_str().ok());
    let media_type = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    match media_type.to_ascii_lowercase().as_str() {
        "application/json" => {
            let Selected { patterns, at } = serde_json::from_slice(body)
                .map_err(|error| Problem::usage(format!("The body: {error}.")))?;
            let most = SubsetCriteria::MAX_PATTERNS;
            if patterns.is_empty() || patterns.len() > most {
                return Err(Problem::usage(format!("A selection has 1 to {most} patterns.")));
            }
            let refused = |error| Problem::usage(format!("A pattern: {error}."));
            let patterns = patterns.iter().map(|text| text.parse::<Pattern>().map_err(refused));
            let patterns = patterns.collect::<Result<_, _>>()?;
            let at = at.as_deref().map(|at| moment(at, now)).transpose()?;
            Ok((SubsetMembers::Patterns(patterns), at))
        }
        "text/plain" => {
            let text = std::str::from_utf8(body);
            let text = text.map_err(|_| Problem::usage("The body is not UTF-8."))?;
            let mut ids = BTreeSet::new();
            for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
                let refused =
                    |error| Problem::usage(format!("Line {number} of the body: {error}."));
                ids.insert(GranuleId::new(line).map_err(refused)?);
            }
            let mut builder = ListingBuilder::new();
            ids.into_iter().try_for_each(|granule_id| builder.add(granule_id))?;
            let listing = builder.finish();
            if listing.is_empty() {
                return Err(Problem::usage("The body has no ids."));
            }
            let at = request.parameter("at").filter(|at| !at.is_empty());
            Ok((SubsetMembers::Listed(listing), at.map(|at| moment(&at, now)).transpose()?))
        }
        _ => {
            let detail =
                "The body is a list of ids as text/plain, or patterns as application/json.";
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Err(Problem::new(status, "unsupported-media-type", detail.to_owned()))
        }
    }
}

/// Stores a subset. The result states whether it is new. The registry is opened for each request, because the
/// server keeps nothing open for writing, and another file may have replaced the registry.
fn stored(
    registering: &Registering,
    deadline: &Arc<Deadline>,
    name: &DatasetName,
    at: Option<Moment>,
    members: &SubsetMembers,
    now: Timestamp,
    (bytes, limits): (u64, &ServerLimits),
) -> Result<SubsetCitation, Problem> {
    let registry = registering.open().map_err(problem)?;
    let registry = registry.cancelled_by(deadline.token());
    if !registering.take(now, bytes, limits) {
        let found = registry.snapshot().and_then(|it| it.preview_subset(name, at, members));
        let found = found.map_err(problem)?;
        return match found.state {
            SubsetState::NotStored => Err(too_many(now, limits)),
            SubsetState::Known | SubsetState::Added => Ok(found),
        };
    }
    let registered = registry.save_subset(name, at, members);
    if !registered.as_ref().is_ok_and(|saved| saved.state == SubsetState::Added) {
        registering.give_back(bytes);
    }
    registered.map_err(problem)
}

fn too_many(now: Timestamp, limits: &ServerLimits) -> Problem {
    let seconds = (now.day().end().as_micros() - now.as_micros()) / 1_000_000 + 1;
    let ServerLimits { daily_subsets, daily_subset_bytes, .. } = limits;
    let detail = format!(
        "At most {daily_subsets} new subsets, of {daily_subset_bytes} bytes together, are saved on a day in UTC."
    );
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-subsets", detail);
    Problem { retry_after_seconds: u32::try_from(seconds).ok(), ..problem }
}

/// The reason why a subset is not stored, caused by the client or by the registry.
fn problem(error: Error) -> Problem {
    let kind = error.kind();
    match kind {
        ErrorKind::SelectsNothing | ErrorKind::TooLong => Problem {
            status: StatusCode::UNPROCESSABLE_ENTITY,
            kind: kind.as_str(),
            cause: None,
            ..Problem::usage(format!("These cannot be cited: {error}."))
        },
        ErrorKind::Damaged | ErrorKind::OtherSchema => error.into(),
        ErrorKind::ClockAhead => not_written(&error, "The clock of the server is not plausible."),
        ErrorKind::Busy => not_written(&error, "Another process is writing to the registry."),
        ErrorKind::Full => not_written(&error, "The disk of the registry is full."),
        _ if error.is_from_store() => not_written(&error, "The registry cannot be written now."),
        _ => error.into(),
    }
}

fn not_written(error: &Error, detail: &str) -> Problem {
    let problem = Problem::overload(error.kind().as_str(), detail.to_owned(), 30);
    Problem { cause: Some(error.with_causes()), ..problem }
}
