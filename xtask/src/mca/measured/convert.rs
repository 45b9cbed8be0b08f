//! Zen 4's units as Zen 5's.
//!
//! Zen 5 has six units of arithmetic in place of four, four generators of addresses in place of three, and two units
//! each that bring loads to vector registers and take stores from there (AMD, Software Optimization Guide for the Zen5
//! Microarchitecture). Which of them does what was measured.

use super::table::{Line, Uops};

/// Sets of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// Arithmetic.
    Alu,
    /// Those of it that multiply.
    Multiply,
    /// Those of it that shift, branch and count bits.
    Shift,
    /// Addresses.
    Agu,
    Store,
    /// Vector arithmetic.
    Vector,
    VectorLoad,
    VectorStore,
}

impl Units {
    pub(super) fn names(self) -> Vec<String> {
        let numbered = |stem: &str, numbers: std::ops::Range<u32>| {
            numbers.map(|number| format!("{stem}{number}")).collect()
        };
        match self {
            Self::Alu => numbered("ALU", 0..6),
            Self::Multiply => numbered("ALU", 0..3),
            Self::Shift => numbered("ALU", 3..6),
            Self::Agu => numbered("AGU", 0..4),
            Self::Store => numbered("Store.", 0..2),
            Self::Vector => numbered("FP", 0..4),
            Self::VectorLoad => numbered("FPLd.", 0..2),
            Self::VectorStore => numbered("FPSt.", 0..2),
        }
    }

    /// So many cycles of them.
    pub(super) fn uops(self, cycles: u32) -> Uops {
        Uops { cycles, units: self.names() }
    }
}

/// All units, in the order of the table.
pub(super) fn units() -> Vec<String> {
    let sets = [Units::Agu, Units::Alu, Units::Vector, Units::VectorLoad, Units::VectorStore, Units::Store];
    let divider = std::iter::once("Div".to_owned());
    // Only POP takes them, so that there are five in two cycles.
    let pops = (0..5).map(|number| format!("Pop.{number}"));
    sets.into_iter().flat_map(Units::names).chain(divider).chain(pops).collect()
}

/// What a form needs of memory and of vector units, by Zen 4's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) load: bool,
    pub(super) store: bool,
    pub(super) vector: bool,
}

impl Parts {
    pub(super) fn of(line: &Line) -> Self {
        let vector = |unit: &String| {
            let digit = unit.strip_prefix("FP").and_then(|rest| rest.chars().next());
            digit.is_some_and(|digit| digit.is_ascii_digit()) || unit.contains("FPSt")
        };
        Self {
            load: line.uses("Load"),
            store: line.uses("Store"),
            vector: line.uops.iter().flat_map(|uops| &uops.units).any(vector),
        }
    }
}

/// The uops of a line of Zen 4's table, on units of Zen 5.
pub(super) fn convert(line: &Line) -> Vec<Uops> {
    let Parts { load, store, .. } = Parts::of(line);
    let addresses = line.uses("AGU");
    let mut all = Vec::new();
    for uops in &line.uops {
        let cycles = uops.cycles;
        let names: Vec<&str> = uops.units.iter().map(String::as_str).collect();
        match names[..] {
            // LEA is arithmetic.
            ["AGU0", "AGU1", "AGU2"] if load || store => all.push(Units::Agu.uops(cycles)),
            ["AGU0", "AGU1", "AGU2"] => all.push(Units::Alu.uops(cycles)),
            // The same uop once more.
            [first, ..] if first.starts_with("LSU") => {}
            [first, ..] if first.starts_with("Load") && addresses => {}
            [first, ..] if first.starts_with("Load") => all.push(Units::Agu.uops(cycles)),
            [first, ..] if first.starts_with("Store") => {
                if !addresses && !load {
                    all.push(Units::Agu.uops(1));
                }
                all.push(Units::Store.uops(1));
            }
            // SETcc and CMOVcc have all units, as what had four of four.
            ["ALU0", "ALU1", "ALU2", "ALU3"] | ["ALU0", "ALU3"] => all.push(Units::Alu.uops(cycles)),
            ["ALU0", "BRU1"] | ["ALU1", "ALU2"] | ["ALU2"] | ["ALU0"] => {
                all.push(Units::Shift.uops(cycles));
            }
            ["ALU1"] => all.push(Units::Multiply.uops(cycles)),
            [first, ..] if first.starts_with("FP45") => {
                if load {
                    all.push(Units::VectorLoad.uops(1));
                }
                if store {
                    all.push(Units::VectorStore.uops(1));
                }
            }
            ["FPSt"] if all.contains(&Units::VectorStore.uops(1)) => {}
            ["FPSt"] => all.push(Units::VectorStore.uops(1)),
            [first, ..] if first.starts_with("FP") => {
                let units = names.iter().map(|name| (*name).to_owned()).collect();
                all.push(Uops { cycles, units });
            }
            // Units of system instructions and what else the table does not tell apart.
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::super::table::Lines;
    use super::*;

    fn converted(uops: &str) -> String {
        let lines = Lines::parse(&format!("A\tm\t1\t1\t{uops}")).unwrap();
        let all: Vec<String> = convert(lines.iter().next().unwrap()).iter().map(Uops::to_string).collect();
        all.join("+")
    }

    #[test]
    fn measured_cores_have_units_of_their_own() {
        let agu = "AGU0,AGU1,AGU2";
        assert_eq!(converted(&format!("1*{agu}")), Units::Alu.uops(1).to_string());
        let load = format!("1*ALU1+1*{agu}+1*LSU.0,LSU.1+1*Load.0,Load.1");
        assert_eq!(converted(&load), "1*ALU0,ALU1,ALU2+1*AGU0,AGU1,AGU2,AGU3");
        let store = "1*FP45.0,FP45.1+1*FPSt+1*Store.0,Store.1";
        let expected = "1*FPSt.0,FPSt.1+1*AGU0,AGU1,AGU2,AGU3+1*Store.0,Store.1";
        assert_eq!(converted(store), expected);
        assert_eq!(units().len(), 26);
    }
}
