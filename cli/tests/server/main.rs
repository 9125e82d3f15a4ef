//! `accession serve` over real sockets, mirrors of it, and other commands on its registry.

#![expect(clippy::unwrap_used, reason = "tests fail by panic")]
#![expect(clippy::print_stdout, reason = "costs are reported")]

#[path = "../running"]
mod running {
    pub mod program;
    pub mod serving;
}

#[path = "../../../server/tests/server/site.rs"]
#[expect(dead_code, reason = "the tests of the router use the rest")]
mod site;

mod busy_primary;
mod checksums;
mod documented;
mod encrypted;
mod kept;
mod mirror_world;
mod mirrors;
mod restored_primary;
mod sockets;
mod stalled;
mod stalled_disk;
mod standards;
mod temporary_directory;
