//! RDPMC in 32-bit guests, with and without paging.

use super::*;
use kvm_bindings::kvm_segment;

const GDT: u64 = 0x5000;
const IDT: u64 = 0x6000;
const TSS: u64 = 0x7000;
const ESP0: u32 = 0xA000;
const HANDLER: u64 = CODE + 0x800;
/// Result slots of the handler.
const ERROR: u64 = 10;
const EIP: u64 = 11;

/// `mov ecx, 0x4C1; mov eax, 0x83456789; mov edx, 0x12; wrmsr; mov ecx, index; rdpmc`, the results
/// to slots 0 to 2 (EAX, EDX, ESP), and the exit with 0.
fn code(index: u32) -> Vec<u8> {
    let slot = |n: u32| (RESULTS as u32 + 8 * n).to_le_bytes();
    concat(&[
        &[0xB9, 0xC1, 0x04, 0x00, 0x00], // mov ecx, 0x4C1
        &[0xB8, 0x89, 0x67, 0x45, 0x83], // mov eax, 0x83456789
        &[0xBA, 0x12, 0x00, 0x00, 0x00], // mov edx, 0x12
        &[0x0F, 0x30],                   // wrmsr
        &[0xB9],                         // mov ecx, index
        &index.to_le_bytes(),
        &[0x0F, 0x33], // rdpmc
        &[0xA3],       // mov [slot 0], eax
        &slot(0),
        &[0x89, 0x15], // mov [slot 1], edx
        &slot(1),
        &[0x89, 0x25], // mov [slot 2], esp
        &slot(2),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ])
}

fn guest(code: &[u8]) -> Option<Guest> {
    let mut guest = Guest::protected(code)?;
    let memory = &guest.machine.memory;
    let descriptors: [u64; 7] = [
        0,
        0x00CF_9B00_0000_FFFF, // 08: ring 0 code
        0x00CF_9300_0000_FFFF, // 10: ring 0 data
        0x00CF_F300_0000_FFFF, // 18: ring 3 data
        0x00CF_FB00_0000_FFFF, // 20: ring 3 code
        0,
        0x0000_8B00_0000_0067 | TSS << 16, // 30: busy TSS
    ];
    for (n, descriptor) in (0..).zip(descriptors) {
        memory.write(GDT + 8 * n, &descriptor.to_le_bytes()).unwrap();
    }
    let gate = HANDLER & 0xFFFF | 0x08 << 16 | 0x8E << 40 | (HANDLER >> 16) << 48;
    memory.write(IDT + 8 * 13, &gate.to_le_bytes()).unwrap();
    memory.write(TSS + 4, &ESP0.to_le_bytes()).unwrap();
    memory.write(TSS + 8, &0x10_u32.to_le_bytes()).unwrap();
    let handler = concat(&[
        &[0x8F, 0x05], // pop dword [ERROR]
        &(RESULTS as u32 + 8 * ERROR as u32).to_le_bytes(),
        &[0x8F, 0x05], // pop dword [EIP]
        &(RESULTS as u32 + 8 * EIP as u32).to_le_bytes(),
        &[0xB0, 0x01], // mov al, 1
        &EXIT,
    ]);
    memory.write(HANDLER, &handler).unwrap();
    memory.write(RESULTS + 8 * ERROR, &[0xFF; 16]).unwrap();

    let mut sregs = *guest.engine.vcpu.sregs();
    sregs.gdt.base = GDT;
    sregs.gdt.limit = 55;
    sregs.idt.base = IDT;
    sregs.idt.limit = 0x7FF;
    sregs.tr = kvm_segment { base: TSS, limit: 0x67, selector: 0x30, ..sregs.tr };
    guest.engine.vcpu.set_sregs(&sregs).unwrap();
    let mut regs = *guest.engine.vcpu.regs();
    regs.rsp = STACK;
    guest.engine.vcpu.set_regs(&regs).unwrap();
    Some(guest)
}

#[track_caller]
fn is_served(guest: &mut Guest) {
    guest.exits_with(0);
    assert_eq!((guest.result(0), guest.result(1)), (0x8345_6789, 0x12));
    assert_eq!((guest.result(2), guest.exits("rdpmc")), (STACK, 1));
}

#[test]
fn without_paging() {
    let Some(mut guest) = guest(&code(0)) else { return };
    is_served(&mut guest);
}

/// The guest turns paging on: `cr4 |= bit; cr3 = 0x1000; cr0 |= PG`.
fn paging(cr4_bit: u8) -> Vec<u8> {
    concat(&[
        &[0x0F, 0x20, 0xE0],             // mov eax, cr4
        &[0x83, 0xC8, cr4_bit],          // or eax, bit
        &[0x0F, 0x22, 0xE0],             // mov cr4, eax
        &[0xB8, 0x00, 0x10, 0x00, 0x00], // mov eax, 0x1000
        &[0x0F, 0x22, 0xD8],             // mov cr3, eax
        &[0x0F, 0x20, 0xC0],             // mov eax, cr0
        &[0x0D, 0x00, 0x00, 0x00, 0x80], // or eax, 0x80000000
        &[0x0F, 0x22, 0xC0],             // mov cr0, eax
    ])
}

/// Some hosts that interpret ring 0 refuse CR0.PG outside of long mode with #GP.
#[track_caller]
fn is_served_with_paging(mut guest: Guest) {
    if guest.run() == (Outcome::Exit { status: 3 }) && guest.result(EIP) as u32 == CODE as u32 + 25 {
        eprintln!("skipped: this KVM has no 32-bit paging");
        return;
    }
    is_served(&mut guest);
}

#[test]
fn with_4_mib_pages() {
    let Some(guest) = guest(&concat(&[&paging(1 << 4), &code(0)])) else { return };
    for n in 0..1024_u32 {
        let entry = n << 22 | 0x87;
        guest.machine.memory.write(0x1000 + 4 * u64::from(n), &entry.to_le_bytes()).unwrap();
    }
    is_served_with_paging(guest);
}

#[test]
fn with_pae_paging() {
    let Some(guest) = guest(&concat(&[&paging(1 << 5), &code(0)])) else { return };
    guest.machine.memory.write(0x1000, &0x2001_u64.to_le_bytes()).unwrap();
    for n in 0..512_u64 {
        guest.machine.memory.write(0x2000 + 8 * n, &(n << 21 | 0x83).to_le_bytes()).unwrap();
    }
    is_served_with_paging(guest);
}

#[test]
fn an_index_that_does_not_exist_raises_gp() {
    let Some(mut guest) = guest(&code(0x2000_0001)) else { return };
    guest.exits_with(1);
    assert_eq!(guest.result(ERROR) as u32, 0);
    assert_eq!(guest.result(EIP) as u32, CODE as u32 + 22);
}

#[test]
fn from_ring_3() {
    let code = concat(&[
        &[0xE4, 0x80], // in al, 0x80: any exit
        &[0x31, 0xC9], // xor ecx, ecx
        &[0x89, 0x25], // mov [slot 2], esp
        &(RESULTS as u32 + 16).to_le_bytes(),
        &[0x0F, 0x33], // rdpmc
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let Some(mut guest) = guest(&code) else { return };
    long_mode::change(&mut guest, |sregs| {
        sregs.cr4 |= 1 << 8;
        sregs.cs = kvm_segment { selector: 0x23, dpl: 3, ..sregs.cs };
        for data in [&mut sregs.ss, &mut sregs.ds, &mut sregs.es] {
            *data = kvm_segment { selector: 0x1B, dpl: 3, ..*data };
        }
    });
    let mut regs = *guest.engine.vcpu.regs();
    regs.rflags |= 3 << 12;
    guest.engine.vcpu.set_regs(&regs).unwrap();
    guest.exits_with(0);
    assert_eq!((guest.register("cpl"), guest.register("rsp")), (3, STACK));
    assert_eq!((guest.register("cs"), guest.register("ss")), (0x23, 0x1B));
    assert_eq!(guest.exits("rdpmc"), 1);
}
