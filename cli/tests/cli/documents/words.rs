//! One word for one thing: what readers read uses the words of the glossary.

use super::{documents, root, sources, transcripts};

/// Words that are not used, and the word for the thing. Underscores stand for the ends of words.
const WORDS: &[(&str, &str)] = &[
    ("change log", "event file, published log"),
    ("_register_", "add, record"),
    ("_registers_", "adds, records"),
    ("_registered_", "added, recorded"),
    ("_registering_", "adding"),
    ("_interval_", "period"),
    ("_intervals_", "periods"),
    ("the record of the dataset", "metadata"),
    ("dataset's record_", "metadata"),
    ("_its record_", "metadata"),
    ("_own record_", "metadata"),
    ("has a check_", "checksum"),
    ("with its check_", "checksum"),
    ("_folder", "directory"),
    ("passed over", "skipped"),
    ("_none: ", "`None` means"),
    ("_head line_", "header"),
];

/// The words that a text may not have. Its other characters become spaces, so that words have ends.
fn unwanted(text: &str) -> Vec<&'static str> {
    let plain = format!(" {} ", text.to_lowercase().replace(['\n', '(', ')', ',', '.', ';'], " "));
    let is_in = |word: &str| plain.contains(&word.replace('_', " "));
    WORDS.iter().filter(|(word, _)| is_in(word)).map(|(_, instead)| *instead).collect()
}

/// The prose of a document, without code, addresses and what is quoted.
fn words_of(prose: &[&str]) -> String {
    let prose = prose.join("\n");
    let outside = |text: &str, mark: char| -> String {
        text.split(mark).step_by(2).collect::<Vec<_>>().join("…")
    };
    let text = outside(&prose, '`');
    // The address of a link is after its text.
    text.split("](").map(|part| part.split_once(')').map_or(part, |(_, rest)| rest)).collect()
}

#[test]
fn documents_and_help_use_one_word_for_one_thing() {
    for document in documents() {
        for paragraph in words_of(&document.prose()).split("\n\n") {
            let found = unwanted(paragraph);
            assert!(found.is_empty(), "{}: say {found:?}: {paragraph}", document.path.display());
        }
    }
    let help = std::fs::read_to_string(root().join("tests/cli/help.txt")).unwrap();
    for line in help.lines() {
        assert!(unwanted(line).is_empty(), "help.txt: say {:?}: {line}", unwanted(line));
    }
}

#[test]
fn messages_use_one_word_for_one_thing() {
    for file in sources(&root().join("src")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            // A name, such as a field of JSON, is not a message.
            let literals = line.split('"').skip(1).step_by(2).filter(|it| it.contains(' '));
            for literal in literals {
                let found = unwanted(literal);
                assert!(found.is_empty(), "{}: say {found:?}: {literal}", file.display());
            }
        }
    }
}

/// It helps nobody, and differs between systems.
#[test]
fn no_output_has_the_number_of_an_error_of_the_system() {
    for document in documents().into_iter().chain(transcripts()) {
        assert!(!document.text.contains("(os error"), "{}", document.path.display());
    }
}
