//! The program under test.

/// The path of the program.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_accession")
}
