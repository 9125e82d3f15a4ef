//! A list of granules, in any order and of any length.

use std::borrow::Borrow;
use std::sync::Arc;

use super::files::FileListing;
use super::monitor::{Monitor, Work};
use super::staging::{Sorted, Staging};
use crate::chain::Chain;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Entry, Event, EventKind, GranuleId, IdPage, Identifier, Timestamp};

/// A list of granules, in any order and of any length, such as the content of a disk, a bucket or a
/// catalogue.
///
/// A list of more than about 8 MiB is kept in a temporary file. An id that is listed more than
/// once counts once, except for a citation, where it is refused.
///
/// # Examples
///
/// ```
/// use accession::{GranuleId, Listing};
///
/// let mut listing = Listing::new();
/// for text in ["B", "A", "B"] {
///     listing.add(text.parse::<GranuleId>()?)?;
/// }
/// let identified = listing.identify()?;
/// assert_eq!(identified.identifier.to_string(), "8f714d3efb0e51ed23fb7eeecca3009b");
/// assert_eq!((identified.granules, identified.repeated), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Listing {
    /// What is known of the files of the granules, for [`Registry::sync`](crate::Registry::sync).
    pub files: FileListing,
    /// It is shared only with what reads a list to which nothing can be added any more.
    staging: Arc<Staging>,
}

/// The number of ids in a page.
const PAGE_IDS: usize = 4_096;

/// The identifier of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identified {
    /// The identifier of the listed granules, each counted once.
    pub identifier: Identifier,
    /// The number of different granules.
    pub granules: u64,
    /// How many ids were repetitions of one that was already listed.
    pub repeated: u64,
}

impl Listing {
    /// Creates an empty list.
    pub fn new() -> Self {
        Listing::default()
    }

    /// Adds a granule.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be written;
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage): the files or the differences of the list are still being
    /// read.
    pub fn add(&mut self, entry: impl Into<Entry>) -> Result<()> {
        let Entry { granule_id, producer_granule, location } = entry.into();
        let (at, kind) = (Timestamp::EPOCH, EventKind::Ingested);
        let Some(staging) = Arc::get_mut(&mut self.staging) else {
            let message = "a list to which a granule is added is still being read";
            return Err(Error::new(ErrorKind::Usage, message));
        };
        staging.add(&Event { at, kind, granule_id, producer_granule, location })
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.staging.is_empty()
    }

    /// How many ids were added, repeated ones included.
    pub fn count(&self) -> u64 {
        self.staging.count()
    }

    /// Computes the identifier of the listed granules, which is that of a dataset that holds exactly
    /// these granules.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Temporary`](crate::ErrorKind::Temporary): the temporary file cannot be read.
    pub fn identify(&self) -> Result<Identified> {
        self.identified(None)
    }

    /// The same with a monitor, which receives reports on the work and can stop it.
    ///
    /// # Errors
    ///
    /// Those of [`Listing::identify`]; [`ErrorKind::Interrupted`](crate::ErrorKind::Interrupted).
    pub fn identify_with(&self, monitor: Arc<dyn Monitor>) -> Result<Identified> {
        self.identified(Some(monitor))
    }

    fn identified(&self, monitor: Option<Arc<dyn Monitor>>) -> Result<Identified> {
        let mut work = Work::begin(monitor, "hashing", "granules", Some(self.count()));
        let mut chain = Chain::start();
        let mut granules = 0;
        for event in self.distinct()? {
            chain.push(event?.granule_id.as_str());
            granules += 1;
            work.advance()?;
        }
        let repeated = self.count() - granules;
        Ok(Identified { identifier: chain.identifier(), granules, repeated })
    }

    /// The listed granules in canonical order, repeated ones included.
    pub(in crate::registry) fn sorted(&self) -> Result<Sorted<&Staging>> {
        self.staging.sorted()
    }

    /// The listed granules in canonical order, each once.
    pub(in crate::registry) fn distinct(&self) -> Result<Distinct<&Staging>> {
        Ok(Distinct { sorted: self.staging.sorted()?, last: None })
    }

    /// The listed ids in canonical order, each once, in pages. The list is owned by what reads them.
    pub(in crate::registry) fn id_pages(
        &self,
    ) -> Result<impl Iterator<Item = Result<IdPage>> + Send + use<>> {
        let mut ids = Distinct { sorted: Sorted::of(Arc::clone(&self.staging))?, last: None };
        Ok(std::iter::from_fn(move || {
            let page = ids.by_ref().take(PAGE_IDS).map(|event| Ok(event?.granule_id));
            let page: Result<Vec<GranuleId>> = page.collect();
            page.map(|page| (!page.is_empty()).then(|| page.iter().collect())).transpose()
        }))
    }
}

/// The granules of a [`Listing`] in canonical order, each once, as it was listed first.
pub(in crate::registry) struct Distinct<S> {
    sorted: Sorted<S>,
    last: Option<GranuleId>,
}

impl<S: Borrow<Staging>> Iterator for Distinct<S> {
    type Item = Result<Event>;

    fn next(&mut self) -> Option<Result<Event>> {
        loop {
            let event = match self.sorted.next()? {
                Ok(event) => event,
                Err(error) => return Some(Err(error)),
            };
            if self.last.as_ref() != Some(&event.granule_id) {
                self.last = Some(event.granule_id.clone());
                return Some(Ok(event));
            }
        }
    }
}
