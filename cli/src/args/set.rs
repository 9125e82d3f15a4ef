//! Options for the source of a set, and for the time at which it is read.

use std::str::FromStr;

use accession::dataset::{Correction, Edit, WebAddress};
use accession::mirror::PublishedSite;
use accession::{
    DatasetName, ErrorDetail, ErrorKind, HistoryOptions, Moment, Selection, SetSpec, Snapshot,
};

use super::time::moment;
use crate::error::{Error, Result};
use crate::session::Session;

/// A published site in place of the registry.
#[derive(Default, clap::Args)]
pub struct SiteArgs {
    /// Read a published site in place of the registry, by its address or its directory; the logs of the
    /// datasets that are meant are read and proved
    #[arg(long, value_name = "ADDRESS")]
    site: Option<String>,
}

impl SiteArgs {
    /// Whether a site is given.
    pub fn is_given(&self) -> bool {
        self.site.is_some()
    }

    /// Reads the sets that `names` mean, if a site is given.
    ///
    /// # Errors
    ///
    /// Those of [`PublishedSite::read`].
    pub fn follow(&self, session: &mut Session, names: &[SetSpec]) -> Result<()> {
        self.named()?.map_or(Ok(()), |site| session.follow(&site, names))
    }

    /// The address of the site that resolves identifiers, from the environment or else from the given site.
    /// `None` means that neither is known.
    pub fn resolver(&self) -> Result<Option<String>> {
        let named = |site: PublishedSite| Ok::<_, Error>(site.public_address()?);
        match resolver()? {
            None => Ok(self.named()?.map(named).transpose()?.flatten()),
            known => Ok(known),
        }
    }

    fn named(&self) -> Result<Option<PublishedSite>> {
        let named = self.site.as_deref().map(PublishedSite::named).transpose();
        named.map_err(|error| match error.detail() {
            Some(ErrorDetail::NotEncrypted) => Error::from(error).with_hint("use https"),
            _ => error.into(),
        })
    }
}

/// The time as of which the registry is read.
#[derive(Default, clap::Args)]
pub struct KnownAtArgs {
    /// Use only the changes that were recorded by this time: RFC 3339, or a date, which means the
    /// end of that day
    #[arg(long, value_name = "T", value_parser = moment)]
    known_at: Option<Moment>,
}

impl KnownAtArgs {
    /// Rejects the option for a set that does not depend on the state of the registry. Also rejects it for a
    /// dataset whose history was corrected after the time: the earlier history belongs to another dataset now.
    ///
    /// # Errors
    ///
    /// The set is named by an identifier, or the history was corrected after the time.
    pub fn check(&self, selection: &Selection, snapshot: &Snapshot) -> Result<()> {
        match (self.known_at, selection) {
            (None, _) => Ok(()),
            (Some(_), Selection::Identifier { .. } | Selection::Digest(_)) => Err(Error::usage(
                "--known-at needs a dataset: the set of an identifier never changes",
            )),
            (Some(_), Selection::Dataset { name, .. }) => self.check_dataset(name, snapshot),
        }
    }

    /// Rejects the option for a dataset whose history was corrected after the time.
    ///
    /// # Errors
    ///
    /// The history was corrected after the time, or the dataset's record cannot be read.
    pub fn check_dataset(&self, name: &DatasetName, snapshot: &Snapshot) -> Result<()> {
        let Some(at) = self.known_at else { return Ok(()) };
        let corrections = snapshot.dataset(name)?.corrections;
        match corrections.iter().find(|it| it.recorded > at.last_instant()) {
            None => Ok(()),
            Some(Correction { recorded, kept_as, .. }) => {
                let message =
                    format!("the history of {name} was corrected at {recorded}, after {at}");
                Err(Error::new(ErrorKind::NoHistory, message).with_hint(format!(
                    "`accession history {kept_as}` lists the earlier history; name that dataset"
                )))
            }
        }
    }

    /// Whether a time was given.
    pub fn is_given(&self) -> bool {
        self.known_at.is_some()
    }

    /// Rejects the option for a listing.
    ///
    /// # Errors
    ///
    /// The option was given.
    pub fn refuse_for_listing(&self) -> Result<()> {
        if self.known_at.is_none() {
            return Ok(());
        }
        Err(Error::usage("--known-at needs a dataset, and this is a listing"))
    }

    /// Restricts a history to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn of_history(&self, options: HistoryOptions, session: &Session) -> Result<HistoryOptions> {
        let Some(at) = self.known_at else { return Ok(options) };
        at.refuse_future(session.now()?)?;
        Ok(options.known_at(at.last_instant()))
    }

    /// Restricts the snapshot to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn apply(&self, snapshot: Snapshot, session: &Session) -> Result<Snapshot> {
        let Some(at) = self.known_at else { return Ok(snapshot) };
        at.refuse_future(session.now()?)?;
        Ok(snapshot.known_at(at.last_instant()))
    }
}

/// The reason for rejecting the value of an option.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Parses the edit of a field. An empty value clears the field.
pub fn edit<T: FromStr>(text: &str) -> Result<Edit<T>, Refusal>
where
    Refusal: From<T::Err>,
{
    edit_as(text, |text| Ok(text.parse()?))
}

/// The same as [`edit`], for values that have their own parser.
pub fn edit_as<T>(
    text: &str,
    read: impl FnOnce(&str) -> Result<T, Refusal>,
) -> Result<Edit<T>, Refusal> {
    if text.is_empty() { Ok(Edit::Clear) } else { read(text).map(Edit::Set) }
}

/// The address of the site that resolves identifiers, from the environment. `None` means that it is not set.
pub fn resolver() -> Result<Option<String>> {
    const VARIABLE: &str = "ACCESSION_RESOLVER";
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let read = public_url(&text.to_string_lossy());
    read.map(Some).map_err(|refusal| Error::usage(format!("{VARIABLE}: {refusal}")))
}

/// Parses the address of a site's root, and returns it without the slash at its end.
pub fn public_url(text: &str) -> Result<String, Refusal> {
    let address: WebAddress = text.parse()?;
    if address.as_str().contains(['?', '#']) {
        return Err("the address of a site has neither a query nor a fragment".into());
    }
    Ok(address.as_str().trim_end_matches('/').to_owned())
}
