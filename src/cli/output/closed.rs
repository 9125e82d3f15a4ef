//! Whether stdout was closed when the program was started, as `accession … >&-` does.
//!
//! Rust's runtime opens `/dev/null` in place of a standard stream that is closed, before `main`, so
//! that no other file gets its number. After that, a closed stdout looks like one that was redirected
//! to `/dev/null` on purpose, and output to it is lost without an error. The check is therefore made
//! earlier, by a constructor that runs before the runtime.

use std::sync::atomic::{AtomicBool, Ordering};

static STDOUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Makes one system call and stores a flag; it uses nothing that the runtime has to set up.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn note_closed_stdout() {
    let flags = rustix::io::fcntl_getfd(rustix::stdio::stdout());
    STDOUT_WAS_CLOSED.store(flags == Err(rustix::io::Errno::BADF), Ordering::Relaxed);
}

/// Returns whether stdout was closed when the program was started; always false where that cannot be
/// found out, which is outside Unix.
pub fn stdout_was_closed() -> bool {
    STDOUT_WAS_CLOSED.load(Ordering::Relaxed)
}
