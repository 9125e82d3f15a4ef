//! A primary that publishes any lines that a test writes, each with its correct check, and a head that
//! announces them.

use std::io::Write;
use std::path::{Path, PathBuf};

use accession::chain::Chain;
use accession::{Identifier, Timestamp};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use crate::oracle::naive_digest;

/// A log in the directory of the dataset `us`, written line by line.
#[derive(Debug)]
pub struct HostileLog {
    directory: PathBuf,
    /// The check of the latest line.
    check: String,
    /// The lines of the newest segment.
    growing: Vec<u8>,
    /// The members of the head about the earlier segments.
    sealed: Vec<String>,
    changes: u64,
    last: Option<(Timestamp, Identifier, String)>,
    granules: u64,
    subsets: (u64, Vec<u8>),
}

/// A segment is complete after the line with which it exceeds this length.
const SEGMENT_BYTES: usize = 4 * 1_024 * 1_024;

impl HostileLog {
    /// A log below the root of a web server.
    pub fn below(root: &Path) -> Self {
        let directory = root.join("datasets/us");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(directory.join("log")).unwrap();
        let mut log = HostileLog {
            directory,
            check: String::new(),
            growing: Vec::new(),
            sealed: Vec::new(),
            changes: 0,
            last: None,
            granules: 0,
            subsets: (0, Vec::new()),
        };
        log.line("{\"accession_log\":3,\"rule\":\"md5-chain\"");
        log
    }

    /// Adds a line. `body` lacks the check and the closing brace.
    pub fn line(&mut self, body: &str) {
        if self.growing.len() > SEGMENT_BYTES {
            self.seal();
        }
        let before = match self.check.as_str() {
            "" => String::new(),
            check => format!("{check}\n"),
        };
        self.check = hex::encode(Sha256::digest(format!("{before}{body}\n")));
        writeln!(self.growing, "{body},\"check\":\"{}\"}}", self.check).unwrap();
    }

    /// Writes the newest segment, which is complete, in compressed form only, and starts another.
    fn seal(&mut self) {
        let segment = self.segment();
        let name = format!("log/{:06}.jsonl.gz", self.sealed.len());
        let file = std::fs::File::create(self.directory.join(name)).unwrap();
        let header = GzBuilder::new().comment(self.check.as_str());
        let mut zipped = header.write(file, Compression::best());
        zipped.write_all(&self.growing).unwrap();
        zipped.finish().unwrap();
        self.sealed.push(segment);
        self.growing.clear();
    }

    fn segment(&self) -> String {
        let (bytes, check) = (self.growing.len(), &self.check);
        format!("{{\"bytes\":{bytes},\"timestamp\":null,\"check\":\"{check}\"}}")
    }

    /// Adds a change after which `held` are held, in canonical order. Its line has these lists of ingested and
    /// deleted granules, as JSON, and this note.
    pub fn change(
        &mut self,
        at: Timestamp,
        [ingested, deleted]: [&str; 2],
        note: &str,
        held: &[impl AsRef<str>],
    ) {
        let mut chain = Chain::start();
        held.iter().for_each(|id| chain.push(id.as_ref()));
        let identifier = chain.identifier();
        let digest = naive_digest(held.iter().map(AsRef::as_ref)).to_string();
        let note = serde_json::to_string(note).unwrap();
        self.line(&format!(
            "{{\"timestamp\":\"{at}\",\"ingested\":{ingested},\"deleted\":{deleted},\"described\":[],\"replaced\":[],\"note\":{note},\"identifier\":\"{identifier}\",\"digest\":\"{digest}\""
        ));
        self.announce(at, (identifier, &digest), held.len() as u64);
    }

    /// Counts the lines since the previous change as one more change.
    pub fn announce(
        &mut self,
        at: Timestamp,
        (identifier, digest): (Identifier, &str),
        granules: u64,
    ) {
        (self.last, self.granules) = (Some((at, identifier, digest.to_owned())), granules);
        self.changes += 1;
    }

    /// Adds lines of cited subsets.
    pub fn subset(&mut self, line: &str) {
        self.subsets.0 += 1;
        self.subsets.1.extend(line.as_bytes());
    }

    /// Writes the lines that are not written yet, and the head. Returns the number of bytes of all files.
    pub fn finish(&mut self) -> u64 {
        let last = format!("log/{:06}.jsonl", self.sealed.len());
        std::fs::write(self.directory.join(last), &self.growing).unwrap();
        std::fs::write(self.directory.join("subsets.jsonl"), &self.subsets.1).unwrap();
        let segments: Vec<String> = self.sealed.iter().cloned().chain([self.segment()]).collect();
        let (at, identifier, digest) = self.last.clone().unwrap();
        let body = format!(
            "{{\"accession_head\":3,\"rule\":\"md5-chain\",\"dataset\":{{\"name\":\"us\"}},\"former_names\":[],\"withdrawn\":null,\"changes\":{},\"timestamp\":\"{at}\",\"identifier\":\"{identifier}\",\"digest\":\"{digest}\",\"granules\":{},\"check\":\"{}\",\"segments\":[{}],\"subsets\":{{\"count\":{},\"bytes\":{},\"sha256\":\"{}\"}}",
            self.changes,
            self.granules,
            self.check,
            segments.join(","),
            self.subsets.0,
            self.subsets.1.len(),
            hex::encode(Sha256::digest(&self.subsets.1)),
        );
        self.head(&body);
        let files = ["", "log"].map(|it| std::fs::read_dir(self.directory.join(it)).unwrap());
        files
            .into_iter()
            .flatten()
            .map(|it| it.unwrap().metadata().unwrap())
            .filter(std::fs::Metadata::is_file)
            .map(|it| it.len())
            .sum()
    }

    /// Writes a head. `body` lacks the SHA-256 and the closing brace.
    pub fn head(&self, body: &str) {
        let sha256 = hex::encode(Sha256::digest(body));
        let head = format!("{body},\"sha256\":\"{sha256}\"}}\n");
        std::fs::write(self.directory.join("head.json"), head).unwrap();
    }
}
