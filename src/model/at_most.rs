//! Arrays of limited length in JSON that others wrote.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// The elements of an array, which are counted while they are parsed: of an array that has more than
/// `MOST`, only the first `MOST` are kept.
pub(crate) struct AtMost<T, const MOST: usize> {
    pub elements: Vec<T>,
    pub has_more: bool,
}

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for AtMost<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(AtMostVisitor(PhantomData))
    }
}

struct AtMostVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for AtMostVisitor<T, MOST> {
    type Value = AtMost<T, MOST>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let (mut elements, mut has_more) = (Vec::new(), false);
        while elements.len() < MOST {
            match array.next_element()? {
                Some(element) => elements.push(element),
                None => return Ok(AtMost { elements, has_more }),
            }
        }
        while array.next_element::<de::IgnoredAny>()?.is_some() {
            has_more = true;
        }
        Ok(AtMost { elements, has_more })
    }
}
