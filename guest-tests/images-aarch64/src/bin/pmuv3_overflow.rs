//! Overflow: flags, remainders, the interrupt's line and the instruction at which it comes, CHAIN, sampling.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_images_aarch64::{
    checks, counted,
    counting::{Level, count, program, program_cycles, run, run_loop},
    overflow::{
        arrivals, flags, interrupted_level, interrupted_pc, interrupts_to, line_is_high, note_and_clear,
    },
    pmu::{
        COUNTER_MAX, CYCLES, PMCCNTR, PMCNTENCLR, PMCR, PMEVTYPER0, PMINTENCLR, PMINTENSET, PMOVSCLR,
        PMOVSSET, PMSWINC, PMUSERENR, counter, event, event_type, filter, need_counter, need_event,
        need_short_cycles, pmcr, read, write,
    },
    table::{Register, is_qemu},
};
use guest_runtime::{
    Frame, LOOP_INSTRUCTIONS, at_el0, check, check_eq, counters, counting_loop, gic, guest_test,
    protocol::mmio::PMU_INTID, set_interrupts, skip, spin_until, with_interrupts,
};

guest_runtime::image!();

/// Ticks that end a test which would hang otherwise.
const PATIENCE: u64 = 1 << 24;

/// Counter `n` takes increments and is one before its overflow; `times` increments follow.
#[track_caller]
fn increment_from(n: u32, start: u64, times: u32) {
    program(n, event::SW_INCR);
    write(counter(n), start);
    run(|| (0..times).for_each(|_| write(PMSWINC, 1 << n)));
}

/// Lets interrupts in while counters run around `body`.
fn run_with_interrupts<R>(body: impl FnOnce() -> R) -> R {
    with_interrupts(|| run(body))
}

checks! {
    "PMEVCNTR" [0 1 2 3 4 5 6 7] @ PMEVTYPER0 {
        "wraps_with_a_flag" => |r| {
            increment_from(r.of_counter().n, COUNTER_MAX, 1);
            check_eq!((count(r.n), read(PMOVSCLR), read(PMOVSSET)), (0, 1 << r.n, 1 << r.n));
            check!(!line_is_high(), "without PMINTEN");
        };
        "has_no_flag_at_its_top" => |r| {
            increment_from(r.of_counter().n, COUNTER_MAX - 1, 1);
            check_eq!((count(r.n), read(PMOVSCLR)), (COUNTER_MAX, 0));
        };
        "keeps_the_remainder" => |r| {
            increment_from(r.of_counter().n, COUNTER_MAX - 1, 5);
            check_eq!((count(r.n), read(PMOVSCLR)), (3, 1 << r.n));
        };
        "interrupts_once" => |r| {
            let n = r.of_counter().n;
            interrupts_to(note_and_clear);
            write(PMINTENSET, 1 << n);
            program(n, event::SW_INCR);
            write(counter(n), COUNTER_MAX - 1);
            run_with_interrupts(|| (0..10).for_each(|_| write(PMSWINC, 1 << n)));
            check_eq!((arrivals(), flags(), count(n)), (1, 1 << n, 8));
        };
        "is_quiet_without_PMINTEN" => |r| {
            let n = r.of_counter().n;
            interrupts_to(note_and_clear);
            write(PMINTENSET, !(1 << n));
            program(n, event::SW_INCR);
            write(counter(n), COUNTER_MAX);
            run_with_interrupts(|| write(PMSWINC, 1 << n));
            check_eq!((arrivals(), read(PMOVSCLR)), (0, 1 << n));
        };
    }
    "CHAIN.counter_" [1 3 5 7] @ PMEVTYPER0 {
        "counts_overflows_of_the_one_below" => |r| {
            let odd = chain(r);
            run(|| (0..3).for_each(|_| write(PMSWINC, 1 << (odd - 1))));
            check_eq!((count(odd - 1), count(odd), read(PMOVSCLR)), (2, 1, 1 << (odd - 1)));
        };
        "wraps_with_both_flags" => |r| {
            let odd = chain(r);
            write(counter(odd), COUNTER_MAX);
            run(|| write(PMSWINC, 1 << (odd - 1)));
            check_eq!((count(odd), read(PMOVSCLR)), (0, 3 << (odd - 1)));
        };
        "needs_its_enable" => |r| {
            let odd = chain(r);
            write(PMCNTENCLR, 1 << odd);
            run(|| write(PMSWINC, 1 << (odd - 1)));
            check_eq!((count(odd - 1), count(odd), read(PMOVSCLR)), (0, 0, 1 << (odd - 1)));
        };
        "does_not_count_its_own_overflow" => |r| {
            let odd = chain(r);
            program(odd - 1, event::CHAIN);
            program(odd, event::SW_INCR);
            write(counter(odd), COUNTER_MAX);
            run(|| write(PMSWINC, 1 << odd));
            check_eq!((count(odd), count(odd - 1)), (0, 0), "CHAIN on an even counter");
        };
        "makes_one_counter_of_64_bits" => |r| {
            let odd = chain(r);
            need_event(event::INST_RETIRED);
            program(odd - 1, event::INST_RETIRED);
            write(counter(odd - 1), COUNTER_MAX - 5_000);
            run_loop(Level::Kernel, 1_000);
            let all = count(odd) << 32 | count(odd - 1);
            check_eq!(all, COUNTER_MAX - 5_000 + 1_000 * LOOP_INSTRUCTIONS + 2);
        };
    }
}

/// Counter `n` counts the overflows of the one below, which is one increment before its own.
fn chain(r: &Register) -> u32 {
    let odd = r.of_counter().n;
    need_event(event::CHAIN);
    program(odd - 1, event::SW_INCR);
    write(counter(odd - 1), COUNTER_MAX);
    program(odd, event::CHAIN);
    odd
}

/// Counter 0 overflows and requests an interrupt, interrupts being masked.
fn overflow_masked() {
    write(PMINTENSET, 1);
    increment_from(0, COUNTER_MAX, 1);
    write(PMCR, pmcr::E);
}

/// The line is a level: high while flag and PMINTEN are set, low without either.
#[guest_test(needs(pmu))]
fn the_line_is_a_level() {
    overflow_masked();
    check!(line_is_high(), "after the overflow");
    write(PMINTENCLR, 1);
    check!(!line_is_high(), "without PMINTEN");
    write(PMINTENSET, 1);
    check!(line_is_high(), "with PMINTEN again");
    write(PMOVSCLR, 1);
    check!(!line_is_high(), "without the flag");
}

/// The line is low while PMCR.E is 0 (Arm ARM, D13.3.1).
#[guest_test(needs(pmu))]
fn the_line_follows_pmcr_e() {
    if is_qemu() {
        skip!("QEMU looks at PMCR.E only when flags or PMINTEN change");
    }
    overflow_masked();
    write(PMCR, 0);
    check!(!line_is_high(), "without PMCR.E");
    write(PMCR, pmcr::E);
    check!(line_is_high(), "with PMCR.E again");
}

/// Software raises the line by PMOVSSET.
#[guest_test(needs(pmu))]
fn software_sets_the_flag() {
    interrupts_to(note_and_clear);
    write(PMINTENSET, 1 << CYCLES);
    write(PMCR, pmcr::E);
    write(PMOVSSET, 1 << CYCLES);
    check!(line_is_high());
    with_interrupts(|| counting_loop(1));
    check_eq!((arrivals(), flags()), (1, 1 << CYCLES));
    check!(!line_is_high());
}

/// One flag of two keeps the line high.
#[guest_test(needs(pmu))]
fn two_flags_share_the_line() {
    write(PMINTENSET, 3);
    write(PMCR, pmcr::E);
    write(PMOVSSET, 3);
    write(PMOVSCLR, 1);
    check!(line_is_high(), "the other flag");
    write(PMOVSCLR, 2);
    check!(!line_is_high());
}

/// An interrupt waits for the mask of EL1 to open.
#[guest_test(needs(pmu))]
fn a_masked_interrupt_waits() {
    interrupts_to(note_and_clear);
    overflow_masked();
    counting_loop(100);
    check_eq!(arrivals(), 0, "masked");
    with_interrupts(|| counting_loop(1));
    check_eq!(arrivals(), 1, "open");
}

/// A handler that leaves the flag is called again, until it clears it.
#[guest_test(needs(pmu))]
fn a_flag_that_stays_interrupts_again() {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    fn clear_at_last(frame: &mut Frame) {
        if CALLS.fetch_add(1, Relaxed) + 1 < 5 {
            gic::end(PMU_INTID);
        } else {
            note_and_clear(frame);
        }
    }
    CALLS.store(0, Relaxed);
    interrupts_to(clear_at_last);
    overflow_masked();
    with_interrupts(|| spin_until(PATIENCE, || arrivals() == 1));
    check_eq!((CALLS.load(Relaxed), arrivals()), (5, 1));
}

/// EL0 is interrupted by an overflow of its own.
#[guest_test(needs(pmu, exact))]
fn el0_is_interrupted() {
    need_event(event::INST_RETIRED);
    interrupts_to(note_and_clear);
    write(PMINTENSET, 1);
    program(0, event::INST_RETIRED | filter::P);
    write(counter(0), COUNTER_MAX - 500);
    let seen = run_with_interrupts(|| at_el0(|| spin_until(PATIENCE, || arrivals() == 1)));
    check!(seen, "no interrupt");
    check_eq!((flags(), interrupted_level()), (1, 0));
}

/// Two counters, of which one overflows: cycles, not instructions.
#[guest_test(needs(pmu))]
fn only_what_overflows_has_a_flag() {
    need_event(event::INST_RETIRED);
    program(0, event::CPU_CYCLES);
    program(1, event::INST_RETIRED);
    write(counter(0), 0xFFFF_FFF0);
    run_loop(Level::Kernel, 100);
    check_eq!(read(PMOVSCLR), 1);
    check!(count(1) >= 100 * LOOP_INSTRUCTIONS);
}

/// The cycle counter's flag comes at 32 bits without LC, and the counter goes on with 64.
#[guest_test(needs(pmu))]
fn cycles_overflow_at_32_bits() {
    need_short_cycles();
    program_cycles(0);
    write(PMCCNTR, 0xFFFF_FFF0);
    run_loop(Level::Kernel, 1_000);
    check_eq!(read(PMOVSCLR), 1 << CYCLES);
    check_eq!(read(PMCCNTR) >> 32, 1, "bits 63:32");
}

/// With LC it comes at 64 bits.
#[guest_test(needs(pmu))]
fn cycles_overflow_at_64_bits() {
    write(PMCR, pmcr::LC);
    program_cycles(0);
    write(PMCCNTR, 0xFFFF_FFF0);
    run_loop(Level::Kernel, 1_000);
    check_eq!((read(PMOVSCLR), read(PMCCNTR) >> 32), (0, 1), "across 32 bits");
    write(PMCCNTR, u64::MAX - 15);
    run_loop(Level::Kernel, 1_000);
    check_eq!((read(PMOVSCLR), read(PMCCNTR) >> 32), (1 << CYCLES, 0), "across 64 bits");
}

/// The cycle counter interrupts as the others do.
#[guest_test(needs(pmu))]
fn cycles_interrupt() {
    interrupts_to(note_and_clear);
    write(PMCR, pmcr::LC);
    write(PMINTENSET, 1 << CYCLES);
    program_cycles(0);
    write(PMCCNTR, u64::MAX - 1_000);
    set_interrupts(true);
    run_loop(Level::Kernel, 100_000);
    set_interrupts(false);
    check_eq!((arrivals(), flags()), (1, 1 << CYCLES));
}

/// Runs 64 NOPs with the counters on, at the level of the caller. Returns the address of the first, and what counter 0
/// had counted before it if it began at zero.
fn sled() -> (u64, u64) {
    let (start, before): (u64, u64);
    counted!(
        ["adr {start}, 2f", "mrs {before}, pmevcntr0_el0", "2:", ".rept 64", "nop", ".endr"],
        start = out(reg) start, before = out(reg) before
    );
    // The MRS itself comes between.
    (start, before + 1)
}

/// Overflows after each of 60 NOPs, at the level at which `sled` runs, and looks where the interrupt comes.
#[track_caller]
fn interrupts_in_sled(code: u64, sled: impl Fn() -> (u64, u64)) {
    need_event(event::INST_RETIRED);
    program(0, code);
    let (_, before) = sled();
    write(PMINTENSET, 1);
    for nops in 1..60 {
        program(0, code);
        write(counter(0), COUNTER_MAX + 1 - nops - before);
        let seen = arrivals();
        let (start, _) = sled();
        check_eq!(arrivals() - seen, 1, "interrupts, period of {nops} NOPs");
        check_eq!((interrupted_pc() - start) / 4, nops, "NOPs done");
    }
}

/// The interrupt comes after exactly the instruction that overflowed, at EL1.
#[guest_test(needs(pmu, exact))]
fn the_interrupt_comes_after_the_instruction_at_el1() {
    interrupts_to(note_and_clear);
    interrupts_in_sled(event::INST_RETIRED, || with_interrupts(sled));
}

/// The same at EL0; its counter, which counts EL0 alone, shows 0 while EL1 handles the interrupt.
#[guest_test(needs(pmu, exact))]
fn the_interrupt_comes_after_the_instruction_at_el0() {
    fn note(frame: &mut Frame) {
        check_eq!((count(0), frame.level()), (0, 0), "count, level");
        note_and_clear(frame);
    }
    interrupts_to(note);
    write(PMUSERENR, 1);
    interrupts_in_sled(event::INST_RETIRED | filter::P, || with_interrupts(|| at_el0(sled)));
}

/// Sampling: a handler that arms the counter anew sees every period of a loop, exactly.
#[guest_test(needs(pmu, exact))]
fn sampling_sees_every_period() {
    const PERIOD: u64 = 1_000;
    fn arm_again(frame: &mut Frame) {
        write(counter(0), count(0).wrapping_sub(PERIOD) & COUNTER_MAX);
        note_and_clear(frame);
    }
    need_event(event::INST_RETIRED);
    interrupts_to(arm_again);
    write(PMINTENSET, 1);
    program(0, event::INST_RETIRED | filter::P);
    write(counter(0), COUNTER_MAX + 1 - PERIOD);
    set_interrupts(true);
    run_loop(Level::User, 10_000);
    set_interrupts(false);
    check_eq!(arrivals(), 10_000 * LOOP_INSTRUCTIONS / PERIOD);
}

/// A handler as Linux has it: stops the PMU, clears what it has seen, arms, starts again.
#[guest_test(needs(pmu, exact))]
fn a_handler_as_in_linux() {
    const PERIOD: u64 = 5_000;
    fn sample(frame: &mut Frame) {
        let seen = read(PMOVSCLR);
        write(PMOVSCLR, seen);
        write(PMCR, 0);
        (0..2).filter(|n| seen & 1 << n != 0).for_each(|n| write(counter(n), COUNTER_MAX + 1 - PERIOD));
        write(PMCR, pmcr::E);
        note_and_clear(frame);
    }
    need_event(event::INST_RETIRED);
    interrupts_to(sample);
    write(PMINTENSET, 3);
    for n in 0..2 {
        program(n, event::INST_RETIRED | filter::P);
        write(counter(n), COUNTER_MAX + 1 - PERIOD);
    }
    run_with_interrupts(|| at_el0(|| counting_loop(10_000)));
    // Both overflow with the same instruction.
    check_eq!(arrivals(), 10_000 * LOOP_INSTRUCTIONS / PERIOD);
}

/// PMCR.P does not take back an overflow, and clearing the flag does not touch the counter.
#[guest_test(needs(pmu))]
fn flags_and_counters_are_apart() {
    increment_from(0, COUNTER_MAX, 4);
    write(PMCR, pmcr::P);
    check_eq!((count(0), read(PMOVSCLR)), (0, 1));
    write(counter(0), 9);
    write(PMOVSCLR, 1);
    check_eq!((count(0), read(PMOVSCLR)), (9, 0));
}

/// All counters overflow at once and set all flags; one interrupt sees them.
#[guest_test(needs(pmu))]
fn all_overflow_at_once() {
    interrupts_to(note_and_clear);
    let all = (1 << counters()) - 1;
    write(PMINTENSET, all);
    for n in 0..counters() {
        program(n, event::SW_INCR);
        write(counter(n), COUNTER_MAX);
    }
    run_with_interrupts(|| write(PMSWINC, all));
    check_eq!((arrivals(), flags()), (1, all));
}

/// A counter of an event that does not occur never overflows, even at its top.
#[guest_test(needs(pmu))]
fn a_counter_at_its_top_waits() {
    need_counter(1);
    program(1, event::SW_INCR);
    write(counter(1), COUNTER_MAX);
    run_loop(Level::User, 100);
    check_eq!((count(1), read(PMOVSCLR), read(event_type(1))), (COUNTER_MAX, 0, event::SW_INCR));
}
