//! A private server that also listens on a port, since TLS needs one.

use std::net::TcpListener;

use crate::server::{Own, Server, url_of_socket};

impl Server {
    /// Starts a private server that also listens on a port of 127.0.0.1, and returns the port.
    pub fn start_on_a_port(settings: &[&str]) -> Option<(Self, u16)> {
        let mut own = Own::initialised(&[])?;
        // Another process may take the port after it was found free and before the server listens.
        for attempt in 1..=5 {
            let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
            let (port_setting, address) = (format!("port={port}"), "listen_addresses=127.0.0.1");
            own.set(&[settings, &[&port_setting, address]].concat());
            let arguments = own.start_arguments();
            let started = own.try_run("pg_ctl", &arguments.each_ref().map(String::as_str));
            if started.is_ok() || attempt == 5 {
                started.unwrap();
                let url = format!("{}:{port}", url_of_socket(own.directory.path()));
                return Some((Server { url, own: Some(own), _shared: None }, port));
            }
        }
        None
    }
}
