//! TLS in front of a server of this machine, with certificates of an authority of the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::forwarding::forward;

/// An authority that issues certificates, and that no system trusts.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Now,
    Past,
    Future,
}

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its certificate, as `--ca-file` reads it.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// What a server of a host needs.
    pub fn certify(&self, host: &str, validity: Validity) -> ServerConfig {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let (from, to) = match validity {
            Validity::Now => (2000, 4000),
            Validity::Past => (2000, 2001),
            Validity::Future => (3999, 4000),
        };
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap()
    }

    /// Puts a server for a host, with a certificate, in front of `HOST:PORT`. Returns its address.
    pub fn front(&self, upstream: &str, host: &str, validity: Validity) -> String {
        let config = Arc::new(self.certify(host, validity));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let upstream = upstream.to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (config, upstream) = (Arc::clone(&config), upstream.clone());
                std::thread::spawn(move || {
                    // A client that refuses the certificate is not an error here.
                    let _ = pass(stream.unwrap(), config, &upstream);
                });
            }
        });
        address
    }
}

fn pass(stream: TcpStream, config: Arc<ServerConfig>, upstream: &str) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut client = StreamOwned::new(connection, stream);
    if let Some(forwarded) = forward(&mut client, upstream, &[])? {
        client.write_all(&forwarded.response)?;
    }
    client.conn.send_close_notify();
    client.flush()?;
    // The client closes its side: else what it has not read yet could be lost.
    BufReader::new(&client.sock).skip_until(b'\n').map(drop)
}
