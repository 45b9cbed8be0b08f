//! Tables: aligned columns under a rule, no boxes.

use anstyle::{AnsiColor, Color as AnsiStyleColor, Effects, Style};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

/// A cell with text to the left.
pub(crate) fn left(text: impl ToString) -> Cell {
    Cell::new(text)
}

/// A cell with text to the right, for numbers.
pub(crate) fn right(text: impl ToString) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// A cell in a style. Only what [`super`] defines is understood: one of three colours, bold, dimmed.
pub(crate) fn styled(mut cell: Cell, style: Style) -> Cell {
    cell = match style.get_fg_color() {
        Some(AnsiStyleColor::Ansi(AnsiColor::Green)) => cell.fg(Color::DarkGreen),
        Some(AnsiStyleColor::Ansi(AnsiColor::Yellow)) => cell.fg(Color::DarkYellow),
        Some(AnsiStyleColor::Ansi(AnsiColor::Red)) => cell.fg(Color::DarkRed),
        _ => cell,
    };
    let effects = style.get_effects();
    if effects.contains(Effects::BOLD) {
        cell = cell.add_attribute(Attribute::Bold);
    }
    if effects.contains(Effects::DIMMED) {
        cell = cell.add_attribute(Attribute::Dim);
    }
    cell
}

/// Starts a table with these column heads. It never wraps: a number broken in two is worse than a wide
/// line.
pub(crate) fn new(heads: Vec<Cell>) -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─')))
        // Colours are not the table's to decide: the streams drop them where they are not wanted.
        .enforce_styling()
        .set_header(heads.into_iter().map(|cell| cell.add_attribute(Attribute::Bold)));
    table.style_text_only();
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    if cfg!(test) {
        // Snapshots must not depend on the terminal that the tests run in.
        table.force_no_tty();
    }
    table
}

/// As [`new`], for a table whose last column is prose, which wraps on a terminal.
pub(crate) fn with_prose(heads: Vec<Cell>) -> Table {
    let mut table = new(heads);
    let prose = table.column_count().saturating_sub(1);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    for column in table.column_iter_mut().take(prose) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// The table as text, without blanks at line ends.
pub(crate) fn render(table: &Table) -> String {
    table.trim_fmt() + "\n"
}
