//! DataCite XML: what DataCite JSON says, as the schema for registering DOIs has it.

use std::fmt::Write;

use serde_json::Value;

use super::json::datacite;
use crate::citation::facts::Citation;

/// The lists of DataCite JSON, and the element of each of their items. Its text is the member of the same
/// name; the other members are attributes.
const LISTS: [(&str, &str); 6] = [
    ("titles", "title"),
    ("alternateIdentifiers", "alternateIdentifier"),
    ("dates", "date"),
    ("relatedIdentifiers", "relatedIdentifier"),
    ("rightsList", "rights"),
    ("descriptions", "description"),
];

/// Writes DataCite XML, Metadata Schema 4, from the members of DataCite JSON. The address of the dataset is
/// left out: the schema has no element for it.
pub(super) fn write_datacite(citation: &Citation) -> String {
    let fields = datacite(citation);
    let mut xml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <resource xmlns=\"http://datacite.org/schema/kernel-4\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://datacite.org/schema/kernel-4 \
         https://schema.datacite.org/meta/kernel-4/metadata.xsd\">\n",
    );
    if let Some(doi) = fields["doi"].as_str() {
        element(&mut xml, "identifier", &[("identifierType", "DOI")], doi);
    }
    list(&mut xml, "creators", &fields["creators"], creator);
    for (name, item) in LISTS {
        list(&mut xml, name, &fields[name], |xml, value| {
            element(xml, item, &attributes(value, item), text(value, item));
        });
    }
    for (name, value) in [
        ("publisher", &fields["publisher"]["name"]),
        ("publicationYear", &fields["publicationYear"]),
        ("version", &fields["version"]),
    ] {
        if let Some(value) = value.as_str() {
            element(&mut xml, name, &[], value);
        }
    }
    let types = &fields["types"];
    let general = [("resourceTypeGeneral", text(types, "resourceTypeGeneral"))];
    element(&mut xml, "resourceType", &general, text(types, "resourceType"));
    xml.push_str("</resource>\n");
    xml
}

fn creator(xml: &mut String, creator: &Value) {
    xml.push_str("<creator>\n");
    element(xml, "creatorName", &[("nameType", text(creator, "nameType"))], text(creator, "name"));
    for name in ["givenName", "familyName"] {
        if let Some(value) = creator[name].as_str() {
            element(xml, name, &[], value);
        }
    }
    for value in creator["nameIdentifiers"].as_array().into_iter().flatten() {
        const NAME: &str = "nameIdentifier";
        element(xml, NAME, &attributes(value, NAME), text(value, NAME));
    }
    xml.push_str("</creator>\n");
}

/// A list and its items. Nothing if there is no such list.
fn list(xml: &mut String, name: &str, values: &Value, item: impl Fn(&mut String, &Value)) {
    if let Some(values) = values.as_array() {
        let _ = writeln!(xml, "<{name}>");
        values.iter().for_each(|value| item(xml, value));
        let _ = writeln!(xml, "</{name}>");
    }
}

fn text<'value>(value: &'value Value, name: &str) -> &'value str {
    value[name].as_str().unwrap_or_default()
}

/// The members that are not the text of an element. XML spells `Uri` in capital letters.
fn attributes<'value>(value: &'value Value, item: &str) -> Vec<(&'value str, &'value str)> {
    let members = value.as_object().into_iter().flatten().filter(|(name, _)| *name != item);
    let named = members.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let spelled = named.map(|(name, value)| match name {
        "schemeUri" => ("schemeURI", value),
        "rightsUri" => ("rightsURI", value),
        name => (name, value),
    });
    spelled.collect()
}

/// Writes an element. Writing to a string cannot fail.
fn element(xml: &mut String, name: &str, attributes: &[(&str, &str)], text: &str) {
    let _ = write!(xml, "<{name}");
    for (attribute, value) in attributes {
        let _ = write!(xml, " {attribute}=\"{}\"", escaped(value));
    }
    let _ = writeln!(xml, ">{}</{name}>", escaped(text));
}

/// Text between two tags, or the value of an attribute. What XML cannot have is replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            character if character.is_control() && character != '\n' => escaped.push(' '),
            character => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_element() {
        assert_eq!(escaped("</title>\u{0}\"&\u{ffff}"), "&lt;/title&gt; &quot;&amp;\u{fffd}");
    }
}
