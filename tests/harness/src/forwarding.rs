//! Forwards a request to a server on this machine, for proxies between a client and that server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request that was passed on, and the response to it.
#[derive(Debug)]
pub struct Forwarded {
    /// The target of the request.
    pub path: String,
    /// The head and the body of the response.
    pub response: Vec<u8>,
}

/// Reads a request, forwards it to `HOST:PORT`, and reads the whole response. `None` means that the client sent
/// no request.
pub fn forward(client: impl Read, upstream: &str) -> io::Result<Option<Forwarded>> {
    let mut request = String::new();
    let mut lines = BufReader::new(client);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        let name = line.split(':').next().unwrap_or_default();
        if !name.eq_ignore_ascii_case("connection") {
            request.push_str(&line);
        }
    }
    request.push_str("connection: close\r\n\r\n");
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    server.read_to_end(&mut response)?;
    Ok(Some(Forwarded { path, response }))
}
