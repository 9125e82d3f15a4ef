//! Lists, in pages:
//!
//! - `/`: the datasets
//! - `/datasets/NAME/history`: the changes of a dataset, newest first
//! - `/find?granule=`: the periods in which a granule was held, or in which granules with a prefix were

use axum::extract::State;
use axum::response::Response;

use super::dataset::read_present;
use crate::pages::{Feed, HistoryPage, IndexPage, Site};
use crate::problem::Problem;
use crate::request::{Format, Named, Request};
use crate::response::{ATOM, CachePolicy, Rejection, of_type};
use crate::rows::{instance_bytes, named_list, read_page};
use crate::source::RegistryReading;
use crate::state::App;
use accession::Snapshot;
use accession::citation::{FoundCitation, ParsedField};
use accession::dataset::DatasetMetadata;
use accession::dataset::{DatasetRecord, Withdrawn};
use accession::history::{FoundPeriod, FoundPosition};
use accession::history::{GranuleQuery, IdentifierPrefix};
use accession::{DatasetName, Day, Doi, GranuleId, Identifier, Timestamp};
use accession::{ErrorKind, Result};

/// The number of datasets on an HTML page.
const PAGE_ROWS: u32 = 50;

/// The default and the greatest number of datasets in other formats.
const LIST_ROWS: (u32, u32) = (200, 1_000);

/// The greatest number of datasets that are counted for a page or read for the feed.
const COUNTED_ROWS: u32 = 1_000;

const OFFERED: [Format; 3] = [Format::Html, Format::Json, Format::JsonLines];

/// The parameters of a list.
struct ListQuery {
    query: String,
    /// The query with blanks around it, which an id may contain.
    typed: String,
    after: Option<DatasetName>,
    withdrawn: Withdrawn,
    limit: u32,
}

/// Lists all datasets, or the results of a search.
pub async fn index(State(state): State<App>, request: Request) -> Result<Response, Rejection> {
    let format = request.format(&OFFERED)?;
    let typed = request.parameter("q").unwrap_or_default().into_owned();
    let query = typed.trim().to_owned();
    let shows_withdrawn = match request.parameter("withdrawn").as_deref() {
        None | Some("") => false,
        Some("listed") => true,
        Some(_) => return Err(Problem::usage("The parameter withdrawn takes listed.").into()),
    };
    let wanted = ListQuery {
        query: query.clone(),
        typed,
        after: request.parsed("after")?,
        withdrawn: if shows_withdrawn { Withdrawn::Listed } else { Withdrawn::LeftOut },
        limit: request.rows(format, (PAGE_ROWS, PAGE_ROWS), LIST_ROWS)?,
    };
    let (limit, now, is_first) = (wanted.limit, state.now(), wanted.after.is_none());
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        if is_first && let Some(path) = named(&snapshot, &wanted)? {
            return Ok(Err(path));
        }
        read_list(reading, &snapshot, &wanted, format).map(Ok)
    });
    let list = read.await?.map_err(|path| {
        let path = request.with_parameters(&path, &["format"]);
        Rejection::see_other(state.site.href(&path))
    })?;
    let List { rows, has_more, totals } = list;
    let next = rows.last().filter(|_| has_more).map(|last| {
        request.next_page(&state.site, last.dataset.name.as_str(), u64::from(limit), format)
    });
    let (next, page) =
        (next.as_deref(), IndexPage { rows, query, shows_withdrawn, is_first, totals, now });
    Ok(named_list(format, "datasets", &page.rows, next, || page.html(&state.site, next)))
}

/// The path of the page that a query names: by an identifier or its first digits, a dataset's name or DOI, or a
/// granule (the set with which it was ingested first). `None` means that the query is searched for.
fn named(snapshot: &Snapshot, wanted: &ListQuery) -> Result<Option<String>> {
    let query = wanted.query.as_str();
    if query.is_empty() {
        return Ok(None);
    }
    // For example, pasted from a paper.
    if let Some(identifier) = identifier_in(query) {
        return Ok(Some(Site::set(identifier)));
    }
    if let Ok(name) = query.parse::<DatasetName>()
        && snapshot.has_dataset(&name)?
    {
        return Ok(Some(Site::dataset(&snapshot.present_name(&name)?)));
    }
    if let Ok(prefix) = query.parse::<IdentifierPrefix>() {
        match snapshot.identifier_beginning(&prefix, None) {
            Ok(identifier) => return Ok(Some(Site::set(identifier))),
            Err(error)
                if matches!(error.kind(), ErrorKind::IdentifierUnknown | ErrorKind::Ambiguous) => {}
            Err(error) => return Err(error),
        }
    }
    if let Ok(doi) = query.parse::<Doi>()
        && let [name] = snapshot.datasets_with_doi(&doi)?.as_slice()
    {
        return Ok(Some(Site::dataset(name)));
    }
    for typed in [&wanted.typed, query] {
        if let Ok(granule_id) = typed.parse::<GranuleId>()
            && let Some(first) = snapshot.find(&granule_id.into(), None, 1)?.first()
        {
            return Ok(Some(Site::instance(&first.dataset, first.ingested)));
        }
    }
    Ok(None)
}

/// The identifier in a query: alone, or the only one in a citation.
fn identifier_in(query: &str) -> Option<Identifier> {
    if let Ok(identifier) = query.parse() {
        return Some(identifier);
    }
    match FoundCitation::find_all(query).as_slice() {
        [FoundCitation { identifier: Some(ParsedField::Read(identifier)), .. }] => {
            Some(*identifier)
        }
        _ => None,
    }
}

/// The latest changes of all datasets that are not withdrawn as a feed. Only the first `COUNTED_ROWS`
/// datasets are read.
pub async fn feed(State(state): State<App>) -> Result<Response, Rejection> {
    let shared = state.clone();
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let datasets = snapshot.datasets(None, Withdrawn::LeftOut, COUNTED_ROWS)?;
        Feed::of_all(&snapshot, &shared.site, datasets)
    });
    Ok(of_type(ATOM, read.await?.atom(&state.site), CachePolicy::Shared))
}

/// A page of the list.
struct List {
    rows: Vec<DatasetRecord>,
    has_more: bool,
    /// The number of datasets, and of the granules that they hold. `None` means that there are too many.
    totals: Option<(u64, u64)>,
}

fn read_list(
    reading: &RegistryReading,
    snapshot: &Snapshot,
    wanted: &ListQuery,
    format: Format,
) -> Result<List> {
    let ListQuery { query, after, withdrawn, limit, .. } = wanted;
    let totals = match (format, query.is_empty()) {
        (Format::Html, true) => totals(snapshot, *withdrawn)?,
        _ => None,
    };
    let searched = (!query.is_empty()).then(|| Searched::new(query));
    let (rows, has_more) = read_page(*limit, listed_bytes, |last, count| {
        let after = last.map(|last| &last.dataset.name).or(after.as_ref());
        match &searched {
            None => snapshot.datasets(after, *withdrawn, count),
            Some(searched) => search(reading, snapshot, searched, after, *withdrawn, count),
        }
    })?;
    Ok(List { rows, has_more, totals })
}

/// Counts the datasets, and the granules that they hold. `None` means that there are too many.
fn totals(snapshot: &Snapshot, withdrawn: Withdrawn) -> Result<Option<(u64, u64)>> {
    let datasets = snapshot.datasets(None, withdrawn, COUNTED_ROWS)?;
    if datasets.len() == COUNTED_ROWS as usize {
        return Ok(None);
    }
    let held = datasets.iter().filter_map(|listed| listed.latest.as_ref());
    let held: u64 = held.map(|latest| latest.granules).sum();
    Ok(Some((datasets.len() as u64, held)))
}

/// Searches the datasets after a name, and returns at most `limit` of them.
fn search(
    reading: &RegistryReading,
    snapshot: &Snapshot,
    searched: &Searched,
    after: Option<&DatasetName>,
    withdrawn: Withdrawn,
    limit: u32,
) -> Result<Vec<DatasetRecord>> {
    let mut found = Vec::new();
    for record in snapshot.records(after, withdrawn) {
        reading.check_time()?;
        let record = record?;
        if searched.is_in(&record) {
            found.push(snapshot.dataset(&record.name)?);
        }
        if found.len() == limit as usize {
            break;
        }
    }
    Ok(found)
}

/// The size of a dataset as a row, in bytes.
fn listed_bytes(listed: &DatasetRecord) -> usize {
    let DatasetRecord { dataset, latest, .. } = listed;
    let description = dataset.description.as_ref().map_or(0, |it| it.as_str().len());
    1_024 + description + latest.as_ref().map_or(0, instance_bytes)
}

/// The words of a search, without regard to case.
struct Searched {
    text: String,
    doi: Option<Doi>,
}

impl Searched {
    fn new(query: &str) -> Self {
        Searched { text: query.to_lowercase(), doi: query.parse().ok() }
    }

    fn is_in(&self, record: &DatasetMetadata) -> bool {
        let contains = |text: &str| text.to_lowercase().contains(&self.text);
        contains(record.name.as_str())
            || record.title.as_deref().is_some_and(contains)
            || record
                .doi
                .as_ref()
                .is_some_and(|doi| contains(doi.as_str()) || self.doi.as_ref() == Some(doi))
    }
}

/// Lists the changes of a dataset.
pub async fn history(
    State(state): State<App>,
    Named(name): Named,
    request: Request,
) -> Result<Response, Rejection> {
    let format = request.format(&OFFERED)?;
    let limit = request.rows(format, (30, 200), (1_000, 10_000))?;
    let day: Option<Day> = request.parsed("date")?;
    let before: Option<Timestamp> = request.parsed("after")?;
    let (before, detail) = (before.or(day.and_then(|day| day.end().next())), format.detail());
    let read = read_present(&state, &request, &name, move |snapshot, name| {
        let (instances, has_more) = read_page(limit, instance_bytes, |last, count| {
            snapshot.instances_before(name, last.map(|last| last.timestamp).or(before), count)
        })?;
        Ok((HistoryPage::read(snapshot, name, instances, detail)?, has_more))
    });
    let (page, has_more) = read.await?;
    let next = page.instances.last().filter(|_| has_more).map(|last| {
        request.next_page(&state.site, &last.timestamp.to_string(), u64::from(limit), format)
    });
    let next = next.as_deref();
    Ok(named_list(format, "instances", &page.instances, next, || page.html(&state.site, next)))
}

/// Finds the datasets and periods in which a granule was held. With a final `*`, finds all granules whose ids
/// begin with the text before it.
pub async fn find(State(state): State<App>, request: Request) -> Result<Response, Rejection> {
    let format = request.format(&[Format::Json, Format::JsonLines])?;
    let text = request.parameter("granule").unwrap_or_default();
    let refused = |error| Problem::usage(format!("The parameter granule: {error}."));
    let query: GranuleQuery = text.parse().map_err(refused)?;
    let is_prefix = query.is_prefix();
    let limit = request.limit(1_000, 10_000)?;
    let after = request.position(is_prefix)?;
    let read = state.source.read(move |reading| {
        let snapshot = reading.registry.snapshot()?;
        let bytes = |period: &FoundPeriod| 256 + period.granule.as_str().len();
        read_page(limit, bytes, |last, count| {
            reading.check_time()?;
            let last: Option<&FoundPeriod> = last;
            let after = after.as_ref().map(|after| FoundPosition {
                dataset: &after.dataset,
                granule_id: after.granule_id.as_ref().unwrap_or(query.first()),
                ingested: after.timestamp,
            });
            snapshot.find(&query, last.map(FoundPeriod::position).or(after), count)
        })
    });
    let (periods, has_more) = read.await?;
    let next = periods.last().filter(|_| has_more).map(|last| {
        let mut after = format!("{}@{}", last.dataset, last.ingested);
        if is_prefix {
            after.push('/');
            after.push_str(last.granule.as_str());
        }
        request.next_page(&state.site, &after, u64::from(limit), format)
    });
    // This list has no HTML page.
    Ok(named_list(format, "periods", &periods, next.as_deref(), String::new))
}
