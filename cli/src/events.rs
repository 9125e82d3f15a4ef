//! Reads the events of a history for an import.

use accession::listing::{Findings, InputFormat, OpenedFile};
use accession::mirror::{Primary, PrimaryOptions};
use accession::{DatasetName, Import, ListingOptions, Timestamp};

use super::error::{Context, Result};
use super::input_file::{InputFile, open};
use super::output::Progress;
use super::reading::{MissingPages, ReadListings};
use super::session::Session;

/// Reads events into an import, from a file or from the dataset that a directory publishes. Returns the
/// findings of the file. `None` means that it is a log, which has no findings.
pub fn import_events(
    dataset: &DatasetName,
    file: &InputFile,
    options: &ListingOptions,
    missing: MissingPages<'_>,
    session: &Session,
    import: &mut Import,
) -> Result<Option<Findings>> {
    let progress = Progress::new();
    progress.begin("reading", "granules", None);
    let now = session.now()?;
    let published = file.path().map(|path| Primary::of_directory(path, dataset, now));
    if let Some(published) = published.transpose()?.flatten() {
        options.check_log().with_context(|| file.name())?;
        import_log(&published, dataset, (import, now), &progress)?;
        return Ok(None);
    }
    let (reader, name) = open(file)?;
    let file = OpenedFile::open(reader, &name)?;
    if file.format(options)? == InputFormat::Manifest {
        options.check_log().with_context(|| name.clone())?;
        let manifest = Primary::from_reader(file.unzipped()?, &name, PrimaryOptions::default())?;
        import_log(&manifest, dataset, (import, now), &progress)?;
        return Ok(None);
    }
    let mut events = file.events(options)?;
    for event in events.by_ref() {
        import.add(event?)?;
        progress.advance_row();
    }
    progress.end();
    session.warn_all(events.records().warnings());
    let mut findings = Findings::new(options.stated_total());
    events.records().add_to(&mut findings, &name);
    session.warn_all(findings.warnings(&name));
    import.left_out = events.left_out();
    import.until = events.left_out_since();
    let refusal = findings.refusal();
    ReadListings::new(findings, refusal, missing).accepted().map(Some)
}

fn import_log(
    log: &Primary,
    dataset: &DatasetName,
    (import, now): (&mut Import, Timestamp),
    progress: &Progress,
) -> Result<()> {
    log.read_into(dataset, import, now, |events| {
        progress.advance(events);
    })?;
    Ok(())
}
