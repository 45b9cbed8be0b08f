//! A file of what figures of single instructions do not show, in place of what was made of them.
//!
//! Each line: names, form (or `*`), slots, latency, uops. Names are separated by commas, in lower case, without the
//! prefix and the V of VEX and EVEX, so that one name means all encodings; `*` in a name stands for any text, and a
//! name behind `!` is excepted. `=` keeps what there is. Uops name units, or sets of them that the file declares by
//! `#set NAME units`; `=SET` has them take the place of a pair of vector units, and leaves others as they are; `?SET`
//! adds a cycle of these to what stores and has none of them. Later lines have the last word. A name that is written
//! as the table has it, with a form that the table does not have of it, is a line of its own.

use super::convert::Units;
use super::table::{self, Latency, Line, Uops};
use core_model::Form;
use std::collections::HashMap;

/// What a line makes of uops.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Change {
    Keep,
    /// These units for each pair of vector units.
    Pair(Vec<String>),
    /// A cycle of these more, if it stores.
    Stored(Vec<String>),
    Replace(Vec<Uops>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Override {
    names: Vec<String>,
    form: Option<Form>,
    slots: Option<u32>,
    latency: Option<Latency>,
    uops: Change,
}

/// Reads the file, or names the first line that is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<Override>, (usize, String)> {
    let (mut all, mut sets) = (Vec::new(), HashMap::new());
    for (number, line) in text.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["#set", name, units] => {
                sets.insert(name, units);
            }
            [comment, ..] if comment.is_empty() || comment.starts_with('#') => {}
            _ => all.push(parse_line(&fields, &sets).map_err(|what| (number + 1, what))?),
        }
    }
    Ok(all)
}

fn parse_line(fields: &[&str], sets: &HashMap<&str, &str>) -> Result<Override, String> {
    let &[names, form, slots, latency, uops] = fields else {
        return Err(format!("{} fields instead of 5", fields.len()));
    };
    let units = |set: &str| {
        let all = set.split(',').map(|name| sets.get(name).copied().unwrap_or(name));
        all.collect::<Vec<_>>().join(",").split(',').map(str::to_owned).collect::<Vec<_>>()
    };
    let uops = match uops {
        "=" => Change::Keep,
        _ => match (uops.strip_prefix('='), uops.strip_prefix('?')) {
            (Some(set), _) => Change::Pair(units(set)),
            (_, Some(set)) => Change::Stored(units(set)),
            _ => {
                let mut all = Uops::parse_all(uops)?;
                all.iter_mut().for_each(|one| one.units = units(&one.units.join(",")));
                Change::Replace(all)
            }
        },
    };
    let given = |text: &str| (text != "=").then(|| text.to_owned());
    let wrong = |_| format!("{slots} is no number of slots");
    Ok(Override {
        names: names.split(',').map(str::to_owned).collect(),
        form: if form == "*" { None } else { Some(table::form(form)?) },
        slots: given(slots).map(|text| text.parse().map_err(wrong)).transpose()?,
        latency: given(latency).map(|text| Latency::parse(&text)).transpose()?,
        uops,
    })
}

/// The lines with all overrides.
pub(super) fn apply(overrides: &[Override], mut lines: Vec<Line>) -> Vec<Line> {
    let simple: Vec<String> = lines.iter().map(|line| simple_name(&line.name)).collect();
    for one in overrides {
        let of_form = |line: &Line| one.form.is_none_or(|form| form == line.form);
        for (line, _) in lines.iter_mut().zip(&simple).filter(|(line, name)| of_form(line) && one.names(name))
        {
            one.change(line);
        }
    }
    let new = overrides.iter().flat_map(|one| one.names.iter().filter_map(|name| one.line(name)));
    let new: Vec<Line> = new.collect();
    lines.extend(new);
    lines
}

/// The name of a form for all of its encodings.
fn simple_name(name: &str) -> String {
    let plain = ["VEX_V", "EVEX_V", "VEX_", "EVEX_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    plain.unwrap_or(name).to_lowercase()
}

/// True if a text is what a pattern means.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let mut tails = text.char_indices().map(|(at, _)| &text[at..]).chain([""]);
            tails.any(|tail| matches(rest, tail))
        }),
    }
}

impl Override {
    fn names(&self, name: &str) -> bool {
        let excepted = |pattern: &String| pattern.strip_prefix('!').is_some_and(|but| matches(but, name));
        self.names.iter().any(|pattern| matches(pattern, name)) && !self.names.iter().any(excepted)
    }

    fn change(&self, line: &mut Line) {
        line.slots = self.slots.unwrap_or(line.slots);
        line.latency = self.latency.unwrap_or(line.latency);
        match &self.uops {
            Change::Keep => {}
            Change::Pair(units) => {
                let vector = Units::Vector.names();
                let pairs = |uops: &&mut Uops| {
                    uops.units.len() == 2 && uops.units.iter().all(|unit| vector.contains(unit))
                };
                line.uops.iter_mut().filter(pairs).for_each(|uops| uops.units.clone_from(units));
            }
            Change::Stored(units) => {
                let has = |one: &Uops| one.units == *units;
                if line.uses("Store.") && !line.uops.iter().any(has) {
                    line.uops.push(Uops { cycles: 1, units: units.clone() });
                }
            }
            Change::Replace(uops) => line.uops.clone_from(uops),
        }
    }

    /// A line of its own, for a name that is not in lower case.
    fn line(&self, name: &str) -> Option<Line> {
        let (Some(form), Some(slots), Some(latency), Change::Replace(uops)) =
            (self.form, self.slots, self.latency, &self.uops)
        else {
            return None;
        };
        let own = name.starts_with(|first: char| first.is_ascii_uppercase());
        own.then(|| Line { name: name.to_owned(), form, slots, latency, uops: uops.clone() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::super::table::Lines;
    use super::*;

    fn applied(overrides: &str, line: &str) -> Vec<String> {
        let lines = Lines::parse(line).unwrap().iter().cloned().collect();
        apply(&parse(overrides).unwrap(), lines).iter().map(Line::to_string).collect()
    }

    #[test]
    fn measured_lines_are_overridden_by_patterns() {
        let sets = "#set\tALU\tA0,A1\n#set\tFP01\tFP0,FP1\n";
        let ptest = "VEX_Vptest_xmm_xmmm128\tr\t2\t3\t1*FP2,FP3+1*FP1";
        let changed = applied(&format!("{sets}ptest*\tr\t=\t7\t3*ALU+1*FP2"), ptest);
        assert_eq!(changed, ["VEX_Vptest_xmm_xmmm128\tr\t2\t7\t3*A0,A1+1*FP2"]);
        let paired = applied(&format!("{sets}pt*,!pta*\t*\t=\t=\t=FP01"), ptest);
        assert_eq!(paired, ["VEX_Vptest_xmm_xmmm128\tr\t2\t3\t1*FP0,FP1+1*FP1"]);
        assert_eq!(applied("pt*,!ptest_xmm*\tr\t9\t=\t=", ptest), [ptest]);
        assert_eq!(applied("ptest*\tm\t9\t=\t=", ptest), [ptest]);
        let push = applied(&format!("{sets}push*\t*\t=\t=\t?ALU"), "Push_r64\tr\t1\t1\t1*Store.0");
        assert_eq!(push, ["Push_r64\tr\t1\t1\t1*Store.0+1*A0,A1"]);
        let new = applied("Lea_r64_m\tx\t1\t1+1\t3*A0", "Nop\tr\t1\t0\t-");
        assert_eq!(new, ["Nop\tr\t1\t0\t-", "Lea_r64_m\tx\t1\t1+1\t3*A0"]);
    }

    #[test]
    fn wrong_overrides_of_measured_lines_are_named() {
        assert_eq!(parse("#\na\tr\t1").unwrap_err(), (2, "3 fields instead of 5".to_owned()));
        assert_eq!(parse("a\tr\tx\t1\t-").unwrap_err(), (1, "x is no number of slots".to_owned()));
        assert!(matches("cvt*2si*", "cvttsd2si_r32") && !matches("cvt*2si", "cvttsd2si_r32"));
    }
}
