//! Citing a list of granules where no registry is asked: what is known of the dataset, and the list.

use super::facts::Citation;
use super::record;
use super::typed::TypedDataset;
use crate::model::{
    Dataset, DatasetName, Doi, Instance, Listed, Moment, Set, Timestamp, ValueError,
};
use crate::registry::{Cited, Identified};

/// What is known of a dataset: its DOI, its name or both, and the record of it that somebody provides, as
/// [`record::read`] reads it.
/// Without a title, the DOI takes its place; without a name, one is made of the DOI.
///
/// # Errors
///
/// - `[]`, with a record that has no DOI: neither a DOI nor a name
/// - two different DOIs, or two names
/// - those of [`record::read`]
///
/// # Examples
///
/// ```
/// use accession::citation::{Citation, CitationFormat, listed};
/// use accession::{GranuleId, Listing};
///
/// let mut listing = Listing::new();
/// listing.add("A.1".parse::<GranuleId>()?)?;
/// let dataset = listed::dataset(&["10.9999/FOO".parse()?], None)?;
/// let now = "2001-01-05T12:00:00Z".parse()?;
/// let citation = Citation::of_list(dataset, &listing.identify()?, now);
/// let tuple = citation.write(CitationFormat::Tuple);
/// assert_eq!(tuple, "{ doi:10.9999/FOO, 2001-01-05, DI:e9cac2acf20e60847e87ea0a5927fb65 }\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn dataset(of: &[TypedDataset], record: Option<&str>) -> Result<Dataset, ValueError> {
    let (mut named, mut doi) = (None, None);
    for given in of {
        let is_new = match given {
            TypedDataset::Name(name) => named.replace(name.clone()).is_none(),
            TypedDataset::Doi(given) => doi.replace(given.clone()).is_none(),
        };
        if !is_new {
            return Err(ValueError::new(
                "one list is of one dataset: give one DOI, one name or both",
            ));
        }
    }
    // The name is replaced below.
    let placeholder = || "list".parse().expect("it is a name");
    let mut dataset = Dataset::named(named.clone().unwrap_or_else(placeholder));
    record.map_or(Ok(()), |record| record::read(record, &mut dataset))?;
    match (&doi, &dataset.doi) {
        (Some(given), Some(stated)) if !given.is_same_as(stated) => {
            let message = format!("the record is that of {stated}, and not of {given}");
            return Err(ValueError::new(message));
        }
        _ => dataset.doi = doi.or(dataset.doi),
    }
    if named.is_none() {
        let nameless = || ValueError::new("the dataset has neither a DOI nor a name");
        let doi = dataset.doi.as_ref().ok_or_else(nameless)?;
        dataset.name = name_of(doi);
        dataset.title.get_or_insert_with(|| doi.to_string());
    }
    Ok(dataset)
}

/// The DOI with a hyphen in the place of what a name cannot have, for the key of a reference.
fn name_of(doi: &Doi) -> DatasetName {
    let is_kept = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let name: String =
        doi.as_str().chars().map(|it| if is_kept(it) { it } else { '-' }).take(100).collect();
    let name = name.replace("..", ".-");
    name.parse().unwrap_or_else(|_| "doi".parse().expect("it is a name"))
}

impl Citation {
    /// The citation of a list of granules of a dataset, as of now: nothing is known of what the dataset held,
    /// so it says that the granules were listed.
    pub fn of_list(dataset: Dataset, list: &Identified, now: Timestamp) -> Self {
        let instance = Instance {
            dataset: dataset.name.clone(),
            timestamp: now,
            until: None,
            identifier: list.identifier,
            digest: list.digest,
            granules: list.granules,
            ingested: list.granules,
            deleted: 0,
            described: 0,
            replaced: 0,
            recorded: now,
            recorded_by: None,
            note: None,
            annotations: Vec::new(),
        };
        let dataset = Listed {
            dataset,
            withdrawn: None,
            former_names: Vec::new(),
            limits: None,
            latest: None,
            confirmed: None,
        };
        let set = Set::Instance(instance);
        let (others, period) = (Vec::new(), Vec::new());
        let cited = Cited { dataset, set, others, period, previous: None, next: None };
        let citation = Citation::new(cited, Some(Moment::Day(now.day())), now.day());
        let mut citation = citation.with_digest(true);
        citation.is_listed = true;
        citation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_of_one_dataset_with_a_doi_or_a_name() {
        let read = |of: &[&str], doi: Option<&str>| {
            let record = doi.map(|doi| format!(r#"{{"type":"dataset","DOI":"{doi}"}}"#));
            let of: Vec<TypedDataset> = of.iter().map(|it| it.parse().unwrap()).collect();
            dataset(&of, record.as_deref())
                .map(|it| (it.name.to_string(), it.doi.map(|doi| doi.to_string())))
        };
        let known = |name: &str, doi: Option<&str>| Ok((name.to_owned(), doi.map(str::to_owned)));
        assert_eq!(read(&["A"], None), known("A", None));
        let doi = "10.1/a(b)..c/é";
        assert_eq!(read(&[doi], None), known("10.1-a-b-.-c--", Some(doi)));
        assert_eq!(read(&[], Some("10.1/a")), known("10.1-a", Some("10.1/a")));
        assert_eq!(read(&["10.1/A", "A"], Some("10.1/a")), known("A", Some("10.1/A")));
        for (of, doi) in [
            (&[][..], None),
            (&["A", "B"], None),
            (&["10.1/a", "10.1/b"], None),
            (&["10.1/a"], Some("10.1/b")),
        ] {
            assert!(read(of, doi).is_err(), "{of:?}");
        }
    }
}
