//! A report in the terminal, in the style of `perf report --stdio`.

use super::rows::{Row, Rows};
use crate::output::number::{grouped, percent_of};
use crate::output::table::{self, Fitting, left, right};
use crate::output::{HEADING, paint};
use comfy_table::Cell;
use std::fmt::Write as _;

pub(super) fn render(rows: &Rows, limit: usize) -> String {
    let Rows { program, profile, detail, whole, rows, .. } = rows;
    let what = whole.model.map_or_else(String::new, |model| format!(", {} cycles", grouped(model.cycles)));
    let mut text = format!(
        "{}\non {profile} ({detail}): {} instructions{what}\n\n",
        paint(HEADING, format_args!("Recorded by vpmu of {}", program.join(" "))),
        grouped(whole.instructions),
    );
    let has_lines = rows.iter().any(|row| row.instructions_with_callees.is_none());
    let mut heads = vec![right("Own %")];
    if !has_lines {
        heads.push(right("Total %"));
    }
    if whole.model.is_some() {
        heads.extend(["Cycles", "IPC", "Ret %", "Bad %", "Front %", "Back %"].map(right));
        heads.push(left("Largest part"));
    } else {
        heads.push(right("Instructions"));
    }
    heads.extend([left("Process"), left("Object"), left("Function")]);
    if has_lines {
        heads.push(left("Line"));
    }
    let columns = heads.len();
    let mut table = table::new(heads);
    let shown = if limit == 0 { rows.len() } else { limit.min(rows.len()) };
    for row in &rows[..shown] {
        table.add_row(cells(row, whole, has_lines));
    }
    // The process and the object say least, then the shares, whose largest part stays, then the total.
    let names = columns - if has_lines { 4 } else { 3 };
    let mut dispensable = vec![names, names + 1];
    if whole.model.is_some() {
        dispensable.extend(names - 5..names - 1);
        if !has_lines {
            dispensable.push(1);
        }
    }
    text += &Fitting { prose: false, dispensable: &dispensable }.render(&mut table);
    if shown < rows.len() {
        let _ = writeln!(text, "{} more rows: -n 0 shows all", grouped((rows.len() - shown) as u64));
    }
    text
}

fn cells(row: &Row, whole: &Row, has_lines: bool) -> Vec<Cell> {
    let percent =
        |part, of| right(percent_of(part, of).map_or_else(String::new, |share| format!("{share:.2}")));
    let mut cells = vec![percent(row.weight(), whole.weight())];
    if !has_lines {
        cells.push(percent(row.weight_with_callees().unwrap_or(0), whole.weight()));
    }
    match &row.model {
        Some(model) => {
            let slots = &model.slots;
            cells.push(right(grouped(model.cycles)));
            cells.push(right(model.ipc.map_or_else(String::new, |ipc| format!("{ipc:.2}"))));
            for part in slots.level_1() {
                let share = percent_of(part, slots.slots);
                cells.push(right(share.map_or_else(String::new, |share| format!("{share:.1}"))));
            }
            cells.push(left(slots.largest()));
        }
        None => cells.push(right(grouped(row.instructions))),
    }
    let mark = if row.kernel { "[k]" } else { "[.]" };
    cells.push(left(&row.process));
    cells.push(left(&row.object));
    cells.push(left(format!("{mark} {}", row.function)));
    if has_lines {
        let file = row.file.as_deref().unwrap_or_default();
        // What directories a program was built in says little.
        let name = file.rsplit('/').next().unwrap_or_default();
        cells.push(left(row.line.map_or_else(String::new, |line| format!("{name}:{line}"))));
    }
    cells
}
