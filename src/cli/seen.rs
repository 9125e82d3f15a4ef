//! What goes to a terminal, with nothing in it that the terminal would obey.

use std::io::{self, Write};

use super::output::is_unseen;

/// A terminal that is shown what others wrote: of control characters, and of those that turn text
/// around, it gets their escapes. Lines and tabs are left as they are. A pipe gets every byte.
pub struct Seen<W> {
    inner: W,
    is_terminal: bool,
    /// The beginning of a character, or of the end of a line, whose rest is still to come.
    kept: Vec<u8>,
}

impl<W: Write> Seen<W> {
    pub fn new(inner: W, is_terminal: bool) -> Self {
        Seen { inner, is_terminal, kept: Vec::new() }
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        let mut rest = text;
        let obeyed = |rest: &str| {
            rest.char_indices().find(|(at, character)| match character {
                '\n' | '\t' => false,
                '\r' => !rest[at + 1..].starts_with('\n'),
                character => is_unseen(*character),
            })
        };
        while let Some((at, character)) = obeyed(rest) {
            write!(self.inner, "{}{}", &rest[..at], character.escape_debug())?;
            rest = &rest[at + character.len_utf8()..];
        }
        self.inner.write_all(rest.as_bytes())
    }
}

impl<W: Write> Write for Seen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.inner.write(bytes);
        }
        self.kept.extend_from_slice(bytes);
        let kept = std::mem::take(&mut self.kept);
        let mut whole = match std::str::from_utf8(&kept) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => kept.len(),
        };
        if kept[..whole].ends_with(b"\r") {
            whole -= 1;
        }
        self.show(&String::from_utf8_lossy(&kept[..whole]))?;
        self.kept = kept[whole..].to_vec();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let kept = std::mem::take(&mut self.kept);
        self.show(&String::from_utf8_lossy(&kept))?;
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, parts: &[&[u8]]) -> Vec<u8> {
        let mut shown = Vec::new();
        let mut seen = Seen::new(&mut shown, is_terminal);
        parts.iter().for_each(|part| seen.write_all(part).unwrap());
        seen.flush().unwrap();
        shown
    }

    #[test]
    fn a_terminal_obeys_nothing_and_a_pipe_gets_every_byte() {
        let text = "a\u{1b}[2J\u{9b}\u{202e}b\u{7f}é\te\u{301} 値\r\nc\rd\n\r";
        let seen = "a\\u{1b}[2J\\u{9b}\\u{202e}b\\u{7f}é\te\u{301} 値\r\nc\\rd\n\\r";
        assert_eq!(shown(true, &[text.as_bytes()]), seen.as_bytes());
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(shown(true, &bytes), seen.as_bytes());
        assert_eq!(shown(false, &bytes), text.as_bytes());
    }

    #[test]
    fn what_is_no_text_is_shown_as_such() {
        assert_eq!(shown(true, &[b"a\xff", b"b\xe5\x80"]), "a\u{fffd}b\u{fffd}".as_bytes());
        assert_eq!(shown(false, &[b"a\xff"]), b"a\xff");
    }
}
