//! Runs the asynchronous client on the calling thread, while something is waited for.

use std::io;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, ready};
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, Tls};
use super::error::of_connecting;
use crate::store::{Error, Result, Watch};

/// What the server answers, or why it cannot.
pub(super) type Answer<T> = std::result::Result<T, tokio_postgres::Error>;

/// How often it is asked whether to stop.
const TICK: Duration = Duration::from_millis(100);

/// A client, and the socket that it uses.
pub(super) struct Driver {
    runtime: Runtime,
    client: Option<Client>,
    /// Sends what the client asks, and receives the answers. `None` means that the connection has
    /// ended.
    socket: Option<Socket>,
    /// Whether the server has sent a warning.
    warned: Arc<AtomicBool>,
}

type Socket = Pin<Box<dyn Future<Output = Answer<()>> + Send>>;

impl Driver {
    /// Connects to the server.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unreachable`], with what the server or the
    /// network reported.
    pub fn connect(address: &Address) -> Result<Self> {
        let connector = connector(&address.tls)?;
        let unreachable = |error: std::io::Error| {
            let cause = Error::chain_of(&error);
            Error::unreachable(format!("no thread can wait for the network: {cause}"))
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(unreachable)?;
        let connected = runtime.block_on(address.config.connect(connector));
        let (client, mut connection) = connected.map_err(|error| of_connecting(&error))?;
        let warned = Arc::<AtomicBool>::default();
        let warns = Arc::clone(&warned);
        let socket = std::future::poll_fn(move |context| {
            loop {
                match ready!(connection.poll_message(context)).transpose()? {
                    Some(AsyncMessage::Notice(notice))
                        if notice.parsed_severity() == Some(Severity::Warning) =>
                    {
                        warns.store(true, Ordering::Relaxed);
                    }
                    Some(_) => {}
                    None => return Poll::Ready(Ok(())),
                }
            }
        });
        Ok(Driver { runtime, client: Some(client), socket: Some(Box::pin(socket)), warned })
    }

    /// Whether the server has sent a warning since this was asked before.
    pub fn take_warned(&self) -> bool {
        self.warned.swap(false, Ordering::Relaxed)
    }

    /// Whether the connection is known to be lost.
    pub fn is_closed(&self) -> bool {
        self.client.as_ref().is_none_or(Client::is_closed)
    }

    /// Waits for what is asked of the client. `None` means that `watch` said to stop meanwhile: the
    /// server has not answered yet.
    ///
    /// # Errors
    ///
    /// What the server reported, or why the connection was lost.
    pub fn wait<T>(
        &mut self,
        watch: Option<&Watch>,
        ask: impl AsyncFnOnce(&Client) -> Answer<T>,
    ) -> Option<Answer<T>> {
        let Driver { runtime, client, socket, .. } = self;
        let _entered = runtime.enter();
        let mut watched = watch.map(|watch| (watch, tokio::time::interval(TICK)));
        let client = client.as_ref().expect("the client is there until the driver is dropped");
        let mut answer = pin!(ask(client));
        runtime.block_on(std::future::poll_fn(|context| {
            // The reason of a lost connection comes from the socket: the client knows only that it
            // was closed.
            match socket.as_mut().map(|socket| socket.as_mut().poll(context)) {
                Some(Poll::Ready(ended)) => {
                    *socket = None;
                    ended?;
                }
                Some(Poll::Pending) | None => {}
            }
            if let Poll::Ready(answer) = answer.as_mut().poll(context) {
                return Poll::Ready(Some(answer));
            }
            if let Some((watch, ticks)) = &mut watched {
                while ticks.poll_tick(context).is_ready() {
                    if watch() {
                        return Poll::Ready(None);
                    }
                }
            }
            Poll::Pending
        }))
    }
}

impl Drop for Driver {
    /// Tells the server that the connection ends.
    fn drop(&mut self) {
        drop(self.client.take());
        if let Some(socket) = self.socket.take() {
            // Nobody needs to know whether the server heard it.
            let _ = self.runtime.block_on(socket);
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::task::{Context, Waker};

    use futures_util::future::{try_join, try_join_all};

    use super::*;

    /// Answers when it is polled for the given time, and notes each poll.
    fn answer<'log>(
        log: &'log RefCell<Vec<usize>>,
        number: usize,
        polls: usize,
    ) -> impl Future<Output = Answer<usize>> + 'log {
        let mut left = polls;
        std::future::poll_fn(move |_| {
            log.borrow_mut().push(number);
            left -= 1;
            if left == 0 { Poll::Ready(Ok(number)) } else { Poll::Pending }
        })
    }

    #[test]
    fn of_two_the_second_is_asked_before_the_first_answers_and_the_first_error_is_returned() {
        let log = RefCell::default();
        let mut two = pin!(try_join(answer(&log, 0, 3), answer(&log, 1, 1)));
        let mut context = Context::from_waker(Waker::noop());
        assert!(two.as_mut().poll(&mut context).is_pending());
        assert!(two.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(answers) = two.as_mut().poll(&mut context) else {
            panic!("both are there")
        };
        assert_eq!(answers.unwrap(), (0, 1));
        assert_eq!(*log.borrow(), [0, 1, 0, 0]);
    }

    /// An error of the driver: no other can be made without a server.
    fn refused<'log>(
        log: &'log RefCell<Vec<usize>>,
        number: usize,
    ) -> impl Future<Output = Answer<usize>> + 'log {
        std::future::poll_fn(move |_| {
            log.borrow_mut().push(number);
            Poll::Ready("host".parse::<tokio_postgres::Config>().map(|_| number))
        })
    }

    #[test]
    fn nothing_is_asked_after_what_cannot_be_asked() {
        let log = RefCell::default();
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut two = pin!(try_join(refused(&log, 0), answer(&log, 1, 1)));
            assert!(matches!(two.as_mut().poll(&mut context), Poll::Ready(Err(_))));
        }
        assert_eq!(*log.borrow(), [0]);
        let asked: Vec<Pin<Box<dyn Future<Output = Answer<usize>> + '_>>> = vec![
            Box::pin(answer(&log, 2, 2)),
            Box::pin(refused(&log, 3)),
            Box::pin(answer(&log, 4, 1)),
        ];
        let mut all = pin!(try_join_all(asked));
        assert!(matches!(all.as_mut().poll(&mut context), Poll::Ready(Err(_))));
        assert_eq!(*log.borrow(), [0, 2, 3]);
    }

    #[test]
    fn all_are_asked_in_order_before_any_answer_is_waited_for() {
        let log = RefCell::default();
        let mut all =
            pin!(try_join_all(vec![answer(&log, 0, 2), answer(&log, 1, 3), answer(&log, 2, 1)]));
        let mut context = Context::from_waker(Waker::noop());
        assert!(all.as_mut().poll(&mut context).is_pending());
        assert_eq!(*log.borrow(), [0, 1, 2]);
        assert!(all.as_mut().poll(&mut context).is_pending());
        let Poll::Ready(answers) = all.as_mut().poll(&mut context) else { panic!("all are there") };
        answers.unwrap();
        assert_eq!(*log.borrow(), [0, 1, 2, 0, 1, 1]);
    }
}
