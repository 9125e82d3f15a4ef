//! Text tables: a header, and columns as wide as their widest cell. Values that users copy, such as ids, are
//! never cut. Messages are cut so that the table fits the terminal.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::stdout::Output;
use super::text::{annotations_below, digests_below, one_line};
use super::value::{in_words, to_value};

/// The number of rows of a page. A longer table is laid out and written in pages, so that its memory is
/// bounded. A later page can have wider columns, but never narrower ones.
const PAGE_ROWS: usize = 1_000;

/// The number of spaces between two columns, and before a line below a row.
const GAP: usize = 2;

/// The width of a table that is not for a terminal, unless the environment variable `COLUMNS` is set.
const PIPE_COLUMNS: usize = 100;

/// The minimum width of a message.
const MIN_PROSE: usize = 16;

/// A column of a table, or a line of a single result.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    /// Whether the column has numbers, which are aligned to the right.
    is_number: bool,
    /// Whether the column has messages, which are cut if the table is too wide.
    is_prose: bool,
    /// Whether a message that is cut is repeated below its row, in full.
    is_whole: bool,
    /// Whether the column is omitted if it is empty in all rows.
    is_optional: bool,
    /// The path of the member with the value, separated by `/`. Empty means the whole value.
    member: &'static str,
    /// The text for a missing value.
    absent: &'static str,
    /// A member with the same value, if that value is not to be repeated.
    repeated: Option<&'static str>,
    words: fn(&Value) -> String,
}

impl Column {
    /// A column of strings that are never cut, such as identifiers.
    pub const fn text(name: &'static str) -> Self {
        let (absent, repeated, words) = ("", None, in_words as fn(&Value) -> String);
        let (is_number, is_prose, is_whole, is_optional) = (false, false, false, false);
        let member = name;
        Column { name, is_number, is_prose, is_whole, is_optional, member, absent, repeated, words }
    }

    /// A column of numbers.
    pub const fn number(name: &'static str) -> Self {
        Column { is_number: true, ..Column::text(name) }
    }

    /// A column of messages. If the terminal is too narrow, they end with `…`.
    pub const fn prose(name: &'static str) -> Self {
        Column { is_prose: true, ..Column::text(name) }
    }

    /// The same column. A message that is cut is repeated below its row, in full.
    pub const fn or_below(self) -> Self {
        Column { is_whole: true, ..self }
    }

    /// The same column, omitted from a list if it is empty in all rows.
    pub const fn if_any(self) -> Self {
        Column { is_optional: true, ..self }
    }

    /// The column of a member whose name differs from the column's, such as `latest/granules`.
    pub const fn of(self, member: &'static str) -> Self {
        Column { member, ..self }
    }

    /// The same column, with a function that writes the value in words.
    pub const fn by(self, words: fn(&Value) -> String) -> Self {
        Column { words, ..self }
    }

    /// The same column, with a text for missing values.
    pub const fn or(self, absent: &'static str) -> Self {
        Column { absent, ..self }
    }

    /// The same column, empty in a row in which another member has the same value.
    pub const fn unless(self, repeated: &'static str) -> Self {
        Column { repeated: Some(repeated), ..self }
    }

    /// The cell of a row, on one line and escaped.
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

/// A member of a value, at any depth. `None` also means that it is null.
fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let found = if name.is_empty() { Some(value) } else { value.pointer(&format!("/{name}")) };
    found.filter(|found| !found.is_null())
}

/// Writes a single result, with a line for each column. For a list, each of its values gets a line.
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

/// Writes a table of rows.
pub fn write_rows<'a>(
    out: &mut Output,
    columns: &'static [Column],
    rows: impl IntoIterator<Item = &'a Value>,
) -> io::Result<()> {
    let mut table = Table::new(columns, out.columns());
    rows.into_iter().try_for_each(|row| table.add(out, row))?;
    table.finish(out)
}

/// A time without fractions of a second, for output that is not copied.
pub fn to_the_second(time: &Value) -> String {
    let time = in_words(time);
    match time.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => time,
    }
}

/// A table that is written while its rows are added.
pub struct Table {
    columns: &'static [Column],
    /// The width of the terminal, or of output that is not for a terminal.
    width: usize,
    rows: Vec<TableRow>,
    /// The width of each column so far.
    widths: Vec<usize>,
    is_first_page: bool,
}

/// A row of a table.
struct TableRow {
    cells: Vec<String>,
    /// The lines below the row.
    below: Vec<String>,
}

/// The width that the environment sets for output that is not for a terminal.
fn given_columns() -> Option<usize> {
    std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

impl Table {
    /// A table for a terminal with this many columns. `None` means that it is not for a terminal.
    pub fn new(columns: &'static [Column], terminal_columns: Option<u16>) -> Self {
        let width = terminal_columns.map(usize::from).or_else(given_columns);
        let width = width.unwrap_or(PIPE_COLUMNS);
        let widths = columns.iter().map(|column| column.name.width()).collect();
        Table { columns, width, rows: Vec::new(), widths, is_first_page: true }
    }

    /// Adds a row. Below it are its digests, if there are several, and its annotations.
    pub fn add(&mut self, out: &mut impl Write, row: &impl Serialize) -> io::Result<()> {
        let row = to_value(row);
        let cells = self.columns.iter().map(|column| column.cell(&row)).collect();
        let mut below: Vec<String> = digests_below(&row).collect();
        let width = self.width.saturating_sub(GAP).max(MIN_PROSE);
        below.extend(annotations_below(&row).map(|line| cut(&line, width)));
        self.add_row(out, TableRow { cells, below })
    }

    fn add_row(&mut self, out: &mut impl Write, row: TableRow) -> io::Result<()> {
        for (width, cell) in self.widths.iter_mut().zip(&row.cells) {
            *width = cell.width().max(*width);
        }
        self.rows.push(row);
        if self.rows.len() < PAGE_ROWS { Ok(()) } else { self.write_page(out) }
    }

    /// Writes the remaining rows. A table without rows is not written at all.
    pub fn finish(mut self, out: &mut impl Write) -> io::Result<()> {
        if self.is_first_page {
            // At this point, all rows are known.
            self.leave_out_empty_columns();
        }
        if self.rows.is_empty() { Ok(()) } else { self.write_page(out) }
    }

    /// Omits the optional columns that are empty in all rows: their width is 0.
    fn leave_out_empty_columns(&mut self) {
        for (index, column) in self.columns.iter().enumerate() {
            if column.is_optional && self.rows.iter().all(|row| row.cells[index].is_empty()) {
                self.widths[index] = 0;
            }
        }
    }

    fn write_page(&mut self, out: &mut impl Write) -> io::Result<()> {
        let widths = self.fitting_widths();
        if std::mem::take(&mut self.is_first_page) {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
            self.write_cells(out, &names, &widths)?;
        }
        for TableRow { cells, below } in std::mem::take(&mut self.rows) {
            let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
            self.write_cells(out, &cells, &widths)?;
            let shown = self.columns.iter().zip(&cells).zip(&widths);
            let cut = shown.filter(|((column, cell), width)| {
                column.is_whole && **width > 0 && cell.width() > **width
            });
            cut.map(|((_, cell), _)| cell)
                .try_for_each(|cell| writeln!(out, "{:GAP$}{cell}", ""))?;
            below.iter().try_for_each(|line| writeln!(out, "{:GAP$}{line}", ""))?;
        }
        Ok(())
    }

    /// The widths of the columns. Columns of messages share the space that the other columns leave.
    fn fitting_widths(&self) -> Vec<usize> {
        let mut widths = self.widths.clone();
        let shown = widths.iter().filter(|width| **width > 0).count();
        let gaps = GAP * shown.saturating_sub(1);
        let of_prose = |index: &usize| self.columns[*index].is_prose && self.widths[*index] > 0;
        let mut prose: Vec<usize> = (0..widths.len()).filter(of_prose).collect();
        let others: usize =
            widths.iter().sum::<usize>() - prose.iter().map(|index| widths[*index]).sum::<usize>();
        let mut left = self.width.saturating_sub(gaps + others);
        // The narrow columns come first, so that the wide ones share the space that these leave.
        prose.sort_by_key(|index| widths[*index]);
        for (place, index) in prose.iter().enumerate() {
            let share = left / (prose.len() - place);
            widths[*index] = widths[*index].min(share.max(MIN_PROSE));
            left = left.saturating_sub(widths[*index]);
        }
        widths
    }

    fn write_cells(
        &self,
        out: &mut impl Write,
        cells: &[&str],
        widths: &[usize],
    ) -> io::Result<()> {
        let mut line = String::new();
        for ((column, cell), width) in self.columns.iter().zip(cells).zip(widths) {
            if *width == 0 {
                continue;
            }
            let cell = cut(cell, *width);
            let padding = " ".repeat(width - cell.width());
            line.push_str(&match column.is_number {
                true => format!("{padding}{cell}"),
                false => format!("{cell}{padding}"),
            });
            line.push_str(&" ".repeat(GAP));
        }
        writeln!(out, "{}", line.trim_end())
    }
}

/// A text that is at most `width` columns wide. A longer text is cut and ends with `…`.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    let mut taken = "…".width();
    for character in text.chars() {
        taken += character.width().unwrap_or(0);
        if taken > width {
            break;
        }
        shown.push(character);
    }
    format!("{}…", shown.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &[Column] =
        &[Column::text("id"), Column::number("granules"), Column::prose("note")];

    fn printed_as(
        columns: &'static [Column],
        terminal_columns: Option<u16>,
        rows: &[&[&str]],
    ) -> String {
        let mut table = Table::new(columns, terminal_columns);
        let mut out = Vec::new();
        for row in rows {
            let cells = row.iter().map(|cell| (*cell).to_owned()).collect();
            table.add_row(&mut out, TableRow { cells, below: Vec::new() }).unwrap();
        }
        table.finish(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_message_ends_where_the_terminal_does_and_an_id_is_whole() {
        let row: &[&str] = &["a.long.id.that.is.copied", "1", "one two three four five"];
        let expected = "\
id                        granules  note
a.long.id.that.is.copied         1  one…
";
        // The same if there is hardly any room.
        for columns in [20, 46] {
            let expected = expected.replace("one…", "one two three f…");
            assert_eq!(printed_as(COLUMNS, Some(columns), &[row]), expected);
        }
        assert_eq!(printed_as(COLUMNS, Some(60), &[row]).lines().nth(1).unwrap().len(), 59);
        let long = "値".repeat(60);
        let printed = printed_as(COLUMNS, None, &[&["A", "1", &long]]);
        assert_eq!(printed.lines().map(UnicodeWidthStr::width).max(), Some(99));
        assert!(printed.ends_with("値…\n"), "{printed}");
    }

    #[test]
    fn a_message_that_is_cut_is_whole_below_its_row_if_the_column_says_so() {
        const WHOLE: &[Column] = &[Column::text("id"), Column::prose("problems").or_below()];
        let rows: &[&[&str]] = &[&["A", "one two three four five"], &["B", "six"]];
        assert_eq!(
            printed_as(WHOLE, Some(20), rows),
            "id  problems\nA   one two three f…\n  one two three four five\nB   six\n"
        );
        assert_eq!(
            printed_as(WHOLE, Some(60), rows),
            "id  problems\nA   one two three four five\nB   six\n"
        );
    }

    #[test]
    fn messages_share_what_the_ids_leave() {
        const TWO: &[Column] = &[Column::prose("why"), Column::text("id"), Column::prose("found")];
        let row: &[&str] = &["a short one", "ID", &"long ".repeat(30)];
        let printed = printed_as(TWO, Some(60), &[row]);
        let line = printed.lines().nth(1).unwrap();
        assert!(line.starts_with("a short one  ID  long ") && line.ends_with('…'), "{line}");
        assert!((55..=60).contains(&line.width()), "{line}");
    }

    #[test]
    fn a_column_of_which_no_row_has_anything_is_left_out_if_it_may_be() {
        const OPTIONAL: &[Column] =
            &[Column::text("id"), Column::text("gone").if_any(), Column::text("kept")];
        assert_eq!(printed_as(OPTIONAL, None, &[&["A", "", ""]]), "id  kept\nA\n");
        assert_eq!(
            printed_as(OPTIONAL, None, &[&["A", "", ""], &["B", "x", ""]]),
            "id  gone  kept\nA\nB   x\n"
        );
    }

    #[test]
    fn a_long_table_has_one_header_and_never_narrower_columns() {
        let mut rows: Vec<&[&str]> = vec![&["short", "1", "note"]; PAGE_ROWS - 1];
        rows.push(&["a.much.longer.id", "1", "note"]);
        rows.push(&["short", "2", "after the page"]);
        let printed = printed_as(COLUMNS, None, &rows);
        assert_eq!(printed.matches("granules").count(), 1);
        assert_eq!(printed.lines().count(), rows.len() + 1);
        assert_eq!(printed.lines().last(), Some("short                    2  after the page"));
    }
}
