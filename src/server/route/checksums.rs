//! `/DI:…/checksums`: the checksums of the files of a set, as `sha256sum --check` reads them.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Extracted;
use axum::http::{HeaderValue, Response};
use tokio::time::Instant;

use super::granules::stored;
use super::set::{elsewhere, identifier_in};
use crate::error::Error;
use crate::fixity::{ListStyle, algorithm_of, each_checksum, listed_set, no_checksums};
use crate::model::{Algorithm, DatasetName, Set};
use crate::pages::Site;
use crate::registry::{Registry, Selection};
use crate::server::coding::Coding;
use crate::server::listed::{Found, Key, Unwritten, Wait, Writer};
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format};
use crate::server::response::{Keep, tagged, value};
use crate::server::state::State;

/// How many granules and files were left out, since they have no checksum of the algorithm.
const LEFT_OUT: &str = "accession-left-out";

/// The version of the format of a list, for its tag.
const LIST_VERSION: u32 = 1;

/// The bytes that are written at once.
const WRITTEN_BYTES: usize = 64 * 1_024;

/// A list that is asked for.
struct Wanted {
    registry: Registry,
    set: Set,
    /// The algorithm. `None` means the usual one, which follows from the granules and the records.
    algorithm: Option<Algorithm>,
}

/// Lists the checksums of one algorithm.
pub async fn checksums(
    Extracted(state): Extracted<Arc<State>>,
    asked: Asked,
) -> Result<Response<Body>, Problem> {
    let until = Instant::now() + state.limits.request_time;
    let identifier = identifier_in(&asked.segment(0)?)?;
    let path = Site::checksums(identifier);
    if let Some(elsewhere) = elsewhere(&state, &asked, &path) {
        return Ok(elsewhere);
    }
    let format = asked.format(&[Format::Lines])?;
    let algorithm: Option<Algorithm> = asked.parsed("algorithm")?;
    let dataset: Option<DatasetName> = asked.parsed("dataset")?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let selection = Selection::Identifier { identifier, dataset: dataset.clone() };
        let set = listed_set(&snapshot, &selection)?;
        let registry = reading.unlimited.clone();
        Ok(Wanted { registry, set, algorithm: algorithm.clone() })
    });
    let wanted = read.await?;
    let name = wanted.name();
    if asked.conditions().names(&value(&format!("\"{name}\""))) {
        return Ok(tagged(format, &name, Body::empty(), Keep::WhileCurrent));
    }
    let key = Key { name: name.clone(), coding: Coding::Identity };
    let write = move |writer: &mut Writer| wanted.write(writer);
    // One that is not complete by then never is: its writer ends when nobody waits for it.
    let listed = state.lists.get(key, Wait::Complete, write);
    let list = match tokio::time::timeout_at(until, listed).await {
        Ok(Ok(Found::Complete(list))) => list,
        Ok(Err(problem)) => return Err(problem),
        Ok(Ok(_)) => {
            let detail = "This list does not fit into what the server keeps on disk now.";
            return Err(Problem::too_costly(detail));
        }
        Err(_) => {
            let detail = "This list cannot be made in the time of a request: use the program.";
            return Err(Problem::too_costly(detail));
        }
    };
    let left_out = list.left_out;
    let mut response = stored(format, &name, Coding::Identity, list, Keep::WhileCurrent);
    if left_out > 0 {
        response.headers_mut().insert(LEFT_OUT, HeaderValue::from(left_out));
    }
    Ok(response)
}

impl Wanted {
    /// All that decides the list.
    fn name(&self) -> String {
        let set = &self.set;
        let algorithm = self.algorithm.as_ref().map_or("usual", Algorithm::as_str);
        let (digest, dataset) = (set.digest(), set.dataset());
        format!("{digest}-checksums.{LIST_VERSION}-{algorithm}-{dataset}")
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Unwritten> {
        let snapshot = self.registry.snapshot()?;
        let files = snapshot.files(&self.set)?;
        let found = algorithm_of(&snapshot, &self.set, self.algorithm.as_ref())?;
        let algorithm = found.ok_or_else(|| no_checksums(&self.set, None))?;
        drop(snapshot);
        let (mut out, mut failed) = (BufWriter::with_capacity(WRITTEN_BYTES, writer), None);
        let lacking = each_checksum(files, &algorithm, |granule_id, file, checksum| {
            let written =
                ListStyle::Checksums.write_line(&mut out, checksum, file.path(granule_id));
            written.map_err(|error| {
                failed = Some(error);
                Error::interrupted()
            })
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        let lacking = lacking?;
        if lacking.listed == 0 {
            return Err(no_checksums(&self.set, Some(&algorithm)).into());
        }
        out.flush()?;
        out.get_mut().left_out = lacking.granules + lacking.files;
        Ok(())
    }
}
