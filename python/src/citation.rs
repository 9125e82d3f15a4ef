//! Citations of lists, for which no registry is asked.

use std::path::PathBuf;

use accession::SetSpec;
use accession::Watcher;
use accession::citation::listed_dataset;
use accession::{Citation, CitationFormat};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::ids;
use crate::keywords::all_parsed;
use crate::time::now;
use crate::work::run;

/// Cites a list of granules of a dataset, which is named by its DOI, its name or both, and of which `record`
/// is the record in JSON. Returns the identifier, the digest, the number of granules, the sentence, and
/// BibTeX. With `output`, writes an RO-Crate into that directory.
#[pyfunction]
#[pyo3(signature = (ids, of, record, *, column = None, output = None))]
pub fn cite_list(
    ids: &Bound<'_, PyAny>,
    of: Vec<String>,
    record: Option<&str>,
    column: Option<&str>,
    output: Option<PathBuf>,
) -> Result<(String, String, u64, String, String), Failure> {
    let of: Vec<SetSpec> = all_parsed("of", &of)?;
    let dataset = listed_dataset(&of, record);
    let dataset = dataset.map_err(|cause| Failure::unreadable("of", cause))?;
    let listing = ids::listing(ids, column)?;
    if listing.is_empty() {
        return Err(Failure::usage("the list has no granules: there is nothing to cite", ""));
    }
    let (found, citation) = run(ids.py(), |token| {
        let found = listing.identify_watched(&Watcher::new().cancelled_by(&token))?;
        let citation = Citation::of_list(dataset, &found, now());
        if let Some(output) = output {
            citation.save_ro_crate(&output, listing.files()?)?;
        }
        Ok((found, citation))
    })?;
    let [text, bibtex] =
        [CitationFormat::Text, CitationFormat::Bibtex].map(|it| citation.render(it));
    Ok((found.identifier.to_string(), found.digest.to_string(), found.granules, text, bibtex))
}
