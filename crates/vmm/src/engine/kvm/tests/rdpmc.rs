//! RDPMC in 64-bit guests.

use super::long_mode::*;
use super::*;

/// `mov ecx, 0x4C1 (IA32_A_PMC0); mov eax, low; mov edx, high; wrmsr`.
const WRITE_PMC0: [u8; 17] = [
    0xB9, 0xC1, 0x04, 0x00, 0x00, //
    0xB8, 0x89, 0x67, 0x45, 0x83, //
    0xBA, 0x12, 0x00, 0x00, 0x00, //
    0x0F, 0x30,
];
/// What [`WRITE_PMC0`] writes.
const PMC0: u64 = 0x12_8345_6789;

/// `mov ecx, index`, which follows [`WRITE_PMC0`], and where the instruction behind it lies.
fn select(index: u32) -> ([u8; 5], u64) {
    let [a, b, c, d] = index.to_le_bytes();
    ([0xB9, a, b, c, d], CODE + WRITE_PMC0.len() as u64 + 5)
}

/// Stores RAX, RDX, RSP and RFLAGS in the first slots; AL = 0.
fn store_state() -> Vec<u8> {
    let slot = |n: u64| (RESULTS + 8 * n).to_le_bytes();
    concat(&[
        &[0x48, 0xA3],
        &slot(0),            // mov [RESULTS], rax
        &[0x48, 0x89, 0xD0], // mov rax, rdx
        &[0x48, 0xA3],
        &slot(1),
        &[0x48, 0x89, 0xE0], // mov rax, rsp
        &[0x48, 0xA3],
        &slot(2),
        &[0x9C, 0x58], // pushfq; pop rax
        &[0x48, 0xA3],
        &slot(3),
        &[0xB0, 0x00], // mov al, 0
    ])
}

fn code(rdpmc: &[u8], index: u32) -> Vec<u8> {
    concat(&[&WRITE_PMC0, &select(index).0, rdpmc, &store_state(), &EXIT])
}

#[track_caller]
fn is_served(guest: &mut Guest, rsp: u64) {
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 0, "the guest's handler ran");
    assert_eq!((guest.result(0), guest.result(1)), (PMC0 & 0xFFFF_FFFF, PMC0 >> 32));
    assert_eq!(guest.result(2), rsp);
    assert_eq!(guest.result(3) & 0x302, 0x2, "IF and TF are off");
    assert_eq!(guest.exits("rdpmc"), 1);
}

#[test]
fn ring_0_reads_a_counter() {
    let Some(mut guest) = long_mode(&code(&[0x0F, 0x33], 0)) else { return };
    handler_skipping(&guest, 2);
    is_served(&mut guest, STACK);
}

#[test]
fn prefixes_are_skipped_with_the_instruction() {
    let Some(mut guest) = long_mode(&code(&[0x66, 0x48, 0x0F, 0x33], 0)) else { return };
    handler_skipping(&guest, 4);
    is_served(&mut guest, STACK);
}

#[test]
fn a_gate_with_its_own_stack_makes_no_difference() {
    let Some(mut guest) = long_mode(&code(&[0x0F, 0x33], 0)) else { return };
    handler_skipping(&guest, 2);
    set_gate(&guest, 13, HANDLER, 1);
    is_served(&mut guest, STACK);
}

#[test]
fn the_stack_need_not_be_aligned() {
    let Some(mut guest) = long_mode(&code(&[0x0F, 0x33], 0)) else { return };
    handler_skipping(&guest, 2);
    let mut regs = *guest.engine.vcpu.regs();
    regs.rsp = STACK - 5;
    guest.engine.vcpu.set_regs(&regs).unwrap();
    is_served(&mut guest, STACK - 5);
}

#[test]
fn an_index_that_does_not_exist_raises_gp_at_the_rdpmc() {
    for index in [8, 0x4000_0004, 0x8000_0000] {
        let Some(mut guest) = long_mode(&code(&[0x0F, 0x33], index)) else { return };
        handler_skipping(&guest, 2);
        guest.exits_with(0);
        assert_eq!((guest.result(GP_HITS), guest.result(GP_ERROR)), (1, 0), "{index:#x}");
        assert_eq!(guest.result(GP_RIP), select(index).1);
        assert_eq!(guest.result(0), PMC0 & 0xFFFF_FFFF, "RAX is as before");
        assert_eq!(guest.exits("rdpmc"), 0);
        assert_eq!(guest.machine.pmu.stats().faults, 1);
    }
}

#[test]
fn a_counter_is_read_after_a_fault_that_was_the_guests_own() {
    let (index, at) = select(0);
    let code = concat(&[
        &WRITE_PMC0,
        &[0xB9, 0x8F, 0x03, 0x00, 0x00], // mov ecx, 0x38F
        &[0xBA, 0xFF, 0xFF, 0x00, 0x00], // mov edx, 0xFFFF: reserved bits
        &[0x0F, 0x30],                   // wrmsr
        &index,
        &[0x0F, 0x33], // rdpmc
        &store_state(),
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!((guest.result(GP_HITS), guest.result(GP_RIP)), (1, at - 5 + 10));
    assert_eq!((guest.result(0), guest.result(1)), (PMC0 & 0xFFFF_FFFF, PMC0 >> 32));
}

/// The guest starts in ring 3, so ring 0 cannot write the counter first; PMC0 reads 0.
fn in_ring_3(pce: bool) -> Option<Guest> {
    let code = concat(&[
        &[0xE4, 0x80],                   // in al, 0x80: any exit, so that the handler is seen
        &[0xB9, 0x00, 0x00, 0x00, 0x00], // mov ecx, 0
        &[0xB8, 0x77, 0x00, 0x00, 0x00], // mov eax, 0x77
        &[0x89, 0xC2],                   // mov edx, eax
        &[0x0F, 0x33],                   // rdpmc
        &store_state(),
        &EXIT,
    ]);
    let mut guest = long_mode(&code)?;
    handler_skipping(&guest, 2);
    change(&mut guest, |sregs| sregs.cr4 |= u64::from(pce) << 8);
    start_in_ring_3(&mut guest, STACK);
    Some(guest)
}

#[test]
fn ring_3_reads_a_counter_when_cr4_allows_it_and_stays_in_ring_3() {
    let Some(mut guest) = in_ring_3(true) else { return };
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 0, "the guest's handler ran");
    assert_eq!((guest.result(0), guest.result(1), guest.result(2)), (0, 0, STACK));
    assert_eq!((guest.register("cpl"), guest.register("cs")), (3, u64::from(USER_CODE)));
    assert_eq!(guest.register("ss"), u64::from(USER_DATA));
}

#[test]
fn hosts_that_do_not_share_registers_serve_both_rings_too() {
    let Some(mut guest) = in_ring_3(true) else { return };
    guest.engine.vcpu.stop_syncing();
    guest.exits_with(0);
    assert_eq!((guest.result(GP_HITS), guest.exits("rdpmc")), (0, 1));
    assert_eq!((guest.register("cpl"), guest.register("rsp")), (3, STACK));

    let Some(mut guest) = long_mode(&code(&[0x0F, 0x33], 0)) else { return };
    handler_skipping(&guest, 2);
    guest.engine.vcpu.stop_syncing();
    is_served(&mut guest, STACK);
}

#[test]
fn ring_3_gets_gp_when_cr4_does_not_allow_it() {
    let Some(mut guest) = in_ring_3(false) else { return };
    guest.exits_with(0);
    assert_eq!((guest.result(GP_HITS), guest.result(GP_ERROR)), (1, 0));
    assert_eq!(guest.result(GP_RIP), CODE + 14);
    assert_eq!((guest.result(0), guest.result(1)), (0x77, 0x77));
    assert_eq!(guest.register("cpl"), 3);
}

#[test]
fn the_breakpoint_follows_the_gate() {
    let move_gate = HANDLER_2 as u16;
    let code = concat(&[
        &WRITE_PMC0,
        &[0x66, 0xC7, 0x04, 0x25], // mov word [IDT + 13 * 16], HANDLER_2
        &0x60D0_u32.to_le_bytes(),
        &move_gate.to_le_bytes(),
        &[0x0F, 0x32], // rdmsr: an exit
        &select(0).0,
        &[0x0F, 0x33], // rdpmc
        &store_state(),
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.machine.memory.write(HANDLER_2, &[0x0F, 0x0B]).unwrap(); // ud2
    is_served(&mut guest, STACK);
}

#[test]
fn many_reads_in_a_row_are_all_served() {
    let code = concat(&[
        &WRITE_PMC0,
        &[0xBB, 0xC8, 0x00, 0x00, 0x00], // mov ebx, 200
        &[0x31, 0xC9],                   // xor ecx, ecx
        &[0x0F, 0x33],                   // 1: rdpmc
        &[0xFF, 0xCB],                   // dec ebx
        &[0x75, 0xFA],                   // jnz 1b
        &store_state(),
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.exits("rdpmc")), (PMC0 & 0xFFFF_FFFF, 200));
}

/// A guest that single-steps itself: #DB counts in slot 20, notes where it came from in the slots behind
/// that, and stops the stepping after three.
#[test]
fn the_guests_own_single_steps_reach_it_and_go_over_an_rdpmc() {
    let counter = (RESULTS as u32 + 8 * 20).to_le_bytes();
    let places = RESULTS as u32 + 8 * 20;
    let before = concat(&[
        &WRITE_PMC0,
        &[0x31, 0xC9],                               // xor ecx, ecx
        &[0x9C],                                     // pushfq
        &[0x81, 0x0C, 0x24, 0x00, 0x01, 0x00, 0x00], // or dword [rsp], 0x100: TF
        &[0x9D],                                     // popfq
    ]);
    let code = concat(&[
        &before,
        &[0x90],       // nop
        &[0x0F, 0x33], // rdpmc
        &[0x90],       // nop
        &store_state(),
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    let debug = concat(&[
        &[0x50, 0x53],       // push rax; push rbx
        &[0xFF, 0x04, 0x25], // inc dword [counter]
        &counter,
        &[0x8B, 0x1C, 0x25], // mov ebx, [counter]
        &counter,
        &[0x48, 0x8B, 0x44, 0x24, 0x10], // mov rax, [rsp + 16]: RIP
        &[0x48, 0x89, 0x04, 0xDD],       // mov [places + 8 rbx], rax
        &places.to_le_bytes(),
        &[0x83, 0xFB, 0x03],                               // cmp ebx, 3
        &[0x75, 0x08],                                     // jne 1f
        &[0x81, 0x64, 0x24, 0x20, 0xFF, 0xFE, 0xFF, 0xFF], // and dword [rsp + 32], ~0x100
        &[0x5B, 0x58],                                     // 1: pop rbx; pop rax
        &[0x48, 0xCF],                                     // iretq
    ]);
    set_gate(&guest, 1, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &debug).unwrap();
    is_served(&mut guest, STACK);
    let nop = CODE + before.len() as u64;
    assert_eq!([21, 22, 23].map(|slot| guest.result(slot)), [nop + 1, nop + 3, nop + 4]);
    assert_eq!(guest.result(20), 3);
}
