//! The command of this run with other options, as hints print it.

use std::ffi::OsString;

use super::output::for_shell;

/// Options that are not repeated, each with whether it has a value: `--dry-run` and its own option, and the
/// options for the registry and the expected set, which the new command names itself.
const NOT_REPEATED: [(&str, bool); 4] =
    [("--dry-run", false), ("--all", false), ("--registry", true), ("--expect", true)];

/// Returns the arguments of a run as a command that begins with `program` and has more options. The first
/// argument is the name of the program.
pub fn again(arguments: &[OsString], program: &str, options: &[(&str, &str)]) -> String {
    let mut words = vec![program.to_owned()];
    let mut given = arguments.iter().skip(1).map(|argument| argument.to_string_lossy());
    let more = options.iter().flat_map(|(option, value)| [(*option).to_owned(), for_shell(value)]);
    let mut more = Some(more);
    while let Some(argument) = given.next() {
        if argument == "--" {
            // No options follow `--`, so the additional ones go before it.
            words.extend(more.take().into_iter().flatten());
        }
        let name = argument.split_once('=').map_or(&*argument, |(name, _)| name);
        let is_option = more.is_some();
        match NOT_REPEATED.iter().find(|(option, _)| is_option && *option == name) {
            Some((option, true)) if *option == argument => drop(given.next()),
            Some(_) => {}
            None => words.push(for_shell(&argument)),
        }
    }
    words.extend(more.into_iter().flatten());
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(arguments: &[&str]) -> String {
        let arguments: Vec<OsString> = arguments.iter().map(Into::into).collect();
        again(&arguments, "accession", &[("--expect", "DI:8f71")])
    }

    #[test]
    fn a_command_is_repeated_as_it_was_typed_with_one_expected_set() {
        for (arguments, expected) in [
            (&["x", "sync", "FOO", "a b.txt"][..], "accession sync FOO 'a b.txt' --expect DI:8f71"),
            (
                &["x", "--registry", "r.db", "sync", "FOO", "-", "--note", "it's", "--registry=s"],
                "accession sync FOO - --note 'it'\\''s' --expect DI:8f71",
            ),
            (
                &["x", "sync", "FOO", "l", "--dry-run", "--all", "--expect", "DI:0", "--json"],
                "accession sync FOO l --json --expect DI:8f71",
            ),
            (
                &["x", "delete", "FOO", "--expect=DI:0", "--", "--all", "--registry"],
                "accession delete FOO --expect DI:8f71 -- --all --registry",
            ),
        ] {
            assert_eq!(typed(arguments), expected);
        }
    }
}
