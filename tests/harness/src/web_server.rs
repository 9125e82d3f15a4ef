//! A web server over a directory. A test can replace each response with a faulty one.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::listener::listen;

/// A request for a file.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path without its first slash and without its query.
    pub path: String,
    /// The headers, with lower-case names.
    pub headers: HashMap<String, String>,
}

/// A response.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// The connection ends after this many bytes of the body.
    pub cut: Option<usize>,
    /// After this many bytes of the body, nothing is sent for this many seconds.
    pub stall: Option<(usize, u64)>,
    /// The body is sent in pieces of this many bytes, with a pause after each.
    pub pieces: Option<(usize, Duration)>,
}

type Fault = Box<dyn FnMut(&Request, &mut Reply) + Send>;

/// A web server over a directory, on a port of this machine.
pub struct WebServer {
    address: String,
    fault: Arc<Mutex<Fault>>,
    /// Each request, and the number of bytes of the body that was sent.
    served: Arc<Mutex<Vec<(Request, usize)>>>,
}

impl std::fmt::Debug for WebServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl WebServer {
    /// Serves a directory until the test ends.
    pub fn over(directory: &Path) -> Self {
        let fault: Arc<Mutex<Fault>> = Arc::new(Mutex::new(Box::new(|_, _| {})));
        let served = Arc::new(Mutex::new(Vec::new()));
        let (shared_fault, shared_served) = (Arc::clone(&fault), Arc::clone(&served));
        let directory = directory.to_owned();
        let address =
            listen(move |stream| serve(&stream, &directory, &shared_fault, &shared_served));
        WebServer { address: format!("http://{address}"), fault, served }
    }

    /// The address of a dataset.
    pub fn dataset(&self, name: &str) -> String {
        format!("{}/datasets/{name}/", self.address)
    }

    /// Changes every later response with `fault`.
    pub fn misbehave(&self, fault: impl FnMut(&Request, &mut Reply) + Send + 'static) {
        *self.fault.lock().unwrap() = Box::new(fault);
    }

    /// The requests since the last call, each with the number of bytes of its response body.
    pub fn served(&self) -> Vec<(Request, usize)> {
        std::mem::take(&mut *self.served.lock().unwrap())
    }
}

fn serve(
    stream: &TcpStream,
    directory: &Path,
    fault: &Mutex<Fault>,
    served: &Mutex<Vec<(Request, usize)>>,
) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let Some(Ok(first)) = lines.next() else { return Ok(()) };
    let target = first.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut headers = HashMap::new();
    for line in lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let request = Request { path, headers };
    let index =
        if request.path.ends_with('/') || request.path.is_empty() { "index.html" } else { "" };
    let mut reply = file(&directory.join(format!("{}{index}", request.path)), &request);
    (fault.lock().unwrap())(&request, &mut reply);
    let length = reply.body.len();
    let sent = reply.cut.unwrap_or(length).min(length);
    served.lock().unwrap().push((request, sent));
    let mut out = std::io::BufWriter::new(stream);
    write!(
        out,
        "HTTP/1.1 {} X\r\nContent-Length: {length}\r\nConnection: close\r\n",
        reply.status
    )?;
    for (name, value) in &reply.headers {
        write!(out, "{name}: {value}\r\n")?;
    }
    out.write_all(b"\r\n")?;
    if let Some((bytes, seconds)) = reply.stall {
        out.write_all(&reply.body[..bytes.min(sent)])?;
        out.flush()?;
        std::thread::sleep(Duration::from_secs(seconds));
        return Ok(());
    }
    if let Some((bytes, pause)) = reply.pieces {
        for piece in reply.body[..sent].chunks(bytes) {
            out.write_all(piece)?;
            out.flush()?;
            std::thread::sleep(pause);
        }
        return Ok(());
    }
    out.write_all(&reply.body[..sent])?;
    out.flush()
}

/// The response of a server with range support to a request for a file.
fn file(path: &PathBuf, request: &Request) -> Reply {
    let Ok(body) = std::fs::read(path) else {
        return Reply { status: 404, ..Reply::default() };
    };
    let from = request
        .headers
        .get("range")
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    match from {
        None => Reply { status: 200, body, ..Reply::default() },
        Some(from) if from >= body.len() => Reply { status: 416, ..Reply::default() },
        Some(from) => {
            let total = body.len();
            let range = format!("bytes {from}-{}/{total}", total - 1);
            let headers = vec![("Content-Range".to_owned(), range)];
            Reply { status: 206, headers, body: body[from..].to_vec(), ..Reply::default() }
        }
    }
}
