//! Finds the set of a registry, or the listing, that a [`SetSpec`] names.

use std::path::{Path, PathBuf};

use super::set_spec::{CitedIdentifier, Meaning, NamedDataset, SetSpec, When};
use crate::error::{Error, ErrorDetail, ErrorKind, Result};
use crate::model::{
    DatasetName, Identifier, IdentifierPrefix, Moment, ParseError, Set, Timestamp, Warning,
    WarningKind, quoted,
};
use crate::registry::{HeldContents, Periods, Selected, Selection, Snapshot};

/// A set of a registry that a [`SetSpec`] names.
///
/// # Examples
///
/// ```
/// use accession::{Registry, SetSpec};
///
/// /// Prints the files of a set: `FOO@2024-01-15`, `DI:7fb1e8ba`, or a citation.
/// fn list(registry: &Registry, spec: &SetSpec) -> accession::Result<()> {
///     let snapshot = registry.snapshot()?;
///     let set = snapshot.resolve(spec)?.contents()?;
///     for granule in registry.files(&set) {
///         let granule = granule?;
///         for file in granule.content.files() {
///             println!("{}", file.path(&granule.granule_id));
///         }
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Resolution<'a> {
    snapshot: &'a Snapshot,
    selection: Selection,
    warnings: Vec<Warning>,
}

/// The source that a [`SetSpec`] names.
#[derive(Debug)]
pub enum Source<'a> {
    /// A set of the registry.
    Registry(Resolution<'a>),
    /// A file or a directory.
    Path(PathBuf),
    /// Standard input.
    StandardInput,
}

impl Resolution<'_> {
    /// The selection that was found.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Warnings about parts of a citation that cannot be checked in this registry: the date if no dataset has
    /// the DOI, and a digest that no set has.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The set, if only the names of its granules are needed.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn names(&self) -> Result<Selected> {
        self.snapshot.select(&self.selection)
    }

    /// The set, if its files are needed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Ambiguous`]: its identifier had different contents, which the message lists; those of
    /// [`Snapshot::select`].
    pub fn contents(&self) -> Result<Set> {
        self.snapshot.select_contents(&self.selection)
    }

    /// The different contents of the set ([`Snapshot::contents`]), at least one.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::select`].
    pub fn candidates(&self) -> Result<Vec<HeldContents>> {
        self.snapshot.contents(&self.selection)
    }

    /// The set as [`Registry::revert`](crate::Registry::revert) expects it. An identifier with a time is
    /// replaced by the digest of its contents at that time.
    ///
    /// # Errors
    ///
    /// Those of [`Resolution::contents`].
    pub fn in_dataset(&self, dataset: &DatasetName) -> Result<Selection> {
        match &self.selection {
            Selection::Identifier { identifier, dataset: _, at } => {
                let dataset = Some(dataset.clone());
                let own = Selection::Identifier { identifier: *identifier, dataset, at: *at };
                if at.is_none() {
                    return Ok(own);
                }
                Ok(Selection::Digest(self.snapshot.select_contents(&own)?.digest().into()))
            }
            other => Ok(other.clone()),
        }
    }
}

impl SetSpec {
    /// Finds the source, in a registry or in the file system. `None` means that there is no registry.
    ///
    /// # Errors
    ///
    /// Those of [`Snapshot::resolve`]; [`ErrorKind::Ambiguous`]: both a dataset and a file have this name.
    pub fn source<'a>(&self, snapshot: Option<&'a Snapshot>) -> Result<Source<'a>> {
        match &self.meaning {
            Meaning::StandardInput => return Ok(Source::StandardInput),
            Meaning::Path { path, refusal: None } => return Ok(Source::Path(path.clone())),
            Meaning::Path { path, refusal: Some(_) } if path.exists() => {
                return Ok(Source::Path(path.clone()));
            }
            Meaning::Path { refusal: Some(refusal), .. } => return Err(is_neither(self, refusal)),
            _ => {}
        }
        let path = self.path();
        let Some(snapshot) = snapshot else {
            return match path {
                Some(path) => Ok(Source::Path(path.to_owned())),
                None => Err(self.unknown()),
            };
        };
        match (snapshot.resolve(self), path) {
            (Ok(_), Some(path)) => Err(self.is_both(path)),
            (Ok(resolution), None) => Ok(Source::Registry(resolution)),
            (Err(error), Some(path)) if error.kind() == ErrorKind::DatasetUnknown => {
                Ok(Source::Path(path.to_owned()))
            }
            (Err(error), None)
                if error.kind() == ErrorKind::DatasetUnknown && error.unknown().is_some() =>
            {
                Err(self.is_neither(&error))
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The dataset, if the text names one without a time.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`]: the text names something else; no dataset or several datasets have the DOI.
    pub fn dataset(&self, snapshot: &Snapshot) -> Result<DatasetName> {
        if let Meaning::Dataset(dataset, When::Now) = &self.meaning {
            return dataset.name(snapshot);
        }
        let is = match &self.meaning {
            Meaning::Dataset(..) => "a set of a dataset",
            Meaning::Identifier(_) => "an identifier",
            Meaning::Digest(_) => "a digest",
            Meaning::StandardInput => "standard input",
            Meaning::Path { refusal: Some(refusal), .. } => {
                return Err(not_a_set(self, refusal));
            }
            Meaning::Path { .. } => "a path",
        };
        let message =
            format!("{} is {is}; this needs the name of a dataset", quoted(self.as_str()));
        Err(Error::new(ErrorKind::Usage, message))
    }

    /// The periods in which a set with this identifier or digest was in force, in a dataset or in any (`None`).
    /// For a citation with a digest, only the periods with that digest. Their agreement is with `at`, else with
    /// the time or the date in the text.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Usage`]: the text names neither an identifier nor a digest; those of [`Snapshot::periods`]
    /// and [`Snapshot::periods_of_digest`]; no identifier or several identifiers begin with the digits.
    pub fn periods(
        &self,
        snapshot: &Snapshot,
        dataset: Option<&DatasetName>,
        at: Option<Moment>,
    ) -> Result<Periods> {
        let given = match &self.meaning {
            Meaning::Identifier(given) => given,
            Meaning::Digest(prefix) => return snapshot.periods_of_digest(prefix, dataset, at),
            _ => {
                let message = format!("{} is not an identifier", quoted(self.as_str()));
                return Err(Error::new(ErrorKind::Usage, message));
            }
        };
        let date = given.cited.date(snapshot)?;
        let at = at.or(given.at).or(date);
        let identifier = snapshot.identifier_beginning(&given.digits, dataset)?;
        let digest = given.cited.digest(identifier, snapshot)?;
        let mut periods = snapshot.periods_with(identifier, digest, dataset, at)?;
        // A DOI and a date belong to one archive.
        if at.is_some()
            && at == given.cited.date
            && let Some(names) = given.cited.datasets(snapshot)?
        {
            for row in &mut periods.rows {
                row.agreement = row.agreement.filter(|_| names.contains(row.set.dataset()));
            }
        }
        Ok(periods)
    }

    /// The error for an unknown name if there is no registry.
    fn unknown(&self) -> Error {
        match &self.meaning {
            Meaning::Dataset(NamedDataset::Name(name), _) => Error::dataset_unknown(name),
            _ => {
                let message = format!("{} needs a registry", quoted(self.as_str()));
                Error::new(ErrorKind::RegistryMissing, message)
            }
        }
    }

    /// The error if neither a dataset nor a file has the name.
    fn is_neither(&self, unknown: &Error) -> Error {
        let message = format!("{unknown}, and there is no file {}", quoted(self.as_str()));
        let name = unknown.unknown().unwrap_or_default().to_owned();
        Error::new(ErrorKind::DatasetUnknown, message).about(name)
    }

    fn is_both(&self, path: &Path) -> Error {
        let what = if path.is_dir() { "directory" } else { "file" };
        let (dataset, listing) = (format!("{self}@now"), format!("./{self}"));
        if self.is_dataset() {
            let message = format!(
                "{self} is a dataset and a {what}: write {dataset} for the dataset, or {listing} for the {what}"
            );
            return Error::new(ErrorKind::Ambiguous, message).among([dataset, listing]);
        }
        let message = format!("{self} is a set and a {what}: write {listing} for the {what}");
        Error::new(ErrorKind::Ambiguous, message).among([listing])
    }
}

impl Snapshot {
    /// Finds the set of the registry that a text names. A dataset without a time means its present set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::DatasetUnknown`], [`ErrorKind::IdentifierUnknown`]; [`ErrorKind::Ambiguous`]: several
    /// datasets have the DOI, or several sets the first digits; [`ErrorKind::Future`]: the time is in the
    /// future; [`ErrorKind::NoHistory`]: the dataset has fewer changes; [`ErrorKind::IdentifierUnknown`]: the
    /// date or the digest of a citation contradicts its identifier; [`ErrorKind::Usage`]: a listing is named. A
    /// complete identifier is looked up only by [`Snapshot::select`].
    pub fn resolve(&self, spec: &SetSpec) -> Result<Resolution<'_>> {
        let (selection, warnings) = match &spec.meaning {
            Meaning::Dataset(dataset, when) => (self.of_dataset(dataset, *when)?, Vec::new()),
            Meaning::Identifier(given) => self.of_identifier(given)?,
            Meaning::Digest(prefix) => (Selection::Digest(prefix.clone()), Vec::new()),
            Meaning::StandardInput => return Err(not_of_registry("standard input")),
            Meaning::Path { path, refusal } => {
                return Err(match refusal {
                    Some(refusal) => not_a_set(spec, refusal),
                    None => not_of_registry(&quoted(&path.to_string_lossy()).to_string()),
                });
            }
        };
        Ok(Resolution { snapshot: self, selection, warnings })
    }

    fn of_dataset(&self, dataset: &NamedDataset, when: When) -> Result<Selection> {
        let name = dataset.name(self)?;
        let now = Moment::Instant(self.now());
        let at = match when {
            When::Now => now,
            When::At(at) => {
                at.refuse_future(self.now())?;
                // The rest of today is still in the future.
                if at.last_instant() > self.now() { self.until_now(&name, at)? } else { at }
            }
            When::Before(changes) => {
                Moment::Instant(self.before_changes(&name, changes)?.timestamp)
            }
        };
        Ok(Selection::Dataset { name, at: Some(at) })
    }

    /// Returns today, or now if a change takes effect later today.
    fn until_now(&self, name: &DatasetName, today: Moment) -> Result<Moment> {
        let latest = self.latest_change(name)?;
        let is_due = latest.is_some_and(|latest| latest.timestamp > self.now());
        Ok(if is_due { Moment::Instant(self.now()) } else { today })
    }

    fn of_identifier(&self, given: &CitedIdentifier) -> Result<(Selection, Vec<Warning>)> {
        let identifier = self.identifier_beginning(&given.digits, None)?;
        if let Some(at) = given.at {
            at.refuse_future(self.now())?;
            return Ok((
                Selection::Identifier { identifier, dataset: None, at: Some(at) },
                Vec::new(),
            ));
        }
        let selection = given.cited.selection(identifier, self)?;
        Ok((selection, given.unchecked(identifier, self)?))
    }
}

impl CitedIdentifier {
    /// Warnings about parts of the citation that cannot be checked.
    fn unchecked(&self, identifier: Identifier, snapshot: &Snapshot) -> Result<Vec<Warning>> {
        let (cited, mut unchecked) = (&self.cited, Vec::new());
        if let (Some(_), None, Some(doi)) = (cited.date, cited.date(snapshot)?, &cited.doi) {
            let what =
                format!("the date was not checked: no dataset here has doi:{}", doi.as_str());
            unchecked.push(Warning::new(WarningKind::CitationNotChecked, what));
        }
        if let Some(digest) = &cited.digest
            && cited.digest(identifier, snapshot)?.is_none()
        {
            let what = format!("no set here has {digest}: files may differ from those cited");
            unchecked.push(Warning::new(WarningKind::CitationNotChecked, what));
        }
        Ok(unchecked)
    }
}

impl NamedDataset {
    /// The name of the dataset.
    fn name(&self, snapshot: &Snapshot) -> Result<DatasetName> {
        match self {
            NamedDataset::Name(name) => match snapshot.has_dataset(name)? {
                true => Ok(name.clone()),
                false => Err(unknown_name(name)),
            },
            NamedDataset::Doi(doi) => snapshot.dataset_with_doi(doi),
        }
    }
}

/// The error for a name that no dataset has. It may be meant as an identifier.
fn unknown_name(name: &DatasetName) -> Error {
    let is_abbreviated = name.as_str().parse::<IdentifierPrefix>().is_ok();
    if is_abbreviated {
        let message = format!("the registry has no dataset {name}; DI:{name} is an identifier");
        return Error::new(ErrorKind::DatasetUnknown, message).about(name);
    }
    // A wrong letter, or a missing or additional digit, is a typing error.
    let is_alphanumeric = name.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric());
    if (31..=33).contains(&name.as_str().len()) && is_alphanumeric {
        let message = format!("the registry has no dataset and no identifier {name}");
        return Error::new(ErrorKind::IdentifierUnknown, message).about(name);
    }
    Error::dataset_unknown(name)
}

/// The error for a text that names no set, if it cannot be a file.
fn not_a_set(spec: &SetSpec, refusal: &ParseError) -> Error {
    let message = format!("{} is not a set: {refusal}", quoted(spec.as_str()));
    Error::new(ErrorKind::Usage, message).about(spec.as_str())
}

/// The error for a text that names neither a set nor a file.
fn is_neither(spec: &SetSpec, refusal: &ParseError) -> Error {
    let message = format!("{} is neither a set nor a file: {refusal}", quoted(spec.as_str()));
    Error::new(ErrorKind::Usage, message).about(spec.as_str())
}

fn not_of_registry(what: &str) -> Error {
    let message = format!("{what} is a listing, and not a set of the registry");
    Error::new(ErrorKind::Usage, message)
}

impl Moment {
    /// Rejects a time after `now`, because the set in force at that time is not known.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Future`].
    pub fn refuse_future(self, now: Timestamp) -> Result<()> {
        if self.first_instant() > now {
            let message = format!("{self} is in the future: now it is {now}");
            return Err(Error::new(ErrorDetail::SetInFuture, message));
        }
        Ok(())
    }
}
