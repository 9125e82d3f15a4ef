//! Standard output: escaped on a terminal, unchanged in a pipe. It remembers the first error of writing.
//!
//! # A closed stdout
//!
//! Before `main`, Rust's runtime opens `/dev/null` for each standard stream that is closed, as stdout is after
//! `accession … >&-`. So no other file gets the number of the stream. But a closed stdout then looks like one
//! that was redirected to `/dev/null` on purpose, and output to it is lost without an error. So a constructor
//! checks stdout before the runtime starts.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use accession::text::is_escaped;
use terminal_size::Width;

/// Buffered standard output.
///
/// [`Output::failure`] reports that the output is incomplete, and why, even if the program ignores an error of
/// writing.
pub struct Output {
    writer: BufWriter<TerminalSafe<Box<dyn Write + Send>>>,
    is_terminal: bool,
    is_closed: bool,
    failure: Option<Failure>,
}

/// The size of the buffer.
const BUFFER_BYTES: usize = 32 * 1_024;

/// The reason that stdout could not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// It was closed when the program was started.
    Closed,
    /// Its reader closed the pipe.
    BrokenPipe,
    /// Another error, in the words of the operating system.
    Other(String),
}

impl Output {
    pub fn new() -> Self {
        let is_terminal = io::stdout().is_terminal();
        let is_closed = stdout_was_closed();
        Output { is_terminal, is_closed, ..Output::to(Box::new(io::stdout()), is_terminal) }
    }

    /// Output to a writer instead of stdout.
    pub fn to(out: Box<dyn Write + Send>, is_terminal: bool) -> Self {
        let writer = BufWriter::with_capacity(BUFFER_BYTES, TerminalSafe::new(out, is_terminal));
        Output { writer, is_terminal, is_closed: false, failure: None }
    }

    /// The number of columns of the terminal. `None` means that stdout is not a terminal.
    pub fn columns(&self) -> Option<u16> {
        let size = self.is_terminal.then(terminal_size::terminal_size)?;
        size.map(|(Width(columns), _)| columns)
    }

    /// The reason that the output is incomplete. `None` means that everything was written so far.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failure.get_or_insert_with(|| match error.kind() {
                io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
                _ => Failure::Other(accession::Error::chain_of(error)),
            });
        }
        result
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Closed => f.write_str("it is closed"),
            Failure::BrokenPipe => f.write_str("its reader closed the pipe"),
            Failure::Other(message) => f.write_str(message),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_closed {
            self.failure = Some(Failure::Closed);
            return Err(io::Error::other(Failure::Closed.to_string()));
        }
        let result = self.writer.write(bytes);
        self.remember(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.remember(result)
    }
}

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes one system call and stores a flag. It uses nothing that the runtime must set up first.
#[ctor::ctor(unsafe)]
fn note_closed_stdout() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    STDOUT_WAS_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

/// Returns whether stdout was closed when the program was started.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}

/// A writer to stdout. On a terminal, it escapes the characters that the terminal would interpret or not show,
/// except line feeds and tabs. Otherwise it writes every byte unchanged, because the reader of a pipe needs the
/// exact ids.
pub struct TerminalSafe<W> {
    inner: W,
    is_terminal: bool,
    /// The beginning of a character, or of a CR LF, whose remaining bytes have not been written to this writer
    /// yet.
    pending: Vec<u8>,
}

impl<W: Write> TerminalSafe<W> {
    pub fn new(inner: W, is_terminal: bool) -> Self {
        TerminalSafe { inner, is_terminal, pending: Vec::new() }
    }

    fn write_escaped(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        let first_interpreted = |rest: &str| {
            rest.char_indices().find(|(at, character)| match character {
                '\n' | '\t' => false,
                '\r' => !rest[at + 1..].starts_with('\n'),
                character => is_escaped(*character),
            })
        };
        while let Some((at, character)) = first_interpreted(rest) {
            self.inner.write_all(&rest.as_bytes()[..at])?;
            // `escape_debug` does not escape some invisible characters.
            let escaped = character.escape_debug();
            match escaped.len() {
                1 => write!(self.inner, "{}", character.escape_unicode())?,
                _ => write!(self.inner, "{escaped}")?,
            }
            rest = &rest[at + character.len_utf8()..];
        }
        self.inner.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for TerminalSafe<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        self.pending.extend_from_slice(bytes);
        let pending = std::mem::take(&mut self.pending);
        let mut complete = match std::str::from_utf8(&pending) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => pending.len(),
        };
        if pending[..complete].ends_with(b"\r") {
            complete -= 1;
        }
        self.write_escaped(&String::from_utf8_lossy(&pending[..complete]))?;
        self.pending = pending[complete..].to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let pending = std::mem::take(&mut self.pending);
        self.write_escaped(&String::from_utf8_lossy(&pending))?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, parts: &[&[u8]]) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut writer = TerminalSafe::new(&mut shown, is_terminal);
        parts.iter().for_each(|part| writer.write_all(part).unwrap());
        writer.flush().unwrap();
        shown
    }

    #[test]
    fn a_terminal_interprets_nothing_and_a_pipe_gets_every_byte() {
        let text = "a\u{1b}[2J\u{9b}\u{202e}b\u{7f}é\te\u{301} 値\r\nc\rd\n\r";
        let seen = "a\\u{1b}[2J\\u{9b}\\u{202e}b\\u{7f}é\te\u{301} 値\r\nc\\rd\n\\r";
        assert_eq!(shown(true, &[text.as_bytes()]), seen.as_bytes());
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(shown(true, &bytes), seen.as_bytes());
        assert_eq!(shown(false, &bytes), text.as_bytes());
    }

    #[test]
    fn names_that_look_alike_differ_on_a_terminal() {
        for hidden in "\u{ad}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200f}\u{2060}\u{2064}\u{3164}\u{fe0f}\u{feff}\u{fff9}\u{e0041}\u{e0100}".chars() {
            let text = format!("US{hidden}.A\n");
            let seen = format!("US\\u{{{:x}}}.A\n", u32::from(hidden));
            assert_eq!(shown(true, &[text.as_bytes()]), seen.as_bytes());
            assert_eq!(shown(false, &[text.as_bytes()]), text.as_bytes());
        }
    }

    #[test]
    fn invalid_utf_8_is_replaced_on_a_terminal_only() {
        assert_eq!(shown(true, &[b"a\xff", b"b\xe5\x80"]), "a\u{fffd}b\u{fffd}".as_bytes());
        assert_eq!(shown(false, &[b"a\xff"]), b"a\xff");
    }
}
