//! Placeholder until the program is there.
