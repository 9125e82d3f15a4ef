//! Text tables: a header, and columns as wide as their widest cell.

use std::io::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};
use serde::Serialize;
use serde_json::Value;

use super::text::one_line;

/// The number of rows that are laid out together. A longer table is written in pages, so that its
/// memory is bounded; a later page can have wider columns, but never narrower ones.
const PAGE_ROWS: usize = 1_000;

/// Spaces between two columns.
const GAP: u16 = 2;

/// A column of a table.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    alignment: CellAlignment,
    wraps: bool,
    /// Where in a row the cell is: members, separated by `/`.
    member: &'static str,
    /// What is shown where the row has nothing.
    absent: &'static str,
    /// A member whose value is not shown once more.
    repeated: Option<&'static str>,
}

impl Column {
    /// Strings that are never broken, such as identifiers.
    pub const fn text(name: &'static str) -> Self {
        let alignment = CellAlignment::Left;
        Column { name, alignment, wraps: false, member: name, absent: "", repeated: None }
    }

    /// Numbers.
    pub const fn number(name: &'static str) -> Self {
        Column { alignment: CellAlignment::Right, ..Column::text(name) }
    }

    /// Prose, which is wrapped if the terminal is too narrow for it.
    pub const fn prose(name: &'static str) -> Self {
        Column { wraps: true, ..Column::text(name) }
    }

    /// The column of a member whose name is not that of the column, such as `latest/granules`.
    pub const fn of(self, member: &'static str) -> Self {
        Column { member, ..self }
    }

    /// The same column, with what is shown where a row has nothing.
    pub const fn or(self, absent: &'static str) -> Self {
        Column { absent, ..self }
    }

    /// The same column, in which the value of another member is not shown once more.
    pub const fn unless(self, repeated: &'static str) -> Self {
        Column { repeated: Some(repeated), ..self }
    }

    /// The cell of a row.
    fn cell(&self, row: &Value) -> String {
        let member = |name: &str| row.pointer(&format!("/{name}")).filter(|it| !it.is_null());
        match member(self.member) {
            None => self.absent.to_owned(),
            value if self.repeated.is_some_and(|repeated| member(repeated) == value) => {
                String::new()
            }
            Some(value) => one_line(&in_words(value)).to_string(),
        }
    }
}

/// A value as text: of a list and of an object, the values in it.
pub fn in_words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(in_words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => fields.values().map(in_words).collect::<Vec<_>>().join(" "),
    }
}

/// A row of a list that a command prints: a line of JSON, or cells of a table.
pub trait Row: Serialize {
    /// The columns of the table.
    const COLUMNS: &'static [Column];

    /// A cell for each column, on one line, and already escaped: what is serialized, unless the text
    /// says it otherwise.
    fn cells(&self) -> Vec<String> {
        let row = serde_json::to_value(self).expect("the keys of all serialized maps are strings");
        Self::COLUMNS.iter().map(|column| column.cell(&row)).collect()
    }

    /// What is shown of it below, in the last column, on one line each, and already escaped.
    fn below(&self) -> Vec<String> {
        Vec::new()
    }
}

impl<R: Row> Row for &R {
    const COLUMNS: &'static [Column] = R::COLUMNS;

    fn cells(&self) -> Vec<String> {
        (**self).cells()
    }

    fn below(&self) -> Vec<String> {
        (**self).below()
    }
}

/// A table that is written while its rows are added.
pub struct Table {
    columns: Vec<Column>,
    terminal_columns: Option<u16>,
    rows: Vec<Vec<String>>,
    widths: Vec<u16>,
    is_first_page: bool,
}

impl Table {
    /// A table for a terminal with this many columns. `None` means that it is not for a terminal.
    pub fn new(columns: impl Into<Vec<Column>>, terminal_columns: Option<u16>) -> Self {
        let columns = columns.into();
        let widths = vec![0; columns.len()];
        Table { columns, terminal_columns, rows: Vec::new(), widths, is_first_page: true }
    }

    /// Adds a row with a cell for each column. Cells must be on one line, and already escaped.
    pub fn add_row(
        &mut self,
        out: &mut impl Write,
        cells: impl Into<Vec<String>>,
    ) -> io::Result<()> {
        self.rows.push(cells.into());
        if self.rows.len() < PAGE_ROWS { Ok(()) } else { self.write_page(out) }
    }

    /// Writes the rows that were not written yet. A table without rows is not written at all.
    pub fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        if self.rows.is_empty() { Ok(()) } else { self.write_page(out) }
    }

    fn write_page(&mut self, out: &mut impl Write) -> io::Result<()> {
        let mut page = comfy_table::Table::new();
        page.load_style(NOTHING);
        if std::mem::take(&mut self.is_first_page) {
            page.set_header(self.columns.iter().map(|column| column.name).collect::<Vec<_>>());
        }
        page.add_rows(self.rows.drain(..).map(comfy_table::Row::from));
        for (width, found) in self.widths.iter_mut().zip(page.column_max_content_widths()) {
            *width = found.max(*width);
        }
        match self.terminal_columns {
            Some(columns) => page
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(columns.saturating_add(GAP)),
            None => page.set_content_arrangement(ContentArrangement::Disabled),
        };
        for (index, (column, width)) in self.columns.iter().zip(&self.widths).enumerate() {
            let Some(laid_out) = page.column_mut(index) else { continue };
            laid_out.set_padding((0, GAP)).set_cell_alignment(column.alignment);
            if !column.wraps {
                let width = Width::Fixed(width.saturating_add(GAP));
                laid_out.set_constraint(ColumnConstraint::Absolute(width));
            }
        }
        page.lines().try_for_each(|line| writeln!(out, "{}", line.trim_end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(terminal_columns: Option<u16>, rows: &[[&str; 3]]) -> String {
        let columns = [Column::text("id"), Column::number("granules"), Column::prose("note")];
        let mut table = Table::new(columns, terminal_columns);
        let mut out = Vec::new();
        for row in rows {
            table.add_row(&mut out, row.map(str::to_owned)).unwrap();
        }
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "1", "first note"], ["a.longer.id", "1234567890", ""]];
        let expected = "\
id             granules  note
a                     1  first note
a.longer.id  1234567890
";
        assert_eq!(printed(None, &rows), expected);
        assert_eq!(printed(Some(80), &rows), expected);
    }

    #[test]
    fn on_a_narrow_terminal_prose_is_wrapped_and_ids_are_not() {
        let rows = [["a.long.id.that.is.copied", "1", "one two three four five"]];
        let expected = "\
id                        granules  note
a.long.id.that.is.copied         1  one two
                                    three four
                                    five
";
        assert_eq!(printed(Some(46), &rows), expected);
        let narrow = printed(Some(20), &rows);
        assert!(narrow.contains("a.long.id.that.is.copied"), "{narrow}");
    }

    #[test]
    fn a_table_without_rows_is_not_written() {
        assert_eq!(printed(None, &[]), "");
    }

    #[test]
    fn a_long_table_has_one_header_and_never_narrower_columns() {
        let mut rows = vec![["short", "1", "note"]; PAGE_ROWS - 1];
        rows.push(["a.much.longer.id", "1", "note"]);
        rows.push(["short", "2", "after the page"]);
        let printed = printed(None, &rows);
        assert_eq!(printed.matches("granules").count(), 1);
        assert_eq!(printed.lines().count(), rows.len() + 1);
        assert_eq!(printed.lines().last(), Some("short                    2  after the page"));
    }
}
