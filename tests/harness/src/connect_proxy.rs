//! An HTTP proxy that connects clients to servers (`CONNECT`), as organisations run it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::listener::listen;

/// A `CONNECT` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The host and the port.
    pub target: String,
    /// The header with the credentials.
    pub credentials: Option<String>,
}

/// A proxy that connects every client to the same server, whatever target it requests.
#[derive(Debug)]
pub struct ConnectProxy {
    pub address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ConnectProxy {
    /// Starts a proxy that connects to `HOST:PORT`, and that requires credentials if `credentials` is given.
    pub fn to(upstream: &str, credentials: Option<&str>) -> Self {
        ConnectProxy::start(upstream, credentials, None)
    }

    /// Starts a proxy that is itself reached over TLS.
    pub fn over_tls(upstream: &str, config: ServerConfig) -> Self {
        ConnectProxy::start(upstream, None, Some(Arc::new(config)))
    }

    fn start(upstream: &str, credentials: Option<&str>, config: Option<Arc<ServerConfig>>) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let (upstream, needed) = (upstream.to_owned(), credentials.map(str::to_owned));
        let address = listen(move |stream| {
            stream.set_read_timeout(Some(POLL)).unwrap();
            let needed = needed.as_deref();
            match &config {
                None => connect(stream, &noted, &upstream, needed),
                Some(config) => {
                    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
                    connect(StreamOwned::new(connection, stream), &noted, &upstream, needed)
                }
            }
        });
        ConnectProxy { address, asked }
    }

    /// The requests since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

/// The time to wait for bytes of one side before trying the other.
const POLL: Duration = Duration::from_millis(1);

fn connect(
    mut client: impl Read + Write,
    asked: &Mutex<Vec<Asked>>,
    upstream: &str,
    needed: Option<&str>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match available(client.read(&mut byte))? {
            Some(0) => return Ok(()),
            read => head.extend(read.map(|_| byte[0])),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut credentials = None;
    for line in head.lines() {
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("proxy-authorization")
        {
            credentials = Some(value.to_owned());
        }
    }
    let target = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let Some(target) = target else {
        client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n")?;
        return client.flush();
    };
    let is_refused = needed.is_some() && credentials.as_deref() != needed;
    asked.lock().unwrap().push(Asked { target: target.to_owned(), credentials });
    if is_refused {
        client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")?;
        return client.flush();
    }
    let mut server = TcpStream::connect(upstream)?;
    server.set_read_timeout(Some(POLL))?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    client.flush()?;
    let mut buffer = [0; 1 << 14];
    loop {
        match available(client.read(&mut buffer))? {
            Some(0) => return Ok(()),
            read => server.write_all(&buffer[..read.unwrap_or(0)])?,
        }
        match available(server.read(&mut buffer))? {
            Some(0) => return Ok(()),
            read => client.write_all(&buffer[..read.unwrap_or(0)])?,
        }
        client.flush()?;
    }
}

/// The number of bytes read. `None` means that nothing has arrived yet.
fn available(read: io::Result<usize>) -> io::Result<Option<usize>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
