//! Display, serialization and parsing of values that are strings.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use super::{
    Algorithm, Creator, DatasetName, Day, Digest, DigestPrefix, Doi, Expected, FilePath, GranuleId,
    GranuleUrl, Identifier, Keyword, Licence, Limit, LineCheck, Moment, Orcid, Pattern, Temporal,
    Timestamp, WebAddress,
};

/// Implements `Display` with the value's string.
macro_rules! shown_as_str {
    ($($value:ty),+) => { $(
        impl std::fmt::Display for $value {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )+ };
}

/// Implements `Debug` with the value's written form, or its string in quotes.
macro_rules! debug {
    ($($value:ty: $shown:expr),+) => { $(
        impl std::fmt::Debug for $value {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let shown: fn(&Self, &mut std::fmt::Formatter<'_>) -> std::fmt::Result = $shown;
                shown(self, f)
            }
        }
    )+ };
}

/// Implements `Debug` with the name of the type and some of the fields.
macro_rules! debug_fields {
    ($value:ident $(<$lifetime:lifetime>)? $(: $($field:ident),+)?) => {
        impl std::fmt::Debug for $value $(<$lifetime>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($value))
                    $($(.field(stringify!($field), &self.$field))+)?
                    .finish_non_exhaustive()
            }
        }
    };
}

/// Implements `Display` with the name that the value has in JSON.
macro_rules! shown_as_json {
    ($($value:ty),+) => { $(
        impl std::fmt::Display for $value {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    )+ };
}

pub(crate) use {debug, debug_fields, shown_as_json, shown_as_str};

/// Implements `Serialize` with `Display`, and `Deserialize` with `FromStr`.
macro_rules! serde_as_text {
    ($($value:ty),+) => { $(
        impl Serialize for $value {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $value {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str(Text(PhantomData))
            }
        }
    )+ };
}

/// Implements `Display`, and conversions to strings and, by parsing, from strings.
macro_rules! converted_as_str {
    ($($value:ty),+) => { shown_as_str!($($value),+); $(
        impl AsRef<str> for $value {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl TryFrom<&str> for $value {
            type Error = <$value as FromStr>::Err;

            fn try_from(text: &str) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl TryFrom<String> for $value {
            type Error = <$value as FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    )+ };
}

/// Implements look-ups by string: `Eq`, `Ord` and `Hash` of the value and its string agree.
macro_rules! borrowed_as_str {
    ($($value:ty),+) => { $(
        impl Borrow<str> for $value {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }
    )+ };
}

converted_as_str!(
    DatasetName,
    Doi,
    FilePath,
    GranuleId,
    GranuleUrl,
    Keyword,
    Licence,
    Orcid,
    Pattern,
    WebAddress
);

// Not `Doi`, which ignores case.
borrowed_as_str!(DatasetName, FilePath, GranuleId, Keyword, Orcid, WebAddress);

shown_as_str!(Algorithm);

debug!(
    DatasetName: |name, f| fmt::Debug::fmt(name.as_str(), f),
    Day: fmt::Display::fmt,
    Digest: fmt::Display::fmt,
    FilePath: |path, f| fmt::Debug::fmt(path.as_str(), f),
    GranuleId: |granule_id, f| fmt::Debug::fmt(granule_id.as_str(), f),
    Identifier: fmt::Display::fmt,
    LineCheck: fmt::Display::fmt,
    Timestamp: fmt::Display::fmt
);

serde_as_text!(
    Creator,
    DatasetName,
    Day,
    Digest,
    DigestPrefix,
    Doi,
    Expected,
    GranuleId,
    GranuleUrl,
    Identifier,
    Keyword,
    Licence,
    Limit,
    LineCheck,
    Moment,
    Orcid,
    Pattern,
    Temporal,
    Timestamp,
    WebAddress
);

/// A visitor that parses a string.
struct Text<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn is_kept<T: Serialize + for<'de> Deserialize<'de> + FromStr + PartialEq + Debug>(
        text: &str,
        refused: &str,
    ) {
        let json = serde_json::Value::from(text).to_string();
        let value: T = serde_json::from_str(&json).unwrap();
        assert_eq!(text.parse::<T>().ok().as_ref(), Some(&value));
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        for other in [serde_json::Value::from(refused), 1.into(), serde_json::Value::Null] {
            serde_json::from_value::<T>(other).unwrap_err();
        }
    }

    #[test]
    fn a_map_is_searched_by_the_string_of_its_key() {
        let name: DatasetName = "US".to_owned().try_into().unwrap();
        let names = std::collections::HashMap::from([(name, 1)]);
        assert_eq!((names.get("US"), names.get("us")), (Some(&1), None));
        assert_eq!(GranuleId::try_from("a b").unwrap().as_ref(), "a b");
        GranuleId::try_from("a\tb").unwrap_err();
    }

    #[test]
    fn a_value_is_read_from_json_as_it_was_written() {
        is_kept::<Creator>("Carberry, Josiah (0000-0002-1825-0097)", "");
        is_kept::<DatasetName>("US.FOOL2", "A@B");
        is_kept::<Day>("2001-01-02", "2001-02-30");
        is_kept::<Doi>("10.5067/ABC", "US");
        is_kept::<GranuleId>("\"A\" \\ é", "a\tb");
        is_kept::<GranuleUrl>("https://example.org/{granule}", "https://example.org/");
        is_kept::<Identifier>("763122197bfb3ffbf0da14adbfb1b13b", "7631");
        is_kept::<Keyword>("sea ice", " ");
        is_kept::<Licence>("CC-BY-4.0", "CC BY 4.0");
        is_kept::<Moment>("2001-01-02", "noon");
        is_kept::<Moment>("2001-01-02T00:00:00Z", "2001-01-02T00");
        is_kept::<Orcid>("0000-0002-1825-0097", "0000-0002-1825-0098");
        is_kept::<Pattern>("a*", "[a");
        is_kept::<Temporal>("2001-01-02/..", "../..");
        is_kept::<Timestamp>("2001-01-02T00:00:00.500000Z", "2001-01-02");
        is_kept::<WebAddress>("https://example.org/", "see the wiki");
    }
}
