//! A certificate authority for tests, which certifies servers and clients.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate authority that no system trusts.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Certified {
    pub certificate: rcgen::Certificate,
    pub key: KeyPair,
}

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

    /// Its certificate, in PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certifies a host, or a client of this name.
    pub fn certify(&self, name: &str, validity: Validity) -> Certified {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let (from, to) = match validity {
            Validity::Now => (2000, 4000),
            Validity::Past => (2000, 2001),
            Validity::Future => (3999, 4000),
        };
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(to, 1, 1);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        Certified { certificate: params.signed_by(&key, &self.0).unwrap(), key }
    }
}
