//! The peak memory of a process.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Runs a command to its end, and discards its stdout. Returns its output, and its peak memory in kB.
pub fn peak_memory(command: &mut Command) -> (Output, u64) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The peak never falls, so its value shortly before the end is close to the final one.
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let mark = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok());
        peak = mark.unwrap_or(peak);
        std::thread::sleep(Duration::from_micros(200));
    }
    (child.wait_with_output().unwrap(), peak)
}
