//! Long lists: the granules of a set, and the history of a dataset. They hold no transaction.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accession::model::IdPage;
use accession::{DatasetName, Identifier, Instance, Moment, Monitor};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow_out::{self, Table, to_pyarrow};
use crate::error::Failure;
use crate::html;
use crate::process::Owned;
use crate::record::object;
use crate::registry::Opened;
use crate::time::moment_or_none;
use crate::work::run;

/// Pages of ids.
pub type Pages = Box<dyn Iterator<Item = Result<IdPage, Failure>> + Send>;

/// Begins to read a list, as often as it is called: a table may be asked for more than once, and some
/// consumers look at it before they read it.
pub type Begin<List> = Box<dyn Fn(Arc<dyn Monitor>) -> Result<List, Failure> + Send + Sync>;

/// The items of a list that one call reads without Python's lock, on a thread of its own.
const PAGE_ITEMS: usize = 256;

/// A list whose items are read in pages, and then used one by one.
pub struct Paged<T> {
    /// `None` before the first page.
    items: Option<Items<T>>,
    page: VecDeque<T>,
    /// Why the list ends, after the page.
    failure: Option<Failure>,
}

/// The items of a list.
pub type Items<T> = Box<dyn Iterator<Item = Result<T, Failure>> + Send>;

impl<T: Send> Paged<T> {
    /// A list; `None` begins with the first item that is asked for.
    pub fn of(items: Option<Items<T>>) -> Owned<Mutex<Self>> {
        Owned::new(Mutex::new(Paged { items, page: VecDeque::new(), failure: None }))
    }

    /// The next item of a list, which `begin` begins to read.
    ///
    /// # Errors
    ///
    /// Those of the list, after the items before them.
    pub fn next(
        list: &Owned<Mutex<Self>>,
        py: Python<'_>,
        begin: impl Fn(Arc<dyn Monitor>) -> Result<Items<T>, Failure> + Sync,
    ) -> Result<Option<T>, Failure> {
        let list = list.get()?;
        loop {
            // The lock is only waited for without Python's: another thread may hold it, and want that.
            if let Ok(mut list) = list.try_lock()
                && let Some(item) = list.page.pop_front()
            {
                return Ok(Some(item));
            }
            // No item is taken here: one that is taken when Ctrl-C comes would be lost.
            let has_more = run(py, |monitor| {
                list.lock().unwrap_or_else(PoisonError::into_inner).fill(|| begin(monitor))
            })?;
            if !has_more {
                return Ok(None);
            }
        }
    }

    /// Reads the next page, if this one is used up. Returns whether there are further items.
    fn fill(&mut self, begin: impl FnOnce() -> Result<Items<T>, Failure>) -> Result<bool, Failure> {
        if self.page.is_empty() && self.failure.is_none() {
            let items = match &mut self.items {
                Some(items) => items,
                None => self.items.insert(begin()?),
            };
            for item in items.take(PAGE_ITEMS) {
                match item {
                    Ok(item) => self.page.push_back(item),
                    Err(failure) => {
                        self.failure = Some(failure);
                        break;
                    }
                }
            }
        }
        match self.failure.take_if(|_| self.page.is_empty()) {
            Some(failure) => Err(failure),
            None => Ok(!self.page.is_empty()),
        }
    }
}

/// The ids of a set, in canonical order: an iterator, and a table with the column `granule`, which has
/// all of them, however far they were iterated over. Damage is the last error.
#[pyclass(frozen, module = "accession_registry")]
pub struct Granules {
    identifier: Identifier,
    begin: Begin<Pages>,
    list: Owned<Mutex<PagedIds>>,
}

/// Pages of ids, which are used one by one.
#[derive(Default)]
struct PagedIds {
    /// `None` before the first one.
    pages: Option<Pages>,
    page: IdPage,
    next: usize,
}

impl PagedIds {
    fn has_next(&self) -> bool {
        self.page.get(self.next).is_some()
    }

    /// The next id of the page.
    fn next(&mut self) -> Option<String> {
        let id = self.page.get(self.next).map(str::to_owned);
        self.next += usize::from(id.is_some());
        id
    }
}

impl Granules {
    /// The ids of a set, which `begin` begins to read.
    pub fn of(
        identifier: Identifier,
        begin: impl Fn(Arc<dyn Monitor>) -> Result<Pages, Failure> + Send + Sync + 'static,
    ) -> Self {
        let list = Owned::new(Mutex::new(PagedIds::default()));
        Granules { identifier, begin: Box::new(begin), list }
    }

    fn list(&self) -> Result<MutexGuard<'_, PagedIds>, Failure> {
        Ok(self.list.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[pymethods]
impl Granules {
    /// The identifier that they have.
    #[getter]
    fn identifier(&self) -> String {
        self.identifier.to_string()
    }

    /// The ids as a `pyarrow.Table` with the column `granule`.
    pub fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        // They are read here, so that Ctrl-C ends it, and errors are those of this package.
        let table = run(py, |monitor| {
            arrow_out::of_ids((self.begin)(Arc::clone(&monitor))?).read(&monitor)
        })?;
        to_pyarrow(py, table.capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    pub fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        let pages = run(py, |monitor| (self.begin)(monitor))?;
        arrow_out::of_ids(pages).capsule(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Result<Option<String>, Failure> {
        loop {
            // The lock is only waited for without Python's: another thread may hold it, and want that.
            if let Ok(mut list) = self.list.get()?.try_lock()
                && let Some(id) = list.next()
            {
                return Ok(Some(id));
            }
            // Only a page is read here, and no id taken from it: one that is taken when Ctrl-C comes would
            // be lost.
            let has_more = run(py, |monitor| {
                let mut list = self.list()?;
                if list.has_next() {
                    return Ok(true);
                }
                let pages = match &mut list.pages {
                    Some(pages) => pages,
                    None => list.pages.insert((self.begin)(monitor)?),
                };
                let Some(page) = pages.next() else { return Ok(false) };
                (list.page, list.next) = (page?, 0);
                Ok(true)
            })?;
            if !has_more {
                return Ok(None);
            }
        }
    }

    fn __repr__(&self) -> String {
        format!("<Granules of DI:{}>", self.identifier)
    }
}

/// Which part of a history is listed, and in which order.
#[derive(Clone, Copy, Default)]
pub struct HistoryRange {
    since: Option<Moment>,
    until: Option<Moment>,
    is_reverse: bool,
    known_at: Option<Moment>,
}

impl HistoryRange {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// One of them is not a time.
    pub fn of(
        since: Option<&Bound<'_, PyAny>>,
        until: Option<&Bound<'_, PyAny>>,
        is_reverse: bool,
        known_at: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self, Failure> {
        let known_at = moment_or_none("known_at", known_at)?;
        let (since, until) = (moment_or_none("since", since)?, moment_or_none("until", until)?);
        Ok(HistoryRange { since, until, is_reverse, known_at })
    }
}

/// The history of a dataset: an iterator over instances, and a table with their fields, which has all of
/// them, however far they were iterated over.
#[pyclass(frozen, module = "accession_registry")]
pub struct History {
    dataset: DatasetName,
    begin: Begin<accession::History>,
    list: Owned<Mutex<Paged<Instance>>>,
}

impl History {
    /// Begins to list a history.
    ///
    /// # Errors
    ///
    /// The dataset does not exist.
    pub fn of(
        py: Python<'_>,
        opened: &Arc<Opened>,
        dataset: &DatasetName,
        range: HistoryRange,
    ) -> Result<Self, Failure> {
        let (opened, name) = (Arc::clone(opened), dataset.clone());
        let begin: Begin<accession::History> = Box::new(move |monitor| {
            let mut snapshot = opened.reader(monitor)?.snapshot()?;
            if let Some(known_at) = range.known_at {
                snapshot = snapshot.known_at(known_at.last_instant());
            }
            let mut history = snapshot.history(&name)?;
            if let Some(since) = range.since {
                history = history.since(since.first_instant());
            }
            if let Some(until) = range.until {
                history = history.until(until.last_instant());
            }
            Ok(if range.is_reverse { history.newest_first() } else { history })
        });
        let history = run(py, &begin)?;
        let list = Paged::of(Some(instances(history)));
        Ok(History { dataset: dataset.clone(), begin, list })
    }

    fn table(&self, monitor: &Arc<dyn Monitor>) -> Result<Table, Failure> {
        let history = (self.begin)(Arc::clone(monitor))?;
        Ok(arrow_out::of_instances(instances(history)))
    }
}

fn instances(history: accession::History) -> Items<Instance> {
    Box::new(history.map(|instance| instance.map_err(Failure::from)))
}

#[pymethods]
impl History {
    /// The history as a `pyarrow.Table`.
    fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let table = run(py, |monitor| self.table(&monitor)?.read(&monitor))?;
        to_pyarrow(py, table.capsule(py)?)
    }

    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        run(py, |monitor| self.table(&monitor))?.capsule(py)
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>, Failure> {
        let next = Paged::next(&self.list, py, |monitor| Ok(instances((self.begin)(monitor)?)))?;
        next.map(|instance| object(py, "Instance", &instance)).transpose()
    }

    fn _repr_html_(&self, py: Python<'_>) -> Result<String, Failure> {
        run(py, |monitor| Ok(html::history(self.dataset.as_str(), (self.begin)(monitor)?)?))
    }

    fn __repr__(&self) -> String {
        format!("<History of {}>", self.dataset)
    }
}
