//! What the figures of a core say of operations on vectors, where LLVM knows its units: latencies, and how many units
//! an operation has or for how long it takes them.
//!
//! LLVM's table of Zen 4 is that of Zen 3 with guesses for AVX-512. Throughput does not tell which units an operation
//! has, so LLVM's are kept as far as their number fits.

use super::figures::{Figures, down, nearest};
use super::table::{Latency, Line, Lines, Uops};
use core_model::Form;

/// Slots a cycle.
const WIDTH: f64 = 6.0;
/// Cycles of a load to a vector register.
const LOAD: u32 = 7;
/// The units of arithmetic on vectors, and those that bring loads to them.
const UNITS: [&str; 4] = ["FP0", "FP1", "FP2", "FP3"];
const LOADS: &str = "FP45.0";
/// Figures that are closer than this, in parts of the larger one, are the same.
const SAME: f64 = 0.12;

/// The lines of a table that were measured to be otherwise.
pub(super) fn measured(older: &Lines, figures: &Figures) -> Vec<Line> {
    let differs = |line: &Line| older.get(&line.name, line.form).is_none_or(|older| !is_same(line, older));
    older.iter().filter_map(|line| measured_line(line, older, figures)).filter(differs).collect()
}

/// True if two lines say the same, whatever order the uops have; LLVM has a load and what comes behind it as one.
fn is_same(line: &Line, other: &Line) -> bool {
    let total = |line: &Line| line.latency.load.unwrap_or(0) + line.latency.own;
    let uops = |line: &Line| {
        let mut uops: Vec<String> = line.uops.iter().map(Uops::to_string).collect();
        uops.sort();
        uops
    };
    line.slots == other.slots && total(line) == total(other) && uops(line) == uops(other)
}

fn measured_line(line: &Line, older: &Lines, figures: &Figures) -> Option<Line> {
    let register = older.get(&line.name, Form::Register)?;
    let (operation, _) = parts(register);
    let [operation] = &operation[..] else { return None };
    if register.uses("Store") || line.uses("Store") || register.uses("ALU") {
        return None;
    }
    let cycles = figures.cycles(&line.name, Form::Register)?;
    let operation = figured(operation, cycles);
    let longest = figures.latencies(&line.name, Form::Register).into_iter().reduce(f64::max);
    let own = longest.filter(|longest| *longest > 0.9).map_or(register.latency.own, nearest);
    let (latency, uops) = match line.form {
        Form::Memory if line.uses("Load") => {
            let (_, mut memory) = parts(line);
            // A register of 64 bytes is loaded in two halves.
            if line.name.contains("_zmmm512") {
                let loads = |uops: &&mut Uops| uops.units.iter().any(|unit| unit == LOADS);
                memory.iter_mut().filter(loads).for_each(|uops| uops.cycles = 2);
            }
            memory.push(operation);
            (Latency { load: Some(LOAD), own }, memory)
        }
        Form::Register => (Latency { load: None, own }, vec![operation]),
        _ => return None,
    };
    let slots = line.slots.min(down(WIDTH * cycles + 0.1).max(1));
    Some(Line { name: line.name.clone(), form: line.form, slots, latency, uops })
}

/// Uops of vector arithmetic, and others.
fn parts(line: &Line) -> (Vec<Uops>, Vec<Uops>) {
    let computes = |uops: &Uops| uops.units.iter().all(|unit| UNITS.contains(&unit.as_str()));
    line.uops.iter().cloned().partition(computes)
}

/// An operation of which one takes so many cycles.
fn figured(operation: &Uops, cycles: f64) -> Uops {
    let Uops { units, cycles: taken } = operation;
    let known = f64::from(*taken) / units.len() as f64;
    if (cycles - known).abs() < SAME * cycles.max(known) {
        return operation.clone();
    }
    let units = |number: usize| {
        let others = UNITS.iter().map(|&unit| unit.to_owned()).filter(|unit| !units.contains(unit));
        units.iter().cloned().chain(others).take(number).collect()
    };
    match cycles {
        _ if cycles < 0.3 => Uops { cycles: 1, units: units(4) },
        _ if cycles < 0.42 => Uops { cycles: 1, units: units(3) },
        _ if cycles < 0.6 => Uops { cycles: 1, units: units(2) },
        _ => {
            // Whole cycles have one unit, or as many as there were.
            let number = if (cycles - cycles.round()).abs() < 0.1 { operation.units.len().min(2) } else { 2 };
            Uops { cycles: nearest(cycles * number as f64).max(1), units: units(number) }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    fn made(older: &str, recorded: &str) -> Vec<String> {
        let older = Lines::parse(older).unwrap();
        let figures = Figures::parse(recorded).unwrap();
        measured(&older, &figures).iter().map(Line::to_string).collect()
    }

    #[test]
    fn measured_vectors_keep_units_that_fit() {
        let of = |units: &str, cycles: &str| {
            let older = format!("A_xmm\tr\t1\t1\t{units}");
            let lines = made(&older, &format!("A_xmm\tr\t{cycles}\t1:2.0"));
            lines[0].split('\t').nth(4).unwrap().to_owned()
        };
        assert_eq!(of("1*FP1,FP2", "0.5"), "1*FP1,FP2");
        assert_eq!(of("1*FP1,FP2", "0.34"), "1*FP1,FP2,FP0");
        assert_eq!(of("1*FP0,FP1,FP2,FP3", "0.5"), "1*FP0,FP1");
        assert_eq!(of("4*FP2,FP3", "0.5"), "1*FP2,FP3");
        assert_eq!(of("1*FP1", "2.01"), "2*FP1");
        assert_eq!(of("1*FP1,FP2", "1.5"), "3*FP1,FP2");
    }

    #[test]
    fn measured_vectors_tell_only_what_differs() {
        let register = "Pshufb\tr\t1\t1\t1*FP1,FP2\n";
        let memory = "Pshufb\tm\t1\t8\t1*FP1,FP2+1*FP45.0,FP45.1+1*Load.0,Load.1";
        assert!(made(register, "Pshufb\tr\t0.5\t0:1.0\n").is_empty());
        let lines = made(&format!("{register}{memory}"), "Pshufb\tr\t0.5\t0:1.99\n");
        assert_eq!(lines[0], "Pshufb\tr\t1\t2\t1*FP1,FP2");
        assert_eq!(lines[1], "Pshufb\tm\t1\t7+2\t1*FP45.0,FP45.1+1*Load.0,Load.1+1*FP1,FP2");
        let wide = "A_zmm_zmmm512\tr\t1\t1\t2*FP1,FP2\n\
                    A_zmm_zmmm512\tm\t1\t8\t2*FP1,FP2+1*FP45.0,FP45.1+1*Load.0";
        let lines = made(wide, "A_zmm_zmmm512\tr\t1.0\t0:1.0\n");
        assert_eq!(lines, ["A_zmm_zmmm512\tm\t1\t7+1\t2*FP45.0,FP45.1+1*Load.0+2*FP1,FP2"]);
    }
}
