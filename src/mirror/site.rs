//! Queries a published site without a registry of one's own. The name of a set leads to its dataset. Its log is
//! read and verified into a temporary registry.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::place::{Address, DATASETS, HttpOptions, Remote, StatementPlace};
use super::primary::OpenPrimary;
use crate::citation::{Meaning, NamedDataset, SetSpec};
use crate::disk::{Directory, read_small};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{DatasetName, Identifier, PrimaryOptions, Timestamp, Withdrawal, quoted};
use crate::registry::{Clock, IfMissing, Import, PublishedStatements, Registry};
use crate::signed::Policy;

/// The directory of the shards of a site.
pub(crate) const SHARDS: &str = "di";

/// The file in a published directory in which `publish` stores metadata of the site, as JSON.
pub(crate) const SITE: &str = ".accession-publish.json";

/// The greatest number of datasets that are read at once, because a site is not trusted.
const MAX_DATASETS: usize = 100;

/// The greatest length of a shard, in bytes.
const MAX_SHARD_BYTES: u64 = 64 << 20;

/// A period of a set: the target of its identifier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct ShardPeriod {
    /// When the set came into force. For a subset, when its parent set did.
    pub from: Timestamp,
    /// The dataset that held the set.
    pub dataset: DatasetName,
    /// When the next set came into force. `None` means that this one is in force, or is a subset.
    pub until: Option<Timestamp>,
    /// Whether it is a cited subset.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subset: bool,
}

/// The identifiers and the digests with the same first two digits.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Shard {
    /// The periods of each identifier, the first one first. If the digest of a set changed within a period,
    /// also the instances with each later digest.
    pub sets: BTreeMap<String, Vec<ShardPeriod>>,
    /// The identifier of each digest.
    pub digests: BTreeMap<String, Identifier>,
}

/// A site as `accession publish` writes it: at an address, or in a directory.
#[derive(Debug)]
pub struct PublishedSite {
    root: Root,
    /// The dataset, if its directory was named instead of the root.
    dataset: Option<DatasetName>,
}

#[derive(Debug)]
enum Root {
    Address(Address),
    Directory(PathBuf),
}

impl PublishedSite {
    /// The site at an address or in a directory, named by its root or by its `datasets/NAME/`. Nothing is read
    /// yet.
    ///
    /// # Errors
    ///
    /// The address cannot be parsed, or is not encrypted.
    pub fn named(text: &str) -> Result<Self> {
        let path = text.trim_end_matches('/');
        let of_dataset = path.rsplit_once('/').and_then(|(before, name)| {
            let before = before.strip_suffix(DATASETS)?;
            (before.is_empty() || before.ends_with('/')).then_some((before, name.parse().ok()?))
        });
        let (root, dataset) = match of_dataset {
            Some((root, name)) => (root, Some(name)),
            None => (text, None),
        };
        let root = match Address::is_meant(root) {
            true => Root::Address(Address::parse(root, false)?),
            false => Root::Directory(PathBuf::from(if root.is_empty() { "." } else { root })),
        };
        Ok(PublishedSite { root, dataset })
    }

    /// The address at which its identifiers resolve, without a query: its own address or, for a directory, the
    /// address at which it was published. `None` means that none is known.
    ///
    /// # Errors
    ///
    /// The directory cannot be read.
    pub fn public_address(&self) -> Result<Option<String>> {
        let path = match &self.root {
            Root::Address(address) => {
                let address = address.to_string();
                return Ok(address.split('?').next().map(str::to_owned));
            }
            Root::Directory(path) => path,
        };
        let Some(file) = Directory::open(path)?.read(SITE)? else { return Ok(None) };
        let text = read_small(file, MAX_SHARD_BYTES);
        let text = text.map_err(|source| Error::cannot("read", &path.join(SITE), source))?;
        let kept: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        Ok(kept["public_url"].as_str().map(str::to_owned))
    }

    /// Reads the site's log of statements, with the keys in a policy: the signed checkpoint, the signatures of
    /// known keys, and the texts of the statements.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::PrimaryInvalid`]: none of these keys signed it, a file is missing, or does not match the
    /// checkpoint; those of requests.
    pub fn statements(
        &self,
        origin: &str,
        policy: &Policy,
        (options, now): (&PrimaryOptions, Timestamp),
    ) -> Result<PublishedStatements> {
        let remote;
        let place = match &self.root {
            Root::Address(address) => {
                let options = HttpOptions::of(options)?;
                remote = Remote::new(address.clone(), options, now)?;
                remote.statements_of_site()
            }
            Root::Directory(path) => StatementPlace::in_directory(path),
        };
        place.read(origin, policy)
    }

    /// Reads the datasets that held these sets into a temporary registry. Each change is verified against its
    /// identifier.
    ///
    /// # Errors
    ///
    /// A set is named by a DOI, which a site cannot look up; a shard or a log cannot be read or is damaged;
    /// [`ErrorKind::Temporary`].
    pub fn read(&self, specs: &[SetSpec], now: Timestamp) -> Result<Registry> {
        let registry = Registry::temporary(Clock::fixed(now))?;
        let mut datasets: BTreeSet<DatasetName> = self.dataset.iter().cloned().collect();
        for spec in specs {
            match &spec.meaning {
                Meaning::Dataset(NamedDataset::Name(name), _) => {
                    datasets.insert(name.clone());
                }
                Meaning::Dataset(NamedDataset::Doi(_), _) => {
                    let what =
                        "a site finds a dataset by its name or an identifier, and not by its DOI";
                    return Err(Error::new(ErrorKind::Usage, what));
                }
                Meaning::Identifier(given) => {
                    datasets.extend(self.holders(&given.digits.to_string(), now)?);
                }
                Meaning::Digest(prefix) => {
                    let digits = prefix.digits();
                    let shard = self.shard(&digits[..2], now)?;
                    for (_, identifier) in beginning(&shard.digests, digits) {
                        datasets.extend(self.holders(&identifier.to_string(), now)?);
                    }
                }
                Meaning::StandardInput | Meaning::Path { .. } => {
                    let what = format!("{} is not a set of a site", quoted(spec.as_str()));
                    return Err(Error::new(ErrorKind::Usage, what));
                }
            }
        }
        if datasets.len() > MAX_DATASETS {
            let message = format!(
                "more than {MAX_DATASETS} datasets of this site held it: name one, as ADDRESS/datasets/NAME/"
            );
            return Err(Error::new(ErrorKind::Usage, message));
        }
        for name in datasets {
            let mut import = Import::new();
            import.options = import.options.if_missing(IfMissing::Create);
            self.dataset(&name, now)?.read_into(&mut import, |_| {})?;
            // Nothing was recorded after a withdrawal, so its time is used.
            let withdrawal = import.withdrawn.clone();
            let at = withdrawal.as_ref().map_or(now, |withdrawal| withdrawal.timestamp);
            // A time in the distant past does not indicate a wrong clock here.
            let registry = registry.with_clock(Clock::fixed(at).confirmed());
            registry.import(&name, &import)?;
            if let Some(Withdrawal { note, .. }) = withdrawal {
                let note = note.unwrap_or_default();
                registry.withdraw_dataset(&name, &note)?;
            }
        }
        Ok(registry)
    }

    /// The datasets that held sets whose identifiers begin with these digits.
    fn holders(&self, digits: &str, now: Timestamp) -> Result<Vec<DatasetName>> {
        let shard = self.shard(&digits[..2], now)?;
        let periods = beginning(&shard.sets, digits).flat_map(|(_, periods)| periods);
        Ok(periods.map(|period| period.dataset.clone()).collect())
    }

    fn shard(&self, digits: &str, now: Timestamp) -> Result<Shard> {
        let (text, name) = match &self.root {
            Root::Address(address) => {
                let path = format!("{SHARDS}/{digits}.json");
                let remote = Remote::new(address.clone(), HttpOptions::default(), now)?;
                (remote.text(&path, MAX_SHARD_BYTES)?, address.file(&path).to_string())
            }
            Root::Directory(path) => {
                let directory = Directory::open(path)?;
                let file = match directory.enter(SHARDS)? {
                    Some(shards) => shards.read(&format!("{digits}.json"))?,
                    None => None,
                };
                let path = path.join(SHARDS).join(format!("{digits}.json"));
                let cannot = |source: io::Error| Error::cannot("read", &path, source);
                let file = file.ok_or_else(|| {
                    let path = path.display();
                    let what =
                        format!("{path} does not exist: is this the root of a published site?");
                    Error::new(ErrorKind::PrimaryInvalid, what)
                })?;
                let text = read_small(file, MAX_SHARD_BYTES).map_err(cannot)?;
                (text, path.to_string_lossy().into_owned())
            }
        };
        serde_json::from_slice(&text).map_err(|error| {
            Error::new(ErrorKind::PrimaryInvalid, format!("{name} is not what a site publishes"))
                .because(error)
        })
    }

    fn dataset(&self, name: &DatasetName, now: Timestamp) -> Result<OpenPrimary> {
        match &self.root {
            Root::Address(address) => {
                let address =
                    Address::parse(address.file(&format!("{DATASETS}/{name}/")).as_str(), false)?;
                let remote = Remote::new(address, HttpOptions::default(), now)?;
                Ok(OpenPrimary::at_address(remote, PrimaryOptions::default()))
            }
            Root::Directory(path) => {
                let path = path.join(DATASETS).join(name.as_str());
                OpenPrimary::open(&path, name, PrimaryOptions::default(), now)
            }
        }
    }
}

/// The entries whose keys begin with these digits.
fn beginning<'a, T>(
    entries: &'a BTreeMap<String, T>,
    digits: &'a str,
) -> impl Iterator<Item = (&'a String, &'a T)> {
    entries.range(digits.to_owned()..).take_while(move |(key, _)| key.starts_with(digits))
}
