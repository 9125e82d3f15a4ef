//! A disk that loses power: data that was synced is kept, and any of the rest may be lost.
//!
//! It is built from the journal of `interpose.c`. Each write to a file since its last sync is kept, lost, or
//! torn at the borders of sectors of 512 bytes. Each sector of a torn write has new, old or random bytes. The
//! length of the file may be shorter or longer than its content. Each name that was created or removed since
//! the last sync of the directory may or may not exist, independently of the others. The disk guarantees what
//! SQLite requires (sqlite.org/atomiccommit.html, sqlite.org/psow.html): a sync is honest, and a write does not
//! damage bytes outside its range.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::dice::Dice;

const SECTOR: usize = 512;

/// A line of the journal.
pub struct Record {
    /// The position in the journal after the record.
    pub end: usize,
    operation: Operation,
}

enum Operation {
    Create(String),
    Write(String, usize, Vec<u8>),
    Cut(String, usize),
    Sync(String),
    Link(String, String),
    Rename(String, String),
    Unlink(String),
}

/// The files of one directory, with everything that is not synced yet.
#[derive(Default)]
pub struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    lasting_names: BTreeMap<String, usize>,
    /// The names that changed since the last sync of the directory, and the files to which they then refer.
    pending_names: Vec<(String, Option<usize>)>,
}

#[derive(Default)]
struct File {
    lasting: Vec<u8>,
    pending: Vec<Pending>,
}

enum Pending {
    Write(usize, Vec<u8>),
    Cut(usize),
}

impl Record {
    pub fn is_write_to(&self, path: &Path) -> bool {
        matches!(&self.operation, Operation::Write(to, ..) if Path::new(to) == path)
    }

    pub fn is_sync(&self) -> bool {
        matches!(self.operation, Operation::Sync(_))
    }
}

/// The content of the disk: the files by name.
pub type Content = BTreeMap<String, Vec<u8>>;

/// Reads a journal.
pub fn records(journal: &[u8]) -> Vec<Record> {
    let (mut records, mut at) = (Vec::new(), 0);
    while at < journal.len() {
        let length = journal[at..].iter().position(|byte| *byte == b'\n').unwrap();
        let line = std::str::from_utf8(&journal[at..at + length]).unwrap();
        at += length + 1;
        // A change must not need a temporary file of SQLite.
        assert!(!line.contains("/etilqs_"), "a temporary file was written: {line}");
        // A temporary file of accession has no name, and is not on the disk after a power failure.
        let line = line.replace(" (deleted)", "");
        let words: Vec<&str> = line.split(' ').collect();
        let path = words[1].to_owned();
        let number = |word: usize| words[word].parse::<usize>().unwrap();
        let operation = match words[0] {
            "C" => Operation::Create(path),
            "W" => {
                let bytes = journal[at..at + number(3)].to_vec();
                at += bytes.len();
                Operation::Write(path, number(2), bytes)
            }
            "T" => Operation::Cut(path, number(2)),
            "S" => Operation::Sync(path),
            "L" => Operation::Link(path, words[2].to_owned()),
            "R" => Operation::Rename(path, words[2].to_owned()),
            "U" => Operation::Unlink(path),
            other => panic!("{other} in the journal"),
        };
        records.push(Record { end: at, operation });
    }
    records
}

impl Disk {
    /// Applies a record, if it concerns a file directly in the directory.
    pub fn apply(&mut self, record: &Record, directory: &Path) {
        let name = |path: &str| {
            let path = Path::new(path);
            let file = path.file_name().unwrap().to_str().unwrap().to_owned();
            (path.parent() == Some(directory)).then_some(file)
        };
        match &record.operation {
            Operation::Create(path) => {
                if let Some(name) = name(path).filter(|name| !self.names.contains_key(name)) {
                    self.files.push(File::default());
                    self.set_name(name, Some(self.files.len() - 1));
                }
            }
            Operation::Write(path, offset, bytes) => {
                if let Some(name) = name(path) {
                    self.file(&name).pending.push(Pending::Write(*offset, bytes.clone()));
                }
            }
            Operation::Cut(path, size) => {
                if let Some(name) = name(path) {
                    self.file(&name).pending.push(Pending::Cut(*size));
                }
            }
            Operation::Sync(path) if Path::new(path) == directory => {
                self.lasting_names = self.names.clone();
                self.pending_names.clear();
            }
            Operation::Sync(path) => {
                if let Some(name) = name(path) {
                    self.file(&name).sync();
                }
            }
            Operation::Link(old, new) | Operation::Rename(old, new) => {
                let old = name(old).unwrap();
                self.set_name(name(new).unwrap(), Some(self.names[&old]));
                if matches!(record.operation, Operation::Rename(..)) {
                    self.set_name(old, None);
                }
            }
            Operation::Unlink(path) => {
                if let Some(name) = name(path) {
                    self.set_name(name, None);
                }
            }
        }
    }

    fn file(&mut self, name: &str) -> &mut File {
        let file = self.names.get(name).unwrap_or_else(|| panic!("{name} was never created"));
        &mut self.files[*file]
    }

    fn set_name(&mut self, name: String, file: Option<usize>) {
        match file {
            Some(file) => self.names.insert(name.clone(), file),
            None => self.names.remove(&name),
        };
        self.pending_names.push((name, file));
    }

    /// The content that the program sees while the power is on.
    pub fn content(&self) -> Content {
        let content = |(name, file): (&String, &usize)| {
            let File { lasting, pending } = &self.files[*file];
            let mut bytes = lasting.clone();
            pending.iter().for_each(|pending| pending.apply_to(&mut bytes));
            (name.clone(), bytes)
        };
        self.names.iter().map(content).collect()
    }

    /// A possible state of the disk after a power loss.
    pub fn after_power_loss(&self, dice: &mut Dice) -> Content {
        let mut names: BTreeMap<&String, Vec<Option<usize>>> = BTreeMap::new();
        for (name, file) in &self.lasting_names {
            names.insert(name, vec![Some(*file)]);
        }
        for (name, file) in &self.pending_names {
            names.entry(name).or_insert_with(|| vec![None]).push(*file);
        }
        // Sometimes none or all of the unsynced data is kept; usually a part.
        let mood = dice.within(0..8);
        let mut content = Content::new();
        for (name, files) in names {
            let file = match mood {
                0 => files[0],
                1 => files[files.len() - 1],
                _ => *dice.pick(&files),
            };
            if let Some(file) = file {
                content.insert(name.clone(), self.files[file].after_power_loss(mood, dice));
            }
        }
        content
    }

    /// The number of writes and names that are not synced.
    pub fn pending(&self) -> usize {
        let open: BTreeSet<usize> = self.names.values().copied().collect();
        let writes: usize = open.iter().map(|file| self.files[*file].pending.len()).sum();
        writes + self.pending_names.len()
    }
}

impl File {
    fn sync(&mut self) {
        for pending in std::mem::take(&mut self.pending) {
            pending.apply_to(&mut self.lasting);
        }
    }

    fn after_power_loss(&self, mood: usize, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.lasting.clone();
        for pending in &self.pending {
            match (mood, dice.within(0..4)) {
                (0, _) | (2.., 0) => {}
                (2.., 1) => pending.tear(&mut bytes, dice),
                // The file already has its new length, but the data is not written yet.
                (2.., 2) if dice.once_in(4) => {
                    if let Pending::Write(offset, written) = pending {
                        let size = bytes.len().max(offset + written.len());
                        bytes.resize(size, 0);
                    }
                }
                _ => pending.apply_to(&mut bytes),
            }
        }
        bytes
    }
}

impl Pending {
    fn apply_to(&self, bytes: &mut Vec<u8>) {
        match self {
            Pending::Cut(size) => bytes.resize(*size, 0),
            Pending::Write(offset, written) => {
                bytes.resize(bytes.len().max(offset + written.len()), 0);
                bytes[*offset..offset + written.len()].copy_from_slice(written);
            }
        }
    }

    /// Writes only some of the sectors.
    fn tear(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        let Pending::Write(offset, written) = self else { return };
        let end = offset + written.len();
        for sector in offset / SECTOR..end.div_ceil(SECTOR) {
            let (from, to) = ((*offset).max(sector * SECTOR), end.min((sector + 1) * SECTOR));
            let part = &written[from - offset..to - offset];
            match dice.within(0..8) {
                0..4 => Pending::Write(from, part.to_vec()).apply_to(bytes),
                4 if part.len() == SECTOR => {
                    let rubbish = (0..SECTOR).map(|_| dice.number() as u8).collect();
                    Pending::Write(from, rubbish).apply_to(bytes);
                }
                _ => {}
            }
        }
    }
}
