//! The logs and witnesses that a reader trusts: `tlog-policy`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use super::key::{KeyUse, VerificationKey};
use super::note::Note;
use crate::model::{ParseError, quoted};

/// The keys of logs, the witnesses, and the witnesses or groups that must have seen a checkpoint.
///
/// # Syntax
///
/// ```text
/// log VKEY [URL]
/// witness NAME VKEY [URL]
/// group NAME any|all|K NAME…
/// quorum NAME|none
/// ```
///
/// A group is met if the given number of its members have seen the checkpoint. Each name is a member at most
/// once, and must be defined on an earlier line. Empty lines and lines that begin with `#` are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The keys with which logs sign. A log whose key is being replaced has two.
    pub logs: Vec<VerificationKey>,
    /// The witnesses.
    pub witnesses: Vec<Witness>,
    /// The groups by name, each with the number of needed members, and the members.
    groups: BTreeMap<String, (usize, Vec<String>)>,
    /// The witness or the group that is needed. `None` means that no witness is needed.
    quorum: Option<String>,
}

/// A witness of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness {
    /// Its name in the policy.
    pub name: String,
    /// The key with which it cosigns.
    pub key: VerificationKey,
    /// The URL to which checkpoints are sent. `None` means that they are not sent to this witness.
    pub url: Option<String>,
}

impl Policy {
    /// A policy that trusts a log without any witnesses.
    pub fn of_log(key: VerificationKey) -> Self {
        let (witnesses, groups) = (Vec::new(), BTreeMap::new());
        Policy { logs: vec![key], witnesses, groups, quorum: None }
    }

    /// The names of the witnesses that have cosigned a note.
    pub fn seen_by(&self, note: &Note) -> Vec<&str> {
        let seen = |witness: &&Witness| matches!(note.verified(&witness.key), Ok(Some(_)));
        self.witnesses.iter().filter(seen).map(|it| &*it.name).collect()
    }

    /// Whether these witnesses meet the quorum.
    pub fn is_met_by(&self, witnesses: &BTreeSet<&str>) -> bool {
        self.quorum.as_deref().is_none_or(|name| self.is_seen_by(name, witnesses))
    }

    /// Whether a witness or a group has seen a checkpoint that these witnesses cosigned.
    fn is_seen_by(&self, name: &str, witnesses: &BTreeSet<&str>) -> bool {
        match self.groups.get(name) {
            None => witnesses.contains(name),
            Some((needed, members)) => {
                members.iter().filter(|member| self.is_seen_by(member, witnesses)).count()
                    >= *needed
            }
        }
    }

    /// Adds the definition on a line.
    fn add(&mut self, words: &[&str], is_member: &mut BTreeSet<String>) -> Result<(), String> {
        let key = |text: &str, key_use| {
            let key: VerificationKey =
                text.parse().map_err(|error: ParseError| error.to_string())?;
            let is_other = key.key_use() != key_use;
            if is_other {
                return Err(format!("{} is not the key of a {}", key.name(), words[0]));
            }
            let mut keys =
                self.logs.iter().chain(self.witnesses.iter().map(|witness| &witness.key));
            match keys.any(|other| other.public() == key.public()) {
                true => Err(format!("the key of {} is in the policy twice", key.name())),
                false => Ok(key),
            }
        };
        let is_defined = |name: &str| {
            self.groups.contains_key(name)
                || self.witnesses.iter().any(|witness| witness.name == name)
        };
        let is_new = |name: &str| match is_defined(name) || name == "none" {
            true => Err(format!("the name {} is defined already", quoted(name))),
            false => Ok(name.to_owned()),
        };
        match words {
            ["log", vkey] | ["log", vkey, _] => {
                let key = key(vkey, KeyUse::Log)?;
                self.logs.push(key);
            }
            ["witness", name, vkey, url @ ..] if url.len() < 2 => {
                let (name, key) = (is_new(name)?, key(vkey, KeyUse::Witness)?);
                let url = url.first().map(|url| (*url).to_owned());
                self.witnesses.push(Witness { name, key, url });
            }
            ["group", name, needed, members @ ..] if !members.is_empty() => {
                let name = is_new(name)?;
                let needed = match *needed {
                    "any" => Some(1),
                    "all" => Some(members.len()),
                    number => {
                        number.parse().ok().filter(|needed| (1..=members.len()).contains(needed))
                    }
                };
                let needed = needed.ok_or("a group needs any, all, or 1 to all of its members")?;
                for member in members {
                    if !is_defined(member) || !is_member.insert((*member).to_owned()) {
                        let member = quoted(member);
                        return Err(format!(
                            "{member} is not defined before, or is a member twice"
                        ));
                    }
                }
                let members = members.iter().map(|member| (*member).to_owned()).collect();
                self.groups.insert(name, (needed, members));
            }
            ["quorum", name] if *name == "none" || is_defined(name) => {
                self.quorum = Some(*name).filter(|name| *name != "none").map(str::to_owned);
            }
            _ => return Err("not a line of a policy: log, witness, group or quorum".to_owned()),
        }
        Ok(())
    }
}

impl FromStr for Policy {
    type Err = ParseError;

    /// # Errors
    ///
    /// A line is not valid: the error has its number and the reason. The line `quorum` is missing, or occurs
    /// twice.
    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (logs, witnesses, groups) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut policy = Policy { logs, witnesses, groups, quorum: None };
        let (mut is_member, mut quorums) = (BTreeSet::new(), 0);
        if text.contains(|it: char| it.is_control() && !matches!(it, '\n' | '\t')) {
            return Err(ParseError::new("a policy has no control characters"));
        }
        for (line, number) in text.split('\n').zip(1..) {
            let words: Vec<&str> =
                line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
            if words.first().is_none_or(|word| word.starts_with('#')) {
                continue;
            }
            quorums += usize::from(words[0] == "quorum");
            let refused = |why| ParseError::new(format!("line {number}: {why}"));
            policy.add(&words, &mut is_member).map_err(refused)?;
        }
        if policy.logs.len() + policy.witnesses.len() > Note::MAX_SIGNATURES {
            let what = "a policy has at most 64 keys: as many as a checkpoint has signatures";
            return Err(ParseError::new(what));
        }
        match quorums {
            1 => Ok(policy),
            _ => Err(ParseError::new(
                "a policy has one line quorum: the name of a witness or of a group, or none",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signed::key::{SigningKey, WitnessKey};

    fn key(key_use: KeyUse, seed: u8) -> String {
        let (name, seed) = (format!("k{seed}.example"), [seed; 32]);
        match key_use {
            KeyUse::Log => SigningKey::of_seed(&name, seed).unwrap().verification_key().to_string(),
            KeyUse::Witness => WitnessKey::of_seed(&name, seed).verification_key().to_string(),
        }
    }

    #[test]
    fn a_quorum_is_met_by_as_many_members_of_groups_as_it_says() {
        let witnesses: String = (1..=5)
            .map(|n| format!("witness W{n} {}\thttps://w{n}.example/\n", key(KeyUse::Witness, n)))
            .collect();
        let text = format!(
            "# whom we believe\n\nlog {} \n{witnesses}group X 2 W1 W2 W3\n group Y any W4 W5\ngroup XY all X Y\nquorum XY\n",
            key(KeyUse::Log, 9)
        );
        let policy: Policy = text.parse().unwrap();
        assert_eq!(policy.witnesses[4].url.as_deref(), Some("https://w5.example/"));
        for (seen, is_met) in [
            ("", false),
            ("W1 W2 W3", false),
            ("W1 W4 W5", false),
            ("W1 W3 W5", true),
            ("W1 W2 W3 W4 W5", true),
            ("X Y XY", false),
        ] {
            let seen: BTreeSet<&str> = seen.split_whitespace().collect();
            assert_eq!(policy.is_met_by(&seen), is_met, "{seen:?}");
        }
        let none: Policy = text.replace("quorum XY", "quorum none").parse().unwrap();
        assert!(none.is_met_by(&BTreeSet::new()));
    }

    #[test]
    fn what_is_not_a_policy_is_refused_with_its_line() {
        let (log, one, two) =
            (key(KeyUse::Log, 1), key(KeyUse::Witness, 2), key(KeyUse::Witness, 3));
        let same = key(KeyUse::Log, 2);
        let twice = "one line quorum";
        for (text, why) in [
            (String::new(), twice),
            (format!("log {log}\n"), twice),
            ("quorum none\nquorum none\n".to_owned(), twice),
            (format!("log {one}\nquorum none\n"), "line 1: k2.example is not the key of a log"),
            (format!("witness A {log}\nquorum A\n"), "line 1: k1.example is not the key"),
            (format!("log {log}\nlog {log}\nquorum none\n"), "line 2: the key of k1.example is"),
            (format!("witness A {one}\nlog {same}\nquorum A\n"), "line 2: the key of k2.example"),
            (format!("witness A {one}\nwitness A {two}\nquorum A\n"), "line 2: the name \"A\" is"),
            (format!("witness none {one}\nquorum none\n"), "line 1: the name \"none\" is"),
            (format!("quorum A\nwitness A {one}\n"), "line 1: not a line of a policy"),
            (format!("witness A {one}\ngroup G 2 A\nquorum G\n"), "line 2: a group needs any"),
            (format!("witness A {one}\ngroup G 0 A\nquorum G\n"), "line 2: a group needs any"),
            (
                format!("witness A {one}\ngroup G any A A\nquorum G\n"),
                "line 2: \"A\" is not defined",
            ),
            (format!("witness A {one}\ngroup G any B\nquorum G\n"), "line 2: \"B\" is not defined"),
            (format!("witness A {one} u v\nquorum A\n"), "line 1: not a line"),
            ("log x\nquorum none\n".to_owned(), "line 1: \"x\" is not a verification key"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
