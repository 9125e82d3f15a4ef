//! Verifies what was published: the files by their own checks, and their history against the registry.

use std::collections::BTreeSet;
use std::error::Error as _;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::dataset::{check_all, check_continued, is_of_another};
use super::site_directory::{ANNOTATIONS, DATASETS, SUBSETS, SiteDirectory, head_in, lock_to_read};
use super::statements::{CHECKPOINT, POLICY, STATEMENTS, published_checkpoint};
use super::tile::Tile;
use crate::disk::Directory;
use crate::error::{Error, ErrorKind, Result};
use crate::mirror::HEAD;
use crate::mirror::log::{
    Head, HeadFile, LatestSet, Lines, LinesDigest, write_annotations, write_subsets,
};
use crate::model::{DatasetFilter, DatasetName, Digest, Instance, Timestamp};
use crate::registry::{DatasetRecord, Registry, Snapshot};
use crate::signed::{LogCheckpoint, Note, Policy};

/// The result of verifying a dataset in a published directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedFiles {
    /// The name of the dataset's directory.
    pub dataset: DatasetName,
    /// The number of changes in its log.
    pub changes: u64,
    /// Whether the files have the current state of the registry. If not, the next run publishes the rest.
    pub current: bool,
    /// Whether every file is unchanged since it was published, and the registry continues its history.
    pub ok: bool,
    /// The files that differ.
    pub differences: Vec<OtherFile>,
}

/// A published file that was changed since, or that the registry does not continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OtherFile {
    /// The file, relative to the directory.
    pub file: String,
    /// The first line that differs, from 1. `None` means the whole file.
    pub line: Option<u64>,
    /// The difference.
    pub text: String,
}

impl Registry {
    /// Reads everything that was published for mirrors of the datasets of the filter. Verifies that it is
    /// unchanged, and that the registry continues it. Calls `show` after each dataset. Changes nothing.
    ///
    /// The published files may be of an earlier state. Pages are not read: every run rewrites the pages that
    /// differ.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Io`](crate::ErrorKind::Io): a file cannot be read, or is a symbolic link. Errors of the
    /// registry.
    pub fn verify_published<E: From<Error>>(
        &self,
        directory: &Path,
        filter: &DatasetFilter,
        mut show: impl FnMut(VerifiedFiles) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = SiteDirectory::to_read(directory)?;
        let names = match filter {
            DatasetFilter::All => place.dataset_names()?,
            DatasetFilter::Only(names) => names.clone(),
        };
        let (made, lists) = (place.root.enter(DATASETS)?, place.root.enter(Digest::LISTS)?);
        for dataset in names {
            let directory = made.as_ref().map(|made| made.enter(dataset.as_str())).transpose()?;
            let (changes, ok, differences) = (0, true, Vec::new());
            let mut found = VerifiedFiles { dataset, changes, current: false, ok, differences };
            match directory.flatten() {
                Some(directory) => {
                    let _lock = lock_to_read(&directory)?;
                    found.read(&self.snapshot()?, &directory, lists.as_ref())?;
                }
                None => found.differs(HEAD, "it is missing"),
            }
            found.ok = found.differences.is_empty();
            show(found)?;
        }
        Ok(())
    }
}

/// The result of verifying the log of statements in a published directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct VerifiedStatements {
    /// The number of published statements.
    pub statements: u64,
    /// Whether the latest signed checkpoint is published. If not, the next run publishes the rest.
    pub current: bool,
    /// Whether every file is unchanged since it was published, and the registry has these statements and
    /// signatures.
    pub ok: bool,
    /// The files that differ.
    pub differences: Vec<OtherFile>,
}

impl Registry {
    /// Compares the published log of statements with the statements and signatures of the registry, and these
    /// with the history. `None` means that nothing was published. Changes nothing.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Damaged`]: statements of the registry were lost or altered. The errors of
    /// [`Registry::verify_published`].
    pub fn verify_published_statements(
        &self,
        directory: &Path,
    ) -> Result<Option<VerifiedStatements>> {
        let place = SiteDirectory::to_read(directory)?;
        let Some(statements) = place.root.enter(STATEMENTS)? else { return Ok(None) };
        let (current, ok, differences) = (false, true, Vec::new());
        let mut found = VerifiedStatements { statements: 0, current, ok, differences };
        match published_checkpoint(&statements) {
            Ok(Some((note, checkpoint))) => {
                found.compare(&self.snapshot()?, &statements, &note, &checkpoint)?;
            }
            Ok(None) => found.differs(CHECKPOINT, "it is missing"),
            Err(error) if error.kind() == ErrorKind::PublishedDamaged => {
                found.differs(
                    CHECKPOINT,
                    error.source().map_or_else(String::new, |it| it.to_string()),
                );
            }
            Err(error) => return Err(error),
        }
        found.ok = found.differences.is_empty();
        Ok(Some(found))
    }
}

impl VerifiedStatements {
    fn differs(&mut self, file: &str, text: impl Into<String>) {
        let file = format!("{STATEMENTS}/{file}");
        self.differences.push(OtherFile { file, line: None, text: text.into() });
    }

    fn compare(
        &mut self,
        snapshot: &Snapshot,
        statements: &Directory,
        note: &Note,
        checkpoint: &LogCheckpoint,
    ) -> Result<()> {
        let log = snapshot.statement_log()?;
        self.statements = checkpoint.size;
        let signed = log.signed.as_ref().filter(|_| {
            let root = log.tree.root(checkpoint.size);
            root == Some(checkpoint.root)
        });
        let Some(signed) = signed else {
            self.differs(CHECKPOINT, "the registry has not signed these statements");
            return Ok(());
        };
        let policy = signed.policy.parse::<Policy>();
        let policy = policy.map_err(|error| Error::damaged(format!("the policy: {error}")))?;
        let mut is_signed = false;
        for key in policy.logs.iter().chain(policy.witnesses.iter().map(|witness| &witness.key)) {
            match note.verified(key) {
                Ok(seen) => is_signed |= seen.is_some() && key.name() == checkpoint.origin,
                Err(error) => self.differs(CHECKPOINT, error.to_string()),
            }
        }
        if !is_signed {
            self.differs(CHECKPOINT, "no key of the log has signed it");
        }
        let read = |file: &str| -> Result<Option<Vec<u8>>> {
            let Some(mut opened) = statements.read_below(file)? else { return Ok(None) };
            let mut content = Vec::new();
            let read = opened.read_to_end(&mut content);
            read.map_err(|source| Error::cannot("read", &statements.path_of(file), source))?;
            Ok(Some(content))
        };
        for tile in Tile::new_in(checkpoint.size, 0) {
            let file = tile.path();
            match read(&file)? {
                None => self.differs(&file, "it is missing"),
                Some(content) if content == tile.content(&log, snapshot)? => {}
                Some(_) => self.differs(&file, "it is not as it was published"),
            }
        }
        let published = read(POLICY)?;
        match &published {
            None => self.differs(POLICY, "it is missing"),
            Some(text) => {
                let text = String::from_utf8_lossy(text);
                if let Err(error) = text.parse::<Policy>() {
                    self.differs(POLICY, error.to_string());
                }
            }
        }
        if let Some(what) = snapshot.check_statements()? {
            self.differs(CHECKPOINT, what);
        }
        self.current =
            *note == signed.note && published.as_deref() == Some(signed.policy.as_bytes());
        Ok(())
    }
}

impl VerifiedFiles {
    fn differs(&mut self, file: &str, text: &str) {
        let file = format!("{DATASETS}/{}/{file}", self.dataset);
        self.differences.push(OtherFile { file, line: None, text: text.to_owned() });
    }

    /// Converts an error about a file of the dataset into a difference.
    fn take<T>(&mut self, directory: &Directory, result: Result<T>) -> Result<Option<T>> {
        let error = match result {
            Ok(found) => return Ok(Some(found)),
            Err(error) => error,
        };
        let file = match (error.kind(), error.path()) {
            (ErrorKind::PublishedDamaged, Some(path)) => {
                path.strip_prefix(directory.path()).unwrap_or(path)
            }
            (ErrorKind::PublishedOtherwise, _) => Path::new(HEAD),
            _ => return Err(error),
        };
        let text = error.source().map_or_else(String::new, ToString::to_string);
        self.differs(&file.to_string_lossy(), &text);
        if let Some(difference) = self.differences.last_mut() {
            difference.line = error.line();
        }
        Ok(None)
    }

    /// Reads the published files of the dataset.
    fn read(
        &mut self,
        snapshot: &Snapshot,
        directory: &Directory,
        lists: Option<&Directory>,
    ) -> Result<()> {
        let listed = match snapshot.dataset(&self.dataset) {
            Err(error) if error.kind() == ErrorKind::DatasetUnknown => {
                self.differs(HEAD, "the registry does not have this dataset");
                return Ok(());
            }
            listed => listed?,
        };
        let present = &listed.dataset.name;
        match self.take(directory, head_in(directory))? {
            None => {}
            Some(None) => self.differs(HEAD, "it is missing"),
            Some(Some(HeadFile::MovedTo(target))) => {
                // If the dataset was renamed again, the next run writes the new name.
                self.current = target == *present && self.dataset != *present;
                if target != *present && !listed.former_names.contains(&target) {
                    self.differs(HEAD, "it names a dataset that the registry does not");
                }
            }
            Some(Some(HeadFile::Head(head))) => {
                self.changes = head.changes;
                let proved = check_all(directory, &head);
                // If another dataset now has the name, the next run begins a new log for it.
                if self.take(directory, proved)?.is_some()
                    && !is_of_another(snapshot, present, &head)?
                {
                    let same = check_continued(snapshot, present, &head, directory);
                    self.take(directory, same)?;
                }
                for (name, digest) in [(SUBSETS, head.subsets), (ANNOTATIONS, head.annotations)] {
                    self.take(directory, check_beside(directory, name, digest))?;
                }
                let latest = head.latest().map(|latest| latest.digest);
                let cited = snapshot.subsets(present)?.into_iter().map(|subset| subset.digest);
                let digests: BTreeSet<Digest> = latest.into_iter().chain(cited).collect();
                if let Some(lists) = lists {
                    digests.into_iter().try_for_each(|digest| self.check_list(lists, digest))?;
                }
                self.current = *present == self.dataset && is_current(snapshot, &listed, &head)?;
            }
        }
        Ok(())
    }

    /// Compares a list, if it exists, with the digest in its name. Lists exist if pages were published, and no
    /// run overwrites one.
    fn check_list(&mut self, lists: &Directory, digest: Digest) -> Result<()> {
        let name = digest.list_file();
        let Some(file) = lists.read(&name)? else { return Ok(()) };
        let (mut list, mut part, mut hash) = (MultiGzDecoder::new(file), [0; 8_192], Sha256::new());
        let is_whole = loop {
            match list.read(&mut part) {
                Ok(0) => break true,
                Ok(length) => hash.update(&part[..length]),
                Err(_) => break false,
            }
        };
        if !is_whole || hash.finalize().as_slice() != digest.as_bytes() {
            let text = "it has another digest than its name; remove it, and publish again";
            let file = format!("{}/{name}", Digest::LISTS);
            self.differences.push(OtherFile { file, line: None, text: text.to_owned() });
        }
        Ok(())
    }
}

/// Compares a file beside the log with its digest in the head.
fn check_beside(directory: &Directory, name: &str, announced: LinesDigest) -> Result<()> {
    let path = directory.path_of(name);
    let damaged = |what| Err(Error::published_damaged(&path, None, what));
    let Some(mut file) = directory.read(name)? else {
        return if announced.is_empty() { Ok(()) } else { damaged("it is missing") };
    };
    match announced.is_of(&mut file).map_err(|source| Error::cannot("read", &path, source))? {
        true => Ok(()),
        false => damaged("it is not what the head announces"),
    }
}

/// Whether a head announces the current state of the dataset.
fn is_current(snapshot: &Snapshot, listed: &DatasetRecord, head: &Head) -> Result<bool> {
    let DatasetRecord { dataset, former_names, withdrawn, latest, .. } = listed;
    let latest = latest.as_ref();
    let latest = latest.map(|latest| {
        let Instance { timestamp, identifier, digest, .. } = *latest;
        LatestSet { timestamp, identifier, digest }
    });
    if (&head.record, &head.former_names, &head.withdrawn, head.latest())
        != (dataset, former_names, withdrawn, latest)
        || !head.record.spells_doi_as(dataset)
    {
        return Ok(false);
    }
    let name = &dataset.name;
    let failed = |source| Error::cannot("write", Path::new(SUBSETS), source);
    let out = &mut io::sink();
    let subsets = write_subsets(snapshot, name, Timestamp::MAX, (Lines::default(), out), failed)?;
    let annotations = write_annotations(snapshot, name, out, failed)?;
    Ok((subsets, annotations) == (head.subsets, head.annotations))
}
