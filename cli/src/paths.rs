//! Paths as arguments, and listed paths that contain granule ids.

use std::path::PathBuf;

use accession::ErrorKind;
use clap::ValueEnum;
use clap::builder::{OsStringValueParser, TypedValueParser};

use super::error::Error;

/// Parses a path. Rejects `-`, because users mean a pipe by it and not a file of that name.
pub fn named_path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text| match text.as_encoded_bytes() {
        b"-" => Err("this cannot be standard input or output; a file of this name is ./-"),
        b"" => Err("the path is empty"),
        _ => Ok(PathBuf::from(text)),
    })
}

/// How an id is made of what a list contains.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PathArgs {
    /// Part of each path that is the id: path, name or stem
    ///
    /// The default is path. The stem is the name without its last extension. A leading ./ is always removed.
    #[arg(
        long = "granule",
        value_name = "PART",
        value_enum,
        default_value_t = Part::Path,
        hide_default_value = true,
        hide_possible_values = true
    )]
    part: Part,

    /// Remove this prefix from ids
    #[arg(long, value_name = "P", help_heading = "Reading listings", hide_short_help = true)]
    strip_prefix: Option<String>,

    /// Remove this suffix from ids
    #[arg(long, value_name = "S", help_heading = "Reading listings", hide_short_help = true)]
    strip_suffix: Option<String>,
}

/// A part of a path.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
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
    /// Whether an id may differ from the listed path by more than a leading `./`.
    pub fn changes_ids(&self) -> bool {
        let is_path = matches!(self.part, Part::Path);
        !is_path || self.strip_prefix.is_some() || self.strip_suffix.is_some()
    }

    /// The first of these options that was given.
    pub fn given(&self) -> Option<&'static str> {
        let is_part = !matches!(self.part, Part::Path);
        let given = is_part.then_some("--granule");
        let given = given.or(self.strip_prefix.is_some().then_some("--strip-prefix"));
        given.or(self.strip_suffix.is_some().then_some("--strip-suffix"))
    }

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
}

/// The hint if whole paths were read as ids.
pub const OF_PATHS: &str =
    "--granule name or stem, --strip-prefix and --strip-suffix keep what of a path is the id";

/// Adds a hint to the error if a granule is not held and its id is a path.
pub fn with_hint_of_paths(error: Error) -> Error {
    let is_path = error.granule().is_some_and(|granule_id| granule_id.as_str().contains('/'));
    match error.kind() == ErrorKind::NotHeld && is_path {
        true => error.with_hint(OF_PATHS),
        false => error,
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
}
