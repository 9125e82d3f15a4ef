//! `/DI:…/checksums`: the checksums of the files of a set, as `sha256sum --check` reads them; and
//! `/DI:…/list`: its canonical list, of which the digest is the SHA-256.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use super::granules::stored;
use super::set::{at_path, identifier_in};
use crate::error::Error;
use crate::fixity::{ListStyle, each_checksum, listed_set};
use crate::model::{Algorithm, Identifier, Set};
use crate::pages::Site;
use crate::registry::{FileList, GranuleFiles, Registry, Selection};
use crate::server::answer::{Answer, Keep, Stop};
use crate::server::files::{Unwritten, Writer};
use crate::server::permits::Cost;
use crate::server::problem::Problem;
use crate::server::request::{Asked, Format, moment};
use crate::server::state::ServerState;

/// The version of the format of a list, for its tag.
const LIST_VERSION: u32 = 1;

/// The bytes that are written at once.
const WRITTEN_BYTES: usize = 64 * 1_024;

/// A list that is asked for.
struct ChecksumQuery {
    registry: Registry,
    set: Set,
    lines: Lines,
}

/// What the lines of a list are.
#[derive(Clone)]
enum Lines {
    Canonical,
    /// The checksums of an algorithm. `None` means the usual one, which follows from what is known.
    Checksums(Option<Algorithm>),
}

/// Lists the checksums of one algorithm.
pub async fn checksums(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    let lines = Lines::Checksums(asked.parsed("algorithm")?);
    answer(state, asked, Site::checksums, lines).await
}

/// Lists a set with the strongest checksums of its files.
pub async fn list(state: &Arc<ServerState>, asked: &Asked) -> Result<Answer, Stop> {
    answer(state, asked, Site::list, Lines::Canonical).await
}

async fn answer(
    state: &Arc<ServerState>,
    asked: &Asked,
    path: fn(Identifier) -> String,
    lines: Lines,
) -> Result<Answer, Stop> {
    let segment = asked.segment(0)?;
    let selection = match segment.parse() {
        Ok(digest) => Selection::Digest(digest),
        Err(_) => {
            let identifier = identifier_in(&segment)?;
            at_path(state, asked, &path(identifier))?;
            let at = asked.parameter("at").filter(|at| !at.is_empty());
            let at = at.map(|at| moment(&at)).transpose()?;
            Selection::Identifier { identifier, dataset: asked.parsed("dataset")?, at }
        }
    };
    let format = asked.format(&[Format::Lines])?;
    let read = state.source.compare(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let set = listed_set(&snapshot, &selection)?;
        let registry = reading.unlimited.clone();
        Ok(ChecksumQuery { registry, set, lines: lines.clone() })
    });
    let wanted = read.await?;
    let name = wanted.name();
    let write = move |writer: &mut Writer| wanted.write(writer);
    let cost = (Cost::List, state.limits.request_time);
    let answer = stored((state, asked), format, &name, Keep::WhileCurrent, cost, write).await?;
    let detail = "This list cannot be made in the time of a request, or does not fit into what the server \
        keeps on disk now: use the program.";
    answer.ok_or_else(|| Problem::too_costly(detail).into())
}

impl ChecksumQuery {
    /// All that decides the list. A digest does not cover the weaker checksums of a file, so that equal
    /// ones may have other lists.
    fn name(&self) -> String {
        let (digest, instance) = (self.set.digest(), self.set.instance());
        let algorithm = match &self.lines {
            Lines::Canonical => return format!("{digest}-list.{LIST_VERSION}"),
            Lines::Checksums(algorithm) => algorithm.as_ref().map_or("usual", Algorithm::as_str),
        };
        let (dataset, at) = (self.set.dataset(), instance.timestamp.as_micros());
        format!("{digest}-checksums.{LIST_VERSION}-{algorithm}-{dataset}-{at}")
    }

    fn write(&self, writer: &mut Writer) -> Result<(), Unwritten> {
        let snapshot = self.registry.snapshot()?;
        let algorithm = match &self.lines {
            Lines::Checksums(algorithm) => algorithm.clone(),
            Lines::Canonical => {
                let files = snapshot.files(&self.set)?;
                drop(snapshot);
                return write_canonical(files, writer);
            }
        };
        let (mut out, mut failed) = (BufWriter::with_capacity(WRITTEN_BYTES, writer), None);
        let listed = each_checksum(snapshot, &self.set, algorithm, |granule_id, file, checksum| {
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
        let listed = listed?;
        out.flush()?;
        out.get_mut().left_out = listed.granules + listed.files;
        Ok(())
    }
}

fn write_canonical(files: FileList, writer: &mut Writer) -> Result<(), Unwritten> {
    let (mut out, mut line) = (BufWriter::with_capacity(WRITTEN_BYTES, writer), Vec::new());
    for granule in files {
        let GranuleFiles { granule_id, content } = granule?;
        line.clear();
        content.write_line(granule_id.as_str(), &mut line);
        out.write_all(&line)?;
    }
    Ok(out.flush()?)
}
