//! Links with a relation, as HTML and HTTP have them.

use maud::{Markup, html};

/// A link with a relation, for `<link>` and for the header `Link`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The relation.
    pub rel: &'static str,
    /// The address.
    pub href: String,
    /// The media type of what is there. `None` means that it is not stated.
    pub media_type: Option<&'static str>,
    /// The time of a memento, as HTTP writes it. `None` except for mementos.
    pub datetime: Option<String>,
}

impl Link {
    /// A link without a media type.
    pub fn new(rel: &'static str, href: impl Into<String>) -> Self {
        Link { rel, href: href.into(), media_type: None, datetime: None }
    }

    /// The same link with a media type.
    #[must_use]
    pub fn of_type(self, media_type: &'static str) -> Self {
        Link { media_type: Some(media_type), ..self }
    }

    /// The same link with the time of a memento.
    #[must_use]
    pub fn at(self, datetime: String) -> Self {
        Link { datetime: Some(datetime), ..self }
    }

    /// The link as a value of the header `Link` (RFC 8288).
    pub fn header(&self) -> String {
        let mut header = format!("<{}>; rel=\"{}\"", address(&self.href), self.rel);
        if let Some(media_type) = self.media_type {
            header.push_str(&format!("; type=\"{media_type}\""));
        }
        if let Some(datetime) = &self.datetime {
            header.push_str(&format!("; datetime=\"{datetime}\""));
        }
        header
    }

    /// The link as an element of the head.
    pub fn element(&self) -> Markup {
        html! { link rel=(self.rel) type=[self.media_type] href=(address(&self.href)); }
    }
}

/// An address without the characters that end it in a header: they are percent-encoded.
fn address(href: &str) -> String {
    let mut address = String::new();
    for character in href.chars() {
        if character.is_ascii_graphic()
            && !matches!(character, '<' | '>' | '"' | '\\' | '^' | '`' | '{' | '|' | '}')
        {
            address.push(character);
        } else {
            let mut bytes = [0; 4];
            for byte in character.encode_utf8(&mut bytes).bytes() {
                address.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_cannot_leave_its_brackets() {
        let link = Link::new("license", "https://a.example/\">\r\nSet-Cookie: ä");
        assert_eq!(
            link.header(),
            "<https://a.example/%22%3E%0D%0ASet-Cookie:%20%C3%A4>; rel=\"license\""
        );
        assert!(!link.element().into_string().contains("\">\r"));
    }
}
