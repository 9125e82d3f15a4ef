//! The lines of the log of a dataset, segment by segment.

use std::io::{self, BufRead, BufReader, Read};

use ureq::http::header;
use url::Url;

use super::client::{Coding, Failure};
use super::remote::{FetchedHead, Remote};
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::log::{LogLine, LogReader, MAX_LINE_BYTES, Segment};
use crate::model::{LogChange, SourceLocation};

/// Takes each verified line of the log.
pub(super) type Take<'a> = dyn FnMut(LogLine, Option<LogChange>, SourceLocation) -> Result<()> + 'a;

/// Takes what a verified line contains (`None`: the first line), its length, and where it is.
pub(super) type TakeLine<'a> =
    dyn FnMut(Option<(LogLine, Option<LogChange>)>, u64, SourceLocation) -> Result<()> + 'a;

/// Why a segment ended early.
enum Stop {
    Failed(Failure),
    /// The compressed form is missing or damaged: the plain one is read.
    NotZipped,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Failed(Failure::Lasting(error))
    }
}

impl Remote {
    /// Reads the log from the reader's position to the end that the head announces. `take` is called
    /// with what each line contains, its length and where it is.
    pub(super) fn log(
        &self,
        of: &FetchedHead,
        reader: &mut LogReader,
        take: &mut TakeLine<'_>,
    ) -> Result<()> {
        let mut begin = 0;
        for (index, segment) in of.head.segments.0.iter().enumerate() {
            let end = begin + segment.bytes;
            if reader.lines().bytes() < end {
                self.segment(of, (index, segment, begin), reader, take)?;
            }
            begin = end;
        }
        Ok(())
    }

    /// Reads the rest of a segment, again and again where the connection breaks.
    fn segment(
        &self,
        of: &FetchedHead,
        (index, segment, begin): (usize, &Segment, u64),
        reader: &mut LogReader,
        take: &mut TakeLine<'_>,
    ) -> Result<()> {
        let name = format!("log/{}", Segment::file_name(index));
        let url = of.address.file(&name);
        let source = match reader.lines().bytes().saturating_sub(begin) {
            0 => url.to_string(),
            offset => format!("{url} from byte {offset}"),
        };
        reader.lines().enter(source.as_str().into(), 0);
        let mut is_zipped = segment.is_sealed() && reader.lines().bytes() <= begin;
        let mut attempt = 0;
        loop {
            let (before, pace) = (reader.lines().bytes(), self.client.pace());
            let done = match is_zipped {
                true => {
                    let url = of.address.file(&format!("{name}.gz"));
                    self.zipped(&url, (segment, begin), reader, take)
                }
                false => self.plain(&url, (segment, begin), reader, take),
            };
            let failure = match done {
                Ok(()) => return Ok(()),
                Err(Stop::NotZipped) => {
                    is_zipped = false;
                    continue;
                }
                Err(Stop::Failed(failure)) => failure,
            };
            // The compressed form cannot be resumed.
            is_zipped &= reader.lines().bytes() <= begin;
            match failure {
                Failure::Passing(..)
                    if reader.lines().bytes() > before && self.client.was_fast(&pace) =>
                {
                    attempt = 0;
                }
                failure => {
                    attempt += 1;
                    self.client.wait(attempt, failure)?;
                }
            }
        }
    }

    /// Reads a whole segment in its compressed form.
    fn zipped(
        &self,
        url: &Url,
        (segment, begin): (&Segment, u64),
        reader: &mut LogReader,
        take: &mut TakeLine<'_>,
    ) -> Result<(), Stop> {
        let response = self.client.get(url, &[]).map_err(Stop::Failed)?;
        if response.status().as_u16() != 200 {
            return Err(Stop::NotZipped);
        }
        let body = self.client.body(response, segment.bytes, Coding::Gzip);
        match self.lines(url, body, (segment, begin), reader, take) {
            Err(Stop::Failed(Failure::Passing(..))) if reader.lines().bytes() <= begin => {
                Err(Stop::NotZipped)
            }
            done => done,
        }
    }

    /// Reads what is left of a segment, as a range if the server has ranges.
    fn plain(
        &self,
        url: &Url,
        (segment, begin): (&Segment, u64),
        reader: &mut LogReader,
        take: &mut TakeLine<'_>,
    ) -> Result<(), Stop> {
        let offset = reader.lines().bytes().saturating_sub(begin);
        let mut asked = url.clone();
        if !segment.is_sealed() {
            // An older copy of the growing segment in a cache is not mistaken for it.
            asked.set_query(Some(&format!("bytes={}", segment.bytes)));
        }
        let range = format!("bytes={offset}-");
        let headers = [(header::RANGE, range.as_str())];
        let headers = if offset > 0 { &headers[..] } else { &[] };
        let response = self.client.get(&asked, headers).map_err(Stop::Failed)?;
        let wrong = |what: &str| Error::of_url(ErrorKind::Response, &asked, what);
        let encoding = response.headers().get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "identity") {
            return Err(wrong("it is compressed, which was not asked for").into());
        }
        let skipped = match response.status().as_u16() {
            206 => {
                let found = response.headers().get(header::CONTENT_RANGE);
                let found = found.and_then(|found| found.to_str().ok()).unwrap_or_default();
                if !found.starts_with(&format!("bytes {offset}-")) {
                    return Err(wrong("the server sent another range than was asked for").into());
                }
                0
            }
            200 => offset,
            416 => return Err(passing(wrong("it is shorter than the head announces"))),
            404 | 410 => return Err(wrong("the segment is missing").into()),
            _ => return Err(wrong("the server did not respond with the segment").into()),
        };
        let left = segment.bytes - offset + skipped;
        let mut body = self.client.body(response, left, Coding::Identity);
        let copied = io::copy(&mut body.by_ref().take(skipped), &mut io::sink());
        match copied {
            Ok(copied) if copied == skipped => {}
            Ok(_) => return Err(passing(wrong("it is shorter than the head announces"))),
            Err(error) => return Err(Stop::Failed(self.client.broken(url, &error))),
        }
        self.lines(url, body, (segment, begin), reader, take)
    }

    /// Reads lines up to the end of the segment.
    fn lines(
        &self,
        url: &Url,
        body: impl Read,
        (segment, begin): (&Segment, u64),
        reader: &mut LogReader,
        take: &mut TakeLine<'_>,
    ) -> Result<(), Stop> {
        let end = begin + segment.bytes;
        let left = end - reader.lines().bytes();
        let mut body = BufReader::new(body.take(left));
        let mut line = Vec::new();
        while reader.lines().bytes() < end {
            line.clear();
            let read = body.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            read.map_err(|error| Stop::Failed(self.client.broken(url, &error)))?;
            let is_last = reader.lines().bytes() + line.len() as u64 == end;
            if !line.ends_with(b"\n") && (line.len() as u64) < MAX_LINE_BYTES && !is_last {
                let error = Error::of_url(ErrorKind::NoResponse, url, "it ends early");
                return Err(passing(error));
            }
            let found = reader.read(&line)?;
            take(found, line.len() as u64, reader.lines().location())?;
        }
        if reader.lines().check() != Some(segment.check) {
            let what = "the segment does not end with the checksum that the head announces";
            return Ok(reader.lines().fail(what)?);
        }
        Ok(())
    }
}

fn passing(error: Error) -> Stop {
    Stop::Failed(Failure::Passing(error, None))
}
