//! The `accession` binary.

fn main() {}
