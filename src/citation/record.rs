//! Reads the metadata of a dataset from CSL-JSON or DataCite JSON.
//!
//! Both are read as the formats `csl-json` and `datacite-json` write them. CSL-JSON is also read as doi.org and
//! Zotero export it (an object, or an array of one), DataCite JSON also as the DataCite API returns it
//! (`data.attributes`). Properties that the file does not contain are left unchanged. So is the licence if the
//! text in the file is not a [`Licence`](crate::model::Licence).

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use crate::model::{Creator, DatasetMetadata, Doi, Identifier, ParseError, WebAddress};

/// Sets the fields of the dataset that the file contains. After an error, some fields may already be set.
///
/// # Errors
///
/// - `[]`, `[{…},{…}]`: not one record
/// - `{"name":"x"}`: in neither of the two formats
/// - `{"type":"dataset","DOI":"x"}`: a field with a value that cannot be read
pub fn read(text: &str, dataset: &mut DatasetMetadata) -> Result<(), ParseError> {
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| ParseError::new(format!("not JSON: {error}")))?;
    let value = match &value {
        Value::Array(items) => match items.as_slice() {
            [item] => item,
            items => {
                let items = items.len();
                let message = format!("contains {items} records, but must contain exactly one");
                return Err(ParseError::new(message));
            }
        },
        other => other,
    };
    let attributes =
        ["/data/attributes", "/attributes"].into_iter().find_map(|at| value.pointer(at));
    let value = attributes.unwrap_or(value);
    let has = |name: &str| value.get(name).is_some();
    if has("titles") || has("creators") {
        datacite(value, dataset)
    } else if has("type") && (has("title") || has("DOI")) {
        csl(value, dataset)
    } else {
        Err(ParseError::new(
            "neither CSL-JSON, which has a \"type\" and a \"title\" or \"DOI\", nor DataCite JSON, which has \"titles\" or \"creators\"",
        ))
    }
}

/// The title without the identifier of a set that this program's citations have at its end.
fn title_of_dataset(title: &str) -> &str {
    let names_set = |set: &str| {
        let digits = set.strip_suffix(']').and_then(|set| set.split(',').next());
        digits.is_some_and(|digits| digits.parse::<Identifier>().is_ok())
    };
    let cited = title.rsplit_once(" [DI:").filter(|(_, set)| names_set(set));
    cited.map_or(title, |(title, _)| title)
}

fn csl(item: &Value, dataset: &mut DatasetMetadata) -> Result<(), ParseError> {
    // Crossref writes [[null]] for an unknown date.
    let year = item.pointer("/issued/date-parts/0/0").filter(|year| !year.is_null());
    let year = year.map(|year| value_of("issued", year)).transpose()?;
    let licence = item.pointer("/custom/license").or_else(|| item.pointer("/license/0/URL"));
    let creators = list(item, "author")?
        .map(|authors| authors.iter().map(|author| csl_author(item, author)).collect())
        .transpose()?;
    let doi: Option<Doi> = parsed(item, "DOI")?;
    // An address that is only that of the DOI is omitted.
    let address = doi.as_ref().map(Doi::address);
    let url: Option<WebAddress> = parsed(item, "URL")?;
    let url = url.filter(|url| Some(url.as_str()) != address.as_deref());
    set(&mut dataset.doi, doi);
    let title = optional(item, "title")?;
    set(&mut dataset.title, title.map(|title| title_of_dataset(&title).to_owned()));
    set(&mut dataset.description, optional(item, "abstract")?);
    dataset.creators = creators.unwrap_or_else(|| std::mem::take(&mut dataset.creators));
    set(&mut dataset.publisher, optional(item, "publisher")?);
    set(&mut dataset.version, optional(item, "version")?);
    set(&mut dataset.year, year);
    set(&mut dataset.url, url);
    set(&mut dataset.licence, licence.and_then(Value::as_str).and_then(|it| it.parse().ok()));
    set(&mut dataset.archive, optional(item, "archive")?);
    Ok(())
}

/// Sets a field if the file contains it.
fn set<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

fn csl_author(item: &Value, author: &Value) -> Result<Creator, ParseError> {
    let part = |name| part(author, name);
    if let Some(name) = ["literal", "name"].into_iter().map(part).find(|name| !name.is_empty()) {
        return Creator::organisation(name).map_err(|error| wrong("author", &error));
    }
    // CSL 1.0.2, names: in "Jean de La Fontaine", "de" is a dropping particle and "La" is not.
    let family = ["dropping-particle", "non-dropping-particle", "family"].map(part);
    let family = family.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    if family.is_empty() {
        let what = "contains an author without a \"family\" or \"literal\" name";
        return Err(field("author", what));
    }
    let given = match (part("given"), part("suffix")) {
        (given, "") => given.to_owned(),
        (given, suffix) => format!("{given}, {suffix}"),
    };
    let full = if given.is_empty() { family.clone() } else { format!("{family}, {given}") };
    let orcids = item.pointer("/custom/orcid");
    let orcid = author.get("ORCID").or_else(|| orcids.and_then(|orcids| orcids.get(&full)));
    let orcid = orcid.map(|orcid| value_of("author", orcid)).transpose()?;
    Creator::person(&family, &given, orcid).map_err(|error| wrong("author", &error))
}

fn datacite(attributes: &Value, dataset: &mut DatasetMetadata) -> Result<(), ParseError> {
    let titles = list(attributes, "titles")?.unwrap_or_default();
    // Titles with a type are subtitles, translations and the like.
    let main = titles.iter().find(|title| present(title, "titleType").is_none());
    let title = main.and_then(|title| title.get("title"));
    let creators = list(attributes, "creators")?
        .map(|creators| creators.iter().map(datacite_creator).collect())
        .transpose()?;
    let publisher = present(attributes, "publisher");
    let publisher = publisher.map(|publisher| publisher.get("name").unwrap_or(publisher));
    let rights = list(attributes, "rightsList")?.unwrap_or_default();
    let licence = rights.first().and_then(|rights| {
        let mut parts =
            ["rightsIdentifier", "rightsUri", "rights"].map(|name| part(rights, name)).into_iter();
        parts.find_map(|part| part.parse().ok())
    });
    // Up to version 4.3, the DOI was one of the identifiers; InvenioRDM and Zenodo still write it there.
    let identifiers = list(attributes, "identifiers")?.unwrap_or_default();
    let is_doi = |it: &&Value| part(it, "identifierType").eq_ignore_ascii_case("DOI");
    let doi = match (parsed(attributes, "doi")?, identifiers.iter().find(is_doi)) {
        (None, Some(identifier)) => parsed(identifier, "identifier")?,
        (doi, _) => doi,
    };
    let descriptions = list(attributes, "descriptions")?.unwrap_or_default();
    let description = descriptions.iter().find(|it| part(it, "descriptionType") == "Abstract");
    let description = description.map(|it| optional(it, "description")).transpose()?.flatten();
    let title = title.map(|title| text("titles", title)).transpose()?;
    set(&mut dataset.doi, doi);
    set(&mut dataset.title, title.filter(|title| !title.is_empty()));
    set(&mut dataset.description, description);
    dataset.creators = creators.unwrap_or_else(|| std::mem::take(&mut dataset.creators));
    set(&mut dataset.publisher, publisher.map(|name| text("publisher", name)).transpose()?);
    set(&mut dataset.version, optional(attributes, "version")?);
    set(&mut dataset.year, parsed(attributes, "publicationYear")?);
    set(&mut dataset.url, parsed(attributes, "url")?);
    set(&mut dataset.licence, licence);
    Ok(())
}

fn datacite_creator(creator: &Value) -> Result<Creator, ParseError> {
    let [name, family, given] = ["name", "familyName", "givenName"].map(|name| part(creator, name));
    let identifiers = list(creator, "nameIdentifiers")?.unwrap_or_default();
    let orcid = identifiers.iter().find(|it| part(it, "nameIdentifierScheme") == "ORCID");
    let orcid = orcid.and_then(|orcid| present(orcid, "nameIdentifier"));
    let orcid = orcid.map(|orcid| value_of("creators", orcid)).transpose()?;
    let kind = part(creator, "nameType");
    let is_person = kind == "Personal" || orcid.is_some();
    let (family, given) = match name.split_once(',') {
        _ if kind == "Organizational" => ("", ""),
        _ if !family.is_empty() => (family, given),
        Some((family, given)) => (family.trim(), given.trim()),
        // "Josiah Carberry" without a separate family name, or "Plato".
        None if is_person => match name.strip_prefix(given).map(str::trim) {
            Some(family) if !given.is_empty() && !family.is_empty() => (family, given),
            _ => (name, ""),
        },
        None => ("", ""),
    };
    match (family, name) {
        ("", name) => Creator::organisation(name),
        (family, _) => Creator::person(family, given, orcid),
    }
    .map_err(|error| wrong("creators", &error))
}

fn field(field: &str, what: &str) -> ParseError {
    ParseError::new(format!("the field {field} {what}"))
}

fn wrong(name: &str, error: &impl Display) -> ParseError {
    field(name, &format!("is wrong: {error}"))
}

/// A string, or a number as a string. Line ends become LF in an abstract, and spaces in fields of one line.
fn text(name: &str, value: &Value) -> Result<String, ParseError> {
    match value {
        Value::String(text) if matches!(name, "abstract" | "description") => {
            Ok(text.trim().replace("\r\n", "\n"))
        }
        Value::String(text) => Ok(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(field(name, "is not a string")),
    }
}

/// A member that is not null.
fn present<'value>(object: &'value Value, name: &str) -> Option<&'value Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// A string without white space at its ends. Empty if it is missing.
fn part<'value>(object: &'value Value, name: &str) -> &'value str {
    object.get(name).and_then(Value::as_str).map(str::trim).unwrap_or_default()
}

/// An optional string. `None` means that it is missing, null or empty.
fn optional(object: &Value, name: &str) -> Result<Option<String>, ParseError> {
    let text = present(object, name).map(|value| text(name, value)).transpose()?;
    Ok(text.filter(|text| !text.is_empty()))
}

fn list<'value>(object: &'value Value, name: &str) -> Result<Option<&'value [Value]>, ParseError> {
    match present(object, name) {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(_) => Err(field(name, "is not a list")),
    }
}

/// An optional string that is parsed as `T`.
fn parsed<T: FromStr<Err: Display>>(object: &Value, name: &str) -> Result<Option<T>, ParseError> {
    let parse = |text: String| text.parse().map_err(|error| wrong(name, &error));
    optional(object, name)?.map(parse).transpose()
}

/// A string or a number that is parsed as `T`.
fn value_of<T: FromStr<Err: Display>>(name: &str, value: &Value) -> Result<T, ParseError> {
    text(name, value)?.parse().map_err(|error| wrong(name, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the metadata from a string, without other fields.
    fn read(text: &str) -> Result<DatasetMetadata, ParseError> {
        let mut dataset = DatasetMetadata::named("D".parse().unwrap());
        super::read(text, &mut dataset).map(|()| dataset)
    }

    #[test]
    fn a_record_of_doi_org_is_read() {
        let dataset = read(
            r#"{"type":"dataset","id":"https://doi.org/10.5067/modis/mod09gq.006",
                "author":[{"family":"Vermote","given":"Eric"},{"literal":"NASA LP DAAC"},
                          {"family":"Beethoven","non-dropping-particle":"van","given":"Ludwig",
                           "ORCID":"http://orcid.org/0000-0002-1825-0097"},
                          {"family":"Fontaine","given":"Jean","dropping-particle":"de",
                           "non-dropping-particle":"La"},
                          {"family":"King","given":"Martin","suffix":"Jr."}],
                "issued":{"date-parts":[["2015",1,1]]},"DOI":"10.5067/MODIS/MOD09GQ.006",
                "publisher":"NASA EOSDIS","title":"MOD09GQ","version":6,
                "URL":"https://doi.org/10.5067/MODIS/MOD09GQ.006"}"#,
        )
        .unwrap();
        let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
        assert_eq!(
            creators,
            [
                "Vermote, Eric",
                "NASA LP DAAC",
                "van Beethoven, Ludwig (0000-0002-1825-0097)",
                "de La Fontaine, Jean",
                "King, Martin, Jr.",
            ]
        );
        assert_eq!(dataset.year.unwrap().as_number(), 2015);
        assert_eq!(dataset.version.unwrap(), "6");
        assert_eq!((dataset.archive, dataset.url), (None, None));
    }

    #[test]
    fn a_response_of_datacite_is_read() {
        let dataset = read(
            r#"{"data":{"attributes":{"doi":"10.5067/x","titles":[
                    {"title":"Sub","titleType":"Subtitle"},{"title":"Main","titleType":null}],
                "creators":[{"name":"Vermote, Eric"},{"name":"A, B and C","nameType":"Organizational"},
                    {"name":"Carberry, Josiah","nameType":"Personal","familyName":"Carberry",
                     "givenName":"Josiah","nameIdentifiers":[{"nameIdentifier":
                     "https://orcid.org/0000-0002-1825-0097","nameIdentifierScheme":"ORCID"}]}],
                "publisher":"NASA","publicationYear":2015,"version":null,
                "rightsList":[{"rightsUri":"https://x.org/l","rightsIdentifier":"cc-by-4.0"}]}}}"#,
        )
        .unwrap();
        let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
        assert_eq!(
            creators,
            ["Vermote, Eric", "{A, B and C}", "Carberry, Josiah (0000-0002-1825-0097)"]
        );
        assert_eq!(dataset.title.unwrap(), "Main");
        assert_eq!(dataset.publisher.unwrap(), "NASA");
        assert_eq!(dataset.licence.unwrap().as_str(), "CC-BY-4.0");
        assert_eq!((dataset.version, dataset.url), (None, None));
    }

    #[test]
    fn a_record_of_datacite_4_3_is_read_as_invenio_writes_it() {
        let dataset = read(
            r#"{"identifiers":[{"identifier":"https://zenodo.org/records/1","identifierType":"URL"},
                    {"identifier":"10.5281/zenodo.1","identifierType":"DOI"}],
                "titles":[{"title":"Main"}],
                "creators":[{"name":"Josiah Carberry","nameType":"Personal","nameIdentifiers":[
                     {"nameIdentifier":"0000-0002-1825-0097","nameIdentifierScheme":"ORCID"}]},
                    {"name":"Plato","givenName":"Plato","nameType":"Personal"},
                    {"name":"Ada Lovelace","givenName":"Ada","nameType":"Personal",
                     "nameIdentifiers":[{"nameIdentifier":null,"nameIdentifierScheme":"ORCID"}]},
                    {"name":"NASA"}]}"#,
        )
        .unwrap();
        assert_eq!(dataset.doi.unwrap().as_str(), "10.5281/zenodo.1");
        let creators: Vec<String> = dataset.creators.iter().map(ToString::to_string).collect();
        let carberry = "Josiah Carberry, (0000-0002-1825-0097)";
        assert_eq!(creators, [carberry, "Plato,", "Lovelace, Ada", "NASA"]);
    }

    #[test]
    fn words_that_are_not_a_licence_are_left_out() {
        let csl = r#"{"type":"dataset","title":"t","custom":{"license":"Free for all"}}"#;
        let datacite = r#"{"titles":[{"title":"t"}],"rightsList":[{"rights":"Free for all"}]}"#;
        for text in [csl, datacite] {
            assert_eq!(read(text).unwrap().licence, None, "{text}");
        }
    }

    #[test]
    fn a_date_that_is_not_known_gives_no_year() {
        for issued in [r#"{"date-parts":[[null]]}"#, r#"{"literal":"January 2015"}"#] {
            let text = format!(r#"{{"type":"dataset","title":"t","issued":{issued}}}"#);
            assert_eq!(read(&text).unwrap().year, None, "{issued}");
        }
    }

    #[test]
    fn errors_name_the_field_and_the_value() {
        let cases = [
            ("", "not JSON: EOF while parsing a value at line 1 column 0"),
            ("[]", "contains 0 records, but must contain exactly one"),
            ("[{},{}]", "contains 2 records, but must contain exactly one"),
            (
                r#"{"type":"dataset","DOI":"x"}"#,
                "the field DOI is wrong: a DOI looks like 10.5067/ABC/123, but \"x\" does not",
            ),
            (
                r#"{"type":"dataset","title":"t","URL":"example.org"}"#,
                "the field URL is wrong: a web address begins with https://, http://, ftp:// or sftp:// and a host, unlike \"example.org\"",
            ),
            (r#"{"type":"dataset","title":{}}"#, "the field title is not a string"),
            (r#"{"type":"dataset","title":"t","author":{}}"#, "the field author is not a list"),
            (
                r#"{"type":"dataset","title":"t","author":[{"given":"A"}]}"#,
                "the field author contains an author without a \"family\" or \"literal\" name",
            ),
            (
                r#"{"type":"dataset","title":"t","issued":{"date-parts":[["MMI"]]}}"#,
                "the field issued is wrong: a year has four digits, 1000 to 9999",
            ),
            (
                r#"{"titles":[],"publicationYear":"MMI"}"#,
                "the field publicationYear is wrong: a year has four digits, 1000 to 9999",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(read(text).unwrap_err().to_string(), message, "{text}");
        }
        for text in ["{}", "3"] {
            assert!(read(text).unwrap_err().to_string().starts_with("neither CSL-JSON"), "{text}");
        }
    }
}
