//! Text tables: a header, and columns as wide as their widest cell.

use std::io::{self, Write};

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};
use serde::Serialize;
use serde_json::Value;

use super::text::{lines_below, one_line};

/// The number of rows that are laid out together. A longer table is written in pages, so that its
/// memory is bounded; a later page can have wider columns, but never narrower ones.
const PAGE_ROWS: usize = 1_000;

/// Spaces between two columns.
const GAP: u16 = 2;

/// What is shown of a value in a text: a column of a table, or a line of a single result.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    alignment: CellAlignment,
    wraps: bool,
    /// Where in the value it is: members, separated by `/`. Empty means the whole value.
    member: &'static str,
    /// What is shown where the value has nothing.
    absent: &'static str,
    /// A member whose value is not shown once more.
    repeated: Option<&'static str>,
    words: fn(&Value) -> String,
}

impl Column {
    /// Strings that are never broken, such as identifiers.
    pub const fn text(name: &'static str) -> Self {
        let alignment = CellAlignment::Left;
        let (absent, repeated, words) = ("", None, in_words as fn(&Value) -> String);
        Column { name, alignment, wraps: false, member: name, absent, repeated, words }
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

    /// The same column, in other words than those of the value itself.
    pub const fn by(self, words: fn(&Value) -> String) -> Self {
        Column { words, ..self }
    }

    /// The same column, with what is shown where a row has nothing.
    pub const fn or(self, absent: &'static str) -> Self {
        Column { absent, ..self }
    }

    /// The same column, in which the value of another member is not shown once more.
    pub const fn unless(self, repeated: &'static str) -> Self {
        Column { repeated: Some(repeated), ..self }
    }

    /// What it shows of a row, on one line and escaped.
    fn cell(&self, row: &Value) -> String {
        match member(row, self.member) {
            None => self.absent.to_owned(),
            value if self.repeated.is_some_and(|repeated| member(row, repeated) == value) => {
                String::new()
            }
            Some(value) => one_line(&(self.words)(value)).to_string(),
        }
    }
}

/// A member of a value, or of one of its members. `None` means that it is null, too.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let found = if name.is_empty() { Some(value) } else { value.pointer(&format!("/{name}")) };
    found.filter(|found| !found.is_null())
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

fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the keys of all serialized maps are strings")
}

/// Writes a single result, with a line for each column; of a list, one for each value in it.
pub fn write_fields(
    out: &mut impl Write,
    columns: &[Column],
    value: &impl Serialize,
) -> io::Result<()> {
    let value = to_value(value);
    let width = columns.iter().map(|column| column.name.len()).max().unwrap_or(0).max(10);
    for column in columns {
        let shown = match member(&value, column.member) {
            Some(Value::Array(values)) => values.iter().map(column.words).collect(),
            None if column.absent.is_empty() => Vec::new(),
            _ => vec![column.cell(&value)],
        };
        let mut lines = shown.iter().filter(|shown| !shown.is_empty());
        lines.try_for_each(|line| writeln!(out, "{:width$}  {}", column.name, one_line(line)))?;
    }
    Ok(())
}

/// A table that is written while its rows are added.
pub struct Table {
    columns: &'static [Column],
    terminal_columns: Option<u16>,
    rows: Vec<Vec<String>>,
    widths: Vec<u16>,
    is_first_page: bool,
}

impl Table {
    /// A table for a terminal with this many columns. `None` means that it is not for a terminal.
    pub fn new(columns: &'static [Column], terminal_columns: Option<u16>) -> Self {
        let widths = vec![0; columns.len()];
        Table { columns, terminal_columns, rows: Vec::new(), widths, is_first_page: true }
    }

    /// Adds a row, and below it in the last column the digests that it has, if several, and the annotations.
    pub fn add(&mut self, out: &mut impl Write, row: &impl Serialize) -> io::Result<()> {
        let row = to_value(row);
        self.add_cells(out, self.columns.iter().map(|column| column.cell(&row)).collect())?;
        lines_below(&row).try_for_each(|below| {
            let mut cells = vec![String::new(); self.columns.len() - 1];
            cells.push(below);
            self.add_cells(out, cells)
        })
    }

    fn add_cells(&mut self, out: &mut impl Write, cells: Vec<String>) -> io::Result<()> {
        self.rows.push(cells);
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
        const COLUMNS: &[Column] =
            &[Column::text("id"), Column::number("granules"), Column::prose("note")];
        let mut table = Table::new(COLUMNS, terminal_columns);
        let mut out = Vec::new();
        for row in rows {
            table.add_cells(&mut out, row.map(str::to_owned).to_vec()).unwrap();
        }
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
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
