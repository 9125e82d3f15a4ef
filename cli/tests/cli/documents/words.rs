//! What the documents show of messages.

use super::{documents, transcripts};

/// It helps nobody, and differs between systems.
#[test]
fn no_output_has_the_number_of_an_error_of_the_system() {
    for document in documents().into_iter().chain(transcripts()) {
        assert!(!document.text.contains("(os error"), "{}", document.path.display());
    }
}
