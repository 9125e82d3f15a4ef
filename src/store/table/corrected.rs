//! The rows for a dataset whose history is corrected: copies of another dataset's rows up to a time.

use std::collections::BTreeMap;

use super::raw::RawRows;
use crate::model::Timestamp;
use crate::store::Result;
use crate::store::checked_row::row_check;
use crate::store::rows::DatasetKey;
use crate::store::session::View;
use crate::store::statement::{
    ANNOTATION, CONTENT, GRANULE, INSTANCE, NAMED_GRANULE, RECORD_VERSION, SUBSET, StoredTable,
    Value,
};

/// The tables with a history. Each refers only to tables before it. The column contains the time that decides
/// which rows are copied; with `None`, all versions of the record, or the granules of the copied subsets.
const TABLES: [(&StoredTable, Option<&str>); 7] = [
    (&RECORD_VERSION, None),
    (&INSTANCE, Some("timestamp")),
    (&ANNOTATION, Some("timestamp")),
    (&GRANULE, Some("ingested")),
    (&CONTENT, Some("since")),
    (&SUBSET, Some("timestamp")),
    (&NAMED_GRANULE, None),
];

/// Converts rows of one dataset into rows of another.
struct CutRows {
    to: DatasetKey,
    /// The time of the last change to copy. `None` means no change.
    until: Option<Timestamp>,
    /// The copied subsets, with their new numbers, which have no gaps.
    subsets: BTreeMap<i64, i64>,
    /// A buffer.
    checked: Vec<u8>,
}

impl View {
    /// The rows of the history of a dataset up to a time (`None` means without changes), converted into rows of
    /// another dataset. They come table by table; each table refers only to tables before it. A granule that
    /// was deleted later is held. Checkpoints are left out, because they depend on the granules held now.
    ///
    /// Costs a pass over all rows of the dataset. The memory is proportional to the number of cited subsets.
    pub fn history_until(
        &self,
        dataset: DatasetKey,
        until: Option<Timestamp>,
        to: DatasetKey,
    ) -> impl Iterator<Item = Result<RawRows>> + '_ {
        let mut cut = CutRows { to, until, subsets: BTreeMap::new(), checked: Vec::new() };
        let rows = TABLES.into_iter().flat_map(move |(table, time)| {
            self.raw_rows(table, Some(dataset)).map(move |rows| Ok((rows?, time)))
        });
        rows.map(move |rows: Result<_>| {
            let (rows, time) = rows?;
            Ok(cut.of(rows, time))
        })
    }
}

impl CutRows {
    fn of(&mut self, RawRows { table, mut values }: RawRows, time: Option<&str>) -> RawRows {
        let columns = table.all_columns().count();
        let column_of = |name: &str| table.columns.iter().position(|column| *column == name);
        let (time, deleted) = (time.and_then(column_of), column_of("deleted"));
        let mut cut = Vec::with_capacity(values.len());
        for row in values.chunks_mut(columns) {
            if !time.is_none_or(|column| self.is_kept(&row[column])) {
                continue;
            }
            row[0] = self.to.into();
            match (table.name, deleted) {
                ("granule", Some(deleted)) if !self.is_kept(&row[deleted]) => {
                    row[deleted] = Value::Null;
                }
                ("subset", _) => row[1] = self.add_subset(&row[1]),
                ("named_granule", _) => match self.number_of(&row[1]) {
                    Some(number) => row[1] = number,
                    None => continue,
                },
                _ => {}
            }
            if table.what.is_some() {
                row[columns - 1] = row_check(&row[..columns - 1], &mut self.checked);
            }
            cut.extend(row.iter_mut().map(|value| std::mem::replace(value, Value::Null)));
        }
        RawRows { table, values: cut }
    }

    fn is_kept(&self, time: &Value<'_>) -> bool {
        let until = self.until.map(Timestamp::as_micros);
        matches!((time, until), (Value::Int(time), Some(until)) if *time <= until)
    }

    fn add_subset(&mut self, id: &Value<'_>) -> Value<'static> {
        let number = self.subsets.len() as i64 + 1;
        if let Value::Int(id) = id {
            self.subsets.insert(*id, number);
        }
        number.into()
    }

    fn number_of(&self, id: &Value<'_>) -> Option<Value<'static>> {
        let Value::Int(id) = id else { return None };
        self.subsets.get(id).map(|number| (*number).into())
    }
}
