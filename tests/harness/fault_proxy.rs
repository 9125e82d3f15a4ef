//! A proxy in front of a server that breaks connections and changes responses, for tests.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::forwarding::{Forwarded, forward};

/// A response that is about to be passed on.
pub struct Reply {
    /// The target of the request.
    pub path: String,
    /// The head and the body.
    pub bytes: Vec<u8>,
    /// The connection is closed after so many bytes.
    pub cut: Option<usize>,
    /// Nothing is sent for a time after so many bytes, and then the connection is closed.
    pub stall: Option<(usize, Duration)>,
}

impl Reply {
    /// Where the body begins.
    pub fn body_at(&self) -> usize {
        self.bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4)
    }

    /// Replaces all of it.
    pub fn replace(&mut self, head: &str, body: &[u8]) {
        self.bytes = format!(
            "HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        self.bytes.extend(body);
    }
}

type Fault = Box<dyn FnMut(&mut Reply) + Send>;

/// A proxy in front of a server of this machine, a connection for each request.
pub struct FaultProxy {
    pub address: String,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: String,
    fault: Mutex<Fault>,
    is_uncompressed: AtomicBool,
    /// The path of each response, and the bytes that were passed on, head included.
    served: Mutex<Vec<(String, usize)>>,
}

impl FaultProxy {
    /// A proxy in front of `HOST:PORT`.
    pub fn before(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            fault: Mutex::new(Box::new(|_| {})),
            is_uncompressed: AtomicBool::new(false),
            served: Mutex::default(),
        });
        let proxy = FaultProxy { address, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    // A client that leaves early is not an error here.
                    let _ = shared.pass(&stream.unwrap());
                });
            }
        });
        proxy
    }

    /// Changes each response from now on.
    pub fn misbehave(&self, fault: impl FnMut(&mut Reply) + Send + 'static) {
        *self.shared.fault.lock().unwrap() = Box::new(fault);
    }

    /// From now on, the server is asked for what is not compressed.
    pub fn without_compression(&self) {
        self.shared.is_uncompressed.store(true, Ordering::Relaxed);
    }

    /// The responses since the last call, and their bytes.
    pub fn served(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.shared.served.lock().unwrap())
    }
}

impl Shared {
    fn pass(&self, mut client: &TcpStream) -> std::io::Result<()> {
        let without: &[&str] = match self.is_uncompressed.load(Ordering::Relaxed) {
            true => &["accept-encoding"],
            false => &[],
        };
        let Some(Forwarded { path, response }) = forward(client, &self.upstream, without)? else {
            return Ok(());
        };
        let mut reply = Reply { path, bytes: response, cut: None, stall: None };
        (self.fault.lock().unwrap())(&mut reply);
        let stall = reply.stall.map(|(bytes, _)| bytes);
        let most = reply.cut.or(stall).unwrap_or(reply.bytes.len()).min(reply.bytes.len());
        self.served.lock().unwrap().push((reply.path, most));
        client.write_all(&reply.bytes[..most])?;
        if let Some((_, time)) = reply.stall {
            std::thread::sleep(time);
        }
        client.shutdown(Shutdown::Both)
    }
}
