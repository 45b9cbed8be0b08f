//! Interrupts and NMIs from the local APIC.

use super::long_mode::*;
use super::*;

/// 64-bit code: `mov dword [0xFEE00000 + register], value`, through EAX.
fn apic_write(register: u64, value: u32) -> Vec<u8> {
    concat(&[&[0xB8], &value.to_le_bytes(), &[0xA3], &(0xFEE0_0000 + register).to_le_bytes()])
}

const SVR: u64 = 0xF0;
const LVT_TIMER: u64 = 0x320;
const LVT_PMI: u64 = 0x340;
const INITIAL_COUNT: u64 = 0x380;
const EOI: u64 = 0xB0;
/// Result slot that interrupt handlers count in.
const HITS: u64 = 20;

/// A handler that counts and, unless it is for an NMI, ends the interrupt.
fn counting_handler(eoi: bool) -> Vec<u8> {
    let eoi = if eoi { apic_write(EOI, 0) } else { Vec::new() };
    concat(&[
        &[0x50],                   // push rax
        &[0x48, 0xFF, 0x04, 0x25], // inc qword [HITS]
        &(RESULTS as u32 + 8 * HITS as u32).to_le_bytes(),
        &eoi,
        &[0x58],       // pop rax
        &[0x48, 0xCF], // iretq
    ])
}

#[test]
fn the_apic_timer_wakes_a_halted_cpu() {
    let code = concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(LVT_TIMER, 0x40),
        &apic_write(INITIAL_COUNT, 25_000), // 2 ms at 25 MHz / 2
        &[0xFB],                            // sti
        &[0xF4],                            // hlt
        &[0xB0, 0x00],                      // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 0x40, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(true)).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.result(HITS), guest.exits("hlt")), (1, 1));
    assert!(guest.machine.now().0 >= 2_000_000, "{:?}", guest.machine.now());
}

#[test]
fn the_apic_timer_does_not_wake_a_cpu_with_interrupts_off() {
    let code = concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(LVT_TIMER, 0x2_0040), // periodic
        &apic_write(INITIAL_COUNT, 25_000),
        &[0xF4], // hlt
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    assert_eq!(guest.run(), Outcome::Halted);
}

#[test]
fn the_apic_timer_interrupts_a_busy_cpu() {
    let code = concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(LVT_TIMER, 0x2_0040), // periodic
        &apic_write(INITIAL_COUNT, 12_500),
        &[0xFB],                   // sti
        &[0x48, 0x83, 0x3C, 0x25], // 1: cmp qword [HITS], 3
        &(RESULTS as u32 + 8 * HITS as u32).to_le_bytes(),
        &[0x03],
        &[0x72, 0xF5], // jb 1b
        &[0xFA],       // cli
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 0x40, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(true)).unwrap();
    guest.exits_with(0);
    assert_eq!(guest.result(HITS), 3);
    assert!(guest.exits("kick") >= 3);
}

#[test]
fn an_interrupt_waits_until_the_guest_turns_interrupts_on() {
    let code = concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(0x300, 0x4_0041), // ICR: vector 0x41 to ourselves
        &[0x48, 0x8B, 0x04, 0x25],    // mov rax, [HITS]
        &(RESULTS as u32 + 8 * HITS as u32).to_le_bytes(),
        &[0x48, 0xA3], // mov [RESULTS], rax
        &RESULTS.to_le_bytes(),
        &[0xFB], // sti
        &until_hit(),
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 0x41, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(true)).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.result(HITS)), (0, 1));
    assert!(guest.exits("irq-window") >= 1);
}

#[test]
fn two_vectors_arrive_in_the_order_of_their_priority() {
    let code = concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(0x300, 0x4_0041), // ICR: vector 0x41 to ourselves
        &apic_write(0x300, 0x4_0082),
        &[0xFB], // sti
        &until_hit(),
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 0x41, HANDLER_2, 0);
    set_gate(&guest, 0x82, HANDLER_2 + 0x80, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(true)).unwrap();
    // The higher one finds that the lower has not run: HITS (0) to slot 0.
    let high = concat(&[
        &[0x48, 0x8B, 0x04, 0x25], // mov rax, [HITS]
        &(RESULTS as u32 + 8 * HITS as u32).to_le_bytes(),
        &[0x48, 0xFF, 0xC0], // inc rax
        &[0x48, 0xA3],       // mov [RESULTS], rax
        &RESULTS.to_le_bytes(),
        &apic_write(EOI, 0),
        &[0x48, 0xCF], // iretq
    ]);
    guest.machine.memory.write(HANDLER_2 + 0x80, &high).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.result(HITS)), (1, 1));
}

/// `mov ecx, index; mov eax, low; mov edx, high; wrmsr`.
fn wrmsr(index: u32, value: u64) -> Vec<u8> {
    concat(&[
        &[0xB9],
        &index.to_le_bytes(),
        &[0xB8],
        &(value as u32).to_le_bytes(),
        &[0xBA],
        &((value >> 32) as u32).to_le_bytes(),
        &[0x0F, 0x30],
    ])
}

/// Counter 0 of the fixed ones overflows after `ns` nanoseconds and requests a PMI.
fn sampling(ns: u64, lvtpc: u32) -> Vec<u8> {
    concat(&[
        &apic_write(SVR, 0x1FF),
        &apic_write(LVT_PMI, lvtpc),
        &wrmsr(0x309, (1 << 48) - ns),
        &wrmsr(0x38D, 0xB), // os, usr, PMI
        &wrmsr(0x38F, 1 << 32),
    ])
}

/// Spins until the handler has run, disables the counter, exits with 0.
fn until_hit() -> Vec<u8> {
    concat(&[
        &[0x48, 0x83, 0x3C, 0x25], // 1: cmp qword [HITS], 0
        &(RESULTS as u32 + 8 * HITS as u32).to_le_bytes(),
        &[0x00],
        &[0x74, 0xF5], // jz 1b
        &wrmsr(0x38F, 0),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ])
}

#[test]
fn a_counter_overflow_arrives_as_an_nmi_with_interrupts_off() {
    let code = concat(&[&sampling(300_000, 0x400), &until_hit()]);
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 2, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(false)).unwrap();
    guest.exits_with(0);
    assert_eq!(guest.result(HITS), 1);
    assert_eq!(guest.machine.pmu.stats().pmis, 1);
    assert!(guest.machine.board.apic.lvt(platform::x86::apic::spec::LvtKind::PerformanceCounter).masked());
}

#[test]
fn a_counter_overflow_arrives_as_a_vector() {
    let code = concat(&[&[0xFB], &sampling(300_000, 0x55), &until_hit()]); // sti first
    let Some(mut guest) = long_mode(&code) else { return };
    set_gate(&guest, 0x55, HANDLER_2, 0);
    guest.machine.memory.write(HANDLER_2, &counting_handler(true)).unwrap();
    guest.exits_with(0);
    assert_eq!(guest.result(HITS), 1);
}

/// The NMI handler reads a counter with RDPMC, as Linux does. Serving it must not unblock NMIs, and the
/// handler's IRETQ must.
#[test]
fn rdpmc_inside_an_nmi_handler() {
    let code = concat(&[&sampling(300_000, 0x400), &until_hit()]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    set_gate(&guest, 2, HANDLER_2, 0);
    let handler = concat(&[
        &[0x50, 0x51, 0x52],             // push rax; push rcx; push rdx
        &[0xB9, 0x00, 0x00, 0x00, 0x40], // mov ecx, 0x40000000
        &[0x0F, 0x33],                   // rdpmc
        &[0x5A, 0x59, 0x58],             // pop rdx; pop rcx; pop rax
        &counting_handler(false),
    ]);
    guest.machine.memory.write(HANDLER_2, &handler).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.result(HITS), guest.result(GP_HITS)), (1, 0));
    assert_eq!(guest.exits("rdpmc"), 1);
}

/// Every exit of this guest is a WRMSR that gets #GP, so the interrupt comes due while a #GP is on its
/// way. Both arrive, and the interrupt outside of the #GP handler, which runs with interrupts off.
#[test]
fn an_interrupt_waits_for_the_gp_that_answers_an_msr() {
    let hits = RESULTS as u32 + 8 * HITS as u32;
    let code = concat(&[
        &[0xFB], // sti
        &sampling(2_000_000, 0x55),
        &[0xB9, 0x8F, 0x03, 0x00, 0x00], // mov ecx, 0x38F
        &[0xBA, 0xFF, 0xFF, 0x00, 0x00], // mov edx, 0xFFFF: reserved bits
        &[0x0F, 0x30],                   // 1: wrmsr
        &[0xFF, 0xC3],                   // inc ebx
        &[0x48, 0x83, 0x3C, 0x25],       // cmp qword [HITS], 0
        &hits.to_le_bytes(),
        &[0x00],
        &[0x74, 0xF1], // jz 1b
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    set_gate(&guest, 0x55, HANDLER_2, 0);
    let handler = concat(&[
        &[0x48, 0x8B, 0x44, 0x24, 0x10], // mov rax, [rsp + 16]: RFLAGS
        &[0x48, 0xA3],                   // mov [RESULTS], rax
        &RESULTS.to_le_bytes(),
        &counting_handler(true),
    ]);
    guest.machine.memory.write(HANDLER_2, &handler).unwrap();
    guest.exits_with(0);
    assert_ne!(guest.result(0) & 0x200, 0, "IF of the interrupted code");
    assert_eq!(guest.result(GP_HITS), u64::from(guest.register("rbx") as u32 - 0x9ABC_DEF0));
}
