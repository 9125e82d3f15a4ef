//! The readers of input files: the registry accepts every file that a reader accepts.

use std::io::{Cursor, Write};

use accession::ErrorDetail;
use accession::ListingOptions;
use accession::ids::payment::PaymentId;
use accession::listing::{InputFormat, OpenedFile, Records};
use accession::mirror::PrimaryOptions;
use accession::mirror::{Primary, manifest};
use accession::{
    Clock, DatasetName, ErrorKind, Event, IfMissing, Import, Registry, SourceLocation, Timestamp,
};

/// The kinds of error with which an import may be rejected, whatever the events are.
const REFUSALS: [ErrorKind; 3] = [ErrorKind::Twice, ErrorKind::NotAfterLast, ErrorKind::Future];
const REFUSED_EVENTS: [ErrorDetail; 3] =
    [ErrorDetail::OutOfTurn, ErrorDetail::ForbiddenCharacter, ErrorDetail::CurrentDirectory];

pub fn lines(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Lines));
}

pub fn csv(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Csv));
}

pub fn ndjson(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Ndjson));
}

pub fn umm_json(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::UmmJson));
}

pub fn cmr_json(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::CmrJson));
}

pub fn stac(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Stac));
}

pub fn pdr(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Pdr));
}

pub fn checksums(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Checksums));
}

pub fn old_payment_ids(bytes: &[u8]) {
    let lines = 1 + bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    let lines = if bytes.starts_with(&[0x1f, 0x8b]) { u64::MAX } else { lines };
    match PaymentId::read_list(Cursor::new(bytes.to_vec()), "file") {
        Err(error) => assert_is_a_line(error.location(), lines),
        // No line is dropped.
        Ok(ids) => assert!(lines == u64::MAX || filled_lines(bytes) == ids.len()),
    }
}

/// The number of lines that are not empty.
fn filled_lines(bytes: &[u8]) -> usize {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = bytes.split(|&byte| byte == b'\n');
    lines.filter(|line| !line.strip_suffix(b"\r").unwrap_or(line).is_empty()).count()
}

pub fn changes(bytes: &[u8]) {
    read(bytes, bytes, Some(InputFormat::Changes));
}

pub fn detected(bytes: &[u8]) {
    read(bytes, bytes, None);
}

/// A compressed file is read as the file inside it.
pub fn gzip(bytes: &[u8]) {
    read(bytes, bytes, None);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    let zipped = encoder.finish().unwrap();
    // A file that is compressed twice is decompressed only once.
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        let plain = granule_ids(bytes, &ListingOptions::default());
        assert_eq!(granule_ids(&zipped, &ListingOptions::default()), plain);
        read(&zipped, bytes, None);
    }
}

/// Reads a file as a list of granules and as a history.
fn read(file: &[u8], unzipped: &[u8], format: Option<InputFormat>) {
    let is_zipped = file.starts_with(&[0x1f, 0x8b]);
    // A CR alone also ends a line of JSON.
    let lines = 1 + unzipped.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count() as u64;
    // The number of lines of a compressed file is only known from the decompressed bytes.
    let lines = if is_zipped && file == unzipped { u64::MAX - 1 } else { lines };
    let options = ListingOptions::new().format(format);
    if let Ok(mut records) = Records::open(Cursor::new(file.to_vec()), "file", &options) {
        for record in records.by_ref() {
            match record {
                Ok(record) => assert_is_a_line(Some(&record.location), lines),
                Err(error) => assert_is_a_line(error.location(), lines + 1),
            }
        }
        assert!(records.next().is_none(), "after an error there are no more");
    }
    import(file, &options, lines);
}

/// The ids in the order of the file. `None` if the file is rejected.
fn granule_ids(file: &[u8], options: &ListingOptions) -> Option<Vec<String>> {
    let records = Records::open(Cursor::new(file.to_vec()), "file", options).ok()?;
    records.map(|record| Some(record.ok()?.granule_id.to_string())).collect()
}

fn assert_is_a_line(location: Option<&SourceLocation>, lines: u64) {
    let Some(SourceLocation::Line { line, .. }) = location else { panic!("no line: {location:?}") };
    assert!((1..=lines).contains(line), "line {line} of {lines}");
}

/// The registry accepts the events that a reader returns, and then verifies. Otherwise it rejects them because
/// they are not a possible history.
fn import(file: &[u8], options: &ListingOptions, lines: u64) {
    let file = Cursor::new(file.to_vec());
    let Ok(events) = OpenedFile::open(file, "file").and_then(|file| file.events(options)) else {
        return;
    };
    let Ok(events) = events.collect::<Result<Vec<Event>, _>>() else { return };
    events.iter().for_each(|event| assert_is_a_line(event.location.as_ref(), lines));
    if events.is_empty() {
        return;
    }
    let (dataset, now): (DatasetName, Timestamp) =
        ("dataset".parse().unwrap(), "9999-12-31T00:00:00Z".parse().unwrap());
    let registry = Registry::temporary(Clock::fixed(now)).unwrap();
    let mut import = Import::new();
    import.options = import.options.if_missing(IfMissing::Create);
    let added = events.into_iter().try_for_each(|event| import.add(event));
    match added.and_then(|()| registry.import(&dataset, &import)) {
        Ok(imported) if imported.instances.is_empty() => {}
        Ok(_) => assert!(registry.verify(&dataset).unwrap().ok),
        Err(error) if REFUSALS.contains(&error.kind()) => {}
        Err(error) if error.detail().is_some_and(|it| REFUSED_EVENTS.contains(&it)) => {}
        Err(error) => panic!("{error:?}"),
    }
}

/// If a manifest is accepted and written again, the result is accepted too, and has the same history. The bytes
/// are also tried with correct checks, since code after the checks would otherwise not be reached.
pub fn manifest(bytes: &[u8]) {
    for file in [bytes.to_vec(), sealed(bytes)] {
        if let Some(written) = rebuilt(&file) {
            assert_eq!(rebuilt(&written), Some(written));
        }
    }
}

/// The lines with their correct checks, and the head with correct announcements.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    super::resealed(super::text(bytes), |body| body.to_owned())
}

/// The manifest written by a registry that was rebuilt from a manifest. `None` if it was rejected.
fn rebuilt(bytes: &[u8]) -> Option<Vec<u8>> {
    let file = OpenedFile::open(Cursor::new(bytes.to_vec()), "file").ok()?.unzipped().ok()?;
    let now = "9999-12-31T00:00:00Z".parse().unwrap();
    let reader = Primary::from_reader(file, "file", PrimaryOptions::default()).ok()?;
    let registry = Registry::temporary(Clock::fixed(now)).unwrap();
    let mut import = Import::new();
    let name = "file".parse().unwrap();
    let dataset = reader.read_into(&name, &mut import, now, |_| {}).ok()?;
    import.options = import.options.if_missing(IfMissing::Create);
    registry.import(&dataset.name, &import).ok()?;
    registry.snapshot().ok()?.dataset(&dataset.name).ok()?;
    assert!(registry.verify(&dataset.name).unwrap().ok);
    let mut written = Vec::new();
    manifest::write(&registry, &dataset.name, None, &mut written).unwrap();
    Some(written)
}
