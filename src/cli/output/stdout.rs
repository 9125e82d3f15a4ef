//! Standard output, which remembers the first error of writing to it.

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};

use terminal_size::Width;

use super::closed::stdout_was_closed;
use super::terminal::TerminalSafe;

/// Buffered standard output.
///
/// Whatever happens to an error of writing in the program, [`Output::failure`] reports that the output
/// is incomplete, and why.
pub struct Output {
    writer: BufWriter<TerminalSafe<Stdout>>,
    is_terminal: bool,
    is_closed: bool,
    failure: Option<Failure>,
}

/// Why standard output could not be written.
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
        Output {
            writer: BufWriter::new(TerminalSafe::new(io::stdout(), is_terminal)),
            is_terminal,
            is_closed: stdout_was_closed(),
            failure: None,
        }
    }

    /// The number of columns of the terminal. `None` means that stdout is not a terminal.
    pub fn columns(&self) -> Option<u16> {
        let size = self.is_terminal.then(terminal_size::terminal_size)?;
        size.map(|(Width(columns), _)| columns)
    }

    /// Why the output is incomplete. `None` means that everything was written so far.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != io::ErrorKind::Interrupted
        {
            self.failure.get_or_insert_with(|| match error.kind() {
                io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
                _ => Failure::Other(error.to_string()),
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
