//! A guess whether a name without a comma is that of a person.

/// Splits a name of two or three capitalised words into the family name, which is the last of them,
/// and the given names. `None` if the name does not look like that of a person.
pub(super) fn person_in(name: &str) -> Option<(&str, &str)> {
    let words: Vec<&str> = name.split_whitespace().collect();
    let is_person = matches!(words.len(), 2 | 3)
        && words.iter().all(|word| is_capitalised(word) && !names_an_organisation(word));
    if !is_person {
        return None;
    }
    let (given, family) = name.trim().rsplit_once(char::is_whitespace)?;
    // A name that ends with an initial is an abbreviation.
    (!family.ends_with('.')).then_some((family, given))
}

/// Whether a word is written as the parts of personal names are: `Curt`, `J.`, `Jean-Luc`,
/// `O'Neil`; and not `NASA`, `of` or `2`.
fn is_capitalised(word: &str) -> bool {
    let is_initial = word.chars().count() == 2 && word.ends_with('.');
    let is_name_character =
        |character: char| character.is_alphabetic() || matches!(character, '-' | '\'' | '’');
    word.starts_with(char::is_uppercase)
        && (is_initial || word.contains(char::is_lowercase) && word.chars().all(is_name_character))
}

/// Whether a word occurs in the names of organisations rather than of people.
fn names_an_organisation(word: &str) -> bool {
    const STEMS: [&str; 26] = [
        "academ",
        "administration",
        "agency",
        "archive",
        "association",
        "bureau",
        "cent",
        "college",
        "commission",
        "committee",
        "consorti",
        "council",
        "department",
        "facility",
        "foundation",
        "group",
        "institut",
        "laborator",
        "library",
        "museum",
        "network",
        "observator",
        "office",
        "project",
        "service",
        "universit",
    ];
    const WORDS: [&str; 12] = [
        "data", "earth", "lab", "ltd", "ministry", "mission", "national", "ocean", "science",
        "society", "survey", "team",
    ];
    let word = word.to_lowercase();
    STEMS.iter().any(|stem| word.starts_with(stem)) || WORDS.contains(&word.as_str())
}
