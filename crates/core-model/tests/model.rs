//! What holds for every stream: slots, cycles, and the identities between events.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Random, Run, assemble, block, describe, new, read, write};
use core_model::{Core, CoreTotals, GOLDEN_COVE, Isa, PerCycle, SKYLAKE_SP, SUNNY_COVE, ZEN4, cores};
use iced_x86::code_asm::*;
use iced_x86::{FlowControl, Instruction};
use proptest::prelude::*;
use retire::{Assist, Block, Branch, BranchKind, CoreEvent, MemoryAccess, Observer};

/// Some of everything, each in its own place, so that a stream can jump from any to any.
fn menu() -> Vec<Instruction> {
    assemble(|a| {
        let mut top = a.create_label();
        a.set_label(&mut top).unwrap();
        a.add(rax, rbx).unwrap();
        a.imul_2(rcx, rax).unwrap();
        a.mov(rdx, qword_ptr(rsi + 8)).unwrap();
        a.mov(qword_ptr(rdi), rdx).unwrap();
        a.add(qword_ptr(rdi), 3).unwrap();
        a.divsd(xmm0, xmm1).unwrap();
        a.mulps(xmm2, xmmword_ptr(rsi)).unwrap();
        a.div(rcx).unwrap();
        a.nop().unwrap();
        a.cmp(rax, rcx).unwrap();
        a.jne(top).unwrap();
        a.call(rax).unwrap();
        a.ret().unwrap();
        a.jmp(rbx).unwrap();
        a.lock().inc(dword_ptr(rdi)).unwrap();
        a.cpuid().unwrap();
        a.mfence().unwrap();
        a.rep().movsb().unwrap();
        a.xor(ebx, ebx).unwrap();
        a.movaps(xmm3, xmm4).unwrap();
        a.vaddps(ymm5, ymm6, ymm7).unwrap();
        a.cvtdq2ps(xmm8, xmm4).unwrap();
        a.vzeroupper().unwrap();
        a.push(rax).unwrap();
        a.fsqrt().unwrap();
        a.syscall().unwrap();
        a.pause().unwrap();
        // More of two units of arithmetic than have a turn.
        a.shr(rdx, 5).unwrap();
        a.shr(rcx, 3).unwrap();
        a.shl(rdx, 2).unwrap();
        a.mov(rdx, qword_ptr(rsi + 8)).unwrap();
        a.shl(rdx, 1).unwrap();
        a.shr(rcx, 1).unwrap();
        a.shl(rax, 1).unwrap();
        // Results of one unit that would come in the same cycle.
        a.imul_3(r9, rbx, 3).unwrap();
        a.imul_3(r10, rbx, 5).unwrap();
        a.rorx(r11, rbx, 8).unwrap();
        a.imul_3(r12, rbx, 7).unwrap();
        a.rorx(r13, rbx, 2).unwrap();
        a.rorx(r14, rbx, 4).unwrap();
    })
}

fn run(core: &'static Core, seed: u64, steps: u64) -> Run {
    let mut run = Run::new(core);
    let menu = run.define(&menu());
    let mut random = Random(seed | 1);
    for _ in 0..steps {
        // Rounds of a few instructions, so that there is something to predict and to cache.
        let one = &menu[random.below(menu.len() as u64) as usize];
        let spread = [64, 4096, 1 << 20, 1 << 28][random.below(4) as usize];
        let address = 0x10_0000 + random.below(spread);
        let accesses = [read(address, 8), write(address ^ 0x40, 8), write(address, 8), read(address, 4)];
        let from = random.below(4) as usize;
        let memory = if random.below(8) == 0 { &accesses[..] } else { &accesses[from..=from] };
        let branches = !matches!(
            one.1.flow_control(),
            FlowControl::Next | FlowControl::Interrupt | FlowControl::Exception
        ) && one.1.mnemonic() != iced_x86::Mnemonic::Syscall;
        let taken = one.1.flow_control() != FlowControl::ConditionalBranch || random.next() & 1 == 1;
        run.step(one, memory, branches.then_some((taken, CODE + random.below(64))));
        match random.below(600) {
            0 => run.model.event(CoreEvent::Interrupt { user: false }),
            1 => run.model.event(CoreEvent::TlbFlush),
            2 => run.model.event(CoreEvent::CodeWritten(CODE)),
            3 => run.model.event(CoreEvent::LineFlushed(address)),
            4 => run.model.event(CoreEvent::PredictorBarrier),
            5 => run.model.event(CoreEvent::InvalidatePage(address)),
            20 => run.model.event(CoreEvent::Assist { kind: Assist::FloatingPoint, user: run.user }),
            21 => run.model.event(CoreEvent::Assist { kind: Assist::PageTable, user: !run.user }),
            6..20 => run.user = !run.user,
            _ => {}
        }
    }
    run
}

fn check_per_cycle(what: &PerCycle) {
    let sum: u64 = what.cycles.iter().enumerate().map(|(n, cycles)| n as u64 * cycles).sum();
    // The last element also has cycles with more.
    if what.cycles[core_model::MOST_PER_CYCLE] == 0 {
        assert_eq!(sum, what.total);
    }
    for n in 1..=core_model::MOST_PER_CYCLE {
        assert!(what.rising(n) <= what.at_least(n), "{what:?}");
    }
}

fn check(totals: &CoreTotals, width: u64) {
    assert_eq!(totals.slots.total(), totals.cycles * width);
    for what in [
        &totals.uops_issued,
        &totals.uops_retired,
        &totals.uops_executed,
        &totals.uops_not_delivered,
        &totals.mite_uops,
        &totals.dsb_uops,
        &totals.lsd_uops,
        &totals.ms_uops,
    ] {
        check_per_cycle(what);
    }
    assert_eq!(totals.uops_issued.cycles.iter().sum::<u64>(), totals.cycles);
    assert_eq!(totals.uops_not_delivered.cycles.iter().sum::<u64>(), totals.cycles);
    assert_eq!(totals.uops_not_delivered.total, totals.slots.frontend_bound());
    assert_eq!(totals.uops_not_delivered.cycles[width as usize] * width, totals.slots.fetch_latency);
    assert!(totals.uops_issued.total >= totals.slots.retiring());
    assert_eq!(totals.l1_misses, totals.l2_hits + totals.l2_misses);
    assert_eq!(totals.l2_misses, totals.l3_hits + totals.l3_misses);
    assert!(totals.l1_hits + totals.l1_misses + totals.fill_buffer_hits <= totals.loads);
    assert!(totals.stalls_l3_miss <= totals.stalls_l2_miss);
    assert!(totals.stalls_l2_miss <= totals.stalls_l1_miss);
    assert!(totals.stalls_l1_miss <= totals.stalls_memory);
    for kind in BranchKind::ALL {
        let branches = totals.branches_of(kind);
        assert!(branches.mispredicted_taken <= branches.taken);
        assert!(branches.mispredicted_not_taken <= branches.not_taken);
        assert!(kind == BranchKind::Conditional || branches.not_taken == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_slot_of_every_cycle_is_booked_once_at_each_privilege_level(seed in any::<u64>(), steps in 1..4000_u64) {
        for core in core_model::pipelines(Isa::X86) {
            let mut run = run(core, seed, steps);
            run.model.event(CoreEvent::Serialise);
            let width = u64::from(core.dispatch_width);
            let (kernel, user) = (*run.model.totals(false), *run.model.totals(true));
            check(&kernel, width);
            check(&user, width);
            prop_assert_eq!(kernel.cycles + user.cycles, run.model.cycles());
            prop_assert_eq!(kernel.instructions + user.instructions, steps);
            // Whatever was allocated has retired.
            let slots = kernel.slots.retiring() + user.slots.retiring();
            let retired = kernel.uops_retired.total + user.uops_retired.total;
            prop_assert!(retired <= slots && retired + u64::from(core.retire_width) >= slots);
        }
    }
}

/// Cycles of CVTDQ2PS behind an instruction: its latency is 4, and two can begin in a cycle.
fn conversion_behind(core: &'static Core, change: impl FnOnce(&mut CodeAssembler)) -> f64 {
    let mut model = new(core);
    let change = describe(&assemble(change));
    let body = describe(&assemble(|a| (0..20).for_each(|_| a.cvtdq2ps(xmm1, xmm0).unwrap())));
    let [before, body_id] = [&change, &body].map(|code| model.define(code));
    model.retire(&block(before, &change));
    for _ in 0..100 {
        model.retire(&block(body_id, &body));
    }
    model.event(CoreEvent::Serialise);
    model.cycles() as f64 / 2000.0
}

#[test]
fn upper_bits_in_use_make_legacy_instructions_wait_for_their_destination() {
    let clean = |a: &mut CodeAssembler| a.vpcmpeqd(xmm4, xmm4, xmm4).unwrap();
    let dirty = |a: &mut CodeAssembler| a.vpcmpeqd(ymm4, ymm4, ymm4).unwrap();
    let cleaned = |a: &mut CodeAssembler| {
        a.vpcmpeqd(ymm4, ymm4, ymm4).unwrap();
        a.vzeroupper().unwrap();
    };
    for core in [&SKYLAKE_SP, &GOLDEN_COVE] {
        for (found, waits) in [
            (conversion_behind(core, clean), false),
            (conversion_behind(core, dirty), core.merges_upper_bits),
            (conversion_behind(core, cleaned), false),
        ] {
            let expected = if waits { 3.9..4.5 } else { 0.5..1.0 };
            assert!(expected.contains(&found), "{}: {found:.2} is not in {expected:?}", core.name);
        }
    }
}

/// Blocks at once give what their instructions give one by one.
#[test]
fn blocks_are_no_shortcut() {
    for core in core_model::pipelines(Isa::X86) {
        let (mut at_once, mut one_by_one) = (new(core), new(core));
        let menu = describe(&menu());
        let mut random = Random(9);
        for _ in 0..3000 {
            // Neighbours, without the string instruction and what jumps besides the last one.
            let (first, end) = [(0, 11), (18, 27)][random.below(2) as usize];
            let start = first + random.below(end - first);
            let count = 1 + random.below(end - start);
            let instructions = &menu[start as usize..(start + count) as usize];
            let mut memory = Vec::new();
            for owner in 0..count as u8 {
                for _ in 0..random.below(3) {
                    let address = 0x10_0000 + random.below(1 << 16);
                    let access = if random.below(3) == 0 { write(address, 8) } else { read(address, 8) };
                    memory.push(MemoryAccess { owner, ..access });
                }
            }
            let taken = random.below(2) == 0;
            let branch = Branch { kind: BranchKind::Conditional, taken, target: CODE + random.below(64) };
            let ids = [&mut at_once, &mut one_by_one].map(|model| model.define(instructions));
            assert_eq!(ids[0], ids[1]);
            let block = Block {
                user: random.below(9) > 0,
                memory: &memory,
                branch: (random.below(4) > 0).then_some(branch),
                ..block(ids[0], instructions)
            };
            // Not remembered: that would book cycles earlier.
            at_once.retire(&Block { whole: false, ..block });
            for first in 0..block.count {
                let memory: Vec<_> = memory.iter().filter(|access| access.owner == first).copied().collect();
                let branch = block.branch.filter(|_| first + 1 == block.count);
                one_by_one.retire(&Block { first, count: 1, whole: false, memory: &memory, branch, ..block });
            }
            [&mut at_once, &mut one_by_one].into_iter().for_each(|model| model.release(ids[0]));
            for user in [false, true] {
                let (at_once, one_by_one) = (at_once.totals(user), one_by_one.totals(user));
                assert_eq!(at_once, one_by_one, "{}", core.name);
            }
        }
        assert_eq!(at_once.cycles(), one_by_one.cycles());
    }
}

#[test]
fn the_same_stream_gives_the_same_totals() {
    let totals = |_| {
        let mut run = run(&GOLDEN_COVE, 77, 20_000);
        (*run.model.totals(false), *run.model.totals(true))
    };
    assert_eq!(totals(1), totals(2));
}

#[test]
fn totals_never_decrease() {
    let mut run = Run::new(&SUNNY_COVE);
    let menu = run.define(&menu());
    let mut random = Random(3);
    let mut before = (0, 0, 0, 0);
    for _ in 0..5000 {
        let one = &menu[random.below(8) as usize];
        run.step(one, &[read(random.below(1 << 24), 8)], None);
        let totals = *run.model.totals(true);
        let now = (
            run.model.cycles(),
            totals.slots.total(),
            totals.uops_retired.total,
            totals.uops_executed.fewer_than(1),
        );
        assert!(now.0 >= before.0 && now.1 >= before.1 && now.2 >= before.2 && now.3 >= before.3);
        before = now;
    }
}

#[test]
fn an_interrupt_costs_its_flow() {
    let mut run = Run::new(&SUNNY_COVE);
    run.model.event(CoreEvent::Interrupt { user: false });
    run.user = false;
    let menu = run.define(&menu());
    run.step(&menu[0], &[], None);
    assert!(run.model.cycles() >= u64::from(SUNNY_COVE.flows.interrupt_cycles));
    assert_eq!(run.totals().interrupts, 1);
}

/// An assist is microcode at the privilege level of its instruction; a page fault costs what its delivery does.
#[test]
fn an_assist_costs_its_flow() {
    let mut run = Run::new(&SUNNY_COVE);
    let menu = run.define(&menu());
    run.step(&menu[0], &[], None);
    let before = run.totals();
    for kind in [Assist::FloatingPoint, Assist::PageTable, Assist::PageFault] {
        run.model.event(CoreEvent::Assist { kind, user: true });
    }
    let after = run.totals();
    let flows = &SUNNY_COVE.flows;
    let cycles = after.cycles - before.cycles;
    assert!((0..60).contains(&(cycles as i64 - 2 * i64::from(flows.assist_cycles))), "{cycles} cycles");
    assert_eq!((after.fp_assists, after.page_assists, after.page_faults), (1, 1, 1));
    let uops = u64::from(flows.fp_assist_uops + flows.page_assist_uops);
    assert_eq!(after.slots.heavy_operations - before.slots.heavy_operations, uops);
    assert_eq!(after.slots.light_operations, before.slots.light_operations);
}

/// Every instruction is in the cycle in which it retires, and no more of them than the core can retire.
#[test]
fn instructions_are_counted_by_cycle_if_wanted() {
    for core in cores(Isa::X86) {
        let mut run = Run::new(core);
        let code = run.define(&assemble(|a| {
            for _ in 0..7 {
                a.inc(eax).unwrap();
                a.nop().unwrap();
            }
            a.jmp(CODE).unwrap();
        }));
        run.step(&code[0], &[], None);
        run.totals();
        assert_eq!(run.totals().instructions_by_cycle, PerCycle::default(), "not wanted");
        run.model.count_instructions_by_cycle();
        for n in 0..30_000 {
            let one = &code[n % code.len()];
            run.step(one, &[], (n % code.len() == 14).then_some((true, CODE)));
        }
        let totals = run.totals();
        let by_cycle = totals.instructions_by_cycle;
        check_per_cycle(&by_cycle);
        let width = core.retire_width as usize;
        assert!(by_cycle.total.abs_diff(30_000) <= 2 * u64::from(core.retire_width), "{}", core.name);
        assert!(by_cycle.at_least(2) > 10_000 / u64::from(core.dispatch_width), "{}", core.name);
        assert_eq!(by_cycle.at_least(2 * width + 1), 0, "{}", core.name);
    }
}

/// Multiplications that were begun some cycles ago decide on Zen whether others go ahead of a rotation.
#[test]
fn multiplications_of_some_cycles_ago_are_remembered() {
    let (mut remembering, mut forgetful) = (new(&ZEN4), new(&ZEN4));
    let code = |body: fn(&mut CodeAssembler)| describe(&assemble(body));
    let multiplications = code(|a| (0..5).for_each(|_| a.imul_3(r9, rbx, 3).unwrap()));
    let additions = code(|a| (0..20).for_each(|_| a.lea(r9, ptr(rbx + 1)).unwrap()));
    let both = code(|a| {
        (0..2).for_each(|_| a.imul_3(r9, rbx, 3).unwrap());
        (0..2).for_each(|_| a.rorx(r10, rbx, 8).unwrap());
        (0..3).for_each(|_| a.imul_3(r9, rbx, 3).unwrap());
        (0..40).for_each(|_| a.lea(r9, ptr(rbx + 1)).unwrap());
    });
    let blocks = [multiplications, additions, both].map(|code| {
        let ids = [&mut remembering, &mut forgetful].map(|model| model.define(&code));
        (ids[0], code)
    });
    let mut random = Random(3);
    for n in 0..3000 {
        let (id, code) = &blocks[if n % 2 == 0 { random.below(2) as usize } else { 2 }];
        let block = block(*id, code);
        remembering.retire(&block);
        forgetful.retire(&Block { whole: false, ..block });
        assert_eq!(remembering.cycles(), forgetful.cycles(), "{n}");
    }
}

/// Remembering what a block did gives what doing it again gives.
#[test]
fn nothing_changes_by_remembering() {
    for core in core_model::pipelines(Isa::X86) {
        let (mut remembering, mut forgetful) = (new(core), new(core));
        let menu = describe(&menu());
        let mut random = Random(5);
        let blocks: Vec<_> = (0..12)
            .map(|_| {
                let (first, end) = [(0, 11), (18, 24), (27, 34), (34, 40)][random.below(4) as usize];
                let start = (first + random.below(end - first)) as usize;
                let instructions = &menu[start..start + 1 + random.below(end - start as u64) as usize];
                let spread = [0, 64, 1 << 14, 1 << 22][random.below(4) as usize];
                let kind = BranchKind::ALL[random.below(6) as usize];
                let ids = [&mut remembering, &mut forgetful].map(|model| model.define(instructions));
                assert_eq!(ids[0], ids[1]);
                (instructions, ids[0], kind, spread)
            })
            .collect();
        let loops: Vec<Vec<usize>> =
            (0..6).map(|_| (0..1 + random.below(5)).map(|_| random.below(12) as usize).collect()).collect();
        let mut number = 0_u64;
        for round in 0..60 {
            let run = &loops[random.below(6) as usize];
            let user = random.below(5) > 0;
            if round == 40 {
                remembering.count_instructions_by_cycle();
                forgetful.count_instructions_by_cycle();
            }
            for n in 0..400 {
                let (instructions, id, kind, spread) = &blocks[run[n % run.len()]];
                number += 1;
                let mut memory = Vec::new();
                for (owner, instruction) in (0..).zip(*instructions) {
                    let place = if random.below(20) == 0 { random.below(spread + 1) } else { 0 };
                    let address = 0x10_0000 + u64::from(instruction.length) * 4096 + place;
                    let [reads, writes] = [random.below(400) > 0, random.below(400) > 0].map(usize::from);
                    let accesses = [read(address, 8), write(address, 8)];
                    let accesses = accesses.map(|access| MemoryAccess { owner, ..access });
                    memory.extend_from_slice(&accesses[1 - reads..1 + writes]);
                }
                let taken = *kind != BranchKind::Conditional || !number.is_multiple_of(7);
                let target = CODE + if random.below(50) == 0 { 64 } else { 32 };
                let block = Block {
                    user,
                    memory: &memory,
                    branch: (n % 3 > 0).then_some(Branch { kind: *kind, taken, target }),
                    ..block(*id, instructions)
                };
                remembering.retire(&block);
                // Only whole blocks are remembered.
                forgetful.retire(&Block { whole: false, ..block });
                assert_eq!(remembering.cycles(), forgetful.cycles(), "{} {round} {n} {kind:?}", core.name);
            }
            let event = match random.below(6) {
                0 => CoreEvent::Interrupt { user: false },
                1 => CoreEvent::TlbFlush,
                2 => CoreEvent::CodeWritten(CODE),
                _ => CoreEvent::Serialise,
            };
            for model in [&mut remembering, &mut forgetful] {
                model.event(event);
                model.event(CoreEvent::Serialise);
            }
            for user in [false, true] {
                let (remembering, forgetful) = (remembering.totals(user), forgetful.totals(user));
                assert_eq!(remembering, forgetful, "{} {round}", core.name);
            }
        }
    }
}

/// Loops over a few blocks, of which one is retired in parts and another one is defined anew now and then, with single
/// instructions and reads of the totals in between.
#[test]
fn nothing_changes_by_a_thread() {
    for core in core_model::pipelines(Isa::X86) {
        let mut models = [new(core), new(core)];
        models[0].start_thread();
        let menu = describe(&menu());
        let mut define = |range: &std::ops::Range<usize>| {
            let [a, b] = models.each_mut().map(|model| model.define(&menu[range.clone()]));
            assert_eq!(a, b);
            a
        };
        let ranges = [0..3, 2..8, 4..11, 8..9, 18..21, 0..11];
        let mut ids = ranges.each_ref().map(&mut define);
        let copy = define(&(17..18));
        let mut random = Random(11);
        for round in 0..40 {
            models.iter_mut().for_each(|model| model.expect_quiet(1 << 24));
            let user = random.below(3) > 0;
            for _ in 0..random.below(120) {
                let memory: Vec<_> = (0..64)
                    .map(|_| {
                        let address = 0x10_0000 + random.below(1 << (6 + 2 * (round % 8)));
                        if random.below(3) == 0 { write(address, 8) } else { read(address, 8) }
                    })
                    .collect();
                let again = random.below(6) as usize;
                for n in 0..64 {
                    let which = random.below(1 + round % 6) as usize;
                    let taken = random.below(9) > 0;
                    let branch = Branch { kind: BranchKind::Conditional, taken, target: CODE };
                    let accesses = random.below(3) as usize;
                    let block = Block {
                        whole: which != 2,
                        user,
                        memory: &memory[n..][..accesses.min(64 - n)],
                        branch: (n % 5 > 0).then_some(branch),
                        ..block(ids[which], &menu[ranges[which].clone()])
                    };
                    models.iter_mut().for_each(|model| _ = model.retire(&block));
                    if n == 40 && again < 2 {
                        // Another block under the same index.
                        let [a, b] = models.each_mut().map(|model| {
                            model.release(ids[again]);
                            model.define(&menu[ranges[again].clone()])
                        });
                        assert!(a == b && a.index == ids[again].index && a != ids[again]);
                        ids[again] = a;
                    }
                }
                let alone = Block {
                    whole: false,
                    user,
                    memory: &memory,
                    repetitions: 512,
                    ..block(copy, &menu[17..18])
                };
                if random.below(4) == 0 {
                    models.iter_mut().for_each(|model| _ = model.retire(&alone));
                }
            }
            let event = [CoreEvent::PredictorBarrier, CoreEvent::Serialise, CoreEvent::TlbFlush]
                .get(random.below(5) as usize)
                .copied();
            let [threaded, here] = &mut models;
            for model in [&mut *threaded, &mut *here] {
                event.iter().for_each(|&event| model.event(event));
            }
            assert_eq!(threaded.cycles(), here.cycles(), "{} {round}", core.name);
            for user in [false, true] {
                assert_eq!(threaded.totals(user), here.totals(user), "{} {round}", core.name);
            }
        }
    }
}

/// A dividend in two registers of 64 bits takes Skylake longer, which retires such a division by itself; it was
/// measured (docs/silicon.md). Sunny Cove does not care.
#[test]
fn long_dividends() {
    let cycles = |core, repetitions| {
        let mut model = new(core);
        let code = describe(&assemble(|a| a.div(rcx).unwrap()));
        let id = model.define(&code);
        for _ in 0..1000 {
            _ = model.retire(&Block { whole: false, repetitions, ..block(id, &code) });
        }
        model.event(CoreEvent::Serialise);
        (model.cycles() as f64 / 1000.0).round()
    };
    assert_eq!(cycles(&SKYLAKE_SP, 2) - cycles(&SKYLAKE_SP, 1), 52.0);
    assert_eq!(cycles(&SUNNY_COVE, 2), cycles(&SUNNY_COVE, 1));
}
