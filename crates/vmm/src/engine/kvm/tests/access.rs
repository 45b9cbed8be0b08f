//! MSRs, ports and MMIO through the machine.

use super::long_mode::{GP_HITS, GP_RIP, handler_skipping, long_mode};
use super::*;

/// `mov ecx, index`.
fn ecx(index: u32) -> Vec<u8> {
    concat(&[&[0xB9], &index.to_le_bytes()])
}

/// `mov eax, low; mov edx, high`.
fn edx_eax(value: u64) -> Vec<u8> {
    concat(&[&[0xB8], &(value as u32).to_le_bytes(), &[0xBA], &((value >> 32) as u32).to_le_bytes()])
}

/// 64-bit code: `mov [RESULTS + 8 n], rax`.
fn store_rax(n: u64) -> Vec<u8> {
    concat(&[&[0x48, 0xA3], &(RESULTS + 8 * n).to_le_bytes()])
}

#[test]
fn a_pmu_register_reads_back_what_was_written() {
    let code = concat(&[
        &ecx(0x4C1), // IA32_A_PMC0
        &edx_eax(0x1234_5678_9ABC),
        &[0x0F, 0x30],             // wrmsr
        &[0x31, 0xC0, 0x31, 0xD2], // xor eax, eax; xor edx, edx
        &ecx(0xC1),                // IA32_PMC0
        &[0x0F, 0x32],             // rdmsr
        &store_rax(0),
        &[0x48, 0x89, 0xD0], // mov rax, rdx
        &store_rax(1),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.result(1)), (0x5678_9ABC, 0x1234));
    assert_eq!((guest.exits("rdmsr"), guest.exits("wrmsr")), (1, 1));
    assert_eq!(guest.machine.pmu.stats().wrmsr, 1);
}

#[test]
fn reserved_bits_raise_gp_at_the_wrmsr() {
    let before = concat(&[&ecx(0x38F), &edx_eax(1 << 20)]);
    let code = concat(&[
        &before,
        &[0x0F, 0x30], // wrmsr
        &[0x0F, 0x32], // rdmsr
        &store_rax(0),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 1);
    assert_eq!(guest.result(GP_RIP), CODE + before.len() as u64);
    assert_eq!(guest.result(0), 0xFF, "GLOBAL_CTRL keeps its reset value");
}

#[test]
fn an_msr_that_nobody_knows_raises_gp_and_is_noted() {
    let code = concat(&[&ecx(0x1234_5678), &[0x0F, 0x32], &[0xB0, 0x00], &EXIT]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 1);
    let unknown = guest.machine.unknown_msrs();
    assert_eq!(unknown.seen.iter().map(|msr| (msr.index, msr.count)).collect::<Vec<_>>(), [(0x1234_5678, 1)]);
}

#[test]
fn string_output_arrives_byte_by_byte_and_string_input_fills_memory() {
    let text = b"hello";
    let code = concat(&[
        &[0xBE], // mov esi, text
        &(CODE as u32 + 0x100).to_le_bytes(),
        &[0xB9, 5, 0, 0, 0],       // mov ecx, 5
        &[0x66, 0xBA, 0xE9, 0x00], // mov dx, 0xE9
        &[0xF3, 0x6E],             // rep outsb
        &[0xBF],                   // mov edi, RESULTS
        &(RESULTS as u32).to_le_bytes(),
        &[0xB9, 6, 0, 0, 0],       // mov ecx, 6
        &[0x66, 0xBA, 0x34, 0x12], // mov dx, 0x1234: no device is there
        &[0xF3, 0x6C],             // rep insb
        &[0xB0, 0x00],             // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = Guest::protected(&code) else { return };
    guest.machine.memory.write(CODE + 0x100, text).unwrap();
    guest.exits_with(0);
    assert_eq!(guest.console.text(), "hello");
    assert_eq!(guest.result(0), 0x0000_FFFF_FFFF_FFFF);
}

#[test]
fn mmio_reaches_the_apic_pages_and_nothing_else() {
    let code = concat(&[
        &[0xA1, 0x30, 0x00, 0xE0, 0xFE], // mov eax, [0xFEE00030]: version
        &[0xA3],                         // mov [RESULTS], eax
        &(RESULTS as u32).to_le_bytes(),
        &[0xA1, 0x00, 0x00, 0xD0, 0xFE], // mov eax, [0xFED00000]: no HPET
        &[0xA3],                         // mov [RESULTS + 8], eax
        &(RESULTS as u32 + 8).to_le_bytes(),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = Guest::protected(&code) else { return };
    guest.exits_with(0);
    assert_eq!(guest.result(0) & 0xF0, 0x10, "an integrated APIC");
    assert_eq!(guest.result(1), 0xFFFF_FFFF);
}

#[test]
fn cr8_and_the_task_priority_register_are_one() {
    let code = concat(&[
        &[0xB8, 0x05, 0x00, 0x00, 0x00],             // mov eax, 5
        &[0x44, 0x0F, 0x22, 0xC0],                   // mov cr8, rax
        &[0xA1, 0x80, 0x00, 0xE0, 0xFE, 0, 0, 0, 0], // mov eax, [0xFEE00080]: TPR
        &store_rax(0),
        &[0xB8, 0x90, 0x00, 0x00, 0x00],             // mov eax, 0x90
        &[0xA3, 0x80, 0x00, 0xE0, 0xFE, 0, 0, 0, 0], // mov [0xFEE00080], eax
        &[0x44, 0x0F, 0x20, 0xC0],                   // mov rax, cr8
        &store_rax(1),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.result(1)), (0x50, 9));
}

/// `rdmsr 0x1B; or eax, set; and eax, !clear; wrmsr`.
fn change_apic_base(set: u32, clear: u32) -> Vec<u8> {
    concat(&[
        &ecx(0x1B),
        &[0x0F, 0x32], // rdmsr
        &[0x0D],       // or eax, set
        &set.to_le_bytes(),
        &[0x25], // and eax, !clear
        &(!clear).to_le_bytes(),
        &[0x0F, 0x30], // wrmsr
    ])
}

const EN: u32 = 1 << 11;
const EXTD: u32 = 1 << 10;

#[test]
fn x2apic_registers_are_ours() {
    let code = concat(&[
        &change_apic_base(EN | EXTD, 0),
        &ecx(0x834), // LVTPC
        &edx_eax(0x400),
        &[0x0F, 0x30], // wrmsr
        &[0x0F, 0x32], // rdmsr
        &store_rax(0),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 0);
    assert_eq!(guest.machine.board.apic.base() & 0xC00, 0xC00);
    // Masked: the APIC is still software-disabled.
    assert_eq!(guest.result(0), 0x1_0400);
}

#[test]
fn every_step_of_the_apic_mode_counts() {
    let code = concat(&[
        &change_apic_base(EN | EXTD, 0),
        &change_apic_base(0, EN | EXTD),
        &[0xB8, 0x01, 0x00, 0x00, 0x00, 0x0F, 0xA2], // mov eax, 1; cpuid
        &[0x48, 0x89, 0xD0],                         // mov rax, rdx
        &store_rax(0),
        &change_apic_base(EN | EXTD, 0), // #GP: disabled to x2APIC
        &change_apic_base(EN, 0),
        &[0xA1, 0x30, 0x00, 0xE0, 0xFE, 0, 0, 0, 0], // mov eax, [0xFEE00030]: version
        &store_rax(1),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = long_mode(&code) else { return };
    handler_skipping(&guest, 2);
    guest.exits_with(0);
    assert_eq!(guest.result(GP_HITS), 1);
    assert_eq!(guest.result(0) & 1 << 9, 0, "CPUID shows no APIC while it is disabled");
    assert_eq!(guest.result(1) & 0xF0, 0x10);
}
