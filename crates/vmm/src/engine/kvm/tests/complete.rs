//! Ring-0 instructions that KVM cannot emulate on hosts that interpret ring 0. On others the CPU
//! executes them, and the guests see the same.

use super::long_mode::{GP_HITS, GP_RIP, HANDLER_2, change, handler_skipping, long_mode, set_gate};
use super::*;

/// CR4.OSFXSR and OSXMMEXCPT.
const SSE: u64 = 0x600;
/// Where guests find their operands; 16-byte aligned.
const OPERANDS: u64 = RESULTS + 0x100;

/// In ring 0, with SSE switched on.
fn sse_guest(code: &[u8]) -> Option<Guest> {
    let mut guest = long_mode(code)?;
    change(&mut guest, |sregs| sregs.cr4 |= SSE);
    Some(guest)
}

/// Mnemonics with counts; empty where the CPU runs ring 0 itself.
fn completed(guest: &Guest) -> Vec<(String, u64)> {
    let list: Vec<_> = guest.engine.report().completed.into_iter().map(|i| (i.mnemonic, i.count)).collect();
    assert_eq!(guest.exits("emulation"), list.iter().map(|(_, count)| count).sum::<u64>());
    list
}

#[test]
fn sse_code_in_ring_0_gives_its_results() {
    let code = [
        0x66, 0x0F, 0x6F, 0x04, 0x25, 0x00, 0x01, 0x03, 0x00, // movdqa xmm0, [OPERANDS]
        0x66, 0x0F, 0xD4, 0xC0, // paddq xmm0, xmm0
        0x66, 0x0F, 0xD4, 0xC0, // paddq xmm0, xmm0
        0x66, 0x0F, 0xD4, 0x04, 0x25, 0x00, 0x01, 0x03, 0x00, // paddq xmm0, [OPERANDS]
        0x66, 0x0F, 0x7F, 0x04, 0x25, 0x00, 0x00, 0x03, 0x00, // movdqa [RESULTS], xmm0
        0xB0, 0x07, 0xE6, 0xF4, // mov al, 7; out 0xF4, al
    ];
    let Some(mut guest) = sse_guest(&code) else { return };
    guest.machine.memory.write(OPERANDS, &3_u64.to_le_bytes()).unwrap();
    guest.machine.memory.write(OPERANDS + 8, &0x1_0000_0000_u64.to_le_bytes()).unwrap();
    guest.exits_with(7);
    assert_eq!((guest.result(0), guest.result(1)), (15, 0x5_0000_0000));
    let completed = completed(&guest);
    assert!(completed.is_empty() || completed.contains(&("paddq".to_owned(), 3)), "{completed:?}");
}

#[test]
fn a_loop_of_them_ends_on_time() {
    let code = [
        0x66, 0x0F, 0xEF, 0xC0, // 1: pxor xmm0, xmm0
        0xEB, 0xFA, // jmp 1b
    ];
    let Some(mut guest) = sse_guest(&code) else { return };
    assert_eq!(guest.run_for(Duration::from_millis(50)), Outcome::TimedOut);
}

#[test]
fn a_fault_of_such_an_instruction_reaches_the_guests_handler() {
    let code = [
        0x66, 0x0F, 0x6F, 0x04, 0x25, 0x01, 0x01, 0x03,
        0x00, // movdqa xmm0, [OPERANDS + 1]: not aligned
        0x66, 0x0F, 0xD4, 0x04, 0x25, 0x01, 0x01, 0x03, 0x00, // paddq xmm0, [OPERANDS + 1]: the same
        0xB0, 0x00, 0xE6, 0xF4, // mov al, 0; out 0xF4, al
    ];
    let Some(mut guest) = sse_guest(&code) else { return };
    handler_skipping(&guest, 9);
    guest.machine.memory.write(RESULTS + 8 * GP_HITS, &[0; 8]).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.result(GP_HITS), guest.result(GP_RIP)), (2, CODE + 9));
}

#[test]
fn without_registers_in_the_shared_page_it_works_as_well() {
    let code = [
        0x66, 0x0F, 0x76, 0xC0, // pcmpeqd xmm0, xmm0
        0x66, 0x0F, 0xD7, 0xC0, // pmovmskb eax, xmm0
        0xE6, 0xF4, // out 0xF4, al
    ];
    let Some(mut guest) = sse_guest(&code) else { return };
    guest.engine.vcpu.stop_syncing();
    guest.exits_with(0xFF);
    assert_eq!(guest.register("rax"), 0xFFFF);
}

#[test]
fn what_the_interpreter_does_not_know_either_is_named() {
    let code = [
        0x66, 0x0F, 0x3A, 0x44, 0xC1, 0x00, // pclmulqdq xmm0, xmm1, 0
        0xB0, 0x00, 0xE6, 0xF4, // mov al, 0; out 0xF4, al
    ];
    let Some(mut guest) = sse_guest(&code) else { return };
    match guest.run() {
        // The CPU executes it, or raises #UD, for which there is no gate.
        Outcome::Exit { status: 1 } | Outcome::TripleFault => {}
        Outcome::CannotExecute { what } => {
            for part in ["Pclmulqdq", "RIP 0x10000", "CPL 0", "66 0f 3a 44", "ring 3"] {
                assert!(what.contains(part), "{part} is missing: {what}");
            }
        }
        other => panic!("{other:?}"),
    }
}

/// CPUID 8000_0008H:EBX[4] is 0 for every guest.
#[test]
fn what_the_guests_cpu_does_not_have_is_an_undefined_opcode() {
    const UD: u64 = 6;
    let code = [
        0x31, 0xC9, // xor ecx, ecx
        0x0F, 0x01, 0xFD, // rdpru
        0xB0, 0x00, 0xE6, 0xF4, // mov al, 0; out 0xF4, al
    ];
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, UD, HANDLER_2, 0);
    let handler = [
        0x48, 0x8B, 0x04, 0x24, // mov rax, [rsp]: RIP, there is no error code
        0xE6, 0xF4, // out 0xF4, al
    ];
    guest.machine.memory.write(HANDLER_2, &handler).unwrap();
    guest.exits_with((CODE + 2) as u8);
}
