//! `/DI:…/checksums`: the checksums of the files of a set, as `sha256sum --check` reads them.

use std::io::{BufWriter, Seek, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use axum::http::{HeaderValue, Response};

use super::set::{elsewhere, identifier_in};
use crate::disk::scratch;
use crate::error::Result;
use crate::fixity::{ListStyle, algorithm_of, each_checksum, listed_set, no_checksums};
use crate::model::{Algorithm, DatasetName, Identifier};
use crate::pages::Site;
use crate::registry::Selection;
use crate::server::conditions::Conditions;
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::response::{Keep, value};
use crate::server::source::Reading;
use crate::server::state::State;

/// How many granules and files were left out, since they have no checksum of the algorithm.
const LEFT_OUT: &str = "accession-left-out";

/// A list that was written.
struct Written {
    file: std::fs::File,
    bytes: u64,
    left_out: u64,
    tag: String,
}

/// Lists the checksums of one algorithm.
pub async fn checksums(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let identifier = identifier_in(&asked.segment(0)?)?;
    let path = Site::checksums(identifier);
    if let Some(elsewhere) = elsewhere(&state, &asked, &path) {
        return Ok(elsewhere);
    }
    let format = asked.format(&[Format::Lines])?;
    let algorithm: Option<Algorithm> = asked.parsed("algorithm")?;
    let dataset: Option<DatasetName> = asked.parsed("dataset")?;
    let conditions = asked.conditions();
    let work = move |reading: &Reading| {
        write(reading, identifier, algorithm.as_ref(), dataset.clone(), &conditions)
    };
    let written = state.source.compare(asked.client(), work).await?;
    let Written { file, bytes, left_out, tag } = written;
    let mut response = Response::new(state.flight.file(asked.client(), Arc::new(file), 0..bytes));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, value(&format.content_type()));
    headers.insert(CACHE_CONTROL, Keep::WhileCurrent.header());
    headers.insert(ETAG, value(&tag));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes));
    if left_out > 0 {
        headers.insert(LEFT_OUT, HeaderValue::from(left_out));
    }
    Ok(response)
}

/// Writes the list to a temporary file, unless the client has it: the tag of the response says so.
fn write(
    reading: &Reading,
    identifier: Identifier,
    algorithm: Option<&Algorithm>,
    dataset: Option<DatasetName>,
    conditions: &Conditions,
) -> Result<Written> {
    let snapshot = reading.registry.snapshot()?;
    let selection = Selection::Identifier { identifier, dataset };
    let set = listed_set(&snapshot, &selection, algorithm)?;
    let files = snapshot.files(&set)?;
    let last = files.last_record();
    // Which algorithm is the usual one follows from the granules and the records.
    let asked = algorithm.map_or("usual", Algorithm::as_str);
    let tag = format!("\"{identifier}-{last}-{asked}-{}\"", set.dataset());
    if conditions.names(&value(&tag)) {
        return Ok(Written { file: scratch::file()?, bytes: 0, left_out: 0, tag });
    }
    let found = algorithm_of(&snapshot, &set, algorithm)?;
    let algorithm = found.ok_or_else(|| no_checksums(&set, None))?;
    drop(snapshot);
    let unwritten = |source| scratch::unusable("write", source);
    let mut out = BufWriter::new(scratch::file()?);
    let mut listed = 0_u64;
    let lacking = each_checksum(files, &algorithm, |_, file, checksum| {
        listed += 1;
        if listed.is_multiple_of(4_096) {
            reading.check_time()?;
        }
        ListStyle::Checksums.write_line(&mut out, checksum, &file.path).map_err(unwritten)
    })?;
    if lacking.listed == 0 {
        return Err(no_checksums(&set, Some(&algorithm)));
    }
    out.flush().map_err(unwritten)?;
    let mut file = out.into_inner().map_err(|error| unwritten(error.into_error()))?;
    let bytes = file.stream_position().map_err(unwritten)?;
    Ok(Written { file, bytes, left_out: lacking.granules + lacking.files, tag })
}
