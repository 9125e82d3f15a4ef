//! The output of a command on its two streams, in the order of writing.
//!
//! Two pipes lose the order. One pipe for both loses which stream was written. Here each stream is a socket
//! with its own name, and both send to a third, which queues each write with the name of its sender.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// The output of a command, and its exit status.
pub struct TwoStreams {
    /// Each write: whether it is to stderr, and its bytes.
    writes: Vec<(bool, Vec<u8>)>,
    pub status: ExitStatus,
}

impl TwoStreams {
    /// Both streams, as a terminal shows them.
    pub fn both(&self) -> String {
        self.text(|_| true)
    }

    pub fn stdout(&self) -> String {
        self.text(|is_stderr| !is_stderr)
    }

    pub fn stderr(&self) -> String {
        self.text(|is_stderr| is_stderr)
    }

    fn text(&self, is_wanted: impl Fn(bool) -> bool) -> String {
        let wanted = self.writes.iter().filter(|(is_stderr, _)| is_wanted(*is_stderr));
        let bytes: Vec<u8> = wanted.flat_map(|(_, bytes)| bytes).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Runs a command to its end. The output of processes that it leaves behind is not waited for.
pub fn two_streams(command: &mut Command) -> TwoStreams {
    let sockets = harness::directory();
    let received = sockets.path().join("received");
    let receiver = UnixDatagram::bind(&received).unwrap();
    let sender = |name: &str| -> UnixDatagram {
        let sender = UnixDatagram::bind(sockets.path().join(name)).unwrap();
        sender.connect(&received).unwrap();
        sender
    };
    let end = sender("end");
    command.stdin(Stdio::null());
    command.stdout(OwnedFd::from(sender("stdout"))).stderr(OwnedFd::from(sender("stderr")));
    let mut child = command.spawn().unwrap();
    let waiting = std::thread::spawn(move || {
        let status = child.wait().unwrap();
        // This arrives after everything that the command has written.
        end.send(&[]).unwrap();
        status
    });
    let mut writes = Vec::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let (length, from) = receiver.recv_from(&mut buffer).unwrap();
        let name = from.as_pathname().and_then(Path::file_name).unwrap();
        if name == "end" {
            break;
        }
        writes.push((name == "stderr", buffer[..length].to_vec()));
    }
    TwoStreams { writes, status: waiting.join().unwrap() }
}
