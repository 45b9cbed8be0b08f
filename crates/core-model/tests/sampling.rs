//! What samples say of the whole.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Random, assemble, block, describe, new, read, write};
use core_model::{Core, CoreTotals, GOLDEN_COVE, Isa, Model, Sampling, ZEN4, ZEN5};
use iced_x86::code_asm::*;
use retire::{Block, Branch, BranchKind, CoreEvent, MemoryAccess, Observer};

/// Loops that are bound by different things, in turns, with a system call and an interrupt now and then. Hands the
/// model to `look` behind each block.
fn run(core: &'static Core, sampling: Option<Sampling>, mut look: impl FnMut(&mut Model, u64)) -> Model {
    let mut model = new(core);
    if let Some(sampling) = sampling {
        model.sample(sampling);
    }
    let code = [
        // A chain, independent additions, and loads and stores.
        describe(&assemble(|a| (0..6).for_each(|_| a.imul_2(rax, rcx).unwrap()))),
        describe(&assemble(|a| {
            a.add(rax, 1).unwrap();
            a.add(rbx, 1).unwrap();
            a.add(rcx, 1).unwrap();
            a.add(rdx, 1).unwrap();
            a.lea(rsi, qword_ptr(rdi + 8)).unwrap();
            a.xor(r8, r9).unwrap();
        })),
        describe(&assemble(|a| {
            a.mov(rax, qword_ptr(rsi)).unwrap();
            a.add(rbx, rax).unwrap();
            a.mov(qword_ptr(rdi), rbx).unwrap();
            a.add(rsi, 8).unwrap();
            a.cmp(rsi, rdx).unwrap();
            a.nop().unwrap();
        })),
    ];
    let blocks: Vec<_> = code.iter().map(|code| (model.define(code), code)).collect();
    let mut random = Random(11);
    let (mut next, mut place) = (0, 0);
    for number in 0..100_000_u64 {
        if number % 900 == 0 {
            next = random.below(3) as usize;
        }
        place = (place + 8) % (1 << 17);
        let (id, code) = &blocks[next];
        let memory: [MemoryAccess; 2] = [
            read(0x100_0000 + place, 8),
            MemoryAccess { owner: 2, ..write(0x900_0000 + random.below(1 << 14) * 8, 8) },
        ];
        // One in eight iterations goes another way, at random.
        let taken = random.below(8) > 0;
        let at = next as u64 * 64;
        model.retire(&Block {
            // Some of the time the kernel runs.
            user: number % 40_000 > 4_000,
            rip: CODE + at,
            fetch_pa: CODE + at,
            memory: if next == 2 { &memory } else { &[] },
            branch: Some(Branch { kind: BranchKind::Conditional, taken, target: CODE + at }),
            ..block(*id, code)
        });
        match number % 5_000 {
            0 => model.event(CoreEvent::Interrupt { user: false }),
            2_500 => model.event(CoreEvent::TlbFlush),
            _ => {}
        }
        look(&mut model, number);
    }
    model
}

fn totals(mut model: Model) -> [CoreTotals; 2] {
    [false, true].map(|user| *model.totals(user))
}

#[test]
fn samples_say_what_the_whole_does() {
    for core in core_model::pipelines(Isa::X86) {
        let whole = totals(run(core, None, |_, _| {}));
        let mut model = run(core, Some(Sampling::every(7_000)), |_, _| {});
        let report = model.sampling().unwrap();
        let error = report.error.unwrap();
        assert!((80..100).contains(&report.units), "{} of {}", report.units, core.name);
        assert!(error > 0.0 && error < 0.5, "{}: {error}", core.name);
        let sampled = totals(model);
        let (mut cycles, mut all) = (0.0, 0.0);
        for (whole, sampled) in whole.iter().zip(&sampled) {
            // These are counted, not estimated.
            assert_eq!(
                (whole.instructions, whole.branches),
                (sampled.instructions, sampled.branches),
                "{}",
                core.name
            );
            cycles += sampled.cycles as f64;
            all += whole.cycles as f64;
            let slots = sampled.cycles * u64::from(core.dispatch_width);
            // Each estimate is rounded down.
            let off = slots.abs_diff(sampled.slots.total());
            assert!(off < 200 * u64::from(core.dispatch_width), "{}: {off} of {slots} slots", core.name);
        }
        let off = (cycles / all - 1.0).abs();
        assert!(off < error * 1.5 + 0.01, "{}: {cycles} for {all}, {off} but {error}", core.name);
    }
}

/// Blocks of so many moves of three bytes each, at these offsets and with jumps where the next one does not follow,
/// take about as many cycles on Zen 5 in samples as in whole.
fn samples_are_as_the_whole(moves: usize, count: u64, offset: impl Fn(u64) -> u64) {
    let cycles = |sampling: Option<Sampling>| {
        let mut model = new(&ZEN5);
        if let Some(sampling) = sampling {
            model.sample(sampling);
        }
        let code = describe(&assemble(|a| (0..moves).for_each(|_| a.mov(rax, rcx).unwrap())));
        let id = model.define(&code);
        for number in 0..100_000_u64 {
            let at = CODE + offset(number % count);
            let target = CODE + offset((number + 1) % count);
            let jumps = target != at + 3 * moves as u64;
            let branch = jumps.then_some(Branch { kind: BranchKind::DirectJump, taken: true, target });
            model.retire(&Block { rip: at, fetch_pa: at, branch, ..block(id, &code) });
        }
        totals(model).iter().map(|totals| totals.cycles).sum::<u64>() as f64
    };
    let (whole, sampled) = (cycles(None), cycles(Some(Sampling::every(9_000))));
    assert!((sampled / whole - 1.0).abs() < 0.02, "{sampled} for {whole}");
}

/// 400 lines of code that are entered behind their beginning: Zen 5's uop cache keeps them by where fetch came to them.
#[test]
fn lines_of_code_are_warm_where_they_are_entered() {
    samples_are_as_the_whole(11, 400, |number| number * 64 + 20);
}

/// Straight code across ends of pages: an entry of that cache goes on in the next line, but not in the next page.
#[test]
fn pages_of_code_are_warm_where_entries_begin() {
    samples_are_as_the_whole(16, 16, |number| number / 4 * 0x2000 + 4000 + number % 4 * 48);
}

#[test]
fn to_look_at_estimates_changes_none_of_them() {
    for core in [&GOLDEN_COVE, &ZEN4] {
        let sampling = Some(Sampling::every(9_000));
        let unseen = totals(run(core, sampling, |_, _| {}));
        let (mut cycles, mut instructions) = (0, [0; 2]);
        let seen = run(core, sampling, |model, number| {
            let now = model.cycles();
            assert!(now >= cycles, "time goes back at {number}: {cycles} to {now}");
            cycles = now;
            if number % 7 == 0 {
                let user = number % 2 == 0;
                let totals = model.totals(user);
                assert!(totals.instructions >= instructions[usize::from(user)]);
                instructions[usize::from(user)] = totals.instructions;
            }
        });
        assert_eq!(unseen, totals(seen), "{}", core.name);
    }
}

#[test]
fn a_thread_of_its_own_gives_the_same_estimates() {
    let here = totals(run(&GOLDEN_COVE, Some(Sampling::every(8_000)), |_, _| {}));
    let mut started = false;
    let there = run(&GOLDEN_COVE, Some(Sampling::every(8_000)), |model, _| {
        if !std::mem::replace(&mut started, true) {
            model.start_thread();
        }
        model.expect_quiet(u64::MAX);
    });
    assert_eq!(here, totals(there));
}
