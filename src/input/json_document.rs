//! Analyses the beginning of a JSON document, to explain why it is not a list of granules.

use struson::reader::{JsonReader, JsonStreamReader, ReaderError, ValueType};

use super::finding::argument;
use super::format::USUAL_COLUMNS;
use crate::error::{Error, ErrorDetail, ErrorKind};

/// A member of the outermost object.
pub(super) struct Member {
    pub key: String,
    /// Its value, if it is a string.
    pub text: Option<String>,
    /// Whether its value is an array or an object.
    is_nested: bool,
    /// Whether its value is an array.
    is_list: bool,
}

/// The members of the outermost object in the part that was read.
pub(super) fn outer_members(text: &[u8]) -> Vec<Member> {
    let mut json = JsonStreamReader::new(text);
    let mut members: Vec<Member> = Vec::new();
    let mut next = || -> Result<bool, ReaderError> {
        if members.is_empty() {
            json.begin_object()?;
        }
        if !json.has_next()? {
            return Ok(false);
        }
        let key = json.next_name_owned()?;
        let kind = json.peek();
        let is_list = matches!(kind, Ok(ValueType::Array));
        let is_nested = is_list || matches!(kind, Ok(ValueType::Object));
        members.push(Member { key, text: None, is_nested, is_list });
        let is_text = matches!(kind?, ValueType::String);
        let text = if is_text { Some(json.next_string()?) } else { None };
        if text.is_none() {
            json.skip_value()?;
        }
        if let Some(member) = members.last_mut() {
            member.text = text;
        }
        Ok(true)
    };
    // The end of the part that was read is an error, too, and ends the loop.
    while next().unwrap_or(false) {}
    members
}

/// The first element of an array.
enum Element {
    Text,
    /// An array that begins with a string.
    List,
    /// An object, with the names of those members in the part that was read whose values are strings.
    Object(Vec<String>),
    /// Any other value, or none.
    Other,
}

impl Element {
    /// The first element of the outermost array.
    fn of_array(text: &[u8]) -> Element {
        Element::read(&mut JsonStreamReader::new(text)).unwrap_or(Element::Other)
    }

    /// The first element of the array in a member of the outermost object.
    fn of_member(text: &[u8], key: &str) -> Element {
        let mut json = JsonStreamReader::new(text);
        let mut find = || -> Result<Element, ReaderError> {
            json.begin_object()?;
            while json.has_next()? {
                if json.next_name_owned()? == key {
                    return Element::read(&mut json);
                }
                json.skip_value()?;
            }
            Ok(Element::Other)
        };
        find().unwrap_or(Element::Other)
    }

    fn read(json: &mut JsonStreamReader<&[u8]>) -> Result<Element, ReaderError> {
        json.begin_array()?;
        if !json.has_next()? {
            return Ok(Element::Other);
        }
        Ok(match json.peek()? {
            ValueType::String => Element::Text,
            ValueType::Array => {
                json.begin_array()?;
                let is_text = json.has_next()? && json.peek()? == ValueType::String;
                if is_text { Element::List } else { Element::Other }
            }
            ValueType::Object => {
                json.begin_object()?;
                let mut names = Vec::new();
                let mut next = || -> Result<bool, ReaderError> {
                    if !json.has_next()? {
                        return Ok(false);
                    }
                    let name = json.next_name_owned()?;
                    if json.peek()? == ValueType::String {
                        names.push(name);
                    }
                    json.skip_value()?;
                    Ok(true)
                };
                while next().unwrap_or(false) {}
                Element::Object(names)
            }
            _ => Element::Other,
        })
    }

    /// A command that prints a list from this array, and how to read its output. `list` is the jq expression
    /// for the elements.
    fn hint(&self, list: &str) -> Option<String> {
        Some(match self {
            Element::Text => format!("`jq -r '{list}' FILE` prints the strings, one a line"),
            Element::List => {
                format!(
                    "`jq -r '{list}[0]' FILE` prints the first string of each element, one a line"
                )
            }
            Element::Object(names) => {
                let has = |name: &&str| names.iter().any(|known| known == *name);
                let name = match USUAL_COLUMNS.iter().chain(&PATH_FIELDS).find(|it| has(it)) {
                    Some(usual) if USUAL_COLUMNS.contains(usual) => String::new(),
                    Some(path) => format!("; --column {path} reads their ids"),
                    None => "; --column names the field with the id".to_owned(),
                };
                format!("`jq -c '{list}' FILE` prints one object a line{name}")
            }
            Element::Other => return None,
        })
    }
}

/// The names of fields with the path or name of a file, the most certain first.
const PATH_FIELDS: [&str; 12] = [
    "key",
    "Key",
    "path",
    "Path",
    "name",
    "Name",
    "filename",
    "fileName",
    "file_name",
    "file",
    "title",
    "url",
];

/// Whether a text begins with an array of arrays of strings. An id can also begin with brackets.
pub(super) fn is_list_of_lists(text: &[u8]) -> bool {
    matches!(Element::of_array(text), Element::List)
}

/// Rejects a JSON array, which is not a supported format.
///
/// # Errors
///
/// Always.
pub(super) fn refuse_array<T>(text: &[u8]) -> Result<T, Error> {
    let error = Error::new(ErrorDetail::UnknownFormat, "a JSON array is not one of the formats");
    Err(match Element::of_array(text).hint(".[]") {
        Some(hint) => error.with_hint(format!("{hint} (inputs.md, One JSON document)")),
        None => error,
    })
}

/// Rejects a single document that is not a list of granules. The error describes the document.
pub(super) fn refuse_document(
    text: &[u8],
    members: &[Member],
    column: Option<&str>,
    is_one_line: bool,
) -> Result<(), Error> {
    let has = |key: &str| members.iter().any(|member| member.key == key);
    let is_of_type =
        |kind: &str| members.iter().any(|it| it.key == "type" && it.text.as_deref() == Some(kind));
    let names_ids = USUAL_COLUMNS.iter().any(|name| *name != "id" && has(name));
    let is_flat = members.iter().all(|member| !member.is_nested);
    if is_one_line && (column.is_some() || names_ids || is_flat) {
        return Ok(());
    }
    let list = members.iter().find(|member| member.is_list);
    let (what, hint) = if has_commas(text) {
        (
            "one object a line, with commas between them",
            "`sed 's/,$//' FILE` removes the commas".to_owned(),
        )
    } else if has("digestAlgorithm") && (has("manifest") || has("versions")) {
        (
            "the inventory of an OCFL object",
            "`jq -r '.manifest[][]' FILE` prints the paths of its files".to_owned(),
        )
    } else if is_of_type("Collection") {
        ("a STAC collection", "ask the catalogue for the items of the collection, which `/items` after its address returns".to_owned())
    } else if is_of_type("Catalog") {
        ("a STAC catalogue", "ask the catalogue for the items of its collections".to_owned())
    } else if has("@graph") {
        ("a crate of linked data", r#"`jq -r '."@graph"[] | select(."@type" == "File") | ."@id"' FILE` prints the paths of its files"#.to_owned())
    } else if has("files")
        && let Some(hint) = Element::of_member(text, "files").hint(".files[]")
    {
        ("one record with files", hint)
    } else if let Some(Member { key, .. }) = list {
        // A key with a quote cannot be shown in a command.
        let path = argument(key).map(|_| format!(".\"{key}\"[]"));
        let hint = path.and_then(|path| Element::of_member(text, key).hint(&path));
        let other = || "write one object a line, and name the field with --column".to_owned();
        ("one document with lists", hint.unwrap_or_else(other))
    } else if !is_flat {
        (
            "one document with objects in it",
            "write one object a line, and name the field with --column".to_owned(),
        )
    } else {
        ("one document over several lines", "`jq -c . FILE` writes it on one line".to_owned())
    };
    Err(Error::new(ErrorKind::NotAList, format!("this is {what}, not a list of granules"))
        .with_hint(format!("{hint} (inputs.md, One JSON document)")))
}

/// Whether the first line is an object followed by a comma, and the next line begins an object.
fn has_commas(text: &[u8]) -> bool {
    let mut lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let is_object = |line: &[u8]| line.starts_with(b"{");
    lines.next().is_some_and(|line| is_object(line) && line.ends_with(b"},"))
        && lines.next().is_some_and(is_object)
}
