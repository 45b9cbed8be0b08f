//! What an observer gets to know of the instructions that retire.

use crate::common::{ObservedBus, Recorded, Recorder};
use retire::{Assist, Branch, BranchKind, CoreEvent, MemoryAccess};
use soft_cpu::{Budget, Cpu, DescriptorTable, Exit, Segment, State};

/// 64-bit mode at CPL 0 with pages that are accessed and dirty; the first 2 MiB map to themselves in one page, the
/// 4 KiB pages from 2 MiB on to 0x18_0000.
fn machine(code: &[u8]) -> (ObservedBus, Cpu<ObservedBus>) {
    let mut bus = ObservedBus::new(2 << 20);
    bus.recorder = Some(Recorder::default());
    bus.write_u64(0x1000, 0x2027);
    bus.write_u64(0x2000, 0x3027);
    bus.write_u64(0x3000, 0xE7);
    bus.write_u64(0x3008, 0x4027);
    for page in 0..4 {
        bus.write_u64(0x4000 + page * 8, 0x18_0067 + page * 0x1000);
    }
    // #UD, #GP and #PF lead to HLT at 0x8000.
    for vector in [6, 13, 14] {
        bus.write_u64(0x6000 + vector * 16, 0x0000_8E00_0008_8000);
    }
    bus.write_u64(0x5008, 0x00AF_9B00_0000_FFFF);
    bus.write(0x8000, &[0xF4]);
    bus.write(0x1_0000, code);
    let mut state =
        State { rip: 0x1_0000, cr0: 0x8001_0033, cr3: 0x1000, cr4: 0x620, efer: 0xD01, ..State::default() };
    state.segments[1] = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xA09B };
    state.gdtr = DescriptorTable { base: 0x5000, limit: 0xFFF };
    state.idtr = DescriptorTable { base: 0x6000, limit: 0xFFF };
    state.gpr[4] = 0x7_0000;
    state.gpr[6] = 0x9_0000;
    state.gpr[7] = 0x20_0000;
    let cpu = Cpu::new(&state);
    (bus, cpu)
}

/// Runs up to HLT.
fn run(code: &[u8], prepare: impl FnOnce(&mut State)) -> Recorder {
    let (mut bus, mut cpu) = machine(&[code, &[0xF4]].concat());
    let mut state = cpu.state();
    prepare(&mut state);
    cpu.set_state(&state);
    let mut go_on = || cpu.run(&mut bus, Budget { instructions: 10_000, interrupt_window: false });
    // The CPU comes back in the middle of a long string instruction.
    let exit = std::iter::repeat_with(&mut go_on).find(|exit| *exit != Exit::Yield);
    assert_eq!(exit, Some(Exit::Halted));
    let recorder = bus.recorder.unwrap();
    assert_eq!(recorder.steps.len() as u64, cpu.totals().instructions());
    recorder
}

fn read(linear: u64, size: u8) -> MemoryAccess {
    MemoryAccess { linear, physical: linear, size, page: 21, owner: 0, write: false, uncached: false }
}

fn write(linear: u64, size: u8) -> MemoryAccess {
    MemoryAccess { write: true, ..read(linear, size) }
}

#[test]
fn loads_stores_and_updates() {
    // mov rax, [rsi]; mov [rsi + 8], al; add [rsi], eax; push rax; xchg [rsi], rax; the same again from the TLB.
    let code = [0x48, 0x8B, 6, 0x88, 0x46, 8, 1, 6, 0x50, 0x48, 0x87, 6];
    let recorder = run(&code.repeat(2), |_| {});
    let once = |sp| {
        [
            vec![read(0x9_0000, 8)],
            vec![write(0x9_0008, 1)],
            vec![read(0x9_0000, 4), write(0x9_0000, 4)],
            vec![write(sp, 8)],
            vec![read(0x9_0000, 8), write(0x9_0000, 8)],
        ]
    };
    let memory: Vec<_> = recorder.steps.iter().map(|step| step.memory.clone()).collect();
    assert_eq!(memory[..5], once(0x6_FFF8));
    assert_eq!(memory[5..10], once(0x6_FFF0));
    assert_eq!(recorder.steps[1].fetch, (0x1_0003, 21));
    assert_eq!((recorder.steps[1].rip, recorder.steps[1].length), (0x1_0003, 3));
}

#[test]
fn small_pages_split_accesses_and_devices() {
    // mov rax, [rdi]; mov [rdi + 0xFFE], rax; mov rax, [rdi + rbx] beyond RAM.
    let code = [0x48, 0x8B, 7, 0x48, 0x89, 0x87, 0xFE, 0xF, 0, 0, 0x48, 0x8B, 4, 0x1F];
    let recorder = run(&code, |state| {
        state.gpr[3] = 0x2000;
    });
    let small =
        |access: MemoryAccess| MemoryAccess { physical: access.linear - 0x8_0000, page: 12, ..access };
    let steps = &recorder.steps;
    assert_eq!(steps[0].memory, [small(read(0x20_0000, 8))]);
    assert_eq!(steps[1].memory, [small(write(0x20_0FFE, 2)), small(write(0x20_1000, 6))]);

    let (mut bus, mut cpu) = machine(&[0x8B, 7, 0xF4]);
    bus.write_u64(0x4000, 0xFEE0_0007);
    cpu.run(&mut bus, Budget { instructions: 1, interrupt_window: false });
    let device = MemoryAccess { physical: 0xFEE0_0000, page: 12, uncached: true, ..read(0x20_0000, 4) };
    assert_eq!(bus.recorder.unwrap().steps[0].memory, [device]);
}

/// Code keeps the size of its page, whatever was translated since that page was.
#[test]
fn code_behind_a_load_from_a_small_page() {
    // mov rax, [rdi]; jmp to the next instruction, which begins a block; nop.
    let recorder = run(&[0x48, 0x8B, 7, 0xEB, 0, 0x90], |_| {});
    let fetches: Vec<_> = recorder.steps.iter().map(|step| step.fetch).collect();
    assert_eq!(fetches[..3], [(0x1_0000, 21), (0x1_0003, 21), (0x1_0005, 21)]);
}

#[test]
fn branches() {
    // xor eax, eax; jz +0; jnz +0; jmp +0; call +0; pop rbx; lea rbx, [rip + 3]; jmp rbx; nop (skipped); int 6.
    let code = [
        0x31, 0xC0, 0x74, 0, 0x75, 0, 0xEB, 0, 0xE8, 0, 0, 0, 0, 0x5B, 0x48, 0x8D, 0x1D, 3, 0, 0, 0, 0xFF,
        0xE3, 0x90, 0xCD, 6,
    ];
    let recorder = run(&code, |_| {});
    let branches: Vec<_> = recorder.steps.iter().filter_map(|step| step.branch).collect();
    let step = |kind, taken, target| Branch { kind, taken, target };
    assert_eq!(
        branches,
        [
            step(BranchKind::Conditional, true, 0x1_0004),
            step(BranchKind::Conditional, false, 0x1_0006),
            step(BranchKind::DirectJump, true, 0x1_0008),
            step(BranchKind::DirectCall, true, 0x1_000D),
            step(BranchKind::IndirectJump, true, 0x1_0018),
            step(BranchKind::Far, true, 0x8000),
        ]
    );
    assert_eq!(recorder.events, []);
}

/// A division whose dividend needs both registers is told apart, in the midst of its block.
#[test]
fn long_divisions() {
    // nop; div rbx; idiv rbx; nop.
    let code = [0x90, 0x48, 0xF7, 0xF3, 0x48, 0xF7, 0xFB, 0x90];
    let repetitions = |low, high| {
        let recorder = run(&code, |state| {
            (state.gpr[0], state.gpr[2], state.gpr[3]) = (low, high, 7);
        });
        recorder.steps[..4].iter().map(|step| step.repetitions).collect::<Vec<_>>()
    };
    // Without a remainder, which is the upper half of the next dividend.
    assert_eq!(repetitions(98, 0), [1; 4]);
    assert_eq!(repetitions(0, 1), [1, 2, 2, 1]);
}

/// REP works on lines; what it did before a page fault is not lost when it goes on.
#[test]
fn repeated_strings() {
    // rep stosq of 20 quadwords from 8 bytes before the end of a line.
    let stos = run(&[0xF3, 0x48, 0xAB], |state| {
        state.gpr[1] = 20;
        state.gpr[7] = 0x9_0038;
    });
    let step = &stos.steps[0];
    assert_eq!(step.repetitions, 20);
    // The first element fills the TLB.
    assert_eq!(
        step.memory,
        [write(0x9_0038, 8), write(0x9_0040, 64), write(0x9_0080, 64), write(0x9_00C0, 24)]
    );

    // repe cmpsb of equal strings: no more than a few accesses each line.
    let cmps = run(&[0xF3, 0xA6], |state| {
        state.gpr[1] = 1000;
        state.gpr[7] = 0x9_1000;
    });
    let step = &cmps.steps[0];
    assert_eq!(step.repetitions, 1000);
    assert_eq!(step.memory.iter().map(|access| u64::from(access.size)).sum::<u64>(), 2000);
    assert!(step.memory.len() < 16 + 2 * 17, "{}", step.memory.len());

    // nop; rep stosb, more than the CPU does at once: it goes on as the first instruction of another block.
    let long = run(&[0x90, 0xF3, 0xAA], |state| {
        state.gpr[1] = 70_000;
        state.gpr[7] = 0x9_0000;
    });
    let step = &long.steps[1];
    let bytes: u64 = step.memory.iter().map(|access| u64::from(access.size)).sum();
    assert_eq!((step.repetitions, bytes), (70_000, 70_000));

    // Into a page that is not there.
    let fault = run(&[0xF3, 0xAA], |state| {
        state.gpr[1] = 10;
        state.gpr[7] = 0x20_3FFC;
    });
    let fault_assist = CoreEvent::Assist { kind: Assist::PageFault, user: false };
    assert_eq!(fault.events[fault.events.len() - 2..], [fault_assist, CoreEvent::Interrupt { user: false }]);
    assert_eq!(fault.steps.len(), 1, "only the handler's HLT retires");
}

#[test]
fn prefetches_need_a_translation() {
    // prefetcht0 [rsi]; mov al, [rsi]; prefetcht0 [rsi + 64]
    let recorder = run(&[0x0F, 0x18, 0x0E, 0x8A, 6, 0x0F, 0x18, 0x4E, 64], |_| {});
    let memory: Vec<_> = recorder.steps.iter().map(|step| step.memory.clone()).collect();
    assert_eq!(memory[..3], [vec![], vec![read(0x9_0000, 1)], vec![read(0x9_0040, 1)]]);
}

#[test]
fn events() {
    // mov rax, cr3; mov cr3, rax; invlpg [rsi]; clflush [rsi]; wbinvd; ud2
    let code = [0x0F, 0x20, 0xD8, 0x0F, 0x22, 0xD8, 0x0F, 1, 0x3E, 0x0F, 0xAE, 0x3E, 0x0F, 9, 0x0F, 0x0B];
    let recorder = run(&code, |_| {});
    assert_eq!(
        recorder.events,
        [
            CoreEvent::TlbFlush,
            CoreEvent::InvalidatePage(0x9_0000),
            CoreEvent::LineFlushed(0x9_0000),
            CoreEvent::CachesFlushed,
            CoreEvent::Interrupt { user: false },
        ]
    );
    // mov byte [rip + 0], 0x90: the next instruction.
    let recorder = run(&[0xC6, 5, 0, 0, 0, 0, 0x90, 0xF8], |_| {});
    assert_eq!(recorder.events, [CoreEvent::CodeWritten(0x1_0007)]);
}

/// The assists that code needs, all in CPL 0.
fn assists(code: &[u8], prepare: impl FnOnce(&mut State)) -> Vec<Assist> {
    let of_event = |event| match event {
        CoreEvent::Assist { kind, user: false } => Some(kind),
        _ => None,
    };
    run(code, prepare).events.into_iter().filter_map(of_event).collect()
}

/// Agner Fog's rules for Intel's cores.
#[test]
fn subnormal_numbers_need_assists() {
    const MULSD: &[u8] = &[0xF2, 0x0F, 0x59, 0xC1];
    const ADDSD: &[u8] = &[0xF2, 0x0F, 0x58, 0xC1];
    const SUBSD: &[u8] = &[0xF2, 0x0F, 0x5C, 0xC1];
    const DIVSD: &[u8] = &[0xF2, 0x0F, 0x5E, 0xC1];
    const SQRTSD: &[u8] = &[0xF2, 0x0F, 0x51, 0xC1];
    const MULPS: &[u8] = &[0x0F, 0x59, 0xC1];
    const DEFAULT: u32 = 0x1F80;
    const FLUSHING: u32 = 0x9FC0;
    let least = f64::MIN_POSITIVE;
    let tiny = least / 8.0;
    let needed = |code: &[u8], mxcsr, a: u128, b: u128| {
        assists(code, |state| {
            state.mxcsr = mxcsr;
            state.xmm[0] = a;
            state.xmm[1] = b;
        })
    };
    let doubles = |code, mxcsr, a: f64, b: f64| needed(code, mxcsr, a.to_bits().into(), b.to_bits().into());
    let one = [Assist::FloatingPoint];
    for (code, a, b) in [
        (MULSD, least, 0.5),
        (MULSD, tiny, 1.5),
        (MULSD, 4.0, tiny),
        (DIVSD, least, 2.0),
        (DIVSD, 1.0, tiny),
        (SQRTSD, 1.0, tiny),
        // A normal sum's subnormal result.
        (SUBSD, least * 1.5, least),
    ] {
        assert_eq!(doubles(code, DEFAULT, a, b), one, "{code:?} {a:e} {b:e}");
        assert_eq!(doubles(code, FLUSHING, a, b), [], "{code:?} {a:e} {b:e} with FTZ and DAZ");
    }
    for (code, a, b) in [
        (MULSD, 1.5, 2.5),
        (MULSD, tiny, f64::NAN),
        // To zero.
        (MULSD, least, least),
        (ADDSD, tiny, 1.0),
        (ADDSD, tiny, tiny),
        (SUBSD, least, tiny),
    ] {
        assert_eq!(doubles(code, DEFAULT, a, b), [], "{code:?} {a:e} {b:e}");
    }
    // One instruction, one assist.
    let lanes = u128::from(1_u32) * ((1 << 96) + (1 << 64) + (1 << 32) + 1);
    let ones = u128::from(1_f32.to_bits()) * ((1 << 96) + (1 << 64) + (1 << 32) + 1);
    assert_eq!(needed(MULPS, DEFAULT, lanes, ones), one);
    // #XM instead: DE is not masked.
    let fault = run(&[MULSD, &[0xF4]].concat(), |state| {
        state.mxcsr = DEFAULT & !(1 << 8);
        state.xmm[0] = 1;
        state.xmm[1] = 1_f64.to_bits().into();
    });
    assert_eq!(fault.events, [CoreEvent::Interrupt { user: false }]);
    // fld qword [rsi]; fstp qword [rsi + 8]: of a denormal, and back.
    let x87 = assists(&[0xDD, 0x06, 0xDD, 0x5E, 8], |_| {});
    assert_eq!(x87, []);
    // mov byte [rsi], 1 before it.
    let x87 = assists(&[0xC6, 6, 1, 0xDB, 0xE3, 0xDD, 0x06, 0xDD, 0x5E, 8], |_| {});
    assert_eq!(x87, [Assist::FloatingPoint; 2]);
}

/// Each walk that finds accessed or dirty bits to set needs one; a page fault is one too.
#[test]
fn page_tables_need_assists() {
    // mov al, [rdi]; mov al, [rdi]; mov [rdi], al; mov [rdi], al; mov al, [rdi + 0x2000]
    let code = [0x8A, 7, 0x8A, 7, 0x88, 7, 0x88, 7, 0x8A, 0x87, 0, 0x20, 0, 0];
    let tables = |accessed: u64| {
        let (mut bus, mut cpu) = machine(&[&code[..], &[0xF4]].concat());
        for page in 0..4 {
            bus.write_u64(0x4000 + page * 8, 0x18_0003 + page * 0x1000 + accessed);
        }
        for (entry, value) in [(0x1000, 0x2023), (0x2000, 0x3023), (0x3000, 0xE3), (0x3008, 0x4023)] {
            bus.write_u64(entry, value);
        }
        assert_eq!(cpu.run(&mut bus, Budget { instructions: 10_000, interrupt_window: false }), Exit::Halted);
        bus.recorder.unwrap().events
    };
    let assist = CoreEvent::Assist { kind: Assist::PageTable, user: false };
    assert_eq!(tables(0), [assist; 3], "a read, a write, and another page");
    assert_eq!(tables(1 << 5), [assist; 1], "the write only");
    assert_eq!(tables(3 << 5), []);
}

/// The run ends after the very step for which the observer asks for it.
#[test]
fn an_observer_ends_the_run() {
    // inc eax; jmp -4
    let (mut bus, mut cpu) = machine(&[0xFF, 0xC0, 0xEB, 0xFC]);
    for stop_after in [1, 2, 5, 100] {
        bus.recorder.as_mut().unwrap().stop_after = stop_after;
        let exit = cpu.run(&mut bus, Budget { instructions: 10_000, interrupt_window: false });
        assert_eq!((exit, cpu.totals().instructions()), (Exit::Attention, stop_after as u64));
        let Recorded { rip, length, branch, .. } =
            bus.recorder.as_ref().unwrap().steps.last().unwrap().clone();
        let next = branch.map_or(rip + u64::from(length), |branch| branch.target);
        assert_eq!(cpu.state().rip, next);
    }
}

/// What a block does with a device, with code or with a page that is new or not there, is reported in its place.
#[test]
fn batches_report_what_single_instructions_do() {
    // mov ecx, 200; then 200 times push rax; pop rbx; dec ecx; jnz: more than a batch.
    let many = [0xB9, 200, 0, 0, 0, 0x50, 0x5B, 0xFF, 0xC9, 0x75, 0xFA];
    // jz +0; inc eax; mov [rsi], eax; inc ecx; then the instruction in question; inc edx; push rdx; jmp +0
    let before = [0x74, 0, 0xFF, 0xC0, 0x89, 6, 0xFF, 0xC1];
    let behind = [0xFF, 0xC2, 0x52, 0xEB, 0];
    let middles: [&[u8]; 6] = [
        &[0xFF, 0x36],                // push [rsi]: the stack's page has not been used before
        &[0x8B, 0x1F],                // mov ebx, [rdi]: a device
        &[0x89, 0x1F],                // mov [rdi], ebx
        &[0xC6, 5, 2, 0, 0, 0, 0x53], // mov byte [rip + 2], 0x53: makes the push one of RBX
        &[0x8B, 0x9E, 0, 0, 0x20, 0], // mov ebx, [rsi + 0x200000]: a page fault
        &[0x48, 0x87, 0x9F, 0xFC, 0xFF, 0xFF, 0xFF], // xchg [rdi - 4], rbx: from RAM into the device
    ];
    for middle in middles {
        let both = [false, true].map(|one_by_one| {
            let (mut bus, mut cpu) = machine(&[&many[..], &before, middle, &behind, &[0xF4]].concat());
            bus.recorder.as_mut().unwrap().one_by_one = one_by_one;
            bus.write_u64(0x4000, 0xFEE0_0007);
            assert_eq!(
                cpu.run(&mut bus, Budget { instructions: 10_000, interrupt_window: false }),
                Exit::Halted
            );
            let Recorder { steps, events, .. } = bus.recorder.take().unwrap();
            (steps, events, cpu.state(), *cpu.totals(), bus.mmio_log.clone())
        });
        assert_eq!(both[0], both[1], "{middle:x?}");
        assert!(both[0].0.len() >= 800, "{middle:x?}");
    }
}

/// An assist comes behind the blocks before the one that needs it, and before that one.
#[test]
fn assists_come_before_their_block() {
    // nop; jmp +0; twice mulsd xmm0, xmm1; jmp +0
    let code = [0x90, 0xEB, 0, 0xF2, 0x0F, 0x59, 0xC1, 0xEB, 0, 0xF2, 0x0F, 0x59, 0xC1, 0xEB, 0];
    let recorder = run(&code, |state| {
        state.xmm[0] = f64::MIN_POSITIVE.to_bits().into();
        state.xmm[1] = 0.5_f64.to_bits().into();
    });
    assert_eq!(recorder.events.len(), 2, "{:?}", recorder.events);
    assert_eq!(recorder.steps_before, [2, 4]);
}

#[test]
fn idioms_of_avx_are_renamed() {
    use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory};
    use retire::Renaming;
    let renaming = |bytes: &[u8]| {
        let instruction = Decoder::new(64, bytes, DecoderOptions::NONE).decode();
        soft_cpu::describe::instruction(&instruction, bytes, &mut InstructionInfoFactory::new()).renaming
    };
    // VPXOR xmm1, xmm2, xmm2 and with another register; VMOVAPS ymm1, ymm2 and to itself.
    assert_eq!(renaming(&[0xC5, 0xE9, 0xEF, 0xCA]), Renaming::Zero);
    assert_eq!(renaming(&[0xC5, 0xE9, 0xEF, 0xC8]), Renaming::None);
    assert_eq!(renaming(&[0xC5, 0xFC, 0x28, 0xCA]), Renaming::VectorMove);
    assert_eq!(renaming(&[0xC5, 0xFC, 0x28, 0xC9]), Renaming::None);
}
