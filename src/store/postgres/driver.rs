//! Runs the asynchronous client on the calling thread while that thread waits.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::panic::resume_unwind;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio::task::{block_in_place, yield_now};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Endpoint, Tls};
use super::error::of_connecting;
use crate::store::{Error, Result};

/// A response of the server, or the driver's error.
pub(super) type Answered<T> = std::result::Result<T, tokio_postgres::Error>;

/// A client, and the socket that it uses.
pub(super) struct Driver {
    /// `None`: the driver is being dropped.
    client: Option<Client>,
    /// Sends the client's requests, and receives the responses. `None`: the connection has ended.
    socket: RefCell<Option<Socket>>,
    /// Whether the server has sent a warning.
    has_warned: Arc<AtomicBool>,
    /// `None`: the driver is being dropped.
    runtime: Option<Runtime>,
}

type Socket = Pin<Box<dyn Future<Output = Answered<()>> + Send>>;

impl Driver {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreachable`], with what the server or the network reported.
    pub fn connect(address: &Endpoint) -> Result<Self> {
        let connector = connector(&address.tls)?;
        let runtime = Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
        let connected = block_on(&runtime, address.config.connect(connector))?;
        let (client, mut connection) = connected.map_err(|error| of_connecting(&error))?;
        let has_warned = Arc::<AtomicBool>::default();
        let warned = Arc::clone(&has_warned);
        let socket = poll_fn(move |context| {
            while let Some(message) = ready!(connection.poll_message(context)).transpose()? {
                if let AsyncMessage::Notice(notice) = message
                    && notice.parsed_severity() == Some(Severity::Warning)
                {
                    warned.store(true, Ordering::Relaxed);
                }
            }
            Poll::Ready(Ok(()))
        });
        let (client, socket) = (Some(client), RefCell::new(Some(Box::pin(socket) as Socket)));
        Ok(Driver { client, socket, has_warned, runtime: Some(runtime) })
    }

    /// The client. Its requests are sent and answered only during [`Driver::wait`].
    pub fn client(&self) -> &Client {
        self.client.as_ref().expect("it is there until the driver is dropped")
    }

    /// Whether the server has sent a warning since the previous call.
    pub fn take_warned(&self) -> bool {
        self.has_warned.swap(false, Ordering::Relaxed)
    }

    /// Whether the connection is known to be lost.
    pub fn is_closed(&self) -> bool {
        // Lets the socket first process what has arrived.
        let noticed = async {
            yield_now().await;
            Ok(())
        };
        self.wait(noticed).is_err() || self.client().is_closed()
    }

    /// Waits for a response to a request of the client.
    ///
    /// # Errors
    ///
    /// The error that the server reported, or the reason why the connection was lost.
    pub fn wait<T: Send>(&self, answer: impl Future<Output = Answered<T>> + Send) -> Result<T> {
        let socket = &mut *self.socket.borrow_mut();
        let mut answer = pin!(answer);
        let runtime = self.runtime.as_ref().expect("it is there until the driver is dropped");
        let answered = block_on(
            runtime,
            poll_fn(|context| {
                if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                    return Poll::Ready(answer);
                }
                let Some(open) = socket else { return Poll::Pending };
                let ended = ready!(open.as_mut().poll(context));
                *socket = None;
                // The response may have arrived last. If the connection was lost, only the socket knows the
                // reason.
                match (answer.as_mut().poll(context), ended) {
                    (Poll::Ready(Err(error)), Err(lost)) if error.is_closed() => {
                        Poll::Ready(Err(lost))
                    }
                    (polled, _) => polled,
                }
            }),
        )?;
        answered.map_err(|error| (&error).into())
    }
}

impl Driver {
    /// Tells the server that the connection ends.
    ///
    /// # Errors
    ///
    /// The error that the connection was lost before.
    pub fn close(mut self) -> Result<()> {
        let Some((runtime, socket)) = self.take() else { return Ok(()) };
        let ended = block_on(&runtime, socket);
        // The runtime has no tasks. If it waited for tasks, it would panic in an asynchronous program.
        runtime.shutdown_background();
        ended?.map_err(|error| (&error).into())
    }

    /// Takes the parts that end the connection, unless it has ended. The client cannot be used afterwards.
    fn take(&mut self) -> Option<(Runtime, Socket)> {
        drop(self.client.take());
        let (runtime, socket) = (self.runtime.take()?, self.socket.take());
        match socket {
            Some(socket) => Some((runtime, socket)),
            None => {
                runtime.shutdown_background();
                None
            }
        }
    }
}

impl Drop for Driver {
    /// Tells the server that the connection ends. In an asynchronous program, another thread does this, since
    /// its tasks must not wait, and a `LocalSet` does not allow it.
    fn drop(&mut self) {
        let Some((runtime, socket)) = self.take() else { return };
        let end = move || {
            // The connection ends even if the server does not get this message.
            let _ = runtime.block_on(socket);
        };
        match Handle::try_current() {
            Err(_) => end(),
            // If no thread can be created, the operating system ends the connection.
            Ok(_) => drop(std::thread::Builder::new().spawn(end)),
        }
    }
}

/// Waits on the calling thread. If that thread runs another asynchronous program, its other tasks are moved to
/// another thread, or a new thread waits.
///
/// # Errors
///
/// [`ErrorKind::Unreachable`]: no thread can be created.
fn block_on<T: Send>(runtime: &Runtime, future: impl Future<Output = T> + Send) -> Result<T> {
    let around = Handle::try_current().map(|around| around.runtime_flavor());
    if !matches!(around, Ok(RuntimeFlavor::CurrentThread)) {
        return Ok(block_in_place(|| runtime.block_on(future)));
    }
    std::thread::scope(|scope| {
        let waiting = std::thread::Builder::new();
        let waiting =
            waiting.spawn_scoped(scope, || runtime.block_on(future)).map_err(no_thread)?;
        Ok(waiting.join().unwrap_or_else(|panicked| resume_unwind(panicked)))
    })
}

fn no_thread(error: io::Error) -> Error {
    Error::unreachable(format!("no thread can wait for the network: {}", Error::chain_of(&error)))
}

/// The TLS connector for an address.
///
/// # Errors
///
/// [`ErrorKind::Io`]: a file of certificates cannot be read. [`ErrorKind::Unreachable`]: it contains no usable
/// certificate.
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

/// Accepts every certificate: the connection is encrypted, but may be to any server. This is the meaning of
/// libpq's `sslmode=require`. Verifying the signature of the handshake would prove no more, and servers can
/// make certificates for themselves in a version that cannot be read for that.
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
