//! TLS in front of a server on this machine, with certificates of a test's authority.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::authority::{Authority, Certified, Validity};
use crate::forwarding::forward;
use crate::listener::listen;

impl Authority {
    /// The TLS configuration of a server for this host.
    pub fn config(&self, host: &str, validity: Validity) -> ServerConfig {
        let Certified { certificate, key } = self.certify(host, validity);
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }

    /// Starts a TLS server for a host, with a certificate, in front of `HOST:PORT`. Returns its address.
    pub fn front(&self, upstream: &str, host: &str, validity: Validity) -> String {
        let config = Arc::new(self.config(host, validity));
        let upstream = upstream.to_owned();
        // A client that rejects the certificate is not an error here.
        listen(move |stream| pass(stream, Arc::clone(&config), &upstream))
    }
}

fn pass(stream: TcpStream, config: Arc<ServerConfig>, upstream: &str) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut client = StreamOwned::new(connection, stream);
    if let Some(forwarded) = forward(&mut client, upstream)? {
        client.write_all(&forwarded.response)?;
    }
    client.conn.send_close_notify();
    client.flush()?;
    // Wait until the client closes its side: otherwise data that it has not read yet could be lost.
    BufReader::new(&client.sock).skip_until(b'\n').map(drop)
}
