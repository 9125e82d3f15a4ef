//! `verify`: verifies the registry, or a directory that was published from it.

mod published;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use accession::text::quoted;
use accession::verify::VerificationTotals;
use accession::{DatasetFilter, DatasetName, ErrorKind, ParseError, Registry};
use serde_json::Value;

use self::published::{Published, verify_published};
use crate::args::{named_or_all, named_path};
use crate::error::{Error, Exit, Kind, Result};
use crate::output::{Column, Output, counted, for_shell, in_words, one_line, plural};
use crate::session::Session;

/// Recompute every identifier
///
/// Every identifier that was ever issued is recomputed, and every row of the registry is checked. Without a name,
/// all datasets are verified. The pages and indexes of a registry file are always checked; on a server, only the
/// rows of the named datasets. Nothing is repaired. Each finding is printed, and the exit status is then 1.
///
/// DIR is a directory that `accession publish` wrote, or datasets/NAME in it. All files for mirrors and in
/// statements/ are read and compared with the registry. If a file differs, the exit status is 1.
///
/// Examples:
///   accession verify
///   accession verify /srv/www
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// The datasets [default: all], or a published directory
    #[arg(value_name = "NAME|DIR", value_parser = named_path())]
    named: Vec<PathBuf>,

    /// The number of datasets to verify at a time [default: one per core]
    ///
    /// At most 16.
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// The subject to verify.
enum Subject {
    /// Datasets of the registry.
    Datasets(DatasetFilter),
    /// A published directory.
    Published(Published),
}

impl Args {
    pub fn run(self, session: &mut Session) -> Result<Exit> {
        let registry = session.open()?;
        match self.subject(&registry)? {
            Subject::Datasets(filter) => self.verify(&registry, &filter, session),
            Subject::Published(published) if self.jobs.is_none() => {
                verify_published(&registry, &published, session)
            }
            Subject::Published(_) => {
                Err(Error::usage("--jobs is for datasets: a directory is read one file at a time")
                    .with_hint("leave out --jobs"))
            }
        }
    }

    /// The subject that the arguments name. A dataset takes precedence over a directory without published
    /// datasets.
    fn subject(&self, registry: &Registry) -> Result<Subject> {
        if let [only] = &self.named[..]
            && only.is_dir()
        {
            let is_dataset = match name_of(only) {
                Ok(name) => registry.snapshot()?.dataset(&name).is_ok(),
                Err(_) => false,
            };
            match Published::find(only)? {
                Some(_) if is_dataset => {
                    let name = quoted(&only.to_string_lossy()).to_string();
                    let shell = for_shell(&only.to_string_lossy());
                    let message = format!("{name} is a dataset, and a published directory");
                    let hint = format!("`accession verify ./{shell}` verifies the directory");
                    return Err(Error::new(ErrorKind::Ambiguous, message).with_hint(hint));
                }
                Some(published) => return Ok(Subject::Published(published)),
                None if is_dataset => {}
                None => {
                    let name = quoted(&only.to_string_lossy()).to_string();
                    let shell = for_shell(&only.to_string_lossy());
                    return Err(Error::usage(format!("nothing was published in {name}"))
                        .with_hint(format!("`accession publish {shell}` publishes there")));
                }
            }
        }
        let names = self.named.iter().map(|name| name_of(name));
        let names = names.collect::<Result<Vec<DatasetName>, ParseError>>()?;
        Ok(Subject::Datasets(named_or_all(&names)))
    }

    fn verify(
        &self,
        registry: &Registry,
        filter: &DatasetFilter,
        session: &mut Session,
    ) -> Result<Exit> {
        const COLUMNS: &[Column] = &[
            Column::text("dataset").or(FILE),
            Column::number("identifiers"),
            Column::text("result").of("mismatches").by(result),
        ];
        let mut list = session.list(COLUMNS);
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let jobs = self.jobs.unwrap_or(cores);
        let mut verifications = registry.verify_all_on(jobs, filter)?;
        for verification in verifications.by_ref() {
            let verification = verification?;
            // The findings precede the table, which is written when the widths of its columns are known.
            session.text_of(&verification, write_findings)?;
            list.add(session, &verification)?;
        }
        let verified = verifications.verified();
        list.finish(session)?;
        let VerificationTotals { datasets, identifiers, findings, unreachable, left_out, .. } =
            verified;
        let summary = object!({
            "datasets": datasets,
            "identifiers": identifiers,
            "findings": findings,
            "unreachable": unreachable,
            "not_checked": left_out,
        });
        session.present(&BTreeMap::from([("summary", summary)]), write_summary)?;
        match verified {
            VerificationTotals { findings: 1.., .. } => Ok(Exit::Differs),
            VerificationTotals { unreachable: datasets @ 1.., .. } => {
                let message = format!(
                    "a machine cannot be reached, and the answer lacks its datasets: {datasets}"
                );
                Err(Error::new(Kind::Incomplete, message))
            }
            _ => Ok(Exit::Done),
        }
    }
}

/// The dataset that an argument names.
fn name_of(argument: &Path) -> Result<DatasetName, ParseError> {
    argument.to_string_lossy().parse()
}

fn write_findings(out: &mut Output, verification: &Value) -> io::Result<()> {
    let subject = verification["dataset"].as_str().unwrap_or(FILE);
    for finding in verification["mismatches"].as_array().into_iter().flatten() {
        write!(out, "{subject}: ")?;
        match (finding["granule"].as_str(), finding["timestamp"].as_str()) {
            (Some(granule), _) => write!(out, "{}: ", quoted(granule))?,
            (None, Some(timestamp)) => write!(out, "{timestamp}: ")?,
            (None, None) => {}
        }
        writeln!(out, "{}", one_line(&in_words(&finding["text"])))?;
    }
    Ok(())
}

/// The name of the row about everything beside the datasets.
const FILE: &str = "the file";

/// The result of verifying a dataset.
fn result(mismatches: &Value) -> String {
    let found = mismatches.as_array().map_or(&[][..], Vec::as_slice);
    match found {
        [] => "ok".to_owned(),
        [only] if only["code"] == "unreachable" => "not verified".to_owned(),
        found => format!("NOT ok: {}", plural(found.len() as u64, "finding")),
    }
}

fn write_summary(out: &mut Output, verified: &Value) -> io::Result<()> {
    let verified = &verified["summary"];
    if let Some(not_checked) = verified["not_checked"].as_str() {
        writeln!(out, "not checked: {not_checked}")?;
    }
    let datasets = counted(&verified["datasets"], "dataset");
    let identifiers = counted(&verified["identifiers"], "identifier");
    let result = match (&verified["findings"], &verified["unreachable"]) {
        (none, unreachable) if *none == 0 && *unreachable != 0 => {
            format!("{unreachable} not verified")
        }
        (none, _) if *none == 0 => "all ok".to_owned(),
        (findings, _) => format!("NOT ok, {}", counted(findings, "finding")),
    };
    writeln!(out, "{datasets}, {identifiers}: {result}")
}
