//! SMEP, SMAP, UMIP, alignment checks, address space tags, thread bases.

use super::*;

const PF: u8 = 14;
const GP: u8 = 13;
const UD: u8 = 6;
const AC: u8 = 17;

const CR4_UMIP: u64 = 1 << 11;
const CR4_FSGSBASE: u64 = 1 << 16;
const CR4_PCIDE: u64 = 1 << 17;
const CR4_SMEP: u64 = 1 << 20;
const CR4_SMAP: u64 = 1 << 21;
const RFLAGS_AC: u64 = 1 << 18;

/// `mov eax, [DATA]`
const READ: [u8; 7] = [0x8B, 0x04, 0x25, 0, 0, 8, 0];
const STAC: [u8; 3] = [0x0F, 0x01, 0xCB];
const CLAC: [u8; 3] = [0x0F, 0x01, 0xCA];
const HLT: [u8; 1] = [0xF4];

/// Ring 0, with these bits of CR4 set, and only the page at DATA for user mode.
fn guarded(code: &[u8], cr4: u64) -> Guest {
    let mut guest = Guest::new(code);
    for page in 0..512_u64 {
        if page << 12 != DATA {
            guest.page(page << 12, page << 12 | 3);
        }
    }
    guest.state.cr4 |= cr4;
    guest
}

/// Runs to HLT outside of the handlers.
#[track_caller]
fn expect_end(guest: &mut Guest) -> Cpu<TestBus> {
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Halted);
    let rip = cpu.state().rip;
    assert!((CODE..CODE + 0x1000).contains(&rip) || rip > DATA, "vector {}", (rip - HANDLERS) / 16);
    cpu
}

#[test]
fn smep_keeps_the_supervisor_from_executing_user_pages() {
    // mov eax, DATA; jmp rax
    let code = [0xB8, 0, 0, 8, 0, 0xFF, 0xE0];
    for smep in [false, true] {
        let mut guest = guarded(&code, if smep { CR4_SMEP } else { 0 });
        guest.bus.write(DATA, &HLT);
        if smep {
            let cpu = expect_vector(&mut guest, PF);
            assert_eq!((frame(&guest, &cpu, 0), cpu.state().cr2), (0x11, DATA));
        } else {
            expect_end(&mut guest);
        }
    }
}

#[test]
fn smap_keeps_the_supervisor_from_user_pages_unless_ac_is_set() {
    let read = expect_vector(&mut guarded(&READ, CR4_SMAP), PF);
    assert_eq!(read.state().cr2, DATA);
    expect_end(&mut guarded(&[&READ[..], &HLT].concat(), 0));
    expect_end(&mut guarded(&[&STAC[..], &READ, &READ, &HLT].concat(), CR4_SMAP));
    // What was allowed with AC leaves nothing behind that allows it without.
    let mut guest = guarded(&[&STAC[..], &READ, &CLAC, &READ].concat(), CR4_SMAP);
    let cpu = expect_vector(&mut guest, PF);
    assert_eq!(frame(&guest, &cpu, 0), 1);
    assert_eq!(frame(&guest, &cpu, 1), CODE + 3 + 7 + 3);
    // pushf; or dword [rsp], AC; popf
    let popf = [0x9C, 0x81, 0x0C, 0x24, 0, 0, 4, 0, 0x9D];
    expect_end(&mut guarded(&[&popf[..], &READ, &HLT].concat(), CR4_SMAP));
}

#[test]
fn descriptor_tables_in_user_pages_are_guarded_even_with_ac() {
    // stac; mov eax, 16; mov ds, eax
    let code = [0x0F, 0x01, 0xCB, 0xB8, 16, 0, 0, 0, 0x8E, 0xD8, 0xF4];
    let mut guest = guarded(&code, CR4_SMAP);
    expect_end(&mut guest);
    guest.page(GDT, GDT | 7);
    let mut cpu = guest.cpu();
    // The handler's own code segment comes from the same table.
    assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Shutdown);
    assert_eq!(cpu.state().cr2 & !0xFFF, GDT);
}

#[test]
fn stac_and_clac_belong_to_the_supervisor() {
    for code in [STAC, CLAC] {
        expect_vector(&mut Guest::new(&code).user(), UD);
    }
}

#[test]
fn umip_hides_descriptor_tables_from_user_mode() {
    let stores: [&[u8]; 5] = [
        &[0x0F, 0x01, 0x04, 0x25, 0, 0, 8, 0], // sgdt [DATA]
        &[0x0F, 0x01, 0x0C, 0x25, 0, 0, 8, 0], // sidt [DATA]
        &[0x0F, 0x00, 0xC0],                   // sldt eax
        &[0x0F, 0x00, 0xC8],                   // str eax
        &[0x0F, 0x01, 0xE0],                   // smsw eax
    ];
    for store in stores {
        let code = [store, &[0x0F, 0x0B]].concat();
        let mut guest = Guest::new(&code).user();
        expect_vector(&mut guest, UD);
        guest.state.cr4 |= CR4_UMIP;
        let cpu = expect_vector(&mut guest, GP);
        assert_eq!((frame(&guest, &cpu, 0), frame(&guest, &cpu, 1)), (0, CODE));
        let mut kernel = Guest::new(&code);
        kernel.state.cr4 |= CR4_UMIP;
        expect_vector(&mut kernel, UD);
    }
}

#[test]
fn misaligned_user_accesses_raise_ac_where_it_is_asked_for() {
    const CR0_AM: u64 = 1 << 18;
    let end = [0x0F, 0x0B];
    // (operand at DATA + offset, aligned)
    let accesses: [(&[u8], bool); 8] = [
        (&[0x8B, 0x04, 0x25, 4, 0, 8, 0], true),        // mov eax, [DATA + 4]
        (&[0x8B, 0x04, 0x25, 2, 0, 8, 0], false),       // mov eax, [DATA + 2]
        (&[0x8A, 0x04, 0x25, 1, 0, 8, 0], true),        // mov al, [DATA + 1]
        (&[0x66, 0x89, 0x04, 0x25, 1, 0, 8, 0], false), // mov [DATA + 1], ax
        (&[0x48, 0x01, 0x04, 0x25, 4, 0, 8, 0], false), // add [DATA + 4], rax
        (&[0x48, 0x01, 0x04, 0x25, 8, 0, 8, 0], true),  // add [DATA + 8], rax
        (&[0x0F, 0x10, 0x04, 0x25, 1, 0, 8, 0], true),  // movups xmm0, [DATA + 1]
        (&[0xF2, 0x0F, 0x10, 0x04, 0x25, 4, 0, 8, 0], false), // movsd xmm0, [DATA + 4]
    ];
    for (access, aligned) in accesses {
        // An aligned access to the page before, so that the TLB could know it.
        let code = [&[0x8B, 0x04, 0x25, 0, 0, 8, 0], access, &end].concat();
        let mut guest = Guest::new(&code).user();
        guest.state.cr0 |= CR0_AM;
        guest.state.rflags |= RFLAGS_AC;
        let cpu = expect_vector(&mut guest, if aligned { UD } else { AC });
        if !aligned {
            assert_eq!((frame(&guest, &cpu, 0), frame(&guest, &cpu, 1)), (0, CODE + 7), "{access:x?}");
        }
        guest.state.rflags &= !RFLAGS_AC;
        expect_vector(&mut guest, UD);
        let mut kernel = Guest::new(&code);
        kernel.state.cr0 |= CR0_AM;
        kernel.state.rflags |= RFLAGS_AC;
        expect_vector(&mut kernel, UD);
    }
}

#[test]
fn invlpg_forgets_the_whole_large_page() {
    let code = [
        0x8B, 0x1C, 0x25, 0, 0x50, 0x20, 0, // mov ebx, [0x205000]
        0x48, 0xC7, 0x04, 0x25, 8, 0x30, 0, 0, 0x83, 0, 0, 0, // mov qword [0x3008], 0x83
        0x0F, 0x01, 0x3C, 0x25, 0, 0, 0x30, 0, // invlpg [0x300000]
        0x8B, 0x04, 0x25, 0, 0x50, 0x20, 0, // mov eax, [0x205000]
        0xF4,
    ];
    let mut guest = Guest::new(&code);
    // The second 2 MiB: a large page, first of their own RAM, then of the first 2 MiB.
    guest.bus.write_u64(0x3008, 0x20_0083);
    guest.bus.write_u64(0x20_5000, 0x1111);
    let expected = guest.bus.read_u64(0x5000) as u32;
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    assert_eq!((cpu.state().gpr[3], cpu.state().gpr[0]), (0x1111, u64::from(expected)));
}

#[test]
fn invlpg_forgets_code_in_the_whole_large_page() {
    let code = [
        0xB9, 0, 0x50, 0x24, 0, // mov ecx, 0x245000
        0xFF, 0xD1, // call rcx
        0x89, 0xC3, // mov ebx, eax
        0x48, 0xC7, 0x04, 0x25, 8, 0x30, 0, 0, 0x83, 0, 0, 0, // mov qword [0x3008], 0x83
        0x0F, 0x01, 0x3C, 0x25, 0, 0, 0x30, 0, // invlpg [0x300000]
        0xFF, 0xD1, // call rcx
        0xF4,
    ];
    let mut guest = Guest::new(&code);
    // As above: mov eax, 1; ret in their own RAM, and mov eax, 2; ret in the first 2 MiB.
    guest.bus.write_u64(0x3008, 0x20_0083);
    guest.bus.write(0x24_5000, &[0xB8, 1, 0, 0, 0, 0xC3]);
    guest.bus.write(0x4_5000, &[0xB8, 2, 0, 0, 0, 0xC3]);
    let state = expect_end(&mut guest).state();
    assert_eq!((state.gpr[3], state.gpr[0]), (1, 2));
}

#[test]
fn cr3_takes_a_pcid_and_the_no_flush_bit_with_pcide() {
    // mov rax, 1 << 63 | PML4 | 5; mov cr3, rax; mov rbx, cr3; hlt
    let code = [0x48, 0xB8, 5, 0x10, 0, 0, 0, 0, 0, 0x80, 0x0F, 0x22, 0xD8, 0x0F, 0x20, 0xDB, 0xF4];
    let mut guest = Guest::new(&code);
    expect_vector(&mut guest, GP);
    guest.state.cr4 |= CR4_PCIDE;
    assert_eq!(expect_end(&mut guest).state().gpr[3], PML4 | 5);
    // mov rax, cr4; bts rax, 17; mov cr4, rax
    let enable = [0x0F, 0x20, 0xE0, 0x48, 0x0F, 0xBA, 0xE8, 17, 0x0F, 0x22, 0xE0, 0xF4];
    let mut guest = Guest::new(&enable);
    assert_eq!(expect_end(&mut guest).state().cr4 & CR4_PCIDE, CR4_PCIDE);
    guest.state.cr3 |= 1;
    expect_vector(&mut guest, GP);
}

#[test]
fn invpcid_checks_its_descriptor() {
    let code = [0x66, 0x0F, 0x38, 0x82, 0x04, 0x25, 0, 0, 8, 0, 0xF4]; // invpcid rax, [DATA]
    // (type, PCID, address, CR4.PCIDE, fault)
    let table = [
        (0, 0, 0x1234, false, false),
        (0, 1, 0x1234, false, true),
        (0, 1, 0x1234, true, false),
        (0, 1, 1 << 50, true, true),
        (1, 0x1000, 0, true, true),
        (1, 0xFFF, 1 << 50, true, false),
        (2, 1, 0, false, false),
        (3, 0, 0, false, false),
        (4, 0, 0, true, true),
    ];
    for (kind, pcid, address, pcide, fault) in table {
        let mut guest = Guest::new(&code);
        guest.bus.write_u64(DATA, pcid);
        guest.bus.write_u64(DATA + 8, address);
        guest.state.gpr[0] = kind;
        guest.state.cr4 |= if pcide { CR4_PCIDE } else { 0 };
        if fault {
            expect_vector(&mut guest, GP);
        } else {
            expect_end(&mut guest);
        }
    }
    expect_vector(&mut Guest::new(&code).user(), GP);
}

#[test]
fn invpcid_forgets_translations() {
    let code = [
        0x8B, 0x1C, 0x25, 0, 0, 8, 0, // mov ebx, [DATA]
        0x48, 0xC7, 0x04, 0x25, 0, 0x44, 0, 0, 3, 0, 9, 0, // mov qword [0x4400], 0x90003: DATA's entry
        0x66, 0x0F, 0x38, 0x82, 0x0C, 0x25, 0, 0, 3, 0, // invpcid rcx, [0x30000]
        0x8B, 0x04, 0x25, 0, 0, 8, 0, // mov eax, [DATA]
        0xF4,
    ];
    let mut guest = Guest::new(&code);
    guest.bus.write_u64(DATA, 1);
    guest.bus.write_u64(0x9_0000, 2);
    guest.state.gpr[1] = 2;
    let state = expect_end(&mut guest).state();
    assert_eq!((state.gpr[3], state.gpr[0]), (1, 2));
}

#[test]
fn thread_bases_are_for_user_mode_too() {
    let code = [
        0xF3, 0x48, 0x0F, 0xAE, 0xD0, // wrfsbase rax
        0x64, 0x8B, 0x1C, 0x25, 4, 0, 0, 0, // mov ebx, fs:[4]
        0xF3, 0x48, 0x0F, 0xAE, 0xC1, // rdfsbase rcx
        0xF3, 0x0F, 0xAE, 0xD8, // wrgsbase eax
        0xF3, 0x48, 0x0F, 0xAE, 0xCA, // rdgsbase rdx
        0x0F, 0x0B, // ud2
    ];
    let mut guest = Guest::new(&code).user();
    guest.bus.write_u64(DATA, 0x7777_0000_0000);
    guest.state.gpr[0] = DATA;
    let absent = expect_vector(&mut guest, UD);
    assert_eq!(frame(&guest, &absent, 0), CODE);
    guest.state.cr4 |= CR4_FSGSBASE;
    let state = expect_vector(&mut guest, UD).state();
    assert_eq!((state.gpr[3], state.gpr[1], state.gpr[2]), (0x7777, DATA, DATA));
    guest.state.gpr[0] = 1 << 47;
    expect_vector(&mut guest, GP);
}
