//! Guards of a registry in a file.

use crate::running::guards::{Archive, on};

on!(Some(Archive::new("accession.db", ())));
