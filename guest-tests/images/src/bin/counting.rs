//! Counters count what they are told to, when they are told to.
#![no_std]
#![no_main]

use guest_images::{
    counts::{Kind, check_same, check_within, kind},
    msr::{
        FIXED_CTR_CTRL, FIXED_CTR0, GLOBAL_CTRL, PERFEVTSEL0, PMC0, event, fixed_ctrl, global,
        select::{ALWAYS, EN, INV, OS, USR, cmask},
    },
    pmu::{all_fixed, all_gp, count, count_fixed, fixed, gp, gp_counters, program, read, window, write},
    work::{brief, busy},
};
use guest_runtime::{check, check_eq, cpu, guest_test, rdtsc, ring0_window, ring3_loop, spin_for};

guest_runtime::image!();

/// Slots per core cycle: 5 on Sunny Cove and its relatives, 6 from Golden Cove (published TMA
/// formulas).
fn pipeline_width() -> u64 {
    match cpu::family_model() {
        (6, 0x6A | 0x6C | 0x7D | 0x7E | 0x8C | 0x8D | 0xA7) => 5,
        // Lunar Lake, Arrow Lake: Lion Cove.
        (6, 0xBD | 0xB5 | 0xC5 | 0xC6) => 8,
        _ => 6,
    }
}

/// Every general-purpose counter counts instructions.
#[guest_test(needs(pmu))]
fn every_general_counter_counts() {
    for n in 0..gp_counters() {
        count(n, event::INSTRUCTIONS);
    }
    window(all_gp(), busy);
    for n in 0..gp_counters() {
        check!(gp(n) > 0, "PMC{n} is 0");
    }
}

/// Every fixed counter counts.
#[guest_test(needs(pmu))]
fn every_fixed_counter_counts() {
    count_fixed(0b111);
    window(all_fixed(), busy);
    for n in 0..3 {
        check!(fixed(n) > 0, "FIXED_CTR{n} is 0");
    }
}

/// A general-purpose counter stands still if EN, GLOBAL_CTRL or both ring bits are off.
#[guest_test(needs(pmu))]
fn general_counter_needs_every_enable() {
    for (select, enables) in [(OS | USR, 1), (ALWAYS, 0), (EN, 1), (ALWAYS, 0b10)] {
        program(0, event::CYCLES, select);
        window(enables, busy);
        check_eq!(gp(0), 0, "PMC0 with select bits {select:#x}, GLOBAL_CTRL {enables:#x}");
    }
}

/// A fixed counter stands still if GLOBAL_CTRL or both ring bits are off.
#[guest_test(needs(pmu))]
fn fixed_counter_needs_every_enable() {
    for (control, enables) in
        [(0x33, 0), (0x30, global::fixed(0)), (0x03, global::fixed(1)), (0x88, all_fixed())]
    {
        write(FIXED_CTR_CTRL, control);
        window(enables, busy);
        check_eq!([fixed(0), fixed(1)], [0, 0], "FIXED_CTR_CTRL {control:#x}, GLOBAL_CTRL {enables:#x}");
    }
}

/// A counter that GLOBAL_CTRL stopped keeps its value.
#[guest_test(needs(pmu))]
fn stopped_counter_stands_still() {
    count(0, event::INSTRUCTIONS);
    count_fixed(0b1);
    window(1 | global::fixed(0), busy);
    let stopped = [gp(0), fixed(0)];
    busy();
    check_eq!([gp(0), fixed(0)], stopped);
}

/// Clearing one counter's EN stops that counter alone.
#[guest_test(needs(pmu))]
fn local_enable_stops_one_counter() {
    count(0, event::INSTRUCTIONS);
    count(1, event::INSTRUCTIONS);
    window(0b11, || {
        busy();
        write(PERFEVTSEL0, event::INSTRUCTIONS | OS | USR);
        let (stopped, running) = (gp(0), gp(1));
        busy();
        check_eq!(gp(0), stopped, "PMC0 without EN");
        check!(gp(1) > running, "PMC1 stopped too");
    });
}

/// A counter goes on from where it stopped.
#[guest_test(needs(pmu))]
fn windows_add_up() {
    count(0, event::INSTRUCTIONS);
    window(1, busy);
    let first = gp(0);
    window(1, busy);
    check!(gp(0) > first, "{} after two windows, {first} after one", gp(0));
}

/// A running counter never goes down.
#[guest_test(needs(pmu))]
fn running_counter_is_monotone() {
    count(0, event::INSTRUCTIONS);
    count_fixed(0b111);
    let mut last = [0; 4];
    window(1 | all_fixed(), || {
        for _ in 0..100 {
            let now = [gp(0), fixed(0), fixed(1), fixed(2)];
            check!(now.iter().zip(&last).all(|(now, last)| now >= last), "{now:?} after {last:?}");
            last = now;
        }
    });
    check!(last.iter().all(|count| *count > 0), "{last:?}");
}

/// Counting goes on from a value that is written while the counter runs.
#[guest_test(needs(pmu))]
fn write_while_running() {
    /// Far more than a moment has, also when the host takes the CPU away in it.
    const START: u64 = 0x7000_0000;
    count(0, event::INSTRUCTIONS);
    window(1, || {
        busy();
        write(PMC0, START);
        let after = gp(0);
        check!(after >= START, "{after:#x}");
        busy();
        check!(gp(0) > after, "stopped at {after:#x}");
        write(PMC0, 0);
    });
    check!(gp(0) < START, "{:#x} soon after 0 was written", gp(0));
}

/// Changing the event of a stopped counter keeps its value.
#[guest_test(needs(pmu))]
fn new_event_keeps_the_value() {
    count(0, event::INSTRUCTIONS);
    write(PMC0, 1234);
    write(PERFEVTSEL0, event::CYCLES | ALWAYS);
    check_eq!(gp(0), 1234);
}

/// The event code selects: there are fewer branches than instructions.
#[guest_test(needs(pmu))]
fn event_code_selects_the_event() {
    count(0, event::INSTRUCTIONS);
    count(1, event::BRANCHES);
    count(2, event::BRANCH_MISSES);
    window(0b111, busy);
    let [instructions, branches, misses] = [gp(0), gp(1), gp(2)];
    check!(branches > 0 && branches < instructions, "{branches} branches, {instructions} instructions");
    check!(misses < branches, "{misses} mispredicted of {branches} branches");
}

/// All counters that count one event agree.
#[guest_test(needs(pmu))]
fn counters_of_one_event_agree() {
    for n in 0..gp_counters() {
        count(n, event::INSTRUCTIONS);
    }
    window(all_gp(), busy);
    for n in 1..gp_counters() {
        check_same("PMC0 and another", gp(0), gp(n));
    }
}

/// Fixed counter 0 counts what event C0/00 does: instructions.
#[guest_test(needs(pmu))]
fn fixed_0_is_instructions() {
    count(0, event::INSTRUCTIONS);
    count_fixed(0b1);
    window(1 | global::fixed(0), busy);
    check_same("C0/00 and FIXED_CTR0", gp(0), fixed(0));
}

/// Fixed counter 1 counts what event 3C/00 does: core cycles.
#[guest_test(needs(pmu))]
fn fixed_1_is_core_cycles() {
    count(0, event::CYCLES);
    count_fixed(0b10);
    window(1 | global::fixed(1), busy);
    check_same("3C/00 and FIXED_CTR1", gp(0), fixed(1));
}

/// Fixed counter 2 runs at the rate of the TSC while the CPU runs.
#[guest_test(needs(pmu))]
fn fixed_2_tracks_the_tsc() {
    // A host may take the CPU away within a window, which RDTSC sees and the counter does not: one
    // good window of ten is enough.
    let good = (0..10).any(|_| {
        count_fixed(0b100);
        let start = rdtsc();
        window(global::fixed(2), || spin_for(20 * brief()));
        let ticks = rdtsc() - start;
        // 2 %: hosts calibrate the TSC rate that they announce.
        check!(fixed(2) <= ticks + ticks / 50, "{} reference cycles in {ticks} TSC ticks", fixed(2));
        fixed(2) >= ticks / 2
    });
    check!(good, "less than half the TSC ticks in each of ten windows");
}

/// Fixed counter 3 counts what event A4/01 does: slots.
#[guest_test(needs(metrics))]
fn fixed_3_is_slots() {
    count(0, event::SLOTS);
    count_fixed(0b1000);
    window(1 | global::fixed(3), busy);
    check_same("A4/01 and FIXED_CTR3", gp(0), fixed(3));
}

/// Slots per core cycle are the width of the pipeline: 5 on Ice Lake, 6 on Golden Cove, 8 on Lion Cove.
#[guest_test(needs(metrics))]
fn slots_per_cycle_is_the_pipeline_width() {
    count_fixed(0b1010);
    window(all_fixed(), || spin_for(10 * brief()));
    let (cycles, slots) = (fixed(1), fixed(3));
    let width = pipeline_width();
    if kind() == Kind::Hardware {
        // A sibling hyper-thread may take up to half of the slots; the counters start one by one.
        check!(slots > cycles * width * 2 / 5, "{slots} slots in {cycles} cycles");
        check!(slots < cycles * width * 51 / 50, "{slots} slots in {cycles} cycles");
    } else {
        // One slot group may be half counted at either end.
        check_within("slots and cycles times width", slots, cycles * width, 2 * width);
    }
}

/// GLOBAL_CTRL of a fixed counter starts no general-purpose counter, and the other way round.
#[guest_test(needs(pmu))]
fn fixed_and_general_enables_are_apart() {
    count(0, event::CYCLES);
    count_fixed(0b10);
    window(global::fixed(1), busy);
    check_eq!(gp(0), 0);
    let cycles = fixed(1);
    check!(cycles > 0);
    window(1, busy);
    check_eq!(fixed(1), cycles);
    check!(gp(0) > 0);
}

/// Event 00/00 selects nothing: the counter stays at 0.
#[guest_test(needs(pmu))]
fn event_zero_counts_nothing() {
    count(0, 0);
    window(1, busy);
    check_eq!(gp(0), 0);
}

/// A code without an event counts nothing, and its counter works again with a proper one.
#[guest_test(needs(vpmu, pmu))]
fn undefined_event_counts_nothing() {
    count(0, 0xFFEE);
    window(1, busy);
    check_eq!(gp(0), 0);
    count(0, event::CYCLES);
    window(1, busy);
    check!(gp(0) > 0);
}

/// CMASK compares with the occurrences per cycle: every cycle has one cycle, none has two.
#[guest_test(needs(pmu))]
fn cmask_counts_cycles() {
    count(0, event::CYCLES);
    program(1, event::CYCLES, ALWAYS | cmask(1));
    program(2, event::CYCLES, ALWAYS | cmask(2));
    window(0b111, busy);
    check_same("3C/00 with CMASK 0 and 1", gp(0), gp(1));
    check_eq!(gp(2), 0, "cycles with two cycles");
}

/// INV turns the CMASK comparison round, and does nothing without CMASK.
#[guest_test(needs(pmu))]
fn inv_counts_the_other_cycles() {
    count(0, event::CYCLES);
    program(1, event::CYCLES, ALWAYS | INV | cmask(2));
    program(2, event::CYCLES, ALWAYS | INV);
    window(0b111, busy);
    check_same("cycles and those with fewer than two", gp(0), gp(1));
    check_same("3C/00 with and without INV", gp(0), gp(2));
}

/// Instructions with CMASK count each cycle once at most.
#[guest_test(needs(pmu))]
fn cmask_never_exceeds_the_cycles() {
    program(0, event::INSTRUCTIONS, ALWAYS | cmask(2));
    count(1, event::CYCLES);
    window(0b11, busy);
    check!(gp(0) <= gp(1), "{} cycles with two instructions, of {}", gp(0), gp(1));
}

/// The WRMSR that starts counting is counted and the one that stops is not: 10 N + 3 instructions.
#[guest_test(needs(pmu, exact))]
fn window_counts_to_the_instruction() {
    for iterations in [1, 2, 1000] {
        program(0, event::INSTRUCTIONS, OS | EN);
        count(1, event::BRANCHES);
        write(FIXED_CTR_CTRL, fixed_ctrl::OS | fixed_ctrl::USR);
        write(FIXED_CTR0, 0);
        check_eq!(ring0_window(GLOBAL_CTRL, global::fixed(0) | 0b11, iterations, 0), Ok(()));
        check_eq!(gp(0), 10 * iterations + 3, "instructions of {iterations} iterations");
        check_eq!(fixed(0), 10 * iterations + 3, "FIXED_CTR0 of {iterations} iterations");
        check_eq!(gp(1), iterations, "branches of {iterations} iterations");
    }
}

/// A counter that was set to overflow with the window's last instruction ends at exactly 0.
#[guest_test(needs(pmu, exact))]
fn window_overflows_at_the_last_instruction() {
    const INSTRUCTIONS: u32 = 10 * 1000 + 3;
    for (occurrences, value, status) in
        [(INSTRUCTIONS + 1, 0xFFFF_FFFF_FFFF, 0), (INSTRUCTIONS, 0, 1), (INSTRUCTIONS - 1, 1, 1)]
    {
        program(0, event::INSTRUCTIONS, OS | EN);
        guest_images::pmu::preset(0, occurrences);
        check_eq!(ring0_window(GLOBAL_CTRL, 1, 1000, 0), Ok(()));
        check_eq!((gp(0), read(0x38E)), (value, status), "preset to {occurrences}");
        write(0x390, status);
    }
}

/// Ten more instructions and one more branch for each further iteration of a loop in ring 3.
#[guest_test(needs(pmu, exact))]
fn ring3_loop_counts_to_the_instruction() {
    #[inline(never)]
    fn measure(iterations: u64) -> (u64, u64) {
        program(0, event::INSTRUCTIONS, USR | EN);
        program(1, event::BRANCHES, USR | EN);
        window(0b11, || ring3_loop(iterations));
        (gp(0), gp(1))
    }
    let (short, long) = (measure(1_000), measure(5_000));
    check_eq!((long.0 - short.0, long.1 - short.1), (40_000, 4_000));
}

/// The same work gives the same counts, run after run.
#[guest_test(needs(pmu, exact))]
fn counts_repeat() {
    #[inline(never)]
    fn measure() -> [u64; 2] {
        count(0, event::INSTRUCTIONS);
        count(1, event::BRANCHES);
        window(0b11, || ring3_loop(1_000));
        [gp(0), gp(1)]
    }
    let first = measure();
    (0..10).for_each(|run| check_eq!(measure(), first, "run {run}"));
}
