//! TLS to the server, with rustls.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Tls;
use crate::store::{Error, Result};

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
