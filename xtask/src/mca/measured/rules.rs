//! What figures of forms say about slots, latency and units.
//!
//! Throughput tells how many units an operation has: six of arithmetic make a sixth of a cycle, three a third; four of
//! vectors a quarter, two a half. Which ones they are it does not tell, so Zen 4's are kept as far as the number fits.

use super::convert::{Parts, Units, convert};
use super::figures::{Figures, down, nearest};
use super::table::{Latency, Line, Lines, Uops};
use core_model::Form;

/// Slots a cycle.
const WIDTH: f64 = 8.0;
/// Cycles of a load, to general-purpose and to vector registers, and what LLVM's latency of both has it as.
const LOAD: [u32; 2] = [4, 7];
const OLDER_LOAD: [u32; 2] = [5, 8];
/// What takes less than this chains through no unit at all: a move, or what does not wait for its operands.
const SHORTEST: f64 = 0.9;

/// The table: Zen 4's lines, and what was measured.
pub(super) fn measured(older: &Lines, figures: &Figures) -> Vec<Line> {
    older.iter().map(|line| measured_line(line, older, figures)).collect()
}

fn measured_line(line: &Line, older: &Lines, figures: &Figures) -> Line {
    let name = general_name(&line.name);
    let latencies = figures.latencies(&name, Form::Register);
    let parts = Parts::of(line);
    let (mut operation, memory): (Vec<Uops>, Vec<Uops>) = convert(line).into_iter().partition(is_operation);
    let moves = operation.is_empty() && (parts.load || parts.store || is_stack(&line.name));
    if let (Some(cycles), false) = (figures.cycles(&name, Form::Register), moves) {
        operation = if parts.vector {
            vector_operation(operation, cycles)
        } else if operation.is_empty() && names_vectors(&line.name) {
            // What Zen 4 leaves to renaming.
            if cycles < 0.2 { operation } else { vector_operation(vec![Units::Vector.uops(1)], cycles) }
        } else {
            integer_operation(operation, cycles, &latencies)
        };
    }
    let is_chain = |cycles: &f64| *cycles > SHORTEST;
    // Where two equal registers make a zero, there is none through a source.
    let longest = latencies
        .into_iter()
        .reduce(f64::max)
        .filter(is_chain)
        .or_else(|| figures.through_destination(&name, Form::Register).filter(is_chain))
        // Of a form that has memory alone, as MOVHPS, chains through registers tell what is done with it.
        .or_else(|| figures.latencies(&name, line.form).into_iter().reduce(f64::max).filter(is_chain))
        .map(nearest);
    let latency = match (line.form, longest) {
        (Form::Memory, _) if parts.load => {
            let behind = longest.unwrap_or_else(|| unmeasured(line, older, parts));
            loaded(parts, if operation.is_empty() { 0 } else { behind })
        }
        // Moves are eliminated as long as they find a register, and take a cycle where they do not.
        (Form::Register, Some(cycles)) if !is_whole_move(&line.name) => Latency { load: None, own: cycles },
        _ => line.latency,
    };
    let uops = memory.into_iter().chain(operation).collect();
    let slots = slots(line, figures.cycles(&name, line.form));
    Line { name: line.name.clone(), form: line.form, slots, latency, uops }
}

/// The form that has any register in the place of the accumulator: so many copies can be independent.
fn general_name(name: &str) -> String {
    let parts: Vec<&str> = name.rsplitn(3, '_').collect();
    let [immediate, accumulator, mnemonic] = parts[..] else { return name.to_owned() };
    let bits = match accumulator {
        "AL" => 8,
        "AX" => 16,
        "EAX" => 32,
        "RAX" => 64,
        _ => return name.to_owned(),
    };
    match immediate {
        "imm8" | "imm16" | "imm32" => format!("{mnemonic}_rm{bits}_{immediate}"),
        _ => name.to_owned(),
    }
}

/// True for moves between whole registers.
fn is_whole_move(name: &str) -> bool {
    let mnemonic = name.split('_').next().unwrap_or_default();
    matches!(
        mnemonic,
        "Mov" | "Movaps" | "Movapd" | "Movups" | "Movupd" | "Movdqa" | "Movdqu" | "Movzx" | "Movsx"
    )
}

/// Uops that are no part of a load or a store.
fn is_operation(uops: &Uops) -> bool {
    let vector = Units::Vector.names();
    uops.units.iter().any(|unit| unit.contains("ALU") || vector.contains(unit))
}

/// True if an operand is a vector register, or one of MMX.
fn names_vectors(name: &str) -> bool {
    let operands = name.trim_start_matches("VEX_").trim_start_matches("EVEX_").split('_').skip(1);
    operands
        .into_iter()
        .any(|operand| ["xmm", "ymm", "zmm", "mm"].iter().any(|kind| operand.starts_with(kind)))
}

fn is_stack(name: &str) -> bool {
    name.starts_with("Push") || name.starts_with("Pop")
}

/// The uops of an operation on vectors of which one takes so many cycles.
fn vector_operation(operation: Vec<Uops>, cycles: f64) -> Vec<Uops> {
    let [Uops { units, .. }] = &operation[..] else { return operation };
    if units.iter().any(|unit| unit.contains("ALU")) {
        return operation;
    }
    match cycles {
        // Renaming makes it, or three units.
        _ if cycles < 0.2 || (0.3..0.42).contains(&cycles) => operation,
        _ if cycles < 0.3 => vec![Units::Vector.uops(1)],
        _ => {
            let mut units = units.clone();
            if cycles < 0.6 && units.len() == 4 {
                units.truncate(2);
            } else if (cycles < 0.6 || is_half(cycles))
                && let [unit] = &units[..]
            {
                units.push(partner(unit));
            }
            vec![Uops { cycles: shared(cycles, units.len()), units }]
        }
    }
}

/// True for a number and a half, which one unit cannot take.
fn is_half(cycles: f64) -> bool {
    (cycles.fract() - 0.5).abs() < 0.1
}

/// The other one of two units that do the same.
fn partner(unit: &str) -> String {
    let (stem, number) = unit.split_at(unit.len() - 1);
    let other = match number {
        "0" => "1",
        "1" => "0",
        "2" => "3",
        _ => "2",
    };
    format!("{stem}{other}")
}

/// The uops of any other operation, which has these latencies.
fn integer_operation(operation: Vec<Uops>, cycles: f64, latencies: &[f64]) -> Vec<Uops> {
    if cycles < 0.15 && latencies.is_empty() {
        // Renaming makes it.
        return Vec::new();
    }
    if operation.len() > 1 {
        return operation;
    }
    let units = operation.first().map_or_else(|| Units::Alu.names(), |uops| uops.units.clone());
    let multiplies = units == Units::Multiply.names();
    let waits = latencies.iter().copied().reduce(f64::min).is_none_or(|shortest| shortest > 1.5);
    match cycles {
        _ if cycles < 0.24 => vec![Units::Alu.uops(1)],
        _ if cycles > 0.3 && cycles < 0.42 => {
            vec![if multiplies { Units::Multiply } else { Units::Shift }.uops(1)]
        }
        // Half a cycle: three places of six.
        _ if cycles < 0.6 && !multiplies => vec![Units::Alu.uops(3)],
        // Where chains have one cycle each, the copies waited for each other, through flags say.
        _ if cycles >= 0.9 => {
            vec![Uops { cycles: if waits { shared(cycles, units.len()) } else { 1 }, units }]
        }
        _ => operation,
    }
}

/// Cycles of all of so many units.
fn shared(cycles: f64, units: usize) -> u32 {
    nearest(cycles * units as f64).max(1)
}

/// The latency of the operation behind a load where no chain tells it: LLVM's, without the load.
fn unmeasured(line: &Line, older: &Lines, parts: Parts) -> u32 {
    match older.get(&line.name, Form::Register) {
        Some(register) => register.latency.own,
        None => line.latency.own.saturating_sub(OLDER_LOAD[usize::from(parts.vector)]).max(1),
    }
}

fn loaded(parts: Parts, behind: u32) -> Latency {
    let load = LOAD[usize::from(parts.vector)];
    match behind {
        0 => Latency { load: None, own: load },
        _ => Latency { load: Some(load), own: behind },
    }
}

/// Slots of a form of which one takes so many cycles: no more than there are in that time.
fn slots(line: &Line, cycles: Option<f64>) -> u32 {
    match cycles {
        // XCHG of registers takes two, and no unit.
        Some(cycles) if cycles < 0.6 && !line.name.contains("Xchg") => 1,
        Some(cycles) if line.slots > 2 => line.slots.min(down(WIDTH * cycles)).max(2),
        _ => line.slots,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use crate::mca::measured::figures;

    /// The line of a form, of its line in Zen 4's table and figures.
    fn made(older: &str, recorded: &str) -> String {
        let older = Lines::parse(older).unwrap();
        let figures = figures::Figures::parse(recorded).unwrap();
        measured(&older, &figures).last().unwrap().to_string()
    }

    #[test]
    fn measured_throughput_tells_the_units_of_arithmetic() {
        let shift = "Shl_rm32_imm8\tr\t1\t1\t1*ALU1,ALU2";
        let with = |cycles: &str| made(shift, &format!("Shl_rm32_imm8\tr\t{cycles}\t-"));
        let uops = |line: &str| line.split('\t').nth(4).unwrap().to_owned();
        assert_eq!(uops(&with("0.18")), Units::Alu.uops(1).to_string());
        assert_eq!(uops(&with("0.335")), Units::Shift.uops(1).to_string());
        assert_eq!(uops(&with("0.5")), Units::Alu.uops(3).to_string());
        assert_eq!(uops(&with("2.02")), Units::Shift.uops(6).to_string());
        assert_eq!(uops(&with("0.13")), "-");
        // Its copies wait for each other.
        let carry = made("Adc_rm32_imm8\tr\t1\t1\t1*ALU0", "Adc_rm32_imm8\tr\t1.0\t0:1.0");
        assert_eq!(uops(&carry), Units::Shift.uops(1).to_string());
    }

    #[test]
    fn measured_throughput_tells_the_units_of_vectors() {
        let of = |units: &str, cycles: &str| {
            let line = made(&format!("Addps\tr\t1\t3\t1*{units}"), &format!("Addps\tr\t{cycles}\t1:2.0"));
            line.split('\t').nth(4).unwrap().to_owned()
        };
        assert_eq!(of("FP2,FP3", "0.5"), "1*FP2,FP3");
        assert_eq!(of("FP1", "0.5"), "1*FP1,FP0");
        assert_eq!(of("FP1,FP2", "0.26"), Units::Vector.uops(1).to_string());
        assert_eq!(of("FP0,FP1,FP2,FP3", "0.5"), "1*FP0,FP1");
        assert_eq!(of("FP1", "4.9"), "5*FP1");
        assert_eq!(of("FP1", "2.499"), "5*FP1,FP0");
        let moved = |cycles: &str| {
            let figures = format!("Movaps_xmm_xmmm128\tr\t{cycles}\t-");
            made("Movaps_xmm_xmmm128\tr\t1\t0\t-", &figures)
        };
        assert!(moved("0.167").ends_with("\t-"));
        assert!(moved("0.25").ends_with(&Units::Vector.uops(1).to_string()));
    }

    #[test]
    fn measured_latency_is_that_of_the_slowest_operand() {
        let register = "Imul_r32_rm32\tr\t1\t4\t1*ALU1";
        let memory = "Imul_r32_rm32\tm\t1\t8\t1*ALU1+1*Load.0,Load.1";
        let figures = "Imul_r32_rm32\tr\t0.34\t0:9.0,1:2.98\n";
        assert!(made(register, figures).starts_with("Imul_r32_rm32\tr\t1\t3\t"));
        assert!(made(memory, figures).starts_with("Imul_r32_rm32\tm\t1\t4+3\t"));
        // Without a chain, what LLVM has.
        assert!(made(&format!("{register}\n{memory}"), "").starts_with("Imul_r32_rm32\tm\t1\t4+4\t"));
        assert!(made(memory, "").starts_with("Imul_r32_rm32\tm\t1\t4+3\t"));
        // Two equal registers make a zero; what merges into its destination is no whole move.
        for (name, figures) in [("Pxor_xmm_xmmm128", "0:2.0,1:0.17"), ("Movhlps_xmm_xmm", "0:2.0,1:2.0")] {
            let line = made(&format!("{name}\tr\t1\t1\t1*FP0"), &format!("{name}\tr\t0.25\t{figures}"));
            assert!(line.starts_with(&format!("{name}\tr\t1\t2\t")), "{line}");
        }
        let load = "Movups_xmm_xmmm128\tm\t1\t8\t1*FP45.0,FP45.1+1*Load.0,Load.1";
        assert!(made(load, "").starts_with("Movups_xmm_xmmm128\tm\t1\t7\t"));
    }

    #[test]
    fn measured_slots_fit_into_the_cycles() {
        let slots = |name: &str, slots: u32, cycles: &str| {
            let older = format!("{name}\tr\t{slots}\t1\t-");
            made(&older, &format!("{name}\tr\t{cycles}\t-")).split('\t').nth(2).unwrap().to_owned()
        };
        assert_eq!(slots("Bswap_r32", 2, "0.5"), "1");
        assert_eq!(slots("Xchg_r32_EAX", 2, "0.5"), "2");
        assert_eq!(slots("Shld", 6, "0.7"), "5");
        assert_eq!(slots("Shld", 6, "-"), "6");
        assert_eq!(general_name("Add_EAX_imm32"), "Add_rm32_imm32");
        assert_eq!(general_name("Mov_rm32_imm32"), "Mov_rm32_imm32");
    }
}
