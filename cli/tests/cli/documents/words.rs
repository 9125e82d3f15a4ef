//! The messages that the documents show.

use super::{documents, transcripts};

/// The number is useless, and differs between systems.
#[test]
fn no_output_has_the_number_of_an_error_of_the_system() {
    for document in documents().into_iter().chain(transcripts()) {
        assert!(!document.text.contains("(os error"), "{}", document.path.display());
    }
}
