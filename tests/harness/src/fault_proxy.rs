//! A proxy in front of a server that changes responses, for tests.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use crate::forwarding::{Forwarded, forward};
use crate::listener::listen;

/// A response that is about to be passed on.
#[derive(Debug)]
pub struct Reply {
    /// The target of the request.
    pub path: String,
    /// The head and the body.
    pub bytes: Vec<u8>,
}

impl Reply {
    /// Replaces the whole response.
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

/// A proxy in front of a server on this machine. It opens a connection for each request.
pub struct FaultProxy {
    pub address: String,
    shared: Arc<Shared>,
}

impl std::fmt::Debug for FaultProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FaultProxy").field("address", &self.address).finish_non_exhaustive()
    }
}

struct Shared {
    upstream: String,
    fault: Mutex<Fault>,
    /// The path of each response, and the number of bytes that were passed on, including the head.
    served: Mutex<Vec<(String, usize)>>,
}

impl FaultProxy {
    /// Starts a proxy in front of `HOST:PORT`.
    pub fn before(upstream: &str) -> Self {
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            fault: Mutex::new(Box::new(|_| {})),
            served: Mutex::default(),
        });
        let passing = Arc::clone(&shared);
        FaultProxy { address: listen(move |stream| passing.pass(&stream)), shared }
    }

    /// Changes each later response with `fault`.
    pub fn misbehave(&self, fault: impl FnMut(&mut Reply) + Send + 'static) {
        *self.shared.fault.lock().unwrap() = Box::new(fault);
    }

    /// The paths of the responses since the last call, each with its number of bytes.
    pub fn served(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.shared.served.lock().unwrap())
    }
}

impl Shared {
    fn pass(&self, mut client: &TcpStream) -> std::io::Result<()> {
        let Some(Forwarded { path, response }) = forward(client, &self.upstream)? else {
            return Ok(());
        };
        let mut reply = Reply { path, bytes: response };
        (self.fault.lock().unwrap())(&mut reply);
        self.served.lock().unwrap().push((reply.path, reply.bytes.len()));
        client.write_all(&reply.bytes)?;
        client.shutdown(Shutdown::Both)
    }
}
