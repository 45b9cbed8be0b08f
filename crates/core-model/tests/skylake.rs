//! How instructions come from the decoders of Skylake, and from its microcode.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test code")]

mod common;

use common::{CODE, Run, assemble, read};
use core_model::{Core, FrontEnd, SKYLAKE_SP};
use iced_x86::code_asm::*;
use iced_x86::{FlowControl, IcedError, Register};

/// Executions, of which the last one counts.
const EXECUTIONS: usize = 6;
/// Groups of sixteen instructions in a body.
const TIMES: u64 = 12;

/// Cycles of code behind a fence and a jump, once it is in all caches.
fn behind(
    core: &'static Core,
    fence: fn(&mut CodeAssembler) -> Result<(), IcedError>,
    body: impl Fn(&mut CodeAssembler) -> Result<(), IcedError>,
) -> u64 {
    let code = assemble(|a| {
        let mut target = a.create_label();
        fence(a).unwrap();
        a.lfence().unwrap();
        a.jmp(target).unwrap();
        // To the beginning of 16 bytes.
        a.nops_with_size(8).unwrap();
        a.set_label(&mut target).unwrap();
        body(a).unwrap();
    });
    let target = code.iter().find(|one| one.flow_control() == FlowControl::UnconditionalBranch).unwrap();
    let target = target.near_branch_target();
    assert_eq!(target % 16, 0);
    let mut run = Run::new(core);
    let defined = run.define(&code);
    let mut cycles = [0; EXECUTIONS];
    for cycles in &mut cycles {
        for one @ (_, instruction) in
            defined.iter().filter(|(_, one)| one.ip() < CODE + 8 || one.ip() >= target)
        {
            let loads = [read(0x10_0000, 8)];
            let memory = if instruction.memory_base() != Register::None { &loads[..] } else { &[] };
            let jumps = instruction.flow_control() == FlowControl::UnconditionalBranch;
            run.step(one, memory, jumps.then_some((true, target)));
        }
        *cycles = run.totals().cycles;
    }
    cycles[EXECUTIONS - 1] - cycles[EXECUTIONS - 2]
}

/// Three blocks of 16 bytes with sixteen comparisons: without a prefix, one goes on in the next block from each of the
/// first two, and its opcode is where five others are; a prefix leaves the opcode of the first to the next block.
#[test]
fn an_opcode_in_a_full_block_takes_a_cycle() {
    let short = |a: &mut CodeAssembler| (0..16 * TIMES).try_for_each(|_| a.cmp(esi, 1));
    let prefixed = |a: &mut CodeAssembler| (0..16 * TIMES).try_for_each(|_| a.cmp(rsi, rdi));
    let all = behind(&SKYLAKE_SP, CodeAssembler::mfence, short);
    let first = behind(&SKYLAKE_SP, CodeAssembler::mfence, prefixed);
    assert_eq!(all - first, TIMES, "{all} {first}");
}

/// Behind MFENCE the decoders go on, whatever is in the uop cache: 16 bytes a cycle in place of four instructions.
#[test]
fn decoders_go_on_behind_a_fence_of_memory() {
    let moves = |a: &mut CodeAssembler| (0..16 * TIMES).try_for_each(|_| a.mov(r9, 0x1234_u64));
    let few = |a: &mut CodeAssembler| (0..16).try_for_each(|_| a.mov(r9, 0x1234_u64));
    let of = |fence: fn(&mut CodeAssembler) -> Result<(), IcedError>| {
        behind(&SKYLAKE_SP, fence, moves) - behind(&SKYLAKE_SP, fence, few)
    };
    let (decoded, cached) = (of(CodeAssembler::mfence), of(CodeAssembler::lfence));
    // 176 instructions of ten bytes.
    assert_eq!((decoded, cached), (110, 44));
}

/// Behind LFENCE they go on as well. What they have made meanwhile hides that for a hundred instructions; then it does
/// not end where a window of 32 bytes takes two lines of the uop cache, and does where all take one.
#[test]
fn decoders_go_on_behind_a_fence_of_loads_while_windows_take_two_lines() {
    fn cycles(instruction: impl Fn(&mut CodeAssembler) -> Result<(), IcedError>) -> [u64; 2] {
        let behind = |times| {
            behind(&SKYLAKE_SP, CodeAssembler::lfence, |a| (0..times).try_for_each(|_| instruction(a)))
        };
        let [few, some, many] = [16, 64, 400].map(behind);
        [some - few, many - some]
    }
    // Of two bytes each decoders make four a cycle, too.
    assert_eq!(cycles(|a| a.cmp(esi, edi)), [12, 84]);
    let [some, many] = cycles(|a| a.cmp(esi, 1));
    assert!(some <= 14 && many > 84 + 16, "{some} {many}");
    // With them alone: 175 cycles for 400 instructions of seven bytes.
    let [some, many] = cycles(|a| a.cmp(rsi, 0x1234));
    assert!(some <= 14 && (84..=84 + 6).contains(&many), "{some} {many}");
}

/// A decoder that makes several uops leaves three others, but all make five together: moves fill the cycles of shifts
/// that are three.
#[test]
fn decoders_make_five_uops_if_the_first_one_makes_several() {
    let mut few = SKYLAKE_SP.front_end;
    few.decode_uops = 4;
    let few = Box::leak(Box::new(Core { front_end: few, ..SKYLAKE_SP }));
    let shifts = |a: &mut CodeAssembler| {
        (0..100).try_for_each(|_| {
            a.mov(eax, edx)?;
            a.shl(esi, cl)?;
            a.mov(ebx, edx)
        })
    };
    let cycles = [&SKYLAKE_SP, few].map(|core| behind(core, CodeAssembler::mfence, shifts));
    assert!(cycles[0] < cycles[1], "{cycles:?}");
}

/// Microcode is allocated while it is being sequenced, so a faster sequencer gains nothing.
#[test]
fn microcode_is_allocated_while_it_comes() {
    let faster =
        FrontEnd { microcode_width: 2 * SKYLAKE_SP.front_end.microcode_width, ..SKYLAKE_SP.front_end };
    let faster = Box::leak(Box::new(Core { front_end: faster, ..SKYLAKE_SP }));
    let restore = |a: &mut CodeAssembler| a.fxrstor(ptr(rsi));
    let cycles = [&SKYLAKE_SP, faster].map(|core| behind(core, CodeAssembler::mfence, restore));
    assert_eq!(cycles[0], cycles[1]);
}
