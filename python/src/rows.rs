//! Long lists: iterators, and tables of the Arrow C stream interface. They hold no transaction.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use accession::CancelToken;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error::Failure;
use crate::process::Owned;
use crate::work::run;

/// Some rows of a list, which are read together.
pub trait Page: Send + Sync {
    /// The columns of the table.
    fn schema() -> Schema
    where
        Self: Sized;

    /// How many rows it has.
    fn count(&self) -> usize;

    /// A row as an object of Python.
    fn row<'py>(&self, py: Python<'py>, index: usize) -> Result<Bound<'py, PyAny>, Failure>;

    /// The rows as columns of the table.
    fn columns(&self) -> Vec<ArrayRef>;
}

type Pages = Box<dyn Iterator<Item = Result<Arc<dyn Page>, Failure>> + Send>;

/// Begins to read a list, as often as it is called: a table may be asked for more than once, and some
/// consumers look at it before they read it.
type Begin = Arc<dyn Fn(CancelToken) -> Result<Pages, Failure> + Send + Sync>;

/// The rows of a page.
const PAGE_ROWS: usize = 1_024;

/// Rows in pages. A failure is the last item, after the page of the rows before it.
pub fn in_pages<Row>(
    mut rows: impl Iterator<Item = Result<Row, Failure>>,
) -> impl Iterator<Item = Result<Vec<Row>, Failure>> {
    let mut failure = None;
    std::iter::from_fn(move || {
        let mut page = Vec::new();
        while failure.is_none() && page.len() < PAGE_ROWS {
            match rows.next() {
                Some(Ok(row)) => page.push(row),
                Some(Err(error)) => failure = Some(error),
                None => break,
            }
        }
        if page.is_empty() { failure.take().map(Err) } else { Some(Ok(page)) }
    })
}

/// The rows of a long list: an iterator, and a table, which has all of them, however far they were
/// iterated over. Who reads all granules of a set proves them: damage is the last error.
#[pyclass(frozen, generic, module = "accession_registry")]
pub struct Rows {
    /// What the rows are, in words.
    title: String,
    /// How many there are. `None` means that they are not counted before they are read.
    count: Option<u64>,
    schema: SchemaRef,
    begin: Begin,
    reading: Owned<Mutex<Reading>>,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows").field("title", &self.title).finish_non_exhaustive()
    }
}

/// How far a list was iterated over.
#[derive(Default)]
struct Reading {
    /// `None` before the first page.
    pages: Option<Pages>,
    page: Option<Arc<dyn Page>>,
    /// The next row of the page.
    next: usize,
}

impl Reading {
    /// The next row of this page, and where in it that is.
    fn next(&mut self) -> Option<(Arc<dyn Page>, usize)> {
        let page = self.page.as_ref().filter(|page| self.next < page.count())?;
        self.next += 1;
        Some((Arc::clone(page), self.next - 1))
    }

    /// Reads the next page, if this one is used up. Returns whether there are further rows.
    fn fill(&mut self, begin: impl FnOnce() -> Result<Pages, Failure>) -> Result<bool, Failure> {
        if self.page.as_ref().is_some_and(|page| self.next < page.count()) {
            return Ok(true);
        }
        let pages = match &mut self.pages {
            Some(pages) => pages,
            None => self.pages.insert(begin()?),
        };
        (self.page, self.next) = (pages.next().transpose()?, 0);
        Ok(self.page.is_some())
    }
}

impl Rows {
    /// A list of which nothing is read yet.
    pub fn of<P: Page + 'static, I>(
        title: String,
        count: Option<u64>,
        begin: impl Fn(CancelToken) -> Result<I, Failure> + Send + Sync + 'static,
    ) -> Self
    where
        I: Iterator<Item = Result<P, Failure>> + Send + 'static,
    {
        let begin: Begin = Arc::new(move |token| {
            Ok(Box::new(begin(token)?.map(|page| Ok(Arc::new(page?) as Arc<dyn Page>))))
        });
        let (schema, reading) = (Arc::new(P::schema()), Owned::new(Mutex::default()));
        Rows { title, count, schema, begin, reading }
    }

    /// The same list, from its beginning.
    fn again(&self) -> Self {
        let (title, count, schema) = (self.title.clone(), self.count, Arc::clone(&self.schema));
        let (begin, reading) = (Arc::clone(&self.begin), Owned::new(Mutex::default()));
        Rows { title, count, schema, begin, reading }
    }

    /// The same list, which begins to be read: what does not exist is an error at once.
    ///
    /// # Errors
    ///
    /// Those of the list.
    pub fn begun(self, py: Python<'_>) -> Result<Self, Failure> {
        let pages = run(py, &*self.begin)?;
        self.reading()?.pages = Some(pages);
        Ok(self)
    }

    fn reading(&self) -> Result<MutexGuard<'_, Reading>, Failure> {
        Ok(self.reading.get()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins to read the list as parts of a table.
    fn batches(&self, token: CancelToken) -> Result<Batches, Failure> {
        let (schema, pages) = (Arc::clone(&self.schema), (self.begin)(token)?);
        Ok(Box::new(pages.map(move |page| {
            RecordBatch::try_new(Arc::clone(&schema), page?.columns())
                .map_err(|error| Failure::usage(error.to_string(), ""))
        })))
    }

    /// Hands parts of a table over, as `__arrow_c_stream__` does.
    fn capsule<'py>(
        &self,
        py: Python<'py>,
        batches: Batches,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        let mut batches = Owned::new(batches);
        let batches = std::iter::from_fn(move || match batches.get_mut() {
            Ok(batches) => batches.next().map(|batch| batch.map_err(external)),
            Err(forked) => Some(Err(external(forked))),
        });
        let reader = RecordBatchIterator::new(batches, Arc::clone(&self.schema));
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        Ok(PyCapsule::new_with_value(py, stream, c"arrow_array_stream")?)
    }
}

/// Rows that are read while they are consumed, a part of a table at a time.
type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Failure>> + Send>;

/// The damage of a registry is the last error of a stream: its consumer shows the message.
fn external(failure: Failure) -> ArrowError {
    ArrowError::ExternalError(PyErr::from(failure).to_string().into())
}

#[pymethods]
impl Rows {
    /// The rows as a `pyarrow.Table`.
    pub fn to_arrow<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        // They are read here, so that Ctrl-C ends it, and errors are those of this package.
        let batches = run(py, |token| {
            let mut read = Vec::new();
            for batch in self.batches(token.clone())? {
                token.check()?;
                read.push(batch?);
            }
            Ok(read)
        })?;
        let stream = self.capsule(py, Box::new(batches.into_iter().map(Ok)))?;
        let reader = py.import("pyarrow")?.getattr("RecordBatchReader")?;
        Ok(reader.call_method1("_import_from_c_capsule", (stream,))?.call_method0("read_all")?)
    }

    #[pyo3(signature = (requested_schema = None))]
    pub fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        #[expect(unused_variables, reason = "a consumer converts what it wants otherwise")]
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyCapsule>, Failure> {
        let batches = run(py, |token| self.batches(token))?;
        self.capsule(py, batches)
    }

    /// How many rows there are. Where that is not known, they are read.
    fn __len__(&self, py: Python<'_>) -> Result<usize, Failure> {
        match self.count {
            Some(count) => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            None => run(py, |token| {
                (self.begin)(token)?.map(|page| page.map(|page| page.count())).sum()
            }),
        }
    }

    /// A row, or a list of those of a slice, wherever an iteration is.
    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        key.py().import("accession_registry._lists")?.call_method1("at", (self.again(), key))
    }

    /// Whether there is a row. Reads the first page if that is not known yet.
    fn __bool__(&self, py: Python<'_>) -> Result<bool, Failure> {
        match self.count {
            Some(count) => Ok(count > 0),
            None => run(py, |token| {
                let first = (self.begin)(token)?.next().transpose()?;
                Ok(first.is_some_and(|page| page.count() > 0))
            }),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>, Failure> {
        let reading = self.reading.get()?;
        loop {
            // The lock is only waited for without Python's: another thread may hold it, and want that.
            let next = reading.try_lock().ok().and_then(|mut reading| reading.next());
            if let Some((page, index)) = next {
                return page.row(py, index).map(Some);
            }
            // No row is taken here: one that is taken when Ctrl-C comes would be lost.
            if !run(py, |token| self.reading()?.fill(|| (self.begin)(token)))? {
                return Ok(None);
            }
        }
    }

    fn _repr_html_<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let html = py.import("accession_registry._html")?;
        Ok(html.call_method1("rows", (&self.title, self.again()))?)
    }

    fn __repr__(&self) -> String {
        let count = self.count.map_or_else(String::new, |count| format!(" ({count})"));
        format!("<Rows: {}{count}>", self.title)
    }
}
