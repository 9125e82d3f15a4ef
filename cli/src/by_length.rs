//! Reports algorithms that were guessed from the length of checksums.

use accession::listing::Findings;
use serde_json::{Value, json};

use super::output::{counted, in_words};

/// The guessed algorithms, each with its number of files, as JSON.
pub fn by_length(findings: &Findings) -> Vec<Value> {
    let guessed = findings.guessed_algorithms();
    guessed
        .map(|(algorithm, files)| json!({ "algorithm": algorithm.as_str(), "files": files }))
        .collect()
}

/// One guessed algorithm in words.
pub fn in_a_line(guessed: &Value) -> String {
    let (files, algorithm) = (&guessed["files"], in_words(&guessed["algorithm"]));
    let files = counted(files, "file");
    format!("{files} described ({algorithm}, by the length of the checksums)")
}
