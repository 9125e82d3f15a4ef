//! A proxy that connects clients to servers (`CONNECT`), as organisations have it.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A request to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The host and the port.
    pub target: String,
    /// The header with the credentials.
    pub credentials: Option<String>,
}

/// A proxy that connects to one server, whichever is asked for.
pub struct ConnectProxy {
    pub address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl ConnectProxy {
    /// A proxy that connects to `HOST:PORT`, and that may need credentials.
    pub fn to(upstream: &str, credentials: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let proxy = ConnectProxy { address, asked: Arc::clone(&asked) };
        let (upstream, credentials) = (upstream.to_owned(), credentials.map(str::to_owned));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (asked, upstream) = (Arc::clone(&asked), upstream.clone());
                let credentials = credentials.clone();
                std::thread::spawn(move || {
                    // A client that leaves early is not an error here.
                    let _ = connect(&stream.unwrap(), &asked, &upstream, credentials);
                });
            }
        });
        proxy
    }

    /// What was asked for since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

fn connect(
    mut client: &TcpStream,
    asked: &Mutex<Vec<Asked>>,
    upstream: &str,
    needed: Option<String>,
) -> io::Result<()> {
    let mut lines = BufReader::new(client).lines();
    let first = lines.next().unwrap_or_else(|| Ok(String::new()))?;
    let mut credentials = None;
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(": ")
            && name.eq_ignore_ascii_case("proxy-authorization")
        {
            credentials = Some(value.to_owned());
        }
    }
    let target = first.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let Some(target) = target else {
        return client.write_all(b"HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n");
    };
    let is_refused = needed.is_some() && credentials != needed;
    asked.lock().unwrap().push(Asked { target: target.to_owned(), credentials });
    if is_refused {
        return client.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    }
    let server = TcpStream::connect(upstream)?;
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    std::thread::scope(|scope| {
        scope.spawn(|| copy(client, &server));
        copy(&server, client)
    })
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) -> io::Result<()> {
    io::copy(&mut from, &mut to)?;
    to.shutdown(Shutdown::Write)
}
