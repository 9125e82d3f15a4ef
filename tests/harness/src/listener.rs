//! A port of this machine, with a thread for each connection.

use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// Serves each connection until the test ends. Returns the address. A client that disconnects early is not an
/// error.
pub fn listen<Served>(serve: impl Fn(TcpStream) -> Served + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let serve = Arc::clone(&serve);
            std::thread::spawn(move || drop(serve(stream.unwrap())));
        }
    });
    address
}
