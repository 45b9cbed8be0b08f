//! Falkor's matrix counts: region, group and code select what a counter sees. The events are synthetic, see
//! `falkor::synthetic`; the selecting is what the public review says.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use guest_images_aarch64::{
    checks, counted,
    counting::{Level, WINDOW_INSTRUCTIONS, count, program, program_cycles, run, run_loop},
    falkor::{
        EN, Event, GROUPS, MatrixRegister as Register, REGIONS, resr,
        synthetic::{
            BASIC_INSTRUCTIONS, CONDITIONAL_BRANCHES, DATA_ABORT, EVERY_CYCLE, EVERY_INSTRUCTION,
            INDIRECT_BRANCHES, IRQ_TAKEN, LOADS, STORES, SVC,
        },
    },
    overflow::{arrivals, flags, interrupts_to, note_and_clear},
    pmu::{
        COUNTER_MAX, PMCCNTR, PMCNTENCLR, PMEVTYPER0, PMINTENSET, PMOVSCLR, PMSWINC, counter, event,
        event_type, filter, need_counter, need_event, read, write,
    },
};
use guest_runtime::{
    Frame, LOOP_BRANCHES, LOOP_INSTRUCTIONS, at_el0, check, check_eq, counters, counting_loop, gic,
    guest_test, set_handler, vectors::set_synchronous_handler, with_interrupts,
};

guest_runtime::image!();

const ITERATIONS: u64 = 1_000;

/// Instructions of the loop's window at EL1.
const WINDOW: u64 = ITERATIONS * LOOP_INSTRUCTIONS + WINDOW_INSTRUCTIONS;

/// Counter `n` counts the matrix event with these filter bits; the matrix is programmed first.
#[track_caller]
fn program_matrix(n: u32, selected: Event, filter: u64) {
    selected.select();
    program(n, selected.selector() | filter);
}

/// The region and group whose number, 8 R + G, is that of the row.
fn place(r: &Register) -> (u32, u32) {
    (r.n / GROUPS, r.n % GROUPS)
}

checks! {
    // For each of the 24 places: a counter of that place sees the code there, and no other's.
    "MATRIX.place_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23] @ PMEVTYPER0 {
        "sees_its_own_code_only" => |r| {
            let (region, group) = place(r);
            EVERY_INSTRUCTION.select();
            let here = (region, group) == (EVERY_INSTRUCTION.region, EVERY_INSTRUCTION.group);
            program(0, Event { region, code: 0, group }.selector());
            write(resr(region), read(resr(region)) | EN);
            let code_0 = Event { region, code: 0, group } == BASIC_INSTRUCTIONS;
            run_loop(Level::Kernel, ITERATIONS);
            check_eq!(count(0), if here || code_0 { WINDOW } else { 0 });
        };
        // A code without a defined event counts nothing: 0xA5, in group 7 0x25.
        "counts_nothing_by_an_unknown_code" => |r| {
            let (region, group) = place(r);
            let unknown = Event { region, code: 0xA5 & if group == 7 { 0x7F } else { 0xFF }, group };
            program_matrix(0, unknown, 0);
            run_loop(Level::Kernel, ITERATIONS);
            check_eq!((count(0), read(PMOVSCLR)), (0, 0));
        };
        "is_silent_without_EN" => |r| {
            let (region, group) = place(r);
            write(resr(region), !EN);
            program(0, Event { region, code: 0, group }.selector());
            run_loop(Level::Kernel, ITERATIONS);
            check_eq!(count(0), 0);
        };
    }
    "MATRIX.counter_" [0 1 2 3 4 5 6 7] @ PMEVTYPER0 {
        "counts_every_instruction" => |r| {
            program_matrix(r.of_counter().n, EVERY_INSTRUCTION, 0);
            run_loop(Level::Kernel, ITERATIONS);
            check_eq!(count(r.n), WINDOW);
        };
        "overflows_and_interrupts" => |r| {
            let n = r.of_counter().n;
            interrupts_to(note_and_clear);
            write(PMINTENSET, 1 << n);
            program_matrix(n, EVERY_INSTRUCTION, filter::P);
            write(counter(n), COUNTER_MAX - 500);
            with_interrupts(|| run(|| at_el0(|| counting_loop(100))));
            check_eq!((arrivals(), flags()), (1, 1 << n));
        };
    }
    "MATRIX.filter_" [0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] @ PMEVTYPER0 {
        "P_U_NSK_NSU" => |r| {
            let bits = u64::from(r.n) << 28;
            let kernel = (r.n >> 3 ^ r.n >> 1) & 1 == 0;
            let user = (r.n >> 2 ^ r.n) & 1 == 0;
            program_matrix(0, EVERY_INSTRUCTION, bits);
            run_loop(Level::Kernel, ITERATIONS);
            check_eq!(count(0), if kernel { WINDOW } else { 0 }, "EL1");
            program_matrix(0, EVERY_INSTRUCTION, bits);
            run_loop(Level::User, ITERATIONS);
            check_eq!(count(0), if user { WINDOW } else { 0 }, "EL0");
        };
    }
}

/// Code 0 is a row like any other: 0x10000 counts what INST_RETIRED counts.
#[guest_test(needs(falkor, exact))]
fn code_0_counts() {
    need_event(event::INST_RETIRED);
    program_matrix(0, BASIC_INSTRUCTIONS, 0);
    program(1, event::INST_RETIRED);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!((count(0), count(1)), (WINDOW, WINDOW));
}

/// The highest code of group 7 works and leaves EN alone.
#[guest_test(needs(falkor))]
fn group_7_reaches_its_highest_code() {
    program_matrix(0, EVERY_CYCLE, 0);
    check_eq!(read(resr(0)), 0xFF00_0000_0000_0000);
    program_cycles(0);
    run_loop(Level::Kernel, ITERATIONS);
    check!(count(0) > 0);
    check_eq!(count(0), read(PMCCNTR), "cycles");
}

/// Clearing bits 62:56 alone keeps the other groups counting; clearing bit 63 with them stops all of the region.
#[guest_test(needs(falkor))]
fn clearing_group_7_spares_the_others() {
    EVERY_CYCLE.select();
    program_matrix(0, EVERY_INSTRUCTION, 0);
    write(resr(0), read(resr(0)) & !EVERY_CYCLE.field());
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW, "seven bits cleared");
    write(resr(0), read(resr(0)) & !(0xFF << 56));
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW, "eight bits cleared: EN with them");
}

/// EN stops and starts a region; counts stay.
#[guest_test(needs(falkor))]
fn en_stops_and_resumes() {
    program_matrix(0, EVERY_INSTRUCTION, 0);
    run_loop(Level::Kernel, ITERATIONS);
    write(resr(0), read(resr(0)) & !EN);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW, "stopped");
    write(resr(0), read(resr(0)) | EN);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), 2 * WINDOW, "resumed");
}

/// EN of one region is not EN of another.
#[guest_test(needs(falkor))]
fn regions_have_their_own_en() {
    program_matrix(0, EVERY_INSTRUCTION, 0);
    (1..REGIONS).for_each(|region| write(resr(region), EN));
    write(resr(0), read(resr(0)) & !EN);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), 0);
}

/// Two counters of one code with the filters of one level each add up to one without.
#[guest_test(needs(falkor))]
fn shared_codes_with_filters_add_up() {
    need_counter(2);
    program_matrix(0, EVERY_INSTRUCTION, 0);
    program_matrix(1, EVERY_INSTRUCTION, filter::P);
    program_matrix(2, EVERY_INSTRUCTION, filter::U);
    run(|| {
        counting_loop(ITERATIONS);
        at_el0(|| counting_loop(3 * ITERATIONS));
    });
    check_eq!(count(1) + count(2), count(0), "EL0 and EL1");
    check!(count(1) >= 3 * ITERATIONS * LOOP_INSTRUCTIONS && count(2) >= ITERATIONS * LOOP_INSTRUCTIONS);
}

/// A group has one code: the last one written wins, and both counters of the group count it.
#[guest_test(needs(falkor))]
fn the_last_code_of_a_group_wins() {
    let other = Event { code: 0xA5, ..EVERY_INSTRUCTION };
    program_matrix(0, EVERY_INSTRUCTION, 0);
    program_matrix(1, other, 0);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!((count(0), count(1)), (0, 0), "the other code");
    EVERY_INSTRUCTION.select();
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!((count(0), count(1)), (WINDOW, WINDOW), "the code written last");
}

/// Groups of one region and the regions are independent: five events at once.
#[guest_test(needs(falkor))]
fn groups_and_regions_count_at_once() {
    need_counter(4);
    program_matrix(0, EVERY_INSTRUCTION, 0);
    program_matrix(1, CONDITIONAL_BRANCHES, 0);
    program_matrix(2, EVERY_CYCLE, 0);
    program_matrix(3, LOADS, 0);
    program_matrix(4, STORES, 0);
    program_cycles(0);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!((count(0), count(1)), (WINDOW, ITERATIONS * LOOP_BRANCHES));
    check_eq!((count(2), count(3), count(4)), (read(PMCCNTR), 0, 0));
}

/// The right order: matrix first, counter then. Nothing is lost.
#[guest_test(needs(falkor))]
fn programmed_in_the_right_order() {
    EVERY_INSTRUCTION.select();
    write(event_type(0), EVERY_INSTRUCTION.selector());
    write(counter(0), 0);
    write(PMINTENSET, 1);
    write(guest_images_aarch64::pmu::PMCNTENSET, 1);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW);
}

/// The wrong order: a counter that is enabled before its code is there counts what the group had before.
#[guest_test(needs(falkor))]
fn programmed_in_the_wrong_order() {
    Event { code: 0xA5, ..EVERY_INSTRUCTION }.select();
    program(0, EVERY_INSTRUCTION.selector());
    run(|| {
        counting_loop(ITERATIONS);
        EVERY_INSTRUCTION.select();
        counting_loop(ITERATIONS);
    });
    let counted = count(0);
    check!(counted >= ITERATIONS * LOOP_INSTRUCTIONS, "{counted}");
    check!(counted < ITERATIONS * LOOP_INSTRUCTIONS + 200, "the first loop was counted too: {counted}");
}

/// A field cleared under a running counter: the count stays and grows no more.
#[guest_test(needs(falkor))]
fn a_code_cleared_too_early() {
    let one = Event { code: 0xA5, ..EVERY_INSTRUCTION };
    program_matrix(0, EVERY_INSTRUCTION, 0);
    run(|| {
        counting_loop(ITERATIONS);
        one.select();
        let so_far = count(0);
        counting_loop(ITERATIONS);
        check_eq!(count(0), so_far);
    });
}

/// PMXEVCNTCR holds values that change no count.
#[guest_test(needs(falkor, vpmu))]
fn pmxevcntcr_does_not_change_counts() {
    use guest_images_aarch64::{falkor::PMXEVCNTCR, pmu::PMSELR};
    write(PMSELR, 0);
    write(PMXEVCNTCR, u64::MAX);
    program_matrix(0, EVERY_INSTRUCTION, 0);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW);
}

/// SW_INCR does not reach a counter of the matrix, and the matrix not a counter of a common event.
#[guest_test(needs(falkor))]
fn common_events_and_the_matrix_are_apart() {
    program_matrix(0, Event { code: 0xA5, ..EVERY_INSTRUCTION }, 0);
    program(1, event::SW_INCR);
    run(|| write(PMSWINC, 3));
    check_eq!((count(0), count(1)), (0, 1));
}

/// CHAIN makes 64 bits of a matrix counter, and the pair may span regions: the upper half counts overflows, whatever
/// the lower counts.
#[guest_test(needs(falkor))]
fn chain_on_matrix_counters() {
    need_event(event::CHAIN);
    need_counter(3);
    program_matrix(0, EVERY_INSTRUCTION, 0);
    program(1, event::CHAIN);
    write(counter(0), COUNTER_MAX - 5_000);
    program_matrix(2, STORES, 0);
    program(3, event::CHAIN);
    write(counter(2), COUNTER_MAX);
    let mut word = 0_u64;
    counted!([".rept 10", "str x9, [{w}]", ".endr"], w = in(reg) &raw mut word, out("x9") _);
    check_eq!((count(2), count(3)), (9, 1), "region 2");
    run_loop(Level::Kernel, ITERATIONS);
    let all = count(1) << 32 | count(0);
    check!(all >= COUNTER_MAX - 5_000 + ITERATIONS * LOOP_INSTRUCTIONS, "region 0: {all:#x}");
    check_eq!(count(1), 1);
}

/// A disabled counter keeps its count although its code stays selected.
#[guest_test(needs(falkor))]
fn a_disabled_counter_stops() {
    program_matrix(0, EVERY_INSTRUCTION, 0);
    run_loop(Level::Kernel, ITERATIONS);
    write(PMCNTENCLR, 1);
    run_loop(Level::Kernel, ITERATIONS);
    check_eq!(count(0), WINDOW);
}

/// All counters on one code show the same number.
#[guest_test(needs(falkor))]
fn all_counters_on_one_code() {
    (0..counters()).for_each(|n| program_matrix(n, EVERY_INSTRUCTION, 0));
    run_loop(Level::User, ITERATIONS);
    (0..counters()).for_each(|n| check_eq!(count(n), WINDOW, "counter {n}"));
}

/// Counts a synthetic event over lines of assembly.
macro_rules! count_of {
    ($event:expr, [$($line:literal),* $(,)?] $(, $($operands:tt)*)?) => {{
        program_matrix(0, $event, 0);
        counted!([$($line),*] $(, $($operands)*)?);
        count(0)
    }};
}

/// Loads and stores, one for each instruction that does one.
#[guest_test(needs(falkor, vpmu))]
fn loads_and_stores() {
    let mut memory = [0_u64; 4];
    let loads = count_of!(LOADS,
        ["ldr x9, [{m}]", "ldp x9, x10, [{m}]", "ldrb w9, [{m}, #3]", "str x9, [{m}]", "nop"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _, out("x10") _);
    let stores = count_of!(STORES,
        ["str x9, [{m}]", "stp x9, x10, [{m}]", "ldr x9, [{m}]", "nop"],
        m = in(reg) memory.as_mut_ptr(), out("x9") _, out("x10") _);
    check_eq!((loads, stores), (3, 2));
}

/// Conditional branches, taken or not, and indirect branches and calls.
#[guest_test(needs(falkor, vpmu))]
fn branches_by_kind() {
    let conditional = count_of!(CONDITIONAL_BRANCHES,
        ["cmp x9, x9", "b.ne 2f", "b.eq 2f", "2: cbz xzr, 3f", "3: tbnz xzr, #1, 3b", "b 4f", "4: nop"],
        out("x9") _);
    check_eq!(conditional, 4, "B.cond, CBZ, TBNZ");
    let indirect = count_of!(INDIRECT_BRANCHES,
        ["adr x9, 2f", "br x9", "2: adr x9, 3f", "blr x9", "b 4f", "3: ret", "4: nop"],
        out("x9") _, out("x30") _);
    check_eq!(indirect, 2, "BR and BLR; a return is none of them");
}

/// Passes over the instruction of an exception; SVC is behind it already.
fn go_on(frame: &mut Frame) {
    if frame.syndrome >> 26 != 0x15 {
        frame.pc += 4;
    }
}

/// SVC and data aborts, each by its own code.
#[guest_test(needs(falkor, vpmu))]
fn exceptions_by_kind() {
    set_synchronous_handler(Some(go_on));
    macro_rules! body {
        ($event:expr) => {
            count_of!($event, ["mov x9, #8", "svc #1", "udf #0", "ldr x10, [x9]", "str x10, [x9]", "svc #2", "svc #3"],
                out("x9") _, out("x10") _)
        };
    }
    check_eq!((body!(SVC), body!(DATA_ABORT)), (3, 2), "SVC, data aborts");
}

/// IRQs taken, by their own code.
#[guest_test(needs(falkor, vpmu))]
fn interrupts_are_counted() {
    static SEEN: AtomicU64 = AtomicU64::new(0);
    fn end(frame: &mut Frame) {
        SEEN.fetch_add(1, Relaxed);
        gic::end(frame.vector as u32);
    }
    SEEN.store(0, Relaxed);
    set_handler(3, Some(end));
    gic::enable(3);
    program_matrix(0, IRQ_TAKEN, 0);
    with_interrupts(|| {
        run(|| {
            for _ in 0..5 {
                gic::send_to_self(3);
                counting_loop(10);
            }
        });
    });
    check_eq!((SEEN.load(Relaxed), count(0)), (5, 5));
}
