//! The tables as Rust.

use super::list::Code;
use super::{Named, Row};
use std::fmt::Write as _;
use std::iter;

/// Where a line has to end.
const WIDTH: usize = 119;
const GENERATED: &str =
    "Written by `cargo xtask events`; change `data/events.tsv` or `data/events.corrections.tsv`.";

/// The Rust name of an event: `CYCLES_GE_1` of `UOPS_EXECUTED` is `UopsExecutedCyclesGe1`.
fn variant(name: &str) -> String {
    let mut variant = String::new();
    for part in name.split(['.', '_']).filter(|part| !part.is_empty()) {
        let (first, rest) = part.split_at(1);
        if variant.ends_with(|c: char| c.is_ascii_digit()) && first.starts_with(|c: char| c.is_ascii_digit())
        {
            variant.push('_');
        }
        variant.push_str(&first.to_ascii_uppercase());
        // Intel's names are in upper case, AMD's in lower.
        variant.push_str(&rest.to_ascii_lowercase());
    }
    variant
}

// Writing to a String cannot fail.

/// `vocabulary/names.rs`.
pub(super) fn vocabulary(names: &[Named]) -> String {
    let mut text = format!("//! {GENERATED}\n\nevents! {{\n");
    for Named { name, description, others } in names {
        let mut line = format!("    {}:", variant(name));
        let others = others.iter().map(|other| format!("| {other:?}"));
        for more in iter::once(format!("{name:?}")).chain(others).chain([format!("= {description:?};")]) {
            if line.len() + 1 + more.len() > WIDTH {
                let _ = writeln!(text, "{line}");
                line = format!("        {more}");
            } else {
                let _ = write!(line, " {more}");
            }
        }
        let _ = writeln!(text, "{line}");
    }
    text + "}\n"
}

/// A table of `encodings/`.
pub(super) fn table(cores: &[&str], versions: &[String], rows: &[Row<'_>]) -> String {
    // Rows of all cores do not name them.
    let named =
        |core: &&&str| rows.iter().any(|row| row.cores.len() < cores.len() && row.cores.contains(*core));
    let named: String = cores.iter().filter(named).map(|core| format!("{core}, ")).collect();
    let mut text = format!(
        "//! {GENERATED}\n//!\n//! Lists: {}.\n\nuse super::{{ALL, {named}Row, row}};\nuse crate::event::Event::*;\n\n\
         pub(super) const ROWS: &[Row] = &[\n",
        versions.join(",\n//! "),
    );
    for row in rows {
        let which = if row.cores.len() == cores.len() { "ALL".to_owned() } else { row.cores.join(" | ") };
        let event = variant(&row.event.name);
        let Code { select, umask, cmask, inv, edge, extra, counters } = row.code;
        let mut line = format!("    ({which}, row({event}, {select:#04X}, {umask:#04X})");
        if let Some(counters) = counters {
            let _ = write!(line, ".on({counters:#X})");
        }
        if cmask != 0 {
            let _ = write!(line, ".cmask({cmask})");
        }
        line.push_str(if inv { ".inv()" } else { "" });
        line.push_str(if edge { ".edge()" } else { "" });
        if let Some((msr, value)) = extra {
            let _ = write!(line, ".extra({msr:#X}, {value:#X})");
        }
        if *row.listed != row.event.name {
            let named = format!(".named({:?})", row.listed);
            if line.len() + named.len() + 2 > WIDTH {
                let _ = writeln!(text, "{line}");
                line = " ".repeat(8);
            }
            line.push_str(&named);
        }
        let _ = writeln!(text, "{line}),");
    }
    text + "];\n"
}
