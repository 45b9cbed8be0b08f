//! A model of the core that observes marked intervals only.

use super::*;
use crate::counts::model::ModelSource;
use crate::counts::switched::SwitchedSource;
use crate::counts::timing::TimingSource;
use crate::machine::pmu::PmuDevice;

/// The control port's commands, to EDX = 5F0H.
fn mark(command: u8) -> Vec<u8> {
    let mut code = vec![0xBA, 0xF0, 0x05, 0, 0]; // mov edx, 0x5F0
    code.extend([0xB8, command, 0, 0, 0, 0xEF]); // mov eax, command; out dx, eax
    code
}

/// Names the next interval.
fn label(name: &str) -> Vec<u8> {
    let mut code = vec![0xBA, 0xF4, 0x05, 0, 0]; // mov edx, 0x5F4
    for byte in name.bytes().chain([0]) {
        code.extend([0xB0, byte, 0xEE]); //         mov al, byte; out dx, al
    }
    code
}

/// `rounds` of four instructions, of which two are multiplications that wait for each other: 3 cycles each.
fn multiplications(rounds: u32) -> Vec<u8> {
    let mut code = vec![0xBB]; //                   mov ebx, rounds
    code.extend(rounds.to_le_bytes());
    code.extend([0x0F, 0xAF, 0xC0]); //          1: imul eax, eax
    code.extend([0x0F, 0xAF, 0xC0]); //             imul eax, eax
    code.push(0x4B); //                             dec ebx
    code.extend([0x75, 0xF7]); //                   jnz 1b
    code
}

/// Fixed counters 0, of instructions, and 1, of cycles, over three times the same: in no interval, in one of the name
/// `core`, and in one of another name. An instruction counter starts at `start`.
fn three_times(start: u64) -> Vec<u8> {
    let mut code = wrmsr(0x309, start);
    code.extend(wrmsr(0x38D, 0xBB));
    code.extend(wrmsr(0x38F, 0b11 << 32));
    code.extend(multiplications(1000));
    for name in ["core", "other"] {
        code.extend(label(name));
        code.extend(mark(2));
        code.extend(multiplications(1000));
        code.extend(mark(3));
    }
    code.extend(wrmsr(0x38F, 0));
    code.extend([0x31, 0xC0]); //                   xor eax, eax
    code.extend(EXIT);
    code
}

fn guest(code: &[u8]) -> Guest {
    let mut guest = Guest::new(code);
    let profile = guest.machine.pmu.profile().clone();
    let core = SharedCore::new(&profile).expect("a model");
    let totals = ModelSource::new(&profile, guest.engine.retired());
    let source = SwitchedSource::new(&profile, TimingSource::new(&profile, core.clone()), totals);
    guest.machine.pmu = PmuDevice::new(profile, Box::new(source), None);
    guest.machine.model_intervals("core".to_owned());
    guest.engine = guest.engine.with_parked_model(core);
    guest
}

/// Occurrences of an event at CPL 0 in an interval of the report.
fn in_interval(guest: &Guest, label: &str, event: &str) -> u64 {
    let intervals = guest.machine.pmu.intervals();
    let interval = intervals.iter().find(|interval| interval.label == label).expect("the interval");
    interval.rows.iter().find(|row| row.event == event).expect("the event").kernel
}

#[test]
fn only_the_named_intervals_have_cycles_of_the_model() {
    let code = three_times(0);
    let mut plain = Guest::new(&code);
    assert_eq!(plain.run(), Outcome::Exit { status: 1 });
    let mut guest = guest(&code);
    assert!(guest.engine.snapshots().is_none(), "a model is no part of snapshots");
    assert_eq!(guest.run(), Outcome::Exit { status: 1 });
    assert_eq!(guest.rdmsr(0x309), plain.rdmsr(0x309), "instructions are exact across both changes");
    const CYCLES: &str = "CPU_CLK_UNHALTED.THREAD";
    const INSTRUCTIONS: &str = "INST_RETIRED.ANY";
    for (label, expected) in [("core", 6_000..6_500), ("other", 4_000..4_100)] {
        let [instructions, cycles] = [INSTRUCTIONS, CYCLES].map(|event| in_interval(&guest, label, event));
        assert_eq!(instructions, in_interval(&plain, label, INSTRUCTIONS), "{label}");
        assert!(expected.contains(&cycles), "{label}: {cycles} cycles");
    }
    // Of the guest's own counter and time: what is outside has a cycle for each instruction, as without a model.
    let modelled = in_interval(&guest, "core", CYCLES);
    let outside = plain.rdmsr(0x30A) - in_interval(&plain, "core", CYCLES);
    let cycles = guest.rdmsr(0x30A);
    assert!(cycles.abs_diff(modelled + outside) < 500, "{cycles} of {modelled} and {outside}");
    let (now, then) = (guest.machine.now().0, plain.machine.now().0);
    assert!((then..then + 5_000).contains(&now), "{now} ns, and {then} without a model");
}

#[test]
fn counters_overflow_at_the_very_instruction_on_both_sides_of_a_change() {
    let total = {
        let mut plain = Guest::new(&three_times(0));
        plain.run();
        plain.rdmsr(0x309)
    };
    for until in (1..=total).step_by(97).chain([total - 1, total, total + 1]) {
        let mut guest = guest(&three_times((1 << 48) - until));
        assert_eq!(guest.run(), Outcome::Exit { status: 1 });
        let overflown = u64::from(until <= total);
        assert_eq!(guest.machine.pmu.stats().pmis, overflown, "{until} of {total}");
        assert_eq!(guest.rdmsr(0x309), (total.wrapping_sub(until)) & ((1 << 48) - 1), "{until}");
    }
}
