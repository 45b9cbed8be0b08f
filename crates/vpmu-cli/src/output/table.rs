//! Tables: aligned columns under a rule, no boxes.

use anstream::adapter::strip_str;
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

/// As [`render`], but on a terminal that is too narrow for it without the columns that say least, the first of
/// `dispensable` first.
pub(crate) fn render_fitting(table: &mut Table, dispensable: &[usize]) -> String {
    fit(table, dispensable, terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
}

fn fit(table: &mut Table, dispensable: &[usize], terminal: Option<usize>) -> String {
    let mut text = render(table);
    for &index in dispensable {
        let width = text.lines().map(|line| strip_str(line).to_string().chars().count()).max().unwrap_or(0);
        if terminal.is_none_or(|terminal| width <= terminal) {
            break;
        }
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
        }
        text = render(table);
    }
    text
}

/// The table as text, without blanks at line ends.
pub(crate) fn render(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_loses_the_least_important_columns_first() {
        let heads = |width| {
            let mut table = new(["first", "second", "third"].map(left).to_vec());
            fit(&mut table, &[1, 2], width).lines().next().map(str::to_owned).unwrap_or_default()
        };
        let shown = |width| strip_str(&heads(width)).to_string().split_whitespace().count();
        assert_eq!([None, Some(80), Some(14), Some(6), Some(1)].map(shown), [3, 3, 2, 1, 1]);
    }
}
