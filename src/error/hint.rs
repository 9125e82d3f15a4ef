//! What to do about an error of each kind: one table for the command line and for the Python package. A command
//! that knows more about a case gives a hint of its own.

use super::Error;

/// Where a hint is read, and how options are written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrontEnd {
    /// An option is `--at`.
    CommandLine,
    /// An option is `at=…`.
    Python,
}

impl Error {
    /// Returns what to do about it. A value that is refused was read from a file, or else typed.
    pub fn hint(&self, front_end: FrontEnd) -> Option<String> {
        let hints = self.kind().hints();
        let hint = if self.location().is_some() { hints.last() } else { hints.first() }?;
        let parts = hint.split('{').flat_map(|part| part.split('}'));
        let said = parts.map(|part| match (part.split_once('|'), front_end) {
            (Some((typed, _)), FrontEnd::CommandLine) => typed.to_owned(),
            (Some((_, called)), FrontEnd::Python) => called.to_owned(),
            (None, FrontEnd::CommandLine) => part.to_owned(),
            (None, FrontEnd::Python) => as_arguments(part),
        });
        Some(said.collect())
    }
}

/// A text in which each option is an argument of a function, but for commands, which are in backticks.
fn as_arguments(text: &str) -> String {
    let mut options = text.split("--");
    let first = options.next().unwrap_or_default().to_owned();
    options.fold(first, |text, rest| {
        if !text.matches('`').count().is_multiple_of(2) {
            return format!("{text}--{rest}");
        }
        let is_of_name = |it: char| it == '-' || it.is_ascii_alphabetic();
        let end = rest.find(|it| !is_of_name(it)).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        format!("{text}{}=…{rest}", name.replace('-', "_"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::model::SourceLocation;

    #[test]
    fn options_are_named_as_their_reader_writes_them() {
        let hint = |kind, reader| Error::new(kind, "").hint(reader).unwrap();
        let (typed, called) = (FrontEnd::CommandLine, FrontEnd::Python);
        assert!(hint(ErrorKind::Held, typed).starts_with("--skip-existing skips"));
        assert!(hint(ErrorKind::Held, called).starts_with("skip_existing=True skips"));
        assert!(hint(ErrorKind::TooOld, called).ends_with("accept its age with max_age=…"));
        assert!(hint(ErrorKind::NotAfterLast, called).ends_with("`accession export --until`"));
        for kind in ErrorKind::ALL {
            for reader in [typed, called] {
                let hint = Error::new(*kind, "").hint(reader).unwrap_or_default();
                assert!(!hint.contains(['{', '}', '|']), "{kind}: {hint}");
            }
        }
    }

    #[test]
    fn a_hint_depends_on_whether_the_time_was_typed_or_read() {
        let typed = Error::new(ErrorKind::Future, "");
        let read = typed.clone().at(SourceLocation::Argument { number: 1 });
        assert!(typed.hint(FrontEnd::CommandLine).unwrap().contains("--at"));
        assert!(!read.hint(FrontEnd::CommandLine).unwrap().contains("--at"));
    }
}
