//! Output that is safe on a terminal and unchanged in a pipe.

use std::io::{self, Write};

use accession::model::is_interpreted;

/// A writer to stdout. If that is a terminal, characters that it would interpret are replaced by
/// their escapes, except line feeds and tabs; otherwise every byte is passed through, since a
/// reader of a pipe needs the ids as they are.
pub struct TerminalSafe<W> {
    inner: W,
    is_terminal: bool,
    /// The beginning of a character, or of a CR LF, whose remaining bytes were not written yet.
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
                character => is_interpreted(*character),
            })
        };
        while let Some((at, character)) = first_interpreted(rest) {
            write!(self.inner, "{}{}", &rest[..at], character.escape_debug())?;
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
    fn invalid_utf_8_is_replaced_on_a_terminal_only() {
        assert_eq!(shown(true, &[b"a\xff", b"b\xe5\x80"]), "a\u{fffd}b\u{fffd}".as_bytes());
        assert_eq!(shown(false, &[b"a\xff"]), b"a\xff");
    }
}
