//! What a result says of checksums whose algorithm follows only from their length.

use accession::listing::Findings;
use serde_json::{Value, json};

use super::output::{counted, in_words};

/// The algorithms, each with the number of files, as JSON.
pub fn by_length(findings: &Findings) -> Vec<Value> {
    let guessed = findings.guessed_algorithms();
    guessed
        .map(|(algorithm, files)| json!({ "algorithm": algorithm.as_str(), "files": files }))
        .collect()
}

/// One of them in words.
pub fn in_a_line(guessed: &Value) -> String {
    let (files, algorithm) = (&guessed["files"], in_words(&guessed["algorithm"]));
    let files = counted(files, "file");
    format!("{files} described ({algorithm}, by the length of the checksums)")
}
