//! Ctrl-C, and a request to end, in commands that keep what they have done so far.
//!
//! Other commands end at once: a change is made completely or not at all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{Context, Result};

/// Whether the program was asked to end.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches the first request from now on. A second one ends the program at once.
    pub fn watch() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let cannot = || "cannot watch for Ctrl-C".to_owned();
        let runtime = runtime.with_context(cannot)?;
        let flag = Arc::new(AtomicBool::new(false));
        let set = Arc::clone(&flag);
        let (caught, is_caught) = std::sync::mpsc::channel();
        let watch = move || {
            runtime.block_on(async {
                let Ok(mut requests) = Requests::new() else { return };
                let _ = caught.send(());
                requests.next().await;
                set.store(true, Ordering::Relaxed);
                requests.next().await;
                std::process::exit(130);
            });
        };
        let watching = std::thread::Builder::new().spawn(watch);
        watching.with_context(cannot)?;
        // A request that comes earlier ends the program, as it does elsewhere.
        let _ = is_caught.recv();
        Ok(Interrupt(flag))
    }

    /// Whether it was asked to end.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The signals that ask the program to end.
struct Requests {
    #[cfg(unix)]
    signals: [tokio::signal::unix::Signal; 2],
}

#[cfg(unix)]
impl Requests {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?];
        Ok(Requests { signals })
    }

    async fn next(&mut self) {
        let [interrupted, terminated] = &mut self.signals;
        tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Requests {
    fn new() -> std::io::Result<Self> {
        Ok(Requests {})
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
