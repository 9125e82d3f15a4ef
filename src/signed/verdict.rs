//! The result of verifying a proof.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead};

use serde::Serialize;

use super::checkpoint::LogCheckpoint;
use super::list::ListedSet;
use super::policy::Policy;
use super::proof::StatementProof;
use super::statement::SetStatement;
use super::tree::{leaf, root_by_path};
use crate::model::{Moment, Timestamp, plural, quoted};

/// The result of verifying a proof. The statement is proved if there are no problems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProofVerdict {
    /// The statement.
    pub statement: SetStatement,
    /// The requested time.
    pub at: Option<Moment>,
    /// The log's keys that signed the checkpoint, each as a verification key.
    pub signed_by: Vec<String>,
    /// The witnesses of the policy that cosigned the checkpoint.
    pub(super) witnesses: Vec<Cosignature>,
    /// How the list was matched. `None` means that no list was given, or that it is another list.
    pub(super) list: Option<ListedBy>,
    /// The number of granules whose listed files all have a checksum at least as strong as `md5`.
    pub with_checksums: Option<u64>,
    /// The algorithms of the checksums that prove the list, the strongest first.
    pub algorithms: Vec<String>,
    /// The reasons why the statement is not proved.
    pub problems: Vec<ProofProblem>,
}

/// How a list was matched with the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListedBy {
    /// By its digest, which covers the checksums in it.
    Digest,
    /// By the MD5 chain of its names, although checksums are recorded.
    Names,
}

crate::model::shown_as_json!(ListedBy);

/// A witness's cosignature of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub(super) struct Cosignature {
    /// The name of the witness in the policy.
    pub name: String,
    /// The key of the witness.
    pub key: String,
    /// The time of the cosignature, according to the witness.
    pub at: Timestamp,
}

/// A reason why a proof proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ProofProblem {
    /// `inclusion`, `signature`, `quorum`, `date` or `list`.
    pub code: &'static str,
    /// The problem in words.
    pub text: String,
}

impl ProofVerdict {
    /// Verifies a proof against a policy and, if they are given, against a list and a time. The list is a
    /// canonical list, or only ids in canonical order; it is read to its end. If the statement or a cosignature
    /// is more than five minutes after `now`, the proof proves nothing, because nobody knows yet what will be
    /// held then.
    ///
    /// # Errors
    ///
    /// The list cannot be read; a line is longer than a line of a canonical list can be; the list has more than
    /// 64 algorithms.
    pub fn of(
        proof: &StatementProof,
        policy: &Policy,
        list: Option<&mut dyn BufRead>,
        at: Option<Moment>,
        now: Timestamp,
    ) -> io::Result<Self> {
        let mut verdict = ProofVerdict {
            statement: proof.statement.clone(),
            at,
            signed_by: Vec::new(),
            witnesses: Vec::new(),
            list: None,
            with_checksums: None,
            algorithms: Vec::new(),
            problems: Vec::new(),
        };
        verdict.examine_inclusion(proof);
        verdict.examine_signatures(proof, policy);
        if let Some(at) = at.filter(|at| !proof.statement.covers(*at)) {
            let SetStatement { from, stated, until, .. } = &proof.statement;
            let end = until
                .map_or(format!("the time it was stated, {stated}"), |until| until.to_string());
            let text = format!("{at} is outside: the statement is of {from} until {end}");
            verdict.add("date", text);
        }
        verdict.examine_times(now);
        if let Some(list) = list {
            verdict.examine_list(&ListedSet::read(list)?);
        }
        Ok(verdict)
    }

    fn add(&mut self, code: &'static str, text: String) {
        self.problems.push(ProofProblem { code, text });
    }

    fn examine_inclusion(&mut self, proof: &StatementProof) {
        let leaf = leaf(proof.statement.text().as_bytes());
        match proof.note.body.parse::<LogCheckpoint>() {
            Err(error) => self.add("inclusion", error.to_string()),
            Ok(LogCheckpoint { size, root, .. }) => {
                if root_by_path(leaf, proof.index, size, &proof.path) != Some(root) {
                    let text = "the statement is not in the tree of the checkpoint".to_owned();
                    self.add("inclusion", text);
                }
            }
        }
    }

    /// Verifies the signatures of the log and of the witnesses.
    fn examine_signatures(&mut self, proof: &StatementProof, policy: &Policy) {
        let origin = proof.note.body.lines().next().unwrap_or_default();
        for key in policy.logs.iter().filter(|key| key.name() == origin) {
            match proof.note.verified(key) {
                Ok(Some(_)) => self.signed_by.push(key.to_string()),
                Ok(None) => {}
                Err(error) => self.add("signature", error.to_string()),
            }
        }
        if self.signed_by.is_empty()
            && self.problems.iter().all(|problem| problem.code != "signature")
        {
            let text = format!("no key of the policy signed the checkpoint of {}", quoted(origin));
            self.add("signature", text);
        }
        for witness in &policy.witnesses {
            match proof.note.verified(&witness.key) {
                Ok(seen) => self.witnesses.extend(seen.flatten().map(|at| Cosignature {
                    name: witness.name.clone(),
                    key: witness.key.to_string(),
                    at,
                })),
                Err(error) => self.add("signature", error.to_string()),
            }
        }
        let names: BTreeSet<&str> = self.witnesses.iter().map(|witness| &*witness.name).collect();
        if !policy.is_met_by(&names) {
            let seen = plural(names.len() as u64, "witness");
            let text = match names.is_empty() {
                true => "no witness of the policy has seen it".to_owned(),
                false => format!("{seen} of the policy, which are not enough for its quorum"),
            };
            self.add("quorum", text);
        }
    }

    /// Compares the times of the statement and of the cosignatures with the current time.
    fn examine_times(&mut self, now: Timestamp) {
        let stated = ("it was stated".to_owned(), self.statement.stated);
        let seen = self.witnesses.iter().map(|it| (format!("{} has seen it", it.name), it.at));
        let mut future: Vec<_> = seen.chain([stated]).collect();
        future.retain(|(_, at)| *at > now.latest_elsewhere());
        for (what, at) in future {
            self.add(
                "date",
                format!("{what} at {at}, which is in the future: the clock is at {now}"),
            );
        }
    }

    fn examine_list(&mut self, list: &ListedSet) {
        let stated = &self.statement;
        let is_other_set = list.granules != stated.granules
            || list.identifier.is_some_and(|it| it != stated.identifier);
        if list.digest == stated.digest && is_other_set {
            let text = "the statement contradicts itself: its digest is that of another set";
            self.add("list", text.to_owned());
        } else if list.digest == stated.digest {
            (self.list, self.with_checksums) = (Some(ListedBy::Digest), Some(list.with_checksums));
            self.algorithms.clone_from(&list.algorithms);
        } else if list.identifier == Some(stated.identifier) {
            self.list = Some(ListedBy::Names);
        } else {
            let listed = plural(list.granules, "granule");
            let text = format!(
                "the list is not the one that is stated, which has {} and the digest {}: this one has {listed} and {}",
                plural(stated.granules, "granule"),
                stated.digest,
                list.digest
            );
            self.add("list", text);
        }
    }
}

/// One sentence with the statement, the keys that signed it, and the witnesses that saw it.
impl fmt::Display for ProofVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SetStatement { dataset, doi, granules, from, until, part, stated, .. } =
            &self.statement;
        write!(f, "stated at {stated}: ")?;
        match (self.at, until) {
            (Some(at @ Moment::Day(_)), _) => write!(f, "on {at} ")?,
            (Some(at), _) => write!(f, "at {at} ")?,
            (None, Some(until)) => write!(f, "from {from} until {until} ")?,
            (None, None) => write!(f, "from {from} until then ")?,
        }
        write!(f, "{dataset} ")?;
        if let Some(doi) = doi {
            write!(f, "(doi:{}) ", doi.as_str())?;
        }
        let these = if self.list.is_some() { "these " } else { "" };
        let and_others = if *part { ", among others" } else { "" };
        write!(f, "held {these}{}{and_others}", plural(*granules, "granule"))?;
        match (self.list, self.with_checksums) {
            (Some(ListedBy::Names), _) => write!(f, ", names, by MD5 only")?,
            (_, Some(with_checksums)) => write!(f, ", with checksums of {with_checksums}")?,
            _ => {}
        }
        if !self.algorithms.is_empty() {
            write!(f, " ({})", self.algorithms.join(", "))?;
        }
        let name = |key: &String| key.split('+').take(2).collect::<Vec<_>>().join("+");
        let signed_by: Vec<String> = self.signed_by.iter().map(name).collect();
        write!(f, "; signed by {}", signed_by.join(" and "))?;
        let witnesses = self.witnesses.iter();
        let witnesses: Vec<String> =
            witnesses.map(|Cosignature { name, at, .. }| format!("{name} at {at}")).collect();
        match witnesses.is_empty() {
            true => write!(f, "; no witness"),
            false => write!(f, "; seen by {}", witnesses.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::key::{SigningKey, WitnessKey};
    use crate::signed::note::Note;
    use crate::signed::statement::StatedSet;
    use crate::signed::tree::StatementTree;

    const POLICY: &str = "group both all one two\nquorum both\n";

    /// A proof in a tree of five statements, with a policy that needs both witnesses, and the list of the
    /// statement.
    fn proved() -> (StatementProof, Policy, &'static str) {
        let list = "A\tmd5:d41d8cd98f00b204e9800998ecf8427e\nB\n";
        let listed = ListedSet::read(list.as_bytes()).unwrap();
        let mut tree = StatementTree::default();
        let mut statements = Vec::new();
        for changes in 1..=5 {
            let set = StatedSet {
                dataset: "US.FOOL2.002".parse().unwrap(),
                doi: Some("10.9999/US/FOOL2.v2".parse().unwrap()),
                identifier: "8f714d3efb0e51ed23fb7eeecca3009b".parse().unwrap(),
                digest: listed.digest,
                granules: 2,
                from: "2001-01-03T00:00:00Z".parse().unwrap(),
                until: None,
                part: changes == 5,
                changes,
            };
            let statement = SetStatement::of(set, "2001-01-06T02:00:00Z".parse().unwrap());
            tree.push(statement.text().as_bytes());
            statements.push(statement);
        }
        let log = SigningKey::of_seed("us.example/statements", [1; 32]).unwrap();
        let [one, two] = [2, 3].map(|seed| WitnessKey::of_seed("w.example", [seed; 32]));
        let root = tree.root(5).unwrap();
        let body =
            LogCheckpoint { origin: "us.example/statements".to_owned(), size: 5, root }.to_string();
        let at = "2001-01-06T02:00:01Z".parse().unwrap();
        let signatures = vec![log.sign(&body), one.sign(&body, at), two.sign(&body, at)];
        let note = Note { body, signatures };
        let (log, one, two) =
            (log.verification_key(), one.verification_key(), two.verification_key());
        let policy = format!("log {log}\nwitness one {one}\nwitness two {two}\n{POLICY}");
        let path = tree.inclusion(2, 5).unwrap();
        let proof = StatementProof { statement: statements.remove(2), index: 2, path, note };
        (proof, policy.parse().unwrap(), list)
    }

    /// A time after the statement.
    fn now() -> Timestamp {
        "2001-02-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn a_proof_that_was_stated_or_seen_in_the_future_proves_nothing() {
        let (proof, policy, _) = proved();
        let texts = |now: &str| {
            let now = now.parse().unwrap();
            let verdict = ProofVerdict::of(&proof, &policy, None, None, now).unwrap();
            assert!(verdict.problems.iter().all(|problem| problem.code == "date"));
            verdict.problems.into_iter().map(|problem| problem.text).collect::<Vec<_>>()
        };
        assert_eq!(texts("2001-01-06T01:55:01Z"), [] as [&str; 0]);
        // The witnesses saw it a second after the statement.
        let future = "which is in the future: the clock is at 2001-01-06T01:55:00.999999Z";
        assert_eq!(
            texts("2001-01-06T01:55:00.999999Z"),
            ["one", "two"].map(|it| format!("{it} has seen it at 2001-01-06T02:00:01Z, {future}"))
        );
        let texts = texts("2001-01-01T00:00:00Z");
        assert_eq!(texts.len(), 3);
        assert!(texts[2].starts_with("it was stated at 2001-01-06T02:00:00Z, which"), "{texts:?}");
    }

    #[test]
    fn a_proof_says_in_a_sentence_what_was_held_and_who_saw_it() {
        let (proof, policy, list) = proved();
        let at = Some("2001-01-05".parse().unwrap());
        let with = |mut list: &[u8], at| {
            ProofVerdict::of(&proof, &policy, Some(&mut list), at, now()).unwrap()
        };
        let verdict = with(list.as_bytes(), at);
        assert_eq!(verdict.problems, []);
        let id = format!("{:08x}", policy.logs[0].id());
        let (one, two) = ("one at 2001-01-06T02:00:01Z", "two at 2001-01-06T02:00:01Z");
        assert_eq!(
            verdict.to_string(),
            format!(
                "stated at 2001-01-06T02:00:00Z: on 2001-01-05 US.FOOL2.002 (doi:10.9999/US/FOOL2.v2) held these 2 granules, with checksums of 1 (md5); signed by us.example/statements+{id}; seen by {one}, {two}"
            )
        );
        assert_eq!(proof.to_string().parse(), Ok(proof.clone()));
        let verdict = with(b"A\nB\n", None);
        assert!(
            verdict.to_string().contains("held these 2 granules, names, by MD5 only; signed by")
        );
        assert!(
            verdict.to_string().contains(": from 2001-01-03T00:00:00Z until then US.FOOL2.002")
        );
    }

    #[test]
    fn every_problem_has_its_own_code() {
        let (proof, policy, _) = proved();
        let codes = |proof: &StatementProof, policy: &Policy, list: &str, at: &str| {
            let at = Some(at.parse().unwrap());
            let mut list = list.as_bytes();
            let verdict = ProofVerdict::of(proof, policy, Some(&mut list), at, now()).unwrap();
            verdict.problems.iter().map(|problem| problem.code).collect::<Vec<_>>()
        };
        let (list, at) = ("A\nB\n", "2001-01-05");
        assert_eq!(codes(&proof, &policy, list, at), [] as [&str; 0]);
        assert_eq!(codes(&proof, &policy, "A\n", "2001-01-07"), ["date", "list"]);
        let moved = StatementProof { index: 3, ..proof.clone() };
        assert_eq!(codes(&moved, &policy, list, at), ["inclusion"]);
        let mut unsigned = proof.clone();
        unsigned.note.signatures.remove(0);
        assert_eq!(codes(&unsigned, &policy, list, at), ["signature"]);
        let mut unseen = proof.clone();
        unseen.note.signatures.pop();
        assert_eq!(codes(&unseen, &policy, list, at), ["quorum"]);
        let other = SigningKey::of_seed("us.example/other", [1; 32]).unwrap();
        let other = Policy::of_log(other.verification_key().clone());
        assert_eq!(codes(&proof, &other, list, at), ["signature"]);
    }

    /// In a proof whose parts are all needed, a hash or a signature protects each part.
    #[test]
    fn a_proof_with_any_bit_flipped_proves_nothing() {
        let (proof, policy, _) = proved();
        let text = proof.to_string();
        for byte in 0..text.len() {
            for bit in 0..8 {
                let mut flipped = text.clone().into_bytes();
                flipped[byte] ^= 1 << bit;
                let Ok(flipped) = String::from_utf8(flipped) else { continue };
                if let Ok(read) = flipped.parse::<StatementProof>() {
                    let verdict = ProofVerdict::of(&read, &policy, None, None, now()).unwrap();
                    assert_ne!(verdict.problems, [], "bit {bit} of byte {byte}:\n{flipped}");
                }
            }
        }
    }
}
