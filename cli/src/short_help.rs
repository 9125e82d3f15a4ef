//! The summary that `-h` prints of a command. It fits a screen.

use clap::{Arg, ArgAction, Command};

/// The maximum width of a line.
const WIDTH: usize = 100;

/// Adds a summary for `-h` to a command and to its subcommands.
pub fn with_short_help(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    summarized(command, &built)
}

/// The same as [`with_short_help`]. `built` is the same command after clap added its usage and its own
/// arguments.
fn summarized(command: Command, built: &Command) -> Command {
    let command = subcommands(built).fold(command, |command, below| {
        command.mut_subcommand(below.get_name(), |command| summarized(command, below))
    });
    command.override_help(summary(built))
}

/// The subcommands that the help of a command lists.
fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| below.get_name() != "help")
}

/// The summary of a command: its description, its arguments, and examples. Rarely needed text is only in
/// `--help`: all but the first paragraph about the command and about each argument, and arguments that are
/// hidden in the short help.
fn summary(command: &Command) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let usage = command.clone().render_usage().to_string().trim().replace(['<', '>'], "");
    let arguments = || command.get_arguments().filter(|argument| !is_of_clap(argument));
    let shown = || arguments().filter(|it| !it.is_hide_set() && !it.is_hide_short_help_set());
    let positionals = list(shown().filter(|it| it.is_positional()).map(row));
    let options = list(shown().filter(|it| !it.is_positional()).map(row));
    let commands = list(subcommands(command).map(|below| {
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        (format!("  {}", below.get_name()), about)
    }));
    let mut notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let hides_options = arguments().any(|it| it.is_hide_short_help_set() && !it.is_hide_set());
    if hides_options && !notes.contains("--help") {
        let path = command.get_bin_name().unwrap_or_default();
        notes = format!("{notes}\nMore options: {path} --help").trim().to_owned();
    }
    let mut parts = vec![about, usage, positionals, options, commands, notes, examples(command)];
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

/// Whether clap adds this argument to every command.
fn is_of_clap(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::Help | ArgAction::Version)
}

/// An argument and its meaning.
fn row(argument: &Arg) -> (String, String) {
    let values = argument.get_value_names().unwrap_or_default().join(" ");
    let takes_values = argument.get_action().takes_values();
    let name = match (argument.get_long(), argument.get_short()) {
        (None, Some(short)) => format!("  -{short} {values}"),
        (None, None) if matches!(argument.get_action(), ArgAction::Append) => {
            format!("  {values}...")
        }
        (None, None) => format!("  {values}"),
        (Some(long), short) => {
            let short = short.map_or("   ".to_owned(), |short| format!("-{short},"));
            let value = if takes_values { format!(" {values}") } else { String::new() };
            format!("  {short} --{long}{value}")
        }
    };
    let mut help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    if takes_values && !argument.is_hide_possible_values_set() {
        let possible = argument.get_possible_values();
        let possible: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
        if !possible.is_empty() {
            help.push_str(&format!(": {}", possible.join(", ")));
        }
    }
    let default: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_values && !argument.is_hide_default_value_set() && !default.is_empty() {
        help.push_str(&format!(" [default: {}]", default.join(" ")));
    }
    (name, help)
}

/// Rows in two columns.
fn list(rows: impl Iterator<Item = (String, String)>) -> String {
    let rows: Vec<_> = rows.collect();
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0) + 2;
    let lines = rows.iter().flat_map(|(name, help)| {
        let help = wrapped(help, WIDTH - width);
        let names = std::iter::once(name.as_str()).chain(std::iter::repeat(""));
        let lines = names.zip(help).map(|(name, help)| format!("{name:<width$}{help}"));
        lines.collect::<Vec<_>>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The lines of a text, each at most this wide unless a word is wider.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// The lines of the examples at the end of the help.
fn examples(command: &Command) -> String {
    let about = command.get_long_about().map(ToString::to_string).unwrap_or_default();
    let last = about.rsplit("\n\n").next().unwrap_or_default();
    let examples = last.strip_prefix("Examples:\n").or(last.strip_prefix("Example:\n"));
    examples.unwrap_or_default().to_owned()
}
