//! Saving and restoring in mid-run: by the guest, register by register, and by the VMM, of which the guest notices
//! nothing.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;

use guest_images_aarch64::{
    counting::{count, program, program_cycles, run},
    falkor::{MATRIX_REGISTERS, PMRESR0, PMXEVCNTCR},
    overflow::{arrivals, interrupts_to, line_is_high, note_and_clear},
    pmu::{
        COUNTER_MAX, CYCLES, PMCCFILTR, PMCCNTR, PMCNTENCLR, PMCNTENSET, PMCR, PMINTENCLR, PMINTENSET,
        PMOVSCLR, PMOVSSET, PMSELR, PMSWINC, PMUSERENR, counter, event, event_type, filter, implemented,
        need_event, pmcr, read, write,
    },
};
use guest_runtime::{
    LOOP_INSTRUCTIONS, at_el0, check, check_eq, control, counters, counting_loop, guest_test, is_falkor,
    with_interrupts,
};

guest_runtime::image!();

/// Every register that holds something.
fn state() -> Vec<(u32, u64)> {
    let each = (0..counters()).flat_map(|n| [counter(n), event_type(n)]);
    let global = [PMCR, PMCNTENSET, PMINTENSET, PMOVSSET, PMSELR, PMUSERENR, PMCCNTR, PMCCFILTR];
    let matrix = MATRIX_REGISTERS.into_iter().filter(|_| is_falkor());
    each.chain(global).chain(matrix).map(|register| (register, read(register))).collect()
}

/// Fills every register with something of its own.
fn fill() {
    for n in 0..counters() {
        write(counter(n), 0x1000_0000 + u64::from(n));
        write(event_type(n), filter::P + u64::from(n) + 1);
    }
    write(PMCCNTR, 0x1234_5678_9ABC_DEF0);
    write(PMCCFILTR, 1 << 30);
    write(PMCNTENSET, 0b1001 | 1 << CYCLES);
    write(PMINTENSET, 0b110);
    write(PMOVSSET, 0b10 | 1 << CYCLES);
    write(PMUSERENR, 0b1010);
    write(PMCR, pmcr::LC);
    if is_falkor() {
        (0..3).for_each(|r| write(PMRESR0 + (r << 6), 0x8877_6655_4433_2211 ^ u64::from(r)));
        for n in 0..counters() {
            write(PMSELR, n.into());
            write(PMXEVCNTCR, 0x100 + u64::from(n));
        }
    }
    write(PMSELR, 2);
}

#[track_caller]
fn save_restore() {
    check_eq!(control::save_restore(), Ok(()), "the VMM saved and restored");
}

/// Every register is what it was.
#[guest_test(needs(pmu, vpmu))]
fn the_vmm_keeps_every_register() {
    fill();
    let before = state();
    save_restore();
    for ((register, was), (_, is)) in before.into_iter().zip(state()) {
        check_eq!(is, was, "{register:#x}");
    }
}

/// The per-counter registers of the matrix are all there again.
#[guest_test(needs(falkor, vpmu))]
fn the_vmm_keeps_banked_registers() {
    fill();
    save_restore();
    for n in 0..counters() {
        write(PMSELR, n.into());
        check_eq!(read(PMXEVCNTCR), 0x100 + u64::from(n), "counter {n}");
    }
}

/// A count goes on as if nothing had been.
#[guest_test(needs(pmu, vpmu))]
fn the_vmm_keeps_counts_in_mid_run() {
    need_event(event::INST_RETIRED);
    program(0, event::INST_RETIRED | 1 << 31);
    program(1, event::SW_INCR);
    program_cycles(0);
    run(|| {
        at_el0(|| counting_loop(1_000));
        write(PMSWINC, 2);
        let cycles = read(PMCCNTR);
        save_restore();
        check!(read(PMCCNTR) > cycles, "the cycle counter went on");
        write(PMSWINC, 2);
        at_el0(|| counting_loop(1_000));
    });
    let both = count(0);
    program(0, event::INST_RETIRED | 1 << 31);
    run(|| {
        at_el0(|| counting_loop(1_000));
        at_el0(|| counting_loop(1_000));
    });
    check_eq!((both, count(1)), (count(0), 2), "with and without");
    check!(both >= 2_000 * LOOP_INSTRUCTIONS);
}

/// The interrupt line stays high, and an overflow to come still comes.
#[guest_test(needs(pmu, vpmu))]
fn the_vmm_keeps_interrupts() {
    interrupts_to(note_and_clear);
    write(PMINTENSET, 1);
    write(PMCR, pmcr::E);
    write(PMOVSSET, 1);
    save_restore();
    check!(line_is_high());
    with_interrupts(|| counting_loop(1));
    check_eq!(arrivals(), 1, "the one that was pending");
    program(0, event::SW_INCR);
    write(counter(0), COUNTER_MAX);
    write(PMCR, pmcr::E);
    save_restore();
    with_interrupts(|| write(PMSWINC, 1));
    check_eq!(arrivals(), 2, "the one to come");
}

/// The guest saves all, clears all, restores all: as a hypervisor in it does between two of its guests.
#[guest_test(needs(pmu))]
fn the_guest_saves_and_restores() {
    fill();
    let saved = state();
    // Another guest's use of the PMU.
    write(PMCNTENCLR, implemented());
    write(PMINTENCLR, implemented());
    write(PMOVSCLR, implemented());
    (0..counters()).for_each(|n| write(counter(n), 1));
    write(PMCR, pmcr::P | pmcr::C);
    write(PMUSERENR, 0);
    for (register, value) in &saved {
        write(*register, *value);
    }
    for (register, value) in saved {
        check_eq!(read(register), value, "{register:#x}");
    }
}

/// A counter saved and restored by the guest in mid-run misses nothing that it counts.
#[guest_test(needs(pmu))]
fn the_guest_moves_a_count_to_another_counter() {
    program(0, event::SW_INCR);
    run(|| (0..30).for_each(|_| write(PMSWINC, 3)));
    let (code, so_far) = (read(event_type(0)), count(0));
    write(PMCNTENCLR, 1);
    program(1, code);
    write(counter(1), so_far);
    run(|| (0..12).for_each(|_| write(PMSWINC, 3)));
    check_eq!((count(0), count(1)), (30, 42));
}
