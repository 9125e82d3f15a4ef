//! A set of granules as an argument, and the options that name a part of it.

use std::str::FromStr;

use accession::ErrorDetail;
use accession::citation::{GivenIdentifier, TypedSet, dataset_at, refuse_future};
use accession::dataset::Edit;
use accession::dataset::WebAddress;
use accession::mirror::PublishedSite;
use accession::{DatasetName, HistoryOptions, Moment, Selection, Snapshot};

use super::time::moment;
use crate::error::{Error, Result};
use crate::session::Session;

/// A set whose time or identifier can be given by an option.
#[derive(Clone, clap::Args)]
pub struct SetArgs {
    /// The set: DATASET, DATASET@TIME, or an identifier, alone or in a citation or an address. A DOI
    /// can take the place of the dataset's name, and 8 or more digits that of an identifier; sha256:
    /// and 12 or more digits name the set with that digest
    set: TypedSet,

    /// The time: RFC 3339, or a date, which means the end of that day [default: now]; of an
    /// identifier, a time at which it was in force
    #[arg(long, value_name = "T", conflicts_with = "identifier")]
    pub at: Option<Moment>,

    /// An identifier that was in force in the dataset
    #[arg(long, value_name = "DI")]
    identifier: Option<GivenIdentifier>,
}

impl SetArgs {
    /// The dataset, if only a dataset was named.
    ///
    /// # Errors
    ///
    /// As those of [`TypedSet::into_selection`].
    pub fn dataset_only(self, snapshot: &Snapshot) -> Result<Option<DatasetName>> {
        Ok(match (self.set.named(snapshot)?, self.at, self.identifier) {
            (Selection::Dataset { name, at: None }, None, None) => Some(name),
            _ => None,
        })
    }

    /// What was typed in the place of the set.
    pub fn typed(&self) -> &TypedSet {
        &self.set
    }

    /// The time that was typed. `None` means that none was, or that the set is a digest.
    pub fn typed_at(&self) -> Option<Moment> {
        self.set.at(self.at)
    }

    /// The set to which it refers.
    ///
    /// # Errors
    ///
    /// As those of [`TypedSet::into_selection`], or an option repeats a part of the set.
    pub fn into_selection(self, snapshot: &Snapshot) -> Result<Selection> {
        let now = snapshot.now();
        let SetArgs { set, at, identifier } = self;
        match (set.named(snapshot)?, at, identifier) {
            (Selection::Dataset { name, at }, None, None) => Ok(dataset_at(name, at, now)?),
            (named, None, None) => Ok(named),
            (Selection::Identifier { identifier, dataset, at: None }, Some(at), None) => {
                refuse_future(at, now)?;
                Ok(Selection::Identifier { identifier, dataset, at: Some(at) })
            }
            (Selection::Dataset { name, at: None }, at, None) => Ok(dataset_at(name, at, now)?),
            (Selection::Dataset { name, at: None }, None, Some(identifier)) => {
                let identifier = identifier.whole(snapshot, Some(&name))?;
                Ok(Selection::Identifier { identifier, dataset: Some(name), at: None })
            }
            _ => Err(Error::usage(
                "the set already has a time, an identifier or a digest: --at and --identifier need a dataset, or --at an identifier",
            )),
        }
    }
}

/// A published site in place of the registry.
#[derive(Default, clap::Args)]
pub struct SiteArgs {
    /// Read a published site in place of the registry, by its address or its directory; the logs of the
    /// datasets that are meant are read and proved
    #[arg(long, value_name = "ADDRESS")]
    site: Option<String>,
}

impl SiteArgs {
    /// Whether one is given.
    pub fn is_given(&self) -> bool {
        self.site.is_some()
    }

    /// Reads what names lead to, if a site is given.
    ///
    /// # Errors
    ///
    /// Those of [`PublishedSite::read`].
    pub fn follow(&self, session: &mut Session, names: &[TypedSet]) -> Result<()> {
        self.named()?.map_or(Ok(()), |site| session.follow(&site, names))
    }

    /// The address of the site that resolves identifiers: from the environment, or else that of the given
    /// site. `None` means that neither is known.
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
    /// Refuses the option for a set that does not depend on the state of the registry.
    ///
    /// # Errors
    ///
    /// The set is named by an identifier.
    pub fn refuse_for_identifier(&self, selection: &Selection) -> Result<()> {
        match (self.known_at, selection) {
            (Some(_), Selection::Identifier { .. } | Selection::Digest(_)) => Err(Error::usage(
                "--known-at needs a dataset: the set of an identifier never changes",
            )),
            _ => Ok(()),
        }
    }

    /// Restricts a history to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn of_history(&self, options: HistoryOptions, session: &Session) -> Result<HistoryOptions> {
        let Some(at) = self.known_at else { return Ok(options) };
        refuse_future(at, session.now()?)?;
        Ok(options.known_at(at.last_instant()))
    }

    /// Restricts the snapshot to the state of the registry at that time.
    ///
    /// # Errors
    ///
    /// The time is in the future.
    pub fn apply(&self, snapshot: Snapshot, session: &Session) -> Result<Snapshot> {
        let Some(at) = self.known_at else { return Ok(snapshot) };
        refuse_future(at, session.now()?)?;
        Ok(snapshot.known_at(at.last_instant()))
    }
}

/// Why a value of an option is refused.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Reads what an option does. An empty value clears.
pub fn edit<T: FromStr>(text: &str) -> Result<Edit<T>, Refusal>
where
    Refusal: From<T::Err>,
{
    edit_as(text, |text| Ok(text.parse()?))
}

/// The same of a value that is not read as any of its type.
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

/// Reads the address of a site's root, and returns it without the slash at its end.
pub fn public_url(text: &str) -> Result<String, Refusal> {
    let address: WebAddress = text.parse()?;
    if address.as_str().contains(['?', '#']) {
        return Err("the address of a site has neither a query nor a fragment".into());
    }
    Ok(address.as_str().trim_end_matches('/').to_owned())
}
