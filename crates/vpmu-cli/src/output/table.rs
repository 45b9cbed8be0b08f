//! Tables: aligned columns under a rule, no boxes.

use anstream::adapter::strip_str;
use anstyle::{AnsiColor, Color as AnsiStyleColor, Effects, Style};
use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, LineStyle, Table, TableStyle, Width,
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

/// Starts a table with these column heads. Without [`Fitting`] it never wraps: a number broken in two is worse than a
/// wide line.
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
    // The terminal's width is up to `Fitting`.
    table.force_no_tty();
    table
}

/// Narrowest column of prose that still reads.
const MIN_PROSE: usize = 24;
/// Narrowest that another text is broken to.
const MIN_TEXT: usize = 12;
/// How far prose is indented that stands below its row.
const INDENT: usize = 4;

/// A table that fits the terminal, as far as it can: see [`Fitting`].
pub(crate) fn render(table: &mut Table) -> String {
    Fitting::default().render(table)
}

/// What may happen to a table that is too wide for the terminal, in this order: prose wraps, then goes below its row;
/// columns that say least are left out; the widest text is broken. Numbers never are, and nothing is where there is
/// no terminal.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fitting<'a> {
    /// The last column is prose.
    pub(crate) prose: bool,
    /// Columns that say least, the first of them first.
    pub(crate) dispensable: &'a [usize],
}

impl Fitting<'_> {
    /// The table as text for our terminal, without blanks at line ends.
    pub(crate) fn render(self, table: &mut Table) -> String {
        self.render_to(table, super::terminal())
    }

    fn render_to(self, table: &mut Table, terminal: Option<usize>) -> String {
        let Some(terminal) = terminal else { return text(table) };
        if width(table) <= terminal {
            return text(table);
        }
        let last = table.column_count().saturating_sub(1);
        let mut below = Vec::new();
        if self.prose {
            let rest = width(table) - widths(table).last().copied().unwrap_or(0);
            if terminal >= rest + MIN_PROSE {
                wrap(table, last, terminal - rest);
                return text(table);
            }
            below = table
                .column_cells_iter(last)
                .map(|cell| cell.map_or_else(String::new, Cell::content))
                .collect();
            hide(table, last);
        }
        for &index in self.dispensable {
            if width(table) > terminal {
                hide(table, index);
            }
        }
        let excess = width(table).saturating_sub(terminal);
        let widest = (0..)
            .zip(widths(table))
            .filter(|(index, _)| is_text(table, *index))
            .max_by_key(|(_, width)| *width);
        match widest {
            Some((index, width)) if excess > 0 && below.is_empty() && width >= excess + MIN_TEXT => {
                wrap(table, index, width - excess);
            }
            _ => {}
        }
        let text = text(table);
        if below.is_empty() { text } else { with_below(&text, &below, terminal) }
    }
}

/// Rows without line breaks, each with its prose below it.
fn with_below(text: &str, prose: &[String], terminal: usize) -> String {
    const HEAD: usize = 2;
    let mut lines = text.lines();
    let mut text: String = lines.by_ref().take(HEAD).map(|line| format!("{line}\n")).collect();
    for (line, prose) in lines.zip(prose) {
        text += &format!("{line}\n");
        for line in paragraph(prose, terminal.saturating_sub(INDENT)) {
            text += &format!("{:INDENT$}{line}\n", "");
        }
    }
    text
}

/// Words in lines of at most `width` characters; a longer word has a line of its own.
fn paragraph(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn text(table: &Table) -> String {
    table.trim_fmt() + "\n"
}

/// Of the longest line, in characters.
fn width(table: &Table) -> usize {
    text(table).lines().map(|line| strip_str(line).to_string().chars().count()).max().unwrap_or(0)
}

/// Of the columns' contents, 0 of a hidden one.
fn widths(table: &Table) -> Vec<usize> {
    let widths = table.column_max_content_widths();
    table
        .column_iter()
        .zip(widths)
        .map(|(column, width)| if column.is_hidden() { 0 } else { width.into() })
        .collect()
}

fn is_text(table: &Table, index: usize) -> bool {
    let number = |cell: &Cell| cell.content().starts_with(|c: char| c.is_ascii_digit() || "+-<".contains(c));
    !table.column_cells_iter(index).flatten().any(number)
}

fn hide(table: &mut Table, index: usize) {
    if let Some(column) = table.column_mut(index) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
}

/// Breaks the lines of a column, and of no other.
fn wrap(table: &mut Table, index: usize, width: usize) {
    if let Some(column) = table.column_mut(index) {
        let width = u16::try_from(width).unwrap_or(u16::MAX).saturating_add(column.padding_width());
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROSE: &str = "what it is for, in a sentence of some length that goes on";

    fn prose_table() -> Table {
        let mut table = new(vec![left("Name"), right("Number"), left("Third"), left("What it is")]);
        table.add_row(vec![left("sapphire-rapids"), right("1,234,567"), left("x x x x x x"), left(PROSE)]);
        table.add_row(vec![left("b"), right("2"), left("y"), left("short")]);
        table
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(|line| strip_str(line).to_string()).collect()
    }

    fn shown(width: usize) -> Vec<String> {
        let fitting = Fitting { prose: true, dispensable: &[2] };
        lines(&fitting.render_to(&mut prose_table(), Some(width)))
    }

    #[test]
    fn no_terminal_is_too_narrow_for_words() {
        for width in [30, 40, 60, 80, 120, 200] {
            let shown = shown(width);
            assert!(shown.iter().all(|line| line.chars().count() <= width), "{width}: {shown:#?}");
            let all = shown.join(" ");
            for word in PROSE.split(' ').chain(["sapphire-rapids", "1,234,567", "short"]) {
                assert!(all.contains(word), "{word} at {width}: {shown:#?}");
            }
        }
    }

    #[test]
    fn prose_wraps_then_goes_below_and_only_then_a_column_goes() {
        assert_eq!(shown(120).len(), 4, "as wide as it likes");
        let wrapped = shown(70);
        assert!(
            wrapped.len() > 4 && wrapped[2].contains("x x x") && wrapped[2].contains("what it"),
            "{wrapped:#?}"
        );
        let below = shown(50);
        assert!(below[2].contains("x x x") && below[3].starts_with("    what it is for"), "{below:#?}");
        assert!(!below[0].contains("What it is"), "{below:#?}");
        let narrow = shown(35);
        assert!(!narrow[2].contains('x') && narrow[0].contains("Number"), "{narrow:#?}");
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_important_columns_first() {
        let heads = |width| {
            let mut table = new(["first", "second", "third"].map(left).to_vec());
            let fitting = Fitting { prose: false, dispensable: &[1, 2] };
            lines(&fitting.render_to(&mut table, width))[0].split_whitespace().count()
        };
        assert_eq!([None, Some(80), Some(14), Some(6), Some(1)].map(heads), [3, 3, 2, 1, 1]);
    }

    #[test]
    fn the_widest_text_is_broken_and_a_number_never_is() {
        let mut table = new(vec![left("Event"), right("Count")]);
        table.add_row(vec![left("AN EVENT WITH A VERY LONG NAME INDEED"), right("1,234,567,890")]);
        let shown = lines(&Fitting::default().render_to(&mut table, Some(40)));
        assert!(shown.iter().all(|line| line.chars().count() <= 40), "{shown:#?}");
        assert!(shown[2].ends_with("1,234,567,890"), "{shown:#?}");
    }
}
