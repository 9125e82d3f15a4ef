//! The address at which readers reach a site.

use std::str::FromStr;

use accession::{WebAddress, WebAddressError};

/// The address of a site's root, without the slash at its end.
#[derive(Debug, Clone)]
pub struct PublicUrl(pub String);

/// Why a string is not the address of a site's root.
#[derive(Debug, thiserror::Error)]
pub enum PublicUrlError {
    #[error(transparent)]
    Address(#[from] WebAddressError),
    #[error("the address of a site has neither a query nor a fragment")]
    NotARoot,
}

impl FromStr for PublicUrl {
    type Err = PublicUrlError;

    fn from_str(text: &str) -> Result<Self, PublicUrlError> {
        let address: WebAddress = text.parse()?;
        if address.as_str().contains(['?', '#']) {
            return Err(PublicUrlError::NotARoot);
        }
        Ok(PublicUrl(address.as_str().trim_end_matches('/').to_owned()))
    }
}
