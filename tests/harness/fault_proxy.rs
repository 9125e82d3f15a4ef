//! A proxy in front of a server that breaks connections, for tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What is done to the response to a request: its path is passed, and the number of bytes after which
/// the connection is closed is returned. `None` means that all of it is passed on.
type Cut = Box<dyn FnMut(&str) -> Option<usize> + Send>;

/// A proxy in front of a server of this machine, a connection for each request.
pub struct FaultProxy {
    pub address: String,
    cut: Arc<Mutex<Cut>>,
    /// The path of each response, and the bytes that were passed on, head included.
    served: Arc<Mutex<Vec<(String, usize)>>>,
}

impl FaultProxy {
    /// A proxy in front of `HOST:PORT`.
    pub fn before(upstream: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let cut: Arc<Mutex<Cut>> = Arc::new(Mutex::new(Box::new(|_| None)));
        let served = Arc::new(Mutex::new(Vec::new()));
        let (upstream, shared) = (upstream.to_owned(), (Arc::clone(&cut), Arc::clone(&served)));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (upstream, (cut, served)) = (upstream.clone(), shared.clone());
                std::thread::spawn(move || {
                    // A client that leaves early is not an error here.
                    let _ = pass(&stream.unwrap(), &upstream, &cut, &served);
                });
            }
        });
        FaultProxy { address, cut, served }
    }

    /// Cuts responses from now on.
    pub fn cut(&self, cut: impl FnMut(&str) -> Option<usize> + Send + 'static) {
        *self.cut.lock().unwrap() = Box::new(cut);
    }

    /// The responses since the last call, and their bytes.
    pub fn served(&self) -> Vec<(String, usize)> {
        std::mem::take(&mut *self.served.lock().unwrap())
    }
}

fn pass(
    client: &TcpStream,
    upstream: &str,
    cut: &Mutex<Cut>,
    served: &Mutex<Vec<(String, usize)>>,
) -> std::io::Result<()> {
    let mut request = String::new();
    let mut lines = BufReader::new(client);
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if line == "\r\n" {
            break;
        }
        if !line.to_ascii_lowercase().starts_with("connection:") {
            request.push_str(&line);
        }
    }
    request.push_str("connection: close\r\n\r\n");
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut server = TcpStream::connect(upstream)?;
    server.write_all(request.as_bytes())?;
    let mut response = Vec::new();
    server.read_to_end(&mut response)?;
    let most = (cut.lock().unwrap())(&path).unwrap_or(response.len()).min(response.len());
    served.lock().unwrap().push((path, most));
    let mut client = client;
    client.write_all(&response[..most])?;
    client.shutdown(Shutdown::Both)
}
