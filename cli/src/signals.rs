//! The signals that the program watches.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag::{register, register_conditional_shutdown};

use super::error::{Context, Result};

/// Returns a flag that becomes true when the program is asked to end. A second request ends the program at
/// once.
pub fn watch_for_interrupt() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order, the first request does not count as the second.
        register_conditional_shutdown(signal, 130, Arc::clone(&flag))
            .and_then(|_| register(signal, Arc::clone(&flag)))
            .with_context(|| "cannot watch for Ctrl-C".to_owned())?;
    }
    Ok(flag)
}

/// Reports a file that would exceed `ulimit -f` as an error of the write. Without this, the program would end
/// without a message.
pub fn report_too_long_files() -> Result<()> {
    register(SIGXFSZ, Arc::default())
        .map(drop)
        .with_context(|| "cannot watch for files that are too long".to_owned())
}
