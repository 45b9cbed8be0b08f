//! 64-bit guests: page tables, descriptor tables and handlers, made from outside.

use super::*;
use kvm_bindings::{kvm_segment, kvm_sregs};

const PML4: u64 = 0x1000;
const PDPT: u64 = 0x2000;
const LOW: u64 = 0x3000;
const HIGH: u64 = 0x4000;
const GDT: u64 = 0x5000;
const IDT: u64 = 0x6000;
const TSS: u64 = 0x7000;
/// Stack of ring 0 after an interrupt in ring 3.
pub(super) const RSP0: u64 = 0xA000;
/// Stack of gates with IST 1.
pub(super) const IST1: u64 = 0xC000;
/// The #GP handler.
pub(super) const HANDLER: u64 = CODE + 0x800;
/// Other handlers.
pub(super) const HANDLER_2: u64 = CODE + 0x900;

/// Selectors.
pub(super) const USER_DATA: u16 = 0x18 | 3;
pub(super) const USER_CODE: u16 = 0x20 | 3;

/// Result slots that the #GP handler of [`handler_skipping`] fills.
pub(super) const GP_ERROR: u64 = 10;
pub(super) const GP_RIP: u64 = 11;
pub(super) const GP_HITS: u64 = 12;

/// A guest in 64-bit mode, ring 0, with a #GP handler that is `ud2` until it gets a better one (no #UD
/// gate: a triple fault).
pub(super) fn long_mode(code: &[u8]) -> Option<Guest> {
    enter_long_mode(Guest::protected(code)?)
}

pub(super) fn enter_long_mode(mut guest: Guest) -> Option<Guest> {
    let memory = &guest.machine.memory;
    let put = |address: u64, value: u64| memory.write(address, &value.to_le_bytes()).unwrap();
    // Present, writable, user; large pages with PS. 0-1 GiB and 3-4 GiB one to one.
    put(PML4, PDPT | 7);
    put(PDPT, LOW | 7);
    put(PDPT + 3 * 8, HIGH | 7);
    for n in 0..512 {
        put(LOW + 8 * n, n << 21 | 0x87);
        put(HIGH + 8 * n, (n + 3 * 512) << 21 | 0x87);
    }
    let descriptors: [u64; 8] = [
        0,
        0x00AF_9B00_0000_FFFF, // 08: ring 0 code, 64-bit
        0x00CF_9300_0000_FFFF, // 10: ring 0 data
        0x00CF_F300_0000_FFFF, // 18: ring 3 data
        0x00AF_FB00_0000_FFFF, // 20: ring 3 code, 64-bit
        0,
        0x0000_8B00_0000_0067 | TSS << 16, // 30: busy TSS
        0,
    ];
    for (n, descriptor) in (0..).zip(descriptors) {
        put(GDT + 8 * n, descriptor);
    }
    put(TSS + 4, RSP0);
    put(TSS + 36, IST1);
    set_gate(&guest, 13, HANDLER, 0);
    guest.machine.memory.write(HANDLER, &[0x0F, 0x0B]).unwrap();

    let mut sregs = *guest.engine.vcpu.sregs();
    sregs.cr0 |= 1 << 31;
    sregs.cr3 = PML4;
    sregs.cr4 |= 1 << 5;
    sregs.efer |= 1 << 8 | 1 << 10;
    sregs.cs = kvm_segment { l: 1, db: 0, ..sregs.cs };
    sregs.tr = kvm_segment { base: TSS, limit: 0x67, selector: 0x30, ..sregs.tr };
    sregs.gdt.base = GDT;
    sregs.gdt.limit = 63;
    sregs.idt.base = IDT;
    sregs.idt.limit = 0xFFF;
    guest.engine.vcpu.set_sregs(&sregs).unwrap();
    let mut regs = *guest.engine.vcpu.regs();
    regs.rsp = STACK;
    guest.engine.vcpu.set_regs(&regs).unwrap();
    Some(guest)
}

/// Changes the system registers before the run.
pub(super) fn change(guest: &mut Guest, change: impl FnOnce(&mut kvm_sregs)) {
    let mut sregs = *guest.engine.vcpu.sregs();
    change(&mut sregs);
    guest.engine.vcpu.set_sregs(&sregs).unwrap();
}

/// Starts the guest in ring 3, with its stack at `rsp`.
pub(super) fn start_in_ring_3(guest: &mut Guest, rsp: u64) {
    change(guest, |sregs| {
        sregs.cs = kvm_segment { selector: USER_CODE, dpl: 3, ..sregs.cs };
        sregs.ss = kvm_segment { selector: USER_DATA, dpl: 3, ..sregs.ss };
        for data in [&mut sregs.ds, &mut sregs.es] {
            *data = kvm_segment { selector: USER_DATA, dpl: 3, ..*data };
        }
    });
    let mut regs = *guest.engine.vcpu.regs();
    regs.rsp = rsp;
    // IOPL 3, so that ring 3 can write the exit port.
    regs.rflags |= 3 << 12;
    guest.engine.vcpu.set_regs(&regs).unwrap();
}

/// A 64-bit interrupt gate to ring 0.
pub(super) fn set_gate(guest: &Guest, vector: u64, handler: u64, ist: u64) {
    let low = handler & 0xFFFF | 0x08 << 16 | ist << 32 | 0x8E << 40 | (handler >> 16 & 0xFFFF) << 48;
    let gate = u128::from(low) | u128::from(handler >> 32) << 64;
    guest.machine.memory.write(IDT + 16 * vector, &gate.to_le_bytes()).unwrap();
}

/// A #GP handler that records and counts, and returns behind an instruction of `length` bytes.
pub(super) fn handler_skipping(guest: &Guest, length: u8) {
    let slot = |n: u64| (RESULTS + 8 * n).to_le_bytes();
    let counter = (RESULTS + 8 * GP_HITS) as u32;
    let code = concat(&[
        &[0x50],                         // push rax
        &[0x48, 0x8B, 0x44, 0x24, 0x08], // mov rax, [rsp + 8]: error code
        &[0x48, 0xA3],                   // mov [GP_ERROR], rax
        &slot(GP_ERROR),
        &[0x48, 0x8B, 0x44, 0x24, 0x10], // mov rax, [rsp + 16]: RIP
        &[0x48, 0xA3],                   // mov [GP_RIP], rax
        &slot(GP_RIP),
        &[0x58],                   // pop rax
        &[0x48, 0xFF, 0x04, 0x25], // inc qword [GP_HITS]
        &counter.to_le_bytes(),
        &[0x48, 0x83, 0xC4, 0x08],         // add rsp, 8
        &[0x48, 0x83, 0x04, 0x24, length], // add qword [rsp], length
        &[0x48, 0xCF],                     // iretq
    ]);
    guest.machine.memory.write(HANDLER, &code).unwrap();
    guest.machine.memory.write(RESULTS + 8 * GP_ERROR, &[0xFF; 16]).unwrap();
}
