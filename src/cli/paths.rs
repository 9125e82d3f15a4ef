//! Granule ids that are listed as paths: which part of a path is the id, and which option would make a
//! list match.

use std::collections::BTreeSet;
use std::fmt;

use accession::{DatasetName, ErrorKind, GranuleId, Selection, Snapshot};
use clap::ValueEnum;

use super::error::{Error, Result};
use super::output::single_quoted;
use super::session::Session;

/// How an id is made of what a list contains.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, clap::Args)]
pub struct PathArgs {
    /// What of each listed path is the id: the path, the name of the file, or its stem, which lacks
    /// the last extension. A leading ./ is always removed
    #[arg(long = "granule", value_name = "PART", value_enum, default_value_t = Part::Path)]
    part: Part,

    /// Remove this from the beginning of each id that begins so
    #[arg(long, value_name = "P")]
    strip_prefix: Option<String>,

    /// Remove this from the end of each id that ends so
    #[arg(long, value_name = "S")]
    strip_suffix: Option<String>,
}

/// A part of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
enum Part {
    /// The whole path
    #[default]
    Path,
    /// The name of the file
    Name,
    /// The name of the file without its last extension
    Stem,
}

impl PathArgs {
    /// The id in a listed path. It may be empty.
    pub fn id_of<'text>(&self, text: &'text str) -> &'text str {
        let path = text.strip_prefix("./").unwrap_or(text);
        let name = path.rsplit('/').next().unwrap_or_default();
        let part = match self.part {
            Part::Path => path,
            Part::Name => name,
            Part::Stem => match name.rsplit_once('.') {
                Some((stem, _)) if !stem.is_empty() => stem,
                _ => name,
            },
        };
        let prefix = self.strip_prefix.as_deref().unwrap_or_default();
        let part = part.strip_prefix(prefix).unwrap_or(part);
        let suffix = self.strip_suffix.as_deref().unwrap_or_default();
        part.strip_suffix(suffix).unwrap_or(part)
    }

    /// The options that make another id of this one, each in one way.
    fn of_path(text: &str) -> Vec<PathArgs> {
        let of = |part| PathArgs { part, ..PathArgs::default() };
        let prefix = |at| PathArgs { strip_prefix: Some(text[..=at].to_owned()), ..of(Part::Path) };
        let suffix = |at| PathArgs { strip_suffix: Some(text[at..].to_owned()), ..of(Part::Path) };
        let name = text.rfind('/').map_or(0, |at| at + 1);
        let mut found = vec![of(Part::Name), of(Part::Stem)];
        found.extend(text.match_indices('/').map(|(at, _)| prefix(at)));
        found.extend(text[name..].match_indices('.').map(|(at, _)| suffix(name + at)));
        found.retain(|options| options.id_of(text) != text);
        found
    }
}

impl fmt::Display for PathArgs {
    /// Writes the options as they are typed in a shell.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Path => None,
            Part::Name => Some("--granule name".to_owned()),
            Part::Stem => Some("--granule stem".to_owned()),
        };
        let prefix = self.strip_prefix.as_deref();
        let prefix = prefix.map(|prefix| format!("--strip-prefix {}", single_quoted(prefix)));
        let suffix = self.strip_suffix.as_deref();
        let suffix = suffix.map(|suffix| format!("--strip-suffix {}", single_quoted(suffix)));
        let options: Vec<String> = part.into_iter().chain(prefix).chain(suffix).collect();
        f.write_str(&options.join(" "))
    }
}

/// The first ids of a list, of which it is found out whether an option would make them match.
#[derive(Debug, Default)]
pub struct Samples(Vec<Sample>);

#[derive(Debug)]
struct Sample {
    /// As it is listed, without a `./` before it.
    listed: String,
    granule_id: GranuleId,
}

/// Options with which ids of a list are held.
pub struct Matching {
    /// Which they are, in words.
    pub message: String,
    /// Whether all of the samples are held then.
    pub is_of_all: bool,
}

impl Samples {
    /// The number of ids that are kept.
    const MAX: usize = 20;

    /// Keeps one of the first ids, and how it is listed.
    pub fn add(&mut self, listed: &str, granule_id: &GranuleId) {
        if self.0.len() < Samples::MAX {
            let listed = PathArgs::default().id_of(listed).to_owned();
            self.0.push(Sample { listed, granule_id: granule_id.clone() });
        }
    }

    /// Whether each of them has a `/`.
    pub fn are_paths(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(|it| it.granule_id.as_str().contains('/'))
    }

    /// The options with which most of the ids are held in a set, if none of them is held as it is.
    ///
    /// # Errors
    ///
    /// The registry cannot be read, or the set is not known.
    pub fn matching(&self, snapshot: &Snapshot, selection: &Selection) -> Result<Option<Matching>> {
        /// The greatest number of ways that are tried, which are those of the first id.
        const MAX_WAYS: usize = 16;
        let Some(first) = self.0.first() else { return Ok(None) };
        let mut ways = PathArgs::of_path(&first.listed);
        ways.truncate(MAX_WAYS);
        let own = self.0.iter().map(|sample| sample.granule_id.clone());
        let wanted = ways.iter().flat_map(|way| self.made(way)).chain(own);
        let wanted: BTreeSet<GranuleId> = wanted.collect();
        let set = snapshot.select(selection)?.set;
        let wanted: Vec<GranuleId> = wanted.into_iter().collect();
        let held: BTreeSet<GranuleId> = snapshot.held_among(&set, &wanted)?.into_iter().collect();
        if self.0.iter().any(|sample| held.contains(&sample.granule_id)) {
            return Ok(None);
        }
        let count = |way: &PathArgs| self.made(way).iter().filter(|&id| held.contains(id)).count();
        // Of those that match equally many, the first is suggested.
        let best = ways.into_iter().map(|way| (count(&way), way)).rev().max_by_key(|best| best.0);
        let samples = self.0.len();
        Ok(best.filter(|(held, _)| *held > 0).map(|(held, options)| Matching {
            message: format!(
                "none of the listed ids is held; with {options}, {held} of the first {samples} are"
            ),
            is_of_all: held == samples,
        }))
    }

    /// The ids that options make of these.
    fn made(&self, way: &PathArgs) -> Vec<GranuleId> {
        self.0.iter().filter_map(|sample| GranuleId::new(way.id_of(&sample.listed)).ok()).collect()
    }

    /// The same for the latest set of a dataset. Whatever fails, nothing is suggested.
    pub fn matching_latest(&self, session: &Session, dataset: &DatasetName) -> Option<Matching> {
        if self.0.is_empty() {
            return None;
        }
        let snapshot = session.open_existing().ok()??.snapshot().ok()?;
        let selection = Selection::Dataset { name: dataset.clone(), at: None };
        self.matching(&snapshot, &selection).ok()?
    }

    /// The error; of a change of granules that are not held, with a hint of the options with which they are.
    pub fn hint(&self, error: Error, session: &Session, dataset: &DatasetName) -> Error {
        let is_of_list = matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::TooManyDeletions);
        match is_of_list.then(|| self.matching_latest(session, dataset)).flatten() {
            Some(matching) => error.with_hint(matching.message),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(part: Part, prefix: &str, suffix: &str) -> PathArgs {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        PathArgs { part, strip_prefix: given(prefix), strip_suffix: given(suffix) }
    }

    #[test]
    fn an_id_is_made_of_a_path_in_this_order() {
        for (part, prefix, suffix, text, id) in [
            (Part::Path, "", "", "./a/b.nc", "a/b.nc"),
            (Part::Path, "", "", "././a", "./a"),
            (Part::Path, "", "", "../a", "../a"),
            (Part::Name, "", "", "./a/b.nc", "b.nc"),
            (Part::Stem, "", "", "a/b.tar.gz", "b.tar"),
            (Part::Stem, "", "", ".hidden", ".hidden"),
            (Part::Stem, "", "", "plain", "plain"),
            (Part::Path, "a/", ".nc", "./a/b.nc", "b"),
            (Part::Path, "./a/", "", "./a/b.nc", "a/b.nc"),
            (Part::Name, "b", ".nc", "x/b.1.nc", ".1"),
            (Part::Stem, "", ".nc", "x/b.nc", "b"),
            (Part::Path, "z", ".z", "b.nc", "b.nc"),
            (Part::Name, "", "", "a/", ""),
        ] {
            assert_eq!(options(part, prefix, suffix).id_of(text), id, "{text}");
        }
    }

    #[test]
    fn every_way_makes_another_id_and_is_written_for_a_shell() {
        let ways = PathArgs::of_path("data/it's/A.nc.zip");
        assert!(ways.iter().all(|way| way.id_of("data/it's/A.nc.zip") != "data/it's/A.nc.zip"));
        let shown: Vec<String> = ways.iter().map(ToString::to_string).collect();
        for way in [
            "--granule name",
            "--granule stem",
            "--strip-prefix 'data/it'\\''s/'",
            "--strip-suffix '.nc.zip'",
        ] {
            assert!(shown.iter().any(|shown| shown == way), "{way}: {shown:?}");
        }
        assert!(PathArgs::of_path("plain").is_empty());
    }
}
