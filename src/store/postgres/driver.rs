//! Connects to the server. One thread of the process sends and receives for all connections; whoever waits
//! for an answer waits on a thread of its own, which may be that of another asynchronous program.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{ServerAddress, Tls};
use super::error::of_connecting;
use crate::store::{Error, Result};

/// What the server answers, or why it cannot.
pub(super) type Answered<T> = std::result::Result<T, tokio_postgres::Error>;

/// A client and its connection. They are dropped in this order.
pub(super) struct Driver {
    client: Client,
    state: Arc<ConnectionState>,
    _ending: Ending,
}

/// The task of a connection, which ends once the client is dropped and the server knows it.
struct Ending(JoinHandle<()>);

impl Drop for Ending {
    /// Else the process could end first.
    fn drop(&mut self) {
        // Nobody needs to know whether the server heard it.
        let _ = block_on(&mut self.0);
    }
}

/// What is known of a connection.
#[derive(Default)]
struct ConnectionState {
    /// Held while something is queued, and while what is queued is sent: what is queued together is sent
    /// together, and not a message at a time.
    queue: Mutex<()>,
    /// Whether the server has sent a warning.
    has_warned: AtomicBool,
    /// Why it was lost. The client knows only that it was.
    lost: OnceLock<tokio_postgres::Error>,
}

impl Driver {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreachable`], with what the server or the
    /// network reported.
    pub fn connect(address: &ServerAddress) -> Result<Self> {
        let (config, connector) = (address.config.clone(), connector(&address.tls)?);
        let runtime = runtime()?;
        let connecting = runtime.spawn(async move { config.connect(connector).await });
        let connected = block_on(connecting).map_err(Error::unreachable)?;
        let (client, mut connection) = connected.map_err(|error| of_connecting(&error))?;
        let state = Arc::<ConnectionState>::default();
        let noted = Arc::clone(&state);
        let task = runtime.spawn(async move {
            let mut next = poll_fn(|context| {
                let _whole = noted.queue.lock();
                connection.poll_message(context)
            });
            while let Some(message) = (&mut next).await {
                match message {
                    Ok(AsyncMessage::Notice(notice))
                        if notice.parsed_severity() == Some(Severity::Warning) =>
                    {
                        noted.has_warned.store(true, Ordering::Relaxed);
                    }
                    Ok(_) => {}
                    // Set before the connection is dropped, at which the client fails.
                    Err(error) => return drop(noted.lost.set(error)),
                }
            }
        });
        Ok(Driver { client, state, _ending: Ending(task) })
    }

    /// The client, of which [`Driver::wait`] waits for what it is asked.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the server has sent a warning since this was asked before.
    pub fn take_warned(&self) -> bool {
        self.state.has_warned.swap(false, Ordering::Relaxed)
    }

    /// Whether the connection is known to be lost.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Waits for what is asked of the client.
    ///
    /// # Errors
    ///
    /// What the server reported, or why the connection was lost.
    pub fn wait<T>(&self, answer: impl Future<Output = Answered<T>>) -> Result<T> {
        let mut answer = pin!(answer);
        let queued = poll_fn(|context| {
            let _whole = self.state.queue.lock();
            answer.as_mut().poll(context)
        });
        block_on(queued).map_err(|error| match self.state.lost.get() {
            Some(lost) if error.is_closed() => lost.into(),
            _ => (&error).into(),
        })
    }
}

/// The thread that sends and receives, which is started with the first connection.
///
/// # Errors
///
/// [`ErrorKind::Unreachable`]: there can be no further thread.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_name("accession-postgres").enable_all().build()
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|error| {
        Error::unreachable(format!(
            "no thread can wait for the network: {}",
            Error::chain_of(error)
        ))
    })
}

/// Wakes the thread that waits.
struct Waiting(Thread);

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for what the thread of the runtime makes ready. The runtime's own function panics where the caller
/// is part of an asynchronous program.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Arc::new(Waiting(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// The connector for an address.
///
/// # Errors
///
/// [`ErrorKind::Io`]: a file of certificates cannot be read. [`ErrorKind::Unreachable`]: it has none that
/// can be used.
pub(super) fn connector(tls: &Tls) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .dangerous()
        .with_custom_certificate_verifier(verifier(tls, &provider)?);
    let config = match &tls.client {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unread(key, error))?;
            builder.with_client_auth_cert(certificates(certificate)?, key_der).map_err(unusable)?
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

fn verifier(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
    if !tls.is_verified {
        return Ok(Arc::new(Unverified { provider: Arc::clone(provider) }));
    }
    let mut roots = RootCertStore::empty();
    match &tls.roots {
        Some(file) => {
            for certificate in certificates(file)? {
                roots.add(certificate).map_err(unusable)?;
            }
        }
        None => {
            let found = rustls_native_certs::load_native_certs();
            roots.add_parsable_certificates(found.certs);
        }
    }
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(unusable)?;
    Ok(verifier)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect)
        .map_err(|error| unread(file, error))
}

fn unread(file: &Path, error: rustls::pki_types::pem::Error) -> Error {
    Error::cannot("read", file, io::Error::other(error)).of_store()
}

fn unusable(error: impl std::fmt::Display) -> Error {
    Error::unreachable(format!("TLS cannot be used: {error}"))
}

/// Accepts every certificate: the connection is encrypted, but not to anyone in particular. This is
/// what libpq's `sslmode=require` means. The signature of the handshake would prove no more, and
/// certificates that servers make for themselves can be of a version that cannot be read for it.
#[derive(Debug)]
struct Unverified {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
