//! Streams whose bottleneck is known, on every core.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Random, Run, assemble, read, shares, write};
use core_model::{Core, Isa, MemoryRenaming, SKYLAKE_SP, SUNNY_COVE, Uncore, cores};
use iced_x86::code_asm::*;
use retire::{BranchKind, CoreEvent, Observer};
use std::num::{NonZeroU32, NonZeroU64};

#[test]
fn wide_arithmetic_retires() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            let mut top = a.create_label();
            a.set_label(&mut top).unwrap();
            for register in [rax, rbx, rcx, rsi, rdi, r8, r9, r10, r11] {
                a.add(register, 1).unwrap();
                // Slots that need no unit.
                if core.fuses_nops {
                    a.mov(r12, r13).unwrap();
                } else {
                    a.nop().unwrap();
                }
            }
            a.dec(rdx).unwrap();
            a.jnz(top).unwrap();
        }));
        let last = code.len() - 1;
        for _ in 0..5000 {
            for (n, one) in code.iter().enumerate() {
                run.step(one, &[], (n == last).then_some((true, CODE)));
            }
        }
        let totals = run.totals();
        let found = shares(&totals);
        // Where lines of code matter, those with more than two entries of the uop cache take longer.
        let least = if core.front_end.uop_cache_instructions > 0 { 70.0 } else { 80.0 };
        assert!(found.retiring >= least, "{}: {found:?}", core.name);
        assert_eq!(totals.macro_fused, 5000);
    }
}

#[test]
fn branches_on_random_data_are_bad_speculation() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            let mut skip = a.create_label();
            a.test(rax, rcx).unwrap();
            a.jnz(skip).unwrap();
            a.add(rbx, 1).unwrap();
            a.set_label(&mut skip).unwrap();
            a.add(rdx, 1).unwrap();
            a.jmp(CODE).unwrap();
        }));
        let mut random = Random(88172645463325252);
        for _ in 0..20_000 {
            let taken = random.next() & 1 == 1;
            run.step(&code[0], &[], None);
            run.step(&code[1], &[], Some((taken, if taken { code[3].1.ip() } else { code[2].1.ip() })));
            if !taken {
                run.step(&code[2], &[], None);
            }
            run.step(&code[3], &[], None);
            run.step(&code[4], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        let found = shares(&totals);
        assert!(found.bad > 25.0 && found.bad > found.core + found.memory, "{}: {found:?}", core.name);
        let conditional = totals.branches_of(BranchKind::Conditional);
        let wrong = conditional.mispredicted_taken + conditional.mispredicted_not_taken;
        assert!((8_000..12_000).contains(&wrong), "{wrong}");
        assert!(totals.recoveries >= wrong && totals.clear_resteer_cycles > 0);
    }
}

#[test]
fn dependent_divisions_are_core_bound() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            a.divsd(xmm0, xmm1).unwrap();
            a.add(rax, 1).unwrap();
            a.jmp(CODE).unwrap();
        }));
        for _ in 0..5000 {
            run.step(&code[0], &[], None);
            run.step(&code[1], &[], None);
            run.step(&code[2], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        let found = shares(&totals);
        assert!(found.core > 60.0 && found.memory < 1.0, "{}: {found:?}", core.name);
        // Each takes the divider for a few cycles of its latency.
        assert!(totals.fp_divider_active > 4 * 4500, "{}", totals.fp_divider_active);
        assert_eq!(totals.fp_scalar_double, 5000);
    }
}

/// A chain of loads through `lines` lines in random order, so many of them for each jump.
fn chase(core: &'static Core, lines: u64, steps: u64, loads: usize) -> (Run, core_model::CoreTotals) {
    chase_within(core, Uncore::default(), lines, steps, loads)
}

/// The same with this outside of the core.
fn chase_within(
    core: &'static Core,
    uncore: Uncore,
    lines: u64,
    steps: u64,
    loads: usize,
) -> (Run, core_model::CoreTotals) {
    let mut run = Run::new(core);
    run.model.set_uncore(uncore);
    let code = run.define(&assemble(|a| {
        for _ in 0..loads {
            a.mov(rax, qword_ptr(rax)).unwrap();
        }
        a.jmp(CODE).unwrap();
    }));
    let mut random = Random(99);
    for step in 0..steps as usize {
        let address = 0x1_0000_0000 + 64 * random.below(lines);
        run.step(&code[step % loads], &[read(address, 8)], None);
        if step % loads + 1 == loads {
            run.step(&code[loads], &[], Some((true, CODE)));
        }
    }
    let totals = run.totals();
    (run, totals)
}

#[test]
fn a_chase_beyond_the_last_level_is_memory_bound() {
    for core in cores(Isa::X86) {
        let (_, totals) = chase(core, 1 << 24, 5_000, 1);
        let found = shares(&totals);
        assert!(found.memory > 90.0, "{}: {found:?}", core.name);
        assert!(totals.l3_misses > 4_500, "{}", totals.l3_misses);
        // One after the other: each costs the latency of memory.
        let each = totals.cycles as f64 / 5_000.0;
        assert!(each > f64::from(core.memory.memory_latency), "{each}");
        // They wait for each other up to a hundred thousand cycles ahead, yet all are executed and outstanding.
        let executed = totals.uops_executed.total;
        assert!((10_000..18_000).contains(&executed), "{}: {executed}", core.name);
        let stalled = totals.stalls_l3_miss as f64 / totals.cycles as f64;
        assert!(stalled > 0.9, "{}: {stalled}", core.name);
    }
}

/// A share of the last level holds as much as it is said to, and what it does not hold comes from memory, in as many
/// cycles as are said.
#[test]
fn a_share_of_the_last_level_holds_that_much() {
    const LATENCY: u32 = 700;
    for core in cores(Isa::X86) {
        let missed = |llc: u64| {
            let memory_latency = NonZeroU32::new(LATENCY);
            let uncore = Uncore { llc: NonZeroU64::new(llc), memory_latency, ..Uncore::default() };
            // Of 4 MiB, more than all second levels have and each share.
            let (_, totals) = chase_within(core, uncore, 1 << 16, 80_000, 1);
            (totals.l3_misses, totals.cycles)
        };
        let (few, less) = missed(16 << 20);
        let (many, more) = missed(1 << 20);
        // Lines come in pairs.
        assert!(few <= 1 << 15 && many > few + 4_000, "{}: {few}, {many}", core.name);
        let each = (more - less) as f64 / (many - few) as f64;
        let expected = f64::from(LATENCY - core.memory.llc_latency);
        assert!((each - expected).abs() < 1.0, "{}: {each} in place of {expected}", core.name);
    }
}

/// A line that was not used for longer than the last level keeps it comes from memory again: of 4 MiB at random each is
/// used after some 60,000 loads again, of 50 to 150 cycles.
#[test]
fn the_last_level_keeps_lines_for_that_long() {
    for core in [&SKYLAKE_SP, &SUNNY_COVE] {
        let missed = |cycles: u64| {
            let uncore = Uncore { llc_lifetime: NonZeroU64::new(cycles), ..Uncore::default() };
            chase_within(core, uncore, 1 << 16, 100_000, 1).1.l3_misses
        };
        let [long, short] = [1 << 40, 100_000].map(missed);
        assert!(short > long + 10_000, "{}: {long}, {short}", core.name);
    }
}

/// TMA's "L1 bound" is a part of memory bound: a load is under way and nothing else can execute. In one of its four or
/// five cycles the load itself executes, and in another one a jump. With a jump for each load no more than half of four
/// cycles would be left (on Skylake, whose jumps are allocated when a load has left its scheduler, two cycles before
/// the next one), so there are more loads.
#[test]
fn a_chase_within_the_first_level_is_memory_bound() {
    for core in cores(Isa::X86) {
        let (_, totals) = chase(core, 16, 10_000, 4);
        let found = shares(&totals);
        assert!(found.memory > 50.0 && found.memory > found.core + 10.0, "{}: {found:?}", core.name);
        let each = totals.cycles as f64 / 10_000.0;
        assert!((3.9..5.6).contains(&each), "{}: {each}", core.name);
    }
}

#[test]
fn independent_misses_overlap() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            a.mov(rax, qword_ptr(rcx)).unwrap();
            a.jmp(CODE).unwrap();
        }));
        let mut random = Random(99);
        for _ in 0..5_000 {
            run.step(&code[0], &[read(0x1_0000_0000 + 64 * random.below(1 << 24), 8)], None);
            run.step(&code[1], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        let each = totals.cycles as f64 / 5_000.0;
        assert!(each < f64::from(core.memory.memory_latency) / 5.0, "{}: {each}", core.name);
        assert!(shares(&totals).memory > 80.0);
    }
}

#[test]
fn a_sequential_walk_is_prefetched() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            a.add(rax, qword_ptr(rcx)).unwrap();
            a.imul_2(rbx, rbx).unwrap();
            a.imul_2(rbx, rbx).unwrap();
            a.imul_2(rbx, rbx).unwrap();
            a.jmp(CODE).unwrap();
        }));
        for n in 0..10_000 {
            run.step(&code[0], &[read(0x1_0000_0000 + 8 * n, 8)], None);
            run.step(&code[1], &[], None);
            run.step(&code[2], &[], None);
            run.step(&code[3], &[], None);
            run.step(&code[4], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        assert!(totals.l3_misses * 20 < totals.loads, "{} {}", core.name, totals.l3_misses);
        assert!((totals.l1_hits + totals.fill_buffer_hits) * 10 > totals.loads * 8);
        assert!(shares(&totals).memory < 20.0, "{}: {:?}", core.name, shares(&totals));
    }
}

#[test]
fn a_huge_footprint_of_code_is_front_end_bound() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        // A jump in each line of 256 KiB, over and over: far more than the first-level caches.
        let code = run.define(&assemble(|a| {
            for n in 1..=4096 {
                a.jmp(CODE + n * 64).unwrap();
                a.nops_with_size(62).unwrap();
            }
        }));
        let jumps: Vec<_> = code.iter().filter(|(_, one)| one.is_jmp_short_or_near()).collect();
        for _ in 0..3 {
            for jump in &jumps {
                run.step(jump, &[], Some((true, jump.1.near_branch_target())));
            }
        }
        let totals = run.totals();
        let found = shares(&totals);
        assert!(found.front > 40.0 && found.front > found.core + found.memory, "{}: {found:?}", core.name);
        assert!(totals.icache.hits + totals.icache.misses > 12_000, "{}: {:?}", core.name, totals.icache);
        assert!(totals.mite_uops.total > 9 * totals.dsb_uops.total);
    }
}

#[test]
fn stores_beyond_the_caches_fill_the_store_buffer() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            a.mov(qword_ptr(rcx), rax).unwrap();
            a.jmp(CODE).unwrap();
        }));
        let mut random = Random(5);
        for _ in 0..5_000 {
            run.step(&code[0], &[write(0x1_0000_0000 + 64 * random.below(1 << 24), 8)], None);
            run.step(&code[1], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        assert!(shares(&totals).memory > 80.0, "{}: {:?}", core.name, shares(&totals));
        assert!(totals.store_buffer_stalls > totals.cycles / 2);
    }
}

#[test]
fn a_store_is_forwarded_unless_it_is_too_narrow() {
    for core in cores(Isa::X86) {
        let cycles = |narrow: bool| {
            let mut run = Run::new(core);
            let code = run.define(&assemble(|a| {
                a.mov(dword_ptr(rcx), eax).unwrap();
                a.mov(rax, qword_ptr(rcx)).unwrap();
                a.jmp(CODE).unwrap();
            }));
            for _ in 0..10_000 {
                run.step(&code[0], &[write(0x1000, if narrow { 4 } else { 8 })], None);
                run.step(&code[1], &[read(0x1000, 8)], None);
                run.step(&code[2], &[], Some((true, CODE)));
            }
            let totals = run.totals();
            (totals.cycles as f64 / 10_000.0, totals.store_forward_blocks)
        };
        let (forwarded, blocks) = cycles(false);
        // Renaming connects the two, and stores and loads are bound by ports.
        let renames = core.memory.renames_memory != MemoryRenaming::None;
        let least = if renames { 0.5 } else { 4.0 };
        assert!((least..10.0).contains(&forwarded) && blocks == 0, "{}: {forwarded}", core.name);
        assert!(!renames || forwarded < 2.0, "{}: {forwarded}", core.name);
        let (blocked, blocks) = cycles(true);
        assert!(blocked > 13.0 && blocks > 9_000, "{}: {blocked}", core.name);
    }
}

#[test]
fn locked_instructions_do_not_overlap() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            a.lock().add(qword_ptr(rcx), 1).unwrap();
            a.jmp(CODE).unwrap();
        }));
        for _ in 0..10_000 {
            run.step(&code[0], &[read(0x1000, 8), write(0x1000, 8)], None);
            run.step(&code[1], &[], Some((true, CODE)));
        }
        let totals = run.totals();
        let each = totals.cycles as f64 / 10_000.0;
        let lock = f64::from(core.flows.lock);
        assert!((lock..lock + 7.0).contains(&each), "{}: {each}", core.name);
        assert_eq!(totals.lock_loads, 10_000);
    }
}

#[test]
fn self_modifying_code_clears_the_machine() {
    let mut run = Run::new(&SUNNY_COVE);
    let code = run.define(&assemble(|a| {
        a.mov(byte_ptr(rcx), al).unwrap();
        a.jmp(CODE).unwrap();
    }));
    for _ in 0..1000 {
        run.step(&code[0], &[write(CODE + 64, 1)], None);
        run.model.event(CoreEvent::CodeWritten(CODE));
        run.step(&code[1], &[], Some((true, CODE)));
    }
    let totals = run.totals();
    assert!(totals.code_clears > 990 && totals.machine_clears == totals.code_clears);
    assert!(totals.slots.machine_clears > 0 && totals.slots.branch_mispredicts == 0);
}

/// A load that was too early waits for the addresses of stores. What it then reads from stores whose addresses are
/// known does not make it bold again; loads of what nobody stores do, but not soon where that happens often.
#[test]
fn loads_stay_careful_as_long_as_they_depend_on_stores() {
    for core in cores(Isa::X86) {
        let clears = |loaded, loads| {
            let mut run = Run::new(core);
            let code = run.define(&assemble(|a| {
                a.imul_2(rbx, rbx).unwrap();
                a.mov(qword_ptr(rbx), rax).unwrap();
                a.mov(qword_ptr(rsi), rax).unwrap();
                a.mov(rcx, qword_ptr(rdx + r8)).unwrap();
            }));
            let address = 0x10_0000;
            for _ in 0..50 {
                for _ in 0..8 {
                    run.step(&code[0], &[], None);
                }
                run.step(&code[1], &[write(address, 8)], None);
                run.step(&code[3], &[read(address, 8)], None);
                for _ in 0..loads {
                    run.step(&code[2], &[write(address, 8)], None);
                    run.step(&code[3], &[read(address + loaded, 8)], None);
                }
                run.totals();
            }
            run.totals().machine_clears
        };
        assert!(clears(0, 250) <= 2, "{}: {}", core.name, clears(0, 250));
        // A load that is known to read from a store has its value from there.
        let renames = core.memory.renames_memory;
        let known = matches!(renames, MemoryRenaming::Predicted { .. });
        assert!(known || clears(1024, 250) > 40, "{}: {}", core.name, clears(1024, 250));
        assert!(clears(1024, 40) <= 3, "{}: {}", core.name, clears(1024, 40));
    }
}

#[test]
fn pages_beyond_the_second_level_are_walked() {
    for core in cores(Isa::X86) {
        let (_, near) = chase(core, 64, 5_000, 1);
        assert!(near.load_translation.walks_4k < 10);
        let (_, far) = chase(core, 1 << 24, 5_000, 1);
        assert!(far.load_translation.walks_4k > 4_500);
        assert_eq!(far.second_level_tlb_miss_loads, far.load_translation.walks_4k);
    }
}

/// What retires of an instruction with a load, executed 1,000 times.
fn slots_of(core: &'static Core, code: impl FnOnce(&mut CodeAssembler)) -> u64 {
    let mut run = Run::new(core);
    let code = run.define(&assemble(code));
    for _ in 0..1000 {
        run.step(&code[0], &[read(0x1_0000_0000, 4)], None);
    }
    let totals = run.totals();
    totals.slots.light_operations + totals.slots.heavy_operations
}

#[test]
fn an_index_makes_two_uops_of_some_operations() {
    let near = dword_ptr(rbx);
    let indexed = dword_ptr(rbx + rcx);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.cmp(eax, near).unwrap()), 1000);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.cmp(eax, indexed).unwrap()), 2000);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.adc(eax, indexed).unwrap()), 2000);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.vaddps(xmm0, xmm1, indexed).unwrap()), 2000);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.add(eax, indexed).unwrap()), 1000);
    assert_eq!(slots_of(&SKYLAKE_SP, |a| a.mov(eax, indexed).unwrap()), 1000);
    assert_eq!(slots_of(&SUNNY_COVE, |a| a.cmp(eax, indexed).unwrap()), 1000);
}
